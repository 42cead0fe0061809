"""Statements of PTX texts, and the rules that every kind of mutant needs: to drop, weaken, move or rewrite them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

Lines = list[str]
Changed = Iterator[tuple[int, Lines]]  # each changed text, with the place
Rule = Callable[[Lines], Changed]

WAIT = re.compile(r"wgmma\.wait_group\.sync\.aligned (\d+);")
BARRIER = re.compile(r"bar\.sync [01](, \d+)?;")
FENCE = "fence.proxy.async.shared::cta;"
BLOCK_END = re.compile(r"\$L__BB.*:|.*\bbra \$.*|ret;")


def places(lines: Lines, pattern: str | re.Pattern[str]) -> list[int]:
    if isinstance(pattern, str):
        return [i for i, line in enumerate(lines) if line == pattern]
    return [i for i, line in enumerate(lines) if pattern.fullmatch(line)]


def replaced(lines: Lines, place: int, *new: str) -> Lines:
    return [*lines[:place], *new, *lines[place + 1 :]]


def moved(lines: Lines, source: int, target: int) -> Lines:
    """The line at `source` directly behind the one at `target`, which comes later."""
    return [*lines[:source], *lines[source + 1 : target + 1], lines[source], *lines[target + 1 :]]


def block_from(lines: Lines, place: int) -> range:
    """The places behind one in its basic block."""
    end = place + 1
    while end < len(lines) and not BLOCK_END.fullmatch(lines[end]):
        end += 1
    return range(place + 1, end)


def drop(pattern: str | re.Pattern[str]) -> Rule:
    def rule(lines: Lines) -> Changed:
        for place in places(lines, pattern):
            yield place, replaced(lines, place)

    return rule


def weaken(pattern: re.Pattern[str], by: int) -> Rule:
    """Waits that let `by` more groups stay in flight."""

    def rule(lines: Lines) -> Changed:
        for place in places(lines, pattern):
            match = pattern.fullmatch(lines[place])
            assert match
            yield place, replaced(lines, place, lines[place].replace(f" {match[1]};", f" {int(match[1]) + by};"))

    return rule


def move_behind_barrier(pattern: str | re.Pattern[str]) -> Rule:
    def rule(lines: Lines) -> Changed:
        for place in places(lines, pattern):
            barrier = next((i for i in block_from(lines, place) if BARRIER.fullmatch(lines[i])), None)
            if barrier is not None:
                yield place, moved(lines, place, barrier)

    return rule


def rewrite(pattern: re.Pattern[str], change: Callable[[re.Match[str]], tuple[str, ...]]) -> Rule:
    """Lines in place of each that matches."""

    def rule(lines: Lines) -> Changed:
        for place in places(lines, pattern):
            match = pattern.fullmatch(lines[place])
            assert match
            yield place, replaced(lines, place, *change(match))

    return rule


def ring_size(by: int) -> Rule:
    """Slot numbers that begin again earlier or later."""
    turn = re.compile(r"setp\.eq\.b32 (%p\d+), (%r\d+), ([234]);")

    def rule(lines: Lines) -> Changed:
        for place in places(lines, turn):
            match = turn.fullmatch(lines[place])
            assert match
            if re.fullmatch(rf"selp\.b32 %r\d+, 0, {match[2]}, {match[1]};", lines[place + 1]):
                yield place, replaced(lines, place, f"setp.eq.b32 {match[1]}, {match[2]}, {int(match[3]) + by};")

    return rule
