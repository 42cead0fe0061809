"""Racing candidates against each other, by a clock that only launches move on."""

from __future__ import annotations

import itertools
import math
import random
import time
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from tilewright.tuning.race import Race, Runner, rank_of_bound


class Clock:
    """Launches that take what they are told, in milliseconds."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.order = 0, list[int]()
        monkeypatch.setattr(time, "perf_counter_ns", lambda: self.now)

    def launch(self, number: int, cost: Callable[[], float]) -> Callable[[], float]:
        def launch() -> float:
            taken = cost()
            self.order.append(number)
            self.now += round(taken * 1e6)
            return taken

        return launch


def race(
    clock: Clock, costs: Sequence[Callable[[], float]], deadline: float = math.inf,
    failed: Callable[[Any, Exception], bool] = lambda runner, error: False, tolerated: float = 0.0,
) -> tuple[list[Runner], bool]:  # fmt: skip
    runners = [Runner(clock.launch(i, cost)) for i, cost in enumerate(costs)]
    both = Race(runners, 25, 100, deadline, failed, lambda: None, tolerated)
    both.start(lambda: None)
    return runners, both.finish()


def noisy(median: float, seed: int) -> Callable[[], float]:
    """Times with a long tail, as a busy machine has."""
    draw = random.Random(seed)
    return lambda: median * (1 + 0.02 * draw.gauss(0, 1) + (draw.random() < 0.1) * draw.random())


def test_bounds_enclose_the_median_as_often_as_they_say() -> None:
    for count in (8, 20, 101, 999, 5000):
        rank = rank_of_bound(count)
        inside = 1 - 2 * math.fsum(math.comb(count, i) / 2**count for i in range(rank))
        wider = 1 - 2 * math.fsum(math.comb(count, i) / 2**count for i in range(rank + 1))
        assert inside >= 0.9895 and (wider < 0.99 or count > 1000)
    assert [rank_of_bound(count) for count in (1, 7)] == [0, 0]


def test_the_faster_one_wins_and_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    runners, is_sure = race(clock, [noisy(1.1, 1), noisy(1.0, 2), noisy(1.3, 3), noisy(5.0, 4)])
    assert is_sure and [r.is_out for r in runners] == [True, False, True, True]
    assert abs(runners[1].median - 1) < 0.02 and runners[1].interval[0] < 1 < runners[1].interval[1] * 1.01


def test_losers_are_launched_less_often_than_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scheme that gives each its warm-up and its milliseconds launches sixteen 16 x 125 times."""
    clock = Clock(monkeypatch)
    race(clock, [noisy(1 + 0.1 * (i % 16 != 5), i) for i in range(16)])
    assert len(clock.order) < 16 * 125 / 2


def test_no_race_takes_longer_than_the_milliseconds_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    runners, is_sure = race(clock, [noisy(1.0, i) for i in range(8)])
    assert not is_sure and clock.now / 1e6 < 8 * (125 + 2 * 3)
    assert sum(not runner.is_out for runner in runners) > 1


def test_close_ones_are_raced_again(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    slow = [noisy(1.9, 10 + i) for i in range(12)]
    runners, is_sure = race(clock, [noisy(1.0, 1), noisy(1.01, 2), *slow])
    assert is_sure and runners[1].is_out and runners[0].spent > 100  # more than a measurement has


@pytest.mark.parametrize("seed", range(6))
def test_a_race_ends_where_none_is_faster_by_more_than_is_tolerated(
    monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Ones that are close are not told apart, and one that is a twentieth faster is still found."""
    medians = [1.0, 1.004, 1.002, 1.05, 1.06, 1.08, 1.006, 1.003]
    costs = [[noisy(m, 10 * seed + i) for i, m in enumerate(medians)] for _ in range(2)]
    launches: list[int] = []
    for tolerated, cost in zip((0.0, 0.02), costs):
        clock = Clock(monkeypatch)
        runners, is_sure = race(clock, cost, tolerated=tolerated)
        launches.append(len(clock.order))
        assert not is_sure
        best = min((r for r in runners if not r.is_out), key=lambda r: r.median)
        assert medians[runners.index(best)] <= 1.006
    assert launches[1] < 0.5 * launches[0]


def test_turns_alternate_so_that_a_drift_hits_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine becomes slower all the time: one after the other, the first would seem fastest."""
    clock = Clock(monkeypatch)

    def drifting(factor: float, seed: int) -> Callable[[], float]:
        cost = noisy(factor, seed)
        return lambda: cost() * (1 + clock.now / 1e6 / 2000)

    runners, _ = race(clock, [drifting(1.0, 1), drifting(1.0, 2), drifting(0.95, 3)])
    assert min(runners, key=lambda r: r.median if not r.is_out else math.inf) is runners[2]
    turns = [number for number, _ in itertools.groupby(clock.order)]
    assert turns.count(2) >= 4


def test_equal_ones_are_unsure(monkeypatch: pytest.MonkeyPatch) -> None:
    runners, is_sure = race(Clock(monkeypatch), [lambda: 1.0, lambda: 1.0])
    assert not is_sure and not any(runner.is_out for runner in runners)


def test_one_that_fails_is_out_and_the_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, failures = Clock(monkeypatch), list[str]()
    calls = itertools.count()

    def fail() -> float:
        if next(calls) == 30:
            raise ValueError("late")
        return 1.0

    def note(runner: Runner, error: Exception) -> bool:
        failures.append(str(error))
        return True

    runners, _ = race(clock, [fail, lambda: 1.2, lambda: 1.5], failed=note)
    assert failures == ["late"] and runners[0].is_out and not runners[0].times
    assert runners[1].median == 1.2
    with pytest.raises(ValueError, match="late"):
        race(clock, [fail_at_once, lambda: 1.0])


def fail_at_once() -> float:
    raise ValueError("late")


def test_slow_launches_are_few(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    race(clock, [lambda: 400.0, lambda: 2000.0, lambda: 450.0])
    assert [clock.order.count(i) for i in range(3)] == [2, 1, 2]


def test_a_deadline_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    runners, _ = race(clock, [lambda: 1.0, lambda: 1.0], deadline=time.monotonic() - 1)
    assert runners[0].times and not runners[1].times


def test_the_slower_ones_race_where_the_fastest_is_thrown_out(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    runners = [Runner(clock.launch(i, noisy(cost, i))) for i, cost in enumerate((1.0, 3.0, 3.5))]
    both = Race(runners, 25, 100, math.inf, lambda runner, error: False, lambda: None)
    both.start(lambda: None)
    assert runners[1].is_out
    runners[0].times = []  # its result is wrong
    assert both.finish() and [runner.is_out for runner in runners] == [True, False, True]
    assert len(runners[1].times) > 5
