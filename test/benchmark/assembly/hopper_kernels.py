"""The kernels with tensor descriptors of hopper_rows.py, one source for Tilewright and Triton; those with
pointers are of generated_kernels.py. `case_of` says how a row's form is compiled."""

import os
import pathlib
import sys

from hopper_rows import Row

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
import generated_kernels  # noqa: E402

IS_TRITON = os.environ.get("BENCHMARK_LANGUAGE") == "triton"
if IS_TRITON:
    import triton.language as tl
    from triton import jit
else:
    import tilewright as tl
    from tilewright import jit


@jit
def matmul(
    a, b, c, M, N, K,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, MOST: tl.constexpr,
    ROLES: tl.constexpr,
):  # fmt: skip
    """c[m, n] is the sum over k of a[m, k] b[n, k]."""
    a_tiles = tl.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    b_tiles = tl.make_tensor_descriptor(b, [N, K], [K, 1], [BN, BK])
    c_tiles = tl.make_tensor_descriptor(c, [M, N], [N, 1], [BM, BN])
    pid = tl.program_id(0)
    per_group = GROUP * tl.cdiv(N, BN)
    first_m = (pid // per_group) * GROUP
    rows = min(tl.cdiv(M, BM) - first_m, GROUP)
    m = (first_m + (pid % per_group) % rows) * BM
    n = ((pid % per_group) // rows) * BN
    acc = tl.zeros((BM, BN), dtype=tl.float32)
    for step in tl.range(tl.cdiv(K, BK), warp_specialize=ROLES):
        x = a_tiles.load([m, step * BK])
        y = b_tiles.load([n, step * BK])
        acc = tl.dot(x, y.T, acc, max_num_imprecise_acc=MOST)
    c_tiles.store([m, n], acc.to(c.dtype.element_ty))


@jit
def attend(
    acc, norm, peak, query, keys, values, row, start, end, first, scale,
    BM: tl.constexpr, BN: tl.constexpr, MASKED: tl.constexpr, ROLES: tl.constexpr,
):  # fmt: skip
    """The keys [start, end) of one head, MASKED on the diagonal."""
    for n in tl.range(start, end, BN, warp_specialize=ROLES):
        score = tl.dot(query, keys.load([row + n, 0]).T)
        if MASKED:
            is_seen = (first + tl.arange(0, BM))[:, None] >= (n + tl.arange(0, BN))[None, :]
            score = tl.where(is_seen, score, -float("inf"))
        new_peak = tl.maximum(peak, tl.max(score, 1) * scale)
        p = tl.exp2(score * scale - new_peak[:, None])
        shrink = tl.exp2(peak - new_peak)
        norm = norm * shrink + tl.sum(p, 1)
        acc = tl.dot(p.to(tl.float16), values.load([row + n, 0]), acc * shrink[:, None])
        peak = new_peak
    return acc, norm, peak


@jit
def attention(
    q, k, v, out, scale, rows, length,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr, ROLES: tl.constexpr,
):  # fmt: skip
    """Rows [first, first + BM) of one head; `length` is a multiple of both blocks."""
    q_tiles = tl.make_tensor_descriptor(q, [rows, D], [D, 1], [BM, D])
    k_tiles = tl.make_tensor_descriptor(k, [rows, D], [D, 1], [BN, D])
    v_tiles = tl.make_tensor_descriptor(v, [rows, D], [D, 1], [BN, D])
    out_tiles = tl.make_tensor_descriptor(out, [rows, D], [D, 1], [BM, D])
    first = tl.program_id(0) * BM
    row = tl.program_id(1) * length
    peak = tl.full([BM], -float("inf"), tl.float32)
    norm = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    query = q_tiles.load([row + first, 0])
    if CAUSAL:
        acc, norm, peak = attend(
            acc, norm, peak, query, k_tiles, v_tiles, row, 0, first, first, scale, BM, BN, False, ROLES
        )
        acc, norm, peak = attend(
            acc, norm, peak, query, k_tiles, v_tiles, row, first, first + BM, first, scale,
            BM, BN, True, ROLES,
        )  # fmt: skip
    else:
        acc, norm, peak = attend(
            acc, norm, peak, query, k_tiles, v_tiles, row, 0, length, first, scale, BM, BN, False, ROLES
        )
    out_tiles.store([row + first, 0], (acc / norm[:, None]).to(tl.float16))


@jit
def summed_attention(
    q, k, v, out, scale, head_stride, length, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr
):
    """Attention as users write it: powers of e, scores scaled first, the product added to the output."""
    base = tl.program_id(1) * head_stride
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    query = tl.load(q + base + m[:, None] * D + d[None, :])
    peak = tl.full([BM], -float("inf"), tl.float32)
    norm = tl.zeros([BM], tl.float32)
    acc = tl.zeros([BM, D], tl.float32)
    for start in range(0, length, BN):
        n = start + tl.arange(0, BN)
        key = tl.load(k + base + n[None, :] * D + d[:, None])
        score = tl.dot(query, key) * scale
        new_peak = tl.maximum(peak, tl.max(score, 1))
        p = tl.exp(score - new_peak[:, None])
        shrink = tl.exp(peak - new_peak)
        norm = norm * shrink + tl.sum(p, 1)
        value = tl.load(v + base + n[:, None] * D + d[None, :])
        acc = acc * shrink[:, None] + tl.dot(p.to(tl.float16), value)
        peak = new_peak
    tl.store(out + base + m[:, None] * D + d[None, :], (acc / norm[:, None]).to(tl.float16))


# Types of the parameters before the constants, as generated_kernels.SIGNATURES has them.
SIGNATURES = {
    "matmul": "{0} {0} {1} i32:16 i32:16 i32:16",
    "attention": "{0} {0} {0} {0} fp32 i32:16 i32:16",
    "summed_attention": "{0} {0} {0} {0} fp32 i32:16 i32:16",
}


def case_of(row: Row, form: str):
    """The kernel, its signature and its constants."""
    constants = dict(row.constants)
    array = f"*{row.dtype}:16"
    out = "*fp16:16" if row.dtype.startswith("fp8") else array
    if row.dtype.startswith("fp8") and not IS_TRITON:
        constants["MOST"] = 2**30  # Triton's default on Hopper
    if form != "pointers" or row.kernel == "summed_attention":
        if form != "pointers":
            # Tilewright gives warps roles where nothing says that it should not.
            constants["ROLES"] = form == "roles" if IS_TRITON else None
        return globals()[row.kernel], SIGNATURES[row.kernel].format(array, out).split(), constants
    types = generated_kernels.SIGNATURES[row.kernel].split()
    if row.kernel == "matmul":
        types[:3] = array, array, out
        if row.dtype.startswith("fp8"):  # only rows along K can be multiplied
            types[8], types[9] = types[9], types[8]
    return getattr(generated_kernels, row.kernel), types, constants
