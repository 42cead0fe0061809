"""Adds the counters of a simulated launch to an explanation, by source line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .facts import SECTOR_BYTES, Explanation, Finding, MeasuredLine

_POOR_SHARE, _POOR_RANK = 0.5, 2  # of the bytes of sectors that are asked for
_MANY_CONFLICTS, _CONFLICT_RANK = 1.1, 3


def add_statistics(found: Explanation, statistics: Mapping[str, Any]) -> None:
    """Add the counters of a launch: `tw.simulation.last_report().statistics`."""
    name = found.file.rpartition("/")[2]
    for line in statistics.get("lines", ()):
        if line["file"] == name and line["line"]:
            found.measured[line["line"]] = measured = _measured(line)
            found.findings += _findings(found, line["line"], measured)
    found.findings.sort(key=lambda f: (f.rank, f.file != found.file, f.line, f.column))


def _measured(line: Mapping[str, Any]) -> MeasuredLine:
    return MeasuredLine(
        **{key: value for key, value in line.items() if key not in ("file", "line")}
    )


def _findings(found: Explanation, number: int, measured: MeasuredLine) -> list[Finding]:
    findings: list[Finding] = []
    if measured.global_requests and measured.share_of_sectors < _POOR_SHARE:
        message = (
            f"measured: {measured.global_sectors / measured.global_requests:.1f} sectors of "
            f"{SECTOR_BYTES} bytes a request, and {100 * measured.share_of_sectors:.0f} % of their "
            "bytes were asked for"
        )
        findings.append(Finding(found.file, number, 1, "", message, _POOR_RANK))
    if measured.conflicts > _MANY_CONFLICTS:
        message = f"measured: bank conflicts, {measured.conflicts:.1f} times the wavefronts without"
        findings.append(Finding(found.file, number, 1, "TW0372", message, _CONFLICT_RANK))
    return findings
