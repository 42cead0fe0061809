"""Kernels on `cuda:0` compute the right values: compiled, assembled or not, loaded, given their
arguments and executed, on the double of libcuda whose launches run on the simulator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from test_cuda_driver import HERE, double, run

__all__ = ["double"]
pytestmark = pytest.mark.usefixtures("compiler")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_kernels_on_arrays_of_a_gpu(
    arch: str, double: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    capability = "".join(filter(str.isdigit, arch))
    monkeypatch.setenv("CUDA_DOUBLE", f"execute={arch} capability={capability}")
    done = run([str(HERE / "cuda_execution.py")], tmp_path / "cache", double)
    assert done.returncode == 0, done.stdout + done.stderr
    *checks, report = done.stdout.splitlines()
    assert len([line for line in checks if line.startswith("check_")]) == 8
    code, message, hint = json.loads(report)
    assert code == "TW0629" and "the last ones launched were copy_all" in message
    assert f"sim:{arch}" in hint


def test_kernels_on_a_real_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CUDA_DOUBLE", raising=False)
    probe = "import tilewright as tw; print('cuda:0' in tw.list_devices(probe=True))"
    if run(["-c", probe], tmp_path / "cache", "").stdout.strip() != "True":
        pytest.skip("this machine has no GPU")
    done = run([str(HERE / "cuda_execution.py")], tmp_path / "cache", "")
    assert done.returncode == 0, done.stdout + done.stderr
