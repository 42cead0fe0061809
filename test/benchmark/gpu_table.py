"""The results of the benchmark of GPUs as Markdown: ratios against each peer, and whether the goals
are met."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_timing import UNSTEADY

OURS = "tilewright"
Result = Mapping[str, Any]  # a row as gpu_measure.Result.as_json() has it


def ratios(row: Result, peer: str) -> list[float]:
    """Peer's time / our time, round by round: above 1 we are faster."""
    mine, theirs = (row["participants"][who]["milliseconds"] for who in (OURS, peer))
    return [their / my for my, their in zip(mine, theirs, strict=True)]


def has_times(row: Result, who: str) -> bool:
    return bool(row["participants"].get(who, {}).get("milliseconds"))


def ratio_to(row: Result, peer: str) -> float | None:
    if not has_times(row, OURS) or not has_times(row, peer):
        return None
    return statistics.median(ratios(row, peer))


def unmet_goals(row: Result) -> list[str]:
    """What is measured and below its goal: "0.43 of torch, goal 0.50"."""
    found: list[str] = []
    for peer, goal in row["goals"]:
        ratio = ratio_to(row, peer)
        if ratio is not None and ratio < goal:
            found.append(f"{ratio:.2f} of {peer}, goal {goal:.2f}")
    return found


def unjudged_goals(row: Result) -> list[str]:
    """Goals whose peer, or whose own row, has no times."""
    return [f"{goal:.2f} of {peer}" for peer, goal in row["goals"] if ratio_to(row, peer) is None]


def spread_of(times: Sequence[float]) -> float:
    """The middle half over the median."""
    values = sorted(times)
    quarter = len(values) // 4
    return (values[-1 - quarter] - values[quarter]) / statistics.median(values)


def ratio_cell(row: Result, peer: str) -> str:
    ratio = ratio_to(row, peer)
    if ratio is None:
        what = "absent" if peer in row["absent"] else "-"
        return f"{what}, goal not judged" if peer in dict(row["goals"]) else what
    values = sorted(ratios(row, peer))
    quarter = len(values) // 4
    text = f"{ratio:.2f} ({values[quarter]:.2f}-{values[-1 - quarter]:.2f})"
    for wanted, goal in row["goals"]:
        if wanted == peer:
            text += f", goal {goal:.2f} {'met' if ratio >= goal else '**NOT MET**'}"
    return text


def line_of(row: Result, peers: Sequence[str]) -> list[str]:
    if not has_times(row, OURS):
        return [row["name"], "**FAILED**", "", *("" for _ in peers), row["failure"]]
    ours = row["participants"][OURS]
    milliseconds = statistics.median(ours["milliseconds"])
    rate = row["work"] / milliseconds * 1e3
    notes = [ours["setting"], *(f"{value} {name}" for name, value in ours["facts"].items())]
    if ours["failed"]:
        notes.append(f"{len(ours['failed'])} of {ours['tried']} settings do not run")
    return [
        *(row["name"], f"{milliseconds:.4f}", f"{rate:.1f} {row['unit']}"),
        *(ratio_cell(row, peer) for peer in peers),
        "; ".join(notes),
    ]


def peers_of(rows: Sequence[Result]) -> list[str]:
    names = [*(peer for row in rows for peer, _ in row["goals"])]
    names += [who for row in rows for who in (*row["participants"], *row["absent"])]
    return [name for name in dict.fromkeys(names) if name != OURS]


def notes_of(row: Result) -> list[str]:
    notes = [f"{who} is absent: {why}" for who, why in row["absent"].items()]
    if row["failure"] and has_times(row, OURS):
        notes.append(row["failure"])
    for who, participant in row["participants"].items():
        times = participant["milliseconds"]
        if who != OURS and participant["setting"]:
            facts = [f"{value} {name}" for name, value in participant["facts"].items()]
            notes.append(f"{who}: {'; '.join([participant['setting'], *facts])}")
        if times and spread_of(times) > UNSTEADY:
            notes.append(f"{who} is unsteady: its rounds spread {spread_of(times):.0%}")
        if participant["outliers"]:
            notes.append(f"{who}: {participant['outliers']} calls took twice their median")
        for setting, why in participant["failed"].items():
            notes.append(f"{who} with {setting}: {why}")
    notes += [f"profile of {who}: {text}" for who, text in row["profile"].items()]
    if row["clocks"]:
        notes.append(f"just after it: {row['clocks']}")
    return notes


def markdown(machine: Mapping[str, str], rows: Sequence[Result]) -> str:
    peers = peers_of(rows)
    head = ["workload", "ms", "rate", *(f"ratio to {peer}" for peer in peers), "setting"]
    lines = ["# Speed on a GPU", ""]
    lines += [f"- {name}: {value}" for name, value in machine.items()]
    lines += ["", "A ratio is a peer's time over ours in the same rounds, with its middle half."]
    lines += ["torch's matrix products on a GPU are those of cuBLAS.", ""]
    lines += [f"| {' | '.join(head)} |", "|---" * len(head) + "|"]
    lines += [f"| {' | '.join(line_of(row, peers))} |".replace("\n", " ") for row in rows]
    unmet = [f"- {row['name']}: {goal}" for row in rows for goal in unmet_goals(row)]
    lines += ["", "Below their goals:" if unmet else "No measured row is below its goal.", *unmet]
    unjudged = [f"- {row['name']}: {goal}" for row in rows for goal in unjudged_goals(row)]
    if unjudged:
        lines += ["", "Goals that could not be judged:", *unjudged]
    for row in rows:
        if notes := notes_of(row):
            lines += ["", f"{row['name']}:", *(f"- {note}" for note in notes)]
    return "\n".join(lines) + "\n"
