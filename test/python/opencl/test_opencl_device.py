"""The device opencl:0 by a driver that nobody here wrote: what launches do beside giving the right numbers,
which the tests of kernels and operations look at."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from driver_doubles import run_with_driver
from sampled import OPENCL

import tilewright as tw
from tilewright.native import native

pytestmark = [
    pytest.mark.usefixtures("compiler"),
    pytest.mark.skipif(not OPENCL, reason="no OpenCL driver of processors: pip install intel-opencl-rt intel-cmplr-lib-rt"),
]
SESSION = Path(__file__).with_name("opencl_session.py")
ACCESSES = ["", "usm", "svm", "buffers"]


def session(cache: Path, name: str, access: str = "") -> str:
    done = run_with_driver([str(SESSION), name, access], cache)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("access", ACCESSES)
def test_arrays_are_reached_in_each_way(access: str, tmp_path: Path) -> None:
    copies = bool(access)
    assert session(tmp_path, "values", access) == f"compiled True {copies}\n"
    assert session(tmp_path, "values", access) == f"disk True {copies}\n"


@pytest.mark.parametrize("access", ACCESSES)
def test_views_of_one_array_lie_as_on_the_host(access: str, tmp_path: Path) -> None:
    session(tmp_path, "views", access)
    # The parts of a buffer lie where the device aligns them, here at multiples of 128 bytes.
    assert session(tmp_path, "close_views", access) == ("TW0405\n" if access == "buffers" else "none\n")


def test_lines_of_kernels_are_as_on_other_devices(tmp_path: Path) -> None:
    lines = session(tmp_path, "lines").splitlines()
    assert sorted(lines) == [f"pid (0, 0, 0) idx ({i}) value: {i}" for i in range(4)]


@pytest.mark.parametrize("access", ACCESSES)
def test_failed_assertions_and_overflow_are_device_errors(access: str, tmp_path: Path) -> None:
    out = session(tmp_path, "checks", access)
    codes = [line for line in out.splitlines() if line.startswith(("TW", "none"))]
    assert codes == ["none", "TW0602", "TW0602", "none"], out
    line = SESSION.read_text().splitlines().index('    tw.device_assert(value < n, "too large")') + 1
    assert f"opencl_session.py:{line}: too large (pid (0, 0, 0) idx (7))" in out, out


def test_what_a_device_does_not_do_is_refused(tmp_path: Path) -> None:
    assert session(tmp_path, "refusals").split() == ["TW0405", "TW0415", "TW0623"]


@pytest.mark.parametrize("access", ACCESSES)
def test_threads_launch_one_kernel_at_the_same_time(access: str, tmp_path: Path) -> None:
    session(tmp_path, "threads", access)


def test_a_forked_child_is_told_that_it_cannot_launch(tmp_path: Path) -> None:
    assert session(tmp_path, "forks").split() == ["TW0635"]


def test_torch_tensors_are_taken_where_they_lie() -> None:
    torch = pytest.importorskip("torch")

    @tw.jit
    def negated(out, x, BLOCK: tw.constexpr):
        i = tw.arange(0, BLOCK)
        tw.store(out + i, -tw.load(x + i))

    x = torch.randn(64)
    out = torch.full_like(x, np.nan)
    with tw.device("opencl:0"):
        negated[(1,)](out, x, BLOCK=64)
    assert torch.equal(out, -x)
    assert "opencl:0" in tw.list_devices(probe=True)


@tw.jit
def repeated(x, n, BLOCK: tw.constexpr):
    value = tw.load(x + tw.arange(0, BLOCK))
    for _ in range(n):
        value = value * 0.999 + 1
    tw.store(x + tw.arange(0, BLOCK), value)


def test_times_are_those_of_the_devices_clock() -> None:
    x = np.ones(64, np.float32)

    def call() -> None:
        repeated[(1,)](x, 1000, BLOCK=64)
        time.sleep(0.02)

    with tw.device("opencl:0"):
        milliseconds = tw.testing.do_bench(call, warmup=0, rep=1, return_mode="min")
    assert 0 < milliseconds < 20  # the host's would have the pause


def test_tuning_takes_the_devices_times(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(0, 1 << 40, 123_000_000))  # of a device: each launch takes 123 ms
    monkeypatch.setattr(native(), "kernel_nanoseconds", lambda: next(clock))
    tuned = tw.autotune([tw.Config({}, num_warps=w) for w in (1, 2)], ["n"], isolate=False, rep=1)(repeated)
    with tw.device("opencl:0"):
        tuned[(1,)](np.ones(64, np.float32), 10, BLOCK=64)
    assert {row.milliseconds for row in tuned.report.rows} == {123.0}
