"""Products of eight waves whose two waves on each SIMD take turns at memory and at products: results,
and barriers and waits that are dropped.

Four waves run one phase behind. Of a step's barriers, those behind its last access of shared memory and in
front of the next step's keep accesses apart; the others only keep the time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from gpu.generated.amd_code import compile_for, product_lines
from gpu.machine.cases import multiply, product
from gpu.machine.decode import CodeObject, Instruction
from gpu.machine.run import missing, on_machine
from gpu.machine.wave import Report
from warpsim_command import COMMAND, needs_command

import tilewright as tw

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "golden/ptx"))

from launches import HALF, Golden, request  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")
needs_manuals = pytest.mark.skipif(bool(missing()), reason=missing() or "")
TILES = {"BM": 256, "BN": 256, "BK": 64, "num_warps": 8, "num_stages": 2}

# The barriers of a loop in order: "x" are those without which waves meet in shared memory. gfx942 has one
# slot, and writes it in the last quarter; a loop of gfx950 is two steps, of two halves each.
NEEDED = {"gfx942": "x....xxx", "gfx950": "x..xx..x"}
SHARED = {"gfx942": "65536", "gfx950": "131072"}


def multiply_in_turns(
    rng: np.random.Generator, arch: str, dtype: Any, shape: tuple[int, int, int], **tiles: int
) -> None:
    """A product of a kernel whose code for an architecture takes turns, on the current device."""
    name = {np.float16: "fp16", ml_dtypes.bfloat16: "bf16"}[dtype]
    signature = {"a": f"*{name}:16", "b": f"*{name}:16", "c": "*fp32:16"} | dict.fromkeys("MNK", "i32:16")
    constants = {name: size for name, size in tiles.items() if name.isupper()} | {"HOW": tw.float32}
    options = {name: size for name, size in tiles.items() if name.islower()}
    code = product.compile(signature, constants, device=f"amd:{arch}", **options).asm["asm"]
    assert "s_setprio 1" in product_lines(code)
    multiply(rng, dtype, np.float32, shape, **tiles)


@pytest.mark.parametrize("completion", ["late", "early"])
@pytest.mark.parametrize("depth", [32, 64])
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_products(arch: str, depth: int, completion: str, rng: np.random.Generator) -> None:
    device = f"sim:{arch}"
    with tw.device(device), tw.simulation.simulate(device, completion=completion):
        for k in (16, 2 * depth, 3 * depth + 16, 5 * depth):
            multiply_in_turns(rng, arch, np.float16, (256, 256, k), **TILES | {"BK": depth})


@pytest.mark.parametrize("stages", [3, 4])
def test_copies_that_go_on_beyond_a_step(stages: int, rng: np.random.Generator) -> None:
    tiles = TILES | {"BK": 32, "num_stages": stages}
    with tw.device("sim:gfx950"), tw.simulation.simulate("sim:gfx950", completion="late"):
        for k in (32, 96, 208, 320):
            multiply_in_turns(rng, "gfx950", ml_dtypes.bfloat16, (240, 256, k), **tiles)


@needs_manuals
@pytest.mark.parametrize(("arch", "depth"), [("gfx942", 32), ("gfx942", 64), ("gfx950", 64)])
def test_products_of_machine_code(arch: str, depth: int, rng: np.random.Generator) -> None:
    with on_machine(arch):
        multiply(rng, np.float16, np.float32, (256, 256, 5 * depth), **TILES | {"BK": depth})


def test_smaller_programs_do_not_take_turns() -> None:
    """A processor holds several of them, whose waves do not wait for each other."""
    for arch in ("gfx942", "gfx950"):
        for settings in ({"num_warps": 4}, {"num_warps": 8, "BM": 128, "BN": 128, "BK": 32}):
            assert "s_setprio" not in compile_for(arch, "matmul", **settings).asm["asm"]


def outcome(arch: str, change: Any) -> str | None:
    """What gives a change of the machine code away; None for nothing."""
    try:
        with on_machine(arch, change):
            multiply(np.random.default_rng(5), np.float16, np.float32, (256, 256, 320), **TILES)
    except Report as report:
        return str(report)
    except AssertionError:
        return "wrong numbers"
    return None


def machine_barriers(code: CodeObject) -> tuple[list[int], list[int]]:
    """The places of the barriers of the loop with priorities, and of the one on either side of it."""
    texts = {place: code.at[place].text for place in sorted(code.at)}
    barriers = [place for place, text in texts.items() if text.startswith("s_barrier")]
    products = [place for place, text in texts.items() if text.startswith("s_setprio")]
    within = [place for place in barriers if products[0] < place < products[-1]]
    before = [place for place in barriers if place < products[0]]
    behind = next(place for place in barriers if place > products[-1])
    # The first one of a step and the one behind its first phase stand in front of the first products.
    return before[-2:] + within, [before[-3], behind]


@needs_manuals
@pytest.mark.parametrize("arch", NEEDED)
def test_a_barrier_that_is_dropped_from_machine_code_is_found(arch: str) -> None:
    found: list[tuple[list[int], list[int]]] = []
    assert outcome(arch, lambda code: found.append(machine_barriers(code))) is None
    inside, around = found[0]

    def without(place: int) -> str | None:
        def drop(code: CodeObject) -> None:
            code.at[place] = Instruction("s_nop 0", place, code.at[place].words)

        return outcome(arch, drop)

    assert "".join("x" if without(place) else "." for place in inside) == NEEDED[arch]
    assert all(without(place) for place in around)


GOLDEN = Golden(
    "tutorials/03_matmul.py:matmul_kernel",
    f"{HALF},{HALF},{HALF},i32:16,i32:16,i32:16,i32:16,1,i32:16,1,i32:16,1",
    "BLOCK_M=256,BLOCK_N=256,BLOCK_K=64,GROUP_M=4,ACTIVATION=None", "1",
    ("const f16[81920]=random", "const f16[81920]=random", "f16[65536]=zeros", "i32=256", "i32=256",
     "i32=320", "i32=320", "i32=256", "i32=256"), 8, 2,
)  # fmt: skip


def run(arch: str, lines: list[str], folder: Path) -> tuple[bool, str]:
    """Simulates a kernel's LLVM IR: true if anything is reported, and the numbers that it leaves."""
    path = folder / "k.ll"
    path.write_text("\n".join(lines))
    arguments = [word for argument in GOLDEN.arguments for word in ("--arg", argument)]
    command = [COMMAND, "run", path, "--arch", arch, "--grid", GOLDEN.grid, "--smem", SHARED[arch],
               "--max-steps", "200000", "--completion", "late", "--threads", "1", "--print", "100000", "--json",
               *arguments]  # fmt: skip
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode in (0, 1), ran.stderr
    report, end = json.JSONDecoder().raw_decode(ran.stdout)
    return any(finding["isError"] for finding in report["findings"]), ran.stdout[end:]


