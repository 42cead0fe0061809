"""Limits of registers and shared memory: kept, reported where they cost something, refused."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu.launching import normal, poisoned

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")

LIMITS = {"sm_80": 166912, "sm_86": 101376, "sm_89": 101376, "sm_90a": 232448, "sm_120": 101376}


@tw.jit
def matmul(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :])
        y = tw.load(b + k[:, None] * N + n[None, :])
        acc = tw.dot(x, y, acc)
    tw.store(c + m[:, None] * N + n[None, :], acc.to(tw.float16))


@tw.jit
def matmul_to_floats(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m = tw.arange(0, BM)
    n = tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :])
        y = tw.load(b + k[:, None] * N + n[None, :])
        acc = tw.dot(x, y, acc)
    tw.store(c + m[:, None] * N + n[None, :], acc)


@tw.jit
def gated(a, b, g, c, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    left = tw.zeros((BM, BN), tw.float32)
    right = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :])
        y = tw.load(b + k[:, None] * N + n[None, :])
        z = tw.load(g + k[:, None] * N + n[None, :])
        left = tw.dot(x, y, left)
        right = tw.dot(x, z, right)
    tw.store(c + m[:, None] * N + n[None, :], (left * right).to(tw.float16))


@tw.jit
def attention(q, k, v, o, T, BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr):
    i = tw.program_id(0) * BM + tw.arange(0, BM)
    d = tw.arange(0, D)
    query = tw.load(q + i[:, None] * D + d[None, :])
    highest = tw.full((BM,), float("-inf"), tw.float32)
    total = tw.zeros((BM,), tw.float32)
    acc = tw.zeros((BM, D), tw.float32)
    for start in range(0, T, BN):
        j = start + tw.arange(0, BN)
        score = tw.dot(query, tw.load(k + j[None, :] * D + d[:, None]))
        higher = tw.maximum(highest, tw.max(score, 1))
        weight = tw.exp2(score - higher[:, None])
        scale = tw.exp2(highest - higher)
        total = total * scale + tw.sum(weight, 1)
        value = tw.load(v + j[:, None] * D + d[None, :])
        acc = tw.dot(weight.to(tw.float16), value, acc * scale[:, None])
        highest = higher
    tw.store(o + i[:, None] * D + d[None, :], (acc / total[:, None]).to(tw.float16))


@tw.jit
def exact_beside(a, b, x, y, c, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """A product by instructions, and one by FMAs, whose operands lie in shared memory whole."""
    m = tw.arange(0, BM)
    n = tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        left = tw.load(a + m[:, None] * K + k[None, :])
        acc = tw.dot(left, tw.load(b + k[:, None] * N + n[None, :]), acc)
        left = tw.load(x + m[:, None] * K + k[None, :])
        right = tw.load(y + k[:, None] * N + n[None, :])
        acc = tw.dot(left, right, acc, input_precision="ieee")
    tw.store(c + m[:, None] * N + n[None, :], acc.to(tw.float16))


HALVES = "*fp16:16"
SIGNATURES = {
    exact_beside: dict.fromkeys("ab", HALVES) | dict.fromkeys("xy", "*fp32:16") | {"c": HALVES}
    | dict.fromkeys("NK", "i32:16"),
    matmul: dict.fromkeys("abc", HALVES) | dict.fromkeys("MNK", "i32:16"),
    gated: dict.fromkeys("abgc", HALVES) | dict.fromkeys("NK", "i32:16"),
    attention: dict.fromkeys("qkvo", HALVES) | {"T": "i32:16"},
}
TILE = {"BM": 128, "BN": 128, "BK": 32}


def compiled(kernel: Any, constants: Any, device: str, **options: Any) -> Any:
    return kernel.compile(SIGNATURES[kernel], constants, device=device, **options)


def line_of(kernel: Any, text: str) -> int:
    import inspect

    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def spills(kernel: Any) -> list[str]:
    return [r["rendered"] for r in kernel.remarks if r["code"] == "TW0358"]


@pytest.mark.parametrize("arch", [*LIMITS, "sm_100a"])
def test_a_limit_of_registers_is_kept(arch: str) -> None:
    for limit in (96, 128, 255):
        kernel = compiled(matmul, TILE, f"nvidia:{arch}", maxnreg=limit)
        assert f".maxnreg {limit}\n" in kernel.asm["ptx"]
        assert 24 <= kernel.n_regs <= limit
        assert kernel.metadata.maxnreg == limit
    assert ".maxnreg" not in compiled(matmul, TILE, f"nvidia:{arch}").asm["ptx"]


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950", "gfx1100"])
def test_a_limit_of_registers_is_kept_by_accumulation_registers_too(arch: str) -> None:
    """They count with the others for how many waves a SIMD holds; this code spills under the lower limit."""
    for limit in (64, 100):
        kernel = compiled(matmul, {"BM": 128, "BN": 128, "BK": 64}, f"amd:{arch}", maxnreg=limit)
        assert kernel.n_spills > 0 or limit > 64
        assert 24 <= kernel.n_regs <= limit


def test_spills_that_a_limit_forces_are_said_at_the_kernel() -> None:
    kernel = compiled(matmul, TILE, "nvidia:sm_80", maxnreg=64)
    (text,) = spills(kernel)
    assert kernel.n_spills > 0
    assert f"stores and loads {kernel.n_spills} bytes" in text
    assert "64 of the 64 registers that maxnreg=64 allows" in text
    assert "raise maxnreg" in text and "num_stages" in text
    assert f"{__file__}:{line_of(matmul, 'def matmul')}" in text
    roomy = compiled(matmul, TILE, "nvidia:sm_80", maxnreg=255)
    assert roomy.n_spills == 0 and not spills(roomy)


@pytest.mark.parametrize("device", ["sim:sm_80", "nvidia:sm_80"])
def test_spills_are_shown_where_remarks_are(
    device: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert len(spills(compiled(matmul, TILE, device, maxnreg=64))) == 1
    assert "TW0358" not in capsys.readouterr().err
    monkeypatch.setenv("TILEWRIGHT_REMARKS", "1")
    tw.knobs.reset()
    compiled(matmul, TILE, device, maxnreg=72)
    shown = capsys.readouterr().err
    assert shown.count("remark[TW0358]") == 1 and "maxnreg=72" in shown


def test_spills_without_a_limit_say_what_bounds_the_registers() -> None:
    """A tile of 256 x 256 sums is 512 registers of each of 128 threads, and 64 of 1024."""
    large = {"BM": 256, "BN": 128, "BK": 32}
    (few,) = spills(compiled(matmul, large, "nvidia:sm_90a", num_warps=4))
    assert "of the 255 registers that a thread can have" in few
    assert "more warps" in few
    wide = {"BM": 256, "BN": 256, "BK": 32}
    (many,) = spills(compiled(matmul, wide, "nvidia:sm_90a", num_warps=32, num_stages=2))
    assert "of the 64 registers that num_warps=32 leaves a thread" in many
    assert "fewer warps" in many


def test_a_limit_above_what_the_warps_leave_does_not_lift_it() -> None:
    """ptxas alone would use 144 registers here: no GPU has as many for 1024 threads."""
    wide = {"BM": 256, "BN": 256, "BK": 32}
    for limit in (65, 128, 255):
        options = {"num_warps": 32, "num_stages": 2, "maxnreg": limit}
        kernel = compiled(matmul, wide, "nvidia:sm_90a", **options)
        assert kernel.n_regs == 64
        (text,) = spills(kernel)
        assert "of the 64 registers that num_warps=32 leaves a thread" in text


def test_the_command_says_what_is_spilled_on_the_simulator_too() -> None:
    arguments = [
        "--signature", "*fp16:16,*fp16:16,*fp16:16,i32:16,i32:16,i32:16",
        "--constexpr", "BM=128,BN=128,BK=32", "--target", "sim:sm_80", "--emit", "resources",
        "--remarks", "--maxnreg", "64",
    ]  # fmt: skip
    command = [sys.executable, "-m", "tilewright", "compile", f"{__file__}:matmul", *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[1],
    )  # fmt: skip
    assert "remark[TW0358]" in done.stderr and "maxnreg=64" in done.stderr
    assert re.search(r'"registers": 64\b', done.stdout)


@pytest.mark.parametrize("limit", [1, 23, 256, 1 << 70])
def test_limits_that_the_assembler_would_not_keep_are_refused(limit: int) -> None:
    with pytest.raises(tw.UnsupportedError, match=f"maxnreg={limit} ") as caught:
        compiled(matmul, TILE, "sim:sm_80", maxnreg=limit)
    assert caught.value.code == "TW0314"
    assert "from 24 to 255" in caught.value.hint
    assert f"{__file__}:{line_of(matmul, 'def matmul')}" in str(caught.value)


@pytest.mark.parametrize("limit", [0, -1, True, 64.0, "64"])
@pytest.mark.parametrize("device", ["cpu", "reference", "sim:sm_80"])
def test_what_is_no_number_of_registers(limit: Any, device: str) -> None:
    with pytest.raises(tw.LaunchError, match=f"maxnreg={limit!r} ") as caught:
        compiled(matmul, TILE, device, maxnreg=limit)
    assert caught.value.code == "TW0410"


@pytest.mark.parametrize("device", ["cpu", "reference", "sim:sm_80", "sim:sm_90a"])
def test_a_limit_changes_no_result(device: str, rng: np.random.Generator) -> None:
    a, b = (normal(rng, 32, 32, dtype=np.float16) for _ in range(2))
    results = []
    with tw.device(device):
        for limit in (None, 24, tw.constexpr(255)):
            c = poisoned(32, 32, dtype=np.float16)
            matmul[(1, 1)](a, b, c, 32, 32, 32, BM=32, BN=32, BK=16, maxnreg=limit)
            results.append(c)
    np.testing.assert_allclose(results[0], a.astype(np.float64) @ b, atol=0.02)
    for other in results[1:]:
        np.testing.assert_array_equal(results[0], other)


def test_a_limit_is_part_of_a_gpu_kernel_and_of_no_other() -> None:
    for device, count in (("nvidia:sm_80", 3), ("sim:sm_80", 3), ("cpu", 1), ("reference", 1)):
        keys = {compiled(matmul, TILE, device, maxnreg=n).key for n in (None, 96, 128)}
        assert len(keys) == count, device


def test_configurations_differ_by_their_limit(rng: np.random.Generator) -> None:
    chosen = []

    def choose(configs: Sequence[Any], arguments: Any, **others: Any) -> list[Any]:
        chosen.extend(configs)
        return [configs[-1]]

    configs = [tw.Config(TILE | {"BM": 32, "BN": 32}, maxnreg=n) for n in (None, 64, 40)]
    tuned = tw.autotune(configs, key=["K"], prune_configs_by={"early_config_prune": choose})(matmul)
    a, b = (normal(rng, 32, 32, dtype=np.float16) for _ in range(2))
    c = poisoned(32, 32, dtype=np.float16)
    with tw.device("sim:sm_80"):
        kernel = tuned[(1, 1)](a, b, c, 32, 32, 32)
    assert len(set(chosen)) == 3
    assert kernel.metadata.maxnreg == 40 and ".maxnreg 40" in kernel.asm["ptx"]
    with pytest.raises(tw.LaunchError, match="maxnreg=0"):
        matmul.run(
            a, b, c, 32, 32, 32, grid=(1, 1), **tw.Config(TILE, maxnreg=0).all_kwargs()
        )  # fmt: skip


CASES = [
    (matmul, {"BM": 128, "BN": 128, "BK": 64}, 4),
    (matmul, {"BM": 64, "BN": 256, "BK": 64}, 8),
    (gated, {"BM": 128, "BN": 64, "BK": 64}, 8),
    (attention, {"BM": 128, "BN": 64, "D": 64}, 4),
    (attention, {"BM": 64, "BN": 128, "D": 128}, 8),
]


def attempt(kernel: Any, tile: Any, arch: str, warps: int, stages: int) -> Any:
    """The bytes of shared memory, or how the kernel is refused."""
    options = {"num_warps": warps, "num_stages": stages}
    try:
        return compiled(kernel, tile, f"sim:{arch}", **options).shared
    except tw.UnsupportedError as error:
        return error


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90a"])
@pytest.mark.parametrize(("kernel", "tile", "warps"), CASES)
def test_the_largest_number_of_stages_that_fits_is_named(
    kernel: Any, tile: Any, warps: int, arch: str
) -> None:
    error = attempt(kernel, tile, arch, warps, 16)
    assert isinstance(error, tw.UnsupportedError) and error.code == "TW0311"
    said = re.match(r"this kernel needs (\d+) bytes .* the target has (\d+)", error.message)
    needed, limit = map(int, said.groups())
    assert limit == LIMITS[arch]
    listed = error.hint.removeprefix("in use at once: ")
    listed = listed[: re.search(r"; (use|try) num_stages", listed).start()].split("; ")
    assert sum(int(re.search(r", (\d+) bytes$", each)[1]) for each in listed) <= needed
    in_slots = [each for each in listed if "in 16 slots" in each]
    assert len(in_slots) == (3 if kernel is gated else 2)
    for line in (re.search(r"line (\d+): ", each)[1] for each in in_slots):
        assert f"\n{line} |" in str(error)
    fitting = int(re.search(r"(?:use|try) num_stages=(\d+)", error.hint)[1])
    assert attempt(kernel, tile, arch, warps, fitting) <= limit
    assert isinstance(attempt(kernel, tile, arch, warps, fitting + 1), tw.UnsupportedError)


def test_a_tile_that_no_number_of_stages_fits_is_named() -> None:
    for stages in (1, 2, 5):
        error = attempt(exact_beside, {"BM": 256, "BN": 256, "BK": 256}, "sm_86", 8, stages)
        assert isinstance(error, tw.UnsupportedError) and error.code == "TW0311"
        assert "use num_stages" not in error.hint and "try num_stages" not in error.hint
        assert re.search(r"(halve|divide) (the tile|each of these tiles)", error.hint)
        assert re.search(r"f(16|32)\[\d+, \d+\] in place of f\1\[256, 256\]", error.hint)
        if stages > 1:
            assert "even num_stages=1 needs" in error.hint



def test_a_tile_goes_through_shared_memory_in_parts(rng: np.random.Generator) -> None:
    """The sums of a program may be more than fits: they take no more than the loop's copies did."""
    a, b = (normal(rng, 256, 256, dtype=np.float16) for _ in range(2))
    c = poisoned(256, 256, dtype=np.float32)
    with tw.device("sim:sm_86"):
        kernel = matmul_to_floats[(1, 1)](
            a, b, c, 256, 256, 256, BM=256, BN=256, BK=32, num_warps=16, num_stages=3
        )
        assert not tw.simulation.last_report("sim:sm_86").findings
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, atol=1e-4)
    assert kernel.shared == 3 * 2 * 256 * 32 * 2 < LIMITS["sm_86"] < c.nbytes


