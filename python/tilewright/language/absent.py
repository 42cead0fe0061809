"""What a name of the language that is not there means: the reason, for Python and for kernels.

Names of `unsupported.UNSUPPORTED` are not attributes of any module, so that `hasattr` tells the truth;
Python's access raises an AbsentNameError with the reason, and the capture of a kernel that uses one
passes a marker on, so that the compiler reports it at its line.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from ..native.errors import AbsentNameError, nearest
from .marks import unsupported
from .unsupported import UNSUPPORTED

# Modules of the package whose names are the language's, by their end; others have names of their own.
_WHOLE = ("", "language", "core", "standard", "semantic", "random")


# Where Triton keeps parts of its language; here they are in the package for kernels that come from it.
_PARTS_OF_TRITON = ("core", "extra", "standard")
_MOVED = "`import tilewright.triton.language as tl` has the parts of Triton's language."


def reason_of(module: str, name: str) -> str:
    """The hint for a name that a module of the language does not have; empty for unknown names."""
    parts = module.split(".")
    if parts[0] != "tilewright":
        return ""
    if module in ("tilewright", "tilewright.language") and name.partition(".")[0] in _PARTS_OF_TRITON:
        return _MOVED
    inner = [part for part in parts[1:] if part not in ("triton", *_WHOLE)]
    dotted = ".".join((*inner, name))
    while dotted:
        if dotted in UNSUPPORTED:
            return UNSUPPORTED[dotted]
        dotted = dotted.rpartition(".")[0]
    return ""


# Modules, by what users call them.
_ALIASES = {"tilewright": "tw", "tilewright.language": "tl", "tilewright.triton.language": "tl"}


def is_of_language(module: str) -> bool:
    """Whether kernels take names from a module of this package."""
    return module == "tilewright" or module.startswith(
        ("tilewright.language", "tilewright.library", "tilewright.libdevice", "tilewright.triton.language")
    )


def links_of(base: Any, names: tuple[str, ...]) -> Iterator[tuple[Any, str, Any]]:
    """(container, name, value) of each link of `base.a.b`, where `a` is absent: modules that are not
    there and at the end a marker with the reason. Empty where `base` is not of the language or the
    name is nobody's."""
    if not isinstance(base, types.ModuleType) or not is_of_language(base.__name__):
        return
    hint = reason_of(base.__name__, ".".join(names))
    if not hint:
        return
    for name in names[:-1]:
        inner = types.ModuleType(f"{base.__name__}.{name}")
        yield base, name, inner
        base = inner
    yield base, names[-1], unsupported(".".join(names), hint)


def names_of(module: str) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module of the language."""

    def refuse(name: str) -> NoReturn:
        # Tools probe modules for dunders all the time; the reason is never one of ours.
        hint = "" if name.startswith("__") else reason_of(module, name)
        if hint:
            raise AbsentNameError(
                f"{module}.{name} is not implemented", code="TW0430", hint=hint
            )
        raise AttributeError(
            f"module {module!r} has no attribute {name!r}{_suggestion(module, name)}"
        )

    return refuse


def _suggestion(module: str, name: str) -> str:
    """The name nearest to a misspelt one of a module of the language."""
    known = [] if name.startswith("_") else dir(sys.modules[module])
    close = nearest(name, known)
    return f"; did you mean `{_ALIASES.get(module, module)}.{close}`?" if close else ""
