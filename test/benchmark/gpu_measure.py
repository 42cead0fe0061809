"""Measures one row of the benchmark of GPUs: checks everyone's result, chooses settings, takes
times. Runs in a process that may be killed (see gpu.py)."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple

import gpu_timing
import torch
from gpu_languages import FREE, RESTRICTED, Language, instructions_of, restriction_of
from gpu_rows import COPY, Row, Setting, Workload
from gpu_table import OURS
from gpu_timing import Clock, Effort

WORST = 30  # an element's error over the rows' typical value, in tolerances


@dataclass
class Participant:
    """One participant in one row, as it goes into the results."""

    milliseconds: list[float] = field(default_factory=list)
    outliers: int = 0
    error: float = 0.0  # relative, in the Frobenius norm
    setting: str = ""
    tried: int = 0
    failed: dict[str, str] = field(default_factory=dict)  # setting -> why
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass
class Result:
    """One row of the results."""

    name: str
    unit: str = ""
    work: float = 0.0
    goals: list[tuple[str, float]] = field(default_factory=list)
    participants: dict[str, Participant] = field(default_factory=dict)
    absent: dict[str, str] = field(default_factory=dict)  # participant -> why
    failure: str = ""  # of ours, or of the whole row
    clocks: str = ""
    seconds: float = 0.0
    profile: dict[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


class WrongResult(Exception):
    """A kernel's output is not what it should be."""


class Bench(NamedTuple):
    """What all rows have in common."""

    device: str
    clock: Clock
    effort: Effort
    ours: Language
    triton: Sequence[Language]
    tries_all: bool  # else one setting of each kernel
    tuning_seconds: float  # of each participant: no setting is begun after that


def error_of(out: torch.Tensor, reference: torch.Tensor, tolerance: float) -> float:
    """The relative error. Raises WrongResult where it, or an element's, is too large."""
    size = reference.norm().item() or 1.0
    difference = (out.to(torch.float64) - reference).abs()
    relative = difference.norm().item() / size
    worst = difference.max().item() / (size / reference.numel() ** 0.5)
    if not relative <= tolerance or not worst <= WORST * tolerance:
        raise WrongResult(f"relative error {relative:.2g}, worst element {worst:.2g}")
    return relative


def poison(out: torch.Tensor) -> None:
    """Makes what a kernel leaves out unmistakable."""
    out.view(torch.uint8).fill_(0xFF)


def first_line(error: BaseException) -> str:
    """A failure in a word or two, without losing its kind."""
    return f"{type(error).__name__}: {error}".splitlines()[0][:300]


def facts_of(compiled: Any) -> dict[str, Any]:
    """Registers, spills and matrix instructions, where the code says so."""
    facts: dict[str, Any] = {"products": instructions_of(compiled)}
    resources = getattr(compiled, "resources", None) or {}
    facts |= {
        name: resources[name]
        for name in ("registers", "spill_bytes", "shared_bytes")
        if name in resources
    }
    for name, key in (("n_regs", "registers"), ("n_spills", "spill_bytes")):
        if isinstance(value := getattr(compiled, name, None), int):
            facts[key] = value
    return {key: value for key, value in facts.items() if value != ""}


def check_instructions(language: Language, compiled: Any) -> None:
    """Raises WrongResult where what should be held to mma.sync is not."""
    products = instructions_of(compiled)
    if language.name == RESTRICTED and not language.is_plain and products != "mma.sync":
        raise WrongResult(f"its products are {products or 'no matrix instructions'}")


class Choice(NamedTuple):
    """A participant's kernel with the setting that is measured."""

    participant: Participant
    call: gpu_timing.Call


def settings_of(workload: Workload, bench: Bench) -> list[Setting]:
    if bench.tries_all:
        return workload.settings
    return list({setting.kernel: setting for setting in reversed(workload.settings)}.values())