@tw.jit
def transposed(x, y, M: tw.constexpr, N: tw.constexpr):
    i, j = tw.arange(0, M)[:, None], tw.arange(0, N)[None, :]
    tw.store(y + j * M + i, tw.load(x + i * N + j))


@pytest.mark.parametrize(("machine", "limit"), [("sim:sm_86", 101376), ("sim:gfx942", 65536)])
@pytest.mark.parametrize(
    ("dtype", "warps"), [(np.int64, 1), (np.int64, 4), (np.float64, 8), (np.float16, 8)]
)
def test_a_tile_that_does_not_fit_goes_through_shared_memory_in_rounds(
    dtype: Any, machine: str, limit: int, warps: int, rng: np.random.Generator
) -> None:
    m, n = 128, 1024 // np.dtype(dtype).itemsize
    x = rng.integers(-(2**14), 2**14, (m, n)).astype(dtype)
    y = np.full((n, m), -1, dtype)
    with tw.device(machine):
        kernel = transposed[(1,)](x, y, M=m, N=n, num_warps=warps)
    np.testing.assert_array_equal(y, x.T)
    assert 0 < kernel.shared <= limit < x.nbytes


@tw.jit
def multiply_adds(a, b, c, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr):
    """A product of scalars, whose operands lie in shared memory whole."""
    m, n, k = tw.arange(0, M), tw.arange(0, N), tw.arange(0, K)
    x, y = tw.load(a + m[:, None] * K + k[None, :]), tw.load(b + k[:, None] * N + n[None, :])
    tw.store(c + m[:, None] * N + n[None, :], tw.dot(x, y, input_precision="ieee"))


