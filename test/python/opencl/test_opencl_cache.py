"""The code that an OpenCL driver made before, which it may refuse. A double of the library does."""

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
