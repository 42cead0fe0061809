"""The kernels of hopper_rows.py in the language of NVIDIA's cuTile. Arrays are contiguous along their last
axis; their extents, strides and addresses are divisible by 16, and what is read outside of them is zero."""

import cuda.tile as ct
from cuda.tile.compilation import (
    ArrayConstraint,
    CallingConvention,
    ConstantConstraint,
    KernelSignature,
    ScalarConstraint,
    export_kernel,
)
from hopper_rows import Row

ZERO = ct.PaddingMode.ZERO
Size = ct.Constant[int]
DTYPES = {"fp16": ct.float16, "bf16": ct.bfloat16, "fp8e4nv": ct.float8_e4m3fn}


def matmul(a, b, c, BM: Size, BN: Size, BK: Size, BY_ROWS: ct.Constant[bool]):
    """c[m, n] is the sum over k of a[m, k] b[k, n], or of b[n, k] where it is BY_ROWS."""
    m, n = ct.bid(0), ct.bid(1)
    acc = ct.full((BM, BN), 0, dtype=ct.float32)
    for step in range(ct.num_tiles(a, axis=1, shape=(BM, BK))):
        x = ct.load(a, index=(m, step), shape=(BM, BK), padding_mode=ZERO)
        if BY_ROWS:
            y = ct.load(b, index=(step, n), shape=(BK, BN), order=(1, 0), padding_mode=ZERO)
        else:
            y = ct.load(b, index=(step, n), shape=(BK, BN), padding_mode=ZERO)
        acc = ct.mma(x, y, acc)
    ct.store(c, index=(m, n), tile=ct.astype(acc, c.dtype))


def attention(q, k, v, out, scale, BM: Size, BN: Size, D: Size, CAUSAL: ct.Constant[bool]):
    """One head; the blocks of keys on the diagonal have a loop of their own."""
    m = ct.bid(0)
    query = ct.load(q, index=(m, 0), shape=(BM, D), padding_mode=ZERO)
    peak = ct.full((BM, 1), -1e30, dtype=ct.float32)
    norm = ct.full((BM, 1), 0.0, dtype=ct.float32)
    acc = ct.full((BM, D), 0.0, dtype=ct.float32)
    end = ct.num_tiles(k, axis=0, shape=(BN, D))
    if CAUSAL:
        end = m * BM // BN
    for step in range(end):
        key = ct.load(k, index=(0, step), shape=(D, BN), order=(1, 0), padding_mode=ZERO)
        score = ct.mma(query, key, ct.full((BM, BN), 0.0, dtype=ct.float32))
        new_peak = ct.maximum(peak, ct.max(score, axis=1, keepdims=True) * scale)
        p = ct.exp2(score * scale - new_peak)
        shrink = ct.exp2(peak - new_peak)
        norm = norm * shrink + ct.sum(p, axis=1, keepdims=True)
        value = ct.load(v, index=(step, 0), shape=(BN, D), padding_mode=ZERO)
        acc = ct.mma(ct.astype(p, q.dtype), value, acc * shrink)
        peak = new_peak
    if CAUSAL:
        rows = m * BM + ct.arange(BM, dtype=ct.int32)[:, None]
        for step in range(end, (m + 1) * BM // BN):
            key = ct.load(k, index=(0, step), shape=(D, BN), order=(1, 0), padding_mode=ZERO)
            score = ct.mma(query, key, ct.full((BM, BN), 0.0, dtype=ct.float32))
            columns = step * BN + ct.arange(BN, dtype=ct.int32)[None, :]
            score = ct.where(rows >= columns, score, -1e30)
            new_peak = ct.maximum(peak, ct.max(score, axis=1, keepdims=True) * scale)
            p = ct.exp2(score * scale - new_peak)
            shrink = ct.exp2(peak - new_peak)
            norm = norm * shrink + ct.sum(p, axis=1, keepdims=True)
            value = ct.load(v, index=(step, 0), shape=(BN, D), padding_mode=ZERO)
            acc = ct.mma(ct.astype(p, q.dtype), value, acc * shrink)
            peak = new_peak
    ct.store(out, index=(m, 0), tile=ct.astype(acc / norm, out.dtype))


def summed_attention(q, k, v, out, scale, BM: Size, BN: Size, D: Size):
    """One head as users write it: powers of e, scores scaled first, the product added to the output."""
    m = ct.bid(0)
    query = ct.load(q, index=(m, 0), shape=(BM, D), padding_mode=ZERO)
    peak = ct.full((BM, 1), -1e30, dtype=ct.float32)
    norm = ct.full((BM, 1), 0.0, dtype=ct.float32)
    acc = ct.full((BM, D), 0.0, dtype=ct.float32)
    for step in range(ct.num_tiles(k, axis=0, shape=(BN, D))):
        key = ct.load(k, index=(0, step), shape=(D, BN), order=(1, 0), padding_mode=ZERO)
        score = ct.matmul(query, key) * scale
        new_peak = ct.maximum(peak, ct.max(score, axis=1, keepdims=True))
        p = ct.exp(score - new_peak)
        shrink = ct.exp(peak - new_peak)
        norm = norm * shrink + ct.sum(p, axis=1, keepdims=True)
        value = ct.load(v, index=(step, 0), shape=(BN, D), padding_mode=ZERO)
        acc = acc * shrink + ct.matmul(ct.astype(p, q.dtype), value)
        peak = new_peak
    ct.store(out, index=(m, 0), tile=ct.astype(acc / norm, out.dtype))


def array_of(dtype: str) -> ArrayConstraint:
    return ArrayConstraint(
        DTYPES[dtype], 2, index_dtype=ct.int32, stride_lower_bound_incl=0, alias_groups=(),
        may_alias_internally=False, stride_constant=(None, 1), shape_constant=None,
        stride_divisible_by=(16, 1), shape_divisible_by=(16, 16), base_addr_divisible_by=16,
    )  # fmt: skip


def compile_row(row: Row, cubin: str) -> None:
    """Write a row's machine code to a file. Raises what the compiler raises."""
    out = "fp16" if row.dtype.startswith("fp8") else row.dtype
    sizes = [row.constants[name] for name in ("BM", "BN", "BK" if row.kernel == "matmul" else "D")]
    arrays = [row.dtype] * (2 if row.kernel == "matmul" else 3)
    parameters = [*map(array_of, arrays), array_of(out)]
    if row.kernel == "matmul":
        sizes.append(row.dtype.startswith("fp8"))
    else:
        parameters.append(ScalarConstraint(ct.float32))
    if row.kernel == "attention":
        sizes.append(row.constants["CAUSAL"])
    kernel = ct.kernel(globals()[row.kernel], num_worker_warps=row.num_warps)
    signature = KernelSignature(
        [*parameters, *map(ConstantConstraint, sizes)], CallingConvention.cutile_python_v1()
    )
    arch = f"sm_{row.arch.removesuffix('a')}"
    export_kernel(kernel, [signature], cubin, gpu_code=arch, output_format="cubin")
