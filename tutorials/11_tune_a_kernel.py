"""The fastest tiles, found by measuring: a kernel that is tuned on its first launch for each shape.

How many rows a program takes, and how many columns it reads at a time, changes no result, but the time
by several times. Which is best depends on the machine and on the shape: a choice that is measured here
and now. The compiler's model of the device says which candidates are worth measuring.
"""

from __future__ import annotations

import math

import compare
import torch

import tilewright as tw


# `space` has the values of each constant, `constraints` take combinations out that make no sense, and
# for each new value of `key` the launch measures. Results of all candidates are compared, too: one that
# computed something else than the others would be left out, and named.
@tw.autotune(
    space={"ROWS": tw.powers_of_two(1, 64), "COLUMNS": tw.powers_of_two(16, 1024)},
    constraints=[lambda ROWS, COLUMNS: 256 <= ROWS * COLUMNS <= 16384],
    key=["m", "n"],
    measure_at_most=8,
    progress=False,
)
@tw.jit
def row_norms_kernel(out, x, m, n, ROWS: tw.constexpr, COLUMNS: tw.constexpr):
    row = tw.program_id(0) * ROWS + tw.arange(0, ROWS)
    total = tw.zeros((ROWS, COLUMNS), dtype=tw.float32)
    for start in range(0, n, COLUMNS):
        column = start + tw.arange(0, COLUMNS)
        inside = (row[:, None] < m) & (column[None, :] < n)
        part = tw.load(x + row[:, None] * n + column[None, :], mask=inside, other=0.0)
        total += part * part
    tw.store(out + row, tw.sqrt(tw.sum(total, axis=1)), mask=row < m)


# A grid that depends on a tuned constant is a function of the constants.
def row_norms(x: torch.Tensor) -> torch.Tensor:
    m, n = x.shape
    out = compare.poisoned(x.new_empty(m))
    row_norms_kernel[lambda chosen: (tw.cdiv(m, chosen["ROWS"]),)](out, x, m, n)
    return out


def run(size: str) -> list[compare.Race]:
    torch.manual_seed(11)
    shapes = ((4096, 1024), (64, 65536)) if size == "full" else ((64, 300), (3, 4000))
    races = []
    for m, n in shapes:
        x = torch.randn(m, n)
        expected = torch.linalg.vector_norm(x.double(), dim=1)
        compare.check(f"norms of {m} x {n}", row_norms(x), expected, atol=1e-4, rtol=1e-5)
        # What was measured for this shape: the report has a row for each candidate.
        report = row_norms_kernel.report
        times = {
            f"ROWS={row.config.kwargs['ROWS']} COLUMNS={row.config.kwargs['COLUMNS']}": row.milliseconds
            for row in report.rows
            if math.isfinite(row.milliseconds)
        }
        print(f"    measured in {report.seconds:.2g} s; the fastest were measured more often:")
        compare.draw(times)
        name = f"norms of {m} x {n}"
        races.append(
            compare.race(
                name,
                lambda x=x: row_norms(x),
                lambda x=x: torch.linalg.vector_norm(x, dim=1),
                size,
            )
        )
    return races


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
