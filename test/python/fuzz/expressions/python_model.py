"""What an expression of a kernel means: CPython's rules, and the language's own for run-time values.

A run-time scalar is a `Scalar`. The rules that differ from Python's on purpose are here and nowhere
else in this fuzzer:

- integers are int32 and floats float32 (results that would wrap are left out: `Unknown`);
- `//` and `%` of run-time integers round toward zero, and `%` of floats has the sign of the left;
- `/` of run-time numbers is a float32 division;
- `and` and `or` that begin with a run-time value give a truth value, not one of the operands;
- `~` of a run-time bool is `not`;
- the two values of `x if c else y` with a run-time `c` take one type, or are refused.
"""

from __future__ import annotations

import ast
import functools
import math
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

Thunk = Callable[[], Any]


class Refused(Exception):
    """The language has no meaning for this; a compiler must say so."""


class Unknown(Exception):
    """A value that this model does not compute."""


class Scalar:
    """A run-time number: `kind` is "int", "float" or "bool"."""

    def __init__(self, kind: str, value: Any) -> None:
        if kind == "int" and not -(2**31) <= value < 2**31:
            raise Unknown("an integer wraps")
        self.kind = kind
        self.value = np.float32(value) if kind == "float" else value

    def __repr__(self) -> str:
        return f"run-time {self.kind} {self.value!r}"


def kind_of(value: Any) -> str:
    if isinstance(value, Scalar):
        return value.kind
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, (int, float)):
        return "int" if isinstance(value, int) else "float"
    raise Refused("this is not a number")


def plain(value: Any) -> Any:
    """The number that a value is, as Python sees it."""
    number = value.value if isinstance(value, Scalar) else value
    return float(number) if isinstance(number, np.floating) else number


def is_runtime(*values: Any) -> bool:
    return any(isinstance(value, Scalar) for value in values)


def is_static(value: Any) -> bool:
    if isinstance(value, (tuple, list)):
        return all(map(is_static, value))
    return not isinstance(value, Scalar)


def _common(lhs: Any, rhs: Any) -> str:
    kinds = {kind_of(lhs), kind_of(rhs)}
    for value in (lhs, rhs):
        if not is_runtime(value) and kind_of(value) == "int" and not -(2**31) <= value < 2**31:
            raise Unknown("a literal that is not an int32")
    return "float" if "float" in kinds else "int" if "int" in kinds else "bool"


def _as_float(value: Any) -> np.float32:
    return np.float32(plain(value))


def _truncated(lhs: int, rhs: int) -> tuple[int, int]:
    quotient = abs(lhs) // abs(rhs)
    quotient = quotient if (lhs < 0) == (rhs < 0) else -quotient
    return quotient, lhs - quotient * rhs


_PYTHON = {
    "Add": operator.add, "Sub": operator.sub, "Mult": operator.mul, "Div": operator.truediv,
    "FloorDiv": operator.floordiv, "Mod": operator.mod, "Pow": operator.pow,
    "LShift": operator.lshift, "RShift": operator.rshift, "BitAnd": operator.and_,
    "BitOr": operator.or_, "BitXor": operator.xor,
}  # fmt: skip
_COMPARISONS = {
    "Eq": operator.eq, "NotEq": operator.ne, "Lt": operator.lt, "LtE": operator.le,
    "Gt": operator.gt, "GtE": operator.ge,
}  # fmt: skip


def binary(op: str, lhs: Any, rhs: Any) -> Any:
    if not is_runtime(lhs, rhs):
        return _PYTHON[op](lhs, rhs)
    kind = _common(lhs, rhs)
    if op == "Pow":
        return _power(lhs, rhs)
    with np.errstate(all="ignore"):
        if op == "Div":
            return Scalar("float", _as_float(lhs) / _as_float(rhs))
        if kind == "float":
            return _float_binary(op, _as_float(lhs), _as_float(rhs))
    left, right = int(plain(lhs)), int(plain(rhs))
    if kind == "bool" and op not in ("BitAnd", "BitOr", "BitXor"):
        raise Unknown("arithmetic of bools")
    if op in ("FloorDiv", "Mod"):
        if right == 0:
            raise Unknown("division by zero")
        return Scalar("int", _truncated(left, right)[op == "Mod"])
    if op in ("LShift", "RShift") and not 0 <= right < 31:
        raise Unknown("a shift by the width")
    result = _PYTHON[op](left, right)
    return Scalar(kind, bool(result) if kind == "bool" else result)


