"""How two explanations differ: settings, resources, findings, and instructions by source line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from ..native.errors import with_visible_controls
from .facts import Explanation, Finding
from .remarks import INFORMATION
from .text import shown_options

_WIDTH = 34


def diff_of(left: Explanation, right: Explanation) -> str:
    """The text: what was asked for, then numbers, findings and lines that are not the same."""
    rows = [_row("", left.target, right.target)]
    rows += [_row(*row) for row in _settings(left, right)]
    rows += [_row(*row) for row in _numbers(left, right) if row[1] != row[2]]
    for found, side in ((left, "left"), (right, "right")):
        if found.error:
            rows.append(f"{side}: does not compile: {found.error.splitlines()[0]}")
    rows += _findings(left, right)
    rows += _lines(left, right)
    return "".join(with_visible_controls(row) + "\n" for row in rows)


def _row(name: str, left: str, right: str) -> str:
    return f"{name:<26} {left:<{_WIDTH}} {right}".rstrip()


def _settings(left: Explanation, right: Explanation) -> Iterator[tuple[str, str, str]]:
    if (left.name, left.file) != (right.name, right.file):
        yield "kernel", left.name, right.name
    first, second = ({**_arguments(x), **shown_options(x)} for x in (left, right))
    for name in dict.fromkeys([*first, *second]):
        if (ours := str(first.get(name, "-"))) != (theirs := str(second.get(name, "-"))):
            yield name, ours, theirs


def _arguments(found: Explanation) -> dict[str, str]:
    request = found.request
    return {
        name: str(facts) if hasattr(facts, "is_pointer") else repr(value)
        for name, facts, value in zip(request.parameters, request.facts, request.constants)
    }


def _numbers(left: Explanation, right: Explanation) -> Iterator[tuple[str, str, str]]:
    first, second = _figures(left), _figures(right)
    for name in dict.fromkeys([*first, *second]):
        yield name, first.get(name, "-"), second.get(name, "-")


def _figures(found: Explanation) -> dict[str, str]:
    """The numbers of a kernel by what they are of; those that are not known are absent."""
    words = {
        "registers": "registers",
        "spill_bytes": "spilled bytes",
        "shared_bytes": "shared bytes",
    }
    figures = {text: str(found.resources[w]) for w, text in words.items() if w in found.resources}
    if occupancy := found.occupancy:
        figures["programs at a time"] = f"{occupancy.programs} ({', '.join(occupancy.limited_by)})"
    if code := found.code:
        figures["instructions"] = f"{len(code.instructions)} {code.language}"
        sizes = [loop.last - loop.first + 1 for loop in code.innermost()]
        figures["longest innermost loop"] = str(max(sizes, default=0))
    if plan := found.plan:
        figures["load bytes"] = str(plan.bytes(is_store=False))
        figures["store bytes"] = str(plan.bytes(is_store=True))
        figures["operations"] = str(plan.operations)
    return figures


def _findings(left: Explanation, right: Explanation) -> Iterator[str]:
    """Findings of one of them only; numbers in messages count, too."""
    for sign, ours, others in (("-", left, right), ("+", right, left)):
        known = {_key(finding, others) for finding in others.findings}
        for finding in ours.findings:
            if finding.rank < INFORMATION and _key(finding, ours) not in known:
                code = f" [{finding.code}]" if finding.code else ""
                yield f"{sign} line {finding.line}: {finding.message}{code}"


def _key(finding: Finding, found: Explanation) -> tuple[str, str, str]:
    """A key for a finding that is the same in two versions of a kernel, in which lines moved."""
    index = finding.line - found.first_line
    text = found.source[index].strip() if 0 <= index < len(found.source) else ""
    return text, finding.code, finding.message


def _lines(left: Explanation, right: Explanation) -> Iterator[str]:
    """Source lines whose numbers of instructions differ, or that stand in one of them only."""
    matcher = difflib.SequenceMatcher(None, left.source, right.source, autojunk=False)
    for tag, a, b, c, d in matcher.get_opcodes():
        if tag == "equal":
            for index in range(b - a):
                ours, theirs = (_total(x, n + index) for x, n in ((left, a), (right, c)))
                if ours != theirs:
                    number, text = left.first_line + a + index, left.source[a + index].strip()
                    yield f"  line {number}: {ours} -> {theirs} instructions | {text}"
            continue
        for sign, found, span in (("-", left, range(a, b)), ("+", right, range(c, d))):
            for index in span:
                number, text = found.first_line + index, found.source[index].strip()
                yield f"{sign} line {number}: {_total(found, index)} instructions | {text}"


def _total(found: Explanation, index: int) -> int:
    facts = found.lines.get(found.first_line + index)
    return facts.total if facts else 0
