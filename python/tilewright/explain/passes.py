"""The passes that changed a kernel, from the texts that they left."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from .facts import PassChange

_OPERATION = re.compile(r"^\s*(?:%\S+(?::\d+)? = )?\"?([a-z_]+\.[\w.]+)")
_LOCATION = re.compile(r"\s*loc\(.*\)$")
_NAME = re.compile(r"%[\w$.#-]+")
_OWN_LOCATION = re.compile(r"loc\((#loc\d*)\)$")
_NAMED_LOCATION = re.compile(r"^(#loc\d*) = loc\((.*)\)$", re.MULTILINE)
_PLACE = re.compile(r'"((?:[^"\\]|\\.)*)":(\d+):')


class FirstChange(NamedTuple):
    """The first operation of a text that another lacks: its name, and its file and line, 0 where unknown."""

    operation: str
    file: str
    line: int

    def __str__(self) -> str:
        place = f" at {Path(self.file).name}:{self.line}" if self.line else ""
        return f"{self.operation}{place}"


def changes_of(files: Iterable[Path]) -> list[PassChange]:
    """The changes of each pass. `files` are numbered, as NN-PASS.mlir; the first is the input."""
    changes: list[PassChange] = []
    before: Counter[str] | None = None
    for file in files:
        rows = [_LOCATION.sub("", row).strip() for row in file.read_text().splitlines()]
        # Values are numbered anew by every pass.
        after = Counter(_NAME.sub("%", row) for row in rows if row and not row.startswith("#loc"))
        if before is not None:
            added, removed = after - before, before - after
            operations = _operations(added)
            operations.subtract(_operations(removed))
            changes.append(
                PassChange(
                    re.sub(r"^\d+-", "", file.stem),
                    added.total(),
                    removed.total(),
                    {name: count for name, count in operations.most_common() if count},
                )  # fmt: skip
            )
        before = after
    return changes


def first_change(before: str, after: str) -> FirstChange | None:
    """The first operation that `after` has and `before` has not, else the first that it lacks, a constant only
    where there is nothing else; None where both have the same. The texts are modules with locations."""
    counts = [Counter(_shape(row) for row in text.splitlines()) for text in (before, after)]
    found: list[FirstChange] = []
    for text, added in ((after, counts[1] - counts[0]), (before, counts[0] - counts[1])):
        named, rows = dict(_NAMED_LOCATION.findall(text)), text.splitlines()
        for index, row in enumerate(rows):
            if added[_shape(row)] and (match := _OPERATION.match(row)):
                found.append(FirstChange(match[1], *_place(_last_row(rows, index), named)))
    return next((one for one in found if one.operation != "arith.constant"), next(iter(found), None))


def _shape(row: str) -> str:
    return _NAME.sub("%", _LOCATION.sub("", row).strip())


def _last_row(rows: list[str], index: int) -> str:
    """The row that ends an operation, which has its location: the closing brace of one with a region."""
    if not rows[index].endswith("{"):
        return rows[index]
    end = " " * (len(rows[index]) - len(rows[index].lstrip())) + "}"
    return next((row for row in rows[index + 1 :] if row.startswith(end) and not row.endswith("{")), rows[index])


def _place(row: str, named: dict[str, str]) -> tuple[str, int]:
    """The file and line of an operation, those of the innermost call."""
    own = _OWN_LOCATION.search(row)
    waiting, seen = [own[1]] if own else [], set[str]()
    while waiting:
        name = waiting.pop(0)
        text = named.get(name, "")
        if match := _PLACE.search(text):
            return re.sub(r"\\(.)", r"\1", match[1]), int(match[2])
        seen.add(name)
        waiting += [other for other in re.findall(r"#loc\d*", text) if other not in seen]
    return "", 0


def _operations(rows: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row, count in rows.items():
        if match := _OPERATION.match(row):
            found[match[1]] += count
    return found
