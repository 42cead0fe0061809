"""Integers whose values are known when a kernel is compiled (specialize="shape", tw.static, packages for
exact shapes) compute as those that are passed: in their type, which wraps, and `//` and `%` truncate."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright.compile.facts import exact_facts, parse_facts

pytestmark = pytest.mark.usefixtures("compiler")

NAMES = ("a", "b", "c", "d")
# d is an int64 in every launch. The values of each are of one type, so that one general binary serves all.
VALUES = {
    "a": (0, 1, -1, 2, 3, 7, 16, 48, -5, -16, 1000, 2**31 - 1, -(2**31), 2**30, 46341),
    "b": (0, 1, -1, 5, 32, -9, 65536, 2**31 - 1, -(2**31), -(2**31) + 1),
    "c": (0, 1, 2, 3, 8, 17, 64, 1000),
    "d": (2**31, -(2**31) - 1, 2**62, -(2**63), 2**63 - 1, 2**40 + 16),
}
SOURCE = """
def kernel(out, a, b, c, d):
{lines}
"""


class Typed:
    """An integer of 32 or 64 bits with the operators of the language: the reference."""

    def __init__(self, value: int, bits: int = 32) -> None:
        self.bits = bits
        self.value = (value + (1 << (bits - 1))) % (1 << bits) - (1 << (bits - 1))

    def _with(self, other: Any, value: Any) -> Typed:
        bits = max(self.bits, other.bits) if isinstance(other, Typed) else self.bits
        number = other.value if isinstance(other, Typed) else other
        return Typed(value(self.value, number), bits)

    def __add__(self, other: Any) -> Typed:
        return self._with(other, lambda x, y: x + y)

    def __sub__(self, other: Any) -> Typed:
        return self._with(other, lambda x, y: x - y)

    def __mul__(self, other: Any) -> Typed:
        return self._with(other, lambda x, y: x * y)

    def __and__(self, other: Any) -> Typed:
        return self._with(other, lambda x, y: x & y)

    def __or__(self, other: Any) -> Typed:
        return self._with(other, lambda x, y: x | y)

    def __xor__(self, other: Any) -> Typed:
        return self._with(other, lambda x, y: x ^ y)

    def __lshift__(self, other: Any) -> Typed:
        return self._with(other, lambda x, y: x << y)

    def __rshift__(self, other: Any) -> Typed:
        return self._with(other, lambda x, y: x >> y)

    def __floordiv__(self, other: Any) -> Typed:
        return self._with(other, truncated)

    def __mod__(self, other: Any) -> Typed:
        return self._with(other, lambda x, y: x - truncated(x, y) * y)

    def __neg__(self) -> Typed:
        return Typed(-self.value, self.bits)

    def __invert__(self) -> Typed:
        return Typed(~self.value, self.bits)

    def __lt__(self, other: Typed) -> bool:
        return self.value < other.value


def truncated(x: int, y: int) -> int:
    quotient = abs(x) // abs(y)
    return quotient if (x < 0) == (y < 0) else -quotient


class Reference:
    """The functions that expressions name."""

    @staticmethod
    def where(condition: bool, x: Typed, y: Typed) -> Typed:
        return Typed(x.value if condition else y.value, max(x.bits, y.bits))

    @staticmethod
    def minimum(x: Typed, y: Typed) -> Typed:
        return Reference.where(x < y, x, y)


def expression(rng: random.Random, depth: int) -> str:
    if depth == 0:
        return rng.choice(NAMES)
    x, y = (expression(rng, depth - 1 - rng.randrange(depth)) for _ in range(2))
    return rng.choice(
        (
            f"({x} {rng.choice('+-*&|^')} {y})",
            f"({x} {rng.choice(('+', '-', '*'))} {rng.choice((1, 2, 7, 100))})",
            f"({x} {rng.choice(('//', '%'))} (({y} & 15) + 1))",
            f"({x} {rng.choice(('//', '%'))} (({y} & 7) - 9))",
            f"({x} {rng.choice(('//', '%'))} {rng.choice((2, 3, 16, 100))})",
            f"({x} {rng.choice(('<<', '>>'))} ({y} & 31))",
            f"tw.where({x} < {y}, {y}, {x})",
            f"tw.minimum({x}, {y})",
            f"(-{x})",
            f"(~{x})",
        )
    )


def make(lines: list[str], **options: Any) -> Any:
    text = SOURCE.format(lines="\n".join("    " + line for line in lines))
    namespace: dict[str, Any] = {"tw": tw}
    exec(text, namespace)
    return tw.jit(**options)(namespace["kernel"])


def entries(values: dict[str, int], is_exact: bool) -> dict[str, str]:
    types = {name: "i64" if name == "d" else "i32" for name in values}
    return {name: f"{kind}:={values[name]}" if is_exact else kind for name, kind in types.items()}


COUNT = 10


def test_arithmetic_gives_the_same_bits(device: str) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    for _ in range(3):
        texts = ["(a - 1) // 2", "(b // 3) % 16"]
        texts += [expression(rng, 4) for _ in range(COUNT)]
        lines = [f"tw.store(out + {i}, ({text}).to(tw.int64))" for i, text in enumerate(texts)]
        kernel, shaped, auto = make(lines), make(lines, specialize="shape"), make(lines)
        general = kernel.compile({"out": "*i64:16", **entries(dict.fromkeys(NAMES, 0), False)}, {}, device)
        for _ in range(3):
            values = {name: rng.choice(VALUES[name]) for name in NAMES}
            typed = {name: Typed(v, 64 if name == "d" else 32) for name, v in values.items()}
            expected = [eval(text, {"tw": Reference, **typed}).value for text in texts]
            exact = kernel.compile({"out": "*i64:16", **entries(values, True)}, {}, device)
            results: list[Any] = []
            for compiled in (general, exact, shaped, auto):
                out = np.full(len(texts), -77, np.int64)
                compiled[(1,)](out, *values.values())
                results.append(out)
            message = f"{values} {texts}"
            assert results[0].tolist() == expected, message
            assert results[1].tolist() == expected, message
            # Where an argument is 1 it is a compile-time constant in both of these.
            assert results[2].tolist() == results[3].tolist(), message
            if 1 not in values.values():
                assert results[2].tolist() == expected, message


@tw.jit
def loops(out, start, stop, step, far):
    count, last = start * 0, start * 0
    for i in range(start, stop, step):
        count += 1
        last = i
    for i in range(start - far, stop + far, 1 << 29):
        count += 1000
    if start < stop:
        count += 1000000
    while last > 3:
        last = (last - 1) // 2
        count += 10000000
    tw.store(out, count)
    tw.store(out + 1, last)


def test_loops_and_branches_take_the_same_turns(device: str) -> None:
    kinds = {"start": "i32", "stop": "i32", "step": "i32", "far": "i32"}
    general = loops.compile({"out": "*i64:16", **kinds}, {}, device)
    far = 2**31 - 8
    for bounds in ((0, 7, 2, 0), (0, 0, 3, 0), (5, -6, -3, far), (-8, 8, 0, 3), (1, 7, 1, far - 1), (7, -7, 2, 9)):
        exact = {name: f"i32:={value}" for name, value in zip(kinds, bounds)}
        results: list[Any] = []
        for compiled in (general, loops.compile({"out": "*i64:16", **exact}, {}, device)):
            out = np.full(2, -77, np.int64)
            compiled[(1,)](out, *bounds)
            results.append(out.tolist())
        assert results[0] == results[1], bounds
        steps = range(*bounds[:3]) if bounds[2] else range(0)
        wide = len(range(bounds[0] - bounds[3], bounds[1] + bounds[3], 1 << 29))
        assert results[0][0] % 1000000 == len(steps) + 1000 * wide, bounds


@tw.jit
def arange_of(out, n):
    tw.store(out + tw.arange(0, n), 1)


@tw.jit
def asserting(out, n):
    tw.static_assert(n == 16)
    tw.store(out, n)


@tw.jit
def static_loop(out, n):
    for i in tw.static_range(n):
        tw.store(out + i, 1)


@pytest.mark.parametrize("kernel", [arange_of, asserting, static_loop])
def test_what_needs_a_constexpr_is_refused_in_both(kernel: Any) -> None:
    out = np.zeros(16, np.int32)
    told: list[tuple[str, str]] = []
    for other in (kernel, tw.jit(specialize="shape")(kernel.fn), tw.jit(specialize="none")(kernel.fn)):
        with pytest.raises(tw.CompileError) as caught:
            other[(1,)](out, 16)
        told.append((caught.value.code, str(caught.value)))
    assert told[0] == told[1] == told[2]


@tw.jit
def typed(out, n: tw.static, m):
    tw.static_assert(n.dtype == tw.int64 and m.dtype == tw.int32)
    tw.store(out, n * m)


def test_a_known_integer_has_the_type_of_its_value(device: str) -> None:
    out = np.zeros(2, np.int64)
    for n in (1 << 31, (1 << 62) + 5, -(1 << 63)):
        kernel = typed[(1,)](out, n, 4)
        assert [name for name, *_ in kernel.parameters] == ["out", "m"]
        assert out[0] == Typed(n * 4, 64).value


@tw.jit(specialize="shape")
def of_a_tuple(out, shape, factor):
    tw.store(out, (shape[0] - 1) // 2 * shape[1] * factor)


def test_integers_in_tuples_are_known_too() -> None:
    out = np.zeros(2, np.int32)
    kernel = of_a_tuple[(1,)](out, (0, 7), 3)
    assert out[0] == 0 and [name for name, *_ in kernel.parameters] == ["out"]
    of_a_tuple[(1,)](out, (5, 7), 3)
    assert out[0] == 42


def test_signatures_and_compiled_kernels_name_values() -> None:
    kernel = tw.jit(typed.fn)
    compiled = kernel.compile({"out": "*i64:16", "n": f"i64:={2**40}", "m": "i32:=0"})
    out = np.full(2, -1, np.int64)
    compiled[(1,)](out, 2**40, 0)
    assert out[0] == 0
    out[:] = -1
    compiled[(1,)](out)
    assert out[0] == 0, "what the binary knows may be left out"
    with pytest.raises(tw.LaunchError) as caught:
        compiled[(1,)](out, 2**40, 16)
    assert caught.value.code == "TW0435" and "i32:=0" in str(caught.value)
    assert parse_facts("u64:=18446744073709551615") is exact_facts("u64", 2**64 - 1)
    assert str(parse_facts("i8:=-128")) == "i8:=-128"
    for wrong in ("i8:=128", "u8:=-1", "i1:=1", "fp32:=1", "*fp32:=16", "i32:=x", "i32:=", "i32:=5:16"):
        with pytest.raises(ValueError):
            parse_facts(wrong)


def test_facts_of_values_last_as_long_as_kernels() -> None:
    import gc

    from tilewright.compile import facts

    kernel = tw.jit(specialize="shape")(typed.fn)
    gc.collect()
    before = len(facts._exact_facts)
    kernel[(1,)](np.zeros(2, np.int64), 1 << 35, 12345)
    assert len(facts._exact_facts) == before + 2
    del kernel
    gc.collect()
    assert len(facts._exact_facts) <= before
