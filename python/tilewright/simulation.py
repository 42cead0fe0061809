"""What the GPU simulator found: races, accesses outside of arrays, counts of what was executed.

A launch on `sim:sm_80` executes the very code that the GPU would get, warp by warp, and raises a
DeviceError when that code does something wrong. Its counters are there after every launch:

    with tw.device("sim:sm_80"):
        kernel[grid](x, y, n, BLOCK=1024)
    report = tw.simulation.last_report()
    assert report.statistics["global_load_efficiency"] == 1.0

`tw.simulation.simulate` chooses the device in the same way, and how it runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .launch.arguments import ArgumentProblem, memory_of, read_argument
from .launch import simulated
from .testing.simulated import COMPLETIONS, MAX_STEPS as _MOST, SCHEDULES, read_parts, read_report
from .arrays.bounds import BOUNDS, chosen_bounds
from .launch.devices import check_device, current_device, device as launches_on
from .compile.facts import Facts
from .explain.timeline import chrome_trace
from .native import native
from .native.targets import device_named

ARITHMETICS = ("fast", "exact")
_WORDS = {
    "schedule": SCHEDULES, "completion": COMPLETIONS, "arithmetic": ARITHMETICS, "bounds": BOUNDS,
}  # fmt: skip
MAX_STEPS, MAX_STEPS_PER_PROGRAM, MAX_STEPS_PER_LAUNCH = _MOST


@dataclass(frozen=True)
class SimulationReport:
    """One launch: what was wrong, and what was executed.

    `findings` has one entry per distinct fault (kind, message, buffer, offset, source line, PTX
    line); `statistics` the counters: instructions by opcode, sectors and bytes of global accesses,
    wavefronts of shared accesses, barriers; its `lines` has such counters by `file` and `line` of the
    source, and `waits`, how often a warp had to wait there. `timelines` has what warps did and when of as many
    programs as `simulate` was asked for, and `instructions` the texts and lines that it names by number.
    """

    findings: list[dict[str, Any]] = field(default_factory=list)
    statistics: dict[str, Any] = field(default_factory=dict)
    timelines: list[dict[str, Any]] = field(default_factory=list)
    instructions: dict[str, dict[str, Any]] = field(default_factory=dict)

    def chrome_trace(self) -> str:
        """The timelines as JSON, to be looked at in chrome://tracing or Perfetto. Its unit is a step, an
        instruction of any warp of the program; steps are not cycles."""
        return chrome_trace(self.timelines, self.instructions)


def last_report(device: str | None = None) -> SimulationReport:
    """The report of the last launch on a simulated device: on the current device where that is one, else on
    the one that was launched on last. Raises ValueError where nothing was simulated yet.
    """
    name = device or current_device()
    if not device and not device_named(name).is_simulated:
        name = simulated.last_device()
    found = read_report(name) if name else None
    if found is None:
        raise ValueError(f"nothing was simulated on {name!r} yet" if name else "nothing was simulated yet")
    parts = read_parts(name) or {}
    return SimulationReport(*found, parts.get("timelines", []), parts.get("instructions", {}))


def _reachable(name: str, array: Any) -> tuple[str, int, int, bool]:
    """Name, address, bytes of an array's memory, and whether it is read-only."""
    try:
        facts, bits = read_argument(array)
    except ArgumentProblem as problem:
        raise TypeError(f"{name}: {problem}") from None
    if not isinstance(facts, Facts) or not facts.is_pointer or facts.place:
        raise TypeError(f"{name} is not an array on the host but a {type(array).__name__}")
    return (name, *memory_of(array, bits))


def _check_numbers(programs: Sequence[int], seed: int, limits: Mapping[str, int], timelines: int) -> None:
    if outside := [program for program in programs if not 0 <= program < 1 << 63]:
        raise ValueError(f"programs are numbered from 0; {outside[0]} is not one")
    if not 0 <= seed < 1 << 64:
        raise ValueError(f"seed is a number of 64 bits without sign, not {seed}")
    if not 0 <= timelines < 1 << 31:
        raise ValueError(f"timelines is a number of programs, not {timelines}")
    for name, limit in limits.items():
        if not 1 <= limit < 1 << 63:
            raise ValueError(f"{name} is 1 or more, not {limit}")


