"""Races candidates: few launches of each, more of those that may still be the fastest.

Medians are compared by confidence intervals of order statistics: the k-th smallest and the k-th
largest of n independent times enclose the median of their distribution with the probability
1 - 2 P(B < k), where B is binomial with n tries of probability 1/2 (David and Nagaraja, Order
Statistics, section 7.1). Nothing is assumed of how times are distributed, which is never normal.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

# An interval misses the median so often. A candidate is dropped when two intervals are apart, so that
# both have to miss on their inner sides: once in 40,000 comparisons.
_MISSES = 0.01
# One is dropped after its warm-up where each launch took this much longer than the best one's median:
# launches of one kernel differ by less, even on a busy machine.
_TIMES_THE_BEST = 2.0
# Rounds into which the milliseconds of one candidate are divided.
_ROUNDS = 16
# Turns before one is dropped by its interval: the times of one turn depend on each other.
_FEWEST_TURNS = 3
# Candidates whose intervals still meet in the end are raced again, as many and as often as this.
_MOST_AGAIN = 4


_UNKNOWN = math.inf, 0.0, math.inf


def _bounds_of(ordered: list[float]) -> tuple[float, float, float]:
    """The median of times and the bounds of what it estimates."""
    count = len(ordered)
    rank = rank_of_bound(count)
    low, high = (ordered[rank - 1], ordered[-rank]) if rank else (0.0, math.inf)
    return (ordered[(count - 1) // 2] + ordered[count // 2]) / 2, low, high


class Runner:
    """A candidate: what launches it once and gives the milliseconds, and its times.

    `spent` are milliseconds of the clock that its launches took with what was to be done before them.
    """

    def __init__(self, launch: Callable[[], float]) -> None:
        self.launch = launch
        self.times: list[float] = []
        self.spent = 0.0
        self.is_out = False
        self.is_resting = False  # not measured any more, though it may be as fast
        self.turns = 0  # 0: its times are those of the warm-up
        self._known: tuple[list[float], tuple[float, float, float]] = [], _UNKNOWN

    @property
    def median(self) -> float:
        """The median of its times; infinite before the first."""
        return self._bounds()[0]

    @property
    def interval(self) -> tuple[float, float]:
        """The bounds of its median; from 0 to infinity where there are too few times."""
        return self._bounds()[1:]

    def _bounds(self) -> tuple[float, float, float]:
        """The median and its bounds; `times` are a list of their own after each turn."""
        if self._known[0] is not self.times:
            self._known = self.times, _bounds_of(sorted(self.times)) if self.times else _UNKNOWN
        return self._known[1]

    def run(self, milliseconds: float) -> list[float]:
        """The times of launches, at least one, that take so long together."""
        times: list[float] = []
        start = now = time.perf_counter_ns()
        while not times or now - start < milliseconds * 1e6:
            times.append(self.launch())
            now = time.perf_counter_ns()
        self.spent += max((now - start) / 1e6, 1e-6)
        return times


@lru_cache(maxsize=4096)
def rank_of_bound(count: int) -> int:
    """The rank k of the bounds of a median of `count` times; 0 where they are too few for any."""
    misses, rank, term = 0.0, 0, 0.5**count if count < 1000 else 0.0
    if not term:  # the normal approximation, with half a step for continuity
        return max(0, math.floor(count / 2 - 2.576 * math.sqrt(count) / 2))
    while misses + 2 * term <= _MISSES:
        misses += 2 * term
        term *= (count - rank) / (rank + 1)
        rank += 1
    return rank


def fastest(runners: Iterable[Runner]) -> list[Runner]:
    """The fastest runner and those that may be faster; none where it is the fastest for sure."""
    order = sorted((runner for runner in runners if runner.times), key=lambda r: r.median)
    close = [r for r in order[1:] if r.interval[0] <= order[0].interval[1]]
    return [order[0], *close[: _MOST_AGAIN - 1]] if close else []


class Race:
    """Measures runners against each other. `warmup` and `rep` are milliseconds for each; all together
    never take more than that many times their number, nor longer than `deadline`, a time of
    `time.monotonic()`. `failed` is told of a runner whose launch raises, and of what it raises;
    `told` is called when runners are dropped.

    With `tolerated` the race is short: a warm-up takes no longer than a turn, it ends where the fastest
    takes at most this part of its time longer than any other, as far as the intervals say, and after
    every few turns the slower half of those that are left rests (sequential halving: Karnin, Koren and
    Somekh, ICML 2013)."""

    def __init__(
        self, runners: Sequence[Runner], warmup: float, rep: float, deadline: float,
        failed: Callable[[Runner, Exception], bool], told: Callable[[], None], tolerated: float = 0.0,
    ) -> None:  # fmt: skip
        self.runners = list(runners)
        self.tolerated = tolerated
        # Turns alternate, so that a clock which still rises is the same for all.
        self.warmup = min(warmup, rep / _ROUNDS) if tolerated and rep > 0 else warmup
        self.rep, self.deadline = rep, deadline
        self.failed, self.told = failed, told

    def start(self, told: Callable[[], None]) -> None:
        """Launch each once, and then warm it up, while there is time; `told` is called after each."""
        for runner in self.runners:
            if time.monotonic() < self.deadline or not any(r.times for r in self.runners):
                self._attempt(runner, self._begin)
                told()

    def finish(self) -> bool:
        """Race those that `start` has left. Returns true if the fastest is sure to be so."""
        for runner in self.runners:  # one that others were slower than may have been thrown out since
            runner.is_out = not runner.times
        self._drop()
        runners = [r for r in self.runners if not r.is_out]
        if self.rep > 0:
            self._run_rounds(runners, self.warmup + self.rep)
            rivals = self._rivals()
            while rivals and not self._is_decided() and (quota := self._left(rivals)) > 0:
                before = sum(r.spent for r in rivals)
                self._run_rounds(rivals, max(r.spent for r in rivals) + quota)
                if sum(r.spent for r in rivals) == before:
                    break
                rivals = self._rivals()
        return not self._rivals()

    def _left(self, rivals: list[Runner]) -> float:
        """The milliseconds that each of the rivals may still have: what those that were dropped early have
        left, but no more than as much again as a measurement."""
        planned = self.warmup + self.rep
        whole = planned * len(self.runners) - sum(r.spent for r in self.runners)
        share = min(whole / len(rivals), 2 * planned - max(r.spent for r in rivals))
        return share if share > self.rep / _ROUNDS else 0.0

    def _rivals(self) -> list[Runner]:
        return fastest(runner for runner in self.runners if not runner.is_out)

    def _begin(self, runner: Runner) -> None:
        planned = self.warmup + self.rep
        best = self._best()
        first = runner.run(0)
        if first[0] >= min(10 * planned, max(planned, 2 * _TIMES_THE_BEST * best)):
            runner.times = first  # that was long enough
            runner.is_out = best < first[0]
            return
        runner.spent = 0.0  # the first launch loads the kernel
        warm = runner.run(self.warmup) if self.warmup > 0 else first
        runner.times = warm
        runner.is_out = self.warmup > 0 and min(warm) > _TIMES_THE_BEST * best

    def _best(self) -> float:
        return min((r.median for r in self.runners if r.times), default=math.inf)

    def _run_rounds(self, runners: list[Runner], quota: float) -> None:
        """Have runners take turns until each has used up its milliseconds or was dropped."""
        slice_ms = self.rep / _ROUNDS
        while time.monotonic() < self.deadline:
            ready = [r for r in runners if not (r.is_out or r.is_resting) and r.spent < quota]
            if not ready or self._is_decided():
                return
            for runner in ready:
                self._attempt(runner, lambda r: self._continue(r, min(slice_ms, quota - r.spent)))
            self._drop()
            if self.tolerated:
                self._rest()

    def _continue(self, runner: Runner, milliseconds: float) -> None:
        times = runner.run(milliseconds)
        # Others ran before it: its code and data come back to the caches with the first launch.
        times = times[1:] if len(times) > 2 else times
        runner.times = runner.times + times if runner.turns else times
        runner.turns += 1

    def _rest(self) -> None:
        left = [r for r in self.runners if not (r.is_out or r.is_resting)]
        if left and min(r.turns for r in left) % _FEWEST_TURNS == 0:
            for runner in sorted(left, key=lambda r: r.median)[(len(left) + 1) // 2 :]:
                runner.is_resting = True

    def _is_decided(self) -> bool:
        """Returns true if at most one runner is left, or none that is faster by more than is tolerated."""
        left = [r for r in self.runners if not (r.is_out or r.is_resting)]
        if len(left) <= 1 or not self.tolerated:
            return len(left) <= 1
        best = min(left, key=lambda r: r.median)
        has_turns = min(r.turns for r in left) >= _FEWEST_TURNS
        least = min(r.interval[0] for r in left if r is not best)
        return has_turns and best.interval[1] <= (1 + self.tolerated) * least

    def _drop(self) -> None:
        left = [r for r in self.runners if not r.is_out and r.times]
        if not left:
            return
        best = min(left, key=lambda r: r.median)
        slower = [r for r in left if r is not best and self._is_slower(r, best)]
        for runner in slower:
            runner.is_out = True
        if slower:
            self.told()

    def _is_slower(self, runner: Runner, best: Runner) -> bool:
        if min(runner.times) > _TIMES_THE_BEST * best.median:
            return True
        turns = min(runner.turns, best.turns)
        return turns >= _FEWEST_TURNS and runner.interval[0] > best.interval[1]

    def _attempt(self, runner: Runner, measure: Callable[[Runner], None]) -> None:
        try:
            measure(runner)
        except Exception as error:
            runner.is_out = True
            runner.times = []
            if not self.failed(runner, error):
                raise
