"""Threads of Intel's GPUs with 128 or 256 registers: which kernels get the larger file, what a launch may ask for,
and that products are right with either."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.one_machine]

ROWS = {"xe-hpg": 8, "xe2": 16, "xe-hpc": 16}  # lanes
SIGNATURE = {"a": "*fp16", "b": "*fp16", "out": "*fp32", "K": "i32"}


@tw.jit
def multiply(a, b, out, K, M: tw.constexpr, N: tw.constexpr, DEPTH: tw.constexpr):
    m, n, k = tw.arange(0, M)[:, None], tw.arange(0, N)[None, :], tw.arange(0, DEPTH)
    total = tw.zeros((M, N), tw.float32)
    for start in range(0, K, DEPTH):
        x = tw.load(a + m * K + start + k[None, :])
        total = tw.dot(x, tw.load(b + (start + k[:, None]) * N + n), total)
    tw.store(out + m * N + n, total)


@tw.jit
def increase(a, b, out, K, M: tw.constexpr, N: tw.constexpr, DEPTH: tw.constexpr):
    """A loop without products, of as many numbers."""
    at = tw.arange(0, M)[:, None] * N + tw.arange(0, N)[None, :]
    total = tw.zeros((M, N), tw.float32)
    for _ in range(0, K, DEPTH):
        total += tw.load(out + at)
    tw.store(out + at, total)


def compiled(row: str, kernel: Any = multiply, device: str = "spirv", sums: int = 64, **options: Any) -> Any:
    """A product with so many sums a lane in 4 subgroups; so few rows that operands take little beside them."""
    constants = {"M": 64, "N": sums * ROWS[row] * 4 // 64, "DEPTH": 16}
    return kernel.compile(SIGNATURE, constants, device=f"{device}:{row}", num_warps=4, **options)


def remarks(kernel: Any) -> list[str]:
    return [remark["message"] for remark in kernel.remarks if remark["code"] == "TW0374"]


@pytest.mark.parametrize("device", ["spirv", "sim"])
@pytest.mark.parametrize("row", ROWS)
def test_kernels_get_the_registers_that_their_products_take(row: str, device: str) -> None:
    small, large = (compiled(row, device=device, sums=sums) for sums in (32, 128))
    assert "large_registers" not in small.resources and not remarks(small)
    assert large.resources["large_registers"] == 256
    (remark,) = remarks(large)
    assert "256 registers in place of 128" in remark
    assert 128 < int(remark.rsplit(" ", 1)[1]) <= 256


def test_loops_without_products_keep_the_smaller_file() -> None:
    kernel = compiled("xe2", increase, sums=128)
    assert "large_registers" not in kernel.resources and not remarks(kernel)


@pytest.mark.parametrize("row", ROWS)
def test_launches_choose_with_maxnreg(row: str) -> None:
    few, some, all_of_them = (compiled(row, sums=sums, maxnreg=limit) for sums, limit in ((128, 128), (128, 255), (32, 256)))
    assert "large_registers" not in few.resources and not remarks(few)
    assert "large_registers" not in some.resources
    assert all_of_them.resources["large_registers"] == 256 and not remarks(all_of_them)
    options = [kernel.native.build_options.split() for kernel in (few, all_of_them)]
    rounded = "-cl-fp32-correctly-rounded-divide-sqrt"
    assert options == [[rounded], [rounded, "-cl-intel-256-GRF-per-thread"]]
    assert len({kernel.key for kernel in (few, some, all_of_them, compiled(row, sums=32), compiled(row, sums=128))}) == 5


@pytest.mark.parametrize("limit", [127, 257])
def test_other_numbers_are_refused(limit: int) -> None:
    with pytest.raises(tw.UnsupportedError, match=f"maxnreg={limit} .*from 128 to 256 registers") as caught:
        compiled("xe2", maxnreg=limit)
    assert caught.value.code == "TW0314"


def test_devices_with_one_file_take_every_limit() -> None:
    constants = {"M": 64, "N": 128, "DEPTH": 16}
    kernels = [multiply.compile(SIGNATURE, constants, device="spirv:generic16", **options) for options in ({}, {"maxnreg": 256})]
    assert all("large_registers" not in kernel.resources for kernel in kernels)
    assert not any(kernel.native.build_options for kernel in kernels)
    assert kernels[0].asm["spirv"] == kernels[1].asm["spirv"]


def test_more_registers_leave_half_as_many_threads() -> None:
    constants = {"M": 256, "N": 256, "DEPTH": 16}
    with pytest.raises(tw.UnsupportedError, match="64 warps") as caught:
        multiply.compile(SIGNATURE, constants, device="spirv:xe2", num_warps=64, maxnreg=256)
    assert caught.value.code == "TW0313"


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("limit", [None, 128])
def test_products_are_right_with_either(row: str, limit: int | None, rng: np.random.Generator) -> None:
    columns, depth = 128 * ROWS[row] * 4 // 64, 80
    a, b = (rng.standard_normal(shape).astype(np.float16) for shape in ((64, depth), (depth, columns)))
    out = np.full((64, columns), np.nan, np.float32)
    with tw.device(f"sim:{row}"):
        multiply[1](a, b, out, depth, M=64, N=columns, DEPTH=16, num_warps=4, **({"maxnreg": limit} if limit else {}))
    assert not tw.simulation.last_report().findings
    left, right = a.astype(np.float64), b.astype(np.float64)
    assert (abs(out - left @ right) <= abs(left) @ abs(right) * depth * 2.0**-24).all()
