"""Matrix products of shapes that the table of `run.py` leaves out, for `operations.py`: few rows, as in
decoding, batches of small matrices, transposed operands, float16, weights of four bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import peaks
import torch

import tilewright as tw

GROUP = 128  # weights of four bits share a scale along K


class Product(NamedTuple):
    """Both sides of a line; `tolerance` is of |ours - theirs| / max(1, |theirs|)."""

    name: str
    run: Callable[[], Any]
    peer: Callable[[], Any]
    out: torch.Tensor
    tolerance: float


@tw.jit
def product(a, b, out, K, N, a_row, a_column, b_row, b_column,
            M_TILE: tw.constexpr, N_TILE: tw.constexpr, K_TILE: tw.constexpr):  # fmt: skip
    """Extents that the tiles divide; a batch for each program of axis 2, each [rows, K] and [K, N]."""
    m = tw.program_id(0) * M_TILE + tw.arange(0, M_TILE)[:, None]
    n = tw.program_id(1) * N_TILE + tw.arange(0, N_TILE)[None, :]
    rows = tw.num_programs(0) * M_TILE
    a += tw.program_id(2) * rows * K
    b += tw.program_id(2) * K * N
    total = tw.zeros((M_TILE, N_TILE), tw.float32)
    for start in range(0, K, K_TILE):
        k = start + tw.arange(0, K_TILE)
        x = tw.load(a + m * a_row + k[None, :] * a_column)
        total = tw.dot(x, tw.load(b + k[:, None] * b_row + n * b_column), total)
    at = tw.program_id(2) * rows * N + m * N + n
    tw.store(out + at, total.to(out.dtype.element_ty))


@tw.jit
def product_of_nibbles(
    x, weights, scales, out, K, N, M: tw.constexpr, N_TILE: tw.constexpr, IN_PAIRS: tw.constexpr
):
    """weights[k, n] holds rows 2 k (low bits) and 2 k + 1; scales are [K / GROUP, N]."""
    dtype: tw.constexpr = tw.bfloat16 if IN_PAIRS else tw.float32
    m = tw.arange(0, M)[:, None]
    n = tw.program_id(0) * N_TILE + tw.arange(0, N_TILE)[None, :]
    total = tw.zeros((M, N_TILE), tw.float32)
    for group in range(0, K // 128):
        k = group * 64 + tw.arange(0, 64)
        packed = tw.load(weights + k[:, None] * N + n)
        low = ((packed & 15).to(tw.int8) - 8).to(dtype)
        high = ((packed >> 4).to(tw.int8) - 8).to(dtype)
        even = tw.load(x + m * K + 2 * k[None, :]).to(dtype)
        odd = tw.load(x + m * K + 2 * k[None, :] + 1).to(dtype)
        part = tw.dot(odd, high, tw.dot(even, low))
        total += part * tw.load(scales + group * N + n)
    tw.store(out + m * N + n, total.to(out.dtype.element_ty))


def _line(name: str, a: torch.Tensor, b: torch.Tensor, tiles: tuple[int, int, int]) -> Product:
    """a is [..., m, k] and b [..., k, n], of any strides where there is one of each."""
    (m, k), n = a.shape[-2:], b.shape[-1]
    out, theirs = (torch.empty(*a.shape[:-1], n, dtype=a.dtype) for _ in range(2))
    grid = (m // tiles[0], n // tiles[1], a.shape[0] if a.dim() == 3 else 1)
    strides = (*a.stride()[-2:], *b.stride()[-2:])
    sizes = dict(zip(("M_TILE", "N_TILE", "K_TILE"), tiles, strict=True))
    tolerance = 1e-4 if a.dtype == torch.float32 else 2e-2

    def run() -> None:
        product[grid](a, b, out, k, n, *strides, **sizes)

    return Product(name, run, lambda: torch.matmul(a, b, out=theirs), out, tolerance)


def _drawn(dtype: torch.dtype, *shape: int) -> torch.Tensor:
    return (torch.randn(*shape) / shape[-1] ** 0.25).to(dtype)


def _of_nibbles(m: int, k: int, n: int) -> Product:
    """Beside torch's product of the same weights in bfloat16: it has none of four bits for these."""
    x, scales = _drawn(torch.bfloat16, m, k), torch.rand(k // GROUP, n) / 64
    numbers = torch.randint(0, 16, (k, n), dtype=torch.uint8)
    packed = numbers[0::2] | numbers[1::2] << 4
    wide = ((numbers.float() - 8) * scales.repeat_interleave(GROUP, 0)).bfloat16()
    out, theirs = (torch.empty(m, n, dtype=torch.bfloat16) for _ in range(2))

    # Of bf16 the weights lose nothing, but an instruction for pairs must make up for narrowing them.
    in_pairs = m > 8 and not {"avx512_bf16", "amx_bf16"}.isdisjoint(peaks.features())
    tile = 256 if in_pairs else 128

    def run() -> None:
        sizes = {"M": m, "N_TILE": tile, "IN_PAIRS": in_pairs}
        product_of_nibbles[(n // tile,)](x, packed, scales, out, k, n, **sizes)

    name = f"{m} x {k} x {n} 4 bits"
    return Product(name, run, lambda: torch.mm(x, wide, out=theirs), out, 5e-2)


def products() -> Iterator[Product]:
    """All lines."""
    for m in (1, 4, 16, 32):
        for dtype, short in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
            a, b = _drawn(dtype, m, 2048), _drawn(dtype, 2048, 2048)
            yield _line(f"{m} x 2048 x 2048 {short}", a, b, (m, 128, 256))
    for dtype, short in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        a, b = _drawn(dtype, 512, 64, 64), _drawn(dtype, 512, 64, 64)
        yield _line(f"512 of 64 x 64 x 64 {short}", a, b, (64, 64, 64))
    for dtype, short in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        a, b = _drawn(dtype, 1024, 1024), _drawn(dtype, 1024, 1024)
        yield _line(f"1024 {short} a.T", a.T, b, (256, 256, 256))
        yield _line(f"1024 {short} b.T", a, b.T, (256, 128, 512))
    a, b = _drawn(torch.float16, 1024, 1024), _drawn(torch.float16, 1024, 1024)
    yield _line("1024 f16", a, b, (128, 128, 128))
    yield _of_nibbles(1, 4096, 4096)
    yield _of_nibbles(16, 4096, 4096)
