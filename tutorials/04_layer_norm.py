"""Layer normalization, forward and backward: sums across programs, without locks.

Forward, per row:  y = (x - mean) * rstd * weight + bias,  rstd = 1 / sqrt(variance + eps).
Backward, with x_hat = (x - mean) * rstd and g = dy * weight:
    dx      = (g - mean(g) - x_hat * mean(g * x_hat)) * rstd      per row
    dweight = sum over rows of dy * x_hat,    dbias = sum over rows of dy
The row sums are easy: one program has the whole row. The sums over rows cross programs, and
programs run in no particular order and at the same time. Here the kernel is written so that no two
of them ever write to the same place.
"""

from __future__ import annotations

import compare
import torch

import tilewright as tw


@tw.jit
def layer_norm_kernel(x, weight, bias, y, mean, rstd, row_stride, n_cols, eps, BLOCK: tw.constexpr):
    row = tw.program_id(0)
    cols = tw.arange(0, BLOCK)
    exists = cols < n_cols
    values = tw.load(x + row * row_stride + cols, mask=exists, other=0.0).to(tw.float32)
    average = tw.sum(values, axis=0) / n_cols
    # The variance is that of the differences, computed from the row that is already here; the
    # formula E[x^2] - E[x]^2 would lose all digits for a large mean. Elements beyond the row must
    # count as 0.
    centered = tw.where(exists, values - average, 0.0)
    scale = tw.rsqrt(tw.sum(centered * centered, axis=0) / n_cols + eps)
    # One number per row for the backward pass: a scalar pointer stores a scalar.
    tw.store(mean + row, average)
    tw.store(rstd + row, scale)
    w = tw.load(weight + cols, mask=exists)
    b = tw.load(bias + cols, mask=exists)
    tw.store(y + row * row_stride + cols, centered * scale * w + b, mask=exists)


# Stage 1 of the backward pass. Each program takes `rows_each` rows, and its sums over those rows
# live in tiles that a loop carries: registers or cache, not memory. It writes them once, to a row
# of its own in `partial_dw` and `partial_db`. The other known way is one shared sum per column
# guarded by a lock (atomic_cas to take it, atomic_xchg to give it back): it needs less memory,
# waits, and adds in another order every time. This way waits for nobody, and two runs give the same
# bits.
@tw.jit
def layer_norm_backward_kernel(
    dx,
    dy,
    x,
    weight,
    mean,
    rstd,
    partial_dw,
    partial_db,
    row_stride,
    n_rows,
    n_cols,
    rows_each,
    BLOCK: tw.constexpr,
):
    program = tw.program_id(0)
    cols = tw.arange(0, BLOCK)
    exists = cols < n_cols
    w = tw.load(weight + cols, mask=exists, other=0.0).to(tw.float32)
    dw = tw.zeros((BLOCK,), dtype=tw.float32)
    db = tw.zeros((BLOCK,), dtype=tw.float32)
    first = program * rows_each
    for row in range(first, tw.minimum(first + rows_each, n_rows)):
        values = tw.load(x + row * row_stride + cols, mask=exists, other=0.0).to(tw.float32)
        grad = tw.load(dy + row * row_stride + cols, mask=exists, other=0.0).to(tw.float32)
        scale = tw.load(rstd + row)
        x_hat = (values - tw.load(mean + row)) * scale
        # Beyond the row, grad is 0 and so are all products with it.
        g = grad * w
        mean_g = tw.sum(g, axis=0) / n_cols
        mean_gx = tw.sum(g * x_hat, axis=0) / n_cols
        tw.store(dx + row * row_stride + cols, (g - mean_g - x_hat * mean_gx) * scale, mask=exists)
        dw += grad * x_hat
        db += grad
    tw.store(partial_dw + program * n_cols + cols, dw, mask=exists)
    tw.store(partial_db + program * n_cols + cols, db, mask=exists)


# Stage 2, a second launch: everything of stage 1 is finished and visible when it starts. Each
# program adds up BLOCK_COLS columns of the partial sums.
@tw.jit
def sum_rows_kernel(
    partial, total, n_rows, n_cols, BLOCK_ROWS: tw.constexpr, BLOCK_COLS: tw.constexpr
):
    cols = tw.program_id(0) * BLOCK_COLS + tw.arange(0, BLOCK_COLS)
    sums = tw.zeros((BLOCK_COLS,), dtype=tw.float32)
    for first in range(0, n_rows, BLOCK_ROWS):
        rows = first + tw.arange(0, BLOCK_ROWS)
        exists = (rows[:, None] < n_rows) & (cols[None, :] < n_cols)
        tile = tw.load(partial + rows[:, None] * n_cols + cols[None, :], mask=exists, other=0.0)
        sums += tw.sum(tile, axis=0)
    tw.store(total + cols, sums, mask=cols < n_cols)


