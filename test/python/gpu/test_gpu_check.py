"""`make gpu-check`: a test that hangs, crashes or breaks the GPU's context costs itself only; parts
end at their limits, and go on where they were."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from driver_doubles import find_double

TEST = Path(__file__).resolve().parents[2]


def script(name: str) -> Any:
    """A program of the folder, as a module: the archive has a gpu_check.py beside it, too."""
    spec = importlib.util.spec_from_file_location(f"the_{name}", TEST / f"{name}.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[f"the_{name}"] = module
    spec.loader.exec_module(module)
    return module


gpu_check, gpu_check_tests = script("gpu_check"), script("gpu_check_tests")

SUITE = """
import os, time, pytest
@pytest.mark.parametrize("i", range(3))
def test_good(i): pass
def test_bad(): assert 1 == 2
@pytest.mark.skip(reason="no")
def test_skipped(): pass
def test_aborts(): os.abort()
def test_between(): pass
def test_hangs(): time.sleep(1000)
def test_last(): pass
@pytest.mark.xfail
def test_expected(): assert False
@pytest.fixture
def broken(): raise ValueError("setup")
def test_setup(broken): pass
"""
OUTCOMES = {
    **dict.fromkeys((f"test_good[{i}]" for i in range(3)), "passed"),
    **{"test_bad": "failed", "test_skipped": "skipped", "test_aborts": "crashed"},
    **{"test_between": "passed", "test_hangs": "crashed", "test_last": "passed"},
    **{"test_expected": "xfailed", "test_setup": "failed"},
}


def run_suite(folder: Path, *options: str, **more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(TEST / "gpu_check_tests.py"), "--root", str(folder)]
    command += ["--out", str(folder / "out"), "--idle-seconds", "8", "--jobs", "1", *options]
    command += ["test_it.py"]
    folders = (TEST.parent / "python", TEST / "python", TEST / "python" / "support")
    paths = os.pathsep.join(map(str, folders))
    environment = {**os.environ, "PYTHONPATH": paths, **more}
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def outcomes_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "out" / "tests.jsonl").read_text().splitlines()]


def test_each_test_has_an_outcome(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    done = run_suite(tmp_path)
    assert done.returncode == 1, done.stdout + done.stderr
    found = outcomes_in(tmp_path)
    assert {each["name"].split("::")[1]: each["outcome"] for each in found} == OUTCOMES
    texts = {each["name"].split("::")[1]: each["text"] for each in found}
    assert "hangs: nothing came for 8 s" in texts["test_hangs"]
    assert "status -6" in texts["test_aborts"]
    assert "assert 1 == 2" in texts["test_bad"] and "ValueError: setup" in texts["test_setup"]
    assert "2 crashed, 2 failed, 5 passed, 1 skipped, 1 xfailed" in done.stdout
    again = run_suite(tmp_path, "--resume", "--idle-seconds", "3")
    assert "2 crashed, 2 failed, 7 passed before" in again.stdout
    assert len(outcomes_in(tmp_path)) == len(OUTCOMES) + 4


ENDLESS = """
import os, pathlib, time
def test_hangs():
    pathlib.Path("part").write_text(str(os.getpid()))
    os.rename("part", "pid")
    time.sleep(1000)
