"""Matrix product: tiles of two dimensions, `dot`, the order of programs, a function as argument.

C = activation(A B). Each program computes one BLOCK_M x BLOCK_N tile of C: it walks along K, loads
a tile of A and a tile of B, and adds their product to an accumulator. `tw.dot` is where a compiler
earns its keep: on a CPU it becomes a register-tiled loop of fused multiply-adds over packed
operands, on a GPU matrix instructions.
"""

from __future__ import annotations

import compare
import torch

import tilewright as tw


@tw.jit
def leaky_relu(x):
    return tw.where(x >= 0, x, 0.01 * x)


# Which tile of C a program takes decides which parts of A and B are still in a cache when it reads
# them. Row after row, the programs that run at about the same time would read nearly all of B.
# Taken instead in groups of GROUP_M tile rows, column by column inside the group, they share both a
# few rows of A and a few columns of B.
@tw.jit
def grouped_tile(program, tiles_m, tiles_n, GROUP_M: tw.constexpr):
    tiles_per_group = GROUP_M * tiles_n
    first_m = (program // tiles_per_group) * GROUP_M
    # The last group may have fewer rows.
    group_rows = tw.minimum(tiles_m - first_m, GROUP_M)
    within = program % tiles_per_group
    return first_m + within % group_rows, within // group_rows


# A stride of 1 is known to the compiled code (it is part of what a kernel is specialized on), so a
# row-major matrix is read with plain vector loads although the source handles any strides.
@tw.jit
def matmul_kernel(
    a,
    b,
    c,
    M,
    N,
    K,
    a_stride_m,
    a_stride_k,
    b_stride_k,
    b_stride_n,
    c_stride_m,
    c_stride_n,
    BLOCK_M: tw.constexpr,
    BLOCK_N: tw.constexpr,
    BLOCK_K: tw.constexpr,
    GROUP_M: tw.constexpr,
    ACTIVATION: tw.constexpr,
):
    tile_m, tile_n = grouped_tile(
        tw.program_id(0), tw.cdiv(M, BLOCK_M), tw.cdiv(N, BLOCK_N), GROUP_M
    )
    rows = tile_m * BLOCK_M + tw.arange(0, BLOCK_M)
    cols = tile_n * BLOCK_N + tw.arange(0, BLOCK_N)
    # [:, None] turns the row indices into a column, and adding a row of k indices broadcasts both
    # to a BLOCK_M x BLOCK_K tile of pointers.
    a_rows = a + rows[:, None] * a_stride_m
    b_cols = b + cols[None, :] * b_stride_n
    # Products of bf16 are summed in fp32: the accumulator is what must not lose digits.
    total = tw.zeros((BLOCK_M, BLOCK_N), dtype=tw.float32)
    for start in range(0, K, BLOCK_K):
        k = start + tw.arange(0, BLOCK_K)
        # Elements outside the matrices read as 0 and add nothing.
        a_mask = (rows[:, None] < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (cols[None, :] < N)
        a_tile = tw.load(a_rows + k[None, :] * a_stride_k, mask=a_mask, other=0.0)
        b_tile = tw.load(b_cols + k[:, None] * b_stride_k, mask=b_mask, other=0.0)
        total = tw.dot(a_tile, b_tile, total)
    # ACTIVATION is a constexpr, so this `if` is decided while compiling and the function is
    # inlined: the activation costs no pass over C.
    if ACTIVATION is not None:
        total = ACTIVATION(total)
    pointers = c + rows[:, None] * c_stride_m + cols[None, :] * c_stride_n
    # Storing converts to the element type behind the pointer.
    tw.store(pointers, total, mask=(rows[:, None] < M) & (cols[None, :] < N))


TILES = {"BLOCK_M": 64, "BLOCK_N": 128, "BLOCK_K": 128, "GROUP_M": 4}
NUM_STAGES = 3  # how many tiles of A and of B a GPU keeps on chip while it loads ahead


def tiles_that_fit(element_bytes: int) -> dict[str, int]:
    """Steps along K are as long as the device's memory on chip allows: a core's cache has room for
    the longest, a GPU's shared memory, of 64 KiB and more, for shorter ones."""
    room = tw.targets.properties_of(tw.current_device())["max_shared_mem"]
    tiles = dict(TILES)
    bytes_of_k = NUM_STAGES * (tiles["BLOCK_M"] + tiles["BLOCK_N"]) * element_bytes
    while tiles["BLOCK_K"] > 16 and tiles["BLOCK_K"] * bytes_of_k > room:
        tiles["BLOCK_K"] //= 2
    return tiles


def matmul(a, b, c, activation=None, tiles: dict[str, int] | None = None) -> None:
    """c = activation(a @ b) for matrices of fp32, bf16 or fp16 with any strides."""
    (M, K), N = a.shape, b.shape[1]
    tiles = tiles or tiles_that_fit(a.element_size())
    programs = tw.cdiv(M, tiles["BLOCK_M"]) * tw.cdiv(N, tiles["BLOCK_N"])
    matmul_kernel[(programs,)](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), ACTIVATION=activation,
        num_stages=NUM_STAGES, **tiles,
    )


def check_products(generator: torch.Generator) -> None:
    # fp32 errors grow with the length of the sums; a bf16 result has 8 bits, 2**-8 of its value at
    # most.
    for dtype, atol, rtol in ((torch.float32, 2e-5, 2e-5), (torch.bfloat16, 1e-3, 2**-8)):
        for M, N, K in ((1, 1, 1), (70, 130, 45), (256, 128, 128)):
            a = torch.randn(M, K, generator=generator).to(dtype)
            b = torch.randn(N, K, generator=generator).to(dtype).T  # columns are contiguous
            expected = a.double() @ b.double()
            name = f"{str(dtype).removeprefix('torch.')} {M} x {K} times {K} x {N}"
            for right, how in ((b, "transposed B"), (b.contiguous(), "row-major B")):
                c = compare.poisoned(expected.to(dtype))
                matmul(a, right, c)
                compare.check(f"{name}, {how}", c, expected, atol, rtol)
            c = compare.poisoned(expected.to(dtype))
            matmul(a, b, c, activation=leaky_relu)
            compare.check(
                f"{name}, leaky relu", c, torch.nn.functional.leaky_relu(expected), atol, rtol
            )


def run(size: str) -> list[compare.Race]:
    generator = torch.Generator().manual_seed(3)
    check_products(generator)
    n = 1024 if size == "full" else 128
    races = []
    for dtype, short in ((torch.float32, "fp32"), (torch.bfloat16, "bf16")):
        a = torch.randn(n, n, generator=generator).to(dtype)
        b = torch.randn(n, n, generator=generator).to(dtype)
        c = torch.empty(n, n, dtype=dtype)
        result = compare.race(
            f"matmul {n} {short}",
            lambda a=a, b=b, c=c: matmul(a, b, c),
            lambda a=a, b=b, c=c: torch.matmul(a, b, out=c),
            size,
        )
        print(f"    that is {2 * n**3 / result.ours_ms / 1e6:.0f} GFLOP/s")
        races.append(result)
    return races


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
