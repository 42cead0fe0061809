"""Finds the pass that makes a kernel wrong: by launches with ever fewer of the passes that may be left out."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ..compile import Request
from ..compile.stages import inspect_with_reports
from ..explain.passes import FirstChange, first_change
from ..native import native
from .check_runs import Launch, Way
from .examples import Example

# LLVM's passes are counted as they run, on each function and each loop: from here on a search gives up.
_MOST_LLVM_PASSES = 1 << 16
_LAST_STAGE = "llvm-dialect"
_SCHEDULED = "scheduled"  # the stage in which accesses of shared memory and barriers stand side by side
_LAST_PASS = re.compile(r"^!tilewright\.last_pass = !\{(!\d+)\}", re.MULTILINE)
_ORDERING = "insert-barriers"
_BUFFER = "simt.alloc_shared"
_ACCESS = re.compile(r"\s*(?:%\S+ = )?simt\.(?:load|store|gather|dot)_shared\b|\s*simt\.async_copy\b")

Told = Callable[[str], None]


class Found(Protocol):
    """A finding of `check`, as far as a search asks."""

    @property
    def case(self) -> Example: ...
    @property
    def way(self) -> Way: ...
    @property
    def is_in_shared(self) -> bool: ...


@dataclass(frozen=True)
class WrongPass:
    """The pass that a search found: the first without which the fault is not there, and `number` of `count`
    in the order of the pipeline, or if it `is_of_llvm` among LLVM's optional passes as they run. `name` is
    empty, and `number` 0, if the fault is there without all passes that may be left out: then it is in one of
    `candidates`, or in the kernel, which asks for its device, if there are none. `change` is the first
    operation that the pass changed, None where it changed nothing. `is_sure` is false if the kernel does not
    compile without the pass, so that one before may be wrong."""

    name: str
    number: int
    count: int
    change: FirstChange | None = None
    candidates: tuple[str, ...] = ()
    is_sure: bool = True
    is_of_llvm: bool = False

    def __str__(self) -> str:
        if not self.number:
            if not self.candidates:
                return "wrong before the first pass: the kernel asks for the device that it is compiled for"
            return f"there without all optional passes, too: in one of {', '.join(self.candidates)}, or in LLVM"
        if self.is_of_llvm:
            return f"pass {self.name!r} of LLVM, number {self.number} of its optional ones as they run"
        text = f"pass {self.name!r} ({self.number} of {self.count})"
        if self.change is not None:
            text += f", first operation that it changed: {self.change}"
        return text if self.is_sure else f"{text}; or one before it, without which the kernel does not compile"


@dataclass(frozen=True)
class _Passes:
    """The passes of a target, and the positions among them of those that may be left out."""

    names: tuple[str, ...]
    optional: tuple[int, ...]


@dataclass(frozen=True)
class Trials:
    """Run the case of a finding in other ways: true if the finding is there, None if that cannot be told."""

    limited: Callable[[int], bool | None]  # with so many optional passes
    on_reference: Callable[[str], bool | None]  # the file NAME.tile of a folder on the device `reference`
    scheduled: Callable[[str], bool | None]  # the file NAME.scheduled of a folder, without optional passes


def find_pass(launch: Launch, finding: Found, trials: Trials, tell: Told) -> WrongPass | None:
    """The pass without which a fault is gone; None if nothing was found, as where the fault comes and goes.
    It takes a compilation and a launch for each step, about log2 of the number of passes. A fault that is
    there without all optional passes is looked for in the Tile IR after each of the others; one in shared memory is
    one of order if a barrier before each access of it removes it."""
    request = launch.request(finding.case, finding.way)
    passes = _passes_of(request)
    if not passes.optional:
        return None
    search = _Search(trials.limited, tell, len(passes.optional))
    if search.run(0):
        return (
            _of_order(request, passes, trials, tell) if finding.is_in_shared else None
        ) or _among_required(request, passes, trials, finding.is_in_shared)
    search.is_sure = search.last is False
    if search.run(len(passes.optional)):
        return _pass_at(request, passes, search.first(0, len(passes.optional)), search.is_sure)
    below, step = len(passes.optional), 32
    while not search.run(below + step):
        below, step = below + step, 2 * step
        if step > _MOST_LLVM_PASSES:
            return None
    limit = search.first(below, below + step)
    return WrongPass(_llvm_pass(request, limit), limit - len(passes.optional), len(passes.names), is_of_llvm=True)


@dataclass
class _Search:
    """A search for the smallest number of passes with which a fault is there."""

    shows: Callable[[int], bool | None]
    tell: Told
    count: int
    last: bool | None = None
    is_sure: bool = True

    def run(self, limit: int) -> bool | None:
        self.last = self.shows(limit)
        passes = f"{limit} of {self.count} optional passes" if limit <= self.count else (
            f"all optional passes and {limit - self.count} of LLVM's"
        )
        said = {True: "wrong", False: "right", None: "does not compile"}[self.last]
        self.tell(f"with {passes}: {said}")
        return self.last

    def first(self, right: int, wrong: int) -> int:
        """The smallest number, given one that is right and one that is wrong."""
        while wrong - right > 1:
            middle = (right + wrong) // 2
            if self.run(middle):
                wrong = middle
            else:
                right, self.is_sure = middle, self.last is False
        return wrong


def _llvm_pass(request: Request, limit: int) -> str:
    """The name of LLVM's pass that is the last with a limit."""
    limited = request._replace(options=request.options._replace(pass_limit=limit))
    text, _ = inspect_with_reports(limited, "llvm")
    named = _LAST_PASS.search(text)
    node = named and re.search(rf'^{re.escape(named[1])} = !{{!"([^"]*)"}}', text, re.MULTILINE)
    return node[1] if node else "?"


