"""Times operations of every kind beside torch's: the second table of `make bench`.

One line an operation: our kernel and torch's operator on the same tensors, in single calls in turn
without a pause, both writing into memory that exists already where torch has an `out=`. The ratio is
torch's time / ours, the median over the turns."""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import run  # sets the number of threads, before our side reads it
import operation_kernels as kernels  # noqa: I001
import peers
import product_rows
import report
import torch

functional = torch.nn.functional
ROWS, COLUMNS, ELEMENTS = 4096, 1024, 1 << 24

# torch's functions of one float that are the same as ours, by our names.
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    **{name: getattr(torch, name) for name in kernels.ELEMENTWISE if name != "relu"},
    "relu": lambda x, out: torch.clamp(x, min=0, out=out),
    **{name: getattr(torch, name) for name in (
        "expm1", "log1p", "log10", "tan", "asin", "acos", "atan", "sinh", "cosh", "asinh", "acosh",
        "atanh", "erfc", "erfinv", "lgamma", "trunc")},
    "rint": torch.round,  # halves to even, too
    "j0": torch.special.bessel_j0, "j1": torch.special.bessel_j1, "y0": torch.special.bessel_y0,
    "normcdf": torch.special.ndtr, "cyl_bessel_i0": torch.i0,
}  # fmt: skip


class Operation(NamedTuple):
    """Both sides of a line; `ours` and `theirs` are what they leave, None: not to be compared."""

    name: str
    run: Callable[[], Any]
    peer: Callable[[], Any]
    ours: torch.Tensor | None = None
    theirs: Callable[[], torch.Tensor] | None = None
    tolerance: float = 0.0  # |ours - theirs| at most this times max(1, |theirs|)


