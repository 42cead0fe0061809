"""What kernels say of themselves: values expected to be zero, and names of compiled kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.triton.language as tl


@tw.jit
def underflows(x, mask, out, N: tw.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.expect_zero(tl.load(x + i), tl.load(mask + i) != 0))


def test_expect_zero_keeps_values_and_is_asserted_in_debug_builds(device: str) -> None:
    x, mask = np.array([0, 1, 0, 2], np.float32), np.array([1, 0, 1, 0], np.int8)
    for debug in (False, True):
        out = np.zeros(4, np.float32)
        underflows[(1,)](x, mask, out, N=4, debug=debug)
        np.testing.assert_array_equal(out, x)
    mask[1] = 1
    underflows[(1,)](x, mask, out, N=4)
    with pytest.raises(tw.DeviceError, match="expected x == 0"):
        underflows[(1,)](x, mask, out, N=4, debug=True)


def test_repr_names_what_a_kernel_is_compiled_for() -> None:
    seen: list[Any] = []

    def name(specialization: Any) -> str:
        seen.append(specialization)
        return f"copy_{specialization.signature['n']}"

    @tw.jit(repr=name)
    def copy(out, n, one, B: tw.constexpr):
        tw.store(out, n)

    out = np.zeros(1, np.int64)
    assert copy[(1,)](out, 1 << 40, 1, B=4).name == "copy_i64"
    assert copy[(1,)](out, 7, 1, B=4).name == "copy_i32"
    assert seen[0].constants == {"one": 1, "B": 4}
    assert seen[0].signature == {"out": "*i64", "n": "i64", "one": "constexpr", "B": "constexpr"}
