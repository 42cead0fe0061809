"""Functions that higher folders define and lower ones call: `tilewright/__init__.py` says where they are."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from . import without_handlers

_places: dict[str, tuple[str, str]] = {}
_found: dict[str, Callable[..., Any]] = {}


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
    # It waits where another thread imports the module: `sys.modules` has half of it by then.
    _found[name] = getattr(importlib.import_module(module), function)
