"""Turns the benchmark's measurements into tables for people and JSON for programs."""

from __future__ import annotations

import json
import pathlib
import platform
import re
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field

import peaks
import workloads
from peaks import Peak
from workloads import Goal

OURS = "tilewright"


@dataclass
class Row:
    """One workload's times: for each participant one number of milliseconds per round."""

    name: str
    unit: str
    work: float
    goal: Goal
    code_bytes: int
    peak: Peak | None = None
    instruction: str = ""  # that multiplies, of a product
    milliseconds: dict[str, list[float]] = field(default_factory=dict)
    # Single calls in turn with torch's, without a pause: ours and torch's.
    beside_torch: tuple[list[float], list[float]] | None = None
    absent: dict[str, str] = field(default_factory=dict)  # participant -> why it did not run


@dataclass
class Start:
    """What a fresh process pays before a kernel runs; medians over processes."""

    family: str
    import_ms: float
    first_ms: float  # empty cache: capture + compile, without running
    first_pieces: dict[str, float]
    second_ms: float  # another process, from the disk cache
    second_origin: str
    code_bytes: int


def ratios(row: Row, peer: str) -> list[float]:
    """Peer's time / our time, round by round: above 1 we are faster."""
    mine, theirs = row.milliseconds[OURS], row.milliseconds[peer]
    return [their / my for my, their in zip(mine, theirs, strict=True)]


def beside_ratio(row: Row) -> float | None:
    """torch's time / ours where both take turns without a pause, as in a program that mixes them."""
    if row.beside_torch is None:
        return None
    mine, theirs = row.beside_torch
    return statistics.median(their / my for my, their in zip(mine, theirs, strict=True))


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "NOT MET"


def product_instruction(peak: str, text: str) -> str:
    """The instruction by which the kernel's machine code multiplies; nothing for other kernels."""
    if peak not in peaks.PRODUCTS:
        return ""
    found = re.findall(r"\b(tdp[a-z0-9]+|vdpbf16ps|vpdp[a-z]+|vfmadd\d+ph|vfmadd\d+ps|fmla)\b", text)
    kinds = [re.sub(r"(?<=^vfmadd)\d+", "", name) for name in found]
    return max(sorted(set(kinds)), key=kinds.count, default="")


def share(row: Row) -> float | None:
    """Our rate beside torch, where that was measured, as a part of the row's peak."""
    if row.peak is None:
        return None
    mine = row.beside_torch[0] if row.beside_torch else row.milliseconds[OURS]
    return row.work / statistics.median(mine) * 1e3 / row.peak.rate


def _goal(row: Row) -> str:
    """Goals against torch hold beside it, where that was measured: that is the speed that users see."""
    beside = beside_ratio(row)
    if beside is None and "torch" in row.milliseconds:
        beside = statistics.median(ratios(row, "torch"))
    has_compiled = "torch.compile" in row.milliseconds
    compiled = statistics.median(ratios(row, "torch.compile")) if has_compiled else None
    parts = (
        ("torch", row.goal.torch, beside),
        ("compile", row.goal.compiled, compiled),
        ("peak", row.goal.share, share(row)),
    )
    known = [(name, goal, reached) for name, goal, reached in parts if goal and reached is not None]
    if not known:
        return ""
    is_met = {name: reached >= goal for name, goal, reached in known}
    enough = row.goal.is_share_enough and is_met.get("peak", False)
    others = [met for name, met in is_met.items() if name != "peak" or not row.goal.is_share_enough]
    text = " ".join(f"{name} {goal:g}" for name, goal, _ in known)
    return f"{text} {_verdict(enough or (bool(others) and all(others)))}"


def _ratio(row: Row, peer: str) -> str:
    if peer not in row.milliseconds:
        return "-"
    values = sorted(ratios(row, peer))
    low, high = values[len(values) // 4], values[-1 - len(values) // 4]
    return f"{statistics.median(values):.2f} ({low:.2f}-{high:.2f})"


def _table(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[i]) for line in (head, *lines)) for i in range(len(head))]

    def show(line: Sequence[str]) -> str:
        cells = [line[0].ljust(widths[0])]
        cells += [cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=True)]
        return "  ".join(cells).rstrip()

    return "\n".join([show(head), "  ".join("-" * w for w in widths), *map(show, lines)])


