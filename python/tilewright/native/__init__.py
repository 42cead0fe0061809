"""Loads the native module at its first use, so that `import tilewright` stays quick."""

from __future__ import annotations

import atexit
import importlib
import os
import site
import sys
import threading
from collections.abc import Callable
from importlib.machinery import PathFinder
from types import ModuleType

_module: ModuleType | None = None
# What is done with the module once it is loaded, before anything else uses it.
_at_load: list[Callable[[ModuleType], None]] = []
_loading = threading.Lock()  # taken by threads that no signal handler interrupts


def native() -> ModuleType:
    """The module tilewright._native. Raises ImportError with a hint when it was not built."""
    if _module is None:
        without_handlers(_load_once)
    assert _module is not None
    return _module


def at_load(prepare: Callable[[ModuleType], None]) -> None:
    """Have something done with the module when it is loaded, or now if it is loaded already."""
    _at_load.append(prepare)
    if _module is not None:
        prepare(_module)


def without_handlers(load: Callable[[], None]) -> None:
    """Run an import to its end before any signal handler: one that launches in the middle of it would
    find half a module. Python runs handlers on the main thread, so another thread imports."""
    if threading.current_thread() is not threading.main_thread():
        return load()
    failures: list[BaseException] = []
    thread = threading.Thread(target=_collect, args=(load, failures), name="tilewright-import")
    try:
        thread.start()
    except RuntimeError:  # the interpreter ends, or no thread is to be had
        return load()
    thread.join()
    if failures:
        raise failures[0]


def _collect(run: Callable[[], None], failures: list[BaseException]) -> None:
    try:
        run()
    except BaseException as error:
        failures.append(error)


def _forget_other_threads() -> None:
    global _loading
    _loading = threading.Lock()


os.register_at_fork(after_in_child=_forget_other_threads)


def _load_once() -> None:
    global _module
    with _loading:
        if _module is None:
            _module = _load()


def _load() -> ModuleType:
    from . import knobs

    try:
        module = importlib.import_module("tilewright._native")
    except ImportError as error:
        raise ImportError(
            f"Tilewright's native module cannot be loaded ({error}). In a source tree, "
            "`make setup` builds it; elsewhere, `pip install .` does."
        ) from error
    atexit.register(module.close)
    for prepare in _at_load:
        prepare(module)
    if count := knobs.settings().num_threads:
        module.set_num_threads(count)
    _read_layers(module)
    settings = knobs.settings()
    for name, path in (("cuda-library", settings.cuda_library), ("hip-library", settings.hip_library)):
        if path:
            module.set_target_setting(name, [path])
    module.set_target_setting("opencl-libraries", opencl_libraries())
    if settings.assemblers:
        module.set_target_setting("only-assemblers", list(settings.assemblers))
    else:
        module.set_target_setting("assemblers", assemblers_of_packages())
    return module


def _read_layers(module: ModuleType) -> None:
    """Name the caches that are only read; one that is not is a warning."""
    from . import knobs
    from .errors import render, warn_user

    for problem in module.set_cache_layers([os.fsencode(d) for d in knobs.settings().cache_layers]):
        warn_user(render("TW0501", problem, severity="warning").rstrip())


def warn_of_damage() -> None:
    """Warn of entries of caches that are damaged, and that no compilation has told of."""
    from .errors import render, warn_user

    for problem in native().take_damaged_entries():
        warn_user(render("TW0806", os.fsdecode(problem), severity="warning").rstrip())


# Where packages have assemblers of PTX, the better ones first: ptxas in nvidia-cuda-nvcc (CUDA 13, then
# 12) and in Triton, which torch's builds for CUDA bring, then libnvJitLink, which they bring as well.
_ASSEMBLERS = (
    ("nvidia", "cu13/bin/ptxas"),
    ("nvidia", "cuda_nvcc/bin/ptxas"),
    ("triton", "backends/nvidia/bin/ptxas"),
    ("triton", "backends/nvidia/bin/ptxas-blackwell"),
    ("nvidia", "cu13/lib/libnvJitLink.so.13"),
    ("nvidia", "nvjitlink/lib/libnvJitLink.so.12"),
)


def assemblers_of_packages() -> list[str]:
    """The files of assemblers that this interpreter's packages have. Nothing is imported."""
    folders = {package: _folders_of(package) for package in ("nvidia", "triton")}
    found = (
        os.path.join(root, *below.split("/"))
        for package, below in _ASSEMBLERS
        for root in folders[package]
    )
    return [path for path in found if os.path.isfile(path)]


def disassembler() -> str:
    """NVIDIA's program that shows machine code, of the package nvidia-cuda-nvdisasm or of PATH; empty where
    there is none."""
    import glob
    import shutil

    packaged = (
        path
        for root in _folders_of("nvidia")
        for path in sorted(glob.glob(os.path.join(glob.escape(root), "*", "bin", "nvdisasm")))
    )
    return next(packaged, None) or shutil.which("nvdisasm") or ""


def opencl_libraries() -> list[str]:
    """OpenCL's libraries: the loader of drivers that the system has, as "", and Intel's driver of processors
    where the package intel-opencl-rt is installed, which no loader finds by itself."""
    prefixes = {sys.prefix, site.getuserbase()}
    found = (os.path.join(prefix, "lib", "libintelocl.so") for prefix in sorted(prefixes))
    return ["", *(path for path in found if os.path.isfile(path))]


def _folders_of(package: str) -> list[str]:
    """The folders of a package on sys.path; none where it cannot be looked for, which fails no launch."""
    try:
        spec = PathFinder.find_spec(package)
    except (ImportError, OSError, ValueError):
        return []
    return list(spec.submodule_search_locations or ()) if spec else []
