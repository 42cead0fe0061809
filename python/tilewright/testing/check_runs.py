"""One launch of a case on one device: what it leaves in its arrays, and what the device says is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..compile import Request, compile_request
from ..launch import hooks
from ..launch.arguments.reinterpreted import Reinterpreted
from ..launch.devices import device
from .simulated import read_report, running_programs
from ..native.errors import CompilationError, DeviceError, InternalError, LaunchError, UnsupportedError
from ..native.targets import device_named
from .examples import Example, arguments_of, grid_of

# Two fillings of outputs: results that are computed from them differ.
_FLOATS = (float("nan"), 1021.0)
_WORDS = (0x55, 0x2A)
_PLACE = re.compile(r"\n? *at [^\n]*?:(?P<line>\d+)(?::\d+)?")
_KINDS = {"TW0601": "bounds", "TW0611": "bounds", "TW0605": "bounds", "TW0602": "assertion", "TW0660": "endless"}
_SIMULATED_KINDS = (("race", "race"), ("out-of-bounds", "bounds"), ("uninit", "uninitialized"), ("step", "endless"))


@dataclass(frozen=True)
class Way:
    """A device, and on simulated ones the order of warps and the arrival of copies."""

    device: str
    schedule: str = "round-robin"
    completion: str = "late"

    def __str__(self) -> str:
        usual = Way(self.device)
        return self.device if self == usual else f"{self.device} ({self.schedule}, {self.completion})"


@dataclass(frozen=True)
class Fault:
    """A fault that a device reports: its kind, the line of the kernel's source (0: unknown) and the words."""

    kind: str
    line: int
    message: str


@dataclass
class Outcome:
    """The arrays after a launch by name, and its faults; `refusal` says why nothing ran, for any arguments
    if it is final."""

    arrays: dict[str, Any] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    refusal: str = ""
    is_final: bool = False


@dataclass(frozen=True)
class Launch:
    """A kernel with the options of its launches, the names of its outputs and the seed of its arrays."""

    kernel: Any
    options: Mapping[str, Any]
    outputs: frozenset[str]
    seed: int

    def arguments(self, case: Example, poison: int = 0) -> dict[str, Any]:
        """The arguments of a case; outputs hold poison."""
        arguments = arguments_of(case, self.seed)
        for name in self.outputs:
            _poison(arguments[name], poison)
        return arguments

    def run(
        self, case: Example, way: Way, poison: int = 0, arguments: dict[str, Any] | None = None
    ) -> Outcome:
        """Launch a case. Raises CompilationError for a kernel that `reference` cannot run."""
        arguments = self.arguments(case, poison) if arguments is None else arguments
        start = self.kernel[grid_of(case)]
        return self._run(case, way, arguments, lambda: start(**arguments, **self.options))

    def request(self, case: Example, way: Way) -> Request:
        """Return the request that the launch of a case compiles, without compiling it."""
        found: list[Request] = []
        token = hooks.plan.set(found.append)
        try:
            with device(way.device):
                compiled = self.kernel.warmup(**self.arguments(case), **self.options)
        finally:
            hooks.plan.reset(token)
        return compiled.request if compiled else found[0]

    def run_stage(self, case: Example, folder: str, way: Way) -> Outcome:
        """Launch a case of which a folder has a stage, as the file NAME.STAGE. Raises CompilationError for a
        text that is none of this stage."""
        arguments = self.arguments(case)
        compiled = compile_request(self.request(case, way)._replace(stage_files=folder))
        compiled.kernel_function = self.kernel
        start, defaults = compiled[grid_of(case)], dict(zip(compiled.request.parameters, compiled.request.constants))
        values = [arguments.get(name, defaults[name]) for name in self.kernel.arg_names]
        return self._run(case, way, arguments, lambda: start(*values))

    def _run(self, case: Example, way: Way, arguments: dict[str, Any], start: Callable[[], Any]) -> Outcome:
        arrays = {name: storage_of(arguments[name]) for name in case.arrays}
        is_simulated = device_named(way.device).is_simulated
        chosen = (
            running_programs(way.device, (), way.schedule, way.completion, self.seed)
            if is_simulated
            else device(way.device)
        )
        with chosen:
            try:
                start()
            except DeviceError as error:
                return Outcome(arrays, _faults(way.device, error))
            except LaunchError as error:
                return Outcome(refusal=error.message.splitlines()[0])
            except (CompilationError, InternalError) as error:
                if way.device == "reference":
                    raise
                if isinstance(error, UnsupportedError):
                    return Outcome(refusal=error.message.splitlines()[0], is_final=True)
                return Outcome(faults=[Fault("failure", 0, f"{error.code}: {error.message}")])
        return Outcome(arrays)


def _poison(array: Any, poison: int) -> None:
    values = storage_of(array)
    if values.dtype.kind == "f":
        values.fill(_FLOATS[poison])
    elif values.dtype.kind == "b":
        values.fill(bool(poison))
    else:
        values.view("uint8").fill(_WORDS[poison])


def storage_of(array: Any) -> Any:
    """The NumPy array itself, or that of words under a type that NumPy does not know."""
    return array.base if isinstance(array, Reinterpreted) else array


def _faults(name: str, error: DeviceError) -> list[Fault]:
    """The faults of a launch that a device ended: all that a simulator found, else the error's own."""
    if device_named(name).is_simulated and error.code == "TW0612":
        found = [
            Fault(_simulated_kind(one["kind"]), int(one.get("source_line") or 0), f"{one['kind']}: {one['message']}")
            for one in (read_report(name) or ([],))[0]
            if one.get("is_error")
        ]
        # A read out of bounds has no value.
        follows = "uninitialized" if any(fault.kind == "bounds" for fault in found) else ""
        if found:
            return [fault for fault in found if fault.kind != follows]
    place = _PLACE.search(error.message)
    line = int(place["line"]) if place else 0
    return [Fault(_KINDS.get(error.code, "failure"), line, f"{error.code}: {_PLACE.sub('', error.message)}")]


def _simulated_kind(kind: str) -> str:
    return next((name for prefix, name in _SIMULATED_KINDS if kind.startswith(prefix)), kind)
