"""Loads the native module at its first use, so that `import tilewright` stays quick."""

from __future__ import annotations

import atexit
import importlib.util
import os
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
    atexit.register(_native.close)
    if count := knobs.settings().num_threads:
        _native.set_num_threads(count)
    _read_layers(_native)
    settings = knobs.settings()
    for name, path in (("cuda-library", settings.cuda_library), ("hip-library", settings.hip_library)):
        if path:
            _native.set_target_setting(name, [path])
    _native.set_target_setting("assembler-directories", assembler_directories())
    return _native


def _read_layers(module: ModuleType) -> None:
    """Name the caches that are only read; one that is not is a warning."""
    from . import knobs
    from .errors import render, warn_user

    for problem in module.set_cache_layers([os.fsencode(d) for d in knobs.settings().cache_layers]):
        warn_user(render("TW0501", problem, severity="warning").rstrip())


def assembler_directories() -> list[str]:
    """Where this interpreter's packages have libnvJitLink: those of CUDA 13 (nvidia-nvjitlink), then of
    CUDA 12 (nvidia-nvjitlink-cu12)."""
    package = importlib.util.find_spec("nvidia")
    roots = package.submodule_search_locations if package else None
    found = (
        os.path.join(root, *below)
        for below in (("cu13", "lib"), ("nvjitlink", "lib"))
        for root in roots or ()
    )
    return [directory for directory in found if os.path.isdir(directory)]