def _passes_of(request: Request) -> _Passes:
    rows = native().passes_of(request.device, request.specialization())
    positions = tuple(index for index, (_, is_optional) in enumerate(rows) if is_optional)
    return _Passes(tuple(name for name, _ in rows), positions)


def _of_order(request: Request, passes: _Passes, trials: Trials, tell: Told) -> WrongPass | None:
    """The pass that puts barriers, if the fault is gone with one before each access of shared memory."""
    if _ORDERING not in passes.names:
        return None
    number = passes.names.index(_ORDERING) + 1
    limited = request._replace(options=request.options._replace(pass_limit=0))
    with tempfile.TemporaryDirectory() as folder:
        text, _ = inspect_with_reports(limited, _SCHEDULED)
        rows = [f"simt.barrier\n{row}" if _ACCESS.match(row) else row for row in text.splitlines()]
        Path(folder, f"{request.name}.{_SCHEDULED}").write_text("\n".join(rows), encoding="utf-8")
        is_there = trials.scheduled(folder)
        said = {True: "wrong", False: "right", None: "nothing is told"}[is_there]
        tell(f"with a barrier before each access of shared memory: {said}")
        if is_there is not False:
            return None
        return WrongPass(_ORDERING, number, len(passes.names), _change(_dumps(request, 0, folder), number))


def _among_required(request: Request, passes: _Passes, trials: Trials, is_in_shared: bool) -> WrongPass:
    """The passes that may be wrong where no optional one is: those behind the last text that `reference` finds
    right, up to the first that it finds wrong. None of them: the kernel is another one on this device. A fault of a
    buffer in shared memory comes from the pass that makes the first, or from one behind it."""
    count = len(passes.names)
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as stage:
        dumps = _dumps(request, 0, folder)
        for number in sorted(dumps):
            text = dumps[number].read_text(encoding="utf-8")
            Path(stage, f"{request.name}.tile").write_text(text, encoding="utf-8")
            is_wrong = _BUFFER in text and None if is_in_shared else trials.on_reference(stage)
            if is_wrong is None:
                left = dict.fromkeys(passes.names[later - 1] for later in sorted(dumps) if later >= number > 0)
                return WrongPass("", 0, count, candidates=tuple(left) or passes.names)
            if is_wrong and number == 0:
                return WrongPass("", 0, count)
            if is_wrong:
                return WrongPass(passes.names[number - 1], number, count, _change(dumps, number))
    return WrongPass("", 0, count, candidates=passes.names)


def _dumps(request: Request, limit: int, folder: str) -> dict[int, Path]:
    """The modules after the passes that changed them, by the number of the pass, 0 for the first pass's input."""
    limited = request._replace(options=request.options._replace(pass_limit=limit))
    inspect_with_reports(limited, _LAST_STAGE, folder, locations=True)
    return {int(file.name.partition("-")[0]): file for file in Path(folder).glob("*/*.mlir")}


def _change(dumps: dict[int, Path], number: int) -> FirstChange | None:
    """The first operation that the pass of a number changed."""
    if number not in dumps:
        return None
    before = max(other for other in dumps if other < number)
    return first_change(*(dumps[one].read_text(encoding="utf-8") for one in (before, number)))


def _pass_at(request: Request, passes: _Passes, limit: int, is_sure: bool) -> WrongPass:
    """The last of so many optional passes, with what it changed."""
    number = passes.optional[limit - 1] + 1
    with tempfile.TemporaryDirectory() as folder:
        change = _change(_dumps(request, limit, folder), number)
    return WrongPass(passes.names[number - 1], number, len(passes.names), change, is_sure=is_sure)


def with_limit(launch: Launch, limit: int) -> Launch:
    """The launch of the kernel in whose compilation so many optional passes run."""
    return replace(launch, options={**launch.options, "pass_limit": limit})
