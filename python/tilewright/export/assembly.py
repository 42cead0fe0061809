"""Assembly text of a processor's code, made fit to stand in a C file beside others'."""

from __future__ import annotations

import re

from ..native.errors import UnsupportedError

# What the code may call of runtime/aot/CpuHost.c, by the names that the compiler knows.
HOST_FUNCTIONS = (
    "tw_poll", "tw_device_print", "tw_device_clock",
    "__truncsfhf2", "__truncdfhf2", "__truncsfbf2", "__truncdfbf2", "__extendhfsf2",
)  # fmt: skip
_DROPPED = re.compile(r"\s*\.(file|ident|addrsig\w*|globl)\b|.*\.note\.GNU-stack|\s*$")
_CALLED = re.compile(r"\b(\w+)@(?:PLT|GOTPCREL)")
_LABEL = re.compile(r"^([A-Za-z_][\w.$]*):", re.M)
_QUOTED = re.compile(r'["\\]')


def embedded(text: str, symbol: str, name: str, prefix: str, kernel: str) -> str:
    """A statement of C with the code, whose entry `symbol` is the hidden symbol `name` then. Host
    functions get the package's prefix, and labels the entry's name: the file has other code."""
    for called in _CALLED.findall(text):
        if called.startswith("tw_") and called not in HOST_FUNCTIONS:
            raise UnsupportedError(
                f"the export of {kernel}: its code calls {called}, which is there in the compiler's "
                "process only",
                code="TW0803",
                hint="leave out debug=True: checks are for launches from Python",
            )
    text = text.replace(symbol, name)
    text = re.sub(r"\.L(?=\w)", f".L{name}_", text)
    for label in sorted({*_LABEL.findall(text)} - {name}):
        text = re.sub(rf"(?<![\w.$]){re.escape(label)}(?![\w.$])", f".L{name}_{label}", text)
    text = re.sub(rf"\b({'|'.join(HOST_FUNCTIONS)})(?=@)", rf"{prefix}_\1", text)
    lines = [line for line in text.splitlines() if not _DROPPED.match(line)]
    lines = [".pushsection .text", f".hidden {name}", f".globl {name}", *lines, ".popsection"]
    quoted = (_QUOTED.sub(lambda match: "\\" + match.group(), line) for line in lines)
    return "__asm__(\n" + "\n".join(f'    "{line}\\n"' for line in quoted) + ");\n"
