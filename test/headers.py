"""Compiles headers and sources without the precompiled header: each includes what it uses.

`headers.py [PATH ...]` looks at the files below the paths, by default at all of them, which takes
about an hour on two cores. A header is compiled as a file of its own, with the options of a source
beside it. Exit status 1 for files that do not compile, 2 where nothing can be compiled.
"""

from __future__ import annotations

import concurrent.futures
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
# Options that only sources compiled behind the precompiled header, and to an object, have.
DROPPED = {"-Winvalid-pch", "-fpch-instantiate-templates", "-Werror", "-c"}
WITH_VALUE = {"-include-pch", "-include", "-o", "-MT", "-MF", "-Xclang"}


def options_of(command: str) -> list[str]:
    """The compiler and the options of a command, for any file."""
    words = shlex.split(command)
    words = words[next(i for i, word in enumerate(words) if "clang++" in word) :]
    kept = [words[0]]
    rest = iter(words[1:-1])  # the last one is the source
    for word in rest:
        if word in WITH_VALUE:
            next(rest)
        elif word not in DROPPED and not word.startswith("-M"):
            kept.append(word)
    return [*kept, "-fsyntax-only", "-w"]


def commands(build: pathlib.Path) -> dict[str, list[str]]:
    """Each source with the options that it is compiled with; of a source in two targets the first."""
    entries = json.loads((build / "compile_commands.json").read_text())
    found: dict[str, list[str]] = {}
    for entry in entries:
        path = pathlib.Path(entry["file"])
        _, is_folder, folder = str(path).partition("/Unity/unity_/")  # compiled as one: CMakeLists.txt
        files = (ROOT / folder.removesuffix("_cxx.cxx")).glob("*.cpp") if is_folder else [path]
        for file in files:
            if file.suffix == ".cpp" and file.is_relative_to(ROOT) and not file.is_relative_to(build):
                found.setdefault(str(file.relative_to(ROOT)), options_of(entry["command"]))
    return found


def failure(path: str, options: list[str]) -> str:
    """The first error of a file; empty where it compiles."""
    command = [*options, "-x", "c++", "-Wno-pragma-once-outside-header", path]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    errors = [line for line in result.stderr.splitlines() if "error:" in line]
    return "" if result.returncode == 0 else f"{path}: {errors[0] if errors else result.stderr[:300]}"


def main() -> int:
    below = tuple(sys.argv[1:]) or ("",)
    if not (ROOT / "build" / "compile_commands.json").is_file():
        print("nothing is built in build/, which has the compiler's options: `make build` first")
        return 2
    sources = commands(ROOT / "build")
    folders = sorted({path.partition("/")[0] for path in sources})
    headers = [str(path.relative_to(ROOT)) for name in folders for path in (ROOT / name).rglob("*.h")]
    every = sources | {path: options_beside(path, sources) for path in sorted(headers)}
    jobs = {path: options for path, options in every.items() if path.startswith(below)}
    if not jobs:
        print(f"no header or source that is built is below {' '.join(below)}")
        return 2
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        num_problems = 0
        for problem in filter(None, pool.map(failure, jobs, jobs.values())):
            num_problems += 1
            print(problem, flush=True)
    print(f"{len(jobs)} files, {num_problems} problems")
    return 1 if num_problems else 0


def options_beside(header: str, sources: dict[str, list[str]]) -> list[str]:
    """The options of a source in the same folder, or in the nearest one above it."""
    for folder in pathlib.PurePath(header).parents:
        prefix = f"{folder}/"
        if found := next((options for path, options in sources.items() if path.startswith(prefix)), None):
            return found
    raise AssertionError(f"{header} is in a folder of sources")


if __name__ == "__main__":
    sys.exit(main())
