"""Configurations of an exported kernel from a store of autotuning: one for each key, and one
for all other sizes."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from ..capture import capture
from ..language.element_types import BY_SHORT_NAME
from ..native import native
from ..native.errors import LaunchError
from ..tuning.autotune import Autotuner
from ..tuning.buckets import bucketed
from ..tuning.kept.records import Record, rank, readable_config
from ..tuning.kept.store import one_of_each, read_records
from .specializations import Range, undecided
from .wrapped import unwrapped

# Integers of a group that are looked at, to see that it is a range.
_SAMPLES = 64


class Choice(NamedTuple):
    """A configuration, and the integers that it was chosen for, or their ranges; none where it is for all
    others."""

    config: Any
    exact: dict[str, int]
    ranges: Mapping[str, Range] = {}


def choices_of(kernel: Any, store: str | os.PathLike[str], types: Mapping[str, str]) -> list[Choice]:
    """The choices of a store for a kernel with arrays of some types: first those for the very integers
    of a key, and last one for all other integers, the configuration that over all keys is the least
    slower than the best of each. Of a tuner with a `bucket` a choice is for all integers of its group,
    and of one key for those of which it is the nearest, as launches count them. Raises UnsupportedError TW0801 where the store has none, or several for
    one key, and LaunchError TW0425 or TW0426 for a store that cannot be used."""
    tuner = _tuner_of(kernel)
    name = unwrapped(kernel).fn.__name__
    records = [r for r in _records(tuner, Path(store)) if _has_types(r, types)]
    if not records:
        raise undecided(
            name,
            f"{store} has no choice for it with arrays of {', '.join(types.values()) or 'no type'}",
            "launch the kernel for the shapes that are to ship, with autotune(cache_results=True)",
        )
    known = {_text(config): config for config in tuner.configs}
    choices: dict[str, Choice] = {}
    for record in records:
        exact = {n: v for n, v in record.key.items() if type(v) is int and n in types}
        choice = Choice(known[_text_of(record.best)], exact)
        other = choices.setdefault(repr(sorted(exact.items())), choice)
        if other.config != choice.config:
            raise undecided(
                name,
                f"{store} has several choices for {exact}, of different devices or keys",
                "export those of one device: tilewright tune export FILE --kernel " + name,
            )
    exact = [choice for choice in choices.values() if choice.exact]
    if tuner.bucket is not None and exact:
        ranges = ranged(exact, tuner, types)
        keys = {key for choice in exact for key in choice.exact}
        return ranges if len(keys) == 1 else [*ranges, Choice(_for_others(records, known), {})]
    return [*exact, Choice(_for_others(records, known), {})]


def ranged(
    choices: Sequence[Choice], tuner: Autotuner, types: Mapping[str, str]
) -> list[Choice]:
    """The choices of a tuner's groups with the ranges of integers that each is the nearest of, of those
    that have a type; where it has no `bucket`, they are for the very integers."""
    if tuner.bucket is None:
        return [*choices]
    spans: dict[str, dict[int, Range]] = {}
    for key in {key for choice in choices for key in choice.exact if key in types}:
        groups = {choice.exact[key] for choice in choices if key in choice.exact}
        bits = 62 if "64" in types[key] else 31
        spans[key] = _spans(sorted(groups), (1 << bits) - 1, partial(bucketed, name=key, bucket=tuner.bucket))
    return [
        Choice(
            choice.config,
            {key: value for key, value in choice.exact.items() if key not in spans},
            {key: spans[key][group] for key, group in choice.exact.items() if key in spans},
        )
        for choice in choices
    ]


def _spans(groups: Sequence[int], most: int, group_of: Callable[[int], Any]) -> dict[int, Range]:
    """The integers that each group is the nearest of: those between two groups go to the one that they are
    fewer times as large or as small as. Raises UnsupportedError TW0801 where groups are not in order."""
    ends: list[tuple[int, int]] = []
    for group in groups:
        first = _first(lambda n: _is_from(group_of, n, group), most)
        last = _first(lambda n: _is_from(group_of, n, group + 1), most) - 1
        some = [*range(first, last, (last - first) // _SAMPLES | 1), last]
        if first > last or any(group_of(number) != group for number in some):
            raise undecided(
                "an autotuned kernel",
                f"the bucket of its autotune gives no range of integers the group {group}, which the store has",
                "export with the function that the store was made with, whose groups do not get smaller as "
                "integers grow",
            )
        ends.append((first, last))
    found: dict[int, Range] = {}
    low: int | None = None
    for group, (_, last), following in zip(groups, ends, [*ends[1:], None]):
        high = max(last, math.isqrt(last * following[0])) if following else None
        high = min(high, following[0] - 1) if following and high is not None else high
        found[group] = (low, high)
        low = None if high is None else high + 1
    return found


def _first(is_reached: Callable[[int], bool], most: int) -> int:
    """The least integer from 0 for which something holds that then holds for all; most + 1 where none."""
    low, high = 0, most + 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_reached(middle) else (middle + 1, high)
    return low


def _is_from(group_of: Callable[[int], Any], number: int, group: int) -> bool:
    try:
        return bool(group_of(number) >= group)
    except LaunchError:  # it has no group, as 0 of a logarithm
        return False


def _tuner_of(kernel: Any) -> Autotuner:
    while not isinstance(kernel, Autotuner):
        if not hasattr(kernel, "fn"):
            name = getattr(kernel, "__name__", repr(kernel))
            raise undecided(name, "tuned= takes a kernel under @tw.autotune", "leave tuned= out")
        kernel = kernel.fn
    return kernel


def _text(config: Any) -> str:
    return _text_of(readable_config(config))


def _text_of(values: Mapping[str, Any]) -> str:
    return repr(sorted(values.items()))


def _records(tuner: Autotuner, store: Path) -> list[Record]:
    """The records of a kernel as it is, whose configurations it still has."""
    function = unwrapped(tuner)
    meaning, build = capture(function).meaning, native().build_id()
    known = {_text(config) for config in tuner.configs}
    of_kernel = [r for r in one_of_each(read_records(store)) if r.meaning == meaning]
    for record in of_kernel:
        if record.build != build and not record.is_adopted:
            raise LaunchError(
                f"{store} has choices for {record.kernel} of the build {record.build}, and this is {build}",
                code="TW0426",
                hint="tune with this build, or take them: tilewright tune import --foreign",
            )
    return [record for record in of_kernel if _text_of(record.best) in known]


def _has_types(record: Record, types: Mapping[str, str]) -> bool:
    """Return true if a record is of arrays with the element types of a signature."""
    pointees = [text.lstrip("*").split(":")[0].removeprefix("k") for text in types.values() if text[:1] == "*"]
    wanted = [BY_SHORT_NAME[name].library if name in BY_SHORT_NAME else name for name in pointees]
    return wanted == [text.removeprefix("torch.") for text in record.types]


def _for_others(records: Sequence[Record], known: Mapping[str, Any]) -> Any:
    """The configuration for sizes that nothing was measured for: one that was measured for the most
    keys, and of those with the least mean of its time by the best time."""
    found: dict[str, list[float]] = {}
    for record in records:
        for trial in record.trials:
            if trial.ms is not None and math.isfinite(record.best_ms) and record.best_ms > 0:
                found.setdefault(_text_of(trial.config), []).append(trial.ms / record.best_ms)
    scored = [
        (-len(ratios), sum(ratios) / len(ratios), rank(known[text]), known[text])
        for text, ratios in found.items()
        if text in known
    ]
    if not scored:
        return known[_text_of(records[0].best)]
    return min(scored, key=lambda entry: entry[:3])[3]
