"""Indices, exponentials and conversions of loops cost what a person would spend on them: counted in the
machine's code."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import index_kernels as kernels
from gpu.generated.test_generated_matrix import kernels as sass_kernels
from machine_code import sass, write_cubin

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")

HALF, SIGN = "*fp16:16", ":nonneg"
TILES = {"BLOCK_M": 128, "BLOCK_N": 128, "BLOCK_K": 32}
# Row-major arrays of which nothing is known but that rows begin at multiples of 16.
PRODUCT = f"{HALF} {HALF} {HALF} i32:16 i32:16 i32:16 i32:16 i32:1 i32:16 i32:1 i32:16 i32:1"


def with_sign(signature: str) -> str:
    """The same for numbers that are not negative."""
    return re.sub(r"\b(i\d+)(:16)?(?= |$)", rf"\1\2{SIGN}", signature)


def compiled(kernel: Any, signature: str, constants: dict[str, Any], num_stages: int = 4) -> Any:
    names = [p.name for p in kernel.parameters if p.name not in constants and p.name != "WRAPS"]
    types = dict(zip(names, signature.split(), strict=True))
    return kernel.compile(types, constants, device="nvidia:sm_80", num_stages=num_stages)


def copies(kernel: Any) -> Counter[int]:
    """Bytes of each asynchronous copy, and how many of each."""
    return Counter(
        int(size)
        for size in re.findall(r"cp\.async\.\w+\.shared\.global\D[^;]*?\], (\d+)", kernel.asm["ptx"])
    )


def loops_of(kernel: Any, tmp_path: Path) -> list[Any]:
    """The opcodes of each loop of the machine's code."""
    cubin = write_cubin(kernel, tmp_path)
    assert kernel.n_spills == 0
    return [loop.opcodes for loop in sass.parse(sass.run_nvdisasm("-c", str(cubin)))[1]]


GROUPS, PLAIN = {"GROUP_M": 8}, {"CLAMPS": False}
MATMULS = [
    (kernels.tutorial_matmul, with_sign(PRODUCT), GROUPS),
    # M and K need not be divisible by anything.
    (kernels.tutorial_matmul, with_sign(PRODUCT.replace("i32:16", "i32", 1)), GROUPS),
    (kernels.tutorial_matmul, with_sign(PRODUCT.replace("i32", "i64")), GROUPS),
    (kernels.tutorial_matmul, with_sign(PRODUCT), {"GROUP_M": 1}),
    (kernels.tutorial_matmul, with_sign(PRODUCT), {"GROUP_M": 3}),
    (kernels.while_matmul, with_sign(PRODUCT), GROUPS),
    (kernels.persistent_matmul, with_sign(PRODUCT), GROUPS),
    (kernels.persistent_matmul, with_sign(PRODUCT.replace("i32", "i64")), GROUPS),
    (kernels.hinted_matmul, PRODUCT, PLAIN),
    (kernels.hinted_matmul, PRODUCT, {"CLAMPS": True}),
]


@pytest.mark.parametrize(("kernel", "signature", "constants"), MATMULS)
def test_matmul(kernel: Any, signature: str, constants: dict[str, Any], tmp_path: Path) -> None:
    product = compiled(kernel, signature, TILES | constants)
    assert {*copies(product)} == {16}
    loop = loops_of(product, tmp_path)[0]
    # As in test_generated_matrix: what a warp's products, their operands and the copies take.
    assert (loop["HMMA"], loop["LDSM"], loop["LDGSTS"]) == (64, 16, 8)
    assert loop["LDG"] == loop["STS"] == loop["PRMT"] == 0
    by_hand = 64 + 16 + 8 + 2 * 8 + 14
    # Counters of 64 bits take two registers each, as do those of a loop around this one.
    loops = (kernels.persistent_matmul, kernels.while_matmul)
    has_more = "i64" in signature or kernel in loops
    assert loop.total() <= 1.15 * by_hand + 14 * has_more, loop