def choose(
    workload: Workload, language: Language, reference: torch.Tensor, bench: Bench
) -> Choice:
    """Tries the settings, checking each one's result. Raises the first failure if none works."""
    participant = Participant()
    best: tuple[float, Setting] | None = None
    failures: list[Exception] = []
    # What no goal compares with gets less of the time there is.
    share = 0.4 if language.name == RESTRICTED else 1.0
    end = time.monotonic() + share * bench.tuning_seconds
    settings = settings_of(workload, bench)
    for setting in settings:
        if participant.tried and time.monotonic() > end:
            break
        participant.tried += 1
        try:
            poison(workload.out)
            compiled = workload.launch(language, setting)
            bench.clock.synchronize()
            error = error_of(workload.out, reference, workload.tolerance)
            check_instructions(language, compiled)
            call = launch_of(workload, language, setting)
            if best is None:  # the clocks may be those of a GPU that has nothing to do
                gpu_timing.settle(bench.clock, call, bench.effort)
            milliseconds = 0.0
            if len(settings) > 1:
                milliseconds = gpu_timing.quick_time(bench.clock, call, bench.effort)
        except Exception as failure:
            failures.append(failure)
            participant.failed[setting.text()] = first_line(failure)
            bench.clock.synchronize()  # raises where the GPU is of no use any more
            if language.name == OURS and isinstance(failure, WrongResult):
                raise WrongResult(f"{setting.text()}: {failure}") from failure
            continue
        if best is None or milliseconds < best[0]:
            best = milliseconds, setting
            participant.error, participant.facts = error, facts_of(compiled)
    if best is None:
        raise failures[0]
    participant.setting = best[1].text()
    return Choice(participant, launch_of(workload, language, best[1]))


def launch_of(workload: Workload, language: Language, setting: Setting) -> Callable[[], Any]:
    return lambda: workload.launch(language, setting)


def restricted(languages: Sequence[Language], arch: str) -> Iterator[Language]:
    for language in languages:
        if language.name == RESTRICTED:
            options = {**language.options, **({"arch": arch} if language.options else {})}
            yield language._replace(options=options)


def choose_triton(
    workload: Workload, reference: torch.Tensor, bench: Bench, result: Result
) -> dict[str, Choice]:
    """Triton's choices: as it is, and held to mma.sync by the first way that does it."""
    found: dict[str, Choice] = {}
    if workload.uninterpreted and any(language.is_plain for language in bench.triton):
        result.absent[RESTRICTED] = workload.uninterpreted
        return found
    groups: dict[str, list[Language]] = {}
    if workload.has_products:
        groups[RESTRICTED] = list(restricted(bench.triton, workload.triton_arch))
    frees = [language for language in bench.triton if language.name == FREE]
    plain = [language._replace(name=FREE) for language in bench.triton if language.is_plain]
    groups[FREE] = frees if frees or workload.has_products else plain
    for name, languages in groups.items():
        reasons: list[str] = []
        for language in languages:
            try:
                found[name] = choose(workload, language, reference, bench)
            except Exception as failure:
                bench.clock.synchronize()
                reasons.append(f"{restriction_of(language)}: {first_line(failure)}")
                continue
            if name == RESTRICTED:
                found[name].participant.facts["restriction"] = restriction_of(language)
            break
        if name not in found and languages:
            result.absent[name] = "; ".join(reasons)
    return found


def check_peers(workload: Workload, reference: torch.Tensor, bench: Bench, result: Result) -> Any:
    """The peers of torch that run here and are right."""
    found: dict[str, Choice] = {}
    for name, call in workload.peers.items():
        try:
            value = call()
            bench.clock.synchronize()
            error = 0.0 if name == COPY else error_of(value, reference, workload.tolerance)
        except Exception as failure:
            bench.clock.synchronize()
            result.absent[name] = first_line(failure)
            continue
        found[name] = Choice(Participant(error=error), call)
    return found


def measure_row(row: Row, bench: Bench, read_clocks: Callable[[], str] = str) -> Result:
    """The whole row. Raises what makes the GPU or our result unusable."""
    start = time.monotonic()
    torch.manual_seed(0)
    workload = row.make(bench.device)
    result = Result(row.name, workload.unit, workload.work, [tuple(g) for g in workload.goals])
    reference = workload.reference()
    choices = {OURS: choose(workload, bench.ours, reference, bench)}
    choices |= check_peers(workload, reference, bench, result)
    choices |= choose_triton(workload, reference, bench, result)
    calls = {name: choice.call for name, choice in choices.items()}
    for name, times in gpu_timing.measure(bench.clock, calls, bench.effort).items():
        participant = choices[name].participant
        participant.milliseconds, participant.outliers = times
        result.participants[name] = participant
    result.clocks = read_clocks()
    result.seconds = time.monotonic() - start
    return result


def launch_often(row: Row, setting: str, language: Language, bench: Bench, count: int) -> None:
    """Launches one setting for a profiler: nothing is checked or timed."""
    workload = row.make(bench.device)
    language = next(restricted([language], workload.triton_arch), language)
    chosen = [each for each in workload.settings if each.text() == setting]
    for _ in itertools.repeat(None, count):
        workload.launch(language, (chosen or workload.settings)[0])
        bench.clock.synchronize()
