"""What records launches, from `start` to `finalize`."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from typing import Any

from ..launch import hooks
from ..native.targets import TargetName, device_named, properties_of, target_of
from .clocks import EventClock, HostClock, clock_of
from .trace import Launch, written_trace
from .tree import COUNT, TIME, Frame, number_of, written_tree

DEFAULT_NAME = "proton"
_FORMATS = {"tree": "hatchet", "trace": "chrome_trace"}
_RESERVED = ("name", "function", "stream")  # of what launches say of themselves: no metrics


class Session:
    """One recording. `context` is "shadow" (scopes) or "python" (the calls that led to a launch)."""

    def __init__(self, name: str, context: str, data: str, reads_metadata: bool) -> None:
        self.name, self.context, self.data = name, context, data
        self.reads_metadata = reads_metadata
        self.is_active = True
        self.hook: Any = None  # an object with `enter` and `exit`, which is called around launches
        self.clear()

    def clear(self) -> None:
        """Forget what was recorded."""
        self.root = Frame("ROOT")
        self.launches: list[Launch] = []
        self.devices: dict[str, dict[str, Any]] = {}

    def record(self, launch: Launch, metrics: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Add a launch."""
        kind, index = facts["device_type"], facts["device_id"]
        known = self.devices.setdefault(kind, {})
        if index not in known:
            known[index] = _written_device(launch.device)
        # Beside a scope of its name, and once for each device.
        key = f"{launch.name} on {launch.device}"
        frame = self.root.at(launch.path).below.setdefault(key, Frame(launch.name))
        frame.add({COUNT: 1, TIME: launch.duration, **metrics})
        frame.metrics.update(facts)
        if self.data == "trace":
            self.launches.append(launch)

    def written(self) -> Any:
        """What was recorded, as JSON has it."""
        if self.data == "trace":
            return written_trace(self.launches)
        return written_tree(self.root, self.devices)


_sessions: dict[int, Session] = {}
_clocks: dict[str, HostClock | EventClock] = {}
# Of the sessions and their records: launches come from any thread, and from a signal's handler in the middle
# of a record. Whoever forks waits for it, so that a child has whole ones.
_lock = threading.RLock()
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)


def _active() -> list[Session]:
    # The list is made at once: another thread may start a session meanwhile.
    return [session for session in list(_sessions.values()) if session.is_active]


def is_recording() -> bool:
    """Whether a session is there, active or not."""
    return bool(_sessions)


def start(
    name: str | None = None, *, context: str = "shadow", data: str = "tree", hook: Any = None
) -> int:
    """Begin a session, which `finalize` writes to `name` with an ending for its format; of a name that
    is being recorded, go on with it. `data` is "tree" or "trace"; with `hook="triton"` launches are named by
    their `launch_metadata`, whose numbers are recorded. Raises ValueError for other words."""
    for word, known in ((context, ("shadow", "python")), (data, tuple(_FORMATS))):
        if word not in known:
            raise ValueError(f"{word!r} is none of {', '.join(map(repr, known))}")
    is_object = hasattr(hook, "enter") and hasattr(hook, "exit")
    if hook not in (None, "triton") and not is_object:
        raise ValueError(f'{hook!r} is not a hook: give "triton", or an object with enter and exit')
    name = os.fspath(name) if name is not None else DEFAULT_NAME
    with _lock:
        for number, session in _sessions.items():
            if session.name == name:
                activate(number)
                return number
        session = Session(name, context, data, hook == "triton")
        session.hook = hook if is_object else None
        number = next(number for number in itertools.count() if number not in _sessions)
        _sessions[number] = session
        _set_hooks()
    return number


def _set_hooks() -> None:
    """Call what sessions ask for around launches, and nothing where none records. The times are taken
    inside of all hooks that were there before."""
    objects = [session.hook for session in _active() if session.hook]
    for hook in _added:
        hooks.launch_enter.remove(hook.enter)
        hooks.launch_exit.remove(hook.exit)
    _added[:] = objects
    hooks.launch_enter.remove(_begin)
    hooks.launch_exit.remove(_end)
    for hook in objects:
        hooks.launch_enter.add(hook.enter)
        hooks.launch_exit.add(hook.exit)
    if _active():
        hooks.launch_enter.add(_begin)
        hooks.launch_exit.add(_end)


_added: list[Any] = []


def _chosen(session: int | None) -> list[Session]:
    if session is None:
        return list(_sessions.values())
    if session not in _sessions:
        raise ValueError(f"there is no session {session!r}; there are {list(_sessions)}")
    return [_sessions[session]]


def activate(session: int | None = None) -> None:
    """Record again, in one session or in all."""
    for chosen in _chosen(session):
        chosen.is_active = True
    _set_hooks()


def deactivate(session: int | None = None, flushing: bool = False) -> None:
    """Record nothing until `activate`, in one session or in all; with `flushing` wait for GPUs."""
    for chosen in _chosen(session):
        chosen.is_active = False
    if flushing:
        _settle()
    _set_hooks()


