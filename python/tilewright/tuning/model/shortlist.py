"""Chooses by the model which configurations are worth a measurement."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple

from ...native.errors import LaunchError, TilewrightError
from ..kept.records import rank
from .predict import predicted

# Of the configurations of a space so many are measured where nobody says another number.
MEASURED_OF_SPACES = 6
# How much longer the chosen one of a shortlist may take than another of it: the model leaves out some that
# are as much faster, so that no more is gained by telling close ones apart.
TOLERATED = 0.02
# Configurations whose code is looked at for each one that is measured, where looking costs a compilation.
_COMPILED_PER_MEASURED = 3
# One that is predicted to take so many times as long as the best is not measured: the model is off by
# less.
_HOPELESS = 2.5
# Steps from one configuration to another that is far from it: twice the size in one direction and half of
# it in another are near.
_FAR = 3


class Shortlist(NamedTuple):
    """The configurations to measure, the best by the model first, its times in milliseconds, and why
    others are left out."""

    measured: list[Any]
    predicted: dict[Any, float]
    reasons: dict[Any, str]


def shortlist(
    candidates: Sequence[Any], most: int | None, warm: Callable[[Any], Any],
    arguments: Mapping[str, Any], grid: Any,
) -> Shortlist:  # fmt: skip
    """At most so many of the candidates. All of them where `most` is None, where they are few enough,
    or where the model knows nothing of the kernel."""
    if most is None or len(candidates) <= most:
        return Shortlist(list(candidates), {}, {})
    reasons: dict[Any, str] = {}
    first: dict[Hashable, Any] = {}
    times = refined = _times(candidates, warm, arguments, grid, False, reasons, first)
    if times and None in first:  # on GPUs the code of the best counts, too
        enough = most * _COMPILED_PER_MEASURED
        refined = _times(_ordered(times), warm, arguments, grid, True, reasons, first, enough)
    if not times or not refined:
        return Shortlist(list(candidates), {}, {})
    times = {**times, **refined}
    kept = worth_measuring(refined, most, candidates)
    for config in candidates:
        if config not in kept and config not in reasons:
            slower = times[config] / times[kept[0]]
            reasons[config] = f"not measured: {slower:.2f} times the best by the model"
    return Shortlist(kept, times, reasons)


def worth_measuring(
    times: Mapping[Any, float], most: int, candidates: Sequence[Any]
) -> list[Any]:
    """At most so many configurations of those with a time, in the order of these. A little more than half are
    the first, the others the first that are far from all that were taken, and then less and less far:
    neighbours are alike in what the model does not know."""
    order = _ordered(times)
    order = [config for config in order if times[config] <= _HOPELESS * times[order[0]]]
    values: dict[str, list[Any]] = {}
    for config in candidates:
        for name, value in config.all_kwargs().items():
            values.setdefault(name, []).append(value)
    scale = {name: _steps(found) for name, found in values.items()}
    places = {
        config: [scale[name][repr(value)] for name, value in sorted(config.all_kwargs().items())]
        for config in order
    }
    taken = list(order[: most // 2 + 1][:most])
    for distance in range(_FAR, 0, -1):
        for config in order:
            is_far = all(_distance(places[config], places[other]) >= distance for other in taken)
            if len(taken) < most and is_far:
                taken.append(config)
    return [config for config in order if config in taken]


def _steps(values: Sequence[Any]) -> dict[str, int]:
    """The place of each value among all of a parameter, numbers by their size."""
    distinct = {repr(value): value for value in values}
    numbers = all(isinstance(value, (int, float)) for value in distinct.values())
    return {text: at for at, text in enumerate(sorted(distinct, key=distinct.get if numbers else None))}


def _distance(a: Sequence[int], b: Sequence[int]) -> float:
    """How many steps to the next value of a parameter lead from one place to another."""
    return sum(abs(x - y) for x, y in zip(a, b)) if len(a) == len(b) else math.inf


def checked_most(most: Any, fn: Any) -> int | None:
    """A number of configurations, or None. Raises LaunchError TW0418."""
    if most is None or (isinstance(most, int) and not isinstance(most, bool) and most > 0):
        return most
    raise LaunchError(
        f"measure_at_most of {getattr(fn, '__name__', fn)} is {most!r}, not a number of configurations",
        code="TW0418",
        hint="write measure_at_most=8, or leave it out",
    )


def _ordered(times: Mapping[Any, float]) -> list[Any]:
    return sorted(times, key=lambda config: (times[config], rank(config)))


def _times(
    candidates: Sequence[Any], warm: Callable[[Any], Any], arguments: Mapping[str, Any], grid: Any,
    compiles: bool, reasons: dict[Any, str], first: dict[Hashable, Any], enough: int | None = None,
) -> dict[Any, float] | None:  # fmt: skip
    """The model's times of the first `enough` that compile; why others do not goes to `reasons`, the
    first of those that run the same to `first`. None where it has no time of some."""
    times: dict[Any, float] = {}
    for config in sorted(candidates, key=rank) if enough is None else candidates:
        if len(times) == enough:
            break
        try:
            found = predicted(config, warm, arguments, grid, compiles)
        except TilewrightError as error:
            reasons[config] = f"[{error.code}] {error.message.splitlines()[0]}"
            continue
        if found is None:
            return None
        same = first.setdefault(found.launch, config)
        if found.launch is not None and same != config:
            reasons[config] = f"runs as {same}"
        elif math.isinf(found.ms):
            reasons[config] = "not one program of it fits on a multiprocessor"
        else:
            times[config] = found.ms
    return times
