"""The environment variables that Tilewright reads; nothing else here reads the environment."""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Mapping
from typing import NamedTuple, Protocol
from weakref import WeakSet

PREFIX = "TILEWRIGHT_"

KNOBS: dict[str, str] = {
    "DEVICE": "device of launches outside `with tw.device(...)`; unset: where the arrays are",
    "CACHE_DIR": "directory of the kernel cache; $XDG_CACHE_HOME/tilewright or ~/.cache/tilewright",
    "CACHE_RO": "directories of kernel caches that are looked into and never written, with ':' between",
    "CACHE": "0: neither read nor write the kernel cache on disk",
    "CUDA_LIBRARY": "path of the CUDA driver's library; unset: libcuda.so.1 of the system",
    "HIP_LIBRARY": "path of the HIP runtime's library; unset: torch's own, or libamdhip64 of the system",
    "ASSEMBLERS": "paths of ptxas programs and libnvJitLink libraries, with ':' between, that assemble PTX; "
    "unset: those of installed packages, of PATH and of CUDA toolkits",
    "NUM_THREADS": "worker threads of the cpu device; all cores when unset or 0",
    "DUMP": "directory into which the stages of every compiled kernel, its IR after each pass and the "
    "reproducers of internal errors are written",
    "OVERRIDE": "directory of files NAME.STAGE that are taken instead of that stage of a kernel",
    "REMARKS": "1: print to stderr what the compiler's passes say of their decisions",
    "DEBUG": "1: compile every kernel with its device assertions, overflow and bounds checks",
    "BOUNDS": "views: devices that check accesses hold every view to its own elements; allocations: none; "
    "unset: those that begin where their array begins",
    "TUNE_WORKERS": "processes that compile autotune's candidates; 0: this one does; unset: one for each "
    "processor that memory suffices for",
    "JIT": "deny: a launch never compiles; what was neither prepared nor is on disk is a LaunchError",
}


# The field of Settings that a knob fills.
_FIELDS = {
    "DEVICE": "device",
    "CACHE_DIR": "cache_directory",
    "CACHE_RO": "cache_layers",
    "CACHE": "is_cache_enabled",
    "CUDA_LIBRARY": "cuda_library",
    "HIP_LIBRARY": "hip_library",
    "ASSEMBLERS": "assemblers",
    "NUM_THREADS": "num_threads",
    "DUMP": "dump_directory",
    "OVERRIDE": "override_directory",
    "REMARKS": "shows_remarks",
    "DEBUG": "is_debug",
    "BOUNDS": "bounds",
    "TUNE_WORKERS": "tune_workers",
    "JIT": "is_jit_denied",
}


class Knob(NamedTuple):
    """A knob as it is now."""

    name: str  # without the prefix
    value: str  # as one would write it in the environment; empty for nothing
    origin: str  # "environment", "default" or "set by the program"


class Listener(Protocol):
    """Keeps something that it computed from settings."""

    def forget_settings(self) -> None:
        """Forget it."""
        ...


class Settings(NamedTuple):
    """The knobs' values, read once at the first compilation or launch."""

    device: str  # empty: none was chosen
    cuda_library: str
    hip_library: str
    assemblers: tuple[str, ...]  # empty: those that are found
    cache_directory: str  # empty: no directory could be determined
    is_cache_enabled: bool
    num_threads: int
    dump_directory: str
    override_directory: str
    shows_remarks: bool
    is_debug: bool
    is_jit_denied: bool
    cache_layers: tuple[str, ...]  # directories of caches that are only read
    bounds: str = ""  # "views" or "allocations"
    tune_workers: int | None = None  # None: as many as there are processors
    fuses_products: bool = True  # a * b + c may round once where a launch says nothing


_settings: Settings | None = None
_changed: set[str] = set()  # the knobs that the program has set
# Counts the resets: what a thread read before one is not kept after it.
_num_resets = 0
_lock = threading.Lock()
# Told of each reset, while they live: those that keep what they computed from settings.
_listeners: WeakSet[Listener] = WeakSet()


def settings() -> Settings:
    """The settings of this process."""
    return _settings or _read_once()


def _read_once() -> Settings:
    global _settings
    while True:
        seen = _num_resets
        read = read_settings()
        with _lock:
            if seen == _num_resets:
                _settings = read
                return read