def layer_norm(x, weight, bias, y, mean, rstd, eps: float = 1e-5) -> None:
    """y = layer norm of the rows of x; mean and rstd receive one fp32 per row."""
    n_rows, n_cols = x.shape
    block = tw.next_power_of_2(n_cols)
    layer_norm_kernel[(n_rows,)](
        x, weight, bias, y, mean, rstd, x.stride(0), n_cols, eps, BLOCK=block
    )


def layer_norm_backward(dx, dw, db, dy, x, weight, mean, rstd, programs: int = 16) -> None:
    """dx, dw, db from dy and what the forward pass kept; all matrices have the same row stride."""
    n_rows, n_cols = x.shape
    rows_each = tw.cdiv(n_rows, programs)
    programs = tw.cdiv(n_rows, rows_each)
    partial_dw = torch.empty(programs, n_cols)
    partial_db = torch.empty(programs, n_cols)
    layer_norm_backward_kernel[(programs,)](
        dx,
        dy,
        x,
        weight,
        mean,
        rstd,
        partial_dw,
        partial_db,
        x.stride(0),
        n_rows,
        n_cols,
        rows_each,
        BLOCK=tw.next_power_of_2(n_cols),
    )
    for partial, total in ((partial_dw, dw), (partial_db, db)):
        sum_rows_kernel[(tw.cdiv(n_cols, 128),)](
            partial, total, programs, n_cols, BLOCK_ROWS=16, BLOCK_COLS=128
        )


class Case:
    """Tensors of one problem, and the same problem in float64 as torch solves it."""

    def __init__(self, n_rows: int, n_cols: int, generator: torch.Generator) -> None:
        self.x = torch.randn(n_rows, n_cols, generator=generator) + 3
        self.weight = torch.rand(n_cols, generator=generator) + 0.5
        self.bias = torch.randn(n_cols, generator=generator)
        self.dy = torch.randn(n_rows, n_cols, generator=generator)
        self.y, self.dx = compare.poisoned(self.x), compare.poisoned(self.x)
        self.dw, self.db = compare.poisoned(self.weight), compare.poisoned(self.bias)
        self.mean, self.rstd = (torch.full((n_rows,), float("nan")) for _ in range(2))

    def forward(self) -> None:
        layer_norm(self.x, self.weight, self.bias, self.y, self.mean, self.rstd)

    def backward(self) -> None:
        layer_norm_backward(
            self.dx, self.dw, self.db, self.dy, self.x, self.weight, self.mean, self.rstd
        )

    def torch_layer_norm(self, *inputs: torch.Tensor) -> torch.Tensor:
        x, weight, bias = inputs
        return torch.nn.functional.layer_norm(x, (x.shape[1],), weight, bias)

    def check(self) -> None:
        name = f"{self.x.shape[0]} x {self.x.shape[1]}"
        exact = [t.double().requires_grad_() for t in (self.x, self.weight, self.bias)]
        expected = self.torch_layer_norm(*exact)
        expected.backward(self.dy.double())
        self.forward()
        self.backward()
        compare.check(f"{name} y", self.y, expected.detach(), atol=2e-5)
        for label, actual, leaf in zip(("dx", "dw", "db"), (self.dx, self.dw, self.db), exact):
            assert leaf.grad is not None
            compare.check(f"{name} {label}", actual, leaf.grad, atol=5e-5, rtol=1e-5)
        first = (self.dw.clone(), self.db.clone())
        self.backward()
        if not (torch.equal(first[0], self.dw) and torch.equal(first[1], self.db)):
            raise AssertionError(f"{name}: two backward passes differ")


def run(size: str) -> list[compare.Race]:
    generator = torch.Generator().manual_seed(4)
    for n_rows, n_cols in ((1, 8), (100, 300), (64, 512)):
        Case(n_rows, n_cols, generator).check()

    n_rows, n_cols = (4096, 1024) if size == "full" else (64, 256)
    case = Case(n_rows, n_cols, generator)
    leaves = [t.requires_grad_() for t in (case.x.clone(), case.weight.clone(), case.bias.clone())]
    result = case.torch_layer_norm(*leaves)
    name = f"layer norm {n_rows} x {n_cols} fp32"
    return [
        compare.race(
            f"{name} forward",
            case.forward,
            lambda: case.torch_layer_norm(case.x, case.weight, case.bias),
            size,
        ),
        compare.race(
            f"{name} backward",
            case.backward,
            lambda: torch.autograd.grad(result, leaves, case.dy, retain_graph=True),
            size,
        ),
    ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
