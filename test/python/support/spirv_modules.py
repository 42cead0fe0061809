"""Modules of SPIR-V: their instructions, and whether they are valid."""

from __future__ import annotations

import os
import shutil
import struct
import subprocess
import sysconfig
from collections.abc import Iterator

# Numbers of SPIR-V.
_MAGIC, _VERSION = 0x07230203, 0x00010400
_FIRST_TYPE, _LAST_TYPE, _LABEL = 19, 39, 248


def instructions_of(module: bytes) -> Iterator[tuple[int, tuple[int, ...]]]:
    """The number of each instruction with its operands, in order."""
    words = struct.unpack(f"<{len(module) // 4}I", module)
    assert words[0] == _MAGIC and words[1] == _VERSION
    at = 5
    while at < len(words):
        yield words[at] & 0xFFFF, words[at + 1 : at + (words[at] >> 16)]
        at += words[at] >> 16


def validate(module: bytes) -> None:
    """Judges a module by spirv-val, where it is installed (that of test/requirements.txt first: it knows
    the extensions), and by the ids of types and labels."""
    ids = [
        operands[0]
        for number, operands in instructions_of(module)
        if _FIRST_TYPE <= number <= _LAST_TYPE or number == _LABEL
    ]
    assert len(ids) == len(set(ids))
    places = os.pathsep.join([sysconfig.get_path("scripts"), os.environ.get("PATH", "")])
    if validator := shutil.which("spirv-val", path=places):
        done = subprocess.run(
            [validator, "--target-env", "spv1.4"], input=module, capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr.decode()
