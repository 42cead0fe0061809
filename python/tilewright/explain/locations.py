"""Source lines of operations in a text of MLIR, by the locations at the ends of its lines."""

from __future__ import annotations

import functools
import re
from typing import NamedTuple

_DEFINED = re.compile(r"^(#loc\d*) = loc\((.*)\)$")
_AT_END = re.compile(r"\s*loc\((#loc\d*|[^()]*(?:\([^()]*\)[^()]*)*)\)\s*$")
_ANYWHERE = re.compile(r"\s*loc\((?:#loc\d*|\"(?:[^\"\\]|\\.)*\"(?:\(#loc\d*\))?[^()]*)\)")
_PLACE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):(\d+)')
_ALIAS = re.compile(r"#loc\d*")


class Line(NamedTuple):
    """A line of a text without its location, and the source line that it comes from; 0: none."""

    text: str
    source: int


class Located:
    """A text of MLIR that was printed with locations. `file` is the kernel's; what was inlined from
    elsewhere has the line of the call."""

    def __init__(self, text: str, file: str) -> None:
        self.file = file
        rows = text.splitlines()
        self._defined = {m[1]: m[2] for row in rows if (m := _DEFINED.match(row))}
        self.lines = [self._read(row) for row in rows if not _DEFINED.match(row)]

    def _read(self, row: str) -> Line:
        found = _AT_END.search(row)
        source = self._line_of(found[1]) if found else 0
        if found:
            row = row[: found.start()]
        return Line(_ANYWHERE.sub("", row), source)

    @functools.cached_property
    def _known(self) -> dict[str, int]:
        return {}

    def _line_of(self, location: str) -> int:
        """The last place in the kernel's file: that of the outermost call."""
        if location not in self._known:
            self._known[location] = 0  # of locations that would name themselves
            self._known[location] = self._find(location)
        return self._known[location]

    def _find(self, location: str) -> int:
        for part in reversed(re.findall(r'"(?:[^"\\]|\\.)*":\d+:\d+|#loc\d*', location)):
            if place := _PLACE.fullmatch(part):
                if place[1] == self.file:
                    return int(place[2])
            elif line := self._line_of(self._defined.get(part, "")):
                return line
        return 0

    @property
    def text(self) -> str:
        """The text without locations."""
        return "\n".join(line.text for line in self.lines) + "\n"
