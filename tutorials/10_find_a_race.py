"""A race that every run on a CPU hides: found on a simulated GPU, then mended and measured.

The kernel counts how often each value occurs. Programs run at the same time, so that two may read a
count, add 1 to what they read, and write the same number: one is lost. On two cores that happens
rarely, in a test never, and in production on the day of the release.
"""

from __future__ import annotations

import compare
import torch

import tilewright as tw

BINS = 16


# Each program counts a tile of values on its own, by comparing all values with all bins, and then adds
# its counts to those of the others. The last two lines are wrong.
@tw.jit
def racy_kernel(counts, values, n, BINS: tw.constexpr, BLOCK: tw.constexpr):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(values + at, mask=at < n, other=-1)
    bins = tw.arange(0, BINS)
    own = tw.sum((value[:, None] == bins[None, :]).to(tw.int32), axis=0)
    others = tw.load(counts + bins)
    tw.store(counts + bins, others + own)


# An atomic addition reads, adds and writes as one step. Nothing else changed.
@tw.jit
def count_kernel(counts, values, n, BINS: tw.constexpr, BLOCK: tw.constexpr):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(values + at, mask=at < n, other=-1)
    bins = tw.arange(0, BINS)
    own = tw.sum((value[:, None] == bins[None, :]).to(tw.int32), axis=0)
    tw.atomic_add(counts + bins, own)


def count(kernel: tw.JITFunction, values: torch.Tensor, block: int = 1024) -> torch.Tensor:
    counts = torch.zeros(BINS, dtype=torch.int32)
    grid = (tw.cdiv(values.numel(), block),)
    kernel[grid](counts, values, values.numel(), BINS=BINS, BLOCK=block)
    return counts


# The simulator executes the code for the GPU, one warp after another: a race need not strike. It
# compares which accesses the code orders, and reports those of one place that nothing orders.
def report_of(kernel: tw.JITFunction, values: torch.Tensor) -> str:
    try:
        with tw.device("sim:sm_80"):
            count(kernel, values, block=128)
    except tw.DeviceError as error:
        return str(error)
    return ""


def run(size: str) -> list[compare.Race]:
    torch.manual_seed(10)
    values = torch.randint(0, BINS, (1 << 22 if size == "full" else 3000,), dtype=torch.int32)
    expected = torch.bincount(values, minlength=BINS)

    few = values[:500]
    report = report_of(racy_kernel, few)
    if "race" not in report:
        raise AssertionError(f"the simulator did not find the race: {report}")
    print("  the simulator says of the first kernel:")
    print("".join(f"    {line}\n" for line in report.splitlines()[:4]), end="")
    if found := report_of(count_kernel, few):
        raise AssertionError(f"the simulator reports a race where there is none: {found}")

    compare.check(f"{values.numel()} values", count(count_kernel, values), expected, atol=0)
    return [
        compare.race(
            f"counts of {values.numel()} values",
            lambda: count(count_kernel, values),
            lambda: torch.bincount(values, minlength=BINS),
            size,
        )
    ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