def elementwise() -> Iterator[Operation]:
    x = torch.rand(ELEMENTS) * 0.8 + 0.1
    out, theirs = torch.empty(ELEMENTS), torch.empty(ELEMENTS)
    for name, function in ELEMENTWISE.items():
        argument = x + 1 if name == "acosh" else x
        launch = kernels.elementwise(name)[(ELEMENTS // kernels.BLOCK,)]
        yield Operation(
            f"{name} 16M",
            lambda launch=launch, a=argument: launch(a, out, ELEMENTS, BLOCK=kernels.BLOCK),
            lambda function=function, a=argument: function(a, out=theirs),
            out,
            lambda: theirs,
            2e-6,
        )


def along_rows() -> Iterator[Operation]:
    x, out, few = torch.randn(ROWS, COLUMNS), torch.empty(ROWS, COLUMNS), torch.empty(ROWS)
    size: dict[str, Any] = {"COLUMNS": COLUMNS}

    def row(name: str, launch: Callable[[], Any], peer: Callable[[], Any], ours: torch.Tensor,
            tolerance: float = 2e-5) -> Operation:  # fmt: skip
        return Operation(name, launch, peer, ours, peer, tolerance)

    grid = (ROWS,)
    yield row("cumsum", lambda: kernels.cumsum[grid](x, out, **size),
              lambda: torch.cumsum(x, 1), out, 1e-4)  # fmt: skip
    yield row("sort", lambda: kernels.sort[grid](x, out, **size),
              lambda: torch.sort(x, 1).values, out)  # fmt: skip
    best = torch.empty(ROWS, 8)
    yield row("topk 8", lambda: kernels.topk[grid](x, best, K=8, **size),
              lambda: torch.topk(x, 8, 1).values, best)  # fmt: skip
    yield row("softmax", lambda: kernels.softmax[grid](x, out, **size),
              lambda: torch.softmax(x, 1), out)  # fmt: skip
    half, half_out = x.bfloat16(), torch.empty(ROWS, COLUMNS, dtype=torch.bfloat16)
    yield row("softmax bf16", lambda: kernels.softmax[grid](half, half_out, **size),
              lambda: torch.softmax(half, 1), half_out, 2**-8)  # fmt: skip
    y, gradient = torch.softmax(x, 1), torch.randn(ROWS, COLUMNS)
    yield row("softmax backward", lambda: kernels.softmax_backward[grid](y, gradient, out, **size),
              lambda: torch._softmax_backward_data(gradient, y, 1, torch.float32), out)  # fmt: skip
    index = torch.empty(ROWS, dtype=torch.int64)
    yield row("argmax", lambda: kernels.argmax[grid](x, index, **size),
              lambda: torch.argmax(x, 1), index)  # fmt: skip
    yield row("sum", lambda: kernels.sum_rows[grid](x, few, **size),
              lambda: torch.sum(x, 1), few, 1e-4)  # fmt: skip
    small, scale = torch.empty(ROWS, COLUMNS, dtype=torch.int8), torch.empty(ROWS)
    yield row("quantize int8", lambda: kernels.quantize[grid](x, small, scale, **size),
              lambda: (x / (x.abs().amax(1, keepdim=True) / 127)).to(torch.int8), small)  # fmt: skip


def along_columns() -> Iterator[Operation]:
    x, out, few = torch.randn(ROWS, COLUMNS), torch.empty(ROWS, COLUMNS), torch.empty(COLUMNS)
    size: dict[str, Any] = {"ROWS": ROWS, "COLUMNS": COLUMNS, "BLOCK": 64}
    grid = (COLUMNS // 64,)
    yield Operation("cumsum down", lambda: kernels.cumsum_down[grid](x, out, **size),
                    lambda: torch.cumsum(x, 0), out, lambda: torch.cumsum(x, 0), 1e-3)  # fmt: skip
    yield Operation("sum down", lambda: kernels.sum_columns[grid](x, few, **size),
                    lambda: torch.sum(x, 0), few, lambda: torch.sum(x, 0), 1e-3)  # fmt: skip
    turned, theirs = torch.empty(COLUMNS, ROWS), torch.empty(COLUMNS, ROWS)
    yield Operation("transpose", lambda: kernels.transpose[(ROWS // 64, *grid)](x, turned, **size),
                    lambda: theirs.copy_(x.t()), turned, lambda: theirs)  # fmt: skip


def by_index() -> Iterator[Operation]:
    n = ROWS * COLUMNS
    x, out = torch.randn(n), torch.empty(n)
    index = torch.randint(0, n, (n,))
    block = {"BLOCK": kernels.BLOCK}
    grid = (n // kernels.BLOCK,)
    yield Operation("gather", lambda: kernels.take[grid](x, index, out, **block),
                    lambda: torch.take(x, index), out, lambda: torch.take(x, index))  # fmt: skip
    values = torch.randint(0, 256, (n,), dtype=torch.int32)
    counts = torch.zeros(256, dtype=torch.int32)
    yield Operation(
        "histogram 256",
        lambda: kernels.histogram[grid](values, counts.zero_(), BINS=256, **block),
        lambda: torch.bincount(values, minlength=256),
        counts,
        lambda: torch.bincount(values, minlength=256),
    )
    table, picked = torch.randn(50_000, 256), torch.empty(16_384, 256)
    rows = torch.randint(0, 50_000, (16_384,))
    yield Operation(
        "embedding 16k x 256",
        lambda: kernels.embedding[(16_384,)](table, rows, picked, COLUMNS=256),
        lambda: functional.embedding(rows, table),
        picked,
        lambda: functional.embedding(rows, table),
    )
    sums = torch.zeros(50_000, 256)
    yield Operation(
        "index_add 16k x 256",
        lambda: kernels.index_add[(16_384,)](sums, rows, picked, COLUMNS=256),
        lambda: sums.index_add_(0, rows, picked),
    )


def of_models() -> Iterator[Operation]:
    n = ROWS * COLUMNS
    x, gate, out = torch.randn(n), torch.randn(n), torch.empty(n)
    block, grid = {"BLOCK": kernels.BLOCK}, (n // kernels.BLOCK,)
    yield Operation("swiglu", lambda: kernels.swiglu[grid](gate, x, out, **block),
                    lambda: functional.silu(gate) * x, out,
                    lambda: functional.silu(gate) * x, 1e-5)  # fmt: skip
    yield Operation("dropout", lambda: kernels.dropout[grid](x, out, 7, **block),
                    lambda: functional.dropout(x, 0.5))  # fmt: skip
    narrow = torch.empty(n, dtype=torch.float8_e4m3fn)
    yield Operation("f32 to fp8", lambda: kernels.convert[grid](x, narrow, **block),
                    lambda: x.to(narrow.dtype), narrow, lambda: x.to(narrow.dtype))  # fmt: skip
    fp8 = x.to(narrow.dtype)
    yield Operation("fp8 to f32", lambda: kernels.convert[grid](fp8, out, **block),
                    lambda: fp8.float(), out, fp8.float)  # fmt: skip
    image, result = torch.randn(2048, 2048), torch.zeros(2048, 2048)
    weights = torch.tensor([[0.0, 1, 0], [1, -4, 1], [0, 1, 0]])[None, None]
    yield Operation("stencil of 5 points 2048",
                    lambda: kernels.stencil[(2046,)](image, result, SIZE=2048),
                    lambda: functional.conv2d(image[None, None], weights),
                    result[1:-1, 1:-1],
                    lambda: functional.conv2d(image[None, None], weights)[0, 0], 1e-4)  # fmt: skip


def products() -> Iterator[Operation]:
    for line in product_rows.products():
        yield Operation(line.name, line.run, line.peer, line.out, line.peer, line.tolerance)


def check(operation: Operation) -> None:
    operation.run()
    operation.peer()
    if operation.ours is None or operation.theirs is None:
        return
    ours, theirs = operation.ours.double(), operation.theirs().double()
    error = (ours - theirs).abs() / theirs.abs().clamp(min=1)
    if not bool((error <= operation.tolerance).all()):
        raise AssertionError(f"{operation.name}: error {error.max().item():.3g}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", default=[], help="rows whose name contains this")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each row")
    arguments = parser.parse_args()
    peers.prepare(run.THREADS)
    torch.manual_seed(0)
    about = report.machine(run.THREADS)
    print(", ".join(f"{key} {value}" for key, value in about.items()), flush=True)
    print(f"\n{'operation':26} {'ms':>8} {'torch':>8} {'ratio':>6}   (in turn, no pauses)\n")
    slower = 0
    for group in (along_rows, along_columns, by_index, of_models, products, elementwise):
        for operation in group():
            if arguments.only and not any(part in operation.name for part in arguments.only):
                continue
            check(operation)
            mine, theirs = run.alternate(operation.run, operation.peer, arguments.seconds)
            ratio = statistics.median(their / my for my, their in zip(mine, theirs, strict=True))
            slower += ratio < 1
            print(f"{operation.name:26} {statistics.median(mine):8.3f} "
                  f"{statistics.median(theirs):8.3f} {ratio:6.2f}", flush=True)  # fmt: skip
    print(f"\n{slower} slower than torch")
    return 0


if __name__ == "__main__":
    sys.exit(main())
