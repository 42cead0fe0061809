"""The error of a launch that the simulator finds wrong reads as a person needs it."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import tilewright as tw

SIM = "sim:sm_80"

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def past_the_end(x, y, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(y + i, tw.load(x + i), mask=i < n)


def line_of(text: str) -> int:
    lines, first = inspect.getsourcelines(past_the_end.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def launch() -> str:
    with tw.device("sim:sm_80"), pytest.raises(tw.DeviceError) as caught:
        past_the_end[(1,)](np.zeros(100, np.float32), np.zeros(128, np.float32), 128, BLOCK=128)
    assert caught.value.code == "TW0612"
    return str(caught.value)


def test_the_error_names_kernel_place_and_instruction() -> None:
    text = launch()
    # The values that could not be read have no value when they are stored: the second finding.
    assert "kernel past_the_end is wrong as GPU code: 2 findings" in text
    place = f"{__file__.rsplit('/', 1)[-1]}:{line_of('tw.load')}: out-of-bounds-global: "
    assert place + "read of 4 bytes at offset 400 of `x`, which has 400 bytes" in text
    assert re.search(r"line \d+: ld\.global\.b32 %r\d+, \[%rd\d+\]", text)
    assert "CTA (0, 0, 0), thread (100, 0, 0), and 27 more times" in text


def test_the_report_has_the_finding_with_its_parts() -> None:
    launch()
    finding, follower = tw.simulation.last_report("sim:sm_80").findings
    assert (finding["kind"], follower["kind"]) == ("out-of-bounds-global", "uninit-register")
    assert (finding["buffer"], finding["offset"]) == ("x", 400)
    assert finding["source_line"] == line_of("tw.load")
    assert finding["count"] == 28


@pytest.mark.parametrize("device", ["sim:gfx942", "sim:gfx1100"])
def test_reports_of_waves_name_the_line_too(device: str) -> None:
    with tw.device(device), pytest.raises(tw.DeviceError, match="load.*addrspace"):
        past_the_end[(1,)](np.zeros(100, np.float32), np.zeros(128, np.float32), 128, BLOCK=128)
    finding = tw.simulation.last_report(device).findings[0]
    assert (finding["kind"], finding["buffer"], finding["offset"]) == ("out-of-bounds-global", "x", 400)
    assert finding["source_line"] == line_of("tw.load")


@tw.jit
def far_away(x, y, distance, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(y + i, tw.load(x + distance + i, mask=i < 60))


@pytest.mark.parametrize("device", ["sim:sm_80", "sim:gfx942", "sim:gfx1100"])
@pytest.mark.parametrize("distance", [1 << 30, -(1 << 30), 1 << 29, 3 << 32, -(5 << 30)])
def test_accesses_a_power_of_two_away_are_outside(device: str, distance: int) -> None:
    """GPUs of AMD's add offsets of 32 bits, by which an access 2^32 bytes away would be none."""
    x, y = np.ones(64, np.float32), np.zeros(64, np.float32)
    with tw.device(device), pytest.raises(tw.DeviceError, match="out-of-bounds-global"):
        far_away[(1,)](x, y, distance, BLOCK=64)
    with tw.device(device):
        far_away[(1,)](x, y, 0, BLOCK=64)
    np.testing.assert_array_equal(y, np.where(np.arange(64) < 60, 1, 0))


@tw.jit
def copy_row(x, y, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(y + i, tw.load(x + i))


@pytest.mark.parametrize("is_source_empty", [True, False])
def test_an_access_through_an_empty_array_names_it(is_source_empty: bool) -> None:
    arrays = np.zeros(0, np.float32), np.zeros(64, np.float32)
    x, y = arrays if is_source_empty else arrays[::-1]
    with tw.device(SIM), pytest.raises(tw.DeviceError):
        copy_row[(1,)](x, y, BLOCK=64)
    finding = tw.simulation.last_report(SIM).findings[0]
    name, verb = ("x", "read") if is_source_empty else ("y", "write")
    assert (finding["kind"], finding["buffer"]) == ("out-of-bounds-global", name)
    assert f"{verb} of 4 bytes at offset 0 of `{name}`, which has 0 bytes" in finding["message"]


@tw.jit
def total(x, y, BLOCK: tw.constexpr):
    values = tw.load(x + tw.arange(0, BLOCK))
    result = tw.sum(values, 0)
    tw.store(y, result)


def test_a_finding_within_a_library_function_is_at_its_call() -> None:
    lines, first = inspect.getsourcelines(total.fn)
    call = first + next(i for i, line in enumerate(lines) if "tw.sum" in line)
    places = set()
    x = np.ones(128, np.float32)
    with tw.device(SIM):
        for steps in range(1, 30):  # each instruction in turn is where the simulator stops
            with tw.simulation.simulate(SIM, max_steps=steps):
                try:
                    total[(1,)](x, np.zeros(1, np.float32), BLOCK=128)
                except tw.DeviceError:
                    finding = tw.simulation.last_report(SIM).findings[0]
                    places.add((finding["file"], finding["source_line"]))
    assert {file for file, _ in places} == {__file__.rsplit("/", 1)[-1]}
    assert call in {line for _, line in places}
