"""The simulator finds seeded bugs of pipelined kernels, those too that no number shows."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[4]
COMMAND = ROOT / "build/backend/tools/warpsim"
sys.path.insert(0, str(ROOT / "test/golden/ptx"))

from edits import statements  # noqa: E402
from launches import FOLDER  # noqa: E402
from pipelined_launches import ANSWERS, PIPELINED  # noqa: E402
from pipelined_mutants import MUTANTS, Mutant  # noqa: E402

COMPLETIONS = ("late", "early", *(f"random:{seed}" for seed in range(4)))
SCHEDULES = ("rr", "greedy", "reverse", "random:1")
# What each mutant runs under: completion of copies, schedule of warps.
TRIALS = (("late", "rr"), ("early", "rr"), ("random:1", "random:1"), ("late", "reverse"))

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="warpsim is not built")


class Run(NamedTuple):
    findings: list[dict[str, Any]]
    numbers: list[str]  # of each array argument


def simulate(golden: str, path: Path, completion: str, schedule: str, *options: str) -> Run:
    """The launch of a golden kernel with the PTX at `path`."""
    launch = PIPELINED[golden]
    arguments = [word for argument in launch.arguments for word in ("--arg", argument)]
    command = [COMMAND, "run", path, "--grid", launch.grid, "--smem", str(launch.shared_bytes),
               "--completion", completion, "--sched", schedule, "--max-steps", "100000",
               "--print", "100000", "--json", *options, *arguments]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    report, end = json.JSONDecoder().raw_decode(run.stdout)
    lines = [line for line in run.stdout[end:].split("\n") if line]
    return Run(report["findings"], [line.split(":")[1] for line in lines])


def parsed(numbers: list[str]) -> list[Any]:
    return [np.array([float(number) for number in array.split()]) for array in numbers]


@cache
def right_numbers(golden: str) -> list[str]:
    """What the unmutated kernel leaves, which NumPy agrees with."""
    numbers = simulate(golden, FOLDER / f"{golden}.ptx", "early", "rr").numbers
    arrays = parsed(numbers)
    answers = ANSWERS[golden](arrays)
    for array, answer in zip(arrays[-len(answers) :], answers, strict=True):
        np.testing.assert_allclose(array, answer.reshape(-1), rtol=2e-3, atol=2e-2)
        assert np.abs(answer).mean() > 0.05
    return numbers


def mutate(mutant: Mutant) -> str:
    lines = statements((FOLDER / f"{mutant.golden}.ptx").read_text())
    for edit in mutant.edits:
        edit(lines)
    return "\n".join(lines)


def is_hit(mutant: Mutant, finding: dict[str, Any]) -> bool:
    """Whether a finding has one of the kinds, at one of the places, from one of the sources."""
    source = ROOT / PIPELINED[mutant.golden].source.split(":")[0]
    line = source.read_text().split("\n")[finding["sourceLine"] - 1]
    return (
        finding["kind"] in mutant.kinds.split("|")
        and finding["instructionText"].startswith(tuple(mutant.places.split("|")))
        and finding["file"] == source.name
        and any(part in line for part in mutant.sources.split("|"))
    )


@pytest.mark.parametrize("completion", COMPLETIONS)
@pytest.mark.parametrize("golden", PIPELINED)
def test_pipelined_kernels_are_right_and_clean(golden: str, completion: str) -> None:
    for schedule in SCHEDULES:
        run = simulate(golden, FOLDER / f"{golden}.ptx", completion, schedule)
        assert run.findings == []
        assert run.numbers == right_numbers(golden)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_seeded_bugs_of_pipelines_are_found_at_their_lines(mutant: Mutant, tmp_path: Path) -> None:
    path = tmp_path / "mutant.ptx"
    path.write_text(mutate(mutant))
    for completion, schedule in TRIALS:
        run = simulate(mutant.golden, path, completion, schedule)
        found = [finding for finding in run.findings if finding["isError"]]
        seen = [(f["kind"], f["instructionText"], f["sourceLine"], f["message"]) for f in found]
        if mutant.kinds:
            hits = [finding for finding in found if is_hit(mutant, finding)]
            assert hits, f"{completion}, {schedule}: {seen}"
        else:
            assert not found, f"{completion}, {schedule}: {seen}"
            assert run.numbers != right_numbers(mutant.golden)
    if "uninit-register" in mutant.kinds:
        return  # the numbers follow from what the register held before
    eager = simulate(mutant.golden, path, "early", "rr", "--no-races")
    assert (eager.numbers == right_numbers(mutant.golden)) == mutant.right_when_eager


def test_the_corpus_holds_enough_bugs_that_only_checks_or_late_copies_show() -> None:
    assert len({mutant.name for mutant in MUTANTS}) == len(MUTANTS) >= 50
    assert sum(mutant.right_when_eager for mutant in MUTANTS) >= 20


def test_golden_kernels_name_no_folder() -> None:
    for path in FOLDER.glob("*.ptx"):
        for name in re.findall(r'\.file\s+\d+ "([^"]*)"', path.read_text()):
            assert "/" not in name, f"{path.name} names {name}"
