"""Writes the file that `prebuilt` reads: `python -m tilewright.capture.prebuild FILE`."""

from __future__ import annotations

import ast
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from . import prebuilt, record
from .source import Place

_FOLDERS = ("language", "library", "libdevice")
_DECORATORS = ("library_function", "library_method")


def write(target: Path, package: Path = Path(prebuilt.PACKAGE)) -> None:
    """Make the records of every function that is written in the language."""
    index: dict[str, tuple[int, int]] = {}
    sections = b""
    for path in (p for folder in _FOLDERS for p in sorted((package / folder).glob("*.py"))):
        if section := _section_of(path):
            name = path.relative_to(package).as_posix()
            index[name] = len(sections), len(sections) + len(section)
            sections += section
    partial = target.with_name(f"{target.name}.{os.getpid()}.part")
    partial.write_bytes(json.dumps(index).encode() + b"\n" + sections)
    partial.replace(target)


def _section_of(path: Path) -> bytes:
    """What is kept of a source file; nothing where no function in it is written in the language."""
    source = path.read_bytes()
    functions: dict[str, tuple[int, int, int]] = {}
    content = b""
    for place in _places_in(path, source.decode()):
        made = record.make(place)
        start, middle = len(content), len(content) + len(made[0])
        content += made[0] + made[1]
        functions[prebuilt.place_of(place.line, place.name)] = start, middle, len(content)
    header = {"key": prebuilt.key_of(source), "functions": functions}
    return json.dumps(header).encode() + b"\n" + content if functions else b""


def _places_in(path: Path, text: str) -> Iterator[Place]:
    lines = tuple(text.splitlines(keepends=True))
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef):
            names = [d.id for d in node.decorator_list if isinstance(d, ast.Name)]
            if any(name in _DECORATORS for name in names):
                yield Place(str(path), node.decorator_list[0].lineno, node.name, lines)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
