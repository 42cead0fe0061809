"""Tiles whose extents are not powers of two, on the simulator of a GPU: what the padding holds is never seen.

Arrays have exactly the elements that a kernel may access, so that an access of the padding is found.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from gpu.launching import WARPS, normal, poisoned, rows_by_columns, run

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")

SIM = "sim:sm_80"


#  Loads, stores, atomics


@tw.jit
def copy_scaled(out, x, M: tw.constexpr, N: tw.constexpr):
    v = tw.load(rows_by_columns(x, M, N))
    tw.store(rows_by_columns(out, M, N), v * 2 + tw.zeros((M, N), tw.float32))


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("shape", [(3, 100), (48, 5), (1, 7), (17, 16), (12, 33)])
def test_no_access_leaves_the_array(
    shape: tuple[int, int], num_warps: int, rng: np.random.Generator
) -> None:
    x, out = normal(rng, *shape), poisoned(*shape)
    run(copy_scaled, (1,), out, x, *shape, num_warps=num_warps)
    assert np.array_equal(out, x * 2)


@tw.jit
def count_and_exchange(counts, slots, old, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.atomic_add(counts + i % 3, 1)
    tw.store(old + i, tw.atomic_cas(slots + i, i, i + 100))


@pytest.mark.parametrize("num_warps", WARPS)
def test_atomics_act_once_for_each_element(num_warps: int) -> None:
    counts, slots = np.zeros(3, np.int32), np.arange(50, dtype=np.int32)
    slots[::2] = -1
    before, old = slots.copy(), poisoned(50, dtype=np.int32)
    run(count_and_exchange, (1,), counts, slots, old, 50, num_warps=num_warps)
    assert counts.tolist() == [17, 17, 16]
    assert np.array_equal(old, before)
    assert np.array_equal(slots, np.where(before == -1, -1, before + 100))


@tw.jit
def exchange_with_neighbour(x, N: tw.constexpr):
    i = tw.arange(0, N)
    old = tw.load(x + i)
    tw.debug_barrier()
    tw.store(x + (i + 1) % N, old)


def test_a_permutation_in_place_has_no_race(rng: np.random.Generator) -> None:
    x = normal(rng, 90)
    expected = np.roll(x, 1)
    run(exchange_with_neighbour, (1,), x, 90, num_warps=4)
    assert np.array_equal(x, expected)


@tw.jit
def last_integers(out, N: tw.constexpr, END: tw.constexpr):
    at = tw.arange(END - N, END)
    tw.store(out + (at - (END - N)), at)
    tw.store(out + N, tw.max(at, 0))
    tw.store(out + N + 1, tw.min(at, 0))


def test_a_range_up_to_the_largest_integer() -> None:
    out, last = poisoned(23, dtype=np.int32), 2**31 - 2
    run(last_integers, (1,), out, 21, last + 1, num_warps=1)
    assert out.tolist() == [*range(last - 20, last + 1), last, last - 20]


#  Reductions and scans


@tw.jit
def divisor(a, b):
    while b != 0:
        a, b = b, a % b
    return a


@tw.jit
def larger_power(a, b):
    """Of two powers of two; it does not end for 0 and another number."""
    while a < b:
        a *= 2
    return a


@tw.jit
def second(a, b):
    return b


@tw.jit
def first(a, b):
    return a


@tw.jit
def fold(out, x, M: tw.constexpr, N: tw.constexpr, AXIS: tw.constexpr, F: tw.constexpr):
    r = tw.reduce(tw.load(rows_by_columns(x, M, N)), AXIS, F)
    tw.store(out + tw.arange(0, M if AXIS == 1 else N), r)


FOLDS = {
    divisor: np.gcd.reduce, larger_power: np.maximum.reduce,
    first: lambda x, axis: np.take(x, 0, axis), second: lambda x, axis: np.take(x, -1, axis),
}  # fmt: skip


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("function", FOLDS, ids=lambda function: function.fn.__name__)
def test_combining_functions_see_real_elements_only(
    function: Any, axis: int, num_warps: int, rng: np.random.Generator
) -> None:
    x = rng.integers(1, 40, (6, 21)).astype(np.int32) * 6
    if function is larger_power:
        x = (1 << x % 31).astype(np.int32)
    out = np.full(x.shape[1 - axis], -1, np.int32)
    with tw.device(SIM):
        fold[(1,)](out, x, 6, 21, axis, function, num_warps=num_warps)
    assert np.array_equal(out, FOLDS[function](x, axis=axis))


@tw.jit
def extremes(out, x, M: tw.constexpr, N: tw.constexpr):
    v = tw.load(rows_by_columns(x, M, N))
    tw.store(out, tw.max(v))
    tw.store(out + 1, tw.min(v))
    tw.store(out + 2, tw.sum(v))
    tw.store(out + 3, tw.argmax(v, None).to(tw.float32))
    tw.store(out + 4, tw.argmin(v, None).to(tw.float32))
    tw.store(out + 5, tw.sum(tw.argmax(v, 1).to(tw.float32)))
    tw.store(out + 6, tw.sum(tw.argmin(v, 0).to(tw.float32)))


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("low", [-5.0, 3.0, -20.0])
def test_no_spare_element_is_an_extreme(low: float, num_warps: int, rng: np.random.Generator) -> None:
    x = (low + rng.permutation(15 * 13).astype(np.float32) / 64).reshape(15, 13)
    out = poisoned(7)
    run(extremes, (1,), out, x, 15, 13, num_warps=num_warps)
    expected = [x.max(), x.min(), x.sum(), x.argmax(), x.argmin(), x.argmax(1).sum(),
                x.argmin(0).sum()]  # fmt: skip
    assert np.allclose(out, expected, rtol=1e-5)


def test_the_extreme_of_nans_is_nan() -> None:
    out = poisoned(7)
    with tw.device(SIM):
        extremes[(1,)](out, np.full((3, 5), np.nan, np.float32), 3, 5)
    assert np.isnan(out[:3]).all()


@tw.jit
def affine(a, b, c, d):
    return a * c, b * c + d


@tw.jit
def scan_affine(out, x, y, M: tw.constexpr, N: tw.constexpr, REVERSE: tw.constexpr):
    pair = (tw.load(rows_by_columns(x, M, N)), tw.load(rows_by_columns(y, M, N)))
    _, r = tw.associative_scan(pair, 1, affine, reverse=REVERSE)
    tw.store(rows_by_columns(out, M, N), r)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("reverse", [False, True])
def test_scans_of_pairs(reverse: bool, num_warps: int, rng: np.random.Generator) -> None:
    x, y = rng.integers(-1, 2, (2, 5, 37)).astype(np.int32)
    out = np.zeros((5, 37), np.int32)
    run(scan_affine, (1,), out, x, y, 5, 37, reverse, num_warps=num_warps)
    order = range(36, -1, -1) if reverse else range(37)
    state = np.zeros(5, np.int32)
    for column in order:
        state = state * x[:, column] + y[:, column]
        assert np.array_equal(out[:, column], state), column


@tw.jit
def softmax(out, x, N: tw.constexpr):
    i = tw.program_id(0) * N + tw.arange(0, N)
    v = tw.load(x + i)
    v = tw.exp(v - tw.max(v, axis=0))
    tw.store(out + i, v / tw.sum(v, axis=0))


@pytest.mark.parametrize("num_warps", WARPS)
def test_softmax_of_a_row_without_masks(num_warps: int, rng: np.random.Generator) -> None:
    x, out = normal(rng, 4, 100), poisoned(4, 100)
    run(softmax, (4,), out, x, 100, num_warps=num_warps)
    expected = torch.softmax(torch.from_numpy(x).double(), 1).numpy()
    assert np.allclose(out, expected, rtol=1e-5)


#  Shapes and gathers


@tw.jit
def reshaped(out, x, A: tw.constexpr, B: tw.constexpr, C: tw.constexpr):
    v = tw.load(x + tw.arange(0, A * B * C))
    v = tw.reshape(v, (A, B, C))
    v = tw.permute(v, (2, 0, 1))
    v = tw.reshape(v, (C * A, B))
    v = tw.reshape(tw.trans(v), (A * B * C,))
    tw.store(out + tw.arange(0, A * B * C), v)


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("shape", [(3, 5, 7), (12, 1, 9), (4, 6, 8), (2, 24, 3), (96, 2, 1)])
def test_reshapes_that_move_elements(
    shape: tuple[int, ...], num_warps: int, rng: np.random.Generator
) -> None:
    count = int(np.prod(shape))
    x, out = normal(rng, count), poisoned(count)
    run(reshaped, (1,), out, x, *shape, num_warps=num_warps)
    moved = x.reshape(shape).transpose(2, 0, 1).reshape(shape[2] * shape[0], shape[1])
    assert np.array_equal(out, moved.T.reshape(-1))


@tw.jit
def reshaped_pointers(out, x, M: tw.constexpr, N: tw.constexpr):
    rows = tw.reshape(rows_by_columns(x, M, N), (N, M))
    keep = tw.reshape(tw.arange(0, M * N) % 2 == 0, (N, M))
    tw.store(rows_by_columns(out, N, M), tw.load(rows, mask=keep, other=7.0))


@pytest.mark.parametrize("num_warps", WARPS)
def test_reshapes_of_pointers_and_masks(num_warps: int, rng: np.random.Generator) -> None:
    x, out = normal(rng, 5, 11), poisoned(11, 5)
    run(reshaped_pointers, (1,), out, x, 5, 11, num_warps=num_warps)
    expected = np.where(np.arange(55) % 2 == 0, x.reshape(-1), 7).reshape(11, 5)
    assert np.array_equal(out, expected)


@tw.jit
def put_together(out, x, y, N: tw.constexpr):
    i = tw.arange(0, N)
    a, b = tw.load(x + i), tw.load(y + i)
    pairs = tw.join(a, b)
    left, right = tw.split(pairs * 2)
    j = tw.arange(0, 2 * N)
    tw.store(out + j, tw.interleave(a, b))
    tw.store(out + 2 * N + j, tw.cat(right, left))
    tw.store(out + 4 * N + j, tw.reshape(tw.trans(pairs), (2 * N,)))
    tw.store(out + 6 * N + i, tw.flip(a))


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("count", [3, 24, 100])
def test_join_split_cat_and_flip(count: int, num_warps: int, rng: np.random.Generator) -> None:
    x, y, out = normal(rng, count), normal(rng, count), poisoned(7 * count)
    run(put_together, (1,), out, x, y, count, num_warps=num_warps)
    pairs = np.stack([x, y], 1)
    expected = [pairs.reshape(-1), y * 2, x * 2, x, y, x[::-1]]
    assert np.array_equal(out, np.concatenate(expected))


@tw.jit
def picked(out, x, N: tw.constexpr):
    v = tw.load(x + tw.arange(0, N))
    tw.store(out + tw.arange(0, 7), v[3:10])
    tw.store(out + 7, v[N - 1])
    tw.store(out + 8 + tw.arange(0, 5), v[::10])


@pytest.mark.parametrize("num_warps", WARPS)
def test_slices(num_warps: int, rng: np.random.Generator) -> None:
    x, out = normal(rng, 50), poisoned(13)
    run(picked, (1,), out, x, 50, num_warps=num_warps)
    assert np.array_equal(out, np.concatenate([x[3:10], x[49:], x[::10]]))


@tw.jit
def gathered(out, x, index, N: tw.constexpr, K: tw.constexpr):
    i = tw.load(index + tw.arange(0, K))
    tw.store(out + tw.arange(0, K), tw.gather(tw.load(x + tw.arange(0, N)), i, 0))


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_gather(dtype: Any, num_warps: int, rng: np.random.Generator) -> None:
    x, index, out = normal(rng, 100), rng.integers(0, 100, 37).astype(dtype), poisoned(37)
    run(gathered, (1,), out, x, index, 100, 37, num_warps=num_warps)
    assert np.array_equal(out, x[index])


@pytest.mark.parametrize("wrong", [100, 127, -1])
def test_a_gather_of_a_spare_element_is_found(wrong: int, rng: np.random.Generator) -> None:
    index = np.zeros(37, np.int32)
    index[20] = wrong
    with tw.device(SIM), pytest.raises(tw.DeviceError, match="out-of-bounds-shared"):
        gathered[(1,)](poisoned(37), normal(rng, 100), index, 100, 37)


#  Boxes of arrays


@tw.jit
def boxes(out, x, m, n, BM: tw.constexpr, BN: tw.constexpr):
    source = tw.make_tensor_descriptor(x, [m, n], [n, 1], [BM, BN])
    target = tw.make_tensor_descriptor(out, [m, n], [n, 1], [BM, BN])
    i, j = tw.program_id(0) * BM, tw.program_id(1) * BN
    target.store([i, j], source.load([i, j]) + 1)


@tw.jit
def move_rows(out, x, index, m, n, K: tw.constexpr, BN: tw.constexpr):
    rows = tw.load(index + tw.arange(0, K))
    source = tw.make_tensor_descriptor(x, [m, n], [n, 1], [1, BN])
    target = tw.make_tensor_descriptor(out, [m, n], [n, 1], [1, BN])
    target.scatter(source.gather(rows, 8), rows, 8)


@pytest.mark.parametrize("num_warps", WARPS)
def test_rows_of_a_list(num_warps: int, rng: np.random.Generator) -> None:
    x, out = normal(rng, 50, 60), np.zeros((50, 60), np.float32)
    index = rng.permutation(50)[:12].astype(np.int32)
    run(move_rows, (1,), out, x, index, 50, 60, 12, 24, num_warps=num_warps)
    expected = np.zeros_like(x)
    expected[index, 8:32] = x[index, 8:32]
    assert np.array_equal(out, expected)


@tw.jit
def blocks(out, x, m, n, BM: tw.constexpr, BN: tw.constexpr):
    i = tw.program_id(0) * BM
    p = tw.make_block_ptr(x, (m, n), (n, 1), (i, 0), (BM, BN), (1, 0))
    q = tw.make_block_ptr(out, (m, n), (n, 1), (i, 0), (BM, BN), (1, 0))
    for _ in range(0, n, BN):
        v = tw.load(p, boundary_check=(0, 1), padding_option="zero")
        tw.store(q, v + 1, boundary_check=(0, 1))
        p, q = tw.advance(p, (0, BN)), tw.advance(q, (0, BN))


@pytest.mark.parametrize("num_warps", WARPS)
@pytest.mark.parametrize("kernel", [boxes, blocks], ids=["descriptor", "block_ptr"])
def test_boxes(kernel: Any, num_warps: int, rng: np.random.Generator) -> None:
    x, out = normal(rng, 30, 70), poisoned(30, 70)
    grid = (3, 3) if kernel is boxes else (3, 1)
    run(kernel, grid, out, x, 30, 70, 12, 28, num_warps=num_warps)
    assert np.array_equal(out, x + 1)


#  Control flow


@tw.jit
def carried(out, x, steps, N: tw.constexpr):
    i = tw.arange(0, N)
    v, total = tw.load(x + i), tw.zeros((N,), tw.float32)
    for step in range(steps):
        if step % 2 == 0:
            total += v
        else:
            total = tw.flip(total) - v
    while tw.max(total) > 1.0:
        total = total / 2
    tw.store(out + i, total)


@pytest.mark.parametrize("num_warps", WARPS)
def test_tiles_through_loops_and_branches(num_warps: int, rng: np.random.Generator) -> None:
    x, out = normal(rng, 45), poisoned(45)
    run(carried, (1,), out, x, 5, 45, num_warps=num_warps)
    total = np.zeros(45, np.float32)
    for step in range(5):
        total = total[::-1] - x if step % 2 else total + x
    while total.max() > 1:
        total = total / 2
    assert np.array_equal(out, total)


#  Assembly, prints, assertions


@tw.jit
def assembled(out, x, N: tw.constexpr):
    i = tw.arange(0, N)
    v = tw.inline_asm_elementwise(
        "shl.b32 $0, $1, 3;", "=r,r", [tw.load(x + i)], dtype=tw.int32, is_pure=True, pack=1
    )
    read = tw.inline_asm_elementwise(
        "ld.global.u32 $0, [$1];", "=r,l", [x + i], dtype=tw.int32, is_pure=False, pack=1
    )
    tw.store(out + i, v + read)


@pytest.mark.parametrize("num_warps", WARPS)
def test_assembly(num_warps: int, rng: np.random.Generator) -> None:
    x, out = rng.integers(-99, 99, 37).astype(np.int32), poisoned(37, dtype=np.int32)
    run(assembled, (1,), out, x, 37, num_warps=num_warps)
    assert np.array_equal(out, x * 9)


@tw.jit
def assembled_in_fours(out, x, N: tw.constexpr):
    i = tw.arange(0, N)
    v = tw.inline_asm_elementwise(
        "not.b32 $0, $1;", "=r,r", [tw.load(x + i)], dtype=tw.int8, is_pure=False, pack=4
    )
    tw.store(out + i, v)


@pytest.mark.parametrize("num_warps", WARPS)
def test_assembly_of_words(num_warps: int, rng: np.random.Generator) -> None:
    x, out = rng.integers(-99, 99, 61).astype(np.int8), np.zeros(61, np.int8)
    run(assembled_in_fours, (1,), out, x, 61, num_warps=num_warps)
    assert np.array_equal(out, ~x)


@tw.jit
def checked(x, M: tw.constexpr, N: tw.constexpr):
    v = tw.load(rows_by_columns(x, M, N))
    tw.device_assert(v > 0, "not above 0")


@tw.jit
def printed_twice(x, M: tw.constexpr, N: tw.constexpr):
    v = tw.load(rows_by_columns(x, M, N))
    tw.device_print("v ", v, tw.arange(0, N))


def test_prints_are_those_of_the_reference(capfd: pytest.CaptureFixture[str]) -> None:
    x = np.arange(1, 31, dtype=np.int32).reshape(3, 10)
    lines = []
    for device in ("reference", "cpu", SIM):
        with tw.device(device):
            printed_twice[(1,)](x, 3, 10)
        lines.append(sorted(capfd.readouterr().out.splitlines()))
    assert len(lines[0]) == 40
    assert lines[0] == lines[1] == lines[2]


def test_an_assertion_names_the_real_index() -> None:
    x = np.ones((3, 5), np.int32)
    x[2, 3] = -1
    with tw.device(SIM), pytest.raises(tw.DeviceError, match=r"not above 0") as error:
        checked[(1,)](x, 3, 5, debug=True)
    assert "(2, 3)" in str(error.value)


#  Sizes


@tw.jit
def large(out, A: tw.constexpr):
    i = tw.arange(0, A)
    tw.store(out + i[:, None, None] + i[None, :, None] + i[None, None, :], 1.0)


def test_a_tile_that_grows_too_large_is_refused_with_its_size() -> None:
    with tw.device(SIM), pytest.raises(tw.UnsupportedError) as error:
        large[(1,)](np.zeros(1, np.float32), 100)
    assert error.value.code == "TW0310"
    assert "100 x 100 x 100" in str(error.value) and "2097152" in str(error.value)


def test_kernels_of_powers_of_two_have_no_remark() -> None:
    compiled = softmax.compile({"out": "*fp32:16", "x": "*fp32:16"}, {"N": 128}, SIM)
    assert "TW0331" not in {r["code"] for r in compiled.remarks}
