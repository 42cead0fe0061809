"""Builds the compiler under sanitizers and runs the tests, for `make sanitize`.

Two builds: `address` (AddressSanitizer and UndefinedBehaviorSanitizer: every test) and `thread`
(ThreadSanitizer: the tests of what threads share). LLVM, MLIR, Python and torch are not instrumented."""

from __future__ import annotations

import argparse
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
CHECKS = {"address": "address,undefined", "thread": "thread"}
RUNTIMES = {"address": "asan", "thread": "tsan"}
# ThreadSanitizer follows the locks of instrumented code only, and LLVM is none: of the tests that need
# it, those of threads that launch.
LAUNCHES_OF_THREADS = "CpuDeviceTest.*:CompileTest.*Thread*:CompileTest.LookingForAKernelHoldsUpNoCompile"


class Part(NamedTuple):
    """A command, and whether memory that is left over at its end is a finding."""

    command: list[str]
    finds_leaks: bool = False
    preloads: bool = False


def parts(check: str, build: pathlib.Path, pytest: list[str]) -> dict[str, Part]:
    """The runs under a check, cheapest first."""
    unit, warpsim, runtime = (
        str(build / "test" / f"{name}-unit") for name in ("tilewright", "warpsim", "runtime")
    )
    python = [sys.executable, "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    if check == "thread":
        return {
            "runtime": Part([runtime]),
            "warpsim": Part([warpsim]),
            "unit": Part([unit, f"--gtest_filter={LAUNCHES_OF_THREADS}"]),
        }
    return {
        "runtime": Part([runtime], finds_leaks=True),
        "warpsim": Part([warpsim], finds_leaks=True),
        "unit": Part([unit], finds_leaks=True),
        "lit": Part(["ctest", "--test-dir", str(build), "-R", "^lit$", "--output-on-failure"]),
        "pytest": Part([*python, *(pytest or ["test/python"])], preloads=True),
    }


# What a part needs, as targets of the build.
TARGETS = {
    "runtime": "runtime-unit", "warpsim": "warpsim-unit", "unit": "tilewright-unit",
    "lit": "all", "pytest": "all",
}  # fmt: skip


def configure_and_build(check: str, build: pathlib.Path, names: list[str]) -> None:
    python = f"{ROOT}/.venv/bin/python"
    if not (build / "build.ninja").exists():
        subprocess.run(
            ["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_C_COMPILER=clang-22",
             "-DCMAKE_CXX_COMPILER=clang++-22", f"-DTILEWRIGHT_SANITIZE={CHECKS[check]}",
             f"-DPYTHON_EXECUTABLE={python}", f"-DPython_EXECUTABLE={python}"], check=True,
        )  # fmt: skip
    targets = sorted({TARGETS[name] for name in names})
    subprocess.run(["cmake", "--build", build, "--target", *targets], check=True)


def environment(check: str, build: pathlib.Path, part: Part, reports: pathlib.Path) -> dict[str, str]:
    """LLVM's allocators mark memory for code that was built to know; Debian's was not."""
    common = f"log_path={reports}/report:strip_path_prefix={ROOT}/"
    result = {
        **os.environ,
        "ASAN_OPTIONS": f"{common}:allow_user_poisoning=0:detect_container_overflow=0"
        f":allocator_may_return_null=1:detect_odr_violation=0:detect_leaks={int(part.finds_leaks)}",
        "LSAN_OPTIONS": f"suppressions={FOLDER}/leaks.txt:print_suppressions=0",
        "UBSAN_OPTIONS": f"{common}:print_stacktrace=1",
        "TSAN_OPTIONS": f"{common}:suppressions={FOLDER}/races.txt:second_deadlock_stack=1"
        # Children of a fork may start threads, and cannot join those that they do not have.
        ":die_after_fork=0:report_thread_leaks=0",
    }
    if part.preloads:
        name = f"libclang_rt.{RUNTIMES[check]}-x86_64.so"
        result["LD_PRELOAD"] = subprocess.check_output(
            ["clang-22", f"-print-file-name={name}"], text=True
        ).strip()
        result["PYTHONPATH"] = str(build / "python")
        result["PYTHONPYCACHEPREFIX"] = str(build / "pycache")
    return result


def findings(report: pathlib.Path) -> str:
    """What a process reported, but for memory that it could not get: tests ask for too much on purpose."""
    text = report.read_text(errors="replace")
    text = re.sub(r"==\d+==WARNING: AddressSanitizer failed to allocate .*\n", "", text)
    return f"-- {report.relative_to(ROOT)}\n{text}" if text.strip() else ""


def run(check: str, name: str, part: Part, build: pathlib.Path) -> bool:
    """Whether a part passed and no process of it left a report."""
    reports = build / "reports" / name
    reports.mkdir(parents=True, exist_ok=True)
    for old in reports.iterdir():
        old.unlink()
    print(f"== {check} {name}", flush=True)
    code = subprocess.call(part.command, cwd=ROOT, env=environment(check, build, part, reports))
    found = [report for path in sorted(reports.iterdir()) if (report := findings(path))]
    for report in found:
        print(report[:6000])
    print(f"{'ok' if code == 0 and not found else 'FAILED'} {check} {name}: {len(found)} reports")
    return code == 0 and not found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=CHECKS, help="one of the two builds")
    parser.add_argument("--part", action="append", choices=TARGETS, help="may be repeated")
    parser.add_argument("--build", default="build", help="the folder of the build folders")
    parser.add_argument("pytest", nargs="*", help="what pytest gets in place of test/python")
    options = parser.parse_args()
    passed: list[bool] = []
    for check in [options.only] if options.only else CHECKS:
        build = ROOT / options.build / f"sanitize-{check}"
        every = parts(check, build, options.pytest)
        names = [name for name in every if not options.part or name in options.part]
        configure_and_build(check, build, names)
        passed += [run(check, name, every[name], build) for name in names]
    return 0 if all(passed) else 1


if __name__ == "__main__":
    sys.exit(main())
