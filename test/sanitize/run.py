"""Builds the compiler under sanitizers and runs the tests in parts, for `make sanitize`.

Two builds: `address` (AddressSanitizer and UndefinedBehaviorSanitizer) and `thread` (ThreadSanitizer).
LLVM, MLIR, Python and torch are not instrumented."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys
import time
from typing import NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
CHECKS = {"address": "address,undefined", "thread": "thread"}
RUNTIMES = {"address": "asan", "thread": "tsan"}
# Folders of test/python, so divided that each part ends within an hour on two cores under
# AddressSanitizer; `rest` has the others.
PYTEST = {"ops": ["ops"], "gpu": ["gpu"], "kernels": ["kernels", "frontend"]}
# What `.ci/run` runs: some minutes of what launches, prints, waits and simulates.
SHORT = [
    "host/test_device_print.py", "host/test_launch_native.py", "host/test_launch_arguments.py",
    "host/test_promises.py", "kernels/test_kernels_rows.py", "kernels/test_tensor_descriptors.py",
    "ops/test_op_order.py", "ops/test_op_shape.py", "fuzz/test_fuzz.py",
]  # fmt: skip

# Tests in which a pass of LLVM ends in its middle: what it works on is leaked on purpose.
CRASHES = "*Crash*:*Unselectable*"


class Part(NamedTuple):
    """A command, and whether memory that is left over at its end is a finding."""

    command: list[str]
    finds_leaks: bool = False
    preloads: bool = False


def pytest_part(*paths: str) -> Part:
    paths = tuple(f"test/python/{path}" for path in paths)
    python = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    return Part([*python, *paths], preloads=True)


def parts(check: str, build: pathlib.Path) -> dict[str, Part]:
    """The runs under a check, cheapest first."""
    leaks = check == "address"
    programs = {name: str(build / "test" / f"{name}-unit") for name in ("runtime", "warpsim", "llvmir")}
    unit = str(build / "test" / "tilewright-unit")
    fuzz = str(build / "backend" / "tools" / "tile-fuzz")
    lit = ["ctest", "--test-dir", str(build), "--output-on-failure", "-R", "^lit$"]
    named = {folder for folders in PYTEST.values() for folder in folders}
    tests = (ROOT / "test/python").glob("*/**/test_*.py")
    others = {path.relative_to(ROOT / "test/python").parts[0] for path in tests} - named
    return {
        **{name: Part([program], leaks) for name, program in programs.items()},
        "unit": Part([unit, f"--gtest_filter=-{CRASHES}"], leaks),
        # After a handler that jumps away ThreadSanitizer holds further signals back.
        **({"crashes": Part([unit, f"--gtest_filter={CRASHES}"])} if leaks else {}),
        "lit": Part(lit),
        # The memory of a process under a sanitizer has no bound.
        "fuzz": Part([fuzz, "test", "--count=2000", "--seconds=60", f"--megabytes={2**32 - 1}"]),
        "short": pytest_part(*SHORT),
        **{name: pytest_part(*folders) for name, folders in PYTEST.items()},
        "rest": pytest_part(*sorted(others)),
    }


def configure_and_build(check: str, build: pathlib.Path) -> None:
    python = f"{ROOT}/.venv/bin/python"
    if not (build / "build.ninja").exists():
        subprocess.run(
            ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_C_COMPILER=clang-22",
             "-DCMAKE_CXX_COMPILER=clang++-22", f"-DTILEWRIGHT_SANITIZE={CHECKS[check]}", "-DTILEWRIGHT_UNITY=ON",
             f"-DPYTHON_EXECUTABLE={python}", f"-DPython_EXECUTABLE={python}"], check=True,
        )  # fmt: skip
    subprocess.run(["cmake", "--build", build], check=True)


def environment(check: str, build: pathlib.Path, part: Part, reports: pathlib.Path) -> dict[str, str]:
    """LLVM's allocators mark memory for code that was built to know; Debian's was not."""
    common = f"log_path={reports}/report:strip_path_prefix={ROOT}/"
    result = {
        **os.environ,
        "ASAN_OPTIONS": f"{common}:allow_user_poisoning=0:detect_container_overflow=0"
        # At the end of a thread it would unmap a stack for signals that others have put in place of its own.
        ":allocator_may_return_null=1:detect_odr_violation=0:use_sigaltstack=0"
        f":detect_leaks={int(part.finds_leaks)}",
        "LSAN_OPTIONS": f"suppressions={FOLDER}/leaks.txt:print_suppressions=0",
        "UBSAN_OPTIONS": f"{common}:print_stacktrace=1",
        "TSAN_OPTIONS": f"{common}:suppressions={FOLDER}/races.txt:second_deadlock_stack=1"
        # Children of a fork may start threads, and cannot join those that they do not have. Handlers of
        # crashes do what a signal's handler should not.
        ":die_after_fork=0:report_thread_leaks=0:report_signal_unsafe=0:allocator_may_return_null=1",
    }
    if part.preloads:
        name = f"libclang_rt.{RUNTIMES[check]}-x86_64.so"
        result["LD_PRELOAD"] = subprocess.check_output(
            ["clang-22", f"-print-file-name={name}"], text=True
        ).strip()
        result["PYTHONPATH"] = str(build / "python")
        result["WARPSIM_BUILD"] = str(build)
        result["PYTHONPYCACHEPREFIX"] = str(build / "pycache")
    return result


def findings(report: pathlib.Path) -> str:
    """What a process reported, but for memory that it could not get: tests ask for too much on purpose."""
    text = report.read_text(errors="replace")
    text = re.sub(r"==\d+==WARNING: \w+Sanitizer failed to allocate .*\n", "", text)
    return f"-- {report.relative_to(ROOT)}\n{text}" if text.strip() else ""


def run(check: str, name: str, part: Part, build: pathlib.Path) -> tuple[bool, str]:
    """Whether a part passed and no process of it left a report, and a line that says so."""
    reports = build / "reports" / name
    reports.mkdir(parents=True, exist_ok=True)
    for old in reports.iterdir():
        old.unlink()
    print(f"== {check} {name}", flush=True)
    start = time.monotonic()
    code = subprocess.call(part.command, cwd=ROOT, env=environment(check, build, part, reports))
    found = [report for path in sorted(reports.iterdir()) if (report := findings(path))]
    for report in found:
        print(report[:6000])
    passed = code == 0 and not found
    verdict = "ok    " if passed else "FAILED"
    minutes = (time.monotonic() - start) / 60
    return passed, f"{verdict} {check:7} {name:8} {minutes:5.1f} min  {len(found)} reports"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=CHECKS, help="one of the two builds")
    parser.add_argument("--part", action="append", help="may be repeated; all but `short` otherwise")
    parser.add_argument("--list", action="store_true", help="print the parts")
    parser.add_argument("--build", default="build", help="the folder of the build folders")
    options = parser.parse_args()
    closing: list[str] = []
    succeeded = True
    for check in [options.only] if options.only else CHECKS:
        build = ROOT / options.build / f"sanitize-{check}"
        every = parts(check, build)
        unknown = set(options.part or ()) - set(every)
        if unknown:
            parser.error(f"no such part: {', '.join(sorted(unknown))}; --list prints them")
        names = options.part or [name for name in every if name != "short"]
        if options.list:
            closing += [f"{check:7} {name:8} {' '.join(every[name].command)}" for name in every]
            continue
        configure_and_build(check, build)
        for name in names:
            passed, line = run(check, name, every[name], build)
            succeeded &= passed
            closing.append(line)
            print(line, flush=True)
    print("\n".join(["== sanitizers", *closing]))
    return 0 if succeeded else 1


if __name__ == "__main__":
    sys.exit(main())
