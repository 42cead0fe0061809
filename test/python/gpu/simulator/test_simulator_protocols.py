"""Programs that wait for each other: right protocols run clean, wrong ones are reported."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from warpsim_command import COMMAND, needs_command

ROOT = Path(__file__).resolve().parents[4]
sys.path.insert(0, str(ROOT / "test/golden/ptx"))

from protocol_mutants import MUTANTS  # noqa: E402
from protocols import PROTOCOLS, Mutant, Protocol  # noqa: E402

SCHEDULES = ("rr", "greedy", "reverse", *(f"random:{seed}" for seed in range(6)))
# What each mutant runs under.
TRIALS = ("rr", "reverse", "random:0")

pytestmark = needs_command


def simulate(text: str, protocol: Protocol, path: Path, schedule: str, *options: str) -> str:
    """The report and the arrays, as they are printed."""
    path.write_text(text)
    arrays = ["--arg", "i32[64]=zeros"] * 3
    command = [COMMAND, "run", path, "--grid", str(protocol.grid), "--block", str(protocol.threads),
               "--sched", schedule, "--max-steps", "200000", "--json", "--print", "64",
               *options, *arrays]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    return run.stdout


def parts(output: str) -> tuple[list[dict[str, Any]], list[list[int]]]:
    """The errors, and the arrays `data` and `out`."""
    report, end = json.JSONDecoder().raw_decode(output)
    lines = [line for line in output[end:].split("\n") if line]
    numbers = [[int(float(number)) for number in line.split(":")[1].split()] for line in lines]
    return [finding for finding in report["findings"] if finding["isError"]], numbers[1:]


def is_right(protocol: Protocol, arrays: list[list[int]]) -> bool:
    expected = (protocol.data, protocol.out)
    return all(array[: len(e)] == list(e) for array, e in zip(arrays, expected, strict=True))


@pytest.mark.parametrize("name", PROTOCOLS)
def test_protocols_are_clean_and_right_under_every_schedule(name: str, tmp_path: Path) -> None:
    protocol = PROTOCOLS[name]
    for schedule in SCHEDULES:
        found, arrays = parts(simulate(protocol.text, protocol, tmp_path / "k.ptx", schedule))
        assert found == [], schedule
        assert is_right(protocol, arrays), (schedule, arrays)


@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_wrong_protocols_are_reported_at_their_lines(mutant: Mutant, tmp_path: Path) -> None:
    protocol = PROTOCOLS[mutant.protocol]
    for schedule in TRIALS:
        output = simulate(mutant.text, protocol, tmp_path / "k.ptx", schedule)
        found, arrays = parts(output)
        if not mutant.kinds:
            assert found == [], schedule
            assert is_right(protocol, arrays) != mutant.is_wrong
            continue
        hits = [
            f for f in found
            if f["kind"] in mutant.kinds.split("|")
            and f["instructionText"].startswith(tuple(mutant.places.split("|")))
        ]  # fmt: skip
        assert hits, f"{schedule}: {[(f['kind'], f['instructionText']) for f in found]}"
        lines = mutant.text.split("\n")
        for hit in hits:
            operation = re.match(r"(@!?%p\d+ )?\w+", hit["instructionText"])
            assert operation
            assert lines[hit["ptxLine"] - 1].startswith(operation[0])


@pytest.mark.parametrize("schedule", ["rr", "random:3"])
def test_a_seed_does_the_same_on_any_number_of_threads(schedule: str, tmp_path: Path) -> None:
    path = tmp_path / "k.ptx"
    texts = [(protocol, protocol.text) for protocol in PROTOCOLS.values()]
    texts += [(PROTOCOLS[mutant.protocol], mutant.text) for mutant in MUTANTS[::9]]
    for protocol, text in texts:
        alone = simulate(text, protocol, path, schedule, "--threads", "1")
        assert alone == simulate(text, protocol, path, schedule, "--threads", "4")
