"""Quantization and optimizers as users write them, against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from gpu.launching import WARPS, normal, poisoned, run

import tilewright as tw

pytestmark = [
    pytest.mark.usefixtures("compiler"), pytest.mark.every_machine,
    pytest.mark.parametrize("num_warps", WARPS),
]  # fmt: skip


@tw.jit
def quantize_rows(x, out, scales, columns, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    c = tw.arange(0, BLOCK)
    value = tw.load(x + row * columns + c, mask=c < columns, other=0.0)
    scale = tw.max(tw.abs(value), 0) / 127
    scaled = tw.where(scale > 0, value / scale, 0.0)
    rounded = tw.floor(tw.abs(scaled) + 0.5)
    signed = tw.where(scaled < 0, -rounded, rounded)
    tw.store(out + row * columns + c, signed.to(tw.int8), mask=c < columns)
    tw.store(scales + row, scale)


@tw.jit
def dequantize_rows(x, scales, out, columns, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    c = tw.arange(0, BLOCK)
    value = tw.load(x + row * columns + c, mask=c < columns)
    scale = tw.load(scales + row)
    tw.store(out + row * columns + c, value * scale, mask=c < columns)


@pytest.mark.parametrize("columns", [200, 256])
def test_rows_to_int8_and_back(num_warps: int, columns: int, rng: np.random.Generator) -> None:
    x = normal(rng, 4, columns)
    x[2] = 0
    out, scales = poisoned(4, columns, dtype=np.int8), poisoned(4)
    run(quantize_rows, (4,), x, out, scales, columns, BLOCK=256, num_warps=num_warps)
    np.testing.assert_allclose(scales, np.abs(x).max(1) / 127, rtol=1e-6)
    back = poisoned(4, columns)
    run(dequantize_rows, (4,), out, scales, back, columns, BLOCK=256, num_warps=num_warps)
    assert (np.abs(back - x) <= 0.501 * scales[:, None]).all()


@tw.jit
def unpack_int4(packed, scales, zeros, out, K, N, GROUP: tw.constexpr, BK: tw.constexpr,
                BN: tw.constexpr):  # fmt: skip
    """Eight 4-bit weights of one column per 32-bit word; a scale and a zero per group of rows."""
    words = tw.program_id(0) * (BK // 8) + tw.arange(0, BK // 8)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    word = tw.load(packed + words[:, None] * N + n[None, :], mask=n[None, :] < N, other=0)
    word = tw.broadcast_to(word[:, None, :], (BK // 8, 8, BN))
    shift = (tw.arange(0, 8) * 4)[None, :, None]
    nibble = tw.reshape((word >> shift) & 0xF, (BK, BN))
    k = tw.program_id(0) * BK + tw.arange(0, BK)
    at = (k // GROUP)[:, None] * N + n[None, :]
    scale = tw.load(scales + at, mask=n[None, :] < N, other=0.0)
    zero = tw.load(zeros + at, mask=n[None, :] < N, other=0)
    weight = (nibble.to(tw.int32) - zero.to(tw.int32)).to(tw.float32) * scale
    tw.store(out + k[:, None] * N + n[None, :], weight.to(out.dtype.element_ty), n[None, :] < N)


def test_packed_int4_weights(num_warps: int, rng: np.random.Generator) -> None:
    K, N, group = 64, 20, 32
    weights = rng.integers(0, 16, (K, N)).astype(np.uint32)
    shifts = (4 * np.arange(8, dtype=np.uint32))[None, :, None]
    packed = np.bitwise_or.reduce(weights.reshape(K // 8, 8, N) << shifts, 1).astype(np.uint32)
    packed = packed.view(np.int32)
    scales = normal(rng, K // group, N, dtype=np.float16)
    zeros = rng.integers(0, 16, (K // group, N)).astype(np.int8)
    out = poisoned(K, N, dtype=np.float16)
    run(
        unpack_int4, (2, 1), packed, scales, zeros, out, K, N, GROUP=group, BK=32, BN=32,
        num_warps=num_warps,
    )  # fmt: skip
    shifted = weights.astype(np.float32) - np.repeat(zeros, group, 0)
    expected = shifted * np.repeat(scales, group, 0)
    np.testing.assert_array_equal(out, expected.astype(np.float16))


@tw.jit
def pack_int4(x, packed, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    pair = tw.load(x + 2 * i[:, None] + tw.arange(0, 2)[None, :], mask=(i < n)[:, None], other=0)
    low, high = tw.split(pair)
    tw.store(packed + i, (low & 0xF) | (high << 4), mask=i < n)


def test_pairs_packed_into_bytes(num_warps: int, rng: np.random.Generator) -> None:
    x, packed = rng.integers(0, 16, 300).astype(np.uint8), poisoned(150, dtype=np.uint8)
    run(pack_int4, (2,), x, packed, 150, BLOCK=128, num_warps=num_warps)
    np.testing.assert_array_equal(packed, x[::2] | (x[1::2] << 4))


@tw.jit
def int8_matmul(a, b, a_scale, b_scale, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr,
                BK: tw.constexpr):  # fmt: skip
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    acc = tw.zeros((BM, BN), tw.int32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :],
                    mask=(m < M)[:, None] & (start + k < K)[None, :], other=0)  # fmt: skip
        y = tw.load(b + n[None, :] * K + (start + k)[:, None],
                    mask=(n < N)[None, :] & (start + k < K)[:, None], other=0)  # fmt: skip
        acc += tw.dot(x, y, out_dtype=tw.int32)
    scale = tw.load(a_scale + m, m < M, 0.0)[:, None] * tw.load(b_scale + n, n < N, 0.0)[None, :]
    tw.store(c + m[:, None] * N + n[None, :], acc.to(tw.float32) * scale,
             mask=(m < M)[:, None] & (n < N)[None, :])  # fmt: skip


def test_int8_matmul_with_scales_of_rows_and_columns(
    num_warps: int, rng: np.random.Generator
) -> None:
    a, b = (rng.integers(-128, 128, s).astype(np.int8) for s in ((30, 50), (40, 50)))
    a_scale, b_scale = rng.random(30).astype(np.float32), rng.random(40).astype(np.float32)
    c = poisoned(30, 40)
    run(
        int8_matmul, (1, 2), a, b, a_scale, b_scale, c, 30, 40, 50, BM=32, BN=32, BK=32,
        num_warps=num_warps,
    )  # fmt: skip
    scale = np.outer(a_scale.astype(np.float64), b_scale)
    exact = a.astype(np.int64) @ b.astype(np.int64).T * scale
    np.testing.assert_allclose(c, exact, rtol=1e-6)


@tw.jit
def adamw(param, grad, m, v, n, lr, beta1, beta2, eps, decay, step, BLOCK: tw.constexpr,
          MAXIMIZE: tw.constexpr = False):  # fmt: skip
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    p = tw.load(param + i, mask=inside)
    g = tw.load(grad + i, mask=inside).to(tw.float32)
    if MAXIMIZE:
        g = -g
    first = beta1 * tw.load(m + i, mask=inside) + (1 - beta1) * g
    second = beta2 * tw.load(v + i, mask=inside) + (1 - beta2) * g * g
    correction1 = 1 - tw.exp2(step * tw.log2(beta1))
    correction2 = 1 - tw.exp2(step * tw.log2(beta2))
    p = p * (1 - lr * decay)
    p -= lr * (first / correction1) / (tw.sqrt(second / correction2) + eps)
    tw.store(param + i, p, mask=inside)
    tw.store(m + i, first, mask=inside)
    tw.store(v + i, second, mask=inside)


@pytest.mark.parametrize("maximize", [False, True])
def test_adamw(num_warps: int, maximize: bool, rng: np.random.Generator) -> None:
    p, m, v = normal(rng, 500), normal(rng, 500), rng.random(500).astype(np.float32)
    g = normal(rng, 500, dtype=np.float16)
    sign = -g.astype(np.float64) if maximize else g.astype(np.float64)
    em, ev = 0.9 * m + 0.1 * sign, 0.95 * v + 0.05 * sign**2
    step = 0.01 * (em / (1 - 0.9**3)) / (np.sqrt(ev / (1 - 0.95**3)) + 1e-8)
    ep = p.astype(np.float64) * (1 - 0.001) - step
    run(
        adamw, (2,), p, g, m, v, 500, 0.01, 0.9, 0.95, 1e-8, 0.1, 3, BLOCK=256,
        MAXIMIZE=maximize, num_warps=num_warps,
    )  # fmt: skip
    np.testing.assert_allclose(p, ep, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(m, em, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(v, ev, rtol=1e-4, atol=1e-6)


@tw.jit
def momentum_8bit(param, grad, state, table, absmax, n, lr, beta, BLOCK: tw.constexpr,
                  CODES: tw.constexpr):  # fmt: skip
    """The state is a byte per element: an index into a sorted table, scaled per block."""
    block = tw.program_id(0)
    i = block * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    code = tw.load(state + i, mask=inside, other=0)
    old = tw.load(table + code.to(tw.int32)) * tw.load(absmax + block)
    value = beta * old + tw.load(grad + i, mask=inside, other=0.0)
    value = tw.where(inside, value, 0.0)
    largest = tw.max(tw.abs(value), 0)
    wanted = value / tw.maximum(largest, 1e-12)
    low = tw.zeros([BLOCK], tw.int32)
    high = tw.full([BLOCK], CODES - 1, tw.int32)
    for _ in range(8):
        middle = (low + high) // 2
        is_below = tw.load(table + middle) < wanted
        low = tw.where(is_below, tw.minimum(middle + 1, CODES - 1), low)
        high = tw.where(is_below, high, middle)
    before = tw.maximum(low - 1, 0)
    is_nearer = wanted - tw.load(table + before) < tw.load(table + low) - wanted
    tw.store(state + i, tw.where(is_nearer, before, low).to(tw.uint8), mask=inside)
    tw.store(absmax + block, largest)
    tw.store(param + i, tw.load(param + i, mask=inside) - lr * value, mask=inside)


def test_momentum_in_eight_bits(num_warps: int, rng: np.random.Generator) -> None:
    n, block = 300, 128
    table = np.linspace(-1, 1, 256, dtype=np.float32)
    state, absmax = rng.integers(0, 256, n).astype(np.uint8), rng.random(3).astype(np.float32)
    param, grad = normal(rng, n), normal(rng, n)
    scale = np.repeat(absmax, block)[:n]
    value = (0.9 * table[state].astype(np.float64) * scale + grad).astype(np.float64)
    expected = param - 0.1 * value
    run(
        momentum_8bit, (3,), param, grad, state, table, absmax, n, 0.1, 0.9, BLOCK=block, CODES=256,
        num_warps=num_warps,
    )  # fmt: skip
    np.testing.assert_allclose(param, expected, rtol=1e-5, atol=1e-5)
    largest = [np.abs(value[b * block : (b + 1) * block]).max() for b in range(3)]
    np.testing.assert_allclose(absmax, largest, rtol=1e-5)
    error = np.abs(table[state] * np.repeat(absmax, block)[:n] - value)
    assert (error <= np.repeat(absmax, block)[:n] * 0.5001 * 2 / 255 + 1e-6).all()


@tw.jit
def stochastic_round(x, out, n, seed, BLOCK: tw.constexpr):
    """float32 to the upper 16 bits of float32, up or down by chance."""
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    bits = tw.load(x + i, mask=i < n).to(tw.uint32, bitcast=True)
    noise = tw.randint(seed, i).to(tw.uint32) & 0xFFFF
    tw.store(out + i, ((bits + noise) >> 16).to(tw.uint16), mask=i < n)


def test_stochastic_rounding(num_warps: int, rng: np.random.Generator) -> None:
    x, out = normal(rng, 400), poisoned(400, dtype=np.uint16)
    run(stochastic_round, (2,), x, out, 400, 7, BLOCK=256, num_warps=num_warps)
    bits = x.view(np.uint32) >> 16
    assert ((out == bits) | (out == bits + 1)).all()
    assert 0.3 < (out == bits).mean() < 0.7
