"""Softmax over rows: reductions, and why fusing steps into one kernel pays.

Softmax of a row is exp(x - max(x)) / sum(exp(x - max(x))). Computed step by step with whole-tensor
operations, each step reads its input from memory and writes its result back: five passes. A kernel
that keeps the row in registers or the nearest cache between the steps reads it once and writes it
once.
"""

from __future__ import annotations

import compare
import torch

import tilewright as tw


# One program handles one row, and its tile holds the whole row.
@tw.jit
def softmax_kernel(out, x, out_stride, x_stride, n_cols, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    cols = tw.arange(0, BLOCK)
    exists = cols < n_cols
    # Rows need not lie back to back: the stride is the distance from one row's start to the next.
    # `other` is what elements beyond the row read as. With minus infinity they never are the
    # maximum, and they add exp(-inf) = 0 to the sum.
    values = tw.load(x + row * x_stride + cols, mask=exists, other=-float("inf"))
    # max and sum fold the tile to one number. On a CPU that is a few vector accumulators folded at
    # the end; on a GPU the lanes of a warp exchange partial results, then the warps do. Subtracting
    # the maximum keeps exp from overflowing and cancels in the quotient.
    numerator = tw.exp(values - tw.max(values, axis=0))
    result = numerator / tw.sum(numerator, axis=0)
    tw.store(out + row * out_stride + cols, result, mask=exists)


def softmax(x: torch.Tensor, out: torch.Tensor) -> None:
    """Row softmax of a matrix whose rows are contiguous."""
    n_rows, n_cols = x.shape
    # The tile is as wide as the next power of two, so that few different kernels serve all widths.
    block = tw.next_power_of_2(n_cols)
    softmax_kernel[(n_rows,)](out, x, out.stride(0), x.stride(0), n_cols, BLOCK=block)


def softmax_in_steps(x: torch.Tensor) -> torch.Tensor:
    """The same with one whole-tensor operation per step."""
    numerator = torch.exp(x - x.max(dim=1, keepdim=True).values)
    return numerator / numerator.sum(dim=1, keepdim=True)


def run(size: str) -> list[compare.Race]:
    generator = torch.Generator().manual_seed(2)
    for n_rows, n_cols in ((3, 1), (37, 781), (8, 1024)):
        # A slice of a wider matrix: the stride is not the width. Large values test the subtraction.
        x = 50 * torch.randn(n_rows, n_cols + 5, generator=generator)[:, :n_cols]
        out = compare.poisoned(x)
        softmax(x, out)
        compare.check(f"{n_rows} x {n_cols}", out, torch.softmax(x.double(), 1), atol=1e-6)

    n_rows, n_cols = (4096, 1024) if size == "full" else (64, 256)
    x = torch.randn(n_rows, n_cols, generator=generator)
    out = torch.empty_like(x)
    name = f"softmax {n_rows} x {n_cols} fp32"
    return [
        compare.race(name, lambda: softmax(x, out), lambda: torch.softmax(x, 1, out=out), size),
        compare.race(
            name, lambda: softmax(x, out), lambda: softmax_in_steps(x), size, "torch in steps"
        ),
    ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
