"""Checks the kernel of a bug that is seeded behind a pass, and prints the findings as JSON: the program of
test_seeded_bugs.py, which has the native module with bugs (test/seeded) imported."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, NamedTuple

import masked_kernels
import tilewright as tw
from tilewright.testing import check


@tw.jit
def subtract(out, x, y, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n) - tw.load(y + i, mask=i < n), mask=i < n)


@tw.jit
def add_rows(out, x, rows, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    total, pointers = tw.zeros((BLOCK,), tw.float32), x + i
    for _ in range(rows):
        total += tw.load(pointers)
        pointers += BLOCK
    tw.store(out + i, total)


@tw.jit(specialize="shape")
def matmul(c, a, b, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m = (tw.program_id(0) * BM + tw.arange(0, BM))[:, None]
    n = (tw.program_id(1) * BN + tw.arange(0, BN))[None, :]
    total = tw.full((BM, BN), 0.5, tw.float32)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        x = tw.load(a + m * K + k[None, :], mask=(m < M) & (k[None, :] < K), other=0.0)
        y = tw.load(b + k[:, None] * N + n, mask=(k[:, None] < K) & (n < N), other=0.0)
        total = tw.dot(x, y, total)
    tw.store(c + m * N + n, total, mask=(m < M) & (n < N))


@tw.jit
def two_products(c, d, a, b, e, SIZE: tw.constexpr):
    i = tw.arange(0, SIZE)
    place = i[:, None] * SIZE + i[None, :]
    x, y, z = tw.load(a + place), tw.load(b + place), tw.load(e + place)
    tw.store(c + place, tw.dot(x, y))
    tw.store(d + place, tw.dot(y, z))


@tw.jit
def lower_triangle(out, x, n, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    rows, columns = tw.arange(0, ROWS), tw.arange(0, COLUMNS)
    mask = (columns[None, :] < n) & (columns[None, :] <= rows[:, None])
    value = tw.load(x + rows[:, None] * COLUMNS + columns[None, :])
    tw.store(out + rows[:, None] * COLUMNS + columns[None, :], tw.where(mask, value, 0.0))


@tw.jit
def copy_boxes(out, x, M, N, BM: tw.constexpr, BN: tw.constexpr):
    source = tw.make_tensor_descriptor(x, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    target = tw.make_tensor_descriptor(out, shape=[M, N], strides=[N, 1], block_shape=[BM, BN])
    place = [tw.program_id(0) * BM, tw.program_id(1) * BN]
    target.store(place, source.load(place) * 2)


class Trial(NamedTuple):
    """A kernel that a bug makes wrong, its launch, and the devices that show it."""

    kernel: Any
    signature: dict[str, str]
    constants: dict[str, Any]
    example: dict[str, Any]
    grid: Any
    devices: tuple[str, ...]
    cases: int = 4


def products(kernel: Any, device: str, type: str, sizes: tuple[int, ...], tiles: tuple[int, ...], cases: int) -> Trial:
    signature = {"c": "*fp32", "a": f"*{type}", "b": f"*{type}", "M": "i32", "N": "i32", "K": "i32"}
    example = {"c": "M*N", "a": "M*K", "b": "K*N", **dict(zip("MNK", sizes))}
    grid = ("cdiv(M, BM)", "cdiv(N, BN)")
    return Trial(kernel, signature, dict(zip(("BM", "BN", "BK"), tiles)), example, grid, (device,), cases)


FLAT = ({"out": "*fp32", "x": "*fp32", "y": "*fp32", "n": "i32"}, {"BLOCK": 64}, {"out": "n", "x": "n", "y": "n", "n": 200})
ROWS = ({"out": "*fp32", "x": "*fp32", "columns": "i32"}, {"BLOCK": 64}, {"out": 192, "x": 192, "columns": 48}, 3)
SQUARES = (dict.fromkeys("cdabe", "*fp32"), {"SIZE": 32}, dict.fromkeys("cdabe", 1024), 1)
TILES = ({"out": "*fp32", "x": "*fp32", "n": "i32"}, {"ROWS": 16, "COLUMNS": 64}, {"out": 1024, "x": 1024, "n": 40}, 1)
BOXES = (
    {"out": "*fp32", "x": "*fp32", "M": "i32", "N": "i32"}, {"BM": 16, "BN": 16},
    {"out": "M*N", "x": "M*N", "M": 40, "N": 40}, ("cdiv(M, BM)", "cdiv(N, BN)"),
)  # fmt: skip
PIPELINED = products(masked_kernels.matmul, "sim:sm_80", "fp16", (32, 64, 192), (32, 64, 32), 1)
TRIALS = {
    "mask-off-by-one": Trial(subtract, *FLAT, "cdiv(n, BLOCK)", ("sim:sm_80",)),
    "swapped-difference": Trial(subtract, *FLAT, "cdiv(n, BLOCK)", ("cpu", "sim:gfx942")),
    "merged-loads": Trial(subtract, *FLAT, "cdiv(n, BLOCK)", ("cpu",)),
    "hoisted-index": products(masked_kernels.matmul, "cpu", "fp32", (16, 32, 70), (16, 32, 16), 1),
    "lost-step": Trial(
        add_rows, {"out": "*fp32", "x": "*fp32", "rows": "i32"}, {"BLOCK": 64},
        {"out": 64, "x": "rows*BLOCK", "rows": 5}, 1, ("cpu", "sim:sm_80"),
    ),
    "lost-sum": products(matmul, "cpu", "fp32", (64, 64, 72), (64, 64, 8), 1),
    "lost-rest": products(masked_kernels.matmul, "sim:sm_80", "fp16", (32, 64, 50), (32, 64, 32), 1),
    "mixed-buffers": Trial(two_products, *SQUARES, ("cpu",)),
    "swapped-lowered": Trial(subtract, *FLAT, "cdiv(n, BLOCK)", ("cpu",)),
    "wide-bound": Trial(lower_triangle, *TILES, ("sim:sm_80",), 1),
    "lost-other": Trial(masked_kernels.softmax, *ROWS, ("sim:gfx942",), 1),
    "other-slot": PIPELINED,
    "short-wait": PIPELINED,
    "missing-barrier": Trial(masked_kernels.softmax, *ROWS, ("sim:sm_80", "sim:sm_90a"), 1),
    "swapped-vectors": Trial(subtract, *FLAT, "cdiv(n, BLOCK)", ("cpu",), 1),
    "loose-box": Trial(copy_boxes, *BOXES, ("sim:sm_80",)),
}  # fmt: skip


def main(bug: str) -> None:
    kernel, signature, constants, example, grid, devices, cases = TRIALS[bug]
    if os.environ.get("SEEDED_BUG"):
        assert os.environ["SEEDED_BUG"] == bug
    result = check(
        kernel, signature, constants, example=example, grid=grid, devices=devices, cases=cases, raises=False
    )
    found = [
        {"kind": one.kind, "device": one.way.device, "pass": one.wrong_pass and one.wrong_pass.name,
         "candidates": one.wrong_pass and one.wrong_pass.candidates, "text": str(one)}
        for one in result.findings
    ]  # fmt: skip
    print(json.dumps({"findings": found, "notes": result.notes}))


if __name__ == "__main__":
    main(sys.argv[1])
