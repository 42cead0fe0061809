"""How a Python object says what it is to the capture: builtin, library function, host function."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NoReturn, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

# Of all names that this package gives to attributes of functions and classes.
PREFIX = "__tilewright_"
BUILTIN = "__tilewright_builtin__"
HINT = "__tilewright_hint__"
CONSTEXPR_FUNCTION = "__tilewright_constexpr_function__"
AGGREGATE = "__tilewright_aggregate__"


class Anything:
    """Has, for type checkers, the type of names that annotate parameters and take any value."""

    value: Any


def refuse_outside_kernel(name: str) -> NoReturn:
    """Raise the error of a language function that runs as ordinary Python."""
    raise RuntimeError(
        f"tw.{name} has a meaning only inside a kernel. Call it in a function decorated with "
        "@tw.jit, and launch that function with kernel[grid](...)."
    )


def builtin(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function that the frontend implements. Its Python body never runs."""

    @functools.wraps(function)
    def outside(*args: P.args, **kwargs: P.kwargs) -> R:
        del args, kwargs
        refuse_outside_kernel(function.__name__)

    setattr(outside, BUILTIN, function.__name__)
    return outside


def builtin_alias(name: str, target: Callable[P, R]) -> Callable[P, R]:
    """Another Python name for the builtin `target`, which keeps its meaning."""

    @functools.wraps(target)
    def outside(*args: P.args, **kwargs: P.kwargs) -> R:
        del args, kwargs
        refuse_outside_kernel(name)

    outside.__name__ = name
    setattr(outside, BUILTIN, getattr(target, BUILTIN))
    return outside


def _stub(name: str, mark: str, text: str) -> Callable[..., Any]:
    def outside(*args: object, **kwargs: object) -> NoReturn:
        del args, kwargs
        refuse_outside_kernel(name)

    outside.__name__ = outside.__qualname__ = name
    outside.__doc__ = text
    setattr(outside, BUILTIN, f"{mark}:{name}")
    return outside


def unsupported(name: str, hint: str) -> Callable[..., Any]:
    """A known name that is not implemented: using it is an UnsupportedError with this hint."""
    outside = _stub(name, "unsupported", f"Not implemented. {hint}")
    setattr(outside, HINT, hint)
    return outside


def scope(name: str, text: str) -> Callable[..., Any]:
    """A name for `with` statements of kernels: what is inside means the same as without it."""
    return _stub(name, "scope", text)


class LibraryFunction:
    """A function written in the language itself; kernels call it like a jit function."""

    __tilewright_jit__ = True
    __name__: str
    __qualname__: str
    fn: Callable[..., Any]

    def __init__(self, fn: Callable[..., Any]) -> None:
        # As functools.update_wrapper, which takes longer: `import tilewright` makes hundreds.
        self.__dict__.update(
            fn.__dict__, fn=fn, __wrapped__=fn, __module__=fn.__module__,
            __name__=fn.__name__, __qualname__=fn.__qualname__, __doc__=fn.__doc__,
        )  # fmt: skip

    def __call__(self, *args: object, **kwargs: object) -> NoReturn:
        refuse_outside_kernel(self.__name__)

    def __repr__(self) -> str:
        return f"<library function {self.__qualname__}>"


def library_function(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function written in the language itself (the protocol of jit functions)."""
    return cast("Callable[P, R]", LibraryFunction(function))


def named_function(function: Callable[P, R], name: str, text: str) -> Callable[P, R]:
    """Mark a function that another function made, and give it a name and a docstring."""
    made = LibraryFunction(function)
    made.__name__, made.__qualname__, made.__doc__ = name, name, text
    return cast("Callable[P, R]", made)


# What `tile.name(...)` may mean beside the builtins.
METHODS: dict[str, LibraryFunction] = {}


def library_method(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a function written in the language that is a method of its first argument, too."""
    method = METHODS[function.__name__] = LibraryFunction(function)
    return cast("Callable[P, R]", method)


def constexpr_function(function: Callable[P, R]) -> Callable[P, R]:
    """Mark a host function that kernels may call on compile-time values. Python runs it."""

    @functools.wraps(function)
    def unwrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        from .constant import constexpr

        plain = [a.value if isinstance(a, constexpr) else a for a in args]
        named = {k: v.value if isinstance(v, constexpr) else v for k, v in kwargs.items()}
        return cast("Callable[..., R]", function)(*plain, **named)

    setattr(unwrapped, CONSTEXPR_FUNCTION, True)
    return unwrapped
