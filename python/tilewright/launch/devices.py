"""Which device launches go to: `with tw.device("reference"):`, else TILEWRIGHT_DEVICE, else where
their arrays are: a GPU or the CPU."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..native import knobs
from ..compile.facts import Facts
from ..native.errors import LaunchError, raise_report
from ..native import native
from ..native.targets import device_named, unknown_device

_chosen: ContextVar[str | None] = ContextVar("tilewright_device", default=None)
_known: set[str] = set()


def chosen_device() -> str:
    """The device that was chosen for launches here; empty when the arrays decide."""
    chosen = _chosen.get()
    if chosen is not None:
        return chosen
    name = knobs.settings().device
    if name and name not in _known:
        check_device(name)
    return name


# Where `device_choice` looks: the variable, and the variables of the module that holds the settings.
CHOICE = (_chosen, vars(knobs))


def device_choice() -> object:
    """What decides `chosen_device`: the name that was chosen here, else the settings; while it is the
    same, so is the device."""
    chosen = _chosen.get()
    return knobs.settings() if chosen is None else chosen


def current_device() -> str:
    """The name of the device that a launch here would use, unless its arrays are on a GPU."""
    return chosen_device() or "cpu"


def device_of_launch(
    chosen: str, names: Sequence[str], facts: Sequence[Any], kernel: str
) -> str:
    """The device that the memory of a launch's arrays belongs to, or the one chosen for it.

    Raises LaunchError where no device reaches all of them.
    """
    places = {
        name: fact.place
        for name, fact in zip(names, facts)
        if isinstance(fact, Facts) and fact.is_pointer
    }
    if len(set(places.values())) > 1:
        raise _on_different_devices(places, kernel)
    place = next(iter(places.values()), "")
    if not chosen:
        return place or "cpu"
    if places and place != place_of(chosen):
        raise _on_another_device(chosen, place, places, kernel)
    return chosen


def _on_different_devices(places: Mapping[str, str], kernel: str) -> LaunchError:
    gpu = device_named(next(filter(None, places.values())))
    listed = ", ".join(f"`{name}` on {_spoken(place)}" for name, place in places.items())
    return LaunchError(
        f"the arrays of the launch of {kernel} are on different devices: {listed}",
        code="TW0414",
        hint=f"move them to one device: x.to('{gpu.torch_name}'), x.cpu()",
    )


def _on_another_device(chosen: str, place: str, names: Iterable[str], kernel: str) -> LaunchError:
    listed = ", ".join(f"`{name}`" for name in names)
    return LaunchError(
        f"the arrays of the launch of {kernel} ({listed}) are on {_spoken(place)}, and the "
        f"device chosen for it is {chosen}",
        code="TW0409",
        hint=_way_to(chosen, place),
    )


def place_of(device: str) -> str:
    """Where the arrays of a device's launches lie: on that GPU by its name, or on the host, as ""."""
    return device if device_named(device).has_memory else ""


def _spoken(place: str) -> str:
    return place or "the host"


def _way_to(chosen: str, place: str) -> str:
    if place_of(chosen):
        return f"move them there with x.to('{device_named(chosen).torch_name}')"
    return f"move them with x.cpu(), or choose no device: arrays on {place} are launched there"


def synchronize(name: str | None = None) -> None:
    """Wait until everything that was launched on a device has finished; by default on the chosen
    one, and on all GPUs in use where none was chosen.

    Raises DeviceError for a kernel that failed since then: launches on GPUs return at once.
    """
    chosen = name or chosen_device()
    for device in [chosen] if chosen else native().gpus(False):
        if (report := native().synchronize(device)) is not None:
            raise_report(report)


def check_device(name: str) -> None:
    """Raise a LaunchError unless this build has the device."""
    if not isinstance(name, str):
        raise LaunchError(f"a device is named by a text, not by {name!r}", code="TW0401")
    available = native().targets()
    if name not in available and (report := native().check_target(name)) is not None:
        if report["code"] != "TW0401":
            raise_report(report)
        raise unknown_device(name)
    _known.add(name)


def choose(name: str) -> None:
    """Send the launches of this thread and of what it starts to a device from here on. Raises as
    `device`, which is the better choice where a `with` block can hold it."""
    check_device(name)
    _chosen.set(name)


@contextmanager
def device(name: str) -> Iterator[None]:
    """Send the launches of a `with` block to a device: "cpu"; "cpu:x86-64-v3" for code that runs on
    every machine of that level; "reference", the interpreter that defines the language's meaning and
    checks every access; "sim:sm_80", which executes the GPU code of that architecture here and
    checks it (see `tilewright.simulation`); "cuda:0" or "hip:0", a GPU, whose kernels take arrays on
    it; or "opencl:0", an OpenCL device, whose kernels take arrays of the host.

    Raises LaunchError TW0401 for a device that this build does not have, DeviceError where there is
    no driver or GPU.
    """
    check_device(name)
    token = _chosen.set(name)
    try:
        yield
    finally:
        _chosen.reset(token)


def list_devices(probe: bool = False) -> list[str]:
    """The devices of this build, and the GPUs of this machine if a driver was used already or if
    `probe` asks for it, which opens the driver."""
    return [*native().targets(), *native().gpus(probe)]
