"""Findings that follow from a kernel's operations and code, where no pass reports them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from ..analysis.instructions import inside
from ..native.targets import device_named
from .facts import Explanation, Finding
from .formulas import Formula
from .plan import Access, LoopPlan
from .remarks import INFORMATION

_SPILL_RANK, _SCATTERED_RANK, _LOOP_RANK, _UNKNOWN_RANK = 1, 2, 3, 4
_PIPELINED, _NARROW, _CONVERTED = "TW0356", "TW0350", "TW0351"
_ALIGNED = 16  # what launches find out of integers
_NEIGHBOURS = "Let the innermost index run along consecutive elements."
_VECTOR_BYTES = 16  # of the narrowest vectors of processors: less is a scalar


def derived_findings(found: Explanation) -> list[Finding]:
    """All findings: those of passes, with the arguments that matter to narrow accesses, and more."""
    plan = found.plan
    if plan is None:
        return found.findings
    findings = [_with_reason(f, found, plan.accesses) for f in found.findings]
    told = {f.line for f in findings if f.file == found.file and "neighbours" in f.message}
    findings = [_with_moves(f, found) for f in findings]
    findings += _scattered(found, [a for a in plan.accesses if a.line not in told])
    if device_named(found.target).is_gpu:
        return [*findings, *_loops(found, plan.loops)]
    return [*findings, *_gathered(found, plan.accesses), *_stack(found), *_vectors(found)]


def _with_reason(finding: Finding, found: Explanation, accesses: list[Access]) -> Finding:
    if finding.code != _NARROW or finding.file != found.file:
        return finding
    reason = ""
    for access in (a for a in accesses if a.line == finding.line):
        if "mask" in finding.message:
            reason = _unaligned(found, access)
        elif "neighbours" in finding.message and access.apart and access.apart.number != 1:
            reason = f"they lie {access.apart} elements apart"
        if reason:
            return replace(finding, message=f"{finding.message}; {reason}")
    return finding


def _unaligned(found: Explanation, access: Access) -> str:
    """The arguments that a mask compares with, where nothing is known of what divides them."""
    request = found.request
    facts = dict(zip(request.parameters, request.facts))
    names = {name for bound in access.bounds for names in bound.terms for name in names}
    unknown = sorted(n for n in names if getattr(facts.get(n), "divisibility", _ALIGNED) < _ALIGNED)
    if not unknown:
        return ""
    verb = "is" if len(unknown) == 1 else "are"
    return f"{' and '.join(unknown)} {verb} not known to be divisible by {_ALIGNED}"


def _with_moves(finding: Finding, found: Explanation) -> Finding:
    """A change of layout, with what it moves: through shared memory, or by shuffles."""
    if finding.code != _CONVERTED or finding.file != found.file:
        return finding
    is_staged = "shared memory" in finding.message
    moves = [m for m in found.moves if m.line == finding.line and m.is_staged == is_staged]
    if not moves:
        return finding
    lanes, warps = sum(m.lanes for m in moves), sum(m.warps for m in moves)
    parts = [f"{lanes} from another lane"] * bool(lanes)
    parts += [f"{warps} from another warp"] * bool(warps)
    text = f"lanes get {sum(m.elements for m in moves)} elements, {' and '.join(parts)}"
    return replace(finding, message=f"{finding.message}; {text}")


def _loops(found: Explanation, loops: list[LoopPlan]) -> Iterator[Finding]:
    """Loops whose loads stay in their iterations, where nothing was said of them."""
    spans = dict(_spans(found))
    for loop in {loop.line: loop for loop in loops}.values():
        lines = range(loop.line, spans.get(loop.line, loop.line) + 1)
        told = any(
            f.code == _PIPELINED and f.file == found.file and f.line in lines
            for f in found.findings
        )
        if loop.loads and not told:
            yield Finding(
                found.file, loop.line, 1, _PIPELINED,
                f"this loop is not pipelined: {_why(found, loop)}", _LOOP_RANK,
            )  # fmt: skip


def _why(found: Explanation, loop: LoopPlan) -> str:
    if found.options.get("num_stages", 0) < 2:
        return f"num_stages={found.options.get('num_stages')} asks for no copies ahead"
    if not loop.products:
        return "only operands of matrix products are copied ahead, and it has none"
    return "no pass copied its loads ahead"


def _spans(found: Explanation) -> Iterator[tuple[int, int]]:
    """The first and the last line of each loop of the source."""
    capture = json.loads(found.request.source.capture.buffer)
    waiting: list[Any] = [capture["functions"][capture["entry"]]["ast"]]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            entries = cast("dict[str, Any]", node)
            if entries.get("_") in ("For", "While"):
                yield entries["@"][0], entries["@"][2]
            waiting += entries.values()
        elif isinstance(node, list):
            waiting += cast("list[Any]", node)


def _scattered(found: Explanation, accesses: list[Access]) -> Iterator[Finding]:
    """Accesses whose neighbours do not lie next to each other in memory."""
    way = (
        "a lane each, in sectors of their own"
        if device_named(found.target).is_gpu
        else "one by one or gathered"
    )
    for access in {(a.line, a.array, a.is_store, str(a.apart)): a for a in accesses}.values():
        if access.type.size < 2 or (access.apart is not None and access.apart.number == 1):
            continue
        where = (
            f"they lie {access.apart} elements apart"
            if access.apart
            else "nothing is known of their distance"
        )
        verb = "stored" if access.is_store else "loaded"
        name = f" of {access.array}" if access.array else ""
        message = f"elements{name} are {verb} {way}: {where}"
        rank = _SCATTERED_RANK if access.apart else _UNKNOWN_RANK
        yield Finding(found.file, access.line, 1, "", message, rank, advice=_NEIGHBOURS)


def _gathered(found: Explanation, accesses: list[Access]) -> Iterator[Finding]:
    """Accesses with consecutive elements along one axis whose vectors follow another axis."""
    gathers = {
        line
        for line, facts in found.lines.items()
        if any(kind.word == "gather" for kind in facts.kinds)
    }
    steps = {
        (a.line, a.array, a.is_store): [s for s in a.strides if s is None or s.number != 0]
        for a in accesses
        if a.line in gathers and a.apart is not None and a.apart.number == 1
    }
    across = {key for key, known in steps.items() if known and known[-1] != Formula.of(1)}
    for line, array, is_store in across or steps:
        apart = [s for s in steps[line, array, is_store] if s is not None and s.number != 1]
        if not apart:
            continue
        name = f" of {array}" if array else ""
        message = (
            f"elements{name} are {'scattered' if is_store else 'gathered'}: vectors run along the "
            f"axis of the tile where they lie {apart[-1]} elements apart"
        )
        yield Finding(found.file, line, 1, "", message, _SCATTERED_RANK, advice=_NEIGHBOURS)


_FEW_MOVES, _FEW_RANK = 8, 7


def _stack(found: Explanation) -> Iterator[Finding]:
    """Vectors of processors that innermost loops keep on the stack: more values than registers."""
    if found.code is None:
        return
    moves: Counter[int] = Counter()
    for number in inside(found.code):
        instruction = found.code.instructions[number]
        kind = instruction.kind
        is_own = instruction.line and instruction.file == found.file.rpartition("/")[2]
        if is_own and kind.word.startswith("stack") and kind.bytes >= _VECTOR_BYTES:
            moves[instruction.line] += 1
    for line, count in moves.items():
        message = (
            f"vectors on the stack, {count} times in innermost loops: there are more values than "
            "registers, or a small tile lies there"
        )
        yield Finding(
            found.file, line, 1, "", message, _SPILL_RANK if count > _FEW_MOVES else _FEW_RANK,
            advice="Use smaller tiles, or fewer of them in the loop.",
        )  # fmt: skip


def _vectors(found: Explanation) -> Iterator[Finding]:
    """How wide the vectors of a line are, and how many are masked, as tails and bounds ask for."""
    for line, facts in found.lines.items():
        counts: Counter[int] = Counter()
        masked = 0
        for kind, count in facts.kinds.items():
            counts[kind.bytes] += count if kind.form.startswith(str(kind.bytes)) else 0
            masked += count if kind.form.endswith("masked") else 0
        if widest := max(counts, default=0):
            message = f"vectors of {widest} bytes in {counts[widest]} instructions"
            message += f", {masked} instructions are masked" if masked else ""
            yield Finding(found.file, line, 1, "", message, INFORMATION)