def test_rows_that_begin_again_cost_nothing_in_the_loop(tmp_path: Path) -> None:
    constants = TILES | GROUPS
    wrapping = compiled(kernels.tutorial_matmul, with_sign(PRODUCT), constants)
    plain = compiled(kernels.tutorial_matmul, with_sign(PRODUCT), constants | {"WRAPS": False})
    assert copies(wrapping) == copies(plain)
    counts = [loops_of(kernel, tmp_path)[0].total() for kernel in (wrapping, plain)]
    # Registers are assigned anew: a move or two.
    assert abs(counts[0] - counts[1]) <= 4, counts


def test_a_signature_without_signs() -> None:
    """The groups of programs tell that columns are not negative; of rows nothing is known then."""
    assert copies(compiled(kernels.tutorial_matmul, PRODUCT, TILES | GROUPS)) == {16: 32}
    by_rows = PRODUCT.replace("i32:16 i32:1 i32:16 i32:1", "i32:1 i32:16 i32:16 i32:1", 1)
    # Rows of a negative number are not runs: where A is read along them, only B is copied.
    assert copies(compiled(kernels.tutorial_matmul, by_rows, TILES | GROUPS)) == {16: 16}
    assert copies(compiled(kernels.tutorial_matmul, with_sign(by_rows), TILES | GROUPS)) == {16: 32}


def test_a_launch_knows_the_sign(rng: np.random.Generator) -> None:
    a, b = (rng.integers(-2, 3, (128, 128)).astype(np.float16) for _ in range(2))
    c = np.zeros_like(a)
    sizes = (128, 128, 128, 128, 1, 128, 1, 128, 1)
    with tw.device("sim:sm_80"):
        kernel = kernels.tutorial_matmul[(1,)](a, b, c, *sizes, **TILES, **GROUPS)
    assert {*copies(kernel)} == {16}
    np.testing.assert_array_equal(c, (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16))


def test_attention_with_powers_of_e(tmp_path: Path) -> None:
    signature = f"{HALF} {HALF} {HALF} {HALF} fp32 i32:16 i32:16 i32:16"
    tiles = {"BM": 128, "BN": 64, "D": 64}
    loop = loops_of(compiled(kernels.natural_attention, signature, tiles, 3), tmp_path)[0]
    # A lane has 64 scores in 4 rows, and 64 elements of the output.
    scores, rows = 64, 4
    assert loop["MUFU"] == scores + rows
    # The scale, log2 e and the peak go into one FMA; the sum of each row has one as well.
    assert loop["FFMA"] == scores + rows
    # The output is scaled. Peaks are scaled and converted, and so are their differences.
    assert loop["FMUL"] == scores + 3 * rows
    assert loop["F2FP"] == scores // 2 and loop["FSEL"] == 0
    products, reads, moved = 128, 32, 8
    softmax = 2 * (scores + 2 * rows) + (scores + 3 * rows) + 2 * (scores + rows) + scores // 2
    by_hand = products + reads + 3 * moved + softmax + 4 * rows + 14
    assert loop.total() <= 1.15 * by_hand, loop


SCALES = [0.125, -0.125, 0.0, 1e-40, float("inf"), float("nan")]


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("device", ["cpu", "sim:sm_80", "sim:sm_90a", "sim:gfx942"])
def test_attention_with_any_scale(device: str, scale: float, rng: np.random.Generator) -> None:
    """Maxima are taken before the scale only where that is right, and iterations with masks join."""
    length, width = 160, 32
    q, k, v = (rng.standard_normal((length, width)).astype(np.float16) for _ in range(3))
    out = np.full_like(q, 7)
    with tw.device(device):
        kernels.natural_attention[(3, 1)](
            q, k, v, out, scale, 0, width, length, BM=64, BN=64, D=width
        )
    with np.errstate(invalid="ignore", over="ignore"):
        scores = (q.astype(np.float32) @ k.astype(np.float32).T) * np.float32(scale)
        weights = np.exp(scores - scores.max(1, keepdims=True))
        expected = weights @ v.astype(np.float32) / weights.sum(1, keepdims=True)
    np.testing.assert_allclose(out.astype(np.float32), expected, atol=4e-3)


