"""Operators, comparisons and where on pairs of element types: promotion, wrapping, rounding."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_values import (
    FLOATS, INTS, SIGNED, UNSIGNED, argument, assert_close, assert_equal, bits_of, decode, draw,
    edges, extents, is_float, is_signed, poisoned, round_to, wrap,
)  # fmt: skip

import tilewright as tw

COUNT = 150
# All pairs of neighbours in kind and width would be 169 kernels per operator; these meet each rule.
MIXED = [
    ("int8", "int32"), ("int32", "int64"), ("uint8", "uint16"), ("int32", "uint32"),
    ("uint8", "int32"), ("int64", "uint32"), ("int16", "float16"), ("int32", "bfloat16"),
    ("uint16", "float32"), ("int64", "float64"), ("float16", "bfloat16"), ("float16", "float32"),
    ("bfloat16", "float32"), ("float32", "float64"), ("float16", "float64"), ("int1", "int32"),
]  # fmt: skip


# fmt: off
@tw.jit
def plus(a, b): return a + b
@tw.jit
def minus(a, b): return a - b
@tw.jit
def times(a, b): return a * b
@tw.jit
def over(a, b): return a / b
@tw.jit
def over_root(a, b): return a / tw.sqrt(b)
@tw.jit
def floor_over(a, b): return a // b
@tw.jit
def modulo(a, b): return a % b
@tw.jit
def bit_and(a, b): return a & b
@tw.jit
def bit_or(a, b): return a | b
@tw.jit
def bit_xor(a, b): return a ^ b
@tw.jit
def shift_left(a, b): return a << b
@tw.jit
def shift_right(a, b): return a >> b
@tw.jit
def less(a, b): return a < b
@tw.jit
def less_or_equal(a, b): return a <= b
@tw.jit
def greater(a, b): return a > b
@tw.jit
def greater_or_equal(a, b): return a >= b
@tw.jit
def equal(a, b): return a == b
@tw.jit
def not_equal(a, b): return a != b
@tw.jit
def larger(a, b): return tw.maximum(a, b)
@tw.jit
def smaller(a, b): return tw.minimum(a, b)
# fmt: on


def make_kernel(operate: Any, result: str) -> Any:
    result_dtype = tw.dtype(result)

    @tw.jit
    def kernel(out, a, b, COUNT: tw.constexpr, N: tw.constexpr):
        i = tw.arange(0, N)
        r = operate(tw.load(a + i, i < COUNT), tw.load(b + i, i < COUNT))
        tw.static_assert(r.dtype == result_dtype)
        tw.store(out + i, r, i < COUNT)

    return kernel


def truncate_quotient(a: int, b: int) -> int:
    if b == 0:
        return 0
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a: int, b: int) -> int:
    return 0 if b == 0 else a - b * truncate_quotient(a, b)


def promoted(a: str, b: str) -> str:
    """The promotion rules of the language, for two tiles."""
    for winner in ("float64", "float32"):
        if winner in (a, b):
            return winner
    if is_float(a) and is_float(b):
        return a if a == b else "float32"
    if is_float(a) or is_float(b):
        return "float16" if "float16" in (a, b) else "float32"
    if bits_of(a) != bits_of(b):
        return a if bits_of(a) > bits_of(b) else b
    return b if is_signed(a) else a


def quotient_type(a: str, b: str) -> str:
    result = promoted(a, b)
    return result if result == "float64" else "float32"


def operands(rng: np.random.Generator, a: str, b: str) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of a few edge values, then random ones."""
    lhs, rhs = draw(rng, a, COUNT), draw(rng, b, COUNT)
    edge_a, edge_b = edges(a)[:11], edges(b)[:11]
    pairs = [(x, y) for x in edge_a for y in edge_b][: COUNT - 20]
    lhs[: len(pairs)] = [x for x, _ in pairs]
    rhs[: len(pairs)] = [y for _, y in pairs]
    return lhs, rhs


def run(operate: Any, lhs: np.ndarray, a: str, rhs: np.ndarray, b: str, result: str) -> np.ndarray:
    out = poisoned(result, len(lhs))
    kernel = make_kernel(operate, result)
    kernel[(1,)](argument(out, result), argument(lhs, a), argument(rhs, b), **extents(len(lhs)))
    return out