# What the device `reference` has no use for.
_USUAL_OTHERS = (
    0, SCHEDULES[0], COMPLETIONS[0], ARITHMETICS[0], MAX_STEPS_PER_PROGRAM, MAX_STEPS_PER_LAUNCH, 0
)  # fmt: skip


def _check_simulated(device: str, others: tuple[Any, ...]) -> None:
    """Refuse devices that are not simulated, and of `reference` options that mean nothing there."""
    check_device(device)
    if device == "reference":
        if others != _USUAL_OTHERS:
            raise ValueError('simulate("reference", ...) takes max_steps, arrays and bounds only')
    elif not device_named(device).is_simulated:
        raise ValueError(f"{device!r} is not a simulated device: they are called sim:sm_80 and the like")


def _check_words(words: Mapping[str, str]) -> None:
    for name, word in words.items():
        if word not in _WORDS[name]:
            raise ValueError(f"no {name} {word!r}; there are {', '.join(_WORDS[name])}")


@contextmanager
def simulate(
    device: str,
    *,
    schedule: str = "round-robin",
    seed: int = 0,
    programs: Sequence[int] = (),
    completion: str = "late",
    arithmetic: str = "fast",
    max_steps: int = MAX_STEPS,
    max_steps_per_program: int = MAX_STEPS_PER_PROGRAM,
    max_steps_per_launch: int = MAX_STEPS_PER_LAUNCH,
    arrays: Sequence[Any] = (),
    bounds: str | None = None,
    timelines: int = 0,
) -> Iterator[None]:
    """Send the launches of a `with` block to a simulated device, as `tw.device` does, and choose how it runs
    them. Of blocks within blocks, for one device or several, the innermost is heeded; threads that begin in
    the block choose for themselves.

    `schedule` is the order in which warps advance: "round-robin", "greedy", "reverse", or "random"
    with its `seed`. `programs` are the linear numbers of the only programs of a large grid to run;
    all when empty; a launch whose grid lacks one raises LaunchError. `completion` says when
    asynchronous copies arrive: "late", at the wait that requires it, "early", when they are issued,
    or "random", with the same `seed`. `arithmetic` of matrix instructions is "fast", a chain of
    fused multiply-adds, or "exact", rounded as the target's tensor cores do. A warp that has run `max_steps`
    instructions counts as in an endless loop, and so does a program whose warps have run `max_steps_per_program`
    together, and a launch whose programs have run `max_steps_per_launch`: no further program begins then.
    `arrays` are those on the host that kernels reach by addresses which they load, as from a table of
    `data_ptr()`s: all memory but theirs and that of a launch's arguments is out of bounds. With `bounds` of
    "views" an argument that is a view of a larger array reaches as far as its own elements, with "allocations"
    as far as that array; where neither it nor the knob TILEWRIGHT_BOUNDS says which, views that begin where
    their array begins are held to their elements. The report has the timelines of so many of the first programs.

    The device `reference` takes `arrays`, `bounds` and `max_steps`, which is how many iterations loops may
    run in a row without effect there: without a write, a print, or a read of anything new.
    Raises LaunchError for an unknown device, ValueError for one that is not simulated, an unknown word or a
    number out of range, TypeError for what is not an array on the host.
    """
    words = {"schedule": schedule, "completion": completion, "arithmetic": arithmetic}
    others = seed, *programs, *words.values(), max_steps_per_program, max_steps_per_launch, timelines
    _check_simulated(device, others)
    limits = {
        "max_steps": max_steps,
        "max_steps_per_program": max_steps_per_program,
        "max_steps_per_launch": max_steps_per_launch,
    }
    _check_numbers(programs, seed, limits, timelines)
    _check_words({**words, "bounds": bounds} if bounds else words)
    reachable = [_reachable(f"arrays[{i}]", array) for i, array in enumerate(arrays)]
    options = native().SimulationOptions(
        schedule, seed, list(programs), completion, arithmetic, *limits.values(), reachable, timelines
    )
    token = simulated.chosen_options.set({**simulated.chosen_options.get(), device: options})
    of_bounds = chosen_bounds.set({**chosen_bounds.get(), device: bounds or ""})
    try:
        with launches_on(device):
            yield
    finally:
        chosen_bounds.reset(of_bounds)
        simulated.chosen_options.reset(token)