def test_attention_that_adds_products_does_not_spill(tmp_path: Path) -> None:
    """`total * shrink + dot(p, v)` is one product, which begins with the sum."""
    signature = f"{HALF} {HALF} {HALF} {HALF} fp32 i32:16 i32:16"
    tiles = {"BM": 128, "BN": 64, "D": 64}
    loop = loops_of(compiled(kernels.plain_attention, signature, tiles, 3), tmp_path)[0]
    assert loop["STL"] == loop["LDL"] == 0
    assert loop["FFMA"] == 64 + 4
    assert loop.total() <= 640


def test_quantized_weights(tmp_path: Path) -> None:
    signature = f"{HALF} *i8:16 *fp32:16 {HALF} i32:16 i32:16"
    tiles = {"BM": 128, "BN": 128, "BK": 32}
    loop = loops_of(compiled(kernels.quantized_matmul, signature, tiles, 3), tmp_path)[0]
    # 64 weights a lane: each word of four is flipped, spread over two registers, and both are moved
    # down; one more permutation a register brings neighbours along k together.
    words, pairs = 16, 32
    assert loop["I2F"] == loop["F2FP"] == 0
    assert loop["HADD2"] == pairs and loop["PRMT"] <= 2 * pairs
    assert loop["LOP3"] <= words + 4
    assert loop["HMMA"] == 64


@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_results_are_converted_in_pairs(dtype: str, tmp_path: Path) -> None:
    array = f"*{dtype}:16"
    names = [p.name for p in sass_kernels.layer_norm.parameters][:-1]
    types = f"{array} {array} {array} {array} *fp32:16 *fp32:16 i32:16 i32:16 fp32".split()
    kernel = sass_kernels.layer_norm.compile(
        dict(zip(names, types, strict=True)), {"BLOCK": 1024}, device="nvidia:sm_80"
    )
    *_, last = loops_of(kernel, tmp_path)
    assert last["F2FP"] == 1024 // 128 // 2


def test_loops_over_rows_are_unrolled(tmp_path: Path) -> None:
    """The assembler unrolls loops whose end it understands: four loads are under way at once."""
    arrays = f"{HALF} {HALF} {HALF} {HALF} *fp32:16 *fp32:16 i32:16 i32:16 fp32".split()
    names = [p.name for p in sass_kernels.layer_norm.parameters][:-1]
    kernel = sass_kernels.layer_norm.compile(
        dict(zip(names, arrays, strict=True)), {"BLOCK": 1024}, device="nvidia:sm_80"
    )
    assert [loop["LDG"] for loop in loops_of(kernel, tmp_path)] == [4, 4, 3]


