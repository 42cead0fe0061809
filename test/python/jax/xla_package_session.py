"""Calls a package's function for XLA on arrays of `cuda:0`, in a process of its own: with the double of
libcuda the simulator executes the code. test_xla_handlers.py runs it with the library's path."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import tilewright as tw
from tilewright.testing import DeviceArray
from xla_frames import Caller


def main() -> None:
    library = ctypes.CDLL(sys.argv[1])
    address = ctypes.cast(library.scaled_xla_cuda, ctypes.c_void_p).value
    x = np.random.default_rng(1).standard_normal(1000).astype(np.float32)
    arrays = [DeviceArray(host, "cuda:0") for host in (x, np.full(1000, np.nan, np.float32))]
    places = [array.address for array in arrays]
    call = Caller(address)
    assert call.version() == (0, 3)
    message = call(places[:1], places[1:], a2=1000, a3=3.0)
    assert not message, message
    tw.synchronize("cuda:0")
    np.testing.assert_allclose(arrays[1].numpy(), 3 * x, rtol=1e-6)
    print(call(places[:1], places[1:], a2=1 << 31, a3=3.0))
    print(call(places[:1], places[1:], a3=3.0))
    print(call(places, places[1:], a2=1000, a3=3.0))
    print("passed")


if __name__ == "__main__":
    main()
