"""Compiles candidates in parallel: in worker processes of this machine, or through an executor."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import closing
from functools import partial
from typing import Any

from ..compile import Request
from .packing import PackedRequest, is_compiled, is_packable
from ..launch import hooks
from ..native.errors import LaunchError, TilewrightError
from ..native.packed import compile_packed
from .configurations import Config
from .workers import Lost, Task, Workers

# The most seconds of one candidate where no budget says less.
LONGEST = 300.0
# Through an executor a candidate is tried so often, then in a worker of this machine.
_SUBMISSIONS = 2

# Signals are handled between waits.
_LONGEST_WAIT = 0.2

Submit = Callable[..., "Future[Any]"]


def requests_of(warm: Callable[[], Any]) -> list[Request]:
    """The kernels that a warm-up would compile. What it raises is left to the warm-up itself."""
    found: list[Request] = []
    token = hooks.plan.set(found.append)
    try:
        warm()
    except TilewrightError:
        return []
    finally:
        hooks.plan.reset(token)
    return found


def missing(requests: Sequence[Request]) -> list[Request]:
    """Those that a worker can compile and that are neither in memory nor on disk; equal ones once."""
    distinct: dict[str, Request] = {}
    for request in requests:
        if is_packable(request):
            capture = request.source.capture
            text = repr((capture.meaning, capture.exact, request.fields(), request.device))
            distinct.setdefault(text, request)
    return [request for request in distinct.values() if not is_compiled(request)]


def compile_beside(
    configs: Collection[Config], warm: Callable[[Config], Any], compilations: Compilations,
    expect: Callable[[int], None] = lambda count: None,
) -> dict[Config, TilewrightError | None]:  # fmt: skip
    """Compile what warm-ups of configurations would compile, so that they find it. Gives the
    configurations that were compiled, each with its error if it failed; `expect` is told how many there
    are to compile."""
    wanted: list[Request] = []
    owners: dict[int, Config] = {}
    if len(configs) > 1 and hooks.postpone.get() is None:  # one is compiled here, as any launch is
        for config in configs:
            for request in requests_of(partial(warm, config)):
                owners[id(request)] = config
                wanted.append(request)
    needed = missing(wanted)
    expect(len(needed))
    errors = compilations.make(needed)
    return {owners[id(request)]: errors.get(number) for number, request in enumerate(needed)}


class Compilations:
    """Compiles requests beside each other. `seconds` is the most that one may take, `deadline` when
    all end, by `time.monotonic()`; `told` is called after each."""

    def __init__(
        self, workers: int, submit: Submit | None, seconds: float = LONGEST,
        deadline: float = math.inf, told: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.workers, self.submit = workers, submit
        self.seconds, self.deadline, self.told = seconds, deadline, told

    def make(self, requests: Sequence[Request]) -> dict[int, TilewrightError]:
        """Compile requests, so that compiling them again finds them. The errors of those that failed,
        by their place; one that no worker could compile has none, and is compiled by its launch."""
        if not requests:
            return {}
        packed = [PackedRequest(request) for request in requests]
        errors: dict[int, TilewrightError] = {}
        left = list(range(len(packed)))
        if self.submit is not None:
            end = min(self.deadline, time.monotonic() + self.seconds * len(left))
            results = submitted(self.submit, compile_packed, packed, left, end)
            left = self._load(packed, left, results, errors)
        if left and self.workers:
            self._load(packed, left, self._worked(packed, left), errors)
        return errors

    def _load(
        self, packed: Sequence[PackedRequest], numbers: Sequence[int],
        outcomes: Generator[tuple[int, Any], None, None],
        errors: dict[int, TilewrightError],
    ) -> list[int]:  # fmt: skip
        """Load results as they come; those that are still to be compiled."""
        left = set(numbers)
        with closing(outcomes):  # whatever interrupts it, its workers end
            for number, outcome in outcomes:
                try:
                    if isinstance(outcome, Lost):
                        raise lost(outcome, "compiling")
                    if "failed" not in outcome and packed[number].load(outcome):
                        left.discard(number)
                except TilewrightError as error:
                    errors[number] = error
                    left.discard(number)
                self.told()
        return sorted(left)

    def _worked(
        self, packed: Sequence[PackedRequest], numbers: Sequence[int]
    ) -> Generator[tuple[int, Mapping[str, Any] | Lost], None, None]:
        """The outcomes of worker processes."""
        workers = Workers(min(self.workers, len(numbers)), self.deadline)
        for number in numbers:
            workers.add(self._task(number, packed[number]))
        for number, outcome in workers.outcomes():
            if isinstance(outcome, Lost):
                yield number, outcome
                continue
            result, content = outcome
            if asked := result.get("asked"):
                packed[number].answer(asked)
                workers.add(self._task(number, packed[number]))
            else:
                yield number, {**result, "content": content}

    def _task(self, number: int, packed: PackedRequest) -> Task:
        return Task(number, {"do": "compile", "packed": packed.data()}, self.seconds)


def submitted(
    submit: Submit, function: Callable[..., Any], packed: Sequence[PackedRequest],
    numbers: Sequence[int], end: float, extra: Callable[[int], tuple[Any, ...]] = lambda number: (),
) -> Generator[tuple[int, Mapping[str, Any]], None, None]:  # fmt: skip
    """The results that an executor's workers have of packed requests, and of what `extra` gives for each.
    What its workers lose is submitted again; nothing comes of what they lose again or do not finish
    until `end`, by `time.monotonic()`."""
    tries = dict.fromkeys(numbers, 0)
    running: dict[Future[Any], int] = {}

    def begin(number: int) -> None:
        tries[number] += 1
        try:
            running[submit(function, packed[number].data(), *extra(number))] = number
        except Exception:  # an executor whose workers are all gone
            pass

    for number in numbers:
        begin(number)
    try:
        while running and (left := end - time.monotonic()) > 0:
            done, _ = wait(running, min(left, _LONGEST_WAIT), FIRST_COMPLETED)
            for future in done:
                number = running.pop(future)
                result = _result_of(future)
                if result is not None and "asked" in result:
                    packed[number].answer(result["asked"])
                    tries[number] = 0
                    begin(number)
                elif result is not None:
                    yield number, result
                elif tries[number] < _SUBMISSIONS:
                    begin(number)
    finally:
        for future in running:
            future.cancel()


def _result_of(future: Future[Any]) -> Mapping[str, Any] | None:
    """What a worker of an executor answered; None where it, or what it answered, was lost."""
    try:
        result = future.result()
    except Exception:  # of any library: BrokenProcessPool, KilledWorker, RayActorError, ...
        return None
    return result if isinstance(result, Mapping) else None


def lost(outcome: Lost, doing: str, hint: str = "") -> LaunchError:
    """The error of a candidate whose worker was lost."""
    code = "TW0447" if outcome.is_late else "TW0446"
    return LaunchError(f"{doing} it failed: {outcome.reason}", code=code, hint=hint)
