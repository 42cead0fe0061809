"""Checks Tilewright on a machine's GPU, for `make gpu-check` and in the archive of `make portable`.

Without --part all parts run, in this order: `fragments` (what the registers of matrix instructions
hold), `against-simulator` (the GPU's results and the simulator's, bit by bit), `benchmark`,
`profile` (of what the benchmark found below its goal) and `tests` (the pytest suite, on cuda:0
or hip:0, too). Each has a limit of its own and --seconds is that of all. What is found is written as it
comes, and --resume goes on from there. Where there is no GPU, or no driver, it says so and does
what can be done without: the simulator and, where it is built, the double of libcuda stand for it.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What the portable archive has not: a compiler's tools, and the sources that a test reads.
NEEDS_THE_TREE = (
    *("project/test_readme", "project/test_compiler_pages", "project/test_portable"),
    *("host/test_errors_host", "frontend/test_capture_language"),
    *("gpu/simulator/test_simulator_command", "gpu/simulator/test_simulator_mutants"),
    "gpu/simulator/test_simulator_amd_mutants",
)
WITHOUT_GPU = (
    *("cuda/test_cuda_driver.py", "cuda/test_cuda_launch.py", "cuda/test_cuda_execution.py"),
    *("hip/test_hip_driver.py", "hip/test_hip_execution.py"),
    *("gpu/test_gpu_kernels.py", "gpu/products/test_gpu_matrices.py", "gpu/simulator/test_fragment_maps.py"),
)
PROBE = "import json, tilewright as tw; print(json.dumps(tw.list_devices(probe=True)))"
DOUBLE = "execute=sm_80 capability=80"
SIM = "sim:sm_90a"
GRACE_SECONDS = 5.0  # from being asked to end to being killed
SIMULATE = f"""
import sys
from portable_session import add
import tilewright as tw
from array import array
x, out = array("f", range(1000)), array("f", [0.0] * 1000)
with tw.device("{SIM}"):
    add[(4,)](x, x, out, 1000, BLOCK=256)