def converted(stored: np.ndarray, source: str, target: str) -> np.ndarray:
    """The operand as a number of the type in which the operation is computed."""
    values = decode(stored, source)
    if is_float(target):
        return round_to(values, target).astype(np.longdouble)
    return wrap(values, target)


@pytest.mark.parametrize(("a", "b"), [*((d, d) for d in INTS + FLOATS), *MIXED])
@pytest.mark.parametrize("name", ["plus", "minus", "times"])
def test_arithmetic(name: str, a: str, b: str, device: str, rng: np.random.Generator) -> None:
    formula = {"plus": operator.add, "minus": operator.sub, "times": operator.mul}[name]
    result = promoted(a, b)
    lhs, rhs = operands(rng, a, b)
    out = run(globals()[name], lhs, a, rhs, b, result)
    with np.errstate(all="ignore"):
        expected = formula(converted(lhs, a, result), converted(rhs, b, result))
    if is_float(result):
        assert_close(out, expected, result, 0, what=f"{name} {a} {b}")
    else:
        assert_equal(out, wrap(expected, result), result, f"{name} {a} {b}")


@pytest.mark.parametrize(("a", "b"), [*((d, d) for d in INTS + FLOATS), *MIXED])
def test_true_division(a: str, b: str, device: str, rng: np.random.Generator) -> None:
    result = quotient_type(a, b)
    lhs, rhs = operands(rng, a, b)
    out = run(over, lhs, a, rhs, b, result)
    with np.errstate(all="ignore"):
        expected = converted(lhs, a, result) / converted(rhs, b, result)
    # `/` of float32 may multiply by a reciprocal, within 2 units; the others divide exactly.
    is_near = result == "float32" and device.removeprefix("sim:").startswith("gfx")
    assert_close(out, expected, result, 2 if is_near else 0, what=f"{a} / {b}")


def test_division_by_square_roots(device: str, rng: np.random.Generator) -> None:
    """One approximation on GPUs, for roots of 0, of subnormal numbers and of infinity, too."""
    kind = "float32"
    lhs, rhs = operands(rng, kind, kind)
    out = run(over_root, lhs, kind, rhs, kind, kind)
    with np.errstate(all="ignore"):
        expected = converted(lhs, kind, kind) / np.sqrt(converted(rhs, kind, kind))
    is_gpu = device.startswith(("sim:", "cuda", "hip", "opencl"))
    assert_close(out, expected, kind, 3 if is_gpu else 1, what="a / sqrt(b)")


