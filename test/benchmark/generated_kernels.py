"""The kernels whose machine code is compared, one source for both languages (see generated_side.py)."""

import os

if os.environ.get("BENCHMARK_LANGUAGE") == "triton":
    import triton.language as tl
    from triton import jit
else:
    import tilewright as tl
    from tilewright import jit


@jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@jit
def softmax(out, x, row_stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    value = tl.load(x + row * row_stride + c, mask=c < columns, other=-float("inf"))
    value = tl.exp(value - tl.max(value, axis=0))
    tl.store(out + row * row_stride + c, value / tl.sum(value, axis=0), mask=c < columns)


@jit
def layer_norm(out, x, weight, bias, means, scales, row_stride, columns, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x += row * row_stride
    out += row * row_stride
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(x + c, mask=c < columns, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / columns
    squares = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        value = tl.load(x + c, mask=c < columns, other=0.0).to(tl.float32)
        value = tl.where(c < columns, value - mean, 0.0)
        squares += value * value
    scale = 1.0 / tl.sqrt(tl.sum(squares, axis=0) / columns + eps)
    tl.store(means + row, mean)
    tl.store(scales + row, scale)
    for start in range(0, columns, BLOCK):
        c = start + tl.arange(0, BLOCK)
        inside = c < columns
        value = tl.load(x + c, mask=inside, other=0.0).to(tl.float32)
        w = tl.load(weight + c, mask=inside)
        b = tl.load(bias + c, mask=inside)
        tl.store(out + c, (value - mean) * scale * w + b, mask=inside)


# name -> signature (":16": divisible by 16), in the order of the parameters before BLOCK
SIGNATURES = {
    "add": "*fp32:16 *fp32:16 *fp32:16 i32:16",
    "softmax": "*fp32:16 *fp32:16 i32:16 i32:16",
    "layer_norm": "*fp16:16 *fp16:16 *fp16:16 *fp16:16 *fp32:16 *fp32:16 i32:16 i32:16 fp32",
}
BLOCK = 1024
NUM_WARPS = 4
