"""Calls the handler for GPUs on arrays of `cuda:0`, in a process of its own: with the double of libcuda
the simulator executes the code. test_xla_handlers.py runs it."""

from __future__ import annotations

import numpy as np
import tilewright as tw
from matrix_kernels import matmul
from tilewright.native import native
from tilewright.testing import DeviceArray
from xla_frames import Caller, key_of


@tw.jit
def add(x, y, out, n, BLOCK: tw.constexpr):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    mask = at < n
    tw.store(out + at, tw.load(x + at, mask) + tw.load(y + at, mask), mask)


def multiply(columns: int) -> None:
    """Twice, of rows that tensor maps describe where `columns` is a multiple of 8."""
    rng = np.random.default_rng(columns)
    a, b = (rng.integers(-4, 5, shape).astype(np.float16) for shape in ((50, 72), (72, columns)))
    function = tw.jax.call(
        matmul, grid=(1,), out_shapes=((50, columns), "float32"), M=50, N=columns, K=72, a_row=72, a_column=1,
        b_row=columns, b_column=1, BM=64, BN=64, BK=64, PRECISION=None, ACC=tw.float32,
    )  # fmt: skip
    key, handler = key_of(function, a, b), native().xla_handlers()[1]
    for _ in range(2):
        arrays = [DeviceArray(host, "cuda:0") for host in (a, b, np.full((50, columns), np.nan, np.float32))]
        addresses = [array.address for array in arrays]
        message = Caller(handler)(addresses[:2], addresses[2:], key=key)
        assert not message, message
        tw.synchronize("cuda:0")
        np.testing.assert_array_equal(arrays[2].numpy(), a.astype(np.float32) @ b.astype(np.float32))


def main() -> None:
    x, y = (np.random.default_rng(seed).standard_normal(1001).astype(np.float32) for seed in (1, 2))
    function = tw.jax.call(add, grid=(8,), out_shapes=((1000,), "float32"), n=1000, BLOCK=128)
    key = key_of(function, x[:1000], y[:1000])
    on_gpu = native().xla_handlers()[1]
    for start in (0, 1):  # aligned, and not
        arrays = [DeviceArray(host, "cuda:0") for host in (x, y, np.full(1001, np.nan, np.float32))]
        addresses = [array.address + 4 * start for array in arrays]
        message = Caller(on_gpu)(addresses[:2], addresses[2:], key=key)
        assert not message, message
        tw.synchronize("cuda:0")
        found = arrays[2].numpy()[start : start + 1000]
        np.testing.assert_array_equal(found, (x + y)[start : start + 1000])
    multiply(56)
    multiply(51)
    print(Caller(on_gpu, ordinal=7)(addresses[:2], addresses[2:], key=key).splitlines()[0])
    print("passed")


if __name__ == "__main__":
    main()
