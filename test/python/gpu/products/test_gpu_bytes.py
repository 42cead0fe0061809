"""On sm_90a warpgroups multiply bytes: floats of 8 bits, and integers with a sign and without."""

from __future__ import annotations

import itertools
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gpu.launching import launching_on
from gpu.products.test_gpu_matmul import assert_equal, launch, poisoned
from gpu.products.test_gpu_warpgroups import log_of

import tilewright as tw
from tilewright.compile import CompiledKernel

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "hopper"), pytest.mark.one_machine]

Setting = tuple[int, int, str]
SETTINGS = [(4, 1, "late"), (4, 2, "random"), (8, 3, "late"), (4, 4, "random"), (8, 2, "early")]
TYPES = {
    "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2, "u8": torch.uint8, "s8": torch.int8,
}  # fmt: skip
PAIRS = [
    *itertools.product(("e4m3", "e5m2"), repeat=2),
    *itertools.product(("u8", "s8"), repeat=2),
]
ANY = 2**30  # all sums may be imprecise


@pytest.fixture(params=["boxes", "pieces"])
def hopper(request: pytest.FixtureRequest) -> Any:
    """How loops copy operands ahead: a loader boxes, or each thread pieces."""
    with launching_on("sim:sm_90a", tensor_maps=request.param == "boxes"):
        yield request.param


@tw.jit
def product(
    a, b, c, M, N, K, a_row, a_column, b_row, b_column,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, SUMS: tw.constexpr, MOST: tw.constexpr,
    FORM: tw.constexpr,
):  # fmt: skip
    """C = A B, masked by FORM, or with sums that FORM adds apart from the product."""
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    acc = tw.zeros((BM, BN), SUMS)
    for start in range(0, K, BK):
        k = start + tw.arange(0, BK)
        left = a + m[:, None] * a_row + k[None, :] * a_column
        right = b + k[:, None] * b_row + n[None, :] * b_column
        if FORM == "masked":
            x = tw.load(left, mask=(m[:, None] < M) & (k[None, :] < K), other=0)
            y = tw.load(right, mask=(k[:, None] < K) & (n[None, :] < N), other=0)
        else:
            x, y = tw.load(left), tw.load(right)
        if FORM == "added":
            acc += tw.dot(x, y, max_num_imprecise_acc=MOST, out_dtype=SUMS)
        elif FORM == "scaled":
            acc += 2 * tw.dot(x, y, max_num_imprecise_acc=MOST, out_dtype=SUMS)
        else:
            acc = tw.dot(x, y, acc, max_num_imprecise_acc=MOST, out_dtype=SUMS)
    inside = (m[:, None] < M) & (n[None, :] < N)
    tw.store(c + m[:, None] * N + n[None, :], acc, mask=inside)


def operand(rng: np.random.Generator, name: str, rows: int, columns: int, is_turned: bool) -> Any:
    """Integers that all types hold; those of bytes need all 8 bits. With `is_turned`, the elements
    of a column are the neighbours in memory."""
    low, high = {"u8": (0, 256), "s8": (-128, 128)}.get(name, (-4, 5))
    shape = (columns, rows) if is_turned else (rows, columns)
    values = torch.from_numpy(rng.integers(low, high, shape)).to(TYPES[name])
    return values.T if is_turned else values


