"""Executes the vendor's pseudo-code of an instruction for all lanes of a wave at once.

The pseudo-code is a part of the instruction set's manual; the package tinygrad carries it as text. What
this adds by itself are the functions that the text takes as known, `fma` or `f32_to_i32` among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from importlib import import_module
from typing import Any

import numpy as np

from . import values
from .grammar import NotUnderstood, Tree, parse
from .values import Value, convert, floating, integer, mask_of, of_bits, truth

_SUFFIX = re.compile(r"_(E32|E64|SDWA|DPP)$")
_LAMBDA = re.compile(r"\w+ = lambda\(.*?\)\);?\n|\w+ = lambda\(.*?endif\);?\n", re.S)


# Instructions of gfx1250, which has no manual yet, that no other GPU has: as LLVM selects them.
_OF_GFX1250 = {
    "V_ADD_NC_U64": "D0.u64 = S0.u64 + S1.u64",
    "V_SUB_NC_U64": "D0.u64 = S0.u64 - S1.u64",
    "V_MUL_U64": "D0.u64 = S0.u64 * S1.u64",
    "V_MAD_U32": "D0.u32 = S0.u32 * S1.u32 + S2.u32",
    "V_MAD_NC_U64_U32": "D0.u64 = 64'U(S0.u32) * 64'U(S1.u32) + S2.u64",
    "V_MAD_NC_I64_I32": "D0.i64 = 64'I(S0.i32) * 64'I(S1.i32) + S2.i64",
    "V_FMAMK_F64": "D0.f64 = fma(S0.f64, SIMM32.f64, S1.f64)",
    "V_FMAAK_F64": "D0.f64 = fma(S0.f64, S1.f64, SIMM32.f64)",
    "V_MIN_I64": "D0.i64 = S0.i64 < S1.i64 ? S0.i64 : S1.i64",
    "V_MAX_I64": "D0.i64 = S0.i64 >= S1.i64 ? S0.i64 : S1.i64",
    "V_MIN_U64": "D0.u64 = S0.u64 < S1.u64 ? S0.u64 : S1.u64",
    "V_MAX_U64": "D0.u64 = S0.u64 >= S1.u64 ? S0.u64 : S1.u64",
}


@lru_cache(None)
def manual(generation: str) -> dict[str, str]:
    """The pseudo-code of each instruction of a generation (`cdna`, `rdna3`, `rdna4`, `gfx1250`)."""
    if generation == "gfx1250":
        return {**manual("cdna"), **manual("rdna4"), **_OF_GFX1250}
    found: dict[str, str] = {}
    package = f"tinygrad.runtime.autogen.amd.{generation}.str_pcode"
    for opcode, text in import_module(package).PCODE.items():
        name = _SUFFIX.sub("", opcode.name)
        if text.strip() and name not in found:
            found[name] = _LAMBDA.sub("", text)
    return found


class Lanes:
    """A register with one bit for each lane, which pseudo-code names as `VCC.u64[laneId]`."""

    def __init__(self, bits: np.ndarray) -> None:
        self.bits = bits


class Constant:
    """A constant in an instruction, whose bits depend on the type that it is taken as."""

    def __init__(self, text: str) -> None:
        self.text = text

    def seen_as(self, kind: str, bits: int) -> Value:
        if re.fullmatch(r"-?\d+\.\d+(e[-+]?\d+)?", self.text):
            wide = bits if kind == "f" else 32 if bits < 64 else 64
            return of_bits(kind, bits, floating(wide, float(self.text)).raw)
        whole = re.fullmatch(r"lit64\((.*)\)", self.text)
        number = int(whole[1] if whole else self.text, 0)
        if kind == "f" and bits == 64 and self.text.startswith("0x"):
            number <<= 32  # a literal of 32 bits is the upper half
        return of_bits(kind, bits, np.array([number & 0xFFFFFFFFFFFFFFFF], np.uint64))


Names = dict[str, Any]
_FIELD = re.compile(r"([uifb])(\d+)")


class Execution:
    """One instruction: `names` has the operands before, and the results after."""

    def __init__(self, generation: str, names: Names) -> None:
        self.generation, self.names = generation, names
        self.mask: np.ndarray | None = None  # the lanes of the branch, None for all
        self.written: dict[str, int] = {}  # bits of each name that were assigned

    def run(self, statements: Any) -> None:
        for statement in statements:
            getattr(self, "_" + statement[0])(*statement[1:])

    def _declare(self, name: str) -> None:
        if not re.fullmatch(r"[SD]\d|OFFSET\d?|OPSEL\w*|NEG\w*|A|B|S", name):
            self.names[name] = integer("b", 64, 0)

    def _if(self, asked: Tree, then: Any, otherwise: Any) -> None:
        chosen, outer = self.value(asked).truth, self.mask
        for side, body in ((chosen, then), (~chosen, otherwise)):
            inside = side if outer is None else side & outer
            if body and inside.any():
                self.mask = inside
                self.run(body)
        self.mask = outer

    def _for(self, name: str, first: Tree, last: Tree, body: Any) -> None:
        low, high = (int(self.value(each).number[0]) for each in (first, last))
        outer, left = self.mask, None
        for number in range(low, high + 1):
            self.names[name] = integer("i", 32, number)
            for statement in body:
                left = self._step_of_loop(statement, left)
        self.mask = outer

    def _step_of_loop(self, statement: Tree, left: np.ndarray | None) -> np.ndarray | None:
        """A loop ends for the lanes of a branch with `break`."""
        leaves = statement[0] == "if" and statement[2] and statement[2][-1] == ("break",)
        outer = self.mask
        if left is not None:
            self.mask = ~left if outer is None else outer & ~left
        if not leaves:
            self.run([statement])
        else:
            chosen = self.value(statement[1]).truth
            self._if(statement[1], statement[2][:-1], statement[3])
            left = chosen if left is None else left | chosen
        self.mask = outer
        return left

    def _assign(self, target: Tree, tree: Tree) -> None:
        self.assign(target, self.value(tree))

    def _assign_both(self, one: Tree, other: Tree, tree: Tree) -> None:
        self._assign(one, tree)
        self._assign(other, tree)

    def assign(self, target: Tree, value: Value) -> None:
        kind, *parts = target
        if kind == "name":
            old = self.names.get(parts[0])
            if isinstance(old, Lanes):  # all lanes' bits at once: the pseudo-code is for one lane
                self.names[parts[0]] = Lanes(self.merged(value.truth, old.bits))
            else:
                self.written[parts[0]] = value.bits
                self.names[parts[0]] = self.chosen(value, old)
        elif kind == "field" and parts[0][0] == "name":
            wanted = convert(*self.type_of(parts[1]), value)
            self.put(parts[0][1], 0, wanted)
        elif kind == "field":  # D0[15 : 0].f16
            self.assign(parts[0], convert(*self.type_of(parts[1]), value))
        elif kind == "index":
            self.assign_part(parts, value)
        else:
            raise NotUnderstood(f"assignment to {target}")

    def assign_part(self, parts: Any, value: Value) -> None:
        base, high, low = parts
        name = base[1][1] if base[0] == "field" else base[1]
        if high == ("name", "laneId"):
            old = self.names.get(name)
            before = old.bits if isinstance(old, Lanes) else np.zeros(value.data.shape, bool)
            self.names[name] = Lanes(self.merged(value.truth, before))
            return
        top = int(self.value(high).number[0])
        bottom = int(self.value(low).number[0]) if low else top
        if bottom > top:
            top, bottom = bottom, top
        self.put(name, bottom, integer("b", top - bottom + 1, value.raw))

    def put(self, name: str, shift: int, value: Value) -> None:
        """Puts bits into a name, and leaves the others."""
        old = self.names.get(name, integer("b", 64, 0))
        old = old.seen_as("b", 64) if isinstance(old, Constant) else old
        there = mask_of(value.bits) << np.uint64(shift)
        new = (old.raw & ~there) | (value.raw << np.uint64(shift))
        self.written[name] = max(self.written.get(name, 0), shift + value.bits)
        self.names[name] = self.chosen(Value("b", 64, new), of_bits("b", 64, old.raw))

    def merged(self, new: np.ndarray, old: np.ndarray) -> np.ndarray:
        return new if self.mask is None else np.where(self.mask, new, old)

    def chosen(self, new: Value, old: Value | None) -> Value:
        if self.mask is None or not isinstance(old, Value):
            return new
        before = convert(new.kind, new.bits, old) if old.kind != "b" else of_bits(new.kind, new.bits, old.raw)
        return Value(new.kind, new.bits, np.where(self.mask, new.data, before.data))

    def type_of(self, field: str) -> tuple[str, int]:
        match = _FIELD.fullmatch(field)
        if not match:
            raise NotUnderstood(f"the type {field}")
        return match[1], int(match[2])

    def value(self, tree: Tree) -> Value:
        return getattr(self, "value_" + tree[0])(*tree[1:])

    def value_number(self, kind: str, bits: int, number: float) -> Value:
        return floating(bits, number) if kind == "f" else integer(kind, bits, int(number))

    def value_name(self, name: str) -> Value:
        found = self.names.get(name)
        if found is None:
            found = _KNOWN.get(name)
        if found is None:
            raise NotUnderstood(f"the name {name}")
        return found.seen_as("b", 64) if isinstance(found, Constant) else found

    def value_field(self, base: Tree, field: str) -> Value:
        if base == ("name", "WAVE_MODE"):
            return self.value_name(f"WAVE_MODE.{field}")
        kind, bits = self.type_of(field)
        found = self.names.get(base[1]) if base[0] == "name" else None
        if isinstance(found, Constant):
            return found.seen_as(kind, bits)
        value = self.value(base)
        return of_bits(kind, bits, value.raw) if value.kind != "f" or kind != "f" else convert(kind, bits, value)

    def value_index(self, base: Tree, high: Tree, low: Tree | None) -> Value:
        if high == ("name", "laneId"):
            lanes = self.names[base[1][1] if base[0] == "field" else base[1]]
            return truth(lanes.bits if isinstance(lanes, Lanes) else lanes)
        raw = self.value(base).raw
        top = self.value(high).number
        if low is None:
            return integer("u", 1, raw >> top.astype(np.uint64) & np.uint64(1))
        first, last = int(top[0]), int(self.value(low).number[0])
        if first < last:
            turned = sum((raw >> np.uint64(last - n) & np.uint64(1)) << np.uint64(n) for n in range(last + 1))
            return integer("b", last + 1, turned)
        return integer("b", first - last + 1, raw >> np.uint64(last))

    def value_cast(self, bits: int, kind: str, tree: Tree) -> Value:
        return convert(kind.lower(), bits, self.value(tree))

    def value_join(self, trees: list[Tree]) -> Value:
        joined, bits = integer("b", 64, 0).raw, 0
        for part in map(self.value, reversed(trees)):
            joined = joined | part.raw << np.uint64(bits)
            bits += part.bits
        return integer("b", bits, joined)

    def value_choose(self, asked: Tree, left: Tree, right: Tree) -> Value:
        one, other = self.value(left), self.value(right)
        kind, bits = common(one, other)
        one, other = convert(kind, bits, one), convert(kind, bits, other)
        return Value(kind, bits, np.where(self.value(asked).truth, one.data, other.data))

    def value_unary(self, operator: str, tree: Tree) -> Value:
        value = self.value(tree)
        if operator == "+":
            return value
        if operator == "!":
            return truth(~value.truth)
        if value.kind == "f":
            return Value("f", value.bits, -value.data)
        return integer(value.kind, value.bits, ~value.raw if operator == "~" else np.uint64(0) - value.raw)

    def value_binary(self, operator: str, left: Tree, right: Tree) -> Value:
        if operator == "*" and right[:2] == ("binary", "**"):
            base, exponent = self.value(left), self.value(right[3])
            return scaled(base, exponent)
        return combine(operator, self.value(left), self.value(right))

    def value_call(self, name: str, trees: list[Tree]) -> Value:
        arguments = [self.value(tree) for tree in trees]
        if name in _FUNCTIONS:
            return _FUNCTIONS[name](*arguments)
        # CDNA 4's pseudo-code calls instructions that RDNA 4 has, and it has not.
        text = manual(self.generation).get(name.upper()) or manual("rdna4").get(name.upper())
        if not text:
            raise NotUnderstood(f"the function {name}")
        names: Names = {f"S{place}": of_bits("b", 64, each.raw) for place, each in enumerate(arguments)}
        inner = Execution(self.generation, {**names, **ieee(self.names), "D0": integer("b", 64, 0)})
        inner.run(parse(text))
        return of_bits(arguments[0].kind, arguments[0].bits, inner.names["D0"].raw)


def ieee(names: Names) -> Names:
    return {"WAVE_MODE.IEEE": names["WAVE_MODE.IEEE"]}


def common(left: Value, right: Value) -> tuple[str, int]:
    """The type that two numbers meet in."""
    if "f" in (left.kind, right.kind):
        return "f", max(each.bits for each in (left, right) if each.kind == "f")
    kind = "i" if (left.kind, right.kind) == ("i", "i") else "u"
    return kind, max(left.bits, right.bits)


_COMPARED: dict[str, Any] = {
    "<": np.less, "<=": np.less_equal, ">": np.greater, ">=": np.greater_equal,
    "==": np.equal, "!=": np.not_equal, "<>": lambda a, b: (a < b) | (a > b),  # false of what is not a number
}  # fmt: skip
_COMPUTED: dict[str, Any] = {
    "+": np.add, "-": np.subtract, "*": np.multiply, "&": np.bitwise_and, "|": np.bitwise_or,
    "^": np.bitwise_xor,
}  # fmt: skip


def combine(operator: str, left: Value, right: Value) -> Value:
    if operator in ("&&", "||"):
        return truth(left.truth & right.truth if operator == "&&" else left.truth | right.truth)
    if operator in ("<<", ">>"):
        return shifted(operator, left, right)
    if operator == "**":
        return scaled(floating(left.bits, 1.0), right)
    kind, bits = common(left, right)
    left, right = convert(kind, bits, left), convert(kind, bits, right)
    if operator in _COMPARED:
        return truth(_COMPARED[operator](left.number, right.number))
    if operator in _COMPUTED:
        done = _COMPUTED[operator](left.data, right.data)
        return Value("f", bits, done) if kind == "f" else integer(kind, bits, done)
    if operator == "/" and kind == "f":
        return Value("f", bits, left.data / right.data)
    if kind != "f" and operator in ("/", "%"):
        done = left.number // right.number if operator == "/" else left.number % right.number
        return integer(kind, bits, done)
    raise NotUnderstood(f"{operator} of {kind}{bits}")


def shifted(operator: str, left: Value, right: Value) -> Value:
    amount = np.minimum(right.raw, np.uint64(63))
    if operator == "<<":
        return integer(left.kind, left.bits, np.where(right.raw > 63, np.uint64(0), left.raw << amount))
    done = left.signed >> amount.view(np.int64) if left.kind == "i" else left.raw >> amount
    return integer(left.kind, left.bits, done)


def scaled(value: Value, exponent: Value) -> Value:
    """A number times 2 to a power, rounded once."""
    wide = np.ldexp(value.data.astype(np.longdouble), exponent.number.astype(np.int64))
    return floating(value.bits, wide)


def fused(a: Value, b: Value, c: Value) -> Value:
    """a * b + c, of 16 and 32 bits in 64; of 64 with what the product and the sum lose."""
    x, y, z = (each.data.astype(np.float64) for each in (a, b, c))
    product = x * y
    if a.bits < 64:
        return floating(a.bits, odd_sum(product, z))
    total, rest = sum_and_rest(product, z)
    rest = rest + exact_rest(x, y, product)
    return floating(64, np.where(np.isfinite(total) & np.isfinite(rest), total + rest, total))


def sum_and_rest(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A sum, and what rounding it lost (Knuth's sum)."""
    total = x + y
    back = total - x
    return total, (x - (total - back)) + (y - back)