def _float_binary(op: str, lhs: np.float32, rhs: np.float32) -> Scalar:
    if op in ("Add", "Sub", "Mult"):
        return Scalar("float", _PYTHON[op](lhs, rhs))
    if op == "Mod" and rhs != 0 and np.isfinite(lhs):
        return Scalar("float", np.fmod(lhs, rhs))
    raise Unknown("division by zero") if op == "Mod" else Refused(op)


def _power(base: Any, exponent: Any) -> Any:
    is_few = isinstance(exponent, int) and 1 <= exponent <= 4
    if not is_few or kind_of(base) == "bool":
        raise Unknown("a power that is not a few products")
    result, square, count = None, base, int(exponent)
    while count:
        if count & 1:
            result = square if result is None else binary("Mult", result, square)
        count >>= 1
        if count:
            square = binary("Mult", square, square)
    return result


def unary(op: str, value: Any) -> Any:
    if op == "Not":
        return Scalar("bool", not truth(value)) if is_runtime(value) else not value
    if not is_runtime(value):
        return {"USub": operator.neg, "UAdd": operator.pos, "Invert": operator.invert}[op](value)
    if op == "UAdd":
        return value
    if op == "USub":
        if value.kind == "bool":
            raise Unknown("the negative of a bool")
        return Scalar(value.kind, -value.value)
    if value.kind == "float":
        raise Refused("~ of a float")
    return Scalar(value.kind, not value.value if value.kind == "bool" else ~value.value)


def truth(value: Any) -> bool:
    return bool(value.value if isinstance(value, Scalar) else value)


def _both(lhs: Any, rhs: Any, is_and: bool = True) -> Any:
    """Of two truth values, of which a compile-time one may decide."""
    for side, other in ((lhs, rhs), (rhs, lhs)):
        if not is_runtime(side):
            return other if side == is_and else side
    both = truth(lhs) and truth(rhs)
    return Scalar("bool", both if is_and else truth(lhs) or truth(rhs))


def _equal(lhs: Any, rhs: Any) -> Any:
    if lhs is rhs:
        return True
    return compare_two("Eq", lhs, rhs)


def compare_two(op: str, lhs: Any, rhs: Any) -> Any:
    if op in ("In", "NotIn"):
        return _contains(lhs, rhs, op == "NotIn")
    if is_static(lhs) and is_static(rhs):
        return _COMPARISONS[op](lhs, rhs)
    if isinstance(lhs, tuple) and isinstance(rhs, tuple):
        return _compare_tuples(op, lhs, rhs)
    if not all(isinstance(v, (Scalar, int, float)) for v in (lhs, rhs)):
        if op in ("Eq", "NotEq"):
            return op == "NotEq"
        raise Refused("no order")
    if _common(lhs, rhs) == "float":
        return Scalar("bool", bool(_COMPARISONS[op](_as_float(lhs), _as_float(rhs))))
    return Scalar("bool", bool(_COMPARISONS[op](plain(lhs), plain(rhs))))


def _contains(item: Any, container: Any, is_negated: bool) -> Any:
    if is_static(item) and is_static(container):
        return (item not in container) if is_negated else (item in container)
    if not isinstance(container, (tuple, list)):
        raise Refused("only tuples are searched for run-time values")
    found: Any = False
    for other in container:
        found = _both(found, _equal(item, other), is_and=False)
        if found is True:
            break
    return unary("Not", found) if is_negated else found


def _compare_tuples(op: str, lhs: tuple[Any, ...], rhs: tuple[Any, ...]) -> Any:
    if op in ("Eq", "NotEq"):
        same: Any = len(lhs) == len(rhs)
        for x, y in zip(lhs, rhs):
            if same is False:
                break
            same = _both(same, _equal(x, y))
        return same if op == "Eq" else unary("Not", same)
    if not lhs or not rhs:
        return _COMPARISONS[op](len(lhs), len(rhs))
    same = _equal(lhs[0], rhs[0])
    if same is True:
        return _compare_tuples(op, lhs[1:], rhs[1:])
    first = compare_two(op, lhs[0], rhs[0])
    if same is False:
        return first
    rest = _compare_tuples(op, lhs[1:], rhs[1:])
    return _both(_both(same, rest), _both(unary("Not", same), first), is_and=False)


