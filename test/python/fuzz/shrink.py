"""Makes a failing kernel smaller: removes statements and blocks while it fails in the same way."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable

from launch import Case


# Parts of a line that can go.
OPTIONS = [
    r", mask=.*?(?=, other=|\)$)", r", other=[^,)]*(?=\)$)", r" \+ \d+(?=\W)", r", volatile=True",
]  # fmt: skip


def kind_of(failure: str) -> str:
    """The part of a failure that must stay the same."""
    code = re.search(r"TW\d{4}\]: [^:\n]{0,40}", failure)
    return failure.split(":")[0] + (code.group() if code else "")


def indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def block_end(lines: list[str], start: int) -> int:
    """The first line behind the statement at `start` and what belongs to it."""
    end = start + 1
    while end < len(lines) and indent(lines[end]) > indent(lines[start]):
        end += 1
    has_else = end < len(lines) and lines[end].strip() == "else:"
    if has_else and indent(lines[end]) == indent(lines[start]):
        return block_end(lines, end)
    return end


def smaller_bodies(lines: list[str], first: int) -> list[list[str]]:
    """The kernel without one statement, or with a block's body in place of the block."""
    candidates = []
    for size in (8, 3, 1):
        for start in range(len(lines) - 1, first - 1, -size):
            end = start
            for _ in range(size):
                end = block_end(lines, end) if end < len(lines) else end
            candidates.append(lines[:start] + lines[end:])
    for start in range(first, len(lines)):
        if lines[start].rstrip().endswith(":"):
            end = start + 1
            while end < len(lines) and indent(lines[end]) > indent(lines[start]):
                end += 1
            body = [line[4:] for line in lines[start + 1 : end]]
            candidates.append(lines[:start] + body + lines[end:])
    return candidates


def simpler_lines(lines: list[str], first: int) -> list[list[str]]:
    """The kernel with one option or operand less."""
    candidates = []
    for i in range(first, len(lines)):
        for option in OPTIONS:
            line = re.sub(option, "", lines[i], count=1)
            if line != lines[i]:
                candidates.append([*lines[:i], line, *lines[i + 1 :]])
    return candidates


def keeps_counters(lines: list[str], candidate: list[str]) -> bool:
    """Whether every `while` still counts down, so that the kernel ends."""
    def count(text: list[str], start: str) -> int:
        return sum(line.strip().startswith(start) for line in text)

    steps = sum(line.strip().endswith(" -= 1") for line in candidate)
    return steps >= count(candidate, "while ")


def shrink(case: Case, failure: str, check: Callable[[Case], str], limit: int = 400) -> Case:
    """A case that fails like the given one."""
    wanted, tries, grew_smaller = kind_of(failure), 0, True
    while grew_smaller and tries < limit:
        grew_smaller = False
        lines = case.source.splitlines()
        first = next(i for i, line in enumerate(lines) if line.startswith("def kernel")) + 1
        for make in (smaller_bodies, simpler_lines):
            for candidate in make(lines, first):
                tries += 1
                if not keeps_counters(lines, candidate):
                    continue
                smaller = dataclasses.replace(case, source="\n".join(candidate) + "\n")
                if tries < limit and kind_of(check(smaller)) == wanted:
                    case, grew_smaller = smaller, True
                    break
            if grew_smaller:
                break
    return without_unused(case, wanted, check)


def without_unused(case: Case, wanted: str, check: Callable[[Case], str]) -> Case:
    """Drops parameters that the kernel does not use, if it still fails."""
    head, _, body = case.source.partition("def kernel(")
    _, _, body = body.partition("):\n")

    def is_named(name: str) -> bool:
        return bool(re.search(rf"\b{name}\b", body))

    homes = {a.alias[0] for n, a in case.arrays.items() if a.alias and is_named(n)}

    def is_used(name: str) -> bool:
        return is_named(name) or name in homes

    arrays = {n: a for n, a in case.arrays.items() if is_used(n)}
    scalars = {n: s for n, s in case.scalars.items() if is_used(n)}
    source = f"{head}def kernel({', '.join([*arrays, *scalars])}):\n{body}"
    smaller = dataclasses.replace(case, source=source, arrays=arrays, scalars=scalars)
    return smaller if kind_of(check(smaller)) == wanted else case
