"""Compile-time values: `constexpr` and the types of values that the compiler knows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias, Union

from .constant import unwrap as unwrap

if not TYPE_CHECKING:
    from .constant import constexpr
# To type checkers a compile-time value fits wherever its value fits, and any value fits a parameter
# that is annotated so. `Any` itself cannot be called, as in `LOG2E = tw.constexpr(1.44)`; a name for
# an attribute of that type can, but only pyright takes it as an annotation, and it alone knows
# `os.name` when it reads the text.
elif os.name == "none":  # mypy
    constexpr = Any
else:
    from .marks import Anything

    constexpr = Anything.value

# Axes of tiles are compile-time values; type checkers see which ones.
if TYPE_CHECKING:
    Axis: TypeAlias = int
    OptionalAxis: TypeAlias = Union[int, None]
else:
    Axis = OptionalAxis = constexpr


class constexpr_type:  # noqa: N801 (Triton's name)
    """The type of one compile-time value: equal for equal values of one kind."""

    def __init__(self, value: Any) -> None:
        self.value: Any = unwrap(value)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, constexpr_type):
            return False
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return f"constexpr_type[{self.value!r}]"


class tuple_type:  # noqa: N801 (Triton's name)
    """The types of a tuple's items, with the names of its fields where it has some."""

    def __init__(self, types: Iterable[Any], fields: Iterable[str] | None = None) -> None:
        self.types: list[Any] = list(types)
        self.fields: list[str] | None = None if fields is None else list(fields)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, tuple_type):
            return False
        return (self.types, self.fields) == (other.types, other.fields)

    def __hash__(self) -> int:
        return hash((*self.types, *(self.fields or ())))

    def __iter__(self) -> Iterator[Any]:
        return iter(self.types)

    def __getitem__(self, index: int) -> Any:
        return self.types[index]

    def __repr__(self) -> str:
        names = self.fields or [""] * len(self.types)
        items = (f"{name}:{kind}" if name else f"{kind}" for name, kind in zip(names, self.types))
        return f"[{','.join(items)}]"