def chain(first: Any, *links: tuple[str, Thunk]) -> Any:
    result: Any = None
    lhs = first
    for op, make in links:
        rhs = make()
        link = compare_two(op, lhs, rhs)
        result = link if result is None or result is True else _both_evaluated(result, link)
        if result is False:
            return False
        lhs = rhs
    return result


def _both_evaluated(lhs: Any, rhs: Any) -> Scalar:
    return Scalar("bool", truth(lhs) and truth(rhs))


def both_or_either(is_and: bool, *operands: Thunk) -> Any:
    result = operands[0]()
    for make in operands[1:]:
        if not is_runtime(result):
            if bool(result) != is_and:
                return result
            result = make()
            continue
        other = make()
        kind_of(other)  # a number, or refused
        lhs, rhs = truth(result), truth(other)
        result = Scalar("bool", lhs and rhs if is_and else lhs or rhs)
    return result


def choose(condition: Any, body: Thunk, orelse: Thunk) -> Any:
    if not is_runtime(condition):
        return body() if condition else orelse()
    return join(truth(condition), body(), orelse())


def _is_same_static(lhs: Any, rhs: Any) -> bool:
    return type(lhs) is type(rhs) and repr(lhs) == repr(rhs)


def join(is_first: bool, lhs: Any, rhs: Any) -> Any:
    """What two paths leave of a name."""
    if lhs is rhs or (is_static(lhs) and is_static(rhs) and _is_same_static(lhs, rhs)):
        return lhs
    if isinstance(lhs, tuple) and isinstance(rhs, tuple) and len(lhs) == len(rhs):
        return tuple(join(is_first, x, y) for x, y in zip(lhs, rhs))
    kinds = {kind_of(lhs), kind_of(rhs)}
    chosen = lhs if is_first else rhs
    if len(kinds) == 1:
        return Scalar(kinds.pop(), plain(chosen))
    for value in (lhs, rhs):  # only a literal gives way, and only upwards
        others = {"bool": 0, "int": 1, "float": 2}
        if is_runtime(value) and others[kind_of(value)] < max(others[k] for k in kinds):
            raise Refused("two types")
    wide = max(kinds, key=["bool", "int", "float"].index)
    if wide == "float" and "bool" in kinds:
        raise Unknown("a bool that becomes a float")
    return Scalar(wide, int(plain(chosen)) if wide == "int" else plain(chosen))


# Builtins.


def _extremum(is_max: bool, *items: Any, key: Any = None, **default: Any) -> Any:
    values = list(items[0]) if len(items) == 1 else list(items)
    if all(map(is_static, values)):
        chosen = max if is_max else min
        extra = {"key": key, **default} if len(items) == 1 else {"key": key}
        return chosen(values, **extra) if len(items) == 1 else chosen(*items, **extra)
    if key is not None:
        raise Refused("key of run-time values")
    best = values[0]
    for item in values[1:]:
        if is_runtime(best, item):
            kind = _common(best, item)
            if kind == "bool":
                raise Unknown("the larger of two bools")
            pair = [_as_float(v) if kind == "float" else int(plain(v)) for v in (best, item)]
            best = Scalar(kind, max(pair) if is_max else min(pair))
        elif item > best if is_max else item < best:
            best = item
    return best


def _int(*args: Any, **keywords: Any) -> Any:
    if not is_runtime(*args):
        return int(*args, **keywords)
    value = plain(args[0])
    if not math.isfinite(value):
        raise Unknown("not a number")
    return Scalar("int", int(value))


def _float(*args: Any) -> Any:
    return Scalar("float", plain(args[0])) if is_runtime(*args) else float(*args)


def _bool(value: Any) -> Any:
    return Scalar("bool", truth(value)) if is_runtime(value) else bool(value)


