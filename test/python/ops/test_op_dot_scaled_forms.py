"""dot_scaled with accumulators, batches and loops, its code for a GPU, and misuse."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from test_op_dot_scaled import assert_product, device, multiplied, product, side_of  # noqa: F401

import tilewright as tw


# Accumulators, batches, arrays as users have them.


def test_accumulator(device: str, rng: np.random.Generator) -> None:
    start = rng.standard_normal((32, 16)).astype(np.float32)
    for scales in [(120, 130), (0, 130)]:
        lhs = side_of(rng, "e4m3", 32, 64, scales)
        rhs = side_of(rng, "e2m1", 16, 64, (120, 130))
        assert_product(multiplied(lhs, rhs, start), lhs, rhs, start)


@pytest.mark.parametrize("packed_along_k", [True, False])
def test_batches(packed_along_k: bool, device: str, rng: np.random.Generator) -> None:
    @tw.jit
    def kernel(
        out, a, a_scale, b, b_scale,
        M: tw.constexpr, N: tw.constexpr, K: tw.constexpr, G: tw.constexpr, PACK: tw.constexpr,
    ):  # fmt: skip
        z = tw.arange(0, 2)[:, None, None]
        m, n, k = tw.arange(0, M), tw.arange(0, N), tw.arange(0, K)
        ra, ca = M if PACK else M // 2, K // 2 if PACK else K
        x = tw.load(a + z * ra * ca + tw.arange(0, ra)[:, None] * ca + tw.arange(0, ca)[None, :])
        y = tw.load(b + z * N * K + n[None, :] * K + k[:, None])
        g = tw.arange(0, G)[None, :]
        s = tw.load(a_scale + z * M * G + m[:, None] * G + g)
        t = tw.load(b_scale + z * N * G + n[:, None] * G + g)
        c = tw.dot_scaled(x, s, "e2m1", y, t, "e5m2", lhs_k_pack=PACK)
        tw.store(out + z * M * N + m[:, None] * N + n[None, :], c)

    for scales in [(120, 130), (0, 254)]:
        lhs = [side_of(rng, "e2m1", 32, 64, scales) for _ in range(2)]
        lhs = [replace(side, is_packed_along_k=packed_along_k) for side in lhs]
        rhs = [side_of(rng, "e5m2", 16, 64, scales) for _ in range(2)]
        out = np.full((2, 32, 16), np.float32(np.nan), np.float32)
        a, b = (np.stack([side.stored() for side in sides]) for sides in (lhs, rhs))
        s, t = (np.stack([side.scale for side in sides]) for sides in (lhs, rhs))
        kernel[(1,)](out, a, s, b, t, 32, 16, 64, 2, packed_along_k)
        for batch in range(2):
            assert_product(out[batch], lhs[batch], rhs[batch])


@pytest.mark.parametrize("shape", [(128, 32, 64), (32, 128, 128)])
@pytest.mark.parametrize("is_transposed", [False, True])
@pytest.mark.parametrize("types", [("e2m1", "e5m2"), ("e4m3", "bf16"), ("e5m2", "fp16")])
def test_tensors_in_any_order_by_four_and_eight_warps(
    types: tuple[str, str], is_transposed: bool, shape: tuple[int, int, int], device: str,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    @tw.jit
    def kernel(
        out, a, am, ak, a_scale, b, bk, bn,
        M: tw.constexpr, N: tw.constexpr, KA: tw.constexpr, K: tw.constexpr,
        A_TYPE: tw.constexpr, B_TYPE: tw.constexpr,
    ):  # fmt: skip
        x = tw.load(a + tw.arange(0, M)[:, None] * am + tw.arange(0, KA)[None, :] * ak)
        y = tw.load(b + tw.arange(0, K)[:, None] * bk + tw.arange(0, N)[None, :] * bn)
        G: tw.constexpr = K // 32
        s = tw.load(a_scale + tw.arange(0, M)[:, None] * G + tw.arange(0, G)[None, :])
        c = tw.dot_scaled(x, s, A_TYPE, y, None, B_TYPE)
        tw.store(out + tw.arange(0, M)[:, None] * N + tw.arange(0, N)[None, :], c)

    if device == "reference" and shape[2] == 128:
        pytest.skip("the same for the interpreter as the smaller one")
    m, n, k = shape
    lhs = side_of(rng, types[0], m, k, (124, 131))
    rhs = side_of(rng, types[1], n, k, None)
    a = torch.from_numpy(np.ascontiguousarray(lhs.stored()))
    b = torch.from_numpy(rhs.codes.view(np.int16 if rhs.codes.itemsize == 2 else np.uint8))
    if rhs.codes.itemsize == 2:
        b = b.view({"bf16": torch.bfloat16, "fp16": torch.float16}[types[1]])
    b = b.T if not is_transposed else b.T.contiguous()
    if is_transposed:
        a = a.T.contiguous().T
    out = torch.full((m, n), float("nan"))
    kernel[(1,)](
        out, a, *a.stride(), torch.from_numpy(lhs.scale), b, *b.stride(), m, n, a.shape[1], k,
        *types, num_warps=8 if is_transposed else 4,
    )  # fmt: skip
    assert_product(out.numpy(), lhs, rhs)


@tw.jit
def matmul(
    out, a, a_scale, b, b_scale, depth,
    M: tw.constexpr, N: tw.constexpr, K: tw.constexpr, FAST: tw.constexpr,
):  # fmt: skip
    """e2m1 along K by e4m3 [N, K]."""
    m, n = tw.arange(0, M), tw.arange(0, N)
    acc = tw.zeros([M, N], tw.float32)
    for start in range(0, depth, K):
        x = tw.load(
            a + m[:, None] * (depth // 2) + start // 2 + tw.arange(0, K // 2)[None, :]
        )
        y = tw.load(b + n[None, :] * depth + start + tw.arange(0, K)[:, None])
        group = start // 32 + tw.arange(0, K // 32)[None, :]
        s = tw.load(a_scale + m[:, None] * (depth // 32) + group)
        t = tw.load(b_scale + n[:, None] * (depth // 32) + group)
        acc = tw.dot_scaled(x, s, "e2m1", y, t, "e4m3", acc, fast_math=FAST)
    tw.store(out + m[:, None] * N + n[None, :], acc)


@pytest.mark.parametrize("fast", [False, True])
def test_loops_along_k(fast: bool, device: str, rng: np.random.Generator) -> None:
    depth = 256
    lhs = side_of(rng, "e2m1", 32, depth, (120, 130))
    rhs = side_of(rng, "e4m3", 64, depth, (120, 130))
    if not fast:  # in one iteration
        assert lhs.scale is not None
        lhs.scale[3, 2] = 9
    out = np.full((32, 64), np.float32(np.nan), np.float32)
    b = tw.reinterpret(rhs.codes, tw.float8e4nv)
    matmul[(1,)](out, lhs.stored(), lhs.scale, b, rhs.scale, depth, 32, 64, 64, fast)
    assert_product(out, lhs, rhs)


# The code for a GPU.


def ptx_of(left: str, right: str, **options: Any) -> str:
    rng = np.random.default_rng(0)
    lhs, rhs = side_of(rng, left, 64, 64, (127, 127)), side_of(rng, right, 64, 64, None)
    with tw.device("sim:sm_80"):
        kernel = product.warmup(
            np.zeros((64, 64), np.float32), lhs.stored(), lhs.scale, rhs.stored(), None, None,
            64, 64, lhs.stored().shape[1], rhs.stored().shape[1], 2, 1, left, right, True, True,
            options.pop("fast", False), grid=(1,), num_warps=4,
        )  # fmt: skip
    return kernel.asm["ptx"]


@pytest.mark.parametrize("right, instruction", [("bf16", "k16.*bf16"), ("fp16", "k8.*tf32")])
@pytest.mark.parametrize("left", ["e2m1", "e4m3", "e5m2"])
def test_matrix_instructions_multiply_them(
    left: str, right: str, instruction: str, compiler: None
) -> None:
    for fast in (False, True):
        ptx = ptx_of(left, right, fast=fast)
        assert re.search(rf"mma\.sync\.aligned\.m16n8{instruction}", ptx)
        # Of 64 x 64 products in a warp's share, scalar ones would take thousands.
        assert len(re.findall(r"fma\.rn\.f32", ptx)) < 600


# Misuse.


def refusal(
    *, lhs: Any = (tw.uint8, [32, 32]), lhs_scale: Any = (tw.uint8, [32, 2]),
    lhs_format: Any = "e2m1",
    rhs: Any = (tw.float8e4nv, [64, 16]), rhs_scale: Any = None, rhs_format: Any = "e4m3",
    acc: Any = None, **options: Any,
) -> str:  # fmt: skip
    LEFT, LEFT_SCALE, RIGHT, RIGHT_SCALE, ACC = lhs, lhs_scale, rhs, rhs_scale, acc
    LEFT_FORMAT, RIGHT_FORMAT = lhs_format, rhs_format
    PACK, TYPE = options.get("lhs_k_pack", True), options.get("out_dtype", tw.float32)

    @tw.jit
    def tile(what: tw.constexpr):
        if what is None:
            return None
        return tw.full(what[1], 0, what[0])

    @tw.jit
    def kernel(out):
        c = tw.dot_scaled(
            tile(LEFT), tile(LEFT_SCALE), LEFT_FORMAT, tile(RIGHT), tile(RIGHT_SCALE),
            RIGHT_FORMAT, tile(ACC), lhs_k_pack=PACK, out_dtype=TYPE,
        )  # fmt: skip
        tw.store(out, tw.sum(c))

    with pytest.raises(tw.CompileError) as caught:
        kernel[(1,)](np.zeros(1, np.float32))
    return str(caught.value)


MISUSES = {
    "unknown format": (dict(lhs_format="e3m2"), "TW0237", r'lhs_format is "e3m2"'),
    "no text": (dict(rhs_format=3), "TW0103|TW0104|TW0237", "format|text"),
    "wrong elements": (dict(lhs=(tw.float16, [32, 32])), "TW0238", r"float16\[32, 32\]"),
    "bf16 as fp16": (dict(rhs=(tw.bfloat16, [64, 16]), rhs_format="fp16"), "TW0238", "bfloat16"),
    "unpacked": (
        dict(lhs=(tw.uint8, [32, 64]), lhs_format="e4m3", lhs_k_pack=False), "TW0238", "k_pack"),
    "scale type": (dict(lhs_scale=(tw.float32, [32, 2])), "TW0239", r"float32\[32, 2\]"),
    "scale shape": (dict(lhs_scale=(tw.uint8, [32, 4])), "TW0239", r"must be \[32, 2\]"),
    "rhs scale shape": (
        dict(rhs_scale=(tw.uint8, [2, 16])), "TW0239", r"must be \[16, 2\].*\n?(.*\n)*.*\[N, K"),
    "e4m3 scale": (dict(lhs_scale=(tw.float8e4nv, [32, 8])), "TW0239", r"must be \[32, 4\].*\n?(.*\n)*.*16 or 32"),
    "small k": (
        dict(lhs=(tw.uint8, [32, 8]), rhs=(tw.float8e4nv, [16, 16])), "TW0239", "multiple of 32"),
    "different k": (dict(rhs=(tw.float8e4nv, [32, 16])), "TW0240", "K = 64.*K = 32"),
    "rank": (dict(rhs=(tw.float8e4nv, [64])), "TW0240", "rank 1"),
    "batches": (dict(rhs=(tw.float8e4nv, [2, 64, 16])), "TW0240", "batches differ"),
    "result": (dict(out_dtype=tw.float16), "TW0241", "float16"),
    "accumulator": (dict(acc=(tw.float32, [16, 32])), "TW0241", r"float32\[32, 16\]"),
    "accumulator type": (dict(acc=(tw.float16, [32, 16])), "TW0241", r"float32\[32, 16\]"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISUSES)
def test_misuse(name: str, compiler: None) -> None:
    changes, code, message = MISUSES[name]
    text = refusal(**changes)
    assert re.search(code, text) and re.search(message, text), text
    assert "test_op_dot_scaled_forms.py" in text and "tw.dot_scaled(" in text  # the user's line
