"""An explanation as text for terminals: the kernel, what was in its way, then line by line."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from ..analysis.kinds import ORDER, OTHER, Kind
from ..native.errors import with_visible_controls
from ..native.targets import device_named
from .facts import Explanation, Finding, LineFacts, MeasuredLine
from .remarks import INFORMATION

_WIDTH = 100
_FIRST_SCREEN = 12  # findings that stand above the source; the rest is said at its lines
_BOLD, _RED, _YELLOW, _DIM = "1", "31", "33", "2"
_BAD_RANK = 3  # the last one in red


class _Style:
    """Escape sequences where the terminal has colours; the text itself has none."""

    def __init__(self, has_colours: bool) -> None:
        self.has_colours = has_colours

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.has_colours and text else text


def text_of(found: Explanation, has_colours: bool = False) -> str:
    """The text; nothing in it that a terminal would obey but colours that are asked for."""
    style = _Style(has_colours)
    rows = [*_head(found, style), "", *_findings(found, style), "", *_source(found, style)]
    return "\n".join(rows) + "\n"


def _clean(text: str) -> str:
    """One line without control characters."""
    return with_visible_controls(text.replace("\n", " ").replace("\t", "    "))


def _head(found: Explanation, style: _Style) -> Iterator[str]:
    yield style(_clean(f"{found.name}  {found.file}:{found.def_line}  {found.target}"), _BOLD)
    chosen = [f"{key}={value}" for key, value in shown_options(found).items()]
    yield from _wrapped(_clean("; ".join(filter(None, [found.arguments, ", ".join(chosen)]))))
    if found.error:
        yield style(
            f"does not compile; the last step that was reached: {found.reached or 'the source'}",
            _RED,
        )
        yield from (_clean(row) for row in found.error.rstrip().splitlines())
        return
    yield from _wrapped("; ".join(resources_of(found)))
    if found.shared:
        buffers = (f"{_clean(b.name)}, {b.bytes} bytes at {b.offset}" for b in found.shared)
        yield from _wrapped("shared memory: " + "; ".join(buffers))
    for row in (*occupancy_of(found), *work_of(found)):
        yield from _wrapped(row)


def shown_options(found: Explanation) -> dict[str, object]:
    """The options that the target's code depends on, but for those that are as they always are."""
    if not device_named(found.target).is_gpu:
        return {}
    usual = {"num_ctas": 1, "maxnreg": 0}
    names = ("num_warps", "num_stages", *usual)
    return {n: found.options[n] for n in names if found.options.get(n) not in (None, usual.get(n))}


def _wrapped(text: str) -> Iterator[str]:
    yield from textwrap.wrap(text, _WIDTH, initial_indent="  ", subsequent_indent="      ")


def resources_of(found: Explanation) -> Iterator[str]:
    """Resources of a program: registers, spills, shared memory, instructions."""
    taken = found.resources
    if taken:
        if registers := taken.get("registers"):
            yield f"{registers} registers"
            spilled = taken.get("spill_bytes", 0)
            yield f"{spilled} bytes spilled a thread" if spilled else "no spills"
        elif device_named(found.target).backend == "opencl":
            yield "registers and spills are not known: the driver of a device gives them out"
        else:
            yield "registers and spills are not known: no assembler of PTX is installed"
        yield f"{taken.get('shared_bytes', 0)} bytes of shared memory"
    if found.code:
        sizes = [loop.size for loop in found.code.innermost()]
        inner = f", innermost loops of up to {max(sizes)}" if sizes else ""
        yield f"{len(found.code.instructions)} instructions of {found.code.language}{inner}"
    if found.code and (note := _OF_LINES.get(found.code.language)):
        yield note


_OF_LINES = {
    "PTX": "lines count PTX, as the package nvidia-cuda-nvdisasm is missing, which shows machine code",
    "SPIR-V": "it names no lines of the source, and the driver turns it into machine code",
}


def occupancy_of(found: Explanation) -> Iterator[str]:
    """How many programs run at a time, and why not more; when memory or arithmetic is the bound."""
    if occupancy := found.occupancy:
        share = 100 * occupancy.warps / occupancy.most_warps
        room = ", ".join(f"{name} {count}" for name, count in occupancy.limits.items())
        yield (
            f"occupancy: {occupancy.programs} programs on a multiprocessor, {occupancy.warps} of "
            f"{occupancy.most_warps} warps ({share:.0f} %); limited by "
            f"{' and '.join(occupancy.limited_by)} (room by {room})"
        )
    if roofline := found.roofline:
        yield (
            f"roofline: {roofline.intensity:.3g} operations a byte, the machine balances at "
            f"{roofline.balance:.3g}: bound by {roofline.bound} where caches serve nothing"
        )


