"""Pointers as values, masks of every form, ranks up to four and helpers that touch memory."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import tilewright.triton as triton
import tilewright.triton.language as tl


@triton.jit
def grouped_add(addresses, sizes, out, stride, BLOCK: tl.constexpr):
    group = tl.program_id(0)
    x = tl.load(addresses + group).to(tl.pointer_type(tl.float32))
    n = tl.load(sizes + group)
    i = tl.arange(0, BLOCK)
    for start in range(0, n, BLOCK):
        at = start + i
        tl.store(out + group * stride + at, tl.load(x + at, mask=at < n) + group, mask=at < n)


def test_pointers_loaded_from_memory(compiler: None, rng) -> None:
    # The reference device knows the memory of arguments only, so it rightly refuses these.
    parts = [torch.from_numpy(rng.standard_normal(n, np.float32)) for n in (3, 10, 7)]
    addresses = torch.tensor([part.data_ptr() for part in parts])
    sizes = torch.tensor([part.numel() for part in parts], dtype=torch.int32)
    out = torch.full((3, 10), 99.0)
    grouped_add[(3,)](addresses, sizes, out, 10, BLOCK=4)
    for group, part in enumerate(parts):
        assert torch.equal(out[group, : part.numel()], part + group)
        assert (out[group, part.numel() :] == 99).all()


@triton.jit
def swapped(a, b, flip):
    if flip:
        return b, a
    return a, b


@triton.jit
def put(base, i, value, mask=None):
    tl.store(base + i, value, mask=mask)


@triton.jit
def chosen_pointers(a, b, out, flip, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    first, second = swapped(a, b, flip)
    put(out, i, tl.load(first + i) - tl.load(second + i))
    mixed = tl.where(i % 2 == 0, a + i, b + i)
    put(out + BLOCK, i, tl.load(mixed))
    source = a
    for step in range(n):
        source = b if step % 2 == 0 else a + step
        if step == 3:
            break
    put(out + 2 * BLOCK, i, tl.load(source + i), i < n)
    p = a
    end = a + BLOCK
    total = 0
    while p < end:
        total += tl.load(p)
        p += 2
    put(out + 3 * BLOCK, 0, total)
    put(out + 3 * BLOCK, 1, (end - 1).to(tl.int64) - a.to(tl.int64))


@pytest.mark.parametrize("flip", [True, False])
def test_pointers_chosen_at_run_time(device: str, rng, flip: bool) -> None:
    a, b = rng.integers(-9, 9, (2, 16))
    out = np.full(26, 99)
    chosen_pointers[(1,)](a, b, out, flip, 5, BLOCK=8)
    assert out[:8].tolist() == ((b - a) if flip else (a - b))[:8].tolist()
    assert out[8:16].tolist() == [(b if i % 2 else a)[i] for i in range(8)]
    # The loop is left in step 3 with a + 3.
    assert out[16:24].tolist() == [*a[3:8], 99, 99, 99]
    assert out[24:].tolist() == [a[:8:2].sum(), 7 * 8]


@triton.jit
def mask_forms(out, x, low, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x + i)
    one = (low <= i) and (i < n)
    two = low <= i < n
    three = not (i < low) and not (i >= n)
    four = ~((i < low) | (i >= n))
    same = (one == two) & (two == three) & (three == four)
    tl.store(out + i, tl.where(one, x, -x), mask=same)
    tl.store(out + BLOCK, tl.sum(two.to(tl.int32)), mask=n > 2)
    tl.store(out + BLOCK + 1, 5, mask=n > 200)
    tl.store(out + BLOCK + 2, (low == 2 or n == 0) and not low > n)


def test_masks_written_in_every_form(device: str) -> None:
    out, x = np.full(19, 99), np.arange(1, 17)
    mask_forms[(1,)](out, x, 2, 11, BLOCK=16)
    expected = [v if 2 <= i < 11 else -v for i, v in enumerate(range(1, 17))]
    assert out.tolist() == [*expected, 9, 99, 1]


@triton.jit
def rank_four(out, x, A: tl.constexpr, B: tl.constexpr, C: tl.constexpr, D: tl.constexpr):
    a = tl.arange(0, A)[:, None, None, None]
    b = tl.arange(0, B)[None, :, None, None]
    c = tl.arange(0, C)[None, None, :, None]
    d = tl.arange(0, D)[None, None, None, :]
    at = ((a * B + b) * C + c) * D + d
    v = tl.load(x + at)
    total = v.sum(axis=-1).max(1).min(axis=1)
    tl.store(out + tl.arange(0, A), total)
    wide = tl.sum(v, axis=2, keep_dims=True)
    tl.static_assert(wide.shape == (A, B, 1, D))
    swapped_dims = tl.permute(v - wide, 3, 1, 0, 2)
    target = ((tl.permute(d, 3, 1, 0, 2) * B + b) * A + tl.permute(a, 3, 1, 0, 2)) * C
    tl.store(out + A + target + tl.arange(0, C)[None, None, None, :], swapped_dims)


def test_tiles_of_rank_four(device: str, rng) -> None:
    x = rng.integers(-50, 50, (2, 4, 2, 8)).astype(np.int32)
    out = np.full(2 + x.size, 9999, np.int32)
    rank_four[(1,)](out, x, 2, 4, 2, 8)
    assert out[:2].tolist() == x.sum(3).max(1).min(1).tolist()
    expected = (x - x.sum(2, keepdims=True)).transpose(3, 1, 0, 2)
    assert (out[2:].reshape(expected.shape) == expected).all()


@triton.jit
def integer_rules(out, x, y, u, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    a, b, c = tl.load(x + i), tl.load(y + i), tl.load(u + i)
    tl.store(out + i, a // b)
    tl.store(out + BLOCK + i, a % b)
    tl.store(out + 2 * BLOCK + i, (c - 200).to(tl.int32))
    tl.store(out + 3 * BLOCK + i, (a >> 1) ^ (a << 3))
    tl.store(out + 4 * BLOCK + i, (c >> 3).to(tl.int32) + (-7 // 2) + (-7 % 3))
    tl.store(out + 5 * BLOCK + i, tl.umulhi(a.to(tl.uint32), b.to(tl.uint32)).to(tl.int32))
    tl.store(out + 6 * BLOCK + i, -a**3 + abs(b) + min(a, b) * max(a, 2))


def test_rules_of_integers(device: str, rng) -> None:
    x = rng.integers(-100, 100, 16).astype(np.int32)
    y = rng.choice([-7, -3, -1, 1, 2, 5, 9], 16).astype(np.int32)
    u = rng.integers(0, 256, 16).astype(np.uint8)
    out = np.full((7, 16), 99, np.int32)
    integer_rules[(1,)](out, x, y, u, BLOCK=16)
    wide = x.astype(np.int64)
    high = (x.view(np.uint32).astype(object) * y.view(np.uint32).astype(object)) >> 32
    expected = [
        np.fix(wide / y), np.fmod(wide, y), (u.astype(int) - 200) % 256, (wide >> 1) ^ (wide << 3),
        ((u >> 3).astype(int) - 4 + 2), [int(h) - (1 << 32 if h >> 31 else 0) for h in high],
        -(wide**3) + abs(y) + np.minimum(wide, y) * np.maximum(wide, 2),
    ]  # fmt: skip
    for row, (got, want) in enumerate(zip(out, expected)):
        assert got.tolist() == list(want), row


@triton.jit
def half_precision(out, a, b, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x, y = tl.load(a + i), tl.load(b + i)
    tl.static_assert((x * 2.0).dtype == x.dtype)
    tl.static_assert((x + tl.load(b + i)).dtype == (tl.float32 if x.dtype != y.dtype else x.dtype))
    tl.store(out + i, x * 2.0 + 1)
    tl.store(out + BLOCK + i, x + y)
    tl.store(out + 2 * BLOCK + i, tl.exp(x.to(tl.float32)))
    tl.store(out + 3 * BLOCK + i, tl.sum(x) + tl.max(y) * 0)


@pytest.mark.parametrize(
    "first,second",
    [
        (torch.float16, torch.float16),
        (torch.bfloat16, torch.bfloat16),
        (torch.float16, torch.bfloat16),
    ],
)
def test_half_precision_arithmetic(device: str, rng, first, second) -> None:
    a = torch.from_numpy(rng.standard_normal(16)).to(first)
    b = torch.from_numpy(rng.standard_normal(16)).to(second)
    out = torch.full((4, 16), 99.0)
    half_precision[(1,)](out, a, b, BLOCK=16)
    sums = a.float() + b.float() if first != second else (a + b).float()
    assert torch.equal(out[0], (a * 2.0 + 1).float())
    assert torch.equal(out[1], sums)
    torch.testing.assert_close(out[2], a.float().exp(), rtol=1e-6, atol=0)
    torch.testing.assert_close(out[3], a.float().sum().expand(16), rtol=1e-5, atol=1e-6)
