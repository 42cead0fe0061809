"""What the tutorials share: compares results with a reference and races two ways to get them."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch

# Before each call: torch's threads go on waiting awake for a moment, on the cores that the next needs.
PAUSE_SECONDS = 0.002
BAR = 40  # columns of the longest bar


class Race(NamedTuple):
    """Two ways of computing the same thing, timed in turn on the same tensors."""

    name: str
    ours_ms: float
    peer: str
    peer_ms: float
    ratio: float  # median over the rounds of peer time / our time; above 1 we are faster


def size_from_command_line(text: str | None) -> str:
    """`--size small` (seconds, for tests) or `--size full` (large enough to speak of speed)."""
    parser = argparse.ArgumentParser(description=(text or "").split("\n")[0])
    parser.add_argument("--size", choices=("small", "full"), default="full")
    return parser.parse_args().size


def poisoned(like: torch.Tensor) -> torch.Tensor:
    """An output tensor full of NaN, so that an element that a kernel forgets is seen."""
    return torch.full_like(like, float("nan"))


def check(
    name: str, actual: torch.Tensor, expected: torch.Tensor, atol: float, rtol: float = 0.0
) -> None:
    """Prints the largest error; AssertionError where |actual - expected| > atol + rtol |expected|.

    `expected` is best computed in float64. NaN is never within bounds.
    """
    if actual.shape != expected.shape:
        raise AssertionError(
            f"{name}: shape {tuple(actual.shape)} instead of {tuple(expected.shape)}"
        )
    reference = expected.double()
    error = (actual.double() - reference).abs()
    within = error <= atol + rtol * reference.abs()
    if not bool(within.all()):
        index = tuple(int(i) for i in (~within).nonzero()[0])
        raise AssertionError(
            f"{name}: {int((~within).sum())} of {actual.numel()} elements are wrong, the first at "
            f"{list(index)}: {actual[index].item()} instead of {reference[index].item()}"
        )
    worst = error.max().item() if error.numel() else 0.0
    print(f"  {name}: right, largest error {worst:.2g}")


def draw(milliseconds: Mapping[str, float]) -> None:
    """Draws times as bars, the longest in full."""
    longest = max(milliseconds.values())
    width = max(map(len, milliseconds))
    for name, time_ms in milliseconds.items():
        bar = "█" * max(1, round(BAR * time_ms / longest))
        print(f"    {name:{width}} {bar} {time_ms:.3g} ms")


def _milliseconds(function: Callable[[], object]) -> float:
    time.sleep(PAUSE_SECONDS)
    start = time.perf_counter()
    function()
    return (time.perf_counter() - start) * 1e3


def race(
    name: str,
    ours: Callable[[], object],
    theirs: Callable[[], object],
    size: str,
    peer: str = "torch",
) -> Race:
    """Calls both in turn, so that a busy moment of the machine hits both; prints the medians."""
    rounds = 15 if size == "full" else 3
    for function in (ours, theirs, ours, theirs):
        function()
    pairs = [(_milliseconds(ours), _milliseconds(theirs)) for _ in range(rounds)]
    result = Race(
        name,
        statistics.median(mine for mine, _ in pairs),
        peer,
        statistics.median(their for _, their in pairs),
        statistics.median(their / mine for mine, their in pairs),
    )
    print(
        f"  {name}: tilewright {result.ours_ms:.3f} ms, {peer} {result.peer_ms:.3f} ms, "
        f"ratio {result.ratio:.2f}x"
    )
    draw({"tilewright": result.ours_ms, peer: result.peer_ms})
    return result