INTEGER_PAIRS = [
    *((d, d) for d in INTS), ("int8", "int32"), ("int32", "int64"), ("uint8", "uint16"),
    ("uint32", "uint64"),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b"), INTEGER_PAIRS)
def test_integer_division_truncates_and_is_total(
    a: str, b: str, device: str, rng: np.random.Generator
) -> None:
    result = promoted(a, b)
    lhs, rhs = operands(rng, a, b)
    for operate, formula in ((floor_over, truncate_quotient), (modulo, remainder)):
        out = run(operate, lhs, a, rhs, b, result)
        expected = np.frompyfunc(formula, 2, 1)(decode(lhs, a), decode(rhs, b))
        assert_equal(out, wrap(expected, result), result, f"{operate} {a} {b}")


@pytest.mark.parametrize("a", SIGNED)
def test_division_of_mixed_signs_is_an_error(a: str, device: str) -> None:
    b = "u" + a
    for operate in (floor_over, modulo):
        with pytest.raises(tw.CompileError):
            run(operate, edges(a), a, edges(b)[: len(edges(a))], b, b)


@pytest.mark.parametrize("dtype", FLOATS)
def test_remainder_of_floats(dtype: str, device: str, rng: np.random.Generator) -> None:
    result = quotient_type(dtype, dtype)
    lhs, rhs = operands(rng, dtype, dtype)
    out = run(modulo, lhs, dtype, rhs, dtype, result)
    with np.errstate(all="ignore"):
        expected = np.fmod(decode(lhs, dtype), decode(rhs, dtype))
    assert_equal(out, expected, result, f"{dtype} %")


@pytest.mark.parametrize(("a", "b"), [*((d, d) for d in ["int1", *INTS]), *INTEGER_PAIRS[-4:]])
def test_bitwise(a: str, b: str, device: str, rng: np.random.Generator) -> None:
    result = promoted(a, b)
    lhs, rhs = operands(rng, a, b)
    formulas: dict[Any, Callable[..., Any]] = {
        bit_and: operator.and_, bit_or: operator.or_, bit_xor: operator.xor,
    }  # fmt: skip
    for operate, formula in formulas.items():
        out = run(operate, lhs, a, rhs, b, result)
        expected = formula(decode(lhs, a), decode(rhs, b))
        assert_equal(out, wrap(expected, result), result, f"{operate} {a} {b}")


@pytest.mark.parametrize("dtype", INTS)
def test_shifts_by_any_distance(dtype: str, device: str, rng: np.random.Generator) -> None:
    lhs, bits = draw(rng, dtype, COUNT), bits_of(dtype)
    distances = rng.integers(0, min(2 * bits, 127), COUNT)
    distances[:5] = [0, bits - 1, bits, min(bits + 1, 127), min(2 * bits - 1, 127)]
    if bits == 64:  # whose low 32 bits alone would be a distance
        distances[5:9] = [1 << 32, (1 << 32) + 3, (1 << 40) + 1, (1 << 62) + 7]
    rhs = distances.astype(dtype)
    values = decode(lhs, dtype)
    left = run(shift_left, lhs, dtype, rhs, dtype, dtype)
    expected = [v << int(d) if d < bits else 0 for v, d in zip(values, distances)]
    assert_equal(left, wrap(expected, dtype), dtype, "<<")
    right = run(shift_right, lhs, dtype, rhs, dtype, dtype)
    shifted = [v >> min(int(d), bits) for v, d in zip(values, distances)]
    assert_equal(right, wrap(shifted, dtype), dtype, ">>")


@pytest.mark.parametrize(("a", "b"), [*((d, d) for d in ["int1", *INTS, *FLOATS]), *MIXED])
def test_comparisons(a: str, b: str, device: str, rng: np.random.Generator) -> None:
    lhs, rhs = operands(rng, a, b)
    common = promoted(a, b)
    x, y = converted(lhs, a, common), converted(rhs, b, common)
    for operate, formula in (
        (less, operator.lt), (less_or_equal, operator.le), (greater, operator.gt),
        (greater_or_equal, operator.ge), (equal, operator.eq), (not_equal, operator.ne),
    ):  # fmt: skip
        out = run(operate, lhs, a, rhs, b, "int1")
        assert_equal(out, formula(x, y), "int1", f"{operate} {a} {b}")


@pytest.mark.parametrize("dtype", INTS + FLOATS)
def test_maximum_and_minimum_ignore_nan(dtype: str, device: str, rng: np.random.Generator) -> None:
    lhs, rhs = operands(rng, dtype, dtype)
    if is_float(dtype):
        lhs[-5:-3], rhs[-4:-2] = edges(dtype)[-1], edges(dtype)[-1]  # NaN left, both, right
    x, y = decode(lhs, dtype), decode(rhs, dtype)
    formulas = (np.fmax, np.fmin) if is_float(dtype) else (np.maximum, np.minimum)
    for operate, formula in zip((larger, smaller), formulas):
        out = run(operate, lhs, dtype, rhs, dtype, dtype)
        assert_equal(out, formula(x, y), dtype, str(operate))


@tw.jit
def propagating(out, a, b, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(a + i, i < COUNT)
    y = tw.load(b + i, i < COUNT)
    tw.store(out + i, tw.maximum(x, y, propagate_nan=tw.PropagateNan.ALL), i < COUNT)
    tw.store(out + COUNT + i, tw.minimum(x, y, propagate_nan=tw.PropagateNan.ALL), i < COUNT)
    tw.store(out + 2 * COUNT + i, tw.clamp(x, -1.0, 1.0), i < COUNT)


@pytest.mark.parametrize("dtype", FLOATS)
def test_nan_propagates_when_asked(dtype: str, device: str, rng: np.random.Generator) -> None:
    lhs, rhs = operands(rng, dtype, dtype)
    lhs[-5:-3], rhs[-4:-2] = edges(dtype)[-1], edges(dtype)[-1]
    out = poisoned(dtype, (3, COUNT))
    arrays = [argument(x, dtype) for x in (out, lhs, rhs)]
    propagating[(1,)](*arrays, **extents(COUNT))
    x, y = decode(lhs, dtype), decode(rhs, dtype)
    assert_equal(out[0], np.maximum(x, y), dtype, "maximum")
    assert_equal(out[1], np.minimum(x, y), dtype, "minimum")
    numbers = ~np.isnan(x)
    assert_equal(out[2][numbers], np.clip(x[numbers], -1, 1), dtype, "clamp")


@tw.jit
def unary_operators(negative, inverse, positive, a, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(a + i, i < COUNT)
    tw.store(negative + i, -x, i < COUNT)
    tw.store(inverse + i, ~x, i < COUNT)
    tw.store(positive + i, +x, i < COUNT)


@pytest.mark.parametrize("dtype", INTS)
def test_unary_operators_wrap(dtype: str, device: str) -> None:
    values = edges(dtype)
    outs = [poisoned(dtype, len(values)) for _ in range(3)]
    unary_operators[(1,)](*outs, values, **extents(len(values)))
    numbers = decode(values, dtype)
    for out, expected in zip(outs, (-numbers, -numbers - 1, numbers)):
        assert_equal(out, wrap(expected, dtype), dtype)


@tw.jit
def select(out, condition, a, b, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    chosen = tw.load(condition + i, i < COUNT)
    r = tw.where(chosen, tw.load(a + i, i < COUNT), tw.load(b + i, i < COUNT))
    tw.store(out + i, r, i < COUNT)


@pytest.mark.parametrize(("a", "b"), [*((d, d) for d in ["int1", *INTS, *FLOATS]), *MIXED[:13]])
def test_where(a: str, b: str, device: str, rng: np.random.Generator) -> None:
    result = promoted(a, b)
    lhs, rhs = operands(rng, a, b)
    condition = draw(rng, "int1", COUNT)
    out = poisoned(result, COUNT)
    operand_arguments = [condition, argument(lhs, a), argument(rhs, b)]
    select[(1,)](argument(out, result), *operand_arguments, **extents(COUNT))
    expected = np.where(condition, converted(lhs, a, result), converted(rhs, b, result))
    assert_equal(out, expected, result, f"where {a} {b}")


@tw.jit
def with_literals(out, a, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    x = tw.load(a + i, i < COUNT)
    tw.static_assert((x + 1).dtype == x.dtype)
    tw.static_assert((2 * x).dtype == x.dtype)
    tw.static_assert((1.5 + tw.full((N,), 1, tw.int32)).dtype == tw.float32)
    tw.store(out + i, 2 * x + 1, i < COUNT)


@pytest.mark.parametrize("dtype", INTS + FLOATS)
def test_literals_do_not_take_part_in_promotion(
    dtype: str, device: str, rng: np.random.Generator
) -> None:
    values = draw(rng, dtype, COUNT)
    out = poisoned(dtype, COUNT)
    with_literals[(1,)](argument(out, dtype), argument(values, dtype), **extents(COUNT))
    numbers = decode(values, dtype)
    if is_float(dtype):
        assert_equal(out, round_to(round_to(2 * numbers, dtype) + 1, dtype), dtype)
    else:
        assert_equal(out, wrap(2 * numbers + 1, dtype), dtype)


@tw.jit
def high_products(out, a, b, COUNT: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.umulhi(tw.load(a + i, i < COUNT), tw.load(b + i, i < COUNT)), i < COUNT)


@pytest.mark.parametrize("dtype", UNSIGNED[2:])
def test_high_half_of_products(dtype: str, device: str, rng: np.random.Generator) -> None:
    lhs, rhs = operands(rng, dtype, dtype)
    out = poisoned(dtype, COUNT)
    high_products[(1,)](out, lhs, rhs, **extents(COUNT))
    assert_equal(out, (decode(lhs, dtype) * decode(rhs, dtype)) >> bits_of(dtype), dtype)
