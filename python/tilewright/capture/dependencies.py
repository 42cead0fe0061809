"""Dependencies of a capture: where its values came from, and whether they are still there."""

from __future__ import annotations

import enum
import types
from typing import Any, NamedTuple, cast

from . import values
from .contents import look_into


class _Missing(enum.Enum):
    MISSING = "missing"


MISSING: Any = _Missing.MISSING
UNKNOWN = "unknown"


class Dependency(NamedTuple):
    """A captured value and where it came from: a namespace, a closure cell or an object."""

    container: Any
    name: str
    value: Any
    fingerprint: str | None  # of a value that can change in place; UNKNOWN if nobody can tell

    def is_current(self) -> bool:
        """Tell whether a new capture would find the same value."""
        now = look_up(self.container, self.name)
        if now is not self.value and not _equal(now, self.value):
            return False
        if self.fingerprint is None:
            return True
        return self.fingerprint != UNKNOWN and self.fingerprint == fingerprint_of(now)


def look_up(container: Any, name: str) -> Any:
    """Read what a namespace, a closure cell or an object has under a name; MISSING if nothing."""
    if isinstance(container, dict):
        return cast("dict[str, Any]", container).get(name, MISSING)
    if isinstance(container, types.CellType):
        try:
            return container.cell_contents
        except ValueError:  # not assigned yet
            return MISSING
    return getattr(container, name, MISSING)


def _equal(now: Any, then: Any) -> bool:
    """By value for plain constants (1 and True and 1.0 differ), by identity for the rest."""
    if type(now) is not type(then):
        return False
    if isinstance(now, tuple):
        old, new = cast("tuple[Any, ...]", then), cast("tuple[Any, ...]", now)
        return len(old) == len(new) and all(a is b or _equal(a, b) for a, b in zip(old, new))
    if isinstance(now, float):
        return now.hex() == then.hex()
    return isinstance(now, (int, str)) and now == then


def fingerprint_of(value: Any) -> str | None:
    """A digest of what an object holds; None where nobody can tell."""
    return look_into(value).digest


class Body(NamedTuple):
    """A function and what was in it when it was captured; Python lets all of it be replaced."""

    kernel: Any  # the jit function right around it; None around a plain function
    function: types.FunctionType
    code: types.CodeType
    defaults: tuple[Any, ...] | None
    keyword_defaults: dict[str, Any] | None

    @classmethod
    def of(cls, value: Any) -> Body:
        function = values.plain_function(value)
        kernel = value if values.is_jit(value) else None
        while kernel is not None and kernel.fn is not function:
            kernel = kernel.fn
        named, defaults = function.__kwdefaults__, function.__defaults__
        return cls(kernel, function, function.__code__, defaults, named and dict(named))

    def is_current(self) -> bool:
        kernel, function, code, defaults, keyword_defaults = self
        if function.__code__ is not code or function.__defaults__ is not defaults:
            return False
        if kernel is not None and kernel.fn is not function:
            return False
        now = function.__kwdefaults__
        return now is keyword_defaults is None or _have_same_items(now, keyword_defaults)


def _have_same_items(now: dict[str, Any] | None, then: dict[str, Any] | None) -> bool:
    if not now or not then:
        return not now and not then
    return len(now) == len(then) and all(now.get(k, MISSING) is v for k, v in then.items())
