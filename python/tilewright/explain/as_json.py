"""An explanation as JSON. Names are stable; numbers that nobody measured are absent."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from .facts import Explanation
from .plan import Plan
from .text import shown_options

_VERSION = 1  # grows where a name changes its meaning or goes


def json_of(found: Explanation) -> str:
    """The text of the JSON."""
    return json.dumps(data_of(found), indent=1, ensure_ascii=True)


def data_of(found: Explanation) -> dict[str, Any]:
    """The explanation as dicts, lists, numbers and texts."""
    data: dict[str, Any] = {
        "version": _VERSION,
        "name": found.name,
        "file": found.file,
        "line": found.def_line,
        "target": found.target,
        "arguments": found.arguments,
        "options": shown_options(found),
        "error": found.error or None,
        "reached": found.reached,
        "resources": found.resources,
        "shared": [dataclasses.asdict(buffer) for buffer in found.shared],
        "occupancy": None,
        "roofline": None,
        "work": _work(found.plan),
        "findings": [dataclasses.asdict(finding) for finding in found.findings],
        "lines": _lines(found),
        "code": None,
        "moves": [move._asdict() for move in found.moves],
        "passes": [dataclasses.asdict(change) for change in found.passes],
    }
    if occupancy := found.occupancy:
        data["occupancy"] = {
            **dataclasses.asdict(occupancy), "limited_by": occupancy.limited_by
        }  # fmt: skip
    if roofline := found.roofline:
        data["roofline"] = {**dataclasses.asdict(roofline), "bound": roofline.bound}
    if code := found.code:
        loops = [{"line": x.line, "instructions": x.last - x.first + 1} for x in code.innermost()]
        data["code"] = {
            "language": code.language,
            "instructions": len(code.instructions),
            "innermost_loops": loops,
        }  # fmt: skip
    return data


def _work(plan: Plan | None) -> dict[str, Any] | None:
    if plan is None:
        return None
    return {
        "load_bytes": str(plan.bytes(False)),
        "store_bytes": str(plan.bytes(True)),
        "operations": str(plan.operations),
        "intensity": plan.intensity,
        "loops": [{"line": loop.line, "trips": str(loop.trips)} for loop in plan.loops],
        "products": [
            {"line": p.line, "m": p.m, "n": p.n, "k": p.k, "element": p.element}
            for p in plan.products
        ],
    }


def _lines(found: Explanation) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    for number, text in found.rows():
        facts, measured = found.lines.get(number), found.measured.get(number)
        kinds = facts.kinds.items() if facts else ()
        rows.append(
            {
                "line": number,
                "source": text,
                "instructions": facts.total if facts else 0,
                "measured": dataclasses.asdict(measured) if measured else None,
                "in_innermost_loops": facts.in_loops if facts else 0,
                "kinds": [
                    {"kind": k.word, "bytes": k.bytes, "form": k.form, "count": n} for k, n in kinds
                ],
            }
        )
    return rows
