"""Kernels on `hip:0` compute the right values: compiled, linked, loaded, given their arguments and
executed, on the double of libamdhip64 whose launches run on the simulator."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from driver_doubles import TESTS, find_double, run_with_driver

pytestmark = pytest.mark.usefixtures("compiler")
PROGRAM = str(TESTS / "cuda" / "cuda_execution.py")


@pytest.mark.parametrize("arch", ["gfx942", "gfx1100", "gfx1250"])
def test_kernels_on_arrays_of_a_gpu(arch: str, tmp_path: Path) -> None:
    done = run_with_driver(
        [PROGRAM, "hip:0"],
        tmp_path / "cache",
        TILEWRIGHT_HIP_LIBRARY=find_double("libamdhip64_double.so"),
        HIP_DOUBLE=f"execute={arch} arch={arch}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    *checks, report = done.stdout.splitlines()
    assert len([line for line in checks if line.startswith("check_")]) == 8
    code, message, hint = json.loads(report)
    assert code == "TW0629" and "the last ones launched were copy_all" in message
    assert f"sim:{arch}" in hint


@pytest.mark.parametrize("arch", ["gfx1100", "gfx1201"])
def test_code_with_few_registers(arch: str, tmp_path: Path) -> None:
    """What spills at first: the double executes the code that was chosen in its place."""
    done = run_with_driver(
        [str(TESTS / "hip" / "hip_eased_code.py")],
        tmp_path / "cache",
        TILEWRIGHT_HIP_LIBRARY=find_double("libamdhip64_double.so"),
        HIP_DOUBLE=f"execute={arch} arch={arch}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.split() == ["check_attention", "check_matmul"]


def test_kernels_on_a_real_gpu(tmp_path: Path) -> None:
    probe = "import tilewright as tw; print('hip:0' in tw.list_devices(probe=True))"
    cache = tmp_path / "cache"
    if run_with_driver(["-c", probe], cache).stdout.strip() != "True":
        pytest.skip("this machine has no GPU of AMD's")
    done = run_with_driver([PROGRAM, "hip:0"], cache)
    assert done.returncode == 0, done.stdout + done.stderr


HOST_NAMES = """
import tilewright as tw
from tilewright.triton.runtime import driver

with tw.device("hip:0"):
    target = tw.target_info.current_target()
    triton = driver.active.get_current_target()
    assert (*target,) == (triton.backend, triton.arch, triton.warp_size)
    print(*target, tw.target_info.is_hip(), tw.target_info.is_cuda(), tw.target_info.is_hip_cdna3(),
          driver.active.get_device_properties()["warpSize"])
"""


@pytest.mark.parametrize(("arch", "lanes"), [("gfx942", 64), ("gfx1100", 32)])
def test_what_the_host_is_told_of_the_gpu(arch: str, lanes: int, tmp_path: Path) -> None:
    done = run_with_driver(
        ["-c", HOST_NAMES],
        tmp_path / "cache",
        TILEWRIGHT_HIP_LIBRARY=find_double("libamdhip64_double.so"),
        HIP_DOUBLE=f"arch={arch}",
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["hip", arch, str(lanes), "True", "False", str(arch == "gfx942"), str(lanes)]
