"""`check`: runs a kernel on several devices with shapes around its tiles, and says what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from ..compile import Request, compile_request
from ..export.entries import suggestion
from ..launch.devices import check_device
from ..launch.jit import JITFunction
from .simulated import COMPLETIONS, SCHEDULES
from ..native.errors import CompilationError, InternalError
from ..native.targets import device_named
from .bisection import Trials, find_pass, with_limit
from .cases import cases_of, describe, shrink, varied_numbers, weight, with_followers
from .check_results import CheckError, CheckResult, Finding
from .check_runs import Fault, Launch, Outcome, Way
from .differences import Tolerance, difference, differing, values_of
from .examples import SEED, Entry, Example, grid_of, read_example, sizes_of
from .reproducer import Asked, place_of, write_reproducer

DEVICES = ("reference", "cpu", "cpu:x86-64-v3", "sim:sm_80", "sim:sm_90a", "sim:gfx942")
_TRIES = 40
Expected = Callable[..., Mapping[str, Any]]


def check(
    kernel: Any,
    signature: Mapping[str, str],
    constants: Mapping[str, Any] | None = None,
    *,
    example: Mapping[str, Entry],
    grid: Any = 1,
    devices: Sequence[str] = DEVICES,
    updated: Collection[str] = (),
    fixed: Collection[str] = (),
    expected: Expected | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    cases: int = 24,
    seed: int = SEED,
    ways: Sequence[tuple[str, str]] = (),
    reproducer: str | Path | None = None,
    raises: bool = True,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> CheckResult:
    """Launch a kernel on several devices with many shapes, and report races, accesses out of bounds, reads of
    outputs that nothing was written to, and results that differ from those of the device `reference`.

        tw.testing.check(add, {"out": "*fp32", "x": "*fp32", "n": "i32"}, {"BLOCK": 256},
                         example={"out": "n", "x": "n", "n": 1000}, grid="cdiv(n, BLOCK)")

    `signature` has the types by parameter. `example` has the elements of each array and the value of each number;
    texts are sizes in terms of others: "M*K", "T < V" (T integers below V). `grid` has such, or is a function of a
    dictionary of them. Integers of the example are varied around multiples of the integer constants, but not those
    in `fixed` or with "stride" in their name; above the example only where an array's size names them, or is the
    same number. `cases=1` runs the example only.

    Arrays hold random numbers; those that the kernel stores to hold poison, unless they are `updated`: the
    kernel is meant to read what they held, as `atomic_add` does. `expected(**arguments)` gives outputs by name
    that `reference` must agree with. Floats agree within atol + rtol * max(|expected|, root mean square of the
    array), by default with the tolerances of `assert_close` for the coarsest type among the arrays. `ways` are
    pairs of a schedule and a completion of `tw.simulation.simulate`; by default each case takes two of them.
    `options` are a launch's: num_warps, num_stages. What a device shows and `reference` does not may be a fault of the compiler: `Finding.wrong_pass` is the pass
    that makes the code wrong, found by compilations with fewer passes. `progress` gets a line for each.

    Writes to the file or folder `reproducer` a script that shows the smallest case and exits with 1. Raises
    CheckError, an AssertionError, with the report if there are findings and `raises` is true, ValueError for
    arguments that do not fit, CompilationError for a kernel that `reference` cannot run. Needs NumPy.
    """
    kernel = _kernel_of(kernel)
    _ = reproducer is None or place_of(kernel.fn)  # before all else where no script can be written
    request: Request = kernel.request(dict(signature), dict(constants or {}), device="reference", **options)
    case = _example_of(request, example, grid, [*updated, *fixed], cases > 1)
    names = varied_numbers(case, fixed) if cases > 1 else []
    launch = Launch(kernel, options, _stored(request) - set(updated), seed)
    checker = _Checker(launch, _ways(devices, ways), Tolerance(rtol, atol), expected, case)
    result = checker.run(cases_of(case, names, cases, seed), names, progress or (lambda line: None))
    if reproducer is not None and not result:
        asked = Asked(launch, signature, updated, expected, checker.tolerance)
        write_reproducer(reproducer, result.findings[0], asked)
    if raises and not result:
        raise CheckError(result)
    return result


def _kernel_of(kernel: Any) -> JITFunction:
    """The kernel below what wraps it. Raises ValueError if there is none."""
    while not isinstance(kernel, JITFunction):
        if not hasattr(kernel, "fn"):
            raise ValueError(f"{kernel!r} is not a kernel (a function under @tw.jit)")
        kernel = kernel.fn
    return kernel


def _example_of(
    request: Request, entries: Mapping[str, Entry], grid: Any, names: list[str], follows: bool
) -> Example:
    """The launch that is varied. Raises ValueError for sizes, a grid or names that do not fit."""
    if not callable(grid):
        grid = tuple(grid) if isinstance(grid, (tuple, list)) else (grid,)
    example = read_example(request, entries, grid)
    grid_of(example)
    for name in names:
        if name not in example.entries:
            raise ValueError(f"the launch has no argument {name}{suggestion(name, example.entries)}")
    return with_followers(example) if follows else example


def _stored(request: Request) -> frozenset[str]:
    """The names of arrays that the kernel stores to."""
    return frozenset(name for name, _, is_stored, _ in compile_request(request).parameters if is_stored)


def _ways(devices: Sequence[str], ways: Sequence[tuple[str, str]]) -> list[list[Way]]:
    """By case, in turn: how each device but `reference` runs, those first that check what they run."""
    for name in devices:
        check_device(name)
    for schedule, completion in ways:
        if schedule not in SCHEDULES or completion not in COMPLETIONS:
            known = f"{', '.join(SCHEDULES)}; and {', '.join(COMPLETIONS)}"
            raise ValueError(f"ways are pairs of {known}; not {(schedule, completion)}")
    turns: list[list[Way]] = []
    names = sorted(set(devices) - {"reference"}, key=lambda name: (not device_named(name).is_simulated, name))
    others = ways or [(schedule, completion) for schedule in SCHEDULES for completion in COMPLETIONS][1:]
    for turn in [others] if ways else [[other] for other in others]:
        found: list[Way] = []
        for name in names:
            if not device_named(name).is_simulated:
                found.append(Way(name))
                continue
            found += [] if ways else [Way(name)]
            found += [Way(name, schedule, completion) for schedule, completion in turn]
        turns.append(found)
    return turns


@dataclass
class _Checker:
    """The findings so far by what tells them apart, and counts."""

    launch: Launch
    turns: list[list[Way]]
    tolerance: Tolerance
    expected: Expected | None
    example: Example
    findings: dict[tuple[Any, ...], Finding] = field(default_factory=dict)
    notes: dict[str, None] = field(default_factory=dict)
    refusing: set[str] = field(default_factory=set)
    cases: int = 0
    launches: int = 0

    def run(self, cases: list[Example], names: list[str], tell: Callable[[str], None]) -> CheckResult:
        """Check cases, make those that are found smaller, by the numbers of these names, and find passes."""
        self.check_all(cases)
        self.shrink_all(names)
        if "pass_limit" not in self.launch.options:
            self.find_passes(tell)
        return self.result()

    def check_all(self, cases: list[Example]) -> None:
        """Check cases, the smallest first: the first that shows a finding stands for it. Raises ValueError if
        the example itself cannot be launched."""
        for turn, case in enumerate(cases):
            for key, finding in self._found(case, self.turns[turn % len(self.turns)]):
                first = self.findings.setdefault(key, finding)
                if finding.way.device not in first.devices:
                    first.devices.append(finding.way.device)
            self.cases += 1

    def shrink_all(self, names: list[str]) -> None:
        """Replace each finding by that of the smallest case that shows it in the same way."""
        for key, finding in list(self.findings.items()):
            smallest = finding

            def shows(case: Example) -> bool:
                nonlocal smallest
                try:
                    found = dict(self._found(case, [smallest.way]))
                except CompilationError:  # as of a product of tiles that are too small
                    return False
                if key in found:
                    smallest = replace(found[key], devices=smallest.devices)
                return key in found

            shrink(finding.case, names, shows, _TRIES)
            self.findings[key] = smallest

    def find_passes(self, tell: Callable[[str], None]) -> None:
        """Look for the pass behind each finding of a device other than `reference`."""
        for key, finding in list(self.findings.items()):
            if finding.way.device == "reference":
                continue
            tell(f"{finding.kind} on {finding.way}: looking for the pass")
            scheduled = partial(self._shows_scheduled, key, finding)
            trials = Trials(partial(self._shows, key, finding), partial(self._shows_stage, finding), scheduled)
            found = find_pass(self.launch, finding, trials, tell)
            if found is not None and (found.name or not found.candidates or finding.is_of_compiler):
                self.findings[key] = replace(finding, wrong_pass=found)

    def _shows(self, key: tuple[Any, ...], finding: Finding, limit: int) -> bool | None:
        """Tell whether a finding is there with so many optional passes; None where there is no launch."""
        other = replace(self, launch=with_limit(self.launch, limit), findings={}, notes={}, refusing=set())
        found = dict(other._found(finding.case, [finding.way]))
        fails = any(one.kind == "failure" for one in found.values()) and finding.kind != "failure"
        return None if other.notes or fails else key in found

    def _shows_stage(self, finding: Finding, folder: str) -> bool | None:
        """Tell whether the Tile IR in a folder gives other results than the kernel; None if it cannot be run."""
        usual = Way("reference")
        truth = self._run(finding.case, usual)
        if finding.kind not in ("difference", "bounds") or finding.is_in_shared or truth.faults:
            return None
        try:
            outcome = self.launch.run_stage(finding.case, folder, usual)
        except CompilationError:
            return None
        return bool(outcome.faults) or any(self._differences(finding.case, usual, outcome, truth.arrays))

    def _shows_scheduled(self, key: tuple[Any, ...], finding: Finding, folder: str) -> bool | None:
        """Tell whether a fault is there with the stage in a folder; None where it is another one."""
        try:
            outcome = with_limit(self.launch, 0).run_stage(finding.case, folder, finding.way)
        except (CompilationError, InternalError):
            return None
        is_there = key in map(_key, outcome.faults)
        return None if outcome.refusal or (outcome.faults and not is_there) else is_there

    def result(self) -> CheckResult:
        """All findings, smallest case first."""
        findings = sorted(self.findings.values(), key=lambda finding: weight(finding.case))
        name = self.launch.kernel.fn.__name__
        return CheckResult(name, findings, self.cases, self.launches, list(self.notes))

    def _run(self, case: Example, way: Way, poison: int = 0) -> Outcome:
        self.launches += 1
        return self.launch.run(case, way, poison)

    def _found(self, case: Example, ways: list[Way]) -> Iterator[tuple[tuple[Any, ...], Finding]]:
        """The findings of one case. Devices that do not check accesses run what the others found right."""
        usual = Way("reference")
        truth = self._run(case, usual)
        if truth.refusal:
            self.notes[f"not run: {describe(case)}: {truth.refusal}"] = None
            if case == self.example:
                raise ValueError(f"the example is not a launch: {truth.refusal}")
            return
        found = [] if truth.faults else list(self._of_reference(case, truth))
        for fault in truth.faults:
            yield _key(fault), _finding(case, usual, fault)
        yield from found
        is_right = not truth.faults and not found
        for way in ways:
            checks = device_named(way.device).is_simulated
            if way.device in self.refusing or way == usual or not (is_right or checks):
                continue
            outcome = self._run(case, way)
            if outcome.refusal:
                self.refusing |= {way.device} if outcome.is_final else set()
                self.notes[f"{way.device} does not run the kernel: {outcome.refusal}"] = None
                continue
            for fault in outcome.faults:
                is_right = False
                yield _key(fault), _finding(case, way, fault)
            if is_right:
                yield from self._differences(case, way, outcome, truth.arrays)

    def _of_reference(self, case: Example, truth: Outcome) -> Iterator[tuple[tuple[Any, ...], Finding]]:
        """Outputs that are read before anything is written to them, and results that are not the expected ones."""
        usual = Way("reference")
        other = self._run(case, usual, poison=1) if self.launch.outputs else truth
        initial = [self.launch.arguments(case, poison) for poison in (0, 1)]
        for name in case.arrays if not other.faults else ():
            index = differing(truth.arrays[name], other.arrays[name], *(start[name] for start in initial))
            if index is not None:
                text = f"element {index} of `{name}` depends on what outputs held before the launch; an array "
                text += "that the kernel is meant to read and to write is named in `updated`"
                line = self._line(case, name, 0)
                yield ("uninitialized", name), _finding(case, usual, Fault("uninitialized", line, text))
                return
        if self.expected is None:
            return
        arguments = self.launch.arguments(case)
        readable = {**arguments, **{name: values_of(arguments[name], type) for name, type in case.arrays.items()}}
        for name, values in self.expected(**readable).items():
            if name not in case.arrays:
                raise ValueError(f"expected gives values of {name}, which the launch has no array for")
            yield from self._difference(case, usual, name, truth.arrays[name], values, "expected")

    def _differences(
        self, case: Example, way: Way, outcome: Outcome, truth: Mapping[str, Any]
    ) -> Iterator[tuple[tuple[Any, ...], Finding]]:
        for name in case.arrays:
            values = values_of(truth[name], case.arrays[name])
            yield from self._difference(case, way, name, outcome.arrays[name], values, "difference")

    def _difference(
        self, case: Example, way: Way, name: str, array: Any, values: Any, kind: str
    ) -> Iterator[tuple[tuple[Any, ...], Finding]]:
        longest = max(sizes_of(case)[name] for name in case.arrays)
        array = values_of(array, case.arrays[name])
        found = difference(array, values, case.arrays, name, self.tolerance, longest)
        if found is not None:
            index, text = found
            fault = Fault(kind, self._line(case, name, index), f"`{name}`: {text}")
            yield (kind, name, way.device), _finding(case, way, fault)

    def _line(self, case: Example, name: str, index: int) -> int:
        """The line of the first access to an array from an element on: where `reference` stops if the array
        ends there. 0 where it does not stop."""
        arguments = self.launch.arguments(case)
        array = arguments[name]
        if hasattr(array, "base") and hasattr(array, "element_size"):
            array.base = array.base[:index]
        else:
            arguments[name] = array[:index]
        faults = self.launch.run(case, Way("reference"), arguments=arguments).faults
        return next((fault.line for fault in faults if fault.kind == "bounds"), 0)


def _key(fault: Fault) -> tuple[Any, ...]:
    return (fault.kind, fault.line or fault.message)


def _finding(case: Example, way: Way, fault: Fault) -> Finding:
    return Finding(fault.kind, fault.message, fault.line, way, case, [way.device])