@pytest.mark.parametrize("row", ["xe2", "xe-hpc"])
def test_programs_have_the_memory_of_their_machine(row: str, rng: np.random.Generator) -> None:
    a, b = normal(rng, 128, 128, dtype=np.float32), normal(rng, 128, 32, dtype=np.float32)
    c = poisoned(128, 32, dtype=np.float32)
    with tw.device(f"sim:{row}"):
        kernel = multiply_adds[(1,)](a, b, c, M=128, N=32, K=128, num_warps=8)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, atol=1e-3)
    assert 65536 < kernel.shared <= 131072


# (tile, warps, num_stages, the architecture whose memory holds num_stages - 1 slots, but no more).
SHORT_BY_ONE_SLOT = [
    ((128, 256, 64), 8, 3, "sm_120"), ((128, 128, 64), 4, 4, "sm_86"), ((16, 256, 128), 4, 3, "sm_80"),
    ((128, 256, 64), 8, 4, "sm_80"), ((128, 128, 128), 8, 2, "sm_86"),
]  # fmt: skip


@pytest.mark.parametrize(("tile", "warps", "stages", "arch"), SHORT_BY_ONE_SLOT)
def test_settings_that_fit_triton_fit(
    tile: tuple[int, int, int], warps: int, stages: int, arch: str, rng: np.random.Generator
) -> None:
    (BM, BN, BK), K = tile, 4 * tile[2]
    a, b = normal(rng, BM, K, dtype=np.float16), normal(rng, K, BN, dtype=np.float16)
    c = poisoned(BM, BN, dtype=np.float32)
    device = f"sim:{arch}"
    with tw.device(device):
        kernel = matmul_to_floats[(1, 1)](
            a, b, c, BM, BN, K, BM=BM, BN=BN, BK=BK, num_warps=warps, num_stages=stages
        )
        assert not tw.simulation.last_report(device).findings
    np.testing.assert_allclose(c, a.astype(np.float64) @ b, atol=1e-3)
    slot = 2 * BK * (BM + BN)
    assert (stages - 1) * slot <= LIMITS[arch] < stages * slot
    assert kernel.shared <= LIMITS[arch]
    (remark,) = (r["message"] for r in kernel.remarks if f"num_stages={stages}" in r["message"])
    assert remark.endswith(f"the loop is compiled as for {stages - 1}")


