"""`@tw.aggregate`: classes whose objects kernels make, pass around and call methods of."""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

from .dtypes import dtype
from .marks import AGGREGATE, CONSTEXPR_FUNCTION
from .static import constexpr

T = TypeVar("T", bound=type)

# Fields with one of these annotations hold compile-time values, like those annotated constexpr.
_STATIC = (int, float, bool, str, dtype, type(None))


class Member(NamedTuple):
    """An attribute of a class: a method, a property, or (a static method too) a plain value."""

    kind: str
    value: Any


def aggregate(cls: T) -> T:
    """Make a class one whose objects kernels can use: `@tw.aggregate`.

    Fields are the annotated names. One that is annotated `tw.constexpr` (or int, float, bool, str)
    holds a compile-time value; others hold tiles, scalars, tuples or objects. `__init__` is kernel
    code that assigns to every field; without it the fields are given in order or by name. Methods
    and static methods are `@tw.jit` functions, or `@tw.constexpr_function`s of compile-time fields.
    Objects are values: after its constructor none changes, `tw.aggregate_replace(x, field=value)`
    gives another one. They go through branches, loops and calls, and are returned.

    Raises TypeError for a class without annotated names.
    """
    if not fields_of(cls):
        raise TypeError(
            f"@tw.aggregate: {cls.__name__} has no fields; annotate them in the class, as in "
            "`x: tw.tensor`"
        )
    for method in filter(inspect.isfunction, vars(cls).values()):
        _keep_text(method)
    if constructor_of(cls) is None:
        cast(Any, cls).__init__ = _initializer(fields_of(cls))
    setattr(cls, AGGREGATE, True)
    return cls


# Until somebody reads kernels, nobody needs their text.
_keep_text: Callable[[types.FunctionType], None] = lambda method: None


def keep_methods(keep_text: Callable[[types.FunctionType], None]) -> None:
    """Take the function that keeps the text of a plain method, as of kernels: it may be lost later."""
    global _keep_text
    _keep_text = keep_text


def _initializer(fields: tuple[str, ...]) -> Callable[..., None]:
    """What makes objects on the host where the class does not say how."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
        given = dict(zip(fields, args), **kwargs)
        if len(args) > len(fields) or not given.keys() <= set(fields):
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(fields)}")
        for name in fields:
            if name not in given and not hasattr(type(self), name):
                raise TypeError(f"{type(self).__name__} needs a value for {name}")
            setattr(self, name, given.get(name, getattr(type(self), name, None)))

    setattr(__init__, AGGREGATE, True)
    return __init__


def _annotations(cls: type) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for base in reversed(cls.__mro__[:-1]):
        try:
            found |= inspect.get_annotations(base)
        except NameError:  # evaluated on first use since Python 3.14
            found |= dict.fromkeys(getattr(base, "__static_attributes__", ()))
    return found


def fields_of(cls: type) -> tuple[str, ...]:
    """The names of the fields in the order of their declaration, those of base classes first."""
    return tuple(_annotations(cls))


def static_fields_of(cls: type) -> tuple[str, ...]:
    """The fields that hold compile-time values."""
    namespace = vars(sys.modules[cls.__module__]) if cls.__module__ in sys.modules else {}
    return tuple(
        name for name, text in _annotations(cls).items() if _is_static(text, dict(namespace))
    )


def _is_static(annotation: object, namespace: dict[str, Any]) -> bool:
    if isinstance(annotation, str):
        name = annotation.split("[")[0].split(".")[-1].strip()
        if name == "constexpr":
            return True
        try:
            annotation = eval(annotation, namespace)
        except Exception:  # an annotation may name anything
            return False
    return annotation is constexpr or annotation in _STATIC


def constructor_of(cls: type) -> types.FunctionType | None:
    """The `__init__` that a user wrote, or None. It is kernel code however it is marked."""
    written = getattr(cls, "__init__", None)
    if hasattr(written, CONSTEXPR_FUNCTION):
        written = inspect.unwrap(cast(Any, written))
    elif getattr(written, "__tilewright_jit__", False) is True:
        written = getattr(written, "fn", None)
    is_own = isinstance(written, types.FunctionType) and not hasattr(written, AGGREGATE)
    return written if is_own else None


def members_of(cls: type) -> dict[str, Member]:
    """The methods, properties and constants that objects have beside their fields."""
    found: dict[str, Member] = {}
    for base in reversed(cls.__mro__[:-1]):
        for name, value in vars(base).items():
            is_written = not name.startswith("__") and not isinstance(value, classmethod)
            if is_written and not isinstance(value, types.MemberDescriptorType):
                found[name] = _member(value)
    return found


def _member(value: Any) -> Member:
    if isinstance(value, property):
        return Member("property", value.fget)
    if isinstance(value, staticmethod):
        return Member("value", cast(Any, value).__func__)
    is_method = isinstance(value, types.FunctionType) or hasattr(value, CONSTEXPR_FUNCTION)
    is_jit = getattr(value, "__tilewright_jit__", False) is True and not isinstance(value, type)
    return Member("method" if is_method or is_jit else "value", value)


__all__ = ["aggregate"]