def finalize(session: int | None = None, output_format: str = "") -> None:
    """End one session or all and write what they recorded. `output_format` is "hatchet" for a tree and
    "chrome_trace" for a trace, or empty. Raises ValueError for another."""
    chosen = _chosen(session)
    for each in chosen:
        if output_format and output_format != _FORMATS[each.data]:
            raise ValueError(f"a session with data={each.data!r} is written as {_FORMATS[each.data]}")
    _settle()
    with _lock:
        for number in [number for number, each in _sessions.items() if each in chosen]:
            del _sessions[number]
        _set_hooks()
        texts = [json.dumps(ended.written()) for ended in chosen]
    with contextlib.ExitStack() as files:  # one that cannot be written keeps no other from it
        for ended, text in zip(reversed(chosen), reversed(texts)):
            files.callback(_write, f"{ended.name}.{_FORMATS[ended.data]}", text)


def _write(path: str, text: str) -> None:
    """A reader sees the whole file or none."""
    folder = os.path.dirname(path)
    if folder:
        os.makedirs(folder, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=folder or ".")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except OSError:
        os.unlink(temporary)
        raise


def records(session: int | None = 0) -> Any:
    """What a session recorded until now, as `finalize` would write it; None for None."""
    if session is None:
        return None
    (chosen,) = _chosen(session)
    _settle()
    with _lock:
        return json.loads(json.dumps(chosen.written()))


def clear(session: int | None = 0) -> None:
    """Forget what a session recorded."""
    if session is not None:
        (chosen,) = _chosen(session)
        _settle()
        with _lock:
            chosen.clear()


def profile(fn: Callable[..., Any] | None = None, *, name: str | None = None, **options: Any) -> Any:
    """Record a function's calls: `@profile` or `@profile(name="step")`, with the options of `start`."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def recorded(*args: Any, **kwargs: Any) -> Any:
            session = start(name, **options)
            try:
                return function(*args, **kwargs)
            finally:
                if session in _sessions:  # the function may have ended it
                    deactivate(session)

        return recorded

    return decorate if fn is None else decorate(fn)


def add_metrics(path: tuple[str, ...], metrics: Mapping[str, Any]) -> None:
    """Add a scope's numbers to all sessions that record; the scope is there then, with or without."""
    with _lock:
        for session in _active():
            if session.context == "shadow":
                session.root.at(path).add(metrics)


def _settle() -> None:
    for clock in list(_clocks.values()):
        clock.settle()


def _begin(metadata: hooks.LaunchMetadata) -> None:
    """Before a launch: what is true of it, and the clock at last."""
    from .scopes import path

    active = _active()
    name = metadata.kernel.request.device
    clock = _clocks.get(name) or _clocks.setdefault(name, clock_of(name, device_named(name)))
    told = metadata.get() if any(session.reads_metadata for session in active) else metadata.data
    numbers = _numbers_of(told)
    facts = _kind_of(name)
    places = [path() if session.context == "shadow" else _calls() for session in active]
    # Not the metadata themselves: they hold the launch's arrays, and times may be read much later.
    shown = {True: str(told["name"]), False: metadata.kernel.name}

    def take(start: int, duration: int) -> None:
        with _lock:
            for session, place in zip(active, places):
                reads = session.reads_metadata
                launch = Launch(place, shown[reads], name, start, duration)
                session.record(launch, numbers if reads else {}, facts)

    begun = clock.begin(metadata.data["stream"])
    metadata.at_end = lambda: clock.end(begun, take)


def _end(metadata: hooks.LaunchMetadata) -> None:
    """After a launch. One that failed never gets here."""
    end, metadata.at_end = metadata.at_end, None
    if end is not None:
        end()


def _numbers_of(told: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics among what a launch says of itself."""
    found: dict[str, Any] = {}
    for name in told.keys() - set(_RESERVED):
        with contextlib.suppress(ValueError):
            found[name] = number_of(name, told[name])
    return found


def _calls() -> tuple[str, ...]:
    """The functions that led to a launch, from the outermost inwards, without Tilewright's own."""
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
    frame = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    names: list[str] = []
    while frame is not None:
        code = frame.f_code
        if not code.co_filename.startswith(own):
            names.append(f"{code.co_filename}:{code.co_name}@{frame.f_lineno}")
        frame = frame.f_back
    return tuple(reversed(names))


def _written_device(name: str) -> dict[str, Any]:
    """What a file says of a device; clocks in kHz and the memory's bus in bits, 0 where unknown."""
    target = TargetName(target_of(name))
    clocks = {"clock_rate": 0, "memory_clock_rate": 0, "bus_width": 0}
    torch: Any = sys.modules.get("torch")
    if not device_named(name).has_memory or torch is None or not torch.cuda.is_available():
        processors = 0 if device_named(name).has_memory else properties_of(name)["multiprocessor_count"]
        return {"arch": str(target.arch), "num_sms": processors, **clocks}
    facts = torch.cuda.get_device_properties(device_named(name).index)
    known = ("clock_rate", "memory_clock_rate", "memory_bus_width")
    values = (getattr(facts, attribute, 0) for attribute in known)
    return {"arch": str(target.arch), "num_sms": facts.multi_processor_count, **dict(zip(clocks, values))}


def _kind_of(name: str) -> dict[str, str]:
    """The device of a launch, in the words of the file."""
    device = device_named(name)
    kind = device.backend.upper() if device.has_memory else name
    return {"device_type": kind, "device_id": str(device.index)}
