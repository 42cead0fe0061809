"""The error of a launch that the simulator finds wrong reads as a person needs it."""

from __future__ import annotations

import inspect
import re

import numpy as np
import pytest

import tilewright as tw

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
