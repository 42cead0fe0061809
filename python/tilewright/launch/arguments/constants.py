"""What identifies a compile-time constant in the key of a launch."""

from __future__ import annotations

import enum
from typing import Any, cast

from ...capture import is_jit
from ...capture.classes import is_bare, is_settled
from ...capture.contents import look_into
from ...language.dtypes import dtype
from ...language.static import constexpr
from .problems import ArgumentProblem, Reading

_SIMPLE_CONSTANTS = frozenset({int, bool, str, type(None), dtype})


class _Held:
    """Keeps objects alive with a key that has their addresses. Equal to every other one."""

    def __init__(self, *objects: Any) -> None:
        self.objects = objects

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


def constexpr_key(value: Any) -> tuple[Any, ...]:
    """What identifies a compile-time constant: 1, True and 1.0 differ, and so do 0.0 and -0.0. Of an
    object its contents count, as they are now; where they cannot be known, no key is like another."""
    kind = cast("type[Any]", type(value))
    if kind in _SIMPLE_CONSTANTS:
        return (kind, value)
    if kind is tuple or kind is list:
        return (kind, *map(constexpr_key, value))
    if kind is float:
        return (kind, float(value).hex())
    if is_jit(value):
        is_itself = kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__
        return (kind, value) if is_itself else (kind, id(value), _Held(value))
    if isinstance(value, constexpr):
        return constexpr_key(value.value)
    if kind.__module__ in ("numpy", "torch"):
        return _library_key(kind, value)
    return _derived_key(kind, value) if is_bare(value) else _object_key(kind, value)


def _library_key(kind: type, value: Any) -> tuple[Any, ...]:
    """The key of a number or dtype of a library, which has no more to it."""
    if kind.__name__ == "dtype":
        return (kind, value)
    is_number = hasattr(kind, "item") and not hasattr(kind, "__dlpack__")
    if is_number and not value.dtype.hasobject:
        return (kind, value.tobytes(), str(value.dtype))
    return _object_key(kind, value)


def _derived_key(kind: type, value: Any) -> tuple[Any, ...]:
    """The key of a number, text or tuple of a class that adds nothing to it, as members of an enum have."""
    if isinstance(value, enum.Enum):
        return (kind, value.name, constexpr_key(value.value))
    if isinstance(value, tuple):
        return (kind, *map(constexpr_key, cast("tuple[Any, ...]", value)))
    if isinstance(value, float):
        return (kind, float.hex(value))
    if isinstance(value, int):
        return (kind, int(value))
    return (kind, value) if isinstance(value, type) and is_settled(value.__module__) else _object_key(kind, value)


def _object_key(kind: type, value: Any) -> tuple[Any, ...]:
    if hasattr(kind, "__dlpack__"):
        raise ArgumentProblem(
            "TW0405",
            "an array cannot be a compile-time constant",
            "pass it for a parameter of its own, and not for a tw.constexpr",
        )
    if kind.__hash__ is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise ArgumentProblem(
            "TW0405",
            f"a {kind.__qualname__} cannot be a compile-time constant: it is not hashable",
            "pass numbers, strings, dtypes, functions or tuples of them",
        )
    seen = look_into(value)
    return (kind, seen.digest or object(), _Held(*seen.functions))


def read_constant(value: Any) -> Reading:
    """The key of a compile-time constant and the constant."""
    return constexpr_key(value), value
