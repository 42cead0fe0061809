"""A product with weights of 4 bits: unpacked, scaled and multiplied in one kernel, by programs that stay.

A language model reads all of its weights for each word, so that their bytes decide its speed. Weights
of 4 bits with a scale for each group of 64 take an eighth of float32's. Unpacking them first would
write the large matrix after all; here a tile is unpacked between its load and its product.

The kernel is also *persistent*: a few programs, not one for each tile of the result, walk over the
tiles by themselves, in an order that lets neighbours share what lies in caches.
"""

from __future__ import annotations

import compare
import torch

import tilewright as tw

GROUP = 64  # weights along K that share a scale
TILES = {"BM": 32, "BN": 64, "BK": GROUP, "ROWS": 4}


# Tile number -> its row and column: columns of ROWS tiles, one after another, so that the tiles that
# are computed at about the same time read few rows of `x` and few columns of the weights.
@tw.jit
def place_of(number, tiles_m, tiles_n, ROWS: tw.constexpr):
    group = number // (ROWS * tiles_n)
    rows = min(tiles_m - group * ROWS, ROWS)
    within = number % (ROWS * tiles_n)
    return group * ROWS + within % rows, within // rows


# Two weights lie in one byte, those of the rows 2 r and 2 r + 1 of the matrix [K, N]; `join` and a
# change of shape put them where they belong. The number w of 0 to 15 means w - 8.
@tw.jit
def unpacked(packed, BK: tw.constexpr, BN: tw.constexpr):
    low, high = packed & 15, packed >> 4
    both = tw.join(low, high)  # [BK / 2, BN, 2]
    return tw.permute(both, (0, 2, 1)).reshape(BK, BN).to(tw.float32) - 8


@tw.jit
def matmul_kernel(
    out, x, weights, scales, M, N, K,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, ROWS: tw.constexpr,
):  # fmt: skip
    tiles_m, tiles_n = tw.cdiv(M, BM), tw.cdiv(N, BN)
    for number in range(tw.program_id(0), tiles_m * tiles_n, tw.num_programs(0)):
        tile_m, tile_n = place_of(number, tiles_m, tiles_n, ROWS)
        m, n = tile_m * BM + tw.arange(0, BM), tile_n * BN + tw.arange(0, BN)
        total = tw.zeros((BM, BN), dtype=tw.float32)
        for start in range(0, K, BK):
            k, pair = start + tw.arange(0, BK), start // 2 + tw.arange(0, BK // 2)
            rows = tw.load(x + m[:, None] * K + k[None, :], mask=m[:, None] < M, other=0.0)
            packed = tw.load(weights + pair[:, None] * N + n[None, :], mask=n[None, :] < N, other=0)
            scale = tw.load(scales + start // BK * N + n, mask=n < N, other=0.0)
            # BK weights share a scale, so that the sum of their products is scaled, not each weight.
            total += tw.dot(rows, unpacked(packed, BK, BN)) * scale[None, :]
        inside = (m[:, None] < M) & (n[None, :] < N)
        tw.store(out + m[:, None] * N + n[None, :], total, mask=inside)


def quantize(weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """float32 [K, N] -> bytes [K / 2, N] of two weights each, and float32 scales [K / GROUP, N]."""
    groups = weights.view(-1, GROUP, weights.shape[1])
    scales = (groups.abs().amax(1) / 7).clamp_min(1e-8)
    numbers = ((groups / scales[:, None]).round() + 8).clamp(0, 15).view_as(weights)
    pairs = numbers.to(torch.uint8).view(-1, 2, weights.shape[1])
    return pairs[:, 0] | pairs[:, 1] << 4, scales


def dequantize(packed: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    """The weights that the bytes stand for, float32 [K, N]."""
    numbers = torch.stack((packed & 15, packed >> 4), 1).view(-1, packed.shape[1]).float() - 8
    return numbers * scales.repeat_interleave(GROUP, 0)


def matmul(x: torch.Tensor, packed: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    (m, k), n = x.shape, packed.shape[1]
    out = compare.poisoned(x.new_empty(m, n))
    tiles = tw.cdiv(m, TILES["BM"]) * tw.cdiv(n, TILES["BN"])
    programs = min(tiles, 2 * torch.get_num_threads())
    matmul_kernel[(programs,)](out, x, packed, scales, m, n, k, **TILES)
    return out


def run(size: str) -> list[compare.Race]:
    torch.manual_seed(9)
    m, n, k = (32, 4096, 4096) if size == "full" else (20, 200, 256)
    x, weights = torch.randn(m, k), torch.randn(k, n)
    packed, scales = quantize(weights)
    restored = dequantize(packed, scales)
    expected = x.double() @ restored.double()
    compare.check(f"{m}x{n}x{k}", matmul(x, packed, scales), expected, atol=1e-5 * k, rtol=1e-4)
    return [
        compare.race(
            f"{m}x{n}x{k}, weights of 4 bits",
            lambda: matmul(x, packed, scales),
            lambda: x @ dequantize(packed, scales),
            size,
            "torch, unpacked first",
        )
    ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