def work_of(found: Explanation) -> Iterator[str]:
    """Bytes and operations of one program, as formulas of the arguments."""
    if plan := found.plan:
        yield (
            f"a program loads {plan.bytes(False)} bytes, stores {plan.bytes(True)} bytes and does "
            f"{plan.operations} operations on floats"
        )
    elif not found.error:
        yield "bytes and operations are not known: the kernel has operations that are not counted"


def _findings(found: Explanation, style: _Style) -> Iterator[str]:
    bad = [f for f in found.findings if f.rank < INFORMATION]
    if not bad:
        yield "nothing in the way was found"
        return
    groups: dict[tuple[str, str, int], list[Finding]] = {}
    for finding in bad:
        groups.setdefault((finding.code, finding.message, finding.rank), []).append(finding)
    told: set[str] = set()
    for alike in list(groups.values())[:_FIRST_SCREEN]:
        first = alike[0]
        places = ", ".join(dict.fromkeys(_place(found, finding) for finding in alike))
        text = f"{_clean(first.message)} [{first.code}]" if first.code else _clean(first.message)
        for row in textwrap.wrap(f"{places}: {text}", _WIDTH, subsequent_indent="    "):
            yield style(row, _RED if first.rank <= _BAD_RANK else _YELLOW)
        if first.advice and first.advice not in told:
            advice = textwrap.shorten(_clean(first.advice), 2 * _WIDTH, placeholder=" ...")
            yield from textwrap.wrap(
                advice, _WIDTH, initial_indent="    do: ", subsequent_indent="        "
            )
        told.add(first.advice)
    if len(groups) > _FIRST_SCREEN:
        yield f"and {len(groups) - _FIRST_SCREEN} more, at their lines below"


def _place(found: Explanation, finding: Finding) -> str:
    name = "line" if finding.file == found.file else _clean(finding.file)
    times = f" ({finding.count} times)" if finding.count > 1 else ""
    return f"{name} {finding.line}{times}" if finding.line else _clean(found.name)


def _said(finding: Finding) -> str:
    times = f" ({finding.count} times)" if finding.count > 1 else ""
    code = f" [{finding.code}]" if finding.code else ""
    return _clean(f"{finding.message}{times}{code}")


def _source(found: Explanation, style: _Style) -> Iterator[str]:
    for number, line in found.rows():
        yield style(f"{number:5} | ", _DIM) + with_visible_controls(line.replace("\t", "    "))
        here = [f for f in found.findings if f.line == number and f.file == found.file]
        counted = (
            *instructions_of(found.lines.get(number)),
            *measured_of(found.measured.get(number)),
        )
        for note in (*map(_said, here), *counted):
            yield from (
                style(row, _DIM)
                for row in textwrap.wrap(
                    note,
                    _WIDTH,
                    initial_indent="      |     . ",
                    subsequent_indent="      |       ",
                )
            )


def instructions_of(facts: LineFacts | None) -> Iterator[str]:
    """The instructions of a line by kind, in one line; nothing for few."""
    if facts is None:
        return
    parts = [
        _counted(kind, n) for kind, n in sorted(facts.kinds.items(), key=_order) if kind != OTHER
    ]
    inside = f" ({facts.in_loops} in innermost loops)" if facts.in_loops else ""
    detail = f": {', '.join(parts)}" if parts else ""
    yield f"{facts.total} instruction{'s' if facts.total > 1 else ''}{inside}{detail}"


def measured_of(measured: MeasuredLine | None) -> Iterator[str]:
    """Counters of a line in a simulated launch."""
    if measured is None:
        return
    parts = [f"{measured.warp_instructions} instructions of warps"]
    if measured.global_requests:
        each = measured.global_sectors / measured.global_requests
        parts.append(f"{measured.global_requests} requests of {each:.1f} sectors")
    if measured.shared_requests:
        parts.append(
            f"{measured.shared_requests} requests to shared memory, {measured.conflicts:.1f} times "
            "the wavefronts without conflicts"
        )
    if measured.divergent_branches:
        parts.append(f"{measured.divergent_branches} divergent branches")
    if measured.waits:
        parts.append(f"{measured.waits} waits")
    yield "measured: " + ", ".join(parts)


def _order(counted: tuple[Kind, int]) -> tuple[int, int]:
    return ORDER.index(counted[0].word), -counted[1]


def _counted(kind: Kind, count: int) -> str:
    bytes = (
        f" of {kind.bytes} bytes"
        if kind.bytes and not kind.form.startswith(str(kind.bytes))
        else ""
    )
    form = f" ({kind.form})" if kind.form else ""
    return f"{count} {kind.word}{bytes}{form}"
