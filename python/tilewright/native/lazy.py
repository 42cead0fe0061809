"""Attributes that are computed at their first reading."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class lazy_attribute(Generic[T]):
    """Makes a method an attribute: called at the first reading, its result then lies in the object.

    `functools.cached_property` of Python 3.10 and 3.11 calls it under a lock of the class, which a child
    would never get that was forked while another thread had it. Here several threads may compute at
    once; all of them get the same result.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self.compute = compute
        self.name: str = compute.__name__
        self.__doc__ = compute.__doc__

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> lazy_attribute[T]: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Any:
        if instance is None:
            return self
        return vars(instance).setdefault(self.name, self.compute(instance))