def odd_sum(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """A sum rounded to odd, so that a narrower type rounds it as if it were exact (Boldo, Melquiond)."""
    total, rest = sum_and_rest(x, y)
    is_even = np.ascontiguousarray(total).view(np.uint64) & np.uint64(1) == 0
    is_rounded = np.isfinite(total) & np.isfinite(rest) & (rest != 0)
    return np.where(is_even & is_rounded, np.nextafter(total, np.copysign(np.inf, rest)), total)


def exact_rest(x: np.ndarray, y: np.ndarray, product: np.ndarray) -> np.ndarray:
    """What rounding a product lost (Dekker's product)."""
    (x_high, x_low), (y_high, y_low) = halves(x), halves(y)
    return ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low


def halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    big = x * 134217729.0
    high = big - (big - x)
    return high, x - high


def to_floats(bits: int) -> Callable[[Value], Value]:
    return lambda value: floating(bits, value.number)


def to_integers(kind: str, bits: int) -> Callable[[Value], Value]:
    return lambda value: convert(kind, bits, value)


def of_floats(function: Any) -> Callable[..., Value]:
    return lambda value: Value("f", value.bits, function(value.data))


def precise(function: Any) -> Callable[..., Value]:
    """A function of the hardware's: rounded from what has 64 bits."""
    return lambda *parts: floating(
        parts[-1].bits, function(*(part.data.astype(np.float64) for part in parts))
    )


def extended(value: Value, count: Value) -> Value:
    spare = np.uint64(64) - np.minimum(count.raw, np.uint64(64))
    kept = np.minimum(spare, np.uint64(63))
    done = (value.raw << kept).view(np.int64) >> kept.view(np.int64)
    return integer("i", value.bits, np.where(count.raw == 0, 0, done))


def exponent_of(value: Value) -> Value:
    fraction, bits = {16: (10, 5), 32: (23, 8), 64: (52, 11)}[value.bits]
    return integer("i", 32, value.raw >> np.uint64(fraction) & mask_of(bits))


def is_signaling(value: Value) -> np.ndarray:
    """Numbers were widened on their way here, which makes all of what is not a number quiet."""
    return np.zeros(value.data.shape, bool)


def permuted_byte(data: Value, choice: Value) -> Value:
    """The bytes of `v_perm_b32`: 0 to 7 of the data, 8 to 11 signs of its words' halves, 12 zeros."""
    sel, raw = choice.raw, data.raw
    byte = raw >> (np.minimum(sel, np.uint64(7)) << np.uint64(3)) & np.uint64(0xFF)
    place = (np.clip(sel, 8, 11).astype(np.uint64) - np.uint64(8)) * np.uint64(16) + np.uint64(15)
    sign = (raw >> place & np.uint64(1)) * np.uint64(0xFF)
    above = np.where(sel == 12, np.uint64(0), np.uint64(0xFF))
    return integer("b", 8, np.where(sel < 8, byte, np.where(sel < 12, sign, above)))


def counted(value: Value) -> Value:
    return integer("u", 32, sum(value.raw >> np.uint64(bit) & np.uint64(1) for bit in range(64)))


def above_zero_signs(larger: bool) -> Callable[[Value, Value], Value]:
    """Whether a is above (below) b, where 0.0 is above -0.0."""

    def compare(a: Value, b: Value) -> Value:
        x, y = (a.data, b.data) if larger else (b.data, a.data)
        return truth((x > y) | ((x == 0) & (y == 0) & ~np.signbit(x) & np.signbit(y)))

    return compare


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "fma": fused, "signext": lambda value: integer("i", 64, value.signed),
    "signext_from_bit": extended, "exponent": exponent_of, "ldexp": scaled,
    "isNAN": lambda value: truth(np.isnan(value.data)),
    "isQuietNAN": lambda value: truth(np.isnan(value.data)),
    "isSignalNAN": lambda value: truth(is_signaling(value)), "cvtToQuietNAN": lambda value: value,
    "isEven": lambda value: truth(value.data % 2 == 0), "sign": lambda value: truth(np.signbit(value.data)),
    "mantissa": lambda value: Value("f", value.bits, np.frexp(value.data)[0]),
    "abs": of_floats(np.abs), "floor": of_floats(np.floor), "trunc": of_floats(np.trunc),
    "fract": of_floats(lambda x: x - np.floor(x)), "sqrt": precise(np.sqrt), "log2": precise(np.log2),
    "sin": precise(np.sin), "cos": precise(np.cos), "pow": precise(np.power),
    "BYTE_PERMUTE": permuted_byte, "bitCount": counted,
    "GT_NEG_ZERO": above_zero_signs(True), "LT_NEG_ZERO": above_zero_signs(False),
}  # fmt: skip
for _source in ("f16", "f32", "f64", "i32", "u32", "i16", "u16", "i8", "u8", "i4", "u4"):
    for _bits in (16, 32, 64):
        _FUNCTIONS[f"{_source}_to_f{_bits}"] = to_floats(_bits)
        _FUNCTIONS[f"{_source}_to_i{_bits}"] = to_integers("i", _bits)
        _FUNCTIONS[f"{_source}_to_u{_bits}"] = to_integers("u", _bits)

_KNOWN: dict[str, Value] = {
    "PI": floating(64, np.pi), "INF": floating(64, np.inf), "NAN": floating(64, np.nan),
    "UNDERFLOW_F32": floating(32, 0.0), "OVERFLOW_F32": floating(32, np.inf),
    "UNDERFLOW_F64": floating(64, 0.0), "OVERFLOW_F64": floating(64, np.inf),
}  # fmt: skip


def execute(generation: str, opcode: str, names: Names) -> Execution:
    """What an instruction does to its operands. Raises NotUnderstood with its name."""
    text = manual(generation).get(opcode.upper())
    if text is None:
        raise NotUnderstood(f"{opcode} has no pseudo-code")
    execution = Execution(generation, names)
    try:
        execution.run(parse(text))
    except (NotUnderstood, KeyError) as problem:
        raise NotUnderstood(f"{opcode}: {problem}") from problem
    return execution


__all__ = ["Constant", "Execution", "Lanes", "NotUnderstood", "execute", "manual", "values"]
