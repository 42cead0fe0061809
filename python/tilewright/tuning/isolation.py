"""Runs candidates in other processes: those that run in this one's memory for the first time in workers,
where one that reads out of bounds or never ends does no harm, and any on the machines of an executor, to
measure them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, NamedTuple

from ..compile import CompiledKernel
from ..compile.facts import Facts
from .packing import PackedRequest, is_packable
from ..launch import hooks
from ..launch.arguments import memory_of
from ..native.errors import TilewrightError, to_exception
from ..native.packed_runs import measure_packed
from .compilations import Submit, lost, submitted
from .configurations import Config
from .workers import Lost, Task, Workers

# The most bytes of arguments that are copied, for the kernels and for each of their runs.
MOST_BYTES = 64 << 20
# The most seconds of a first run where no budget says less.
LONGEST_RUN = 60.0
# A kernel that makes pointers of numbers reaches memory that a worker does not have.
_MAKES_POINTERS = "pointer_type"

_HINT = (
    'launch it on the device "reference", which names wrong accesses; a kernel that follows '
    "addresses which lie in memory needs autotune(isolate=False)"
)


class Launch(NamedTuple):
    """A launch that was not made: what `launch.run.launch` takes."""

    kernel: CompiledKernel
    programs: tuple[int, int, int]
    values: tuple[Any, ...]
    bits: list[Any]


def launches_of(launch: Callable[[], Any]) -> list[Launch]:
    """The launches that a call would make."""
    found: list[Launch] = []
    with hooks.diverted(lambda *parts: found.append(Launch(*parts))):
        launch()
    return found


def can_isolate(kernel: Any) -> bool:
    """Returns true for a kernel that may crash this process, and that a worker can run: code for a device
    that has this process's memory, and checks no access."""
    return (
        isinstance(kernel, CompiledKernel)
        and not kernel.device.has_memory
        and not kernel.needs_memory
        and is_packable(kernel.request)
        and not kernel.request.source.capture.names_builtin(_MAKES_POINTERS)
    )


class _Region:
    """Memory that arguments reach, and a file without a name that has its bytes."""

    def __init__(self, begin: int, end: int, kind: str) -> None:
        self.begin, self.end, self.kind = begin, end, kind
        self.file = -1

    def write(self) -> None:
        import ctypes

        self.file = os.memfd_create("tilewright-array")
        left = memoryview((ctypes.c_char * (self.end - self.begin)).from_address(self.begin))
        while left:
            left = left[os.write(self.file, left) :]

    def described(self) -> tuple[str, int, int, str]:
        """The file, the bytes, the address modulo 64, and the type of elements."""
        file = f"/proc/{os.getpid()}/fd/{self.file}" if self.file >= 0 else ""
        return file, self.end - self.begin, self.begin % 64, self.kind


def _regions_of(launches: Sequence[Launch]) -> list[_Region]:
    """The memory of all arguments, those that overlap as one."""
    spans: set[tuple[int, int, str]] = set()
    for launch in launches:
        for index, kind in _pointers(launch).items():
            base, size, _ = memory_of(launch.values[index], launch.bits[index])
            spans.add((base, base + size, kind))
    regions: list[_Region] = []
    for begin, end, kind in sorted(spans):
        if regions and begin < regions[-1].end:
            regions[-1].end = max(regions[-1].end, end)
        elif end > begin:
            regions.append(_Region(begin, end, kind))
    return regions


@contextmanager
def _copied(regions: Sequence[_Region]) -> Iterator[bool]:
    """Copies of memory for the time of a block; False where it is too much."""
    is_small = sum(region.end - region.begin for region in regions) <= MOST_BYTES
    try:
        for region in regions if is_small else ():
            region.write()
        yield is_small
    finally:
        for region in regions:
            if region.file >= 0:
                os.close(region.file)
                region.file = -1


def _pointers(launch: Launch) -> dict[int, str]:
    """The positions of the arguments that the kernel gets as pointers, and what they point to."""
    facts = launch.kernel.request.facts
    return {
        index: kind.removeprefix("*") for _, kind, _, index in launch.kernel.parameters
        if isinstance(facts[index], Facts) and facts[index].is_pointer
    }  # fmt: skip