def places(lines: list[str], pattern: str) -> Iterator[int]:
    return (place for place, line in enumerate(lines) if re.search(pattern, line) and "declare" not in line)


@needs_command
@pytest.mark.parametrize("arch", NEEDED)
def test_a_barrier_or_wait_that_is_dropped_from_the_ir_is_found(arch: str, tmp_path: Path) -> None:
    from tilewright.compile import inspect

    lines = re.sub(r", !dbg !\d+", "", inspect(request(GOLDEN, f"amd:{arch}"), "llvm", "", False)).split("\n")
    reported, right = run(arch, lines, tmp_path)
    assert not reported
    priorities = list(places(lines, r"s\.setprio"))
    barriers = list(places(lines, r"call .*s\.barrier\(\)"))
    first, last = (sum(place < end for place in barriers) for end in (priorities[0], priorities[-1]))

    def is_found(place: int) -> bool:
        without = [*lines[:place], *lines[place + 1 :]]
        return run(arch, without, tmp_path) != (False, right)

    inside = barriers[first - 2 : last]
    assert "".join("x" if is_found(place) else "." for place in inside) == NEEDED[arch]
    assert is_found(barriers[first - 3]) and is_found(barriers[last])
    waits = [place for place in places(lines, r"s\.waitcnt\(i32 3952\)") if place < priorities[-1]]
    assert len(waits) == (3 if arch == "gfx950" else 0) and all(map(is_found, waits))
