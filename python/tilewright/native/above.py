"""Functions that higher folders define and lower ones call: `tilewright/__init__.py` says where they are."""

from __future__ import annotations

import importlib
import os
import threading
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from . import without_handlers

_places: dict[str, tuple[str, str]] = {}
_found: dict[str, Callable[..., Any]] = {}
_importing = threading.RLock()


def _renew_lock() -> None:
    global _importing
    _importing = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)  # another thread may have held it


def import_late(path: str) -> ModuleType:
    """Import a module that is needed for the first time, by one thread after another.

    Python locks a module before its package, and a package before the modules that it imports: threads that
    import one of each at once wait for each other, and one gets an error of Python's.
    """
    with _importing:
        return importlib.import_module(path)


def register(package: str, places: Mapping[str, str]) -> None:
    """Take the places of functions by name, as in {"explain": "explain.explain"}."""
    for name, place in places.items():
        module, _, function = place.rpartition(".")
        _places[name] = f"{package}.{module}", function


def above(name: str) -> Callable[..., Any]:
    """The function of that name, whose module is imported when it is first asked for."""
    if name not in _found:
        without_handlers(lambda: _find(name))
    return _found[name]


def _find(name: str) -> None:
    module, function = _places[name]
    _found[name] = getattr(import_late(module), function)
