"""Kernels that are too large to be meant are refused early, at the line that makes them so."""

from __future__ import annotations

import time

import numpy as np
import pytest
import tilewright as tw

ARRAYS = {"out": "*fp32:16", "x": "*fp32:16"}


@tw.jit
def unrolled(out, x, N: tw.constexpr):
    r = tw.arange(0, 64)
    acc = tw.load(x + r)
    for i in tw.static_range(N):
        acc = tw.exp(acc) + tw.load(x + r + i)
    tw.store(out + r, acc)


@tw.jit
def one_step(x, i):
    return tw.exp(x) * i + x / (i + 1)


@tw.jit
def calls(out, x, N: tw.constexpr):
    r = tw.arange(0, 64)
    acc = tw.load(x + r)
    for i in tw.static_range(N):
        acc = one_step(one_step(acc, i), i)
    tw.store(out + r, acc)


@pytest.mark.parametrize("kernel", [unrolled, calls])
@pytest.mark.parametrize("device", ["cpu", "reference", "sim:sm_80"])
def test_ten_thousand_unrolled_bodies_are_refused(compiler: None, kernel: tw.JITFunction, device: str):
    start = time.process_time()
    with pytest.raises(tw.CompileError) as caught:
        kernel.compile(ARRAYS, {"N": 10_000}, device=device)
    message = str(caught.value)
    assert "TW0121" in message and "operations" in message and "hint: use range" in message
    # A bound far above what it takes, and far below what compiling so much would.
    assert time.process_time() - start < 60


def test_what_an_abandoned_attempt_at_a_loop_made_does_not_count(compiler: None):
    """The loop's body is emitted twice: `acc` turns from int32 to fp32."""

    @tw.jit
    def kernel(out, x, n, N: tw.constexpr):
        acc = 0
        for _ in range(n):
            for i in tw.static_range(N):
                acc = acc * 1.5 + i
        tw.store(out, acc)

    signature = {**ARRAYS, "n": "i32"}
    kernel.compile(signature, {"N": 4_000}, device="reference")
    with pytest.raises(tw.CompileError, match="TW0121"):
        kernel.compile(signature, {"N": 19_000}, device="reference")


@tw.jit
def loops_in_a_row(out, x, n, stop, BLOCK: tw.constexpr, N: tw.constexpr):
    r = tw.arange(0, BLOCK)
    acc = tw.zeros([BLOCK], tw.float32)
    for turn in range(n):
        for i in tw.static_range(N):
            for k in range(i, i + n):
                acc += tw.load(x + k * BLOCK + r)
            if i == N // 2:
                if turn == stop:
                    return
            acc = tw.where(acc > 8, acc - 8, acc)
        tw.store(out + r, acc)


@pytest.mark.parametrize("stop", [-1, 0, 2])
def test_some_hundred_loops(compiler: None, stop: int):
    """On CPUs the compiler cuts such code into several functions."""
    n, block, loops = 4, 64, 200
    x = np.random.default_rng(1).integers(0, 4, (loops + n, block)).astype(np.float32)
    out, expected = np.full(block, -1, np.float32), np.full(block, -1, np.float32)
    loops_in_a_row[1](out, x, n, stop, block, loops)
    acc = np.zeros(block, np.float32)
    for turn in range(n if stop < 0 else stop + 1):
        for i in range(loops):
            acc += x[i : i + n].sum(0)
            if i == loops // 2 and turn == stop:
                break
            acc = np.where(acc > 8, acc - 8, acc)
        else:
            expected[:] = acc
    np.testing.assert_array_equal(out, expected)
