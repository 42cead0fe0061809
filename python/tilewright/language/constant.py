"""The class behind `tw.constexpr`: a value that is known at compile time, usable as what it holds."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any


class constexpr:  # noqa: N801 (the language's name)
    """A value known at compile time.

    As an annotation (`BLOCK: tw.constexpr`) it makes a parameter or a name static. As a call
    (`LOG2E = tw.constexpr(1.44269504)`) it wraps a global value; operators give a constexpr again.
    """

    __slots__ = ("value",)
    __tilewright_builtin__ = "constexpr"

    value: Any

    def __class_getitem__(cls, kind: object) -> type[constexpr]:
        """`constexpr[int]` reads well and means `constexpr`."""
        del kind
        return cls

    def __init__(self, value: Any) -> None:
        self.value = value.value if isinstance(value, constexpr) else value

    def __repr__(self) -> str:
        return f"constexpr[{self.value!r}]"

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __float__(self) -> float:
        return float(self.value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.value(*args, **kwargs)

    def __getitem__(self, key: Any) -> Any:
        return self.value[unwrap(key)]


def unwrap(value: Any) -> Any:
    """The plain value of a constexpr; anything else unchanged."""
    return value.value if isinstance(value, constexpr) else value


def _unary(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda self: constexpr(function(self.value))


def _binary(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: constexpr(function(self.value, unwrap(other)))


def _reflected(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    return lambda self, other: constexpr(function(unwrap(other), self.value))


def _add_operators() -> None:
    for name in ("neg", "pos", "invert", "abs"):
        setattr(constexpr, f"__{name}__", _unary(getattr(operator, name)))
    for name in ("lt", "le", "gt", "ge", "eq", "ne"):
        setattr(constexpr, f"__{name}__", _binary(getattr(operator, name)))
    for name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow",
                 "lshift", "rshift", "and", "or", "xor"):  # fmt: skip
        function = getattr(operator, f"__{name}__")
        setattr(constexpr, f"__{name}__", _binary(function))
        setattr(constexpr, f"__r{name}__", _reflected(function))


_add_operators()
