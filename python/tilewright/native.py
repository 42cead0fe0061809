"""Loads the native module at its first use, so that `import tilewright` stays quick."""

from __future__ import annotations

from types import ModuleType

_module: ModuleType | None = None


def native() -> ModuleType:
    """The module tilewright._native. Raises ImportError with a hint when it was not built."""
    global _module
    if _module is None:
        _module = _load()
    return _module


def _load() -> ModuleType:
    from . import knobs

    try:
        from . import _native  # pyright: ignore[reportAttributeAccessIssue]
    except ImportError as error:
        raise ImportError(
            f"Tilewright's native module cannot be loaded ({error}). In a source tree, "
            "`make setup` builds it; elsewhere, `pip install .` does."
        ) from error
    if count := knobs.settings().num_threads:
        _native.set_num_threads(count)
    return _native
