"""The grid of an exported kernel: expressions of Python's syntax, written in C."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from ..native.errors import UnsupportedError

_OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*"}
_CALLED_OPERATORS = {ast.FloorDiv: "tw_floor_quotient", ast.Mod: "tw_floor_remainder"}
_FUNCTIONS = {"cdiv": "tw_ceiling_quotient", "min": "tw_lesser", "max": "tw_greater"}

# Python's quotients round down. A divisor of zero gives -1, which no grid is.
HELPERS = """\
__attribute__((unused)) static int64_t tw_floor_quotient(int64_t a, int64_t b) {
  return b == 0 ? -1 : a / b - (a % b != 0 && (a < 0) != (b < 0));
}
__attribute__((unused)) static int64_t tw_floor_remainder(int64_t a, int64_t b) {
  return b == 0 ? -1 : a - b * tw_floor_quotient(a, b);
}
__attribute__((unused)) static int64_t tw_ceiling_quotient(int64_t a, int64_t b) {
  return b == 0 ? -1 : -tw_floor_quotient(-a, b);
}
__attribute__((unused)) static int64_t tw_lesser(int64_t a, int64_t b) { return a < b ? a : b; }
__attribute__((unused)) static int64_t tw_greater(int64_t a, int64_t b) { return a > b ? a : b; }
"""


def split_grid(grid: str | int | Sequence[str | int]) -> tuple[str, ...]:
    """The expressions of a grid, one for each axis. Raises UnsupportedError TW0804."""
    if isinstance(grid, str):
        try:
            parsed = _parse(f"({grid},)")
            parts = [ast.unparse(item) for item in parsed.elts] if isinstance(parsed, ast.Tuple) else []
        except _UNREADABLE as error:
            raise _unreadable(grid, error) from None
    else:
        several: Any = grid if isinstance(grid, Sequence) else [grid]
        if not all(type(part) in (str, int) for part in several):
            raise _problem(f"{grid!r} is neither a text, an integer nor a list of these")
        parts = [str(part) for part in several]
    if not 1 <= len(parts) <= 3:
        raise _problem(f"a grid has one to three expressions, not {len(parts)}")
    return tuple(parts)


# Terms, operators and calls of an expression; Python's own limit depends on who calls.
_MAX_NODES = 1000


def _parse(text: str) -> ast.expr:
    parsed = ast.parse(text, mode="eval").body
    if sum(isinstance(node, ast.expr) for node in ast.walk(parsed)) > _MAX_NODES:
        raise RecursionError
    return parsed


def c_expression(text: str, arguments: Mapping[str, str], constants: Mapping[str, Any]) -> str:
    """The expression in C: `arguments` has what stands for run-time parameters, `constants` the values
    of the others."""
    try:
        return _write(_parse(text), arguments, constants)
    except _UNREADABLE as error:
        raise _unreadable(text, error) from None


def _write(node: ast.expr, arguments: Mapping[str, str], constants: Mapping[str, Any]) -> str:
    def inner(child: ast.expr) -> str:
        return _write(child, arguments, constants)

    if isinstance(node, ast.Constant):
        return _literal(node.value, ast.unparse(node))
    if isinstance(node, ast.Name):
        if node.id in arguments:
            return arguments[node.id]
        if node.id in constants:
            return _literal(constants[node.id], node.id)
        raise _problem(f"the kernel has no integer parameter `{node.id}`")
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return f"(-{inner(node.operand)})"
    if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
        return f"({inner(node.left)} {_OPERATORS[type(node.op)]} {inner(node.right)})"
    if isinstance(node, ast.BinOp) and type(node.op) in _CALLED_OPERATORS:
        return f"{_CALLED_OPERATORS[type(node.op)]}({inner(node.left)}, {inner(node.right)})"
    if isinstance(node, ast.Call) and not node.keywords and len(node.args) == 2:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        if name in _FUNCTIONS:
            return f"{_FUNCTIONS[name]}({', '.join(map(inner, node.args))})"
    raise _problem(f"`{_shortened(ast.unparse(node))}` cannot be written in C")


def _literal(value: Any, text: str) -> str:
    if not isinstance(value, int):
        raise _problem(f"`{_shortened(text)}` is not an integer")
    if not -(1 << 63) < value < 1 << 63:
        raise _problem(f"`{_shortened(text)}` is an integer that does not fit a signed number of 64 bits")
    return f"INT64_C({int(value)})" if value >= 0 else f"(-INT64_C({-value}))"


# What Python's parser raises; it gives up on what is nested deeply.
_UNREADABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def _unreadable(text: str, error: BaseException) -> UnsupportedError:
    too_deep = isinstance(error, (RecursionError, MemoryError))
    what = "has too many terms or brackets" if too_deep else "is not an expression of Python"
    return _problem(f"`{_shortened(text)}` {what}")


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}..."


def _problem(message: str) -> UnsupportedError:
    return UnsupportedError(
        f"the grid of an exported kernel: {message}",
        code="TW0804",
        hint="write integers, parameters, + - * // %, cdiv(a, b), min(a, b) and max(a, b)",
    )
