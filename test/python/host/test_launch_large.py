"""Arrays of more than 2^31 elements: offsets computed in 32 bits do not wrap. The memory is sparse, a
file whose pages are there once they are touched."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright.compile.facts import parse_facts

ROWS, COLUMNS = 70_000, 40_000  # 2.8e9 elements of one byte


@pytest.fixture
def huge(tmp_path: Path) -> Any:
    path = tmp_path / "sparse"
    with open(path, "wb") as file:
        file.truncate(ROWS * COLUMNS)
    array = np.memmap(path, np.int8, "r+", shape=(ROWS, COLUMNS))
    yield array
    path.unlink()


@tw.jit
def mark(x, first, stride, n, B: tw.constexpr):
    row = first + tw.program_id(0)
    columns = tw.arange(0, B)
    offsets = row * stride + columns
    tw.store(x + offsets, tw.load(x + offsets, mask=columns < n) + row % 100, mask=columns < n)


@tw.jit
def mark_tile(x, first, stride, n, B: tw.constexpr):
    rows = first + tw.program_id(0) * 2 + tw.arange(0, 2)
    columns = tw.arange(0, B)
    tw.store(x + (rows[:, None] * stride + columns[None, :]), (rows % 100)[:, None].to(tw.int8),
             mask=columns[None, :] < n)


@tw.jit
def mark_carried(x, first, stride, n, B: tw.constexpr):
    at = tw.arange(0, B)
    for _ in range(first):
        at += stride
    if n > 1000:
        at += stride
    row = first
    scalar = 0
    while row > first - 1:
        scalar += stride * 16
        row -= 1
    tw.store(x + at, (first % 100).to(tw.int8), mask=tw.arange(0, B) < n)
    tw.store(x + (scalar // 16 * first) + n, 7)


def test_offsets_of_a_large_array_do_not_wrap(device: str, huge: Any) -> None:
    first = ROWS - 3  # where row * stride is beyond 2^31
    mark[3](huge, first, COLUMNS, 20, 32)
    expected = np.arange(first, ROWS) % 100
    assert np.array_equal(huge[first:, :20], np.repeat(expected[:, None], 20, 1))
    assert not huge[first:, 20:40].any() and not huge[:2, :64].any()
    mark_tile[1](huge, first, COLUMNS, 20, 32)
    assert np.array_equal(huge[first : first + 2, :20], np.repeat(expected[:2, None], 20, 1))


def test_offsets_that_loops_and_branches_carry_do_not_wrap(device: str, huge: Any) -> None:
    first = 60_000
    if device == "reference":
        pytest.skip("60,000 steps take minutes one operation at a time; see the next test")
    mark_carried[1](huge, first, COLUMNS, 20, 32)
    assert np.array_equal(huge[first, :20], np.full(20, first % 100))
    assert huge[first, 20] == 7


@tw.jit
def mark_steps(x, step, n, B: tw.constexpr):
    at = tw.arange(0, B)
    for _ in range(n):
        at += step
    tw.store(x + at, 9)


def test_few_steps_of_a_carried_offset(device: str, huge: Any) -> None:
    flat = huge.reshape(-1)
    mark_steps[1](flat, 900_000_000, 3, 16)
    assert np.array_equal(flat[2_700_000_000:2_700_000_020], [9] * 16 + [0] * 4)


def test_other_numbers_of_the_kernel_still_wrap(device: str, huge: Any) -> None:
    @tw.jit
    def wrap(x, out, n):
        product = n * n
        tw.store(x + product, 1)
        tw.store(out, product)

    n, out = 50_000, np.zeros(1, np.int64)
    wrap[1](huge.reshape(-1), out, n)
    assert huge.reshape(-1)[n * n] == 1 and int(out[0]) == n * n - 2**32


@tw.jit
def mark_all(x, n, first, B: tw.constexpr):
    at = (first + tw.program_id(0)) * B + tw.arange(0, B)
    tw.store(x + at, 1, mask=at < n)


def test_masks_hold_for_the_offsets_of_a_large_array(device: str, huge: Any) -> None:
    flat = huge.reshape(-1)
    size = flat.size - 5000  # numbers that wrapped are negative, so less than it
    first = size // 1024 - 1
    mark_all[4](flat, size, first, 1024)
    assert np.array_equal(flat[first * 1024 :], [1] * (size - first * 1024) + [0] * 5000)
    assert not flat[first * 1024 - 1024 : first * 1024].any()


@tw.jit
def mark_signs(x, data, out, seed, B: tw.constexpr):
    at = tw.arange(0, B)
    loaded = tw.load(data + at)
    hashed = seed
    for _ in range(3):
        hashed = hashed * 1103515245 + 12345
    first = tw.load(x + at).to(tw.int32)
    below = (loaded + loaded + first < 0).to(tw.int32)
    tw.store(out + at, below + 2 * (hashed < 0).to(tw.int32), mask=at < B)


def test_comparisons_of_other_numbers_still_wrap(device: str, huge: Any) -> None:
    data = np.arange(-4, 4, dtype=np.int32) * 450_000_000
    out, seeds = np.zeros(8, np.int32), range(1, 6)
    for seed in seeds:
        mark_signs[1](huge, data, out, seed, 8)
        hashed = np.int64(seed)
        for _ in range(3):
            hashed = (hashed * 1103515245 + 12345 + 2**31) % 2**32 - 2**31
        expected = (data + data < 0) + 2 * int(hashed < 0)
        assert np.array_equal(out, expected)


def test_a_small_array_beside_a_large_one_keeps_its_code(huge: Any) -> None:
    pytest.importorskip("tilewright._native")
    small = np.zeros(4096, np.int8)
    large = mark[1](huge, 1, COLUMNS, 20, 32)
    plain = mark[1](small, 1, 64, 20, 32)
    assert large is not None and plain is not None
    assert str(large.request.facts[0]).endswith(":large:stream")
    assert "extsi" in large.asm["tile"] and "extsi" not in plain.asm["tile"].split("tile.load")[0]
    assert parse_facts("*i8:16:large:stream") is large.request.facts[0]


def test_a_view_counts_by_what_it_reaches(huge: Any) -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("tilewright._native")
    column = torch.from_numpy(huge)[:, 3]
    kernel = mark[1](column, 1, 1, 20, 32)
    assert kernel is not None and kernel.request.facts[0].is_large


@tw.jit
def fill(x, B: tw.constexpr):
    tw.store(x + tw.arange(0, B), 1.0)


@pytest.mark.parametrize(("size", "code"), [(1 << 20, "TW03"), (1 << 21, "TW0209")])
def test_a_tile_that_no_gpu_holds_is_refused_with_its_size(
    size: int, code: str, compiler: None
) -> None:
    with tw.device("sim:sm_80"), pytest.raises(tw.TilewrightError, match=str(size)) as error:
        fill[1](np.zeros(size, np.float32), size)
    assert error.value.code.startswith(code)


def test_buffers_reach_bytes_not_elements(compiler: None, huge: Any) -> None:
    words = np.frombuffer(huge, np.int32)  # fewer than 2^31 elements in more than 2^31 bytes
    # Of a view, all of its memory counts: kernels may reach around it.
    views = ((words, True), (words[: 1 << 20], True), (np.zeros(1 << 20, np.int32), False))
    for array, is_large in views:
        facts = []
        for device in ("amd:gfx942", "nvidia:sm_80"):
            with tw.device(device):
                compiled = mark.warmup(array, 1, 64, 64, 64, grid=(1,))
            facts.append(compiled.request.facts[0].is_large)
            if device == "amd:gfx942":
                assert ("buffer_load" in compiled.asm["asm"]) is not is_large
        assert facts == [is_large, False]
