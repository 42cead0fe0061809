"""Edits of PTX by pattern: each says how often its pattern is there, and fails when it is not."""

from __future__ import annotations

import re
from collections.abc import Callable

Edit = Callable[[list[str]], None]
ALL = -1


def statements(text: str) -> list[str]:
    """The lines of a PTX text with single spaces; an instruction over several lines becomes one."""
    lines: list[str] = []
    for line in text.split("\n"):
        words = " ".join(line.split())
        if lines and lines[-1].startswith("mma.") and not lines[-1].endswith(";"):
            lines[-1] += " " + words
        else:
            lines.append(words)
    return lines


def places(lines: list[str], pattern: str, at: int, of: int) -> list[int]:
    """The line numbers of match number `at` (ALL: all) of a pattern that whole lines match."""
    found = [i for i, line in enumerate(lines) if re.fullmatch(pattern, line)]
    assert len(found) == of, f"{pattern!r} is there {len(found)} times, not {of}"
    return found if at == ALL else [found[at]]


def change(pattern: str, new: str, at: int = 0, of: int = 1) -> Edit:
    """Replaces a line; `new` may name the pattern's groups."""

    def edit(lines: list[str]) -> None:
        for place in places(lines, pattern, at, of):
            match = re.fullmatch(pattern, lines[place])
            assert match
            changed = match.expand(new)
            assert changed != lines[place], f"{pattern!r} leaves a line as it is"
            lines[place] = changed

    return edit


def drop(pattern: str, at: int = 0, of: int = 1) -> Edit:
    return change(pattern, "", at, of)


def move(pattern: str, at: int, of: int, to: str, to_at: int = 0, to_of: int = 1) -> Edit:
    """Moves a line to before another one, which is looked for while the line is still there."""

    def edit(lines: list[str]) -> None:
        (source,) = places(lines, pattern, at, of)
        (target,) = places(lines, to, to_at, to_of)
        moved, lines[source] = lines[source], ""
        lines[target] = f"{moved}\n{lines[target]}"

    return edit


def move_behind(pattern: str, at: int, of: int, to: str, to_at: int = 0, to_of: int = 1) -> Edit:
    """Moves a line to behind another one, which is looked for while the line is still there."""

    def edit(lines: list[str]) -> None:
        (source,) = places(lines, pattern, at, of)
        (target,) = places(lines, to, to_at, to_of)
        moved, lines[source] = lines[source], ""
        lines[target] = f"{lines[target]}\n{moved}"

    return edit
