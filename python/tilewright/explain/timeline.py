"""Writes what the warps of simulated programs did in the form that chrome://tracing and Perfetto show."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..native.errors import with_visible_controls

TURN, STEP, WAIT, COPY = range(4)  # TimelineEvent::Kind of backend/warpsim/Timeline.h
UNIT = "a step: one instruction of any warp of the program, in the order in which they ran; no cycles and no time"
# The opcode of PTX, with or without a guard, and of LLVM's IR, with or without a result; calls of the
# latter name what they are.
_OPERATION = re.compile(r"(?:@\S+\s+|%\S+ = )?([^\s;]+)")
_CALLED = re.compile(r"\bcall\b[^@]*@(?:llvm\.)?([\w.$]+)\(")
_CATEGORIES = {TURN: "turn", STEP: "step", WAIT: "wait", COPY: "copy"}


def chrome_trace(timelines: Sequence[Mapping[str, Any]], instructions: Mapping[str, Mapping[str, Any]]) -> str:
    """The trace, as JSON: a process for each program and a thread for each of its warps, in which turns hold the
    instructions that are more than arithmetic, and waits stand between turns; copies that are in flight as
    asynchronous spans. A step is shown as a microsecond."""
    events = [event for timeline in timelines for event in _events(timeline, instructions)]
    other = {"unit": UNIT, "cut": [one["program"] for one in timelines if one["isCut"]]}
    return json.dumps({"displayTimeUnit": "ms", "otherData": other, "traceEvents": events})


def _events(timeline: Mapping[str, Any], instructions: Mapping[str, Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    program = timeline["program"]
    yield _metadata("process_name", program, 0, f"program {program}")
    for warp in sorted({event[1] for event in timeline["events"]}):
        yield _metadata("thread_name", program, warp, f"warp {warp}")
    for number, (kind, warp, place, begin, end) in enumerate(timeline["events"]):
        if kind == TURN and begin == end:
            continue  # the warp was asked, and could not go on
        found = instructions.get(str(place), {})
        name = {TURN: "runs", WAIT: f"waits: {_name(found)}"}.get(kind, _name(found))
        shared = {"name": name, "cat": _CATEGORIES[kind], "pid": program, "tid": warp}
        if kind == COPY:
            key = f"{program}.{number}"
            yield {**shared, "ph": "b", "id": key, "ts": begin, "args": _place(found)}
            yield {**shared, "ph": "e", "id": key, "ts": end}
        else:
            yield {**shared, "ph": "X", "ts": begin, "dur": end - begin, "args": _place(found)}


def _metadata(name: str, program: int, warp: int, text: str) -> dict[str, Any]:
    return {"name": name, "ph": "M", "pid": program, "tid": warp, "args": {"name": text}}


def _place(instruction: Mapping[str, Any]) -> dict[str, str]:
    """The text of an instruction, and where it comes from. Names of files may have any signs."""
    if not instruction:
        return {}
    place = f"{instruction['file']}:{instruction['line']}" if instruction["line"] else ""
    return {"instruction": with_visible_controls(instruction["text"]), "source": with_visible_controls(place)}


def _name(instruction: Mapping[str, Any]) -> str:
    """The operation of an instruction's text: bar.sync of `@%p1 bar.sync 0`, mfma... of `%1 = call ... @mfma...(`."""
    text = instruction.get("text", "")
    match = _CALLED.search(text) or _OPERATION.match(text)
    return with_visible_controls(match[1]) if match else "?"
