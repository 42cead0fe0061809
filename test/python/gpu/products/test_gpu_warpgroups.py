"""On sm_90a products are computed by warpgroups, whose instructions run beside the program: wgmma."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import matrix_kernels as kernels
from assemblers import path_of, releases
from gpu.launching import launching_on
from gpu.products.test_gpu_matmul import TYPES, assert_equal, integers, launch, multiply, poisoned

import tilewright as tw
from tilewright.compile import CompiledKernel

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "hopper"), pytest.mark.one_machine]

Setting = tuple[int, int, str]
# Every number of warps with every number of stages, and every completion with each.
SETTINGS = [(4, 1, "late"), (4, 2, "random"), (8, 3, "late"), (4, 4, "random"), (8, 2, "early")]
INSTRUCTION = r"wgmma\.mma_async\.sync\.aligned\.(m64n\d+k\d+\.\w+\.\w+\.\w+)"


@pytest.fixture(params=["boxes", "pieces"])
def hopper(request: pytest.FixtureRequest) -> Any:
    """How loops copy operands ahead: one thread boxes, where they are such, or each thread pieces."""
    with launching_on("sim:sm_90a", tensor_maps=request.param == "boxes"):
        yield request.param


def instructions(compiled: CompiledKernel) -> set[str]:
    ptx = compiled.asm["ptx"]
    assert "mma.sync" not in ptx
    return set(re.findall(INSTRUCTION, ptx))


def reasons(compiled: CompiledKernel) -> list[str]:
    """Why products are not computed by warpgroups."""
    assert "wgmma" not in compiled.asm["ptx"]
    return [remark["message"] for remark in compiled.remarks if remark["code"] == "TW0367"]


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("f16", "m64n64k16.f32.f16.f16"),
        ("bf16", "m64n64k16.f32.bf16.bf16"),
        ("tf32", "m64n64k8.f32.tf32.tf32"),
        ("i8", "m64n64k32.s32.s8.s8"),
    ],
)
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_type(name: str, shape: str, setting: Setting, rng: np.random.Generator) -> None:
    """Elements that are neighbours along k, as all types take them."""
    tiles = (128, 64, 64)
    compiled = multiply(rng, name, (False, True), (128, 64, 256), setting, True, tiles)
    assert instructions(compiled) == {shape}


@pytest.mark.parametrize("orders", [(False, False), (True, False), (True, True)])
@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("setting", SETTINGS[1:4])
def test_every_order(
    orders: tuple[bool, bool], whole: bool, setting: Setting, rng: np.random.Generator
) -> None:
    """Of 16 bits, elements may be neighbours along m and n; masked tiles lie as others do."""
    sizes = (128, 64, 256) if whole else (120, 56, 200)
    for name, kind in ("f16", "f16"), ("bf16", "bf16"):
        compiled = multiply(rng, name, orders, sizes, setting, whole, (128, 64, 64))
        assert instructions(compiled) == {f"m64n64k16.f32.{kind}.{kind}"}


@pytest.mark.parametrize("tiles", [(64, 8, 16), (64, 16, 32), (128, 256, 64), (256, 32, 16)])
def test_every_extent(tiles: tuple[int, int, int], rng: np.random.Generator) -> None:
    """Rows in shared memory of 16 to 128 bytes, and tiles of several slabs and blocks."""
    M, N, K = tiles
    for orders in (False, False), (True, True):
        warps = 8 if M > 64 else 4
        compiled = multiply(rng, "f16", orders, (M, N, 4 * K), (warps, 3, "late"), True, tiles)
        assert instructions(compiled) == {f"m64n{N}k16.f32.f16.f16"}


def test_sums_of_halves(rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 64, 128), integers(rng, 128, 64), poisoned(64, 64, dtype=torch.float16)
    compiled = launch(
        kernels.matmul_whole, (1, 1), a, b, c, 64, 128, *a.stride(), *b.stride(), BM=64, BN=64,
        BK=32, PRECISION=None, ACC=tw.float16, setting=(4, 3, "late"),
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    assert instructions(compiled) == {"m64n64k16.f16.f16.f16"}


@tw.jit
def formed(a, b, c, K, FORM: tw.constexpr, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr):
    """Products whose operands are computed, shared or transposed, by FORM."""
    m, n, k = tw.arange(0, M), tw.arange(0, N), tw.arange(0, BK)
    acc, other = tw.zeros((M, N), tw.float32), tw.zeros((M, N), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :])
        if FORM == "itself":
            y = x.T
        else:
            y = tw.load(b + (start + k)[:, None] * N + n[None, :])
        if FORM == "left computed":
            x = x * 2
        elif FORM == "right computed":
            y = y * 2
        elif FORM == "left widened":
            x = x.to(tw.float16)
        if FORM == "twice":
            acc = tw.dot(x + 1, y, tw.dot(x, y, acc))
        elif FORM == "chained":
            acc += tw.dot(tw.dot(x, y).to(tw.float16), tw.load(b + n[:, None] * N + n[None, :]))
        elif FORM == "two sums":
            acc = tw.dot(x, y, acc) * 2
        elif FORM == "side by side":
            acc = tw.dot(x, y, acc)
            other = tw.dot(tw.load(a + (M - 1 - m)[:, None] * K + (start + k)[None, :]), y, other)
        elif FORM == "one from the other":
            acc = tw.dot(x, y, acc)
            other = tw.dot(acc.to(tw.float16), tw.load(b + n[:, None] * N + n[None, :]), other)
        else:
            acc = tw.dot(x, y, acc)
    tw.store(c + m[:, None] * N + n[None, :], acc + 2 * other)


def expected(form: str, a: Any, b: Any, BK: int) -> Any:
    total, other = (torch.zeros(a.shape[0], b.shape[1]).double() for _ in range(2))
    for start in range(0, a.shape[1], BK):
        x, y = a[:, start : start + BK].double(), b[start : start + BK].double()
        if form == "itself":
            total += x @ x.T
        elif form == "twice":
            total += x @ y + (x + 1) @ y
        elif form == "chained":
            total += (x @ y) @ b[: b.shape[1]].double()
        elif form == "two sums":
            total = (total + x @ y) * 2
        else:
            total += (2 * x if form == "left computed" else x) @ y
        if form == "side by side":
            other += x.flip(0) @ y
        elif form == "one from the other":
            other += total @ b[: b.shape[1]].double()
    return total + 2 * other


FORMS = [
    "itself", "left computed", "left widened", "twice", "chained", "two sums", "side by side",
    "one from the other",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("setting", SETTINGS)
def test_forms_of_products(form: str, setting: Setting, rng: np.random.Generator) -> None:
    """One tile for both operands, a left one in registers, sums that others add to or scale."""
    M = N = 128 if form == "itself" or setting[0] == 8 else 64
    dtype = torch.int8 if form == "left widened" else torch.float16
    a, b = integers(rng, M, 128, dtype=dtype, size=1), integers(rng, 128, N, size=1)
    c = poisoned(M, N)
    compiled = launch(formed, (1,), a, b, c, 128, FORM=form, M=M, N=N, BK=32, setting=setting)
    assert_equal(c, expected(form, a, b, 32))
    assert instructions(compiled)


@pytest.mark.parametrize(
    ("name", "orders", "warps", "tiles", "reason"),
    [
        ("f16", (False, False), 2, (64, 64, 32), "it takes num_warps divisible by 4"),
        ("f16", (False, False), 8, (64, 64, 32), "it has fewer than 16 rows for each warp"),
        ("i8", (False, False), 4, (64, 64, 32), "are not neighbours along k in memory"),
        ("tf32", (False, False), 4, (64, 64, 32), "are not neighbours along k in memory"),
        ("tf32x3", (False, True), 4, (64, 64, 32), 'its precision is "tf32x3"'),
        ("f64", (False, True), 4, (64, 64, 32), "do not multiply its types"),
        ("e4m3", (False, False), 4, (64, 64, 32), "are not neighbours along k in memory"),
        ("f16", (False, False), 4, (64, 64, 8), "it is smaller than theirs"),
    ],
)
def test_why_single_warps_multiply(
    name: str, orders: tuple[bool, bool], warps: int, tiles: tuple[int, int, int], reason: str,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    compiled = multiply(rng, name, orders, (64, 64, 64), (warps, 2, "late"), True, tiles)
    assert all(reason in message for message in reasons(compiled)) and reasons(compiled)


def test_why_computed_operands_go_to_single_warps(rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 64, 64), integers(rng, 64, 64), poisoned(64, 64)
    compiled = launch(
        formed, (1,), a, b, c, 64, FORM="right computed", M=64, N=64, BK=32,
        setting=(4, 2, "late"),
    )  # fmt: skip
    assert_equal(c, 2 * expected("", a, b, 32))
    assert reasons(compiled) == [
        "product by matrix instructions of single warps: its right operand is computed, not loaded "
        "as it is"
    ]


@tw.jit
def times_wide(a, b, c, N, M: tw.constexpr, K: tw.constexpr, BN: tw.constexpr):
    """The left operand is the same in all iterations."""
    m, n, k = tw.arange(0, M), tw.arange(0, BN), tw.arange(0, K)
    x = tw.load(a + m[:, None] * K + k[None, :])
    for start in range(0, N, BN):
        y = tw.load(b + k[:, None] * N + (start + n)[None, :])
        tw.store(c + m[:, None] * N + (start + n)[None, :], tw.dot(x, y))


@pytest.mark.parametrize(("K", "lies"), [(256, "in memory"), (512, "in registers")])
def test_what_does_not_fit_beside_others_stays_in_registers(
    K: int, lies: str, rng: np.random.Generator
) -> None:
    a, b, c = integers(rng, 128, K, size=2), integers(rng, K, 128, size=2), poisoned(128, 128)
    compiled = launch(times_wide, (1,), a, b, c, 128, M=128, K=K, BN=64, setting=(8, 2, "late"))
    assert_equal(c, a.double() @ b.double())
    product = next(line for line in compiled.asm["scheduled"].splitlines() if "mma_async" in line)
    left = product.rpartition(" : ")[2]
    assert left.startswith("!simt.shared" if lies == "in memory" else "tensor")


def test_fewer_registers_hold_fewer_columns(rng: np.random.Generator) -> None:
    """An instruction never asks for more registers than the launch allows."""
    a, b, c = integers(rng, 64, 64), integers(rng, 64, 128), poisoned(64, 128)
    for limit, columns in (64, 64), (128, 128), (0, 128):
        compiled = launch(
            kernels.matmul_whole, (1, 1), a, b, c, 128, 64, *a.stride(), *b.stride(), BM=64, BN=128,
            BK=32, PRECISION=None, ACC=tw.float32, setting=(4, 2, "late"),
            **({"maxnreg": limit} if limit else {}),
        )  # fmt: skip
        assert_equal(c, a.double() @ b.double())
        assert instructions(compiled) == {f"m64n{columns}k16.f32.f16.f16"}


@pytest.mark.parametrize("warps", [16, 32])
def test_many_warps_have_few_registers_each(
    warps: int, tmp_path: Path, rng: np.random.Generator
) -> None:
    tiles = (16 * warps, 128, 32)
    compiled = multiply(
        rng, "f16", (False, True), (tiles[0], 128, 64), (warps, 2, "late"), True, tiles
    )
    assert instructions(compiled) == {f"m64n{128 if warps == 16 else 64}k16.f32.f16.f16"}
    assert "Used" in log_of(compiled, tmp_path)


def test_tf32_is_as_exact_as_its_mantissa(rng: np.random.Generator) -> None:
    """Operands lose what 10 bits do not hold: at most 2^-10 of each."""
    a, b = (torch.from_numpy(rng.standard_normal((64, 64)).astype(np.float32)) for _ in range(2))
    c = poisoned(64, 64)
    compiled = launch(
        kernels.matmul_whole, (1, 1), a, b.T, c, 64, 64, 64, 1, 1, 64, BM=64, BN=64, BK=32,
        PRECISION="tf32", ACC=tw.float32, setting=(4, 2, "late"),
    )  # fmt: skip
    assert instructions(compiled) == {"m64n64k8.f32.tf32.tf32"}
    bound = (a.double().abs() @ b.double().abs().T) * (2 * 2.0**-10 + 1e-6)
    assert ((c.double() - a.double() @ b.double().T).abs() <= bound).all()


def main_loop(compiled: CompiledKernel) -> list[str]:
    """The operations of the first loop of products, in their order."""
    _, *loops = compiled.asm["scheduled"].split("scf.for")
    loop = next(each for each in loops if "simt.mma_async" in each).partition("scf.yield")[0]
    names = (
        r"simt\.(mma_async|mma_wait \d|barrier|phase_await|release|box_copy|async_wait|async_copy|fence_async)\b"
    )
    return re.findall(names, loop)


def expected_loop(hopper: str, waits: list[str], num_copies: int) -> list[str]:
    """Awaiting copies, products, and copies behind a barrier, or releases for the loader's."""
    if hopper == "boxes":
        return ["phase_await", *waits, "release"]
    return ["async_wait", "fence_async", "barrier", *waits, "barrier", *["async_copy"] * num_copies]


