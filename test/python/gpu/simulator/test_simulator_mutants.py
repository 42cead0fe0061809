"""The simulator finds seeded bugs in golden kernels at their lines, those too that no number shows,
and nothing in the kernels."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pytest

from warpsim_command import COMMAND, needs_command

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "test/golden/ptx"))

from edits import Mutant  # noqa: E402
from launches import ANSWERS, GOLDENS, compiled  # noqa: E402
from mutants import MUTANTS  # noqa: E402
from pipelined_mutants import PIPELINED_MUTANTS  # noqa: E402

COMPLETIONS = ("late", "early", *(f"random:{seed}" for seed in range(4)))
SCHEDULES = ("rr", "greedy", "reverse", "random:1")
# Kernels without copies run under one completion of them, and more schedules.
MORE_SCHEDULES = (*SCHEDULES, *(f"random:{seed}" for seed in (0, 2, 3, 4)))
# What each mutant runs under: completion of copies, schedule of warps.
TRIALS = (("late", "rr"), ("early", "rr"), ("random:1", "random:1"), ("late", "reverse"))

pytestmark = [
    needs_command,
    pytest.mark.usefixtures("compiler"),
]


class Run(NamedTuple):
    findings: list[dict[str, Any]]
    numbers: list[str]  # of each array argument


def simulate(golden: str, text: str, completion: str, schedule: str, *options: str) -> Run:
    """The launch of a golden kernel with another text of it."""
    launch = GOLDENS[golden]
    arguments = [word for argument in launch.arguments for word in ("--arg", argument)]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "k.ptx"
        path.write_text(text)
        command = [COMMAND, "run", path, "--grid", launch.grid,
                   "--smem", str(compiled(golden).shared_bytes), "--completion", completion,
                   "--sched", schedule, "--max-steps", "100000", "--print", "100000", "--json",
                   *options, *arguments]  # fmt: skip
        run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    report, end = json.JSONDecoder().raw_decode(run.stdout)
    lines = [line for line in run.stdout[end:].split("\n") if line]
    return Run(report["findings"], [line.split(":")[1] for line in lines])


@cache
def right_numbers(golden: str) -> list[str]:
    """What the kernel leaves, which NumPy agrees with."""
    numbers = simulate(golden, compiled(golden).ptx, "early", "rr").numbers
    if golden in ANSWERS:
        arrays = [np.array([float(number) for number in array.split()]) for array in numbers]
        answers = ANSWERS[golden](arrays)
        for array, answer in zip(arrays[-len(answers) :], answers, strict=True):
            np.testing.assert_allclose(array, answer.reshape(-1), rtol=2e-3, atol=2e-2)
            assert np.abs(answer).mean() > 0.05
    return numbers


def source_line(text: str, ptx_line: int) -> tuple[str, int]:
    """File and line of the user that the last `.loc` before a line of PTX names."""
    names = dict(re.findall(r'\.file\s+(\d+) "([^"]*)"', text))
    before = "\n".join(text.split("\n")[:ptx_line])
    file, line = re.findall(r"\.loc\s+(\d+) (\d+)", before)[-1]
    return names[file], int(line)


def is_hit(mutant: Mutant, places: str, finding: dict[str, Any]) -> bool:
    """Whether a finding has one of the kinds, at one of the places, from one of the sources."""
    if finding["kind"] not in mutant.kinds.split("|"):
        return False
    if not re.match(places, finding["instructionText"]):
        return False
    if not mutant.sources:
        return True
    source = ROOT / GOLDENS[mutant.golden].source.split(":")[0]
    line = source.read_text().split("\n")[finding["sourceLine"] - 1]
    return finding["file"] == source.name and any(s in line for s in mutant.sources.split("|"))


@pytest.mark.parametrize("golden", GOLDENS)
def test_golden_kernels_are_right_and_clean(golden: str) -> None:
    has_copies = golden in ANSWERS
    for completion in COMPLETIONS if has_copies else COMPLETIONS[:1]:
        for schedule in SCHEDULES if has_copies else MORE_SCHEDULES:
            run = simulate(golden, compiled(golden).ptx, completion, schedule)
            assert run.findings == [], (completion, schedule)
            assert run.numbers == right_numbers(golden), (completion, schedule)


@pytest.mark.parametrize("mutant", [*MUTANTS, *PIPELINED_MUTANTS], ids=lambda mutant: mutant.name)
def test_seeded_bugs_are_found_at_their_lines(mutant: Mutant) -> None:
    text, places = mutant.seeded(compiled(mutant.golden).ptx)
    for completion, schedule in TRIALS:
        run = simulate(mutant.golden, text, completion, schedule)
        found = [finding for finding in run.findings if finding["isError"]]
        seen = [(f["kind"], f["instructionText"], f["sourceLine"], f["message"]) for f in found]
        hits = [finding for finding in found if is_hit(mutant, places, finding)]
        assert bool(hits) == bool(mutant.kinds), f"{completion}, {schedule}: {places}: {seen}"
        for hit in hits:
            assert (hit["file"], hit["sourceLine"]) == source_line(text, hit["ptxLine"])
        if not mutant.kinds:
            assert not found, f"{completion}, {schedule}: {seen}"
            assert run.numbers != right_numbers(mutant.golden)
    if "uninit-register" in mutant.kinds or mutant.golden not in ANSWERS:
        return  # the numbers follow from what the register held before, or nothing is said of them
    # CTAs that write the same places do so in their order: on one thread of the host.
    eager = simulate(mutant.golden, text, "early", "rr", "--no-races", "--threads", "1")
    assert (eager.numbers == right_numbers(mutant.golden)) == mutant.right_when_eager


def test_the_corpus_holds_enough_bugs_that_only_checks_or_late_copies_show() -> None:
    names = {mutant.name for mutant in [*MUTANTS, *PIPELINED_MUTANTS]}
    assert len(names) == len(MUTANTS) + len(PIPELINED_MUTANTS) >= 250
    assert sum(mutant.right_when_eager for mutant in PIPELINED_MUTANTS) >= 20


@pytest.mark.parametrize("golden", GOLDENS)
def test_compiled_kernels_name_no_folder(golden: str) -> None:
    for name in re.findall(r'\.file\s+\d+ "([^"]*)"', compiled(golden).ptx):
        assert "/" not in name
