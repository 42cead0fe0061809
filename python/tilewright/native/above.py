"""Functions that higher folders define and lower ones call: `tilewright/__init__.py` says where they are."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Mapping
from typing import Any

from . import without_handlers

_places: dict[str, tuple[str, str]] = {}


def register(package: str, places: Mapping[str, str]) -> None:
    """Take the places of functions by name, as in {"explain": "explain.explain"}."""
    for name, place in places.items():
        module, _, function = place.rpartition(".")
        _places[name] = f"{package}.{module}", function


def above(name: str) -> Callable[..., Any]:
    """The function of that name, whose module is imported when it is first asked for."""
    module, function = _places[name]
    if module not in sys.modules:
        without_handlers(lambda: importlib.import_module(module))
    return getattr(sys.modules[module], function)
