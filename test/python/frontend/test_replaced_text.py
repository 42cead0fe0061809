"""Kernels whose text a script replaces, as Triton's own tests and code generators do."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw


def _scaled_by(factor: int):
    @tw.jit
    def scale(x):
        return x + factor

    return scale


scale = _scaled_by(5)


@tw.jit
def write(out, shift: tw.constexpr = 3):
    tw.store(out, scale(2) + shift)


def _run(kernel, *arguments):
    out = np.zeros(1, dtype=np.int32)
    kernel[(1,)](out, *arguments)
    return out.item()


def test_replaced_text_is_what_runs_and_what_src_says():
    kernel = tw.jit(write.fn)
    assert _run(kernel) == 10
    kernel._unsafe_update_src(kernel.src.replace("scale(2) + shift", "scale(shift) * 100"))
    assert _run(kernel) == 800
    assert "scale(shift) * 100" in kernel.src and "scale(2) + shift" in write.src
    assert _run(write) == 10  # another kernel of the same function


def test_callers_see_the_text_of_a_callee_replaced_between_launches():
    assert _run(write) == 10
    text = scale.src
    scale._unsafe_update_src(text.replace("x + factor", "x * factor"))
    assert _run(write) == 13  # the closure's number, in the new text
    scale._unsafe_update_src(text)
    assert _run(write) == 10


def test_parameters_follow_the_replaced_text():
    kernel = tw.jit(write.fn)
    kernel._unsafe_update_src("def write(out, amount):\n    tw.store(out, amount)\n")
    assert kernel.arg_names == ["out", "amount"] and _run(kernel, 41) == 41


def test_an_error_in_a_replaced_text_shows_its_line():
    kernel = tw.jit(write.fn)
    kernel._unsafe_update_src(kernel.src.replace("shift)", "nowhere)"))
    with pytest.raises(tw.CompileError, match="nowhere") as caught:
        _run(kernel)
    assert "tw.store(out, scale(2) + nowhere)" in str(caught.value)


@pytest.mark.parametrize("text", ["x = 1\n", "def f(): pass\ndef g(): pass\n"])
def test_a_text_that_is_no_function_is_refused(text):
    with pytest.raises(ValueError, match="one `def`"):
        tw.jit(write.fn)._unsafe_update_src(text)
