"""Random expressions and functions mean in a kernel what they mean in CPython, or are refused with
a code. `python test/python/fuzz/expressions/run_python.py` runs more of them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

import python_cases  # noqa: E402
import python_model  # noqa: E402

GROUPS, GROUP_SIZE = 4, 240


@pytest.mark.parametrize("group", range(GROUPS))
def test_random_python_means_the_same_or_is_refused(group: int, compiler: None) -> None:
    outcome = python_cases.run(group * GROUP_SIZE, GROUP_SIZE)
    assert not outcome.failures, "\n".join(outcome.failures)
    assert outcome.numCases > GROUP_SIZE * 0.8
    assert outcome.numRefused < outcome.numCases * 0.2, outcome.refused


@pytest.mark.parametrize("on", ["reference", "sim:sm_80"])
def test_devices_agree_on_random_python(on: str, compiler: None) -> None:
    outcome = python_cases.run(10_000, 64, on)
    assert not outcome.failures, "\n".join(outcome.failures)


def test_a_wrong_value_is_found(compiler: None) -> None:
    wrong = python_cases.Case(0, "(1, 2) + (3,)", (1, 2, 4))
    late = python_cases.Case(1, "a + 1", python_model.Scalar("int", 7))
    outcome = python_cases.Outcome()
    python_cases.run_expressions([wrong, late], "cpu", outcome)
    assert len(outcome.failures) == 2