def _abs(value: Any) -> Any:
    if not is_runtime(value):
        return abs(value)
    if value.kind == "bool":
        raise Unknown("abs of a bool")
    return Scalar(value.kind, abs(value.value))


def _sum(items: Any, start: Any = 0) -> Any:
    if isinstance(start, str):
        raise TypeError
    return functools.reduce(lambda a, b: binary("Add", a, b), items, start)


def _divmod(lhs: Any, rhs: Any) -> Any:
    if not is_runtime(lhs, rhs):
        return divmod(lhs, rhs)
    return binary("FloorDiv", lhs, rhs), binary("Mod", lhs, rhs)


def _any_all(is_any: bool, items: Any) -> Any:
    found = None
    for item in items:
        if not is_runtime(item):
            if bool(item) == is_any:
                return is_any
            continue
        found = item if found is None else both_or_either(not is_any, lambda: found, lambda: item)
    return not is_any if found is None else Scalar("bool", truth(found))


def _enumerate(items: Any, start: Any = 0) -> Any:
    return tuple((binary("Add", start, i) if is_runtime(start) else start + i, x)
                 for i, x in enumerate(items))  # fmt: skip


def _pow(base: Any, exponent: Any, mod: Any = None) -> Any:
    if mod is None:
        return binary("Pow", base, exponent)
    return _needs_static(pow)(base, exponent, mod)


def _needs_static(function: Callable[..., Any]) -> Callable[..., Any]:
    def call(*args: Any, **keywords: Any) -> Any:
        if not all(map(is_static, (*args, *keywords.values()))):
            raise Refused(f"{function} of run-time values")
        return function(*args, **keywords)

    return call


NAMES: dict[str, Any] = {
    "max": functools.partial(_extremum, True), "min": functools.partial(_extremum, False),
    "int": _int, "float": _float, "bool": _bool, "abs": _abs, "sum": _sum, "divmod": _divmod,
    "any": functools.partial(_any_all, True), "all": functools.partial(_any_all, False),
    "enumerate": _enumerate, "zip": lambda *a, **k: tuple(zip(*a, **k)), "tuple": tuple,
    "len": len, "reversed": lambda x: tuple(reversed(x)), "range": range,
    "sorted": _needs_static(sorted), "round": _needs_static(round), "str": _needs_static(str),
    "repr": _needs_static(repr), "pow": _pow, "format": _needs_static(format),
    "_binary": binary, "_unary": unary, "_chain": chain, "_logic": both_or_either,
    "_choose": choose, "_static": _needs_static(lambda *parts: parts),
}  # fmt: skip


class _Rewrite(ast.NodeTransformer):
    """Calls the functions above where Python's syntax would decide by itself."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        return _call("_binary", ast.Constant(type(node.op).__name__), node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        self.generic_visit(node)
        return _call("_unary", ast.Constant(type(node.op).__name__), node.operand)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        self.generic_visit(node)
        is_and = ast.Constant(isinstance(node.op, ast.And))
        return _call("_logic", is_and, *map(_thunk, node.values))

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        links: list[ast.expr] = [
            ast.Tuple([ast.Constant(type(op).__name__), _thunk(right)], ast.Load())
            for op, right in zip(node.ops, node.comparators)
        ]
        return _call("_chain", node.left, *links)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        self.generic_visit(node)
        return _call("_choose", node.test, _thunk(node.body), _thunk(node.orelse))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        self.generic_visit(node)
        checked = _call("_static", node.value)
        node.value = ast.Subscript(checked, ast.Constant(0), ast.Load())
        return node


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])


def _thunk(value: ast.expr) -> ast.expr:
    empty = ast.arguments(posonlyargs=[], args=[], kwonlyargs=[], kw_defaults=[], defaults=[])
    return ast.Lambda(empty, value)


def evaluate(text: str, scalars: dict[str, Scalar]) -> Any:
    """The value of an expression. Raises Refused, Unknown, or what Python raises."""
    tree = ast.fix_missing_locations(_Rewrite().visit(ast.parse(text, mode="eval")))
    return eval(compile(tree, "<model>", "eval"), {**NAMES, **scalars})