"""


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that only waits for its parent does not."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def wait_until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    assert condition()


def test_nothing_is_left_running(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(ENDLESS)
    started = tmp_path / "pid"
    command = [sys.executable, str(TEST / "gpu_check_tests.py"), "--root", str(tmp_path)]
    process = subprocess.Popen([*command, "--out", str(tmp_path / "out"), "test_it.py"])
    try:
        wait_until(started.is_file)
        process.terminate()
        assert process.wait(timeout=60) == 143
        wait_until(lambda: not is_alive(int(started.read_text())))
    finally:
        process.kill()


def test_what_is_left_when_the_time_is_up_is_told(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text(SUITE)
    done = run_suite(tmp_path, "--seconds", "0")
    assert done.returncode == 2 and f"{len(OUTCOMES)} not run in time" in done.stdout


BREAKS = """
import mirrored_arrays, numpy as np, pytest, tilewright as tw
@tw.jit
def double_it(x, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(x + i, tw.load(x + i) * 2)
@pytest.mark.parametrize("i", range(3))
def test_launch(i, monkeypatch):
    monkeypatch.setattr(tw.JITFunction, "_launch", mirrored_arrays.launch)
    with tw.device("DEVICE"):
        double_it[(1,)](np.ones(32, np.float32), BLOCK=32)
def test_without(): pass
"""


@pytest.mark.parametrize(
    ("device", "library", "setting", "code"),
    [
        ("cuda:0", "libcuda_double.so", {"CUDA_DOUBLE": "kernel=700"}, "TW0629"),
        ("hip:0", "libamdhip64_double.so", {"HIP_DOUBLE": "kernel=719"}, "TW0631"),
    ],
)
def test_a_broken_context_is_left_behind(
    device: str, library: str, setting: dict[str, str], code: str, compiler: None, tmp_path: Path
) -> None:
    (tmp_path / "test_it.py").write_text(BREAKS.replace("DEVICE", device))
    maker = "CUDA" if device == "cuda:0" else "HIP"
    broken = {f"TILEWRIGHT_{maker}_LIBRARY": find_double(library), **setting}
    done = run_suite(tmp_path, **broken)
    found = {each["name"].split("::")[1]: each for each in outcomes_in(tmp_path)}
    assert found["test_without"]["outcome"] == "passed", done.stdout + done.stderr
    launches = [found[f"test_launch[{i}]"] for i in range(3)]
    # Each one failed in a process of its own: the error is its kernel's.
    assert all(each["outcome"] == "failed" for each in launches)
    assert all(code in each["text"] for each in launches)
    assert done.stdout.count("failed: ") == 3 and "3 failed, 1 passed" in done.stdout


def part_of(text: str, seconds: float = 60) -> Any:
    return gpu_check.Part(text, seconds, lambda check, limit: [sys.executable, "-c", text])


def test_parts_end_and_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    child = "import subprocess; subprocess.Popen(['sleep', '987']).wait()"
    parts = {
        "good": part_of(""),
        "hangs": part_of(child, 20),
        "fails": part_of("import sys; sys.exit(3)"),
        "unfinished": part_of("import sys; sys.exit(2)"),
    }
    # Nothing is waited for: 20 s of a part are as many milliseconds.
    plain = subprocess.Popen.wait

    def wait(process: Any, timeout: float | None = None) -> int:
        return plain(process, timeout if timeout != 20 else 0.02)

    monkeypatch.setattr(subprocess.Popen, "wait", wait)
    monkeypatch.setattr(gpu_check, "PARTS", parts)
    check = gpu_check.Check([], tmp_path, 1, False, False)
    assert not gpu_check.run_parts(list(parts), check, 1000)
    found = json.loads((tmp_path / "gpu_check.json").read_text())
    assert {name: part["result"] for name, part in found.items()} == {
        **{"good": "ok", "hangs": "stopped after 20 s"},
        **{"fails": "FAILED (status 3)", "unfinished": "unfinished"},
    }
    parts |= {name: part_of("") for name in ("hangs", "fails", "unfinished")}
    parts["good"] = part_of("import sys; sys.exit(3)")
    assert gpu_check.run_parts(list(parts), check._replace(resumes=True), 1000)
    assert "done before" in capfd.readouterr().out


def test_no_part_begins_when_the_time_is_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(gpu_check, "PARTS", {"late": part_of("import sys; sys.exit(3)")})
    check, start = gpu_check.Check([], tmp_path, 1, False, False), time.monotonic()
    assert not gpu_check.run_parts(["late"], check, 0) and time.monotonic() - start < 10
    assert "late: unfinished" in capfd.readouterr().out


def test_the_gpu_comes_first() -> None:
    names = ["a/test_x.py::test_1[cpu]", "a/gpu/test_y.py::test_2", "a/test_x.py::test_1[cuda:0]"]
    first = [group[0] for group in gpu_check_tests.groups_of(names)]
    assert first == [names[2], names[1], names[0]]
    many = [f"test_x.py::test[{i}]" for i in range(gpu_check_tests.GROUP + 1)]
    assert list(map(len, gpu_check_tests.groups_of(many))) == [gpu_check_tests.GROUP, 1]
