"""Values that lie across a barrier on opencl:0: the driver of processors runs the subgroups one after the other
between two barriers, and has to keep each one's values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sampled import OPENCL

import tilewright as tw

pytestmark = [
    pytest.mark.usefixtures("compiler"),
    pytest.mark.skipif(not OPENCL, reason="no OpenCL driver of processors: pip install intel-opencl-rt intel-cmplr-lib-rt"),
]


@tw.jit
def store_twice(first, second, x, BLOCK: tw.constexpr, OP: tw.constexpr):
    i = tw.arange(0, BLOCK)
    value = tw.load(x + i)
    if OP == "negative":
        result = -value
    elif OP == "negative product":
        result = -(value * value)
    elif OP == "negative magnitude":
        result = -tw.abs(value)
    elif OP == "negative rounded":
        result = (-value).to(tw.float8e5)
    elif OP == "flipped bit":
        bits = (value * value).to(tw.int32, bitcast=True)
        result = (bits ^ tw.full((BLOCK,), -2147483648, tw.int32)).to(tw.float32, bitcast=True)
    elif OP == "set bit":
        bits = (value * value).to(tw.int32, bitcast=True)
        result = (bits | tw.full((BLOCK,), -2147483648, tw.int32)).to(tw.float32, bitcast=True)
    elif OP == "root":
        result = tw.sqrt(tw.abs(value))
    else:
        result = tw.maximum(value, 0.0)
    tw.store(first + i, i.to(value.dtype))
    tw.store(second + i, result.to(value.dtype))


OPERATIONS: dict[str, Callable[[Any], Any]] = {
    "negative": lambda x: -x,
    "negative product": lambda x: -(x * x),
    "negative magnitude": lambda x: -abs(x),
    "negative rounded": lambda x: -x,
    "root": lambda x: np.sqrt(abs(x)),
    "maximum": lambda x: np.maximum(x, 0),
    "flipped bit": lambda x: -(x * x),
    "set bit": lambda x: -(x * x),
}
CASES = [
    (operation, dtype)
    for operation in OPERATIONS
    for dtype in (np.float16, np.float32, np.float64)
    if dtype is np.float32 or "bit" not in operation
]


@pytest.mark.parametrize(("operation", "dtype"), CASES)
@pytest.mark.parametrize(("block", "num_warps"), [(32, 2), (128, 8)])
def test_each_subgroup_keeps_its_values(
    operation: str, dtype: type, block: int, num_warps: int, rng: np.random.Generator
) -> None:
    """The rows are those of one array, so that a barrier keeps the order of their stores."""
    x = (rng.integers(-7, 8, block) / 2).astype(dtype)  # exact in each type, float8e5 too
    first, second = np.full((2, block), np.nan, dtype)
    with tw.device("opencl:0"):
        kernel = store_twice[(1,)](first, second, x, BLOCK=block, OP=operation, num_warps=num_warps)
    assert "call spir_func void @_Z22__spirv_ControlBarrieriii" in kernel.asm["llvm"]
    assert np.array_equal(first, np.arange(block))
    expected = OPERATIONS[operation](x.astype(np.float64))
    np.testing.assert_allclose(second, expected, rtol=np.finfo(dtype).eps)
