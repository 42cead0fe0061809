"""Vector addition: programs, tiles, masks, and how a kernel is launched.

A kernel is a Python function under `@tw.jit`. It is not run by Python: its source is compiled, and
many instances of it, called *programs*, run independently of each other. Each program handles one
*tile* of the data, and the arithmetic in its body is written for the whole tile at once. There are
no threads in the source. On a CPU, the programs of a launch are spread over the cores and a tile
becomes vector instructions; on a GPU, a program becomes a group of warps and a tile is spread over
their lanes.
"""

from __future__ import annotations

import compare
import numpy
import torch

import tilewright as tw


# `x`, `y` and `out` arrive as pointers to the first element of whatever was passed: torch tensors
# and NumPy arrays both do. `n` is an ordinary run-time integer. BLOCK is a constexpr: its value is
# part of the compiled code, because the extent of a tile has to be known when the code is
# generated.
@tw.jit
def add_kernel(x, y, out, n, BLOCK: tw.constexpr):
    # Which of the programs am I? Program 0 handles elements 0 ... BLOCK-1, program 1 the next
    # BLOCK.
    first = tw.program_id(0) * BLOCK
    # arange makes a tile of consecutive integers: the indices of this program's elements.
    indices = first + tw.arange(0, BLOCK)
    # n is rarely a multiple of BLOCK, so the last program may reach beyond the end. The mask says
    # which elements exist; the others are neither read nor written.
    exists = indices < n
    # A pointer plus a tile of integers is a tile of pointers, and a load reads all of them.
    sums = tw.load(x + indices, mask=exists) + tw.load(y + indices, mask=exists)
    tw.store(out + indices, sums, mask=exists)


def add(x, y, out, block: int = 8192) -> None:
    """out = x + y for one-dimensional float32 arrays of one length, from torch or NumPy."""
    n = len(x)
    # The brackets hold the grid: how many programs there are. The first launch with these argument
    # types compiles; later ones find the compiled kernel by its types, also in another process.
    add_kernel[(tw.cdiv(n, block),)](x, y, out, n, BLOCK=block)


def run(size: str) -> list[compare.Race]:
    generator = torch.Generator().manual_seed(1)
    # 98,432 = 12 tiles of 8192 and a rest of 128: the mask matters.
    for n in (1, 98_432):
        x = torch.randn(n, generator=generator)
        y = torch.randn(n, generator=generator)
        out = compare.poisoned(x)
        add(x, y, out)
        compare.check(f"torch tensors, n = {n}", out, x.double() + y.double(), atol=1e-6)

        a, b = x.numpy(), y.numpy()
        total = numpy.full_like(a, numpy.nan)
        add(a, b, total)
        compare.check(f"NumPy arrays, n = {n}", torch.from_numpy(total), x + y, atol=1e-6)

    n = 1 << (24 if size == "full" else 16)
    x = torch.randn(n, generator=generator)
    y = torch.randn(n, generator=generator)
    out, a, b = torch.empty_like(x), x.numpy(), y.numpy()
    total = numpy.empty_like(a)
    # Addition does no work to speak of: the time is that of moving 12 bytes per element, and the
    # ratio compares how well the memory is kept busy. Both sides write into memory that exists
    # already.
    return [
        compare.race(
            f"add {n} fp32", lambda: add(x, y, out), lambda: torch.add(x, y, out=out), size
        ),
        compare.race(
            f"add {n} fp32",
            lambda: add(a, b, total),
            lambda: numpy.add(a, b, out=total),
            size,
            "NumPy",
        ),
    ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
