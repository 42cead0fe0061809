"""Normalizations as users write them, forward and backward, against NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gpu.launching import WARPS, normal, poisoned, run

import tilewright as tw

pytestmark = [
    pytest.mark.usefixtures("compiler"), pytest.mark.every_machine,
    pytest.mark.parametrize("num_warps", WARPS),
]  # fmt: skip


@tw.jit
def moments(value, inside, count):
    mean = tw.sum(value, 0) / count
    centered = tw.where(inside, value - mean, 0.0)
    return mean, centered, tw.sum(centered * centered, 0) / count


@tw.jit
def add_layer_norm(
    x, residual, weight, bias, total, out, mean_out, rstd_out,
    stride, columns, eps, BLOCK: tw.constexpr, HAS_BIAS: tw.constexpr,
):  # fmt: skip
    row = tw.program_id(0)
    c = tw.arange(0, BLOCK)
    inside = c < columns
    value = tw.load(x + row * stride + c, mask=inside, other=0.0).to(tw.float32)
    value += tw.load(residual + row * stride + c, mask=inside, other=0.0).to(tw.float32)
    tw.store(total + row * stride + c, value, mask=inside)
    mean, centered, variance = moments(value, inside, columns)
    rstd = 1.0 / tw.sqrt(variance + eps)
    y = centered * rstd * tw.load(weight + c, mask=inside).to(tw.float32)
    if HAS_BIAS:
        y += tw.load(bias + c, mask=inside).to(tw.float32)
    tw.store(out + row * stride + c, y, mask=inside)
    tw.store(mean_out + row, mean)
    tw.store(rstd_out + row, rstd)


@pytest.mark.parametrize("dtype", [np.float32, np.float16])
@pytest.mark.parametrize("columns", [100, 256])
def test_add_layer_norm(num_warps: int, dtype: Any, columns: int, rng: np.random.Generator) -> None:
    rows, stride = 5, columns + 3
    x, residual = normal(rng, rows, stride, dtype=dtype), normal(rng, rows, stride, dtype=dtype)
    weight, bias = normal(rng, columns, dtype=dtype), normal(rng, columns, dtype=dtype)
    total, out = np.zeros_like(x), np.zeros_like(x)
    mean, rstd = poisoned(rows), poisoned(rows)
    run(
        add_layer_norm, (rows,), x, residual, weight, bias, total, out, mean, rstd, stride, columns,
        1e-5, BLOCK=256, HAS_BIAS=columns == 100, num_warps=num_warps,
    )  # fmt: skip
    exact = (x.astype(np.float64) + residual)[:, :columns]
    rounding = 1e-5 if dtype == np.float32 else 3e-3
    np.testing.assert_allclose(total[:, :columns], exact, rtol=rounding, atol=rounding)
    np.testing.assert_allclose(mean, exact.mean(1), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(rstd, 1 / np.sqrt(exact.var(1) + 1e-5), rtol=1e-5)
    expected = (exact - exact.mean(1, keepdims=True)) / np.sqrt(exact.var(1, keepdims=True) + 1e-5)
    expected = expected * weight + (bias if columns == 100 else 0)
    np.testing.assert_allclose(out[:, :columns], expected, rtol=rounding, atol=2 * rounding)
    assert not out[:, columns:].any()


@tw.jit
def layer_norm_backward(
    dy, x, weight, mean, rstd, dx, dweight, dbias, locks, rows, columns,
    BLOCK: tw.constexpr, GROUPS: tw.constexpr,
):  # fmt: skip
    row = tw.program_id(0)
    c = tw.arange(0, BLOCK)
    inside = c < columns
    grad = tw.load(dy + row * columns + c, mask=inside, other=0.0)
    normalized = (tw.load(x + row * columns + c, mask=inside, other=0.0) - tw.load(mean + row))
    normalized = tw.where(inside, normalized * tw.load(rstd + row), 0.0)
    scaled = grad * tw.load(weight + c, mask=inside, other=0.0)
    along = tw.sum(normalized * scaled, 0) / columns
    level = tw.sum(scaled, 0) / columns
    tw.store(
        dx + row * columns + c, (scaled - normalized * along - level) * tw.load(rstd + row), inside
    )
    group = row % GROUPS
    lock = locks + group
    while tw.atomic_cas(lock, 0, 1) == 1:
        pass
    at = group * columns + c
    used = tw.load(locks + GROUPS + group)
    old_weight = tw.zeros([BLOCK], tw.float32)
    old_bias = tw.zeros([BLOCK], tw.float32)
    if used == 0:
        tw.atomic_xchg(locks + GROUPS + group, 1)
    else:
        old_weight = tw.load(dweight + at, mask=inside, other=0.0)
        old_bias = tw.load(dbias + at, mask=inside, other=0.0)
    tw.store(dweight + at, old_weight + grad * normalized, mask=inside)
    tw.store(dbias + at, old_bias + grad, mask=inside)
    tw.debug_barrier()
    tw.atomic_xchg(lock, 0)


def test_layer_norm_backward_with_locks_between_programs(
    num_warps: int, rng: np.random.Generator
) -> None:
    rows, columns, groups = 7, 120, 2
    x, dy, weight = normal(rng, rows, columns), normal(rng, rows, columns), normal(rng, columns)
    mean = x.mean(1)
    rstd = (1 / np.sqrt(x.var(1) + 1e-5)).astype(np.float32)
    dx = poisoned(rows, columns)
    dweight, dbias = poisoned(groups, columns), poisoned(groups, columns)
    run(
        layer_norm_backward, (rows,), dy, x, weight, mean, rstd, dx, dweight, dbias,
        np.zeros(2 * groups, np.int32), rows, columns, BLOCK=128, GROUPS=groups,
        num_warps=num_warps,
    )  # fmt: skip
    hat = (x.astype(np.float64) - mean[:, None]) * rstd[:, None]
    scaled = dy * weight.astype(np.float64)
    expected = scaled - hat * (hat * scaled).mean(1, keepdims=True) - scaled.mean(1, keepdims=True)
    np.testing.assert_allclose(dx, expected * rstd[:, None], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dweight.sum(0), (dy * hat).sum(0), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(dbias.sum(0), dy.sum(0), rtol=1e-4, atol=1e-5)


@tw.jit
def group_norm(
    x, weight, bias, out, channels, pixels, groups, eps, CHANNELS: tw.constexpr,
    PIXELS: tw.constexpr, ACTIVATION: tw.constexpr,
):  # fmt: skip
    image = tw.program_id(0)
    group = tw.program_id(1)
    each = channels // groups
    c = tw.arange(0, CHANNELS)
    p = tw.arange(0, PIXELS)
    inside = (c < each)[:, None] & (p < pixels)[None, :]
    at = ((image * channels + group * each + c) * pixels)[:, None] + p[None, :]
    value = tw.load(x + at, mask=inside, other=0.0)
    count = each * pixels
    mean = tw.sum(value) / count
    centered = tw.where(inside, value - mean, 0.0)
    rstd = tw.rsqrt(tw.sum(centered * centered) / count + eps)
    w = tw.load(weight + group * each + c, mask=c < each, other=0.0)
    b = tw.load(bias + group * each + c, mask=c < each, other=0.0)
    y = centered * rstd * w[:, None] + b[:, None]
    if ACTIVATION == "silu":
        y = y * tw.sigmoid(y)
    tw.store(out + at, y, mask=inside)


@pytest.mark.parametrize("activation", [None, "silu"])
def test_group_norm(num_warps: int, activation: str | None, rng: np.random.Generator) -> None:
    images, channels, pixels, groups = 2, 12, 25, 2
    x = normal(rng, images, channels, pixels)
    weight, bias = normal(rng, channels), normal(rng, channels)
    out = poisoned(images, channels, pixels)
    run(
        group_norm, (images, groups), x, weight, bias, out, channels, pixels, groups, 1e-5,
        CHANNELS=8, PIXELS=32, ACTIVATION=activation, num_warps=num_warps,
    )  # fmt: skip
    grouped = x.astype(np.float64).reshape(images, groups, -1)
    hat = (grouped - grouped.mean(2, keepdims=True)) / np.sqrt(grouped.var(2, keepdims=True) + 1e-5)
    expected = hat.reshape(x.shape) * weight[:, None] + bias[:, None]
    if activation:
        expected = expected / (1 + np.exp(-expected))
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


@tw.jit
def merge_moments(mean_a, m2_a, count_a, mean_b, m2_b, count_b):
    count = count_a + count_b
    delta = mean_b - mean_a
    share = tw.where(count == 0, 0.0, count_b / tw.maximum(count, 1.0))
    return mean_a + delta * share, m2_a + m2_b + delta * delta * count_a * share, count


@tw.jit
def batch_norm_statistics(
    x, means, variances, running, momentum, images, channels, pixels, BLOCK: tw.constexpr
):
    channel = tw.program_id(0)
    mean = tw.zeros([BLOCK], tw.float32)
    m2 = tw.zeros([BLOCK], tw.float32)
    count = tw.zeros([BLOCK], tw.float32)
    for image in range(images):
        for start in range(0, pixels, BLOCK):
            p = start + tw.arange(0, BLOCK)
            inside = p < pixels
            value = tw.load(x + (image * channels + channel) * pixels + p, mask=inside, other=0.0)
            count += inside.to(tw.float32)
            delta = value - mean
            mean = tw.where(inside, mean + delta / tw.maximum(count, 1.0), mean)
            m2 += tw.where(inside, delta * (value - mean), 0.0)
    mean_all, m2_all, count_all = tw.reduce((mean, m2, count), 0, merge_moments)
    variance = m2_all / count_all
    tw.store(means + channel, mean_all)
    tw.store(variances + channel, variance)
    old = tw.load(running + channel)
    tw.store(running + channel, (1 - momentum) * old + momentum * mean_all)


def test_batch_norm_statistics_by_welford(num_warps: int, rng: np.random.Generator) -> None:
    images, channels, pixels = 3, 4, 300
    x = 3 + normal(rng, images, channels, pixels)
    means, variances = poisoned(channels), poisoned(channels)
    running = normal(rng, channels)
    expected = 0.9 * running.astype(np.float64) + 0.1 * x.astype(np.float64).mean((0, 2))
    run(
        batch_norm_statistics, (channels,), x, means, variances, running, 0.1, images, channels,
        pixels, BLOCK=128, num_warps=num_warps,
    )  # fmt: skip
    np.testing.assert_allclose(means, x.astype(np.float64).mean((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(variances, x.astype(np.float64).var((0, 2)), rtol=1e-5)
    np.testing.assert_allclose(running, expected, rtol=1e-5, atol=1e-6)


@tw.jit
def rms_norm_residual(x, residual, weight, out, columns, eps, BLOCK: tw.constexpr):
    """Residual in place; a row is read in pieces twice."""
    row = tw.program_id(0).to(tw.int64)
    x += row * columns
    residual += row * columns
    out += row * columns
    squares = tw.zeros((BLOCK,), dtype=tw.float32)
    for start in range(0, tw.cdiv(columns, BLOCK)):
        c = start * BLOCK + tw.arange(0, BLOCK)
        inside = c < columns
        value = tw.load(x + c, inside, other=0.0) + tw.load(residual + c, inside, other=0.0)
        tw.store(residual + c, value, inside)
        value = value.to(tw.float32)
        squares += value * value
    scale = tw.rsqrt(tw.sum(squares, axis=0) / columns + eps)
    tw.debug_barrier()
    for start in range(0, tw.cdiv(columns, BLOCK)):
        c = start * BLOCK + tw.arange(0, BLOCK)
        inside = c < columns
        value = tw.load(residual + c, inside, other=0.0).to(tw.float32) * scale
        tw.store(out + c, value * tw.load(weight + c, inside, other=0.0).to(tw.float32), inside)


@pytest.mark.parametrize("columns", [384, 300])
def test_rms_norm_with_residual_in_place(
    num_warps: int, columns: int, rng: np.random.Generator
) -> None:
    x, residual = normal(rng, 3, columns), normal(rng, 3, columns)
    weight, out = normal(rng, columns), poisoned(3, columns)
    exact = x.astype(np.float64) + residual
    run(
        rms_norm_residual, (3,), x, residual, weight, out, columns, 1e-6, BLOCK=128,
        num_warps=num_warps,
    )  # fmt: skip
    np.testing.assert_allclose(residual, exact, rtol=1e-6, atol=1e-6)
    expected = exact / np.sqrt((exact**2).mean(1, keepdims=True) + 1e-6) * weight
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


@tw.jit
def normalize_columns(x, out, norms, rows, columns, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    r = tw.arange(0, ROWS)[:, None]
    c = (tw.program_id(0) * COLUMNS + tw.arange(0, COLUMNS))[None, :]
    inside = (r < rows) & (c < columns)
    value = tw.load(x + r * columns + c, inside, 0.0).to(tw.float32)
    norm = tw.sqrt(tw.sum(value * value, 0, keep_dims=True))
    tw.store(norms + c, norm, c < columns)
    tw.store(out + r * columns + c, value / tw.maximum(norm, 1e-12), inside)


def test_columns_are_normalized(num_warps: int, rng: np.random.Generator) -> None:
    x, out, norms = normal(rng, 30, 70), poisoned(30, 70), poisoned(70)
    run(normalize_columns, (3,), x, out, norms, 30, 70, ROWS=32, COLUMNS=32, num_warps=num_warps)
    expected = np.sqrt((x.astype(np.float64) ** 2).sum(0))
    np.testing.assert_allclose(norms, expected, rtol=1e-6)
    np.testing.assert_allclose(out, x / expected, rtol=1e-5)
