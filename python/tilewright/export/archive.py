"""Builds the archive or the shared library of a package with the system's C compiler."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from ..native import knobs
from ..native.errors import UnsupportedError

_COMPILERS = ("cc", "gcc", "clang", "clang-22")
_ARCHIVERS = ("ar", "gcc-ar", "llvm-ar", "llvm-ar-22")
# The same bytes wherever it is built: no debug information, no path, no time.
_FLAGS = ("-std=c11", "-O1", "-g0", "-fPIC", "-ffunction-sections", "-fdata-sections")


def _find(variable: str, names: Sequence[str]) -> list[str]:
    command = knobs.build_tool(variable)
    if command:
        names = command[:1]
    for name in names:
        if path := shutil.which(name):
            return [path, *command[1:]]
    raise _problem(f"there is no {' or '.join(names)} on this machine")


def _problem(message: str) -> UnsupportedError:
    return UnsupportedError(
        f"a package's archive cannot be built: {message}",
        code="TW0805",
        hint="install a C compiler or name one with CC and AR, or write the form \"c\"",
    )


def _run(command: Sequence[str], folder: str) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors="replace")
    if done.returncode:
        raise _problem(f"{command[0]} failed:\n{done.stderr.strip()[:2000]}")


def build_archive(name: str, files: dict[str, str]) -> bytes:
    """The bytes of NAME.a, of NAME.c and NAME.h."""
    compiler, archiver = _find("CC", _COMPILERS), _find("AR", _ARCHIVERS)
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        for file, text in files.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        _run([*compiler, *_FLAGS, "-c", f"{name}.c", "-o", f"{name}.o"], folder)
        _run([*archiver, "rcsD", f"{name}.a", f"{name}.o"], folder)
        return (Path(folder) / f"{name}.a").read_bytes()


def build_library(name: str, files: dict[str, str]) -> bytes:
    """The bytes of NAME.so, of NAME.c and NAME.h. It stays loaded once it is: a framework would close it
    while threads run in it."""
    compiler = _find("CC", _COMPILERS)
    with tempfile.TemporaryDirectory(prefix="tilewright-") as folder:
        for file, text in files.items():
            (Path(folder) / file).write_text(text, encoding="utf-8")
        command = [*compiler, *_FLAGS, "-fvisibility=hidden", "-shared", f"{name}.c", "-o", f"{name}.so"]
        _run([*command, "-Wl,-z,nodelete", "-Wl,--gc-sections", "-lm", "-lpthread", "-ldl"], folder)
        return (Path(folder) / f"{name}.so").read_bytes()
