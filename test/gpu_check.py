"""Checks Tilewright on a machine's GPU, for `make gpu-check` and in the archive of `make portable`.

Runs the tests (on `cuda:0` too where there is a GPU, and the simulator's results against the GPU's,
bit by bit), measures the fragments of matrix instructions, and runs the benchmark on the GPU. Where
there is none it says so and tests what can be tested without: the simulator and, where it is built,
the double of libcuda.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "python" / "tilewright"
# What the portable archive has: no compiler's tools, and no sources that a test reads.
NEEDS_THE_TREE = (
    *("test_readme", "test_errors_host", "test_capture_language", "test_compiler_pages"),
    *("gpu/test_simulator_command", "gpu/test_simulator_mutants", "test_portable"),
)
WITHOUT_GPU = (
    *("test_cuda_driver.py", "test_cuda_launch.py", "test_cuda_execution.py"),
    *("gpu/test_gpu_kernels.py", "gpu/test_gpu_matrices.py", "gpu/test_fragment_maps.py"),
)
PROBE = "import json, tilewright as tw; print(json.dumps(tw.list_devices(probe=True)))"
SIM = "sim:sm_90a"
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


def environment(**more: str) -> dict[str, str]:
    paths = [str(ROOT / "python"), str(ROOT / "test" / "python")]
    if before := os.environ.get("PYTHONPATH"):
        paths.append(before)
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


def run(title: str, command: list[str], **more: str) -> bool:
    """Runs a part of the check, showing what it prints."""
    print(f"== {title}", flush=True)
    code = subprocess.run(command, cwd=ROOT, env=environment(**more), check=False).returncode
    print(f"{'ok' if code == 0 else 'FAILED'}: {title}", flush=True)
    return code == 0


def has_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


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
    return [name for name in json.loads(done.stdout.splitlines()[-1]) if name.startswith("cuda:")]


def pytest_command(paths: list[str], jobs: int) -> list[str]:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    if has_module("xdist"):
        command += ["-n", str(jobs)]
    return [*command, *paths]


def missing_modules() -> list[str]:
    return [name for name in ("pytest", "numpy", "torch") if not has_module(name)]


def check_with_gpu(found: list[str], jobs: int, out: pathlib.Path, is_quick: bool) -> bool:
    print(f"found {', '.join(found)}", flush=True)
    if missing := missing_modules():
        print(f"the tests need {', '.join(missing)}: install it for {sys.executable}")
        return False
    is_archive = (ROOT / "setup_portable.py").is_file()
    skipped = [f"--ignore=test/python/{name}.py" for name in NEEDS_THE_TREE if is_archive]
    maps = str(out / "fragment_maps.json")
    benchmark = ["--out", str(out), *(["--quick"] if is_quick else [])]
    results = [
        run(
            "the GPU against the simulator, bit by bit",
            pytest_command(["test/python/gpu/test_gpu_against_simulator.py"], 1),
        ),
        run(
            "fragment maps of matrix instructions",
            [sys.executable, "test/python/gpu/fragment_maps.py", "--out", maps],
        ),
        run("tests", pytest_command(["test/python", *skipped], jobs)),
        run("benchmark", [sys.executable, "test/benchmark/gpu.py", *benchmark]),
    ]
    return all(results)


def check_without_gpu(jobs: int) -> bool:
    print("this machine has no GPU, or no driver for it: nothing is run on one", flush=True)
    if missing := missing_modules():
        print(f"without {', '.join(missing)} only a kernel on {SIM} is checked", flush=True)
        return run(f"a kernel on {SIM}", [sys.executable, "-c", SIMULATE])
    paths = [f"test/python/{name}" for name in WITHOUT_GPU]
    results = [run("the simulator and the double of libcuda", pytest_command(paths, jobs))]
    doubles = [ROOT / "test" / "libcuda_double.so", ROOT / "build" / "test" / "libcuda_double.so"]
    for double in [path for path in doubles if path.is_file()][:1]:
        results.append(
            run(
                "cuda:0 of the double of libcuda, which executes on the simulator",
                pytest_command(["test/python/gpu/test_gpu_against_simulator.py"], 1),
                TILEWRIGHT_CUDA_LIBRARY=str(double),
                CUDA_DOUBLE="execute=sm_80 capability=80",
            )
        )
    return all(results)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 8), help="of pytest")
    parser.add_argument("--quick", action="store_true", help="smaller sizes in the benchmark")
    parser.add_argument(
        "--out",
        type=pathlib.Path,
        default=ROOT / "test" / "benchmark" / "results",
        help="where gpu.json, gpu.md and fragment_maps.json go",
    )
    options = parser.parse_args()
    prepare()
    if found := gpus():
        is_right = check_with_gpu(found, options.jobs, options.out.resolve(), options.quick)
    else:
        is_right = check_without_gpu(options.jobs)
    print("everything that could be checked is right" if is_right else "something is wrong")
    return 0 if is_right else 1


if __name__ == "__main__":
    sys.exit(main())
