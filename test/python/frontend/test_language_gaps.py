"""What kernels from elsewhere use of the language beside the common part: numbers, pointers, products, atomics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import TilewrightError

INTS = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"]


def refusal(kernel: tw.JITFunction, *arguments: Any) -> TilewrightError:
    with pytest.raises(TilewrightError) as caught:
        kernel[(1,)](*arguments)
    assert "^" in caught.value.rendered or "-->" in caught.value.rendered
    return caught.value


# Shifts.


@tw.jit
def shift_right(a, b, out, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.load(a + i) >> tw.load(b + i))


def promoted(left: str, right: str) -> str:
    bits = [np.dtype(d).itemsize for d in (left, right)]
    if bits[0] != bits[1]:
        return left if bits[0] > bits[1] else right
    return right if left.startswith("int") else left


@pytest.mark.parametrize("left", INTS)
def test_the_left_operand_decides_what_a_right_shift_moves_in(
    left: str, device: str, rng: np.random.Generator
) -> None:
    for right in INTS:
        kind = np.dtype(left)
        info = np.iinfo(kind)
        a = rng.integers(info.min, info.max, 64, dtype=kind, endpoint=True)
        dtype = promoted(left, right)
        width = np.dtype(dtype).itemsize * 8
        b = rng.integers(0, width, 64).astype(right)
        out = np.zeros(64, dtype)
        shift_right[(1,)](a, b, out, N=64)
        expected = [int(x) >> int(n) for x, n in zip(a, b)]
        wrapped = np.array([x & (1 << width) - 1 for x in expected], f"uint{width}")
        np.testing.assert_array_equal(out.view(f"uint{width}"), wrapped, f"{left} >> {right}")


@tw.jit
def shift_by_numbers(a, out, N: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(a + i)
    tw.store(out + i, x >> 40)
    tw.store(out + N + i, x >> tw.full((N,), 200, tw.uint8))
    tw.store(out + 2 * N + i, (200 >> (x & 3).to(tw.uint8)).to(tw.int32))


def test_counts_beyond_the_width_leave_the_sign(device: str) -> None:
    a, out = np.arange(-8, 8, dtype=np.int32), np.zeros(48, np.int32)
    shift_by_numbers[(1,)](a, out, N=16)
    sign = np.where(a < 0, -1, 0)
    np.testing.assert_array_equal(out, np.concatenate([sign, sign, 200 >> (a & 3)]))


# Pointers to constant memory.


@tw.jit
def through_const(p: tw.const, out):
    tw.store(out, tw.load(p))


@tw.jit
def store_to_const(p: tw.const, out):
    tw.store(p, 1.0)


@tw.jit
def store_to_const_sum(p: tw.const, out):
    tw.store((1 + p) + tw.arange(0, 4), 1.0)


@tw.jit
def store_to_const_view(p: tw.const, out):
    tw.store(p.to(tw.pointer_type(tw.int32)), 1)


@tw.jit
def atomic_on_const(p: tw.const, out):
    tw.atomic_add(p, 1.0)


@tw.jit
def cas_on_const(p: tw.const, out):
    tw.atomic_cas(p, 1.0, 1.0)


@tw.jit
def writes(p):
    tw.store(p, 1.0)


@tw.jit
def writes_const(p: tw.const):
    tw.store(p, 1.0)


@tw.jit
def call_with_const(p: tw.const, out):
    writes(p)


@tw.jit
def call_that_promises(p, out):
    writes_const(p)


@tw.jit
def loop_with_const(p: tw.const, out):
    for _ in range(4):
        tw.store(p, 1.0)
        p += 1


@tw.jit
def block_of_const(p: tw.const, out):
    block = tw.make_block_ptr(p, (8,), (1,), (0,), (8,), (0,))
    tw.store(block, tw.load(block))


@pytest.mark.parametrize(
    "kernel",
    [block_of_const, store_to_const, store_to_const_sum, store_to_const_view, atomic_on_const, cas_on_const,
     call_with_const, call_that_promises, loop_with_const],
)  # fmt: skip
def test_nothing_is_written_through_a_const_pointer(kernel: tw.JITFunction, compiler: None) -> None:
    p, out = np.full(8, 3.0, np.float32), np.zeros(1, np.float32)
    assert refusal(kernel, p, out).code == "TW0225"
    through_const[(1,)](p, out)
    assert out[0] == 3.0 and (p == 3.0).all()


def test_a_signature_may_say_that_a_pointer_is_const(compiler: None) -> None:
    with pytest.raises(TilewrightError) as caught:
        writes.compile({"p": "*kfp32"})
    assert caught.value.code == "TW0225"
    writes.compile({"p": "*fp32"})


# Casts.


@tw.jit
def rounded_casts(a, out, N: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(a + i)
    y = x.to(tw.float32, fp_downcast_rounding="rtne")
    y += x.to(tw.float16).to(tw.float32, fp_downcast_rounding="rtz")
    y += i.to(tw.float32, fp_downcast_rounding="rtne")
    tw.store(out + i, y)


def test_a_rounding_where_nothing_narrows_is_taken(device: str) -> None:
    a, out = np.arange(16, dtype=np.float32) / 4, np.zeros(16, np.float32)
    rounded_casts[(1,)](a, out, N=16)
    np.testing.assert_array_equal(out, a * 2 + np.arange(16))


@tw.jit
def unknown_rounding(a):
    tw.load(a).to(tw.float32, fp_downcast_rounding="nearest")


@tw.jit
def rounding_to_integer(a):
    tw.load(a).to(tw.int32, fp_downcast_rounding="rtne")


@tw.jit
def rounding_between_halves(a):
    tw.load(a).to(tw.float16).to(tw.bfloat16, fp_downcast_rounding="rtz")


def test_a_rounding_that_cannot_be_kept_is_refused(compiler: None) -> None:
    a = np.zeros(1, np.float32)
    assert refusal(unknown_rounding, a).code == "TW0120"
    assert refusal(rounding_to_integer, a).code == "TW0206"
    assert refusal(rounding_between_halves, a).code == "TW0206"


# Matrix products.


@tw.jit
def product(a, b, c, B: tw.constexpr, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr,
            OUT: tw.constexpr, RANK: tw.constexpr):  # fmt: skip
    i = tw.arange(0, B * M * K)
    j = tw.arange(0, B * K * N)
    x = tw.reshape(tw.load(a + i), (B, M, K))
    y = tw.reshape(tw.load(b + j), (B, K, N))
    if RANK == 2:
        x, y = tw.reshape(x, (M, K)), tw.reshape(y, (K, N))
    if RANK == 4:
        x, y = tw.reshape(x, (2, B // 2, M, K)), tw.reshape(y, (2, B // 2, K, N))
    z = tw.dot(x, y, out_dtype=OUT, max_num_imprecise_acc=0)
    tw.static_assert(len(z.shape) == RANK)
    tw.store(c + tw.arange(0, B * M * N), tw.reshape(z, (B * M * N,)))


DOTS = [
    ("float64", tw.float32, "float64"), ("int8", tw.int8, "int32"), ("uint8", tw.float32, "int32"),
    ("float32", tw.float16, "float32"), ("float16", tw.float16, "float16"),
    ("float16", tw.float32, "float32"),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "out", "result"), DOTS)
def test_out_dtype_of_products(
    dtype: str, out: Any, result: str, device: str, rng: np.random.Generator
) -> None:
    for rank, batch, k in ((2, 1, 16), (3, 2, 1), (3, 2, 4), (4, 4, 16)):
        low = 0 if dtype == "uint8" else -5
        a = rng.integers(low, 5, (batch, 16, k)).astype(dtype)
        b = rng.integers(low, 5, (batch, k, 16)).astype(dtype)
        c = np.full((batch, 16, 16), 99, result)
        product[(1,)](a, b, c, batch, 16, 16, k, out, rank)
        exact = a.astype(np.float64) @ b.astype(np.float64)
        np.testing.assert_array_equal(c.astype(np.float64), exact, f"rank {rank}, K = {k}")


@tw.jit
def product_in_bfloat16(a):
    x = tw.zeros((16, 16), tw.float32)
    tw.dot(x, x, out_dtype=tw.bfloat16)


def test_a_bfloat16_accumulator_is_refused(compiler: None) -> None:
    assert refusal(product_in_bfloat16, np.zeros(1)).code == "TW0218"


# Atomics on bits.


@tw.jit
def swap_if(memory, old, expected, desired, N: tw.constexpr):
    i = tw.arange(0, N)
    before = tw.atomic_cas(memory + i, tw.load(expected + i), tw.load(desired + i))
    tw.store(old + i, before)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int16", "uint16", "int64"])
def test_compare_and_swap_compares_bits(
    dtype: str, device: str, rng: np.random.Generator
) -> None:
    bits = f"uint{np.dtype(dtype).itemsize * 8}"
    start = rng.integers(-3, 3, 32).astype(dtype)
    expected, desired = rng.integers(-3, 3, 32).astype(dtype), rng.integers(5, 9, 32).astype(dtype)
    if dtype.startswith("float"):
        start[:3], expected[:3] = [0.0, -0.0, np.nan], [-0.0, -0.0, np.nan]
    memory, old = start.copy(), np.zeros(32, dtype)
    swap_if[(1,)](memory, old, expected, desired, N=32)
    hits = start.view(bits) == expected.view(bits)
    np.testing.assert_array_equal(old.view(bits), start.view(bits))
    np.testing.assert_array_equal(memory.view(bits), np.where(hits, desired, start).view(bits))


@tw.jit
def publish(data, flag, out, N: tw.constexpr):
    i = tw.arange(0, N)
    if tw.program_id(0) == 0:
        tw.store(data + i, i + 7)
        tw.debug_barrier()
        tw.atomic_store(flag, 1)
    else:
        seen = tw.atomic_poll(flag, 1)
        tw.store(out + i, tw.load(data + i) + seen)


def test_a_program_waits_for_the_flag_of_another(device: str) -> None:
    data, out, flag = np.zeros(64, np.int32), np.zeros(64, np.int32), np.zeros(1, np.int32)
    publish[(2,)](data, flag, out, N=64)
    np.testing.assert_array_equal(out, np.arange(64) + 8)


@tw.jit
def load_and_store(memory, other, out, n, N: tw.constexpr):
    i = tw.arange(0, N)
    value = tw.atomic_load(memory + i, mask=i < n, sem="relaxed", scope="sys")
    tw.store(out + i, value)
    tw.atomic_store(other + i, value, mask=i < n, sem="relaxed")


@pytest.mark.parametrize("dtype", ["int16", "float16", "uint32", "float32", "int64", "float64"])
def test_atomic_loads_and_stores(dtype: str, device: str, rng: np.random.Generator) -> None:
    memory = rng.integers(1, 99, 32).astype(dtype)
    memory.flags.writeable = False  # a load is not a write
    other, out = np.full(32, 100, dtype), np.full(32, 100, dtype)
    load_and_store[(1,)](memory, other, out, 20, N=32)
    inside = np.arange(32) < 20
    np.testing.assert_array_equal(out, np.where(inside, memory, 0))
    np.testing.assert_array_equal(other, np.where(inside, memory, 100))


@tw.jit
def poll_in_vain(flags, out, timeout, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out, tw.atomic_poll(flags, 1, timeout_ns=0))
    tw.store(out + 1, tw.atomic_poll(flags + i, i, timeout_ns=timeout, sem="relaxed"))
    tw.store(out + 2, tw.atomic_poll(flags + i, i + 1, timeout_ns=timeout))


def test_a_poll_ends_by_its_timeout(device: str) -> None:
    flags, out = np.arange(32, dtype=np.int64), np.full(3, 9, np.int32)
    poll_in_vain[(1,)](flags, out, 1000, N=32)
    assert out.tolist() == [0, 1, 0]


@tw.jit
def release_load(p):
    tw.atomic_load(p, sem="release")


@tw.jit
def acquire_store(p):
    tw.atomic_store(p, 1, sem="acq_rel")


def test_orders_without_a_meaning_are_refused(compiler: None) -> None:
    p = np.zeros(1, np.int32)
    assert refusal(release_load, p).code == "TW0120"
    assert refusal(acquire_store, p).code == "TW0120"
