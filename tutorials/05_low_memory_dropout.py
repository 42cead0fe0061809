"""Dropout that stores one integer: random numbers computed from a seed and an index.

Dropout sets a fraction p of the elements to 0 and scales the others by 1 / (1 - p). Training needs
the same choice again in the backward pass, and the usual way keeps a mask as large as the tensor.
Here the random number of element i is a function of (seed, i) alone: the backward pass computes it
anew, and what has to be kept is the seed. The function is Philox-4x32-10 (Salmon, Moraes, Dror,
Shaw: "Parallel Random Numbers: As Easy as 1, 2, 3", 2011): ten rounds of multiplying and mixing a
counter, with no state to share between programs, so the numbers do not depend on the tile size or
on the device.
"""

from __future__ import annotations

import compare
import numpy
import torch

import tilewright as tw


@tw.jit
def dropout_kernel(x, out, n, p, seed, BLOCK: tw.constexpr):
    indices = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    exists = indices < n
    # One uniform number in [0, 1) for each element.
    keep = tw.rand(seed, indices) > p
    values = tw.load(x + indices, mask=exists)
    tw.store(out + indices, tw.where(keep, values / (1 - p), 0.0), mask=exists)


def dropout(x: torch.Tensor, out: torch.Tensor, p: float, seed: int, block: int = 4096) -> None:
    """out = dropout of a contiguous fp32 tensor. With the gradient as x: the backward pass."""
    n = x.numel()
    dropout_kernel[(tw.cdiv(n, block),)](x, out, n, p, seed, BLOCK=block)


def philox_uniform(seed: int, n: int) -> numpy.ndarray:
    """The kernel's numbers for indices 0 ... n-1, by NumPy from the paper's definition."""
    low = numpy.uint64(0xFFFFFFFF)
    counter = [numpy.arange(n, dtype=numpy.uint64)] + [numpy.zeros(n, dtype=numpy.uint64)] * 3
    key = [seed & 0xFFFFFFFF, seed >> 32 & 0xFFFFFFFF]
    for _ in range(10):
        # 32 x 32 -> 64-bit products; their high halves are mixed with the other words and the key.
        first = counter[0] * numpy.uint64(0xD2511F53)
        second = counter[2] * numpy.uint64(0xCD9E8D57)
        counter = [
            second >> numpy.uint64(32) ^ counter[1] ^ numpy.uint64(key[0]),
            second & low,
            first >> numpy.uint64(32) ^ counter[3] ^ numpy.uint64(key[1]),
            first & low,
        ]
        key = [(key[0] + 0x9E3779B9) & 0xFFFFFFFF, (key[1] + 0xBB67AE85) & 0xFFFFFFFF]
    # As a signed number, folded to 0 ... 2**31-1, times a little less than 2**-31: never reaches 1.
    signed = counter[0].astype(numpy.uint32).view(numpy.int32)
    folded = numpy.where(signed < 0, -signed - 1, signed).astype(numpy.float32)
    return folded * numpy.float32(4.6566127342e-10)


def check_dropout(n: int, p: float, seed: int, generator: torch.Generator) -> None:
    x = torch.randn(n, generator=generator)
    keep = torch.from_numpy(philox_uniform(seed, n) > numpy.float32(p))
    expected = torch.where(keep, x.double() / (1 - p), 0.0)
    name = f"n = {n}, p = {p}, seed = {seed}"
    for block in (512, 4096):
        out = compare.poisoned(x)
        dropout(x, out, p, seed, block)
        compare.check(f"{name}, tiles of {block}", out, expected, atol=0.0, rtol=1e-6)
    # The share of kept elements is binomial: five standard deviations are passed once in two
    # million.
    share, deviation = keep.double().mean().item(), (p * (1 - p) / n) ** 0.5
    if abs(share - (1 - p)) > 5 * deviation:
        raise AssertionError(f"{name}: {share:.4f} of the elements are kept")
    other = compare.poisoned(x)
    dropout(x, other, p, seed + 1)
    if n > 100 and torch.equal(other == 0, ~keep):
        raise AssertionError(f"{name}: another seed drops the same elements")


def run(size: str) -> list[compare.Race]:
    generator = torch.Generator().manual_seed(5)
    check_dropout(10, 0.5, 123, generator)
    check_dropout(50_001, 0.25, 2**31 - 5, generator)
    check_dropout(50_001, 0.9, 2**40 + 7, generator)  # both words of the key

    n = 1 << (22 if size == "full" else 14)
    x = torch.randn(n, generator=generator)
    out = torch.empty_like(x)
    return [
        compare.race(
            f"dropout {n} fp32",
            lambda: dropout(x, out, 0.5, 123),
            lambda: torch.nn.functional.dropout(x, 0.5),
            size,
        )
    ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