assert list(out) == [2.0 * value for value in range(1000)]
"""


class Check(NamedTuple):
    """What the command line asks for, and what is there."""

    gpus: list[str]
    out: pathlib.Path
    jobs: int
    is_quick: bool
    resumes: bool


class Part(NamedTuple):
    """One part: its command for a number of seconds, and at most how many it gets."""

    title: str
    seconds: float
    command: Callable[[Check, float], list[str]]
    environment: Callable[[Check], dict[str, str]] = lambda check: {}


def environment(**more: str) -> dict[str, str]:
    paths = [str(ROOT / "python"), *(str(ROOT / "test" / "python" / part) for part in (".", "project"))]
    if before := os.environ.get("PYTHONPATH"):
        paths.append(before)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


def has_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def is_archive() -> bool:
    return (ROOT / "setup_portable.py").is_file()


def double_of_libcuda() -> pathlib.Path | None:
    places = [ROOT / "test" / "libcuda_double.so", ROOT / "build" / "test" / "libcuda_double.so"]
    return next((path for path in places if path.is_file()), None)


def pytest_command(*paths: str) -> list[str]:
    return [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *paths]


def stand_in(check: Check) -> dict[str, str]:
    """Where there is no GPU, the double of libcuda, which executes on the simulator."""
    double = double_of_libcuda()
    if check.gpus or not double:
        return {}
    return {"TILEWRIGHT_CUDA_LIBRARY": str(double), "CUDA_DOUBLE": DOUBLE}


def fragments(check: Check, seconds: float) -> list[str]:
    script, maps = "test/python/gpu/simulator/fragment_maps.py", check.out / "fragment_maps.json"
    return [sys.executable, script, *(["--out", str(maps)] if check.gpus else [])]


def against_simulator(check: Check, seconds: float) -> list[str]:
    return pytest_command("test/python/gpu/simulator/test_gpu_against_simulator.py")


def benchmark(check: Check, seconds: float) -> list[str]:
    command = [sys.executable, "test/benchmark/gpu.py", "--out", str(check.out)]
    command += ["--profile-seconds", "0", "--seconds", str(seconds - 15)]
    if check.resumes:
        command.append("--resume")
    if not check.gpus:
        rehearsal = ["--device", "cpu", "--size", "tiny", "--out", str(check.out / "rehearsal")]
        return [*command, *rehearsal]
    return [*command, *(["--size", "quick"] if check.is_quick else [])]


def profile(check: Check, seconds: float) -> list[str]:
    command = [sys.executable, "test/benchmark/gpu.py", "--out", str(check.out), "--resume"]
    command += ["--no-measure", "--profile-seconds", str(seconds - 10)]
    return [*command, *(["--size", "quick"] if check.is_quick else [])]


def tests(check: Check, seconds: float) -> list[str]:
    command = [sys.executable, "test/gpu_check_tests.py", "--out", str(check.out)]
    command += ["--jobs", str(check.jobs), "--seconds", str(seconds - 5)]
    if check.resumes:
        command.append("--resume")
    if not check.gpus:
        return [*command, *(f"test/python/{name}" for name in WITHOUT_GPU)]
    left_out = [f"--ignore=test/python/{name}.py" for name in NEEDS_THE_TREE if is_archive()]
    return [*command, *left_out, "test/python"]


PARTS = {
    "fragments": Part("fragments of matrix instructions", 40, fragments, stand_in),
    "against-simulator": Part(
        "the GPU against the simulator, bit by bit", 60, against_simulator, stand_in
    ),
    "benchmark": Part("benchmark", 240, benchmark),
    "profile": Part("profiles of what is below its goal", 70, profile),
    "tests": Part("tests", 3600, tests),
}


def run_limited(command: list[str], seconds: float, **more: str) -> str:
    """Runs a command with its children, all of which end after a time: "ok" or what went wrong."""
    process = subprocess.Popen(
        command, cwd=ROOT, env=environment(**more), start_new_session=True
    )
    try:
        status = process.wait(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.terminate()  # it ends the processes that it has in sessions of their own
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=GRACE_SECONDS)
        return f"stopped after {seconds:.0f} s"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)  # what it may have left behind, too
        process.wait()
    names = {0: "ok", 2: "unfinished"}
    return names.get(status, f"FAILED (status {status})")


class State:
    """How the parts ended, kept in gpu_check.json."""

    def __init__(self, check: Check) -> None:
        self.path = check.out / "gpu_check.json"
        self.parts: dict[str, dict[str, Any]] = {}
        if check.resumes and self.path.is_file():
            self.parts = json.loads(self.path.read_text())

    def is_done(self, name: str) -> bool:
        return self.parts.get(name, {}).get("result") == "ok"

    def set(self, name: str, result: str, seconds: float) -> None:
        self.parts[name] = {"result": result, "seconds": round(seconds, 1)}
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.path.write_text(json.dumps(self.parts, indent=1) + "\n")


def run_parts(names: list[str], check: Check, seconds: float) -> bool:
    """Runs the parts, whatever becomes of each; whether all of them are right."""
    state, end = State(check), time.monotonic() + seconds
    for name in names:
        part, start = PARTS[name], time.monotonic()
        if state.is_done(name):
            print(f"== {part.title}: done before", flush=True)
            continue
        limit = min(part.seconds, end - start)
        print(f"== {part.title} (at most {max(limit, 0):.0f} s)", flush=True)
        if limit < 20:
            result = "unfinished"
        else:
            result = run_limited(part.command(check, limit), limit, **part.environment(check))
        state.set(name, result, time.monotonic() - start)
        print(f"{result}: {part.title}", flush=True)
    print("\n== summary")
    for name in names:
        print(f"{name}: {state.parts[name]['result']} ({state.parts[name]['seconds']} s)")
    if any(state.parts[name]["result"] == "unfinished" for name in names):
        print("what is unfinished goes on with --resume")
    return all(state.is_done(name) for name in names)


def prepare() -> None:
    """In an archive without a module for this Python, builds one."""
    probe = [sys.executable, "-c", "import tilewright._native"]
    done = subprocess.run(probe, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return
    setup = ROOT / "setup_portable.py"
    if not setup.is_file():
        sys.exit(f"{done.stderr}\nthe native module is not built: run `make setup`")
    print(f"there is no module for {sys.version.split()[0]}: building one", flush=True)
    if subprocess.run([sys.executable, str(setup)], check=False).returncode:
        sys.exit("the module for this Python cannot be built: see above")


def gpus() -> list[str]:
    command = [sys.executable, "-c", PROBE]
    done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the package does not load:\n{done.stderr}")
    found = json.loads(done.stdout.splitlines()[-1])
    return [name for name in found if name.startswith(("cuda:", "hip:"))]


def choose_parts(asked: list[str], check: Check) -> list[str]:
    names = asked or list(PARTS)
    if check.gpus:
        # PTX and Nsight are NVIDIA's.
        hidden = set() if check.gpus[0].startswith("cuda:") else {"fragments", "profile"}
        return [name for name in names if name not in hidden]
    hidden = {"profile"} if double_of_libcuda() else {"profile", "fragments", "against-simulator"}
    return [name for name in names if name not in hidden]


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", action="append", choices=list(PARTS), help="only this one")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 12), help="of tests")
    parser.add_argument("--quick", action="store_true", help="smaller sizes in the benchmark")
    parser.add_argument("--seconds", type=float, default=460, help="limit of all parts together")
    parser.add_argument("--resume", action="store_true", help="leave out what was right before")
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=ROOT / "test" / "benchmark" / "results",
        help="where gpu.json, gpu.md, tests.jsonl, gpu_check.json and fragment_maps.json go",
    )
    return parser.parse_args()


def main() -> int:
    options = parse()
    prepare()
    check = Check(gpus(), options.out.resolve(), options.jobs, options.quick, options.resume)
    if check.gpus:
        print(f"found {', '.join(check.gpus)}", flush=True)
    else:
        print("this machine has no GPU, or no driver for it: nothing is run on one", flush=True)
    if missing := [name for name in ("pytest", "numpy", "torch") if not has_module(name)]:
        print(f"the tests need {', '.join(missing)}: install it for {sys.executable}")
        if check.gpus:
            return 1
        print(f"only a kernel on {SIM} is checked", flush=True)
        result = run_limited([sys.executable, "-c", SIMULATE], 120)
        print(f"{result}: a kernel on {SIM}")
        return 0 if result == "ok" else 1
    names = choose_parts(options.part or [], check)
    is_right = run_parts(names, check, options.seconds)
    print("everything that could be checked is right" if is_right else "something is not right yet")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