def test_two_products_are_in_flight(hopper: str, rng: np.random.Generator) -> None:
    """A product starts before the one of the iteration before is waited for, copies behind both."""
    compiled = multiply(rng, "f16", (False, True), (64, 64, 256), (4, 3, "late"), True, (64, 64, 64))
    assert main_loop(compiled) == expected_loop(hopper, ["mma_async", "mma_wait 1"], 2)


def test_products_side_by_side_are_in_flight(hopper: str, rng: np.random.Generator) -> None:
    """Two sums of one loop, as those of a gate: each has a product of two iterations in flight."""
    a, b, c = integers(rng, 64, 256), integers(rng, 256, 64), poisoned(64, 64)
    compiled = launch(
        formed, (1,), a, b, c, 256, FORM="side by side", M=64, N=64, BK=64, setting=(4, 3, "late")
    )
    assert_equal(c, expected("side by side", a, b, 64))
    # The rows of A from the last to the first are not those of a box.
    waits = ["mma_async", "mma_async", "mma_wait 2"]
    assert main_loop(compiled) == expected_loop("pieces", waits, 3)


COMPILED = {
    "product": (kernels.matmul_whole, "f16"),
    "masked product": (kernels.matmul, "f16"),
    "bytes": (kernels.matmul_whole, "i8"),
    "tf32": (kernels.matmul_whole, "tf32"),
}


