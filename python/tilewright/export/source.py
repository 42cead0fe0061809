"""A kernel's source buffer as a header, for programs that compile it while they run."""

from __future__ import annotations

import json
import os
from pathlib import Path

from ..launch.jit import JITFunction
from .names import check_name
from .package import write_files

_PIECE = 4000  # characters of one literal


def write_source(
    kernel: JITFunction, directory: str | os.PathLike[str], name: str = ""
) -> dict[str, Path]:
    """Write NAME_source.h, which defines the text NAME_source for C and C++."""
    name = name or kernel.fn.__name__
    check_name(name)
    text = portable_source(kernel)
    pieces = (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
    # JSON's escapes in a literal of C: quotes and backslashes; the text is ASCII.
    literals = ('    "' + p.replace("\\", "\\\\").replace('"', '\\"') + '"' for p in pieces)
    guard = f"{name.upper()}_SOURCE_H"
    lines = [
        f"/* The source buffer of the kernel {name}, for tilewright::Kernel. */",
        f"#ifndef {guard}\n#define {guard}",
        f"static const char {name}_source[] =",
        "\n".join(literals) + ";",
        "#endif",
    ]
    file = f"{name}_source.h"
    return write_files(Path(directory), {file: ("\n".join(lines) + "\n").encode()})


def portable_source(kernel: JITFunction) -> str:
    """The buffer with files by their last names: the same wherever it is written."""
    buffer = json.loads(kernel.source_buffer())
    for function in buffer["functions"].values():
        function["file"] = os.path.basename(function["file"])
    return json.dumps(buffer, separators=(",", ":"), ensure_ascii=True)
