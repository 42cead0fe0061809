"""The code that an OpenCL driver makes and keeps: with which options, and that it may refuse it. A double of the
library stands for the driver."""

from __future__ import annotations

from pathlib import Path

import pytest
from driver_doubles import find_double, run_with_driver

pytestmark = pytest.mark.usefixtures("compiler")
SESSION = Path(__file__).with_name("opencl_session.py")
WARNING = "warning[TW0806]: "
REFUSED = "the driver refuses what it made of kernel doubled before, which is built again: "


def launch(cache: Path, words: str = "", **environment: str) -> tuple[str, str]:
    """Where the kernel came from, and what was said beside."""
    arguments = [str(SESSION), "origin", "", find_double("libopencl_double.so"), words]
    done = run_with_driver(arguments, cache, **environment)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


REFUSALS = ["fail=clCreateProgramWithBinary:-42", "fail=clBuildProgram@1:-42"]


@pytest.mark.parametrize("refusal", REFUSALS)
def test_code_that_the_driver_refuses_is_built_again_with_a_warning(refusal: str, tmp_path: Path) -> None:
    assert launch(tmp_path) == ("compiled", "")
    assert launch(tmp_path) == ("disk", "")
    origin, said = launch(tmp_path, refusal)
    assert origin == "disk"
    assert said.count(WARNING + REFUSED) == 1 and "CL_INVALID_BINARY" in said, said
    # The entry is gone, so that the next process makes a good one.
    assert launch(tmp_path) == ("compiled", "")
    assert launch(tmp_path) == ("disk", "")


def test_the_warning_names_the_shared_cache(tmp_path: Path) -> None:
    layer = tmp_path / "layer"
    launch(layer)
    for denied in ({}, {"TILEWRIGHT_JIT": "deny"}):
        origin, said = launch(tmp_path / f"own{len(denied)}", REFUSALS[0], TILEWRIGHT_CACHE_RO=str(layer), **denied)
        assert origin == "disk"
        assert said.count(f"{WARNING}the shared cache {layer}: {REFUSED}") == 1, said


def test_code_that_the_driver_refuses_at_once_is_built_again(tmp_path: Path) -> None:
    origin, said = launch(tmp_path, REFUSALS[0])
    assert origin == "compiled" and said.count(WARNING + REFUSED) == 1, said


@pytest.mark.parametrize(
    ("type_of_device", "always", "option"),
    [("gpu=1", "-cl-fp32-correctly-rounded-divide-sqrt", "-cl-intel-256-GRF-per-thread"), ("gpu=0", "", "")],
)
def test_a_launch_tells_the_driver_of_a_gpu_how_to_build(
    type_of_device: str, always: str, option: str, tmp_path: Path
) -> None:
    """A process builds one kernel for each limit; a second one reads them, and builds them alike."""
    words = f"{type_of_device} ip=0x5004000 extensions=cl_intel_device_attribute_query"  # of a GPU: xe2
    for origin in "compiled", "disk":
        arguments = [str(SESSION), "registers", "", find_double("libopencl_double.so"), words]
        done = run_with_driver(arguments, tmp_path)
        assert done.returncode == 0, done.stderr
        lines = [line.rstrip() for line in done.stdout.splitlines()]
        limits = {"None": always, "256": f"{always} {option}", "128": always}
        assert lines == [f"{origin} {limit}  {options}".rstrip() for limit, options in limits.items()]
