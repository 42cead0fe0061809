"""Which device launches go to: `with tw.device("reference"):`, TILEWRIGHT_DEVICE, else the CPU."""

from __future__ import annotations

import difflib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from . import knobs
from .errors import LaunchError, raise_report
from .native import native

_chosen: ContextVar[str | None] = ContextVar("tilewright_device", default=None)
_known: set[str] = set()


def current_device() -> str:
    """The name of the device that a launch here would use."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    name = knobs.settings().device
    if name not in _known:
        check_device(name)
    return name


def check_device(name: str) -> None:
    """Raise a LaunchError unless this build has the device."""
    available = native().targets()
    if name not in available and (report := native().check_target(name)) is not None:
        if report["code"] != "TW0401":
            raise_report(report)
        close = difflib.get_close_matches(name, available, n=1)
        hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(available)}"
        raise LaunchError(f"this build has no device {name!r}", code="TW0401", hint=hint)
    _known.add(name)


@contextmanager
def device(name: str) -> Iterator[None]:
    """Send the launches of a `with` block to a device: "cpu"; "cpu:x86-64-v3" for code that runs on
    every machine of that level; "reference", the interpreter that defines the language's meaning and
    checks every access; or "sim:sm_80", which executes the GPU code of that architecture here and
    checks it (see `tilewright.simulation`).

    Raises LaunchError TW0401 for a device that this build does not have.
    """
    check_device(name)
    token = _chosen.set(name)
    try:
        yield
    finally:
        _chosen.reset(token)


def list_devices() -> list[str]:
    """The devices of this build."""
    return list(native().targets())
