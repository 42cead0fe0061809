"""Edits of PTX by pattern, and the bugs that they seed.

A pattern is a statement of PTX with single spaces in which `$name` stands for a register or a
label, `#name` for a number and `*` for any text, e.g. `@$p ld.global.b32 $x, [$a+#offset];`. A name
that one edit of a mutant has found stands for the same thing in the edits after it, in what they
write and in the places of its findings; `$_` and `#` are not remembered. So a pattern whose result
is a register found before finds the line that defines it. In what an edit writes, `#name+4` is that
number plus 4, and `*` the text that it stood for.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

TOKEN = re.compile(r"(?<!\w)\$(?P<register>\w+)|#(?P<number>\w*)(?P<sum>[+-]\d+)?|(?P<any>\*)")
REGISTER, NUMBER = r"[%$]\w+", r"-?\w+"
# Registers that no compiled kernel has, for what mutants insert.
FRESH = ".reg .pred %on;\n.reg .b32 %mine, %other;\n.reg .b64 %wide;"


class Line(NamedTuple):
    """Line number `at` of those that match a pattern, of which there are `of`."""

    pattern: str
    at: int = 0
    of: int = 1


class Text:
    """The statements of a PTX text, and what the names of patterns stand for."""

    def __init__(self, text: str) -> None:
        self.lines = statements(text)
        self.names: dict[str, str] = {}

    def matches(self, pattern: str, of: int) -> list[tuple[int, re.Match[str]]]:
        """Where the pattern is, which must be so many times."""
        expression = re.compile(regular(pattern, self.names))
        found = [(i, m) for i, line in enumerate(self.lines) if (m := expression.fullmatch(line))]
        assert len(found) == of, f"{pattern!r} is there {len(found)} times, not {of}: {self.names}"
        return found

    def find(self, line: Line) -> tuple[int, re.Match[str]]:
        """The place of a line, whose names are remembered."""
        place, match = self.matches(line.pattern, line.of)[line.at]
        self.names |= {k: v for k, v in match.groupdict().items() if not k.startswith("any")}
        return place, match

    def replace(self, place: int, new: str) -> None:
        """Puts some lines, or none, in the place of one."""
        lines = new.split("\n") if new else []
        assert lines != [self.lines[place]], f"{new!r} is there already"
        self.lines[place : place + 1] = lines


Edit = Callable[[Text], None]


class Mutant(NamedTuple):
    """A bug, and what is to be reported of it.

    It is found when a finding has one of its kinds at an instruction that begins with one of its
    places, and the source's line has one of the sources (alternatives are separated by `|`).
    Without kinds the numbers are wrong, and nothing may be reported. `right_when_eager`: numbers of
    a kernel with asynchronous copies are right when copies complete at once, so only checks, or
    copies that complete late, show the bug.
    """

    golden: str
    bug: str
    edits: tuple[Edit, ...]
    kinds: str = ""
    places: str = ""
    sources: str = ""
    right_when_eager: bool = False

    @property
    def name(self) -> str:
        return f"{self.golden}: {self.bug}"

    def seeded(self, text: str) -> tuple[str, str]:
        """The kernel with the bug, and an expression for the instructions that are its places."""
        edited = Text(text)
        before = list(edited.lines)
        for edit in self.edits:
            edit(edited)
        assert edited.lines != before, f"{self.name}: nothing changes"
        edited.replace(edited.lines.index("{"), "{\n" + FRESH)
        places = "|".join(regular(place, edited.names) for place in self.places.split("|"))
        return "\n".join(edited.lines), re.sub(r"\?P<\w+>", "?:", places)


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


def regular(pattern: str, names: dict[str, str]) -> str:
    """The regular expression of a pattern."""
    new: set[str] = set()

    def group(token: re.Match[str]) -> str:
        if token["any"]:
            new.add(name := f"any{len(new)}")
            return f"(?P<{name}>.*)"
        name = token["register"] or token["number"]
        kind = REGISTER if token["register"] else NUMBER
        if name in names:
            return re.escape(names[name])
        if name in new:
            return f"(?P={name})"
        if name in ("", "_"):
            return kind
        new.add(name)
        return f"(?P<{name}>{kind})"

    parts, end = [], 0
    for token in TOKEN.finditer(pattern):
        parts += [re.escape(pattern[end : token.start()]), group(token)]
        end = token.end()
    return "".join(parts) + re.escape(pattern[end:])


def written(new: str, names: dict[str, str], match: re.Match[str] | None = None) -> str:
    """What an edit writes, with what its names stand for."""
    groups = match.groupdict() if match else {}
    remaining = iter(text for name, text in groups.items() if name.startswith("any"))

    def value(token: re.Match[str]) -> str:
        if token["any"]:
            return next(remaining)
        if token["register"]:
            return names[token["register"]]
        number = names[token["number"]]
        return str(int(number) + int(token["sum"])) if token["sum"] else number

    return TOKEN.sub(value, new)


def see(pattern: str, at: int = 0, of: int = 1) -> Edit:
    """Finds a line for its names."""

    def edit(text: Text) -> None:
        text.find(Line(pattern, at, of))

    return edit


def chain(*patterns: str) -> tuple[Edit, ...]:
    """Finds lines of which there is one each, as from an address to what it is computed from."""
    return tuple(see(pattern) for pattern in patterns)


def change(pattern: str, new: str, at: int = 0, of: int = 1) -> Edit:
    """Replaces a line."""

    def edit(text: Text) -> None:
        place, match = text.find(Line(pattern, at, of))
        text.replace(place, written(new, text.names, match))

    return edit


def change_all(pattern: str, new: str, of: int) -> Edit:
    """Replaces each line of a pattern, whose names are each line's own."""

    def edit(text: Text) -> None:
        for place, match in reversed(text.matches(pattern, of)):
            text.replace(place, written(new, text.names | match.groupdict(), match))

    return edit


def drop(pattern: str, at: int = 0, of: int = 1) -> Edit:
    return change(pattern, "", at, of)


def drop_all(pattern: str, of: int) -> Edit:
    return change_all(pattern, "", of)


def insert(new: str, *, before: Line | None = None, after: Line | None = None) -> Edit:
    """Writes lines next to another one."""

    def edit(text: Text) -> None:
        line = before or after
        assert line
        place, _ = text.find(line)
        target = place if before else place + 1
        text.lines[target:target] = written(new, text.names).split("\n")

    return edit


def move(line: Line, *, before: Line | None = None, after: Line | None = None) -> Edit:
    """Moves a line next to another one, which is looked for while the line is still there."""

    def edit(text: Text) -> None:
        source, _ = text.find(line)
        other = before or after
        assert other
        place, _ = text.find(other)
        target = place if before else place + 1
        assert target not in (source, source + 1), f"{line.pattern!r} is there already"
        moved = text.lines.pop(source)
        text.lines.insert(target - (source < target), moved)

    return edit