def reset() -> None:
    """Forget the settings, so that the next use reads the environment again."""
    global _settings, _num_resets
    with _lock:
        _settings = None
        _num_resets += 1
        listeners = list(_listeners)
    for listener in listeners:
        listener.forget_settings()


def tell_of_resets(listener: Listener) -> None:
    """Have an object told whenever settings may have changed."""
    with _lock:
        _listeners.add(listener)


def _renew_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)  # another thread may have held it


def change(name: str, value: str) -> None:
    """Set a knob for the rest of the process and for its children; an empty text takes it back."""
    if value:
        os.environ[PREFIX + name] = value
        _changed.add(name)
    else:
        os.environ.pop(PREFIX + name, None)
        _changed.discard(name)
    reset()


def listed() -> list[Knob]:
    """All knobs with their values and where those come from."""
    now = settings()
    knobs = []
    for name in KNOBS:
        value = getattr(now, _FIELDS[name])
        if name == "JIT":
            text = "deny" if value else "allow"
        elif isinstance(value, tuple):
            text = ":".join(value)
        else:
            text = "" if value is None else str(int(value) if isinstance(value, bool) else value)
        origin = "environment" if _value(name) else "default"
        knobs.append(Knob(name, text, "set by the program" if name in _changed else origin))
    return knobs


def freeze() -> None:
    """From now on no launch compiles, in this process and its children: what is in memory or in the
    cache on disk runs, anything else is a LaunchError TW0408 that says how to prepare it."""
    change("JIT", "deny")


def restore(environment: Mapping[str, str | None]) -> None:
    """Give knobs the values that they had, by name; None where a knob was not set."""
    for name, value in environment.items():
        change(name, value or "")


def triton_flag(name: str, default: bool = False) -> bool:
    """Whether a switch of Triton's is on, where Triton's names are in use: TRITON_INTERPRET sends
    launches to the device `reference`, TRITON_DEBUG compiles device assertions,
    TRITON_DEFAULT_FP_FUSION lets products and sums round once, and TRITON_PRINT_AUTOTUNING prints what
    autotuning chooses."""
    value = os.environ.get(f"TRITON_{name}", "").lower()
    if not value or "tilewright.triton" not in sys.modules:
        return default
    return value in ("1", "on", "true", "yes", "y")


def change_triton_flag(name: str, is_on: bool) -> None:
    """Set a switch of Triton's for the rest of the process and for its children."""
    os.environ[f"TRITON_{name}"] = "1" if is_on else "0"
    reset()


def is_watched_by_perf() -> bool:
    """Tell whether Python names functions for Linux's perf: `python -X perf`, PYTHONPERFSUPPORT=1 or
    `sys.activate_stack_trampoline("perf")`. Before Python 3.12, which brought these, the first two
    concern kernels alone."""
    if hasattr(sys, "is_stack_trampoline_active"):
        return getattr(sys, "is_stack_trampoline_active")()
    return "perf" in sys._xoptions or os.environ.get("PYTHONPERFSUPPORT") == "1"


def is_dumped_for_perf() -> bool:
    """Tell whether perf gets the lines of functions, too: `python -X perf_jit`, which Python has from
    3.13 on, or PYTHON_PERF_JIT_SUPPORT=1."""
    return "perf_jit" in sys._xoptions or os.environ.get("PYTHON_PERF_JIT_SUPPORT") == "1"


def named_class(name: str) -> type | None:
    """The class that TRITON_`name` names as module:Class; None where it is not set. Raises ImportError or
    AttributeError for one that is not there."""
    module, _, attribute = os.environ.get(f"TRITON_{name}", "").partition(":")
    return getattr(importlib.import_module(module), attribute) if module else None


def hide_from_torch() -> None:
    """Tell torch's compiler that there is no Triton that it could generate code for, where neither
    the user nor the program said anything of it."""
    os.environ.setdefault("TORCHINDUCTOR_TRITON_DISABLE_DEVICE_DETECTION", "1")
    config = sys.modules.get("torch._inductor.config")
    if config is not None and os.environ["TORCHINDUCTOR_TRITON_DISABLE_DEVICE_DETECTION"] == "1":
        setattr(config, "triton_disable_device_detection", True)


