"""Builds Tilewright's bindings for one Python beside the ready library of the portable build.

`python setup_portable.py` in the unpacked archive builds them for the Python that runs it, with the
first of $CXX, g++, clang++ and c++ that is there: seconds, and no LLVM is needed.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

LIBRARY = "libtilewright.so.1"
FLAGS = "-std=c++20 -O2 -fPIC -fvisibility=hidden -fvisibility-inlines-hidden".split()
FACTS = """
import json, sysconfig
folders = [sysconfig.get_path(name) for name in ("include", "platinclude")]
print(json.dumps([*folders, sysconfig.get_config_var("EXT_SUFFIX")]))
"""


class SetupError(Exception):
    """Why the bindings cannot be built here, for the user."""


def find_compiler() -> list[str]:
    """The command of a C++ compiler, as words. Raises SetupError where there is none."""
    if chosen := os.environ.get("CXX"):
        return shlex.split(chosen)
    for name in ("g++", "clang++", "c++"):
        if path := shutil.which(name):
            return [path]
    raise SetupError("there is no C++ compiler: install g++ 10 or clang 13 or newer, or set CXX")


def headers_of(python: str) -> tuple[list[str], str]:
    """A Python's header folders and the end of its modules' names. Raises SetupError without
    headers."""
    done = subprocess.run([python, "-c", FACTS], capture_output=True, text=True)
    if done.returncode:
        raise SetupError(f"{python} does not run: {done.stderr.strip()}")
    *folders, suffix = json.loads(done.stdout)
    if not any(pathlib.Path(folder, "Python.h").is_file() for folder in folders):
        raise SetupError(
            f"{python} has no Python.h in {folders[0]}: install its development package "
            "(python3-dev), or use a Python that the archive has a module for"
        )
    return list(dict.fromkeys(folders)), suffix


def build(root: pathlib.Path, python: str = sys.executable) -> pathlib.Path:
    """Compiles and links the module for `python`. Raises SetupError with the compiler's words."""
    folders, suffix = headers_of(python)
    compiler = find_compiler()
    package = root / "python" / "tilewright"
    sources = sorted((root / "python" / "bindings").glob("*.cpp"))
    includes = [f"-I{folder}" for folder in (root, root / "include", *folders)]
    module = package / f"_native{suffix}"
    with tempfile.TemporaryDirectory() as scratch:

        def compiled(source: pathlib.Path) -> str:
            out = f"{scratch}/{source.stem}.o"
            run([*compiler, *FLAGS, *includes, "-c", str(source), "-o", out])
            return out

        with ThreadPoolExecutor(os.cpu_count()) as pool:
            objects = list(pool.map(compiled, sources))
        exports = root / "python" / "bindings" / "exports.map"
        linked = f"{scratch}/{module.name}"
        run(
            [*compiler, "-shared", *objects, str(package / LIBRARY), "-Wl,-rpath,$ORIGIN"]
            + [f"-Wl,--version-script={exports}", "-Wl,-s", "-o", linked]
        )
        shutil.copy(linked, module)
    return module


def run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SetupError(f"{shlex.join(command)}\n{done.stderr}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable, help="the interpreter to build for")
    python = parser.parse_args().python
    try:
        print(build(pathlib.Path(__file__).resolve().parent, python))
    except SetupError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
