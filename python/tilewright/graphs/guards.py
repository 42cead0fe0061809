"""Leaves out guards of torch's compiler that no program can fail: what this package refers to."""

from __future__ import annotations

import os
import sys
from typing import Any

from .tracing import constant_when_traced

_OWN = os.path.realpath(f"{__file__}/../..") + os.sep
# Names that torch's compiler adds to the globals of a compiled function.
_ADDED = ("__import_tilewright", "__import_torch", "__builtins_dict__")


@constant_when_traced
def forget_own_guards() -> None:
    """Take the guards back that the tracing of a launch has added for names of this package's modules.

    torch's compiler looks into `traced.py` and guards each function, builtin and module of torch that it
    meets there, so that each call of the compiled function compares some 60 of them: as long as a launch
    takes. Guards of arguments, of kernels and of a grid's function stay. Nobody replaces what goes: torch
    itself guards no names of the standard library.
    """
    guards: Any = sys.modules.get("torch._guards")
    context: Any = guards and guards.TracingContext.try_get()
    found: Any = context and context.guards_context.dynamo_guards
    if not hasattr(found, "inner") or not hasattr(found, "source_to_guards"):
        return  # another release of torch, which compares them all
    torch_folder = os.path.dirname(sys.modules["torch"].__file__ or "") + os.sep
    own = [guard for guard in found.inner if _is_own(guard, torch_folder)]
    for guard in own:
        found.inner.remove(guard)
        found.source_to_guards[guard.originating_source].remove(guard)


def _is_own(guard: Any, torch_folder: str) -> bool:
    """Returns true for a guard of a module, a class or a builtin that a line of this package refers to."""
    source: Any = guard.originating_source
    is_class = False
    while hasattr(source, "base"):
        is_class |= type(source).__name__ == "TypeMROSource"
        source = source.base
    if not is_class and not getattr(source, "global_name", "").startswith(_ADDED):
        return False
    files = [frame.filename for frame in guard.user_stack or ()]
    callers = [file for file in files if not file.startswith(torch_folder)]
    return bool(callers) and os.path.realpath(callers[-1]).startswith(_OWN)
