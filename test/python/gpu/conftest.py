"""Runs tests of GPU code on the simulators of several makers' GPUs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from gpu.launching import launching_on
from sampled import AMD, XE


def runs_on_several(definition: pytest.Item) -> bool:
    """Of products all, elsewhere what is marked `every_machine`; `one_machine` marks a test that names
    its machines, or knows the instructions of one."""
    marks = {mark.name for mark in definition.iter_markers()}
    is_asked = "every_machine" in marks or definition.path.parent.name == "products"
    return is_asked and "one_machine" not in marks


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Others than the first run a sample, as with the fixture `device`."""
    if runs_on_several(metafunc.definition):
        metafunc.fixturenames.append("simulator")
        metafunc.parametrize("simulator", ["sim:sm_80", "sim:sm_90a", *AMD, *XE], indirect=True)


@pytest.fixture
def hopper() -> Iterator[None]:
    with launching_on("sim:sm_90a"):
        yield


@pytest.fixture
def simulator(request: pytest.FixtureRequest) -> Iterator[str]:
    with launching_on(request.param):
        yield request.param
