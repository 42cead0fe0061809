"""How kernels are pickled and copied: as functions are, by their module and name."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar

T = TypeVar("T")


def _named(module: str, name: str) -> Any:
    found: Any = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def find_kernel(module: str, name: str, depth: int) -> Any:
    """The kernel that a module has under a name, or the one `depth` decorators inside of it."""
    found = _named(module, name)
    for _ in range(depth):
        found = found.fn
    return found


class ByReference:
    """A kernel or a decorator around one; `copy` and `deepcopy` give the object itself."""

    fn: Any
    __module__: str
    __qualname__: str

    def __reduce__(self) -> tuple[Any, tuple[str, str, int]]:
        module, name = self.__module__, self.__qualname__
        try:
            found = _named(module, name)
        except (ImportError, AttributeError):
            found = None
        depth = 0
        while found is not None and found is not self:
            found, depth = getattr(found, "fn", None), depth + 1
        if found is None:
            import pickle

            raise pickle.PicklingError(
                f"the kernel {name} cannot be pickled: {module} has no such name at its top level. "
                "Define it there with the decorator @tw.jit"
            )
        return find_kernel, (module, name, depth)

    def __copy__(self: T) -> T:
        return self

    def __deepcopy__(self: T, memo: dict[int, Any]) -> T:
        return self