def log_of(compiled: CompiledKernel, folder: Path) -> str:
    ptxas = path_of(next(release for release in releases() if release.startswith("13.0")))
    if not ptxas.is_file():
        pytest.skip("the tests' assemblers are not installed")
    text = folder / "kernel.ptx"
    text.write_text(compiled.asm["ptx"])
    command = [ptxas, "-v", "-arch=sm_90a", text, "-o", folder / "kernel.cubin"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return done.stdout + done.stderr


@pytest.mark.parametrize("name", COMPILED)
@pytest.mark.parametrize("warps", [4, 8])
def test_assembler_keeps_products_apart(
    name: str, warps: int, tmp_path: Path, rng: np.random.Generator
) -> None:
    """ptxas says nothing of products that it serializes or of waits and fences that it adds (C75xx)."""
    kernel, kind = COMPILED[name]
    assert TYPES[kind]
    tiles = (128, 128, 64) if kind == "f16" else (128, 64, 32)
    compiled = multiply(
        rng, kind, (False, True), (128, 128, 256), (warps, 3, "early"),
        kernel is kernels.matmul_whole, tiles,
    )  # fmt: skip
    log = log_of(compiled, tmp_path)
    assert "Used" in log and "C75" not in log, log


@pytest.mark.parametrize("form", FORMS)
def test_assembler_keeps_forms_apart(form: str, tmp_path: Path, rng: np.random.Generator) -> None:
    dtype = torch.int8 if form == "left widened" else torch.float16
    a, b, c = integers(rng, 64, 64, dtype=dtype), integers(rng, 64, 64), poisoned(64, 64)
    compiled = launch(
        formed, (1,), a, b, c, 64, FORM=form, M=64, N=64, BK=32, setting=(4, 3, "early")
    )
    log = log_of(compiled, tmp_path)
    assert "Used" in log and "C75" not in log, log