@tw.jit
def masked_product(a, b, c, K, step, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m, n = tw.arange(0, BM), tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :], mask=k[None, :] < K, other=0.0)
        y = tw.load(b + k[:, None] * step + n[None, :], mask=k[:, None] < K, other=0.0)
        acc = tw.dot(x, y, acc, input_precision="ieee")
    tw.store(c + m[:, None] * BN + n[None, :], acc)


@tw.jit
def edged_product(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m, n = tw.arange(0, BM), tw.arange(0, BN)
    acc = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m[:, None] * K + k[None, :], (m < M)[:, None] & (k < K)[None, :], 0)
        y = tw.load(b + k[:, None] * N + n[None, :], (k < K)[:, None] & (n < N)[None, :], 0)
        acc = tw.dot(x, y, acc)
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=(m < M)[:, None] & (n < N)[None, :])


def test_edges_of_a_product_that_fills_the_registers(rng: np.random.Generator) -> None:
    """What follows the loop computes its addresses and masks again."""
    for M, N, K in ((100, 121, 70), (128, 128, 64), (1, 128, 33)):
        a, b = normal(rng, M, K, dtype=np.float16), normal(rng, K, N, dtype=np.float16)
        c = poisoned(M + 1, N)
        with tw.device("sim:gfx1100"):
            kernel = edged_product[(1,)](a, b, c, M, N, K, BM=128, BN=128, BK=32, num_stages=2)
            assert not tw.simulation.last_report("sim:gfx1100").findings
        assert "@llvm.amdgcn.update.dpp.i32(" in kernel.asm["llvm"]
        np.testing.assert_allclose(c[:M], a.astype(np.float64) @ b, atol=1e-3)
        assert (c[M:].view(np.uint8) == 0xFF).all()