def _is_known(launch: Launch, regions: Sequence[_Region]) -> bool:
    """Returns true if all that a launch passes is plain numbers and pointers to the regions."""
    pointers = _pointers(launch)
    passed = [(index, launch.bits[index]) for *_, index in launch.kernel.parameters]
    return all(
        not bit or isinstance(_place(int(bit), regions), list) if index in pointers
        else isinstance(bit, (int, float))
        for index, bit in passed
    )  # fmt: skip


def described(launch: Launch, regions: Sequence[_Region]) -> dict[str, Any]:
    """A launch as data, for `native.packed_runs`."""
    bits: list[Any] = [0] * len(launch.bits)
    pointers = _pointers(launch)
    for *_, index in launch.kernel.parameters:
        bits[index] = launch.bits[index]
        if index in pointers:
            bits[index] = _place(int(launch.bits[index]), regions)
    places = [region.described() for region in regions]
    return {"programs": list(launch.programs), "bits": bits, "regions": places}


def _place(address: int, regions: Sequence[_Region]) -> Any:
    """The region of an address and the offset in it; a pointer to nothing stays as it is."""
    for number, region in enumerate(regions):
        if region.begin <= address < region.end:
            return [number, address - region.begin]
    return 0


def failures_alone(
    launches: Mapping[Config, Launch], count: int, seconds: float, deadline: float,
    told: Callable[[], None], passed: list[Config],
) -> dict[Config, TilewrightError | None]:  # fmt: skip
    """Run launches in `count` worker processes, each for at most so many seconds, and append those that
    end well to `passed`. Gives the errors of those that fail there, None for those that the deadline left
    less time than each has; nothing where their arguments are more than workers take."""
    regions = _regions_of([*launches.values()])
    configs = [config for config in launches if _is_known(launches[config], regions)]
    packed = [PackedRequest(launches[config].kernel.request) for config in configs]
    errors: dict[Config, TilewrightError | None] = {}
    with _copied(regions) as is_copied:
        if not (is_copied and configs):
            return {}

        def task(number: int) -> Task:
            launch = described(launches[configs[number]], regions)
            message = {"do": "run", "packed": packed[number].data(), "launch": launch}
            return Task(number, message, seconds)

        workers = Workers(min(count, len(configs)), deadline)
        for number in range(len(configs)):
            workers.add(task(number))
        with closing(workers.outcomes()) as outcomes:
            for number, outcome in outcomes:
                if isinstance(outcome, Lost):
                    error = lost(outcome, "running", _HINT) if outcome.is_judged else None
                    errors[configs[number]] = error
                elif asked := outcome[0].get("asked"):
                    packed[number].answer(asked)
                    workers.add(task(number))
                    continue
                elif reports := outcome[0].get("reports"):
                    errors[configs[number]] = to_exception(reports[0])
                else:
                    passed.append(configs[number])
                told()
    return errors


def times_elsewhere(
    launches: Mapping[Config, Launch], submit: Submit, warmup: float, rep: float, end: float,
    told: Callable[[], None],
) -> tuple[dict[Config, list[float]], dict[Config, TilewrightError]]:  # fmt: skip
    """The milliseconds of launches on an executor's workers, each on arrays of the worker's own, and the
    errors of those that fail there or are lost. `end` is by `time.monotonic()`."""
    regions = _regions_of([*launches.values()])
    configs = [config for config in launches if _is_known(launches[config], regions)]
    packed = [PackedRequest(launches[config].kernel.request, is_cached=False) for config in configs]
    times: dict[Config, list[float]] = {}
    errors: dict[Config, TilewrightError] = {}

    def extra(number: int) -> tuple[Any, ...]:
        return described(launches[configs[number]], regions), warmup, rep

    results = submitted(submit, measure_packed, packed, range(len(configs)), end, extra)
    with closing(results):
        for number, result in results:
            if result.get("times"):
                times[configs[number]] = list(result["times"])
            elif reports := result.get("reports"):
                errors[configs[number]] = to_exception(reports[0])
            told()
    for config in launches:
        if config not in times:
            errors.setdefault(config, lost(Lost("no worker of the executor has measured it"), "measuring"))
    return times, errors