def speed_table(rows: Sequence[Row], peers: Sequence[str]) -> str:
    """Our times and rates, and the ratio to each peer with the middle half of the rounds."""
    head = ["workload", "ms", "rate", *(f"vs {peer}" for peer in peers)]
    head += ["ms beside torch", "vs it", "of peak", "by", "goals", "code B"]
    lines: list[list[str]] = []
    for row in rows:
        mine = statistics.median(row.milliseconds[OURS])
        rate = f"{row.work / mine * 1e3:.1f} {row.unit}"
        against = [_ratio(row, peer) for peer in peers]
        code = f"{row.code_bytes}{'' if row.code_bytes <= workloads.CODE_BYTES else ' NOT MET'}"
        beside = beside_ratio(row)
        mixed = f"{statistics.median(row.beside_torch[0]):.3f}" if row.beside_torch else "-"
        part = share(row)
        of_peak = "-" if part is None or row.peak is None else f"{part:.2f} {row.peak.loop}"
        turns = [mixed, "-" if beside is None else f"{beside:.2f}", of_peak, row.instruction]
        lines.append([row.name, f"{mine:.3f}", rate, *against, *turns, _goal(row), code])
    notes = sorted({f"{who}: {why}" for row in rows for who, why in row.absent.items()})
    return "\n".join([_table(head, lines), *notes])


def start_table(starts: Sequence[Start]) -> str:
    """Compile time by piece, empty cache and disk cache, in fresh processes."""
    names = list(dict.fromkeys(piece for start in starts for piece in start.first_pieces))
    head = ["kernel", "first ms", *names, "goal", "from disk ms", "goal", "import ms"]
    lines: list[list[str]] = []
    for start in starts:
        limit = workloads.FIRST_CALL_MS.get(start.family)
        first_goal = f"{limit:.0f} {_verdict(start.first_ms < limit)}" if limit else ""
        is_hit = start.second_origin == "disk"
        second_goal = _verdict(is_hit and start.second_ms < workloads.SECOND_PROCESS_MS)
        pieces = [f"{start.first_pieces.get(name, 0.0):.1f}" for name in names]
        lines.append(
            [start.family, f"{start.first_ms:.1f}", *pieces, first_goal]
            + [f"{start.second_ms:.1f}" + ("" if is_hit else f" ({start.second_origin})")]
            + [f"{workloads.SECOND_PROCESS_MS:.0f} {second_goal}"]
            + [f"{start.import_ms:.0f}"]
        )
    return _table(head, lines)


def launch_lines(microseconds: Mapping[str, float]) -> str:
    """Warm launches on the caller's thread, by kernel of `workloads.WARM_LAUNCH_US`."""
    return "\n".join(
        f"warm launch of {name}: {us:.2f} us, goal {workloads.WARM_LAUNCH_US[name]:g} "
        + _verdict(us <= workloads.WARM_LAUNCH_US[name])
        for name, us in microseconds.items()
    )


def machine(threads: int) -> Mapping[str, str]:
    """What the numbers depend on."""
    import numpy
    import torch

    model = platform.processor() or platform.machine()
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [x for x in cpuinfo.read_text().splitlines() if x.startswith("model name")]
        model = names[0].split(":", 1)[1].strip() if names else model
    return {
        "cpu": model,
        "features": " ".join(peaks.features()),
        "threads": str(threads),
        "torch": torch.__version__,
        "numpy": numpy.__version__,
        "python": platform.python_version(),
    }


def write_json(
    path: str, about: Mapping[str, str], rows: Sequence[Row], starts: Sequence[Start]
) -> None:
    document = {
        "machine": dict(about),
        "speed": [asdict(row) for row in rows],
        "start": [asdict(start) for start in starts],
    }
    pathlib.Path(path).write_text(json.dumps(document, indent=1) + "\n")


def result(row: Row) -> dict[str, object]:
    """A row of results/cpu.json: medians beside torch, with three digits."""
    mine = row.beside_torch[0] if row.beside_torch else row.milliseconds[OURS]
    ms = statistics.median(mine)
    known = {"ms": ms, "rate": row.work / ms * 1e3, "vs_torch": beside_ratio(row)}
    digits = {name: float(f"{value:.3g}") for name, value in known.items() if value is not None}
    return {"name": row.name, "unit": row.unit, **digits}


def write_results(path: str, about: Mapping[str, str], rows: Sequence[Row]) -> None:
    """Writes what `readme.py` makes the tables of pages from: one line a row."""
    lines = ",\n".join(f"  {json.dumps(result(row))}" for row in rows)
    text = f'{{\n "machine": {json.dumps(dict(about))},\n "rows": [\n{lines}\n ]\n}}\n'
    pathlib.Path(path).write_text(text)
