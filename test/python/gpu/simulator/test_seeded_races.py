"""Every seeded race is reported under every schedule, on every machine, and no right kernel is.

The table in the simulator's README is what these tests find; GOLDEN=accept writes it anew.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from warpsim_command import COMMAND, needs_command

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "backend/warpsim/README.md"
sys.path.insert(0, str(ROOT / "test/golden/races"))

from seeds import SEEDS, Seed  # noqa: E402
from texts import Programs, kernel_text  # noqa: E402

SCHEDULES = ("rr", "greedy", "reverse", *(f"random:{seed}" for seed in range(9)))
# All schedules on these machines, the first one on all.
THOROUGH = ("sm_80", "sm_90a", "gfx942")
MACHINES = ("sm_80", "sm_90a", "sm_100a", "sm_120", "gfx90a", "gfx942", "gfx950", "gfx1100",
            "gfx1201", "gfx1250")  # fmt: skip

pytestmark = needs_command


def errors(seed: Seed, programs: Programs, machine: str, schedule: str, folder: Path) -> set[str]:
    """The kinds of errors that the simulator reports."""
    is_ptx = machine.startswith("sm_")
    path = folder / f"{machine}.{'ptx' if is_ptx else 'll'}"
    path.write_text(kernel_text(machine, programs))
    options = [] if is_ptx else ["--arch", machine, "--smem", "4096"]
    command = [COMMAND, "run", path, "--grid", str(seed.grid), "--block", "64", "--sched", schedule,
               "--max-steps", "20000", "--json", *options,
               *["--arg", "i32[1024]=zeros"] * 3]  # fmt: skip
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode in (0, 1), run.stderr
    report = json.JSONDecoder().raw_decode(run.stdout)[0]
    return {finding["kind"] for finding in report["findings"] if finding["isError"]}


def machines_of(seed: Seed) -> list[str]:
    return [machine for machine in MACHINES if machine.startswith(seed.only)]


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.name)
def test_a_seeded_race_is_found_under_every_schedule(seed: Seed, tmp_path: Path) -> None:
    for machine in machines_of(seed):
        for schedule in SCHEDULES if machine in THOROUGH else SCHEDULES[:1]:
            found = errors(seed, seed.wrong, machine, schedule, tmp_path)
            assert any("race" in kind for kind in found), (machine, schedule, found)
            clean = errors(seed, seed.right, machine, schedule, tmp_path)
            assert not clean, (machine, schedule, clean)


def row_of(mistake: str, seeds: list[Seed], folder: Path) -> str:
    cells: list[str] = []
    for machine in MACHINES:
        meant = [seed for seed in seeds if machine.startswith(seed.only)]
        found = [
            any("race" in kind for kind in errors(seed, seed.wrong, machine, "rr", folder))
            for seed in meant
        ]
        cells.append(f"{sum(found)}/{len(meant)}" if meant else "")
    instructions = "; ".join(seed.instructions for seed in seeds)
    return f"| {mistake} | {instructions} | {' | '.join(cells)} |"


def test_the_page_shows_which_seeded_races_are_found(tmp_path: Path) -> None:
    groups = [(mistake, [seed for seed in SEEDS if seed.mistake == mistake])
              for mistake in dict.fromkeys(seed.mistake for seed in SEEDS)]  # fmt: skip
    folders = [tmp_path / str(number) for number in range(len(groups))]
    for folder in folders:
        folder.mkdir()
    with ThreadPoolExecutor(4) as pool:
        rows = list(pool.map(lambda group, folder: row_of(*group, folder), groups, folders))
    head = [f"| mistake | instructions | {' | '.join(MACHINES)} |", "|---" * (2 + len(MACHINES)) + "|"]
    table = "\n".join([*head, *rows]) + "\n"
    begin, end = "<!-- seeded races -->\n", "<!-- end of seeded races -->\n"
    text = PAGE.read_text()
    before, rest = text.split(begin)
    shown, after = rest.split(end)
    if os.environ.get("GOLDEN") == "accept":
        PAGE.write_text(before + begin + table + end + after)
    else:
        assert shown == table


@tw.jit
def clear_then_add(total, x, B: tw.constexpr, SEM: tw.constexpr):
    pid = tw.program_id(0)
    if pid == 0:
        tw.store(total, 0)  # wrong: nothing orders it before the others' additions
    value = tw.sum(tw.load(x + pid * B + tw.arange(0, B)), axis=0)
    tw.atomic_add(total, value, sem=SEM)


@tw.jit
def add_halves_and_wholes(total, x, B: tw.constexpr, SEM: tw.constexpr):
    value = tw.sum(tw.load(x + tw.arange(0, B)), axis=0)
    if tw.program_id(0) == 0:
        tw.atomic_add(total + 1, value, sem=SEM)  # wrong: a part of what the others add to
    else:
        wide = total.to(tw.pointer_type(tw.int64))
        tw.atomic_add(wide, value.to(tw.int64), sem=SEM)


@tw.jit
def peek_then_poll(total, x, B: tw.constexpr, SEM: tw.constexpr):
    if tw.program_id(0) == 0:
        early = tw.load(total)  # wrong: the others store beside it
        tw.debug_barrier()
        tw.store(x, early + tw.atomic_load(total, sem="relaxed"))
    else:
        tw.atomic_store(total, 1, sem="relaxed")


# The kernel, the order of its atomic operations, and the elements.
KERNELS: dict[str, tuple[Any, str, type]] = {
    f"{kernel.__name__}-{sem}-{dtype.__name__}": (kernel, sem, dtype)
    for kernel, sems, dtypes in (
        (clear_then_add, ("relaxed", "acq_rel", "release", "acquire"), (np.int32, np.float32)),
        (add_halves_and_wholes, ("relaxed", "acq_rel"), (np.int32,)),
        (peek_then_poll, ("relaxed",), (np.int32,)),
    )
    for sem in sems
    for dtype in dtypes
}


@pytest.mark.parametrize("num_warps", [1, 4])
@pytest.mark.parametrize("machine", THOROUGH)
@pytest.mark.parametrize("name", KERNELS)
def test_races_of_atomics_are_found_under_every_schedule(
    name: str, machine: str, num_warps: int
) -> None:
    kernel, sem, dtype = KERNELS[name]
    device = f"sim:{machine}"
    for schedule in SCHEDULES:
        how, _, seed = schedule.replace("rr", "round-robin").partition(":")
        total, x = np.zeros(4, dtype), np.ones(6 * 256, dtype)
        with tw.device(device), tw.simulation.simulate(device, schedule=how, seed=int(seed or 0)):
            with pytest.raises(tw.DeviceError, match="race-"):
                kernel[(6,)](total, x, 256, sem, num_warps=num_warps)


@tw.jit
def take_turns(turn, total, B: tw.constexpr):
    for _ in range(2):
        while tw.atomic_cas(turn, 0, 1) == 1:
            pass
        index = tw.arange(0, B)
        tw.store(total + index, tw.load(total + index) + 1)
        tw.debug_barrier()
        tw.atomic_xchg(turn, 0)


@pytest.mark.parametrize("machine", THOROUGH)
def test_hundreds_of_programs_take_turns(machine: str) -> None:
    turn, total = np.zeros(1, np.int32), np.zeros(1024, np.int32)
    with tw.device(f"sim:{machine}"), tw.simulation.simulate(f"sim:{machine}"):
        take_turns[(400,)](turn, total, 1024, num_warps=4)
    np.testing.assert_array_equal(total, 800)
