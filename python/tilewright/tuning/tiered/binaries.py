"""The binaries for the very integers of launches that came often, and who decides that there is one."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ReferenceType, ref

from ...native import knobs
from ...native.errors import TilewrightError, warn_user
from ...compile.facts import Facts, made_exact
from .background import worker

if TYPE_CHECKING:
    from ...compile import CompiledKernel, Request

# Most integers whose launches are counted; those that were launched longest ago are dropped first.
MOST_COUNTED = 1024
Numbers = Any  # an integer, or a tuple of several: what they are looked up by


class Function(Protocol):
    """What is needed of a kernel: its parameters, and compilations with other facts."""

    fn: Callable[..., Any]

    @property
    def parameters(self) -> Sequence[Any]: ...

    def find_on_disk(
        self, key: tuple[Any, ...], values: tuple[Any, ...]
    ) -> CompiledKernel | None: ...

    def compile_for(
        self, key: tuple[Any, ...], values: tuple[Any, ...], is_warmup: bool = False
    ) -> CompiledKernel | None: ...


class _OfThisThread(threading.local):
    is_general = False


_of_this_thread = _OfThisThread()


@contextmanager
def general_binaries() -> Iterator[None]:
    """Launches of this thread run general binaries and are not counted: those of a measurement come
    often, and the binary is not to change in the middle of it."""
    before = _of_this_thread.is_general
    _of_this_thread.is_general = True
    try:
        yield
    finally:
        _of_this_thread.is_general = before


class Tiers:
    """What a kernel has with specialize="tiered". Each of its general binaries has binaries for integers that
    came `hot_launches` times, at most `most_exact` of all of them together; a thread makes them in the
    background, and launches that come after one is done run it. The integers of one compute as those
    that the general one is passed, so that launches give the same bits; sums in floating point may be in
    another order, as with any two binaries."""

    def __init__(self, function: Function, hot_launches: int, most_exact: int) -> None:
        self.function = function
        self.hot_launches = _positive("hot_launches", hot_launches)
        self.most_exact = _positive("most_exact", most_exact)
        # Not a WeakSet: walking one fails where another thread adds to it.
        self._references: set[ReferenceType[Tier]] = set()

    def chosen(self, kernel: CompiledKernel, bits: Sequence[Any]) -> CompiledKernel:
        """The binary for a launch that the general one fits."""
        tier = kernel.tier or self._tier_of(kernel)
        if _of_this_thread.is_general:
            return kernel
        numbers = tier.pick(bits)
        exact = tier.ready.get(numbers)
        if exact is not None:
            return exact
        if numbers not in tier.asked:
            tier.count(numbers)
        return kernel

    def make_now(self, kernel: CompiledKernel, bits: Sequence[Any]) -> None:
        """Make the binary for a launch's integers, and wait for it."""
        tier = kernel.tier or self._tier_of(kernel)
        numbers = tier.pick(bits)
        if tier.positions and numbers not in tier.ready:
            tier.asked.setdefault(numbers, None)
            tier.make(numbers)

    def settle(self) -> None:
        """Wait until nothing is compiled in the background, for any kernel."""
        worker.settle()

    def has_room(self) -> bool:
        """Whether one more binary may be made."""
        return sum(len(tier.asked) for tier in self.all() if tier.positions) < self.most_exact

    def all(self) -> list[Tier]:
        """Those of the general binaries that are there."""
        references = [*self._references]  # at once: no other thread runs in between
        return [tier for reference in references if (tier := reference()) is not None]

    def _tier_of(self, kernel: CompiledKernel) -> Tier:
        tier = kernel.tier = Tier(self, kernel.request)
        self._references.add(ref(tier, self._references.discard))
        return tier


def _positive(name: str, value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r} is not a positive integer")
    return value


class Tier:
    """The binaries for integers that follow one general binary, and are dropped with it: it is another one
    where the kernel's source, or anything else that it was compiled for, has changed."""

    def __init__(self, tiers: Tiers, general: Request) -> None:
        self.tiers = tiers
        self.general = general
        self._constants = general.constant_texts()
        self.positions = _positions(tiers.function, general)
        self.pick: Callable[[Sequence[Any]], Numbers] = (
            itemgetter(*self.positions) if self.positions else lambda bits: ()
        )
        self.ready: dict[Numbers, CompiledKernel] = {}
        # Those that wait or are done, and those that cannot be made, which nobody tries again. What has
        # no integers is one of them from the beginning.
        self.asked: dict[Numbers, object] = {} if self.positions else {(): None}
        self._counts: dict[Numbers, int] = {}

    def count(self, numbers: Numbers) -> None:
        """Count a launch; have the binary made where there were enough. Threads that count at the same
        time may lose a launch, and nothing else."""
        counts = self._counts
        launches = counts.pop(numbers, 0) + 1
        if launches < self.tiers.hot_launches:
            if len(counts) >= MOST_COUNTED:
                self._discard_oldest()
            counts[numbers] = launches
        elif self.tiers.has_room():
            job = _Making(self, numbers)
            if self.asked.setdefault(numbers, job) is job:
                worker.submit(job)

    def _discard_oldest(self) -> None:
        try:
            self._counts.pop(next(iter(self._counts)), None)
        except (RuntimeError, StopIteration):  # another thread counts, too
            pass

    def make(self, numbers: Numbers) -> None:
        """Compile, or find on disk where nothing may be compiled."""
        try:
            kernel = self._compiled(numbers)
        except TilewrightError as error:
            if error.code != "TW0408":
                name = self.tiers.function.fn.__name__
                warn_user(f"{name} runs on without a binary for its integers: {error}")
            return
        if kernel is None:  # a hook forbids it
            return
        is_same = kernel.request.source.capture.meaning == self.general.source.capture.meaning
        # Objects among the constants may have changed until the compilation read them, or while it did.
        is_same = is_same and self.general.constant_texts() == self._constants
        if kernel.is_opaque or not is_same:
            self.forget(numbers)  # the kernel has changed since: what follows is another tier
            return
        self.ready[numbers] = kernel

    def _compiled(self, numbers: Numbers) -> CompiledKernel | None:
        function, general = self.tiers.function, self.general
        key = (general.device, general.options, self._facts(numbers))
        if knobs.settings().is_jit_denied:
            return function.find_on_disk(key, general.constants)
        return function.compile_for(key, general.constants, is_warmup=True)

    def _facts(self, numbers: Numbers) -> tuple[Any, ...]:
        facts = list(self.general.facts)
        values = numbers if len(self.positions) > 1 else (numbers,)
        for position, value in zip(self.positions, values):
            facts[position] = made_exact(facts[position], value)
        return tuple(facts)

    def forget(self, numbers: Numbers) -> None:
        """What was to be made will not be; it may be asked for again."""
        self.asked.pop(numbers, None)


class _Making:
    """The making of one binary, as a job."""

    def __init__(self, tier: Tier, numbers: Numbers) -> None:
        self.tier, self.numbers = tier, numbers

    def run(self) -> None:
        self.tier.make(self.numbers)

    def forget(self) -> None:
        self.tier.forget(self.numbers)


def _positions(function: Function, general: Request) -> tuple[int, ...]:
    """Where the integers are among a launch's arguments, the parts of tuples and tensors among them."""
    hot = {parameter.name for parameter in function.parameters if parameter.is_exact_when_hot}
    return tuple(
        index
        for index, (name, facts) in enumerate(zip(general.parameters, general.facts))
        if isinstance(facts, Facts)
        and re.split(r"[.\[]", name)[0] in hot
        and made_exact(facts, 0) is not facts
    )