def multiply(
    rng: np.random.Generator, pair: tuple[str, str], sizes: tuple[int, int, int],
    tiles: tuple[int, int, int], setting: Setting, *, turned: tuple[bool, bool] = (False, True),
    most: int | None = None, form: str = "plain", halves: bool = False,
) -> CompiledKernel:  # fmt: skip
    (M, N, K), (BM, BN, BK) = sizes, tiles
    a, b = operand(rng, pair[0], M, K, turned[0]), operand(rng, pair[1], K, N, turned[1])
    sums, out = (tw.int32, torch.int32) if pair[0] in ("u8", "s8") else (tw.float32, torch.float32)
    if halves:
        sums, out = tw.float16, torch.float16
    c = poisoned(M, N, dtype=out)
    compiled = launch(
        product, (-(-M // BM), -(-N // BN)), a, b, c, M, N, K, *a.stride(), *b.stride(),
        BM=BM, BN=BN, BK=BK, SUMS=sums, MOST=most, FORM=form, setting=setting,
    )  # fmt: skip
    assert_equal(c, (2 if form == "scaled" else 1) * (a.double() @ b.double()))
    return compiled


def instructions(compiled: CompiledKernel) -> set[str]:
    ptx = compiled.asm["ptx"]
    assert "mma.sync" not in ptx
    return set(re.findall(r"wgmma\.mma_async\.sync\.aligned\.(\S+)", ptx))


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("setting", SETTINGS)
def test_every_pair(
    pair: tuple[str, str], setting: Setting, hopper: str, rng: np.random.Generator
) -> None:
    compiled = multiply(rng, pair, (128, 64, 256), (128, 64, 64), setting)
    sums = "s32" if "8" in pair[0] else "f32"
    assert instructions(compiled) == {f"m64n64k32.{sums}.{'.'.join(pair)}"}
    # Copies of boxes, which a loader starts, as for other types.
    is_of_boxes = hopper == "boxes" and setting[1] > 1
    assert ("cp.async.bulk.tensor.2d.shared" in compiled.asm["ptx"]) == is_of_boxes
    assert ("simt.loader {" in compiled.asm["scheduled"]) == is_of_boxes


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("columns", [8, 24, 48, 96, 192, 256])
def test_every_number_of_columns(
    pair: tuple[str, str], columns: int, rng: np.random.Generator
) -> None:
    """Columns that no power of two counts take the room of the next one."""
    compiled = multiply(rng, pair, (64, columns, 128), (64, columns, 32), (4, 3, "random"))
    width = 1 << (columns - 1).bit_length()
    # Sums that are added to others stay in registers beside them.
    most = 128 if pair[0] in ("e4m3", "e5m2") else 256
    assert all(each.startswith(f"m64n{min(width, most)}k32.") for each in instructions(compiled))


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("sizes", [(120, 56, 208), (70, 33, 120)])
def test_masked(
    pair: tuple[str, str], sizes: tuple[int, int, int], rng: np.random.Generator
) -> None:
    for setting in (4, 3, "late"), (4, 2, "random"):
        assert multiply(rng, pair, sizes, (64, 64, 64), setting, form="masked")


ALONG_K = "its right operand's elements are not neighbours along k in memory"


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("turned", [(False, False), (True, False), (True, True)])
def test_other_orders(
    pair: tuple[str, str], turned: tuple[bool, bool], rng: np.random.Generator
) -> None:
    """Warpgroups read bytes along k only: else a left operand goes through registers, and a right
    one leaves the product to single warps, as f16 where it is of floats."""
    for setting in SETTINGS[1:4]:
        compiled = multiply(rng, pair, (128, 64, 128), (128, 64, 32), setting, turned=turned)
        said = [each["message"] for each in compiled.remarks if each["code"] == "TW0367"]
        if turned[1]:
            assert instructions(compiled) and not said
            continue
        assert "wgmma" not in compiled.asm["ptx"]
        assert said == [f"product by matrix instructions of single warps: {ALONG_K}"]
        types = "f32.f16.f16.f32" if pair[0][0] == "e" else f"s32.{pair[0]}.{pair[1]}.s32"
        assert f"row.col.{types}" in compiled.asm["ptx"]


@pytest.mark.parametrize("pair", PAIRS[:4], ids="-".join)
def test_sums_of_halves(pair: tuple[str, str], rng: np.random.Generator) -> None:
    """Sums of f16 have no more bits than instructions add: no number asks for others beside them."""
    for most in None, 0, ANY:
        compiled = multiply(
            rng, pair, (64, 64, 256), (64, 64, 64), (4, 3, "late"), halves=True, most=most
        )
        assert instructions(compiled) == {f"m64n64k32.f16.{'.'.join(pair)}"}
        assert additions(compiled) == 0


def additions(compiled: CompiledKernel) -> int:
    return len(re.findall(r"\badd(?:\.rn)?\.f32", compiled.asm["ptx"]))


def groups(compiled: CompiledKernel) -> list[tuple[list[str], bool]]:
    """Of each group of instructions the predicates of what they add to, "no" for nothing, and whether
    a wait for it comes before anything else."""
    found = []
    for text in compiled.asm["ptx"].split("wgmma.fence.sync.aligned;")[1:]:
        group, _, rest = text.partition("wgmma.commit_group.sync.aligned;")
        lines = [line.strip() for line in rest.splitlines() if line.strip()]
        following = next(line for line in lines if not line.startswith(("}", "//")))
        found.append((re.findall(r"(yes|no), 1, 1;", group), following.endswith("wait_group.sync.aligned 0;")))
    return found


# Of products with K = 128: how many elements each sum beside the accumulator has, in instructions.
PARTS = {0: [1] * 4, 31: [1] * 4, 32: [1] * 4, 64: [2, 2], 96: [3, 1], 128: [4], 512: [4], None: [4]}


@pytest.mark.parametrize("most", PARTS)
@pytest.mark.parametrize("form", ["plain", "added"])
def test_sums_beside_the_accumulator(
    most: int | None, form: str, rng: np.random.Generator
) -> None:
    """Sums of at most `max_num_imprecise_acc` elements begin at 0, and are added in f32."""
    compiled = multiply(
        rng, ("e4m3", "e5m2"), (64, 64, 512), (64, 64, 128), (4, 3, "random"), most=most, form=form
    )
    parts = [(["no", *["yes"] * (count - 1)], True) for count in PARTS[most]]
    assert groups(compiled) == parts
    assert additions(compiled) == 64 * 64 // 128 * len(parts)


@pytest.mark.parametrize("setting", SETTINGS)
def test_imprecise_sums(setting: Setting, rng: np.random.Generator) -> None:
    """The accumulator itself goes through all products, and nobody waits between them."""
    compiled = multiply(rng, ("e4m3", "e4m3"), (128, 64, 512), (128, 64, 128), setting, most=ANY)
    assert additions(compiled) == 0
    assert all("no" not in predicates for predicates, _ in groups(compiled))


def test_a_whole_sum_needs_no_other(rng: np.random.Generator) -> None:
    """A product that adds to nothing is the sum beside the accumulator, which it is added to."""
    compiled = multiply(
        rng, ("e4m3", "e4m3"), (64, 64, 512), (64, 64, 128), (4, 3, "late"), form="scaled"
    )
    predicates, _ = groups(compiled)[0]
    assert predicates == ["no", "yes", "yes", "yes"] and "partial_depth" not in compiled.asm["scheduled"]
    less = multiply(
        rng, ("e4m3", "e4m3"), (64, 64, 512), (64, 64, 128), (4, 3, "late"), form="scaled", most=64
    )
    assert [each for each, _ in groups(less)] == [["no", "yes"]] * 2


@pytest.mark.parametrize("most", [0, 32, 64, None])
@pytest.mark.parametrize(
    ("tiles", "warps"), [((128, 128, 128), 4), ((128, 256, 128), 8), ((64, 256, 64), 4)]
)
def test_large_accumulators(
    tiles: tuple[int, int, int], warps: int, most: int | None, rng: np.random.Generator
) -> None:
    """Blocks of rows and columns take turns in the registers beside the accumulator."""
    sizes = (tiles[0], tiles[1], 2 * tiles[2])
    multiply(rng, ("e5m2", "e4m3"), sizes, tiles, (warps, 2, "random"), most=most)


@pytest.mark.parametrize("most", [None, 64, ANY])
@pytest.mark.parametrize("hopper", ["boxes"], indirect=True)
def test_how_imprecise_sums_are(most: int | None, rng: np.random.Generator) -> None:
    """Bit for bit as the hardware adds, in 13 bits after the point: the error does not grow with K
    where sums are short."""
    M, N, K = 64, 8, 4096
    a, b = (
        torch.from_numpy(rng.uniform(0.5, 1, shape)).to(torch.float8_e4m3fn)
        for shape in ((M, K), (N, K))
    )
    c = poisoned(M, N)
    with tw.device("sim:sm_90a"), tw.simulation.simulate("sim:sm_90a", arithmetic="exact"):
        product[(1, 1)](
            a, b.T, c, M, N, K, K, 1, 1, K, BM=M, BN=N, BK=128, SUMS=tw.float32, MOST=most,
            FORM="plain", num_warps=4, num_stages=3,
        )  # fmt: skip
    right = a.double() @ b.double().T
    error = ((c.double() - right) / right).abs().max()
    assert (error > 2**-7) if most == ANY else (error < 2**-10)


@tw.jit
def beside(a, b, h, c, K, M: tw.constexpr, N: tw.constexpr, BK: tw.constexpr, FORM: tw.constexpr):
    """Sums of 8-bit floats beside those of halves, or of a left operand that is computed."""
    m, n, k = tw.arange(0, M), tw.arange(0, N), tw.arange(0, BK)
    acc, other = tw.zeros((M, N), tw.float32), tw.zeros((M, N), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :])
        y = tw.load(b + n[None, :] * K + (start + k)[:, None])
        if FORM == "left computed":
            x = (x.to(tw.float16) * 2).to(tw.float8e4nv)
        else:
            z = tw.load(h + (start + k)[:, None] * N + n[None, :])
            w = tw.load(h + m[:, None] * K + (start + k)[None, :])
        if FORM == "halves first":
            other = tw.dot(w, z, other)
        acc = tw.dot(x, y, acc, max_num_imprecise_acc=64)
        if FORM == "halves last":
            other = tw.dot(w, z, other)
    tw.store(c + m[:, None] * N + n[None, :], acc + other)


@pytest.mark.parametrize("form", ["left computed", "halves first", "halves last"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_beside_others(form: str, setting: Setting, rng: np.random.Generator) -> None:
    """Products that wait for themselves wait for those in flight, whose sums go on."""
    M, N, K = 16 * setting[0], 64, 256
    a, b = operand(rng, "e4m3", M, K, False), operand(rng, "e4m3", K, N, True)
    h = torch.from_numpy(rng.integers(-3, 4, (256, 256))).half()
    c = poisoned(M, N)
    compiled = launch(beside, (1,), a, b.T, h, c, K, M=M, N=N, BK=64, FORM=form, setting=setting)
    expected = a.double() @ b.double()
    if form == "left computed":
        expected *= 2
    else:
        left, right = h.flatten()[: M * K].reshape(M, K), h.flatten()[: K * N].reshape(K, N)
        expected += left.double() @ right.double()
    assert_equal(c, expected)
    assert {each[:10] for each in instructions(compiled)} <= {"m64n64k32.", "m64n64k16."}


@tw.jit
def attention(
    q, k, v, out, length, BM: tw.constexpr, BN: tw.constexpr, D: tw.constexpr, MOST: tw.constexpr
):
    """The second product's left operand are probabilities of 8 bits, in registers."""
    m, d = tw.arange(0, BM), tw.arange(0, D)
    query = tw.load(q + m[:, None] * D + d[None, :])
    peak = tw.full([BM], -float("inf"), tw.float32)
    norm = tw.zeros([BM], tw.float32)
    acc = tw.zeros([BM, D], tw.float32)
    for start in tw.range(0, length, BN):
        n = start + tw.arange(0, BN)
        key = tw.load(k + n[None, :] * D + d[:, None])
        score = tw.dot(query, key, max_num_imprecise_acc=MOST)
        new_peak = tw.maximum(peak, tw.max(score, 1))
        p = tw.exp2(score - new_peak[:, None])
        shrink = tw.exp2(peak - new_peak)
        norm = norm * shrink + tw.sum(p, 1)
        value = tw.load(v + d[None, :] * length + n[:, None])
        acc = tw.dot(p.to(tw.float8e4nv), value, acc * shrink[:, None], max_num_imprecise_acc=MOST)
        peak = new_peak
    tw.store(out + m[:, None] * D + d[None, :], acc / norm[:, None])


@pytest.mark.parametrize("most", [None, 32, ANY])
@pytest.mark.parametrize("setting", SETTINGS)
def test_attention(setting: Setting, most: int | None, rng: np.random.Generator) -> None:
    """Scores are integers, so that probabilities are powers of two, which 8 bits hold or are 0."""
    length, D, BM, BN = 256, 64, 16 * setting[0], 64
    q, k = (torch.from_numpy(rng.integers(-1, 2, (n, D))) for n in (BM, length))
    v = torch.from_numpy(rng.integers(-8, 9, (D, length)))
    out = poisoned(BM, D)
    compiled = launch(
        attention, (1,), *(x.to(torch.float8_e4m3fn) for x in (q, k, v)), out, length, BM=BM, BN=BN,
        D=D, MOST=most, setting=setting,
    )  # fmt: skip
    peak, norm, acc = torch.full((BM, 1), -float("inf")).double(), 0.0, 0.0
    for start in range(0, length, BN):
        score = q.double() @ k[start : start + BN].double().T
        new_peak = torch.maximum(peak, score.amax(1, keepdim=True))
        p, shrink = torch.exp2(score - new_peak), torch.exp2(peak - new_peak)
        norm = norm * shrink + p.sum(1, keepdim=True)
        rounded = p.float().to(torch.float8_e4m3fn).double()
        acc = acc * shrink + rounded @ v[:, start : start + BN].double().T
        peak = new_peak
    np.testing.assert_allclose(out.numpy(), (acc / norm).numpy(), rtol=1e-5, atol=1e-6)
    assert len(instructions(compiled)) == 1
    product = [line for line in compiled.asm["scheduled"].splitlines() if "mma_async" in line][-1]
    assert product.rpartition(" : ")[2].startswith("tensor")


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
@pytest.mark.parametrize("most", [0, None, ANY])
def test_assembler_keeps_products_apart(
    pair: tuple[str, str], most: int | None, tmp_path: Path, rng: np.random.Generator
) -> None:
    """ptxas says nothing of products that it serializes or of waits and fences that it adds (C75xx)."""
    compiled = multiply(rng, pair, (128, 128, 256), (128, 128, 64), (8, 3, "early"), most=most)
    log = log_of(compiled, tmp_path)
    assert "Used" in log and "C75" not in log and "0 bytes spill" in log, log
