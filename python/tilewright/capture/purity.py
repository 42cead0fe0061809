"""Whether a host function that runs at compile time may be trusted to give the same answer again.

A kernel keeps what its host functions answered. The clock, files, random numbers and the like
give another answer the next time, and nothing would tell: calling them is refused.
"""

from __future__ import annotations

import functools
import os
import sys
import types
from typing import Any

from .host_code import imported, read_code, resolve
from .values import is_jit

_PURE_MODULES = frozenset(
    """abc array ast base64 binascii bisect builtins cmath collections contextlib copy dataclasses
    decimal enum fractions functools hashlib heapq inspect itertools json keyword logging math numbers
    operator pprint re statistics string struct sys textwrap types typing typing_extensions
    unicodedata warnings weakref zlib""".split()
)
_IMPURE_NAMES = frozenset(
    """open input id hash globals locals vars breakpoint exec eval compile __import__ _getframe
    getsourcelines getsource getsourcefile stack currentframe getsizeof getrefcount settrace""".split()
)
_PURE_PATH_FUNCTIONS = ("join", "basename", "dirname", "split", "splitext", "normpath", "commonprefix")
_FRAMEWORKS = ("numpy", "torch", "ml_dtypes")
_IMPURE_WORDS = ("random", "rand", "load", "fromfile", "loadtxt", "genfromtxt", "memmap", "seed", "rng")


class ImpureCall(Exception):
    """A call whose answer may change without notice."""


def refuse_impure(value: Any, seen: set[int] | None = None) -> None:
    """Raise ImpureCall where calling `value` runs something that is not known to be pure."""
    seen = set() if seen is None else seen
    if id(value) in seen or is_jit(value) or not callable(value):
        return
    seen.add(id(value))
    for inner in (getattr(value, "__func__", None), getattr(value, "__wrapped__", None)):
        if isinstance(inner, types.FunctionType):
            value = inner
    if isinstance(value, functools.partial):
        refuse_impure(value.func, seen)
    elif isinstance(value, types.FunctionType) and not _is_known(value.__module__):
        _refuse_in(value, seen)
    elif isinstance(value, type) and not _is_known(value.__module__):
        for name in ("__new__", "__init__", "__post_init__"):
            refuse_impure(getattr(value, name, None), seen)
    elif isinstance(getattr(type(value), "__call__", None), types.FunctionType):
        refuse_impure(type(value).__call__, seen)
    else:
        _refuse_known(value)


def is_environment(value: object) -> bool:
    """Whether reading this reads environment variables: part of a key where their names are known."""
    return value is os.environ or value is os.getenv


def _refuse_in(function: types.FunctionType, seen: set[int]) -> None:
    code = read_code(function.__code__)
    if code.writes_globals:
        raise ImpureCall(f"`{function.__qualname__}` assigns to a global name")
    for reference in code.references:
        value, taken = resolve(function, reference)
        if not taken:
            continue
        if is_environment(value):
            if reference.constant is None:
                raise ImpureCall(f"`{'.'.join(reference.names)}` is read under a computed name")
        elif len(reference.names) == taken or isinstance(value, type):
            refuse_impure(_attribute_of(value, reference.names[taken:]), seen)
    for name, value, is_taken in imported(function, code):
        if is_taken:
            refuse_impure(value, seen)
        elif _is_known(name) and not _is_pure_module(name):
            raise ImpureCall(f"`{function.__qualname__}` imports `{name}`")


def _attribute_of(value: Any, names: tuple[str, ...]) -> Any:
    """What a class's attribute is: `datetime.now` is judged, not `datetime`."""
    for name in names:
        value = getattr(value, name, None)
    return value


def _is_known(module: str | None) -> bool:
    root = (module or "").split(".")[0]
    return root in sys.stdlib_module_names or root in ("tilewright", *_FRAMEWORKS)


def _is_pure_module(module: str) -> bool:
    root = module.split(".")[0].lstrip("_")
    return root in _PURE_MODULES or root in ("tilewright", *_FRAMEWORKS)


def _refuse_known(value: Any) -> None:
    """Judge what is not made of code that can be read: by its module and its name."""
    module, name = _full_name(value)
    if not is_pure(module, name):
        raise ImpureCall(f"`{module}.{name}` may give another answer the next time")


def _full_name(value: Any) -> tuple[str, str]:
    """Module and name of a callable; those of its class where it has none of its own."""
    name = str(getattr(value, "__name__", type(value).__name__))
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, (types.ModuleType, type)):
        return type(owner).__module__, name
    for holder in (value, owner, type(value)):
        module = getattr(holder, "__module__", None)
        if isinstance(holder, types.ModuleType):
            module = holder.__name__
        if isinstance(module, str):
            return module, name
    return "builtins", name


def is_pure(module: str, name: str) -> bool:
    """Whether a function of the standard library or a framework depends on its arguments only."""
    root = module.split(".")[0].lstrip("_")
    if root in ("posixpath", "ntpath", "genericpath"):
        return name in _PURE_PATH_FUNCTIONS
    if root in _FRAMEWORKS:
        words = f"{module}.{name}".replace("_", ".").split(".")
        return not any(word.startswith(_IMPURE_WORDS) for word in words)
    if root in ("builtins", "inspect", "sys") and name in _IMPURE_NAMES:
        return False
    return _is_pure_module(module)
