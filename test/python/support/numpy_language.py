"""Runs library functions on NumPy arrays, to test what they mean without a compiler."""

from __future__ import annotations

import functools
import types
from typing import Any

import numpy as np
from tilewright import language as tw
from tilewright.capture import is_jit

_NUMPY = {"int1": "bool"}


class Tile(np.ndarray):
    """An array with the attributes and methods of a tile; 0-dimensional for scalars."""

    @property
    def numel(self) -> int:
        return self.size

    @property
    def dtype(self) -> Any:
        name = np.ndarray.dtype.__get__(self).name
        return tw.int1 if name == "bool" else tw.dtype(name)

    def to(self, dtype: Any, bitcast: bool = False) -> Tile:
        kind = np.dtype(_NUMPY.get(dtype.name, dtype.name))
        values = np.asarray(self)
        with np.errstate(all="ignore"):
            return tile(values.view(kind) if bitcast else values.astype(kind))

    def permute(self, *order: int) -> Tile:
        return tile(np.asarray(self).transpose(order))

    def split(self) -> tuple[Tile, Tile]:
        return tile(np.asarray(self)[..., 0]), tile(np.asarray(self)[..., 1])


def tile(values: Any) -> Tile:
    return np.asarray(values).view(Tile)


def _reduce(
    input: Any, axis: int | None, combine: Any, keep_dims: bool = False, commutative: bool = False
) -> Any:
    sources = input if isinstance(input, tuple) else (input,)
    arrays = [np.asarray(s) for s in sources]
    rank = arrays[0].ndim
    if axis is None:
        arrays = [a.reshape(-1) for a in arrays]
    along = 0 if axis is None else axis
    lines = [np.moveaxis(a, along, 0) for a in arrays]
    total = tuple(tile(line[0]) for line in lines)
    for step in range(1, len(lines[0])):
        combined = combine(*total, *(tile(line[step]) for line in lines))
        total = combined if isinstance(combined, tuple) else (combined,)
    if keep_dims:
        total = tuple(
            t.reshape((1,) * rank) if axis is None else np.expand_dims(t, along) for t in total
        )
    total = tuple(tile(t) for t in total)
    return total if isinstance(input, tuple) else total[0]


def _scan(input: Any, axis: int, combine: Any, reverse: bool = False) -> Any:
    lines = np.moveaxis(np.asarray(input), axis, 0)
    lines = lines[::-1] if reverse else lines
    rows = [tile(lines[0])]
    for line in lines[1:]:
        rows.append(combine(rows[-1], tile(line)))
    stacked = np.stack([np.asarray(r) for r in (rows[::-1] if reverse else rows)])
    return tile(np.moveaxis(stacked, 0, axis))


def _umulhi(x: Any, y: Any) -> Tile:
    bits = np.asarray(x).itemsize * 8
    high = np.asarray(x).astype(object) * int(y) >> bits
    return tile(np.asarray(high).astype(np.asarray(x).dtype))


def _extremum(ignoring: Any, propagating: Any) -> Any:
    def function(x: Any, y: Any, propagate_nan: Any = tw.PropagateNan.NONE) -> Tile:
        chosen = propagating if propagate_nan == tw.PropagateNan.ALL else ignoring
        return tile(chosen(np.asarray(x), np.asarray(y)))

    return function


def _float32(function: Any) -> Any:
    return lambda x: tile(function(np.asarray(x, dtype=np.float32)).astype(np.float32))


def _static_assert(condition: bool, message: str = "") -> None:
    assert condition, message


BUILTINS: dict[str, Any] = {
    "arange": lambda start, end: tile(np.arange(start, end, dtype=np.int32)),
    "full": lambda shape, value, dtype: tile(np.full(shape, value)).to(dtype),
    "to_tensor": lambda x: x if isinstance(x, Tile) else tile(np.int32(x)),
    "where": lambda c, x, y: tile(np.where(c, x, y)),
    "expand_dims": lambda x, axis: tile(np.expand_dims(np.asarray(x), axis)),
    "broadcast_to": lambda x, shape: tile(np.broadcast_to(np.asarray(x), shape)),
    "reshape": lambda x, shape, can_reorder=False: tile(np.asarray(x).reshape(shape)),
    "join": lambda a, b: tile(np.stack([np.asarray(a), np.asarray(b)], axis=-1)),
    "gather": lambda x, i, axis: tile(np.take_along_axis(np.asarray(x), np.asarray(i), axis)),
    "count_values": lambda x, count: tile(np.sum(x == np.arange(count)[:, None], axis=1)),
    "maximum": _extremum(np.fmax, np.maximum),
    "minimum": _extremum(np.fmin, np.minimum),
    "fdiv": lambda x, y, ieee_rounding=False: tile(np.asarray(x) / np.asarray(y)),
    "umulhi": _umulhi,
    "reduce": _reduce,
    "associative_scan": _scan,
    "static_range": range,
    "static_assert": _static_assert,
    "checks_overflow": lambda: False,
    "abs": lambda x: tile(np.abs(np.asarray(x))),
    "popc": lambda x: tile(np.bitwise_count(np.asarray(x)).astype(np.int32)),
    "cbrt": _float32(np.cbrt),
    "pow": lambda x, y: tile(np.power(np.float32(x), np.asarray(y))),
    "rint": _float32(np.rint),
    **{name: _float32(getattr(np, name)) for name in ("exp", "log", "sqrt", "sin", "cos")},
}


@functools.cache
def on_numpy(function: Any, target: str = "reference") -> Any:
    """A library function on `Tile`s, as for `target`: a copy with callees and builtins replaced."""
    plain = function.fn
    names = {n: v for n, v in plain.__globals__.items() if n in plain.__code__.co_names}
    scope: dict[str, Any] = {"__builtins__": __builtins__, **names}
    result = types.FunctionType(plain.__code__, scope, plain.__name__, plain.__defaults__)
    result.__kwdefaults__ = plain.__kwdefaults__
    for name, value in names.items():
        mark = getattr(value, "__tilewright_builtin__", None)
        if value is function:
            scope[name] = result
        elif is_jit(value):
            scope[name] = on_numpy(value, target)
        elif mark == "compiled_for":
            scope[name] = lambda: target
        elif isinstance(mark, str) and mark in BUILTINS:
            scope[name] = BUILTINS[mark]
    return result
