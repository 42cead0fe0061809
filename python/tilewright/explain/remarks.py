"""Findings from what the compiler reports, the worst first."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any, NamedTuple

from ..native import native
from ..native.errors import Report
from .facts import Finding

INFORMATION = 9
# By code: the rank, and words of messages that only say what was done.
_RANKS: dict[str, tuple[int, str]] = {
    "TW0350": (4, ""),
    "TW0351": (6, ""),
    "TW0352": (INFORMATION, ""),
    "TW0353": (INFORMATION, ""),
    "TW0354": (INFORMATION, ""),
    "TW0355": (2, ""),
    "TW0356": (3, "pipelined:"),
    "TW0357": (7, "where"),
    "TW0358": (1, ""),
    "TW0366": (5, ""),
    "TW0367": (4, ""),
    "TW0371": (7, "copy together"),
    "TW0372": (3, ""),
    "TW0373": (2, ""),
    "TW0438": (INFORMATION, ""),
}
_OTHER_RANK = 7
_SCATTERED = "neighbours"  # accesses that are not coalesced
_SCATTERED_RANK = 2


class Place(NamedTuple):
    """A file, a line and a column, from 1."""

    file: str
    line: int
    column: int


def findings_of(reports: Iterable[Report], file: str) -> list[Finding]:
    """The findings of reports. `file` is the kernel's: of what it calls, the call's line counts."""
    counts = Counter((_place_of(r, file), r["code"], r["message"]) for r in reports)
    return [
        Finding(*place, code, message, _rank(code, message), count, advice_of(code))
        for (place, code, message), count in counts.items()
    ]


def _rank(code: str, message: str) -> int:
    rank, done = _RANKS.get(code, (_OTHER_RANK, ""))
    if done and done in message:
        return INFORMATION
    if code == "TW0350" and _SCATTERED in message and "mask" not in message:
        return _SCATTERED_RANK
    return rank


def _place_of(report: Report, file: str) -> Place:
    parts: dict[str, Any] = json.loads(report["json"]) if "json" in report else {}
    labels: list[Any] = [*parts.get("labels", [])[:1], *parts.get("callStack", [])]
    places = [Place(x.get("file", ""), x.get("line", 0), x.get("column", 0)) for x in labels]
    own = [place for place in places if place.file == file]
    return own[-1] if own else places[0] if places else Place(file, 0, 0)


@functools.cache
def _fixes() -> dict[str, str]:
    return {code: fix for code, _, _, _, fix in native().report_pages()}


def advice_of(code: str) -> str:
    """The advice on the page of a code; empty where there is nothing to do."""
    fix = _fixes().get(code, "")
    return "" if re.match("Nothing (has to be done|is wrong)", fix) else fix
