"""On Intel's GPUs with subgroups of 16 lanes, operands of products are loaded as blocks of their arrays."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest
from gpu.launching import launching_on
from gpu.products.test_gpu_attention import flash_attention
from gpu.products.test_gpu_boxes import (
    DECEPTIVE, FORMS, ODD, batched, launch_beginning_again, launch_deceptive, launch_odd, mapped,
)  # fmt: skip
from gpu.products.test_gpu_matmul import assert_equal, integers, launch, poisoned
from spirv_modules import instructions_of, validate

import tilewright as tw
from tilewright.compile import CompiledKernel

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.one_machine]

ROWS = ("xe2", "xe-hpc")
SETTING = (4, 2, "late")
# Numbers of SPIR-V: SPV_INTEL_2d_block_io.
LOADS = {6231: "plain", 6232: "transformed", 6233: "transposed"}
CAPABILITY, BLOCK_IO = 17, 6228


def blocks(compiled: CompiledKernel) -> Counter[str]:
    """Loads of blocks in the code, by their form."""
    names = {"": "plain", "Transform": "transformed", "Transpose": "transposed"}
    calls = re.findall(r"call spir_func void @_Z\d+__spirv_Subgroup2DBlockLoad(\w*)INTEL", compiled.asm["llvm"])
    return Counter(names[name] for name in calls)


def reasons(compiled: CompiledKernel) -> set[str]:
    found = [r["message"] for r in compiled.remarks if r["code"] == "TW0368"]
    return {message.partition("array: ")[2] for message in found}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("row", ROWS)
def test_batches_of_matrices(row: str, form: str, rng: np.random.Generator) -> None:
    """Nothing but the sums goes through shared memory, and one loop is left of those that masks split."""
    rows = 88 if form.startswith("rows") else 128
    K = 208 if form == "rows and columns" else 192
    a, b, c = integers(rng, 3, rows, K), integers(rng, 3, 256, 64), poisoned(3, rows, 64)
    with launching_on(f"sim:{row}"):
        compiled = launch(
            batched, (2, 3), a, b, c, rows, 64, K, a.stride(0), K, b.stride(0), 64, c.stride(0),
            FORM=form, BM=64, BN=64, BK=64, setting=SETTING,
        )  # fmt: skip
    assert_equal(c, a.double() @ b[:, :K].double())
    assert blocks(compiled)["plain"] == 2 and blocks(compiled)["transformed"] > 0
    assert "store_shared" not in compiled.asm["scheduled"].partition("scf.for")[2].partition("scf.yield")[0]
    assert not reasons(compiled)


@tw.jit
def multiply(
    a, b, c, M, N, K, a_row, b_row,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, TRANSPOSED: tw.constexpr,
):  # fmt: skip
    m = tw.program_id(0) * BM + tw.arange(0, BM)
    n = tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    total = tw.zeros((BM, BN), c.dtype.element_ty)
    for start in range(0, K, BK):
        depth = start + k
        x = tw.load(a + m[:, None] * a_row + depth[None, :], (m[:, None] < M) & (depth[None, :] < K), other=0)
        if TRANSPOSED:
            y = tw.load(b + n[:, None] * b_row + depth[None, :], (n[:, None] < N) & (depth[None, :] < K), other=0).T
        else:
            y = tw.load(b + depth[:, None] * b_row + n[None, :], (depth[:, None] < K) & (n[None, :] < N), other=0)
        total = tw.dot(x, y, total, input_precision="tf32")
    tw.store(c + m[:, None] * N + n[None, :], total, (m[:, None] < M) & (n[None, :] < N))


TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "tf32": torch.float32, "i8": torch.int8}


def product(
    rng: np.random.Generator, row: str, dtype: Any, sizes: tuple[int, int, int], is_transposed: bool = False,
    tile: tuple[int, int, int] = (64, 64, 64), warps: int = 4, shift: int = 0, padding: int = 0, **options: Any,
) -> CompiledKernel:  # fmt: skip
    """The launched kernel, whose result is right. Arrays begin `shift` elements behind a multiple of 64
    bytes, and have `padding` elements between rows, that no result may have."""
    M, N, K = sizes

    def array(rows: int, columns: int) -> Any:
        flat = integers(rng, shift + rows * (columns + padding) + 64, dtype=dtype)
        first = -flat.data_ptr() % 64 // flat.element_size() + shift
        return flat[first : first + rows * (columns + padding)].view(rows, columns + padding)[:, :columns]

    a, b = array(M, K), array(N, K) if is_transposed else array(K, N)
    sums = torch.int32 if dtype == torch.int8 else torch.float32
    c = poisoned(M, N, dtype=sums)
    BM, BN, BK = tile
    with launching_on(f"sim:{row}"):
        compiled = launch(
            multiply, (-(-M // BM), -(-N // BN)), a, b, c, M, N, K, a.stride(0), b.stride(0),
            BM=BM, BN=BN, BK=BK, TRANSPOSED=is_transposed, setting=(warps, 2, "late"), **options,
        )  # fmt: skip
    assert_equal(c, a.double() @ (b.T if is_transposed else b).double())
    return compiled


@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("row", ROWS)
def test_types_and_ragged_ends(row: str, dtype: str, is_transposed: bool, rng: np.random.Generator) -> None:
    compiled = product(rng, row, TYPES[dtype], (80, 96, 112), is_transposed)
    forms = {"plain", "transposed" if is_transposed else "transformed"}
    if dtype == "tf32" and not is_transposed:
        forms = {"plain"}  # words need no transformation
    assert set(blocks(compiled)) == forms
    assert mapped(compiled) == {"0", "1"}


# Tiles of few rows, columns and steps, which smaller blocks fill.
TILES = [(16, 16, 32), (16, 128, 16), (128, 16, 32), (32, 32, 128), (8, 64, 32), (64, 32, 16)]


@pytest.mark.parametrize("warps", [1, 4, 8])
@pytest.mark.parametrize("tile", TILES, ids=str)
@pytest.mark.parametrize("dtype", TYPES)
def test_tiles_and_warps(dtype: str, tile: tuple[int, int, int], warps: int, rng: np.random.Generator) -> None:
    compiled = product(rng, "xe2", TYPES[dtype], (tile[0] + 8, tile[1] + 16, 96), tile=tile, warps=warps)
    if dtype == "f16":
        assert mapped(compiled) == {"0", "1"}


@pytest.mark.parametrize("padding", [0, 16, 48])
def test_rows_that_lie_apart(padding: int, rng: np.random.Generator) -> None:
    """What lies between rows is not a part of the array."""
    assert mapped(product(rng, "xe2", torch.float16, (64, 64, 80), padding=padding)) == {"0", "1"}


# Launches refuse to load blocks of these: rows of so many elements, so far from a multiple of 64 bytes.
REFUSED = {
    "too narrow": {"sizes": (64, 64, 16), "padding": 16},
    "no whole words": {"sizes": (64, 64, 79), "padding": 1},
    "misaligned": {"sizes": (64, 64, 80), "shift": 8},
}


@pytest.mark.parametrize("case", REFUSED)
def test_launches_run_without_blocks_where_they_must(
    case: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILEWRIGHT_REMARKS", "1")
    compiled = product(rng, "xe2", torch.float16, **REFUSED[case])
    assert not blocks(compiled) and not compiled.request.options.tensor_maps
    guard = {"too narrow": "a.extent[0]", "no whole words": "a.extent[0]", "misaligned": "a.address"}[case]
    assert re.search(rf"remark\[TW0420\].*\(guard {re.escape(guard)}\)", capsys.readouterr().err)


def test_the_guards_of_blocks() -> None:
    signature = {"a": "*fp16:16", "b": "*fp16:16", "c": "*fp32:16", "M": "i32:16", "N": "i32:16", "K": "i32:16",
                 "a_row": "i32:16", "b_row": "i32:16"}  # fmt: skip
    tiles = {"BM": 64, "BN": 64, "BK": 32, "TRANSPOSED": False}
    compiled = multiply.compile(signature, tiles, device="spirv:xe2")
    guards = {str(guard) for guard in compiled.guards}
    assert {
        "a.address: a is a multiple of 64, not 0",
        "a.extent[0]: 2 * K is a multiple of 4, from 64 to below 2^24 bytes",
        "a.extent[1]: M is from 1 to below 2^24",
        "b.stride[1]: 2 * b_row is a multiple of 16, from its bytes of a row to below 2^24",
    } <= guards
    without = multiply.compile(signature, tiles, device="spirv:xe2", tensor_maps=False)
    assert not blocks(without) and "a.extent[0]" not in {guard.name for guard in without.guards}
    for row in ("generic16", "xe-hpg"):
        assert not blocks(multiply.compile(signature, tiles, device=f"spirv:{row}"))


@pytest.mark.parametrize("row", ROWS)
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("pointer", ["*fp16", "*i8", "*fp32"])
def test_modules_are_valid(pointer: str, is_transposed: bool, row: str) -> None:
    sums = "*i32" if pointer == "*i8" else "*fp32"
    signature = {"a": f"{pointer}:16", "b": f"{pointer}:16", "c": f"{sums}:16", "M": "i32:16", "N": "i32:16",
                 "K": "i32:16", "a_row": "i32:16", "b_row": "i32:16"}  # fmt: skip
    tiles = {"BM": 64, "BN": 64, "BK": 64, "TRANSPOSED": is_transposed}
    compiled = multiply.compile(signature, tiles, device=f"spirv:{row}")
    module = compiled.asm["spirv"]
    validate(module)
    found = Counter(LOADS[number] for number, _ in instructions_of(module) if number in LOADS)
    assert found and found == blocks(compiled)
    assert (BLOCK_IO,) in [operands for number, operands in instructions_of(module) if number == CAPABILITY]


@pytest.mark.parametrize("form", ODD)
def test_what_is_no_box(form: str, rng: np.random.Generator) -> None:
    with launching_on("sim:xe2"):
        compiled = launch_odd(form, rng)
    assert mapped(compiled) == {"1"} and ODD[form] in reasons(compiled)


# Of each form the arguments whose elements beyond the end nobody uses.
BEGINNING_AGAIN = {
    "plain": {"0", "1"}, "scaled": {"0", "1"}, "summed along rows": {"0"}, "summed along columns": {"1"},
    "stored beyond": {"1"},
}  # fmt: skip


@pytest.mark.parametrize("form", BEGINNING_AGAIN)
def test_rows_that_begin_again(form: str, rng: np.random.Generator) -> None:
    with launching_on("sim:xe2"):
        assert mapped(launch_beginning_again(form, rng)) == BEGINNING_AGAIN[form]


@pytest.mark.parametrize("form", DECEPTIVE)
def test_what_looks_like_a_box(form: str, rng: np.random.Generator) -> None:
    with launching_on("sim:xe2"):
        launch_deceptive(form, rng)


@tw.jit
def shared_by_others(a, b, c, M, FORM: tw.constexpr):
    m, n, k = tw.arange(0, 64), tw.arange(0, 32), tw.arange(0, 64)
    other = 1.0 if FORM == "filled" else 0.0
    x = tw.load(a + m[:, None] * 64 + k[None, :], m[:, None] < M, other=other, volatile=FORM == "volatile")
    y = tw.dot(x, tw.load(b + k[:, None] * 32 + n[None, :]))
    if FORM == "summed":
        y += tw.sum(x.to(tw.float32), 1)[:, None]
    tw.store(c + m[:, None] * 32 + n[None, :], y)


@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ("filled", "its masked elements are not 0"), ("volatile", "it is volatile"),
        ("summed", "others than products need it"), ("plain", None),
    ],
)  # fmt: skip
def test_remarks_say_why_an_operand_is_not_loaded_so(form: str, reason: str | None, rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 64, 64), integers(rng, 64, 32), poisoned(64, 32)
    with launching_on("sim:xe2"):
        compiled = launch(shared_by_others, (1,), a, b, c, 40, FORM=form, setting=SETTING)
    left = torch.where(torch.arange(64)[:, None] < 40, a.double(), 1.0 if form == "filled" else 0.0)
    assert_equal(c, left @ b.double() + (left.sum(1, keepdim=True) if form == "summed" else 0.0))
    assert reason in reasons(compiled) if reason else not reasons(compiled)
    assert ("0" in mapped(compiled)) == (reason is None)


@tw.jit
def overlapping(x, weights, out, stride, ROWS: tw.constexpr, BK: tw.constexpr, N: tw.constexpr):
    """A convolution as a product: rows of the left operand overlap where the stride is small."""
    m, k, n = tw.arange(0, ROWS), tw.arange(0, BK), tw.arange(0, N)
    left = tw.load(x + m[:, None] * stride + k[None, :])
    right = tw.load(weights + k[:, None] * N + n[None, :])
    tw.store(out + m[:, None] * N + n[None, :], tw.dot(left, right))


@pytest.mark.parametrize(("stride", "is_loaded"), [(32, False), (64, True), (96, True), (72, False)])
def test_rows_that_overlap_are_no_blocks(stride: int, is_loaded: bool, rng: np.random.Generator) -> None:
    """Without a mask, the array is the tile: its rows of 64 elements are apart, at multiples of 64 bytes."""
    x, weights, out = integers(rng, 32 * stride + 64), integers(rng, 64, 32), poisoned(32, 32)
    with launching_on("sim:xe2"):
        compiled = launch(overlapping, (1,), x, weights, out, stride, ROWS=32, BK=64, N=32, setting=SETTING)
    assert_equal(out, x.double().as_strided((32, 64), (stride, 1)) @ weights.double())
    assert ("0" in mapped(compiled)) == is_loaded


@tw.jit
def in_place(a, b, K, BK: tw.constexpr, N: tw.constexpr):
    """The loop reads in an iteration what it wrote in the one before."""
    m, n, k = tw.arange(0, 64), tw.arange(0, N), tw.arange(0, BK)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :])
        y = tw.dot(x, tw.load(b + k[:, None] * N + n[None, :]))
        tw.debug_barrier()
        tw.store(a + m[:, None] * K + ((start + BK) % K + n)[None, :], y.to(tw.float16))
        tw.debug_barrier()


def test_arrays_that_the_kernel_writes_come_through_shared_memory(rng: np.random.Generator) -> None:
    a, b = integers(rng, 64, 128, size=2), torch.eye(32, dtype=torch.float16)
    expected = a[:, :32].clone()
    with launching_on("sim:xe2"):
        compiled = launch(in_place, (1,), a, b, 128, BK=32, N=32, setting=SETTING)
    for first in (32, 64, 96):
        assert_equal(a[:, first : first + 32], expected)
    assert mapped(compiled) == {"1"}


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("row", ROWS)
def test_attention_loads_blocks(row: str, is_causal: bool, rng: np.random.Generator) -> None:
    """Keys are transposed, and results of the first product are the left operand of the second."""
    heads, length, D = 2, 96, 64
    q, k, v = (torch.from_numpy(rng.standard_normal((heads, length, D))).half() for _ in range(3))
    out, lse = poisoned(heads, length, D, dtype=torch.float16), poisoned(heads, length)
    with launching_on(f"sim:{row}"):
        compiled = launch(
            flash_attention, (2, heads), q, k, v, out, lse, heads, length, 0.125,
            D=D, BM=64, BN=32, CAUSAL=is_causal, BIAS=False, setting=SETTING,
        )  # fmt: skip
    score = (q.float() * 0.125).half().double() @ k.double().mT
    if is_causal:
        score = score.masked_fill(torch.ones(length, length).triu(1).bool(), -np.inf)
    expected = torch.softmax(score, -1) @ v.double()
    np.testing.assert_allclose(out.double(), expected, atol=4e-3)
    assert blocks(compiled)["transposed"] > 0 and blocks(compiled)["transformed"] > 0
