"""What `tile.name(...)` may mean beside the builtins."""

from __future__ import annotations

from . import library, memory, sorting
from .marks import LibraryFunction, library_functions

METHODS: dict[str, LibraryFunction] = {
    name: function
    for module in (library, memory, sorting)
    for name, function in library_functions(vars(module)).items()
    if function.is_method
}