def read_settings() -> Settings:
    """Read the environment, warning about names and values that mean nothing."""
    _warn_of_unknown_names()
    return Settings(
        device=_value("DEVICE") or ("reference" if triton_flag("INTERPRET") else ""),
        cuda_library=_value("CUDA_LIBRARY"),
        hip_library=_value("HIP_LIBRARY"),
        assemblers=_files("ASSEMBLERS"),
        cache_directory=cache_directory(),
        is_cache_enabled=_flag("CACHE", default=True),
        num_threads=_number("NUM_THREADS"),
        dump_directory=_value("DUMP"),
        override_directory=_value("OVERRIDE"),
        shows_remarks=_flag("REMARKS", default=False),
        is_debug=_flag("DEBUG", default=triton_flag("DEBUG")),
        bounds=_choice("BOUNDS", ("views", "allocations")),
        fuses_products=triton_flag("DEFAULT_FP_FUSION", default=True),
        tune_workers=_number("TUNE_WORKERS") if _value("TUNE_WORKERS") else None,
        is_jit_denied=_choice("JIT", ("allow", "deny")) == "deny",
        cache_layers=tuple(os.path.abspath(d) for d in _value("CACHE_RO").split(":") if d),
    )


def build_tool(variable: str) -> list[str]:
    """The command that CC or AR names, as for make; empty where it is not set."""
    import shlex

    return shlex.split(os.environ.get(variable, ""))


def cache_directory() -> str:
    """Where compiled kernels are kept; empty when there is no home directory either."""
    if named := _value("CACHE_DIR"):
        return os.path.abspath(named)
    # The XDG specification says that relative paths are to be ignored.
    if (xdg := os.environ.get("XDG_CACHE_HOME", "")) and os.path.isabs(xdg):
        return os.path.join(xdg, "tilewright")
    home = os.path.expanduser("~")  # stays as it is where there is none
    return "" if home == "~" else os.path.join(home, ".cache", "tilewright")


def _value(name: str) -> str:
    return os.environ.get(PREFIX + name, "").strip()


def _files(name: str) -> tuple[str, ...]:
    """The paths in a list with ':' between; a warning for each that is neither program nor library."""
    paths = [os.path.abspath(path) for path in _value(name).split(":") if path]
    for path in paths:
        if not os.path.isfile(path):
            _warn(f"{PREFIX}{name} names {path}, which is not a file")
        elif ".so" not in os.path.basename(path) and not os.access(path, os.X_OK):
            _warn(f"{PREFIX}{name} names {path}, which is not executable")
        elif ".so" in os.path.basename(path) and not _is_linker(path):
            _warn(f"{PREFIX}{name} names {path}, which is not libnvJitLink")
    return tuple(paths)


def _is_linker(path: str) -> bool:
    """Whether a file has the names of NVIDIA's linker library; it is not opened as a library."""
    import mmap

    try:
        with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return content.find(b"__nvJitLinkCreate_") >= 0
    except (OSError, ValueError):  # ValueError: the file is empty
        return False


def _flag(name: str, default: bool) -> bool:
    choice = _choice(name, ("0", "1", "off", "on", "false", "true", "no", "yes"))
    return choice in ("1", "on", "true", "yes") if choice else default


def _choice(name: str, known: tuple[str, ...]) -> str:
    value = _value(name).lower()
    if value and value not in known:
        _warn(f"{PREFIX}{name}={value} is ignored: known values are {', '.join(known)}")
        return ""
    return value


def _number(name: str) -> int:
    value = _value(name)
    if value and not (value.isascii() and value.isdigit()):
        _warn(f"{PREFIX}{name}={value} is ignored: it is not a number")
        return 0
    return min(int(value), 4096) if value else 0


def _warn_of_unknown_names() -> None:
    from .errors import nearest

    for name in sorted(os.environ):
        if not name.startswith(PREFIX) or name[len(PREFIX) :] in KNOBS:
            continue
        close = nearest(name[len(PREFIX) :], KNOBS)
        hint = f"; did you mean {PREFIX}{close}?" if close else ""
        _warn(f"the environment variable {name} means nothing to Tilewright{hint}")


def _warn(text: str) -> None:
    from .errors import warn_user

    warn_user(text)
