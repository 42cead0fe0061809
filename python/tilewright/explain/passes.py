"""The passes that changed a kernel, from the texts that they left."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from .facts import PassChange

_OPERATION = re.compile(r"^\s*(?:%\S+(?::\d+)? = )?\"?([a-z_]+\.[\w.]+)")
_LOCATION = re.compile(r"\s*loc\(.*\)$")
_NAME = re.compile(r"%[\w$.#-]+")


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


def _operations(rows: Counter[str]) -> Counter[str]:
    found: Counter[str] = Counter()
    for row, count in rows.items():
        if match := _OPERATION.match(row):
            found[match[1]] += count
    return found