def ulps(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    return np.abs(actual.astype(np.float64) / expected - 1) * 2.0**23


@pytest.mark.parametrize("device", ["cpu", "sim:sm_80"])
def test_exponentials_of_differences(device: str, rng: np.random.Generator) -> None:
    x = (rng.standard_normal((16, 256)) * 8).astype(np.float32)  # results are normal
    scale = np.float32(0.37)
    peaks = x.max(1)
    out, fused = np.full_like(x, np.nan), np.full_like(x, np.nan)
    with tw.device(device):
        kernels.exponentials[(1,)](out, fused, x, peaks, float(scale), ROWS=16, COLUMNS=256)
    exponent = (x - peaks[:, None]).astype(np.float64)
    # As much as the difference was rounded: half a unit of it, in units of the result.
    assert (ulps(out, np.exp(exponent)) <= 2 + np.abs(exponent)).all()
    exponent = x.astype(np.float64) * scale - peaks[:, None]
    parts = np.abs(x) * scale + np.abs(peaks[:, None])
    assert (ulps(fused, np.exp(exponent)) <= 2 + 2 * parts).all()


@pytest.mark.parametrize("device", ["cpu", "sim:sm_80"])
def test_exponentials_of_infinite_differences(device: str) -> None:
    infinity = np.float32(np.inf)
    x = np.full((4, 128), -infinity, np.float32)
    x[1] = 3.0
    x[2, ::2] = 0.0
    peaks = np.array([0.0, 3.0, -infinity, infinity], np.float32)
    out, fused = np.full_like(x, 7), np.full_like(x, 7)
    with tw.device(device):
        kernels.exponentials[(1,)](out, fused, x, peaks, 1.0, ROWS=4, COLUMNS=128)
    with np.errstate(invalid="ignore"):
        expected = np.exp(x - peaks[:, None])
    np.testing.assert_array_equal(out, expected)
    # One FMA does not round the product: of equal numbers 0 is not always left.
    np.testing.assert_allclose(fused, expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize("shape", [(2, 64), (16, 16), (64, 64), (1, 128)])
def test_bytes_become_halves(dtype: type, shape: tuple[int, int], rng: np.random.Generator) -> None:
    info = np.iinfo(dtype)
    x = rng.integers(info.min, info.max + 1, shape).astype(dtype)
    x.flat[:2] = info.min, info.max
    out = np.full(3 * x.size, np.nan, np.float16)
    with tw.device("sim:sm_80"):
        kernels.halves_of_bytes[(1,)](out, x, ROWS=shape[0], COLUMNS=shape[1])
    low = ((x & 15) - dtype(8)).astype(dtype)
    expected = [part.astype(np.float16).ravel() for part in (x, x.T, low)]
    np.testing.assert_array_equal(out, np.concatenate(expected))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8])
@pytest.mark.parametrize(("by", "shift"), [(15, 4), (8, 0), (127, 7), (1, 1), (0, 8)])
@pytest.mark.parametrize("size", [256, 512, 2048])
def test_operations_on_bytes(dtype: type, by: int, shift: int, size: int) -> None:
    x = np.resize(np.arange(256).astype(dtype), size)
    out = np.full(9 * size, 77, dtype)
    with tw.device("sim:sm_80"):
        kernels.operations_on_bytes[(1,)](out, x, BY=by, SHIFT=shift, B=size)
    number = dtype(by)
    with np.errstate(over="ignore"):
        # Shifts by the width leave nothing, or the sign.
        left = [np.left_shift(v, shift) if shift < 8 else 0 * v for v in (x, x + number)]
        right = [np.right_shift(v, min(shift, 7)) if shift < 8 or dtype is np.int8 else 0 * v
                 for v in (x, left[1])]  # fmt: skip
        expected = [x & number, x | number, x ^ number, x + number, x - number, left[0], *right,
                    number - x]  # fmt: skip
    np.testing.assert_array_equal(out, np.concatenate(expected).astype(dtype))


def test_weights_of_four_bits(tmp_path: Path, rng: np.random.Generator) -> None:
    signature = f"{HALF} *i8:16 {HALF} i32:16 i32:16"
    tiles = {"BM": 128, "BN": 128, "BK": 32}
    loop = loops_of(compiled(kernels.packed_matmul, signature, tiles, 3), tmp_path)[0]
    # A lane unpacks 64 bytes in 16 words: two shifts to the upper half and back, with their signs,
    # and two conversions as in test_quantized_weights.
    words, pairs = 16, 32
    assert loop["I2F"] == 0 and loop["HADD2"] == 2 * pairs and loop["PRMT"] <= 4 * pairs
    shifts = loop["LOP3"] + loop["SHF"] + loop["IMAD"]
    assert shifts <= words * (2 + 2 * 6 + 2) + 40, loop
    a = rng.integers(-3, 4, (128, 64)).astype(np.float16)
    weights = rng.integers(-8, 8, (64, 128))
    b = (weights[:32] & 15 | weights[32:] << 4).astype(np.int8)
    c = np.full((128, 128), np.nan, np.float16)
    with tw.device("sim:sm_80"):
        kernels.packed_matmul[(1, 1)](a, b, c, 128, 64, **tiles)
    np.testing.assert_array_equal(c, (a.astype(np.float64) @ weights).astype(np.float16))
