"""A bf16 product by programs that stay: as many as the machine runs at a time, each for many tiles.

One program for each tile of the result begins and ends many times, and where the tiles are not a
multiple of what runs at a time, most of the machine waits for the last ones. Here a fixed number of
programs walks over the tiles. Neighbours in time are neighbours in the matrix, in groups of rows, so
that they find each other's operands in the caches.

Matrices are described, not addressed: a *tensor descriptor* has an array's shape and strides, loads a
block at a place, and gives 0 for what lies outside. On sm_90a such a load is one instruction of the copy
engine.
"""

from __future__ import annotations

import compare
import torch

import tilewright as tw

TILES = {"BM": 64, "BN": 64, "BK": 64, "GROUP": 4}


@tw.jit
def matmul_kernel(
    out, a, b, M, N, K,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr, GROUP: tw.constexpr,
):  # fmt: skip
    left = tw.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    right = tw.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    result = tw.make_tensor_descriptor(out, [M, N], [N, 1], [BM, BN])
    tiles_m, tiles_n = tw.cdiv(M, BM), tw.cdiv(N, BN)
    # `flatten` lets the compiler merge this loop with the one along K: the first blocks of the next tile
    # are then on their way while the last ones of this tile are multiplied.
    for number in tw.range(tw.program_id(0), tiles_m * tiles_n, tw.num_programs(0), flatten=True):
        tile_m, tile_n = tw.swizzle2d(number // tiles_n, number % tiles_n, tiles_m, tiles_n, GROUP)
        total = tw.zeros((BM, BN), dtype=tw.float32)
        for start in range(0, K, BK):
            total = tw.dot(left.load([tile_m * BM, start]), right.load([start, tile_n * BN]), total)
        result.store([tile_m * BM, tile_n * BN], total.to(tw.bfloat16))


def matmul(a: torch.Tensor, b: torch.Tensor, programs: int = 0) -> torch.Tensor:
    """a @ b of row-major bf16 matrices, by so many programs, else two for each thread of the CPU."""
    (m, k), n = a.shape, b.shape[1]
    out = compare.poisoned(a.new_empty(m, n))
    tiles = tw.cdiv(m, TILES["BM"]) * tw.cdiv(n, TILES["BN"])
    programs = min(tiles, programs or 2 * torch.get_num_threads())
    matmul_kernel[(programs,)](out, a, b, m, n, k, **TILES)
    return out


def run(size: str) -> list[compare.Race]:
    torch.manual_seed(12)
    m, n, k = (1536, 1024, 1024) if size == "full" else (200, 136, 96)
    a, b = torch.randn(m, k).bfloat16(), torch.randn(k, n).bfloat16()
    expected = a.double() @ b.double()
    # The number of programs changes who computes a tile, and no tile.
    for programs in (1, 3, 0):
        name = f"{m}x{n}x{k} by {programs or 'all'} programs"
        compare.check(name, matmul(a, b, programs), expected, atol=1e-2, rtol=2**-8)
    return [compare.race(f"{m}x{n}x{k} bf16", lambda: matmul(a, b), lambda: a @ b, size)]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