# Machines without copies of their own, with memory for one slot of these tiles: with few products
# the last iteration comes behind the loop, with many each iteration asks whether it is the last.
@pytest.mark.parametrize(
    ("arch", "tile", "warps", "dtype"),
    [
        ("gfx942", (128, 128, 128), 8, np.float16),
        ("gfx942", (128, 128, 64), 4, np.float32),
        ("gfx1100", (128, 64, 128), 8, np.float16),
    ],
)
def test_tiles_wait_in_registers_for_the_only_slot(
    arch: str, tile: tuple[int, int, int], warps: int, dtype: Any, rng: np.random.Generator
) -> None:
    BM, BN, BK = tile
    device = f"sim:{arch}"
    for K in (0, BK - 5, BK, BK + 3, 2 * BK, 3 * BK + 7):
        a, rows = normal(rng, BM, K, dtype=dtype), normal(rng, K, BN, dtype=dtype)
        for b, step in ((rows, BN), (rows[::-1], -BN)):  # the second is walked from its end
            c = poisoned(BM, BN)
            start = (BN * (K - 1) if step < 0 else 0) if K else 0
            with tw.device(device):
                kernel = masked_product[(1,)](
                    a, rows.reshape(-1)[start:], c, K, step, BM=BM, BN=BN, BK=BK, num_warps=warps,
                    num_stages=2,
                )  # fmt: skip
                assert not tw.simulation.last_report(device).findings
            np.testing.assert_allclose(c, a.astype(np.float64) @ b, atol=1e-3)
    assert 2 * (BM + BN) * BK * a.itemsize > 65536 >= kernel.shared
    assert any("slot of those before" in r["message"] for r in kernel.remarks)
