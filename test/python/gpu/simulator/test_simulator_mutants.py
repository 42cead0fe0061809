"""The simulator finds seeded bugs in golden kernels, at their lines, and nothing in the kernels."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[4]
COMMAND = ROOT / "build/backend/tools/warpsim"
sys.path.insert(0, str(ROOT / "test/golden/ptx"))

from launches import FOLDER, GOLDENS  # noqa: E402
from mutants import MUTANTS, Mutant  # noqa: E402

SCHEDULES = ("rr", "greedy", "reverse", *(f"random:{seed}" for seed in range(5)))

pytestmark = pytest.mark.skipif(not COMMAND.exists(), reason="warpsim is not built")


def findings(golden: str, path: Path, schedule: str) -> list[dict[str, Any]]:
    """What is found when the launch of a golden kernel runs the PTX at `path`."""
    launch = GOLDENS[golden]
    arguments = [word for argument in launch.arguments for word in ("--arg", argument)]
    command = [COMMAND, "run", path, "--grid", launch.grid, "--smem", str(launch.shared_bytes),
               "--sched", schedule, "--max-steps", "100000", "--json", *arguments]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    return json.loads(run.stdout)["findings"]


def mutate(mutant: Mutant) -> str:
    lines = (FOLDER / f"{mutant.golden}.ptx").read_text().split("\n")
    for old, new, *number in mutant.edits:
        places = [i for i, line in enumerate(lines) if " ".join(line.split()) == old]
        assert places, f"{mutant.name}: no line {old!r} in the golden kernel"
        assert number or len(places) == 1, f"{mutant.name}: which {old!r}?"
        lines[places[number[0] if number else 0]] = new
    return "\n".join(lines)


def source_line(text: str, ptx_line: int) -> tuple[str, int]:
    """File and line of the user that the last `.loc` before a line of PTX names."""
    names = dict(re.findall(r'\.file\s+(\d+) "([^"]*)"', text))
    before = "\n".join(text.split("\n")[:ptx_line])
    file, line = re.findall(r"\.loc\s+(\d+) (\d+)", before)[-1]
    return names[file], int(line)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("golden", GOLDENS)
def test_golden_kernels_are_clean(golden: str, schedule: str) -> None:
    assert findings(golden, FOLDER / f"{golden}.ptx", schedule) == []


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_seeded_bugs_are_found_at_their_lines(mutant: Mutant, tmp_path: Path) -> None:
    text = mutate(mutant)
    path = tmp_path / "mutant.ptx"
    path.write_text(text)
    for schedule in ("rr", "reverse", "random:1"):
        found = [f for f in findings(mutant.golden, path, schedule) if f["isError"]]
        if not mutant.kinds:
            assert found == []
            continue
        hits = [
            f for f in found
            if f["kind"] in mutant.kinds.split("|")
            and f["instructionText"].startswith(tuple(mutant.places.split("|")))
        ]  # fmt: skip
        seen = [(f["kind"], f["instructionText"], f["message"]) for f in found]
        assert hits, f"{schedule}: {seen}"
        for hit in hits:
            assert (hit["file"], hit["sourceLine"]) == source_line(text, hit["ptxLine"])
