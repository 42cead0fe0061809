"""Devices that check accesses hold a view to its own elements."""

from __future__ import annotations

import ctypes
import mmap
import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch

import tilewright as tw
from tilewright import knobs

DEVICES = ("sim:sm_80", "sim:gfx942", "reference", "cpu")

everywhere = pytest.mark.parametrize("device", DEVICES)


@tw.jit
def copy(x, out, first, n, step, B: tw.constexpr):
    i = tw.arange(0, B)
    value = tw.load(x + first + i * step, mask=i < n, other=0)
    tw.store(out + i, value, mask=i < n)


def run(device: str, x: Any, n: int, first: int = 0, step: int = 1) -> Any:
    out = np.zeros(128, np.float32)
    with tw.device(device):
        copy[(1,)](x, out, first, n, step, B=128, debug=True)
    return out[:n]


@pytest.fixture
def all_views(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TILEWRIGHT_BOUNDS", "views")
    knobs.reset()
    yield
    monkeypatch.undo()
    knobs.reset()


MAKERS: dict[str, Callable[[], Any]] = {
    "torch": lambda: torch.arange(4096, dtype=torch.float32),
    "numpy": lambda: np.arange(4096, dtype=np.float32),
}


@pytest.mark.usefixtures("all_views")
@everywhere
@pytest.mark.parametrize("maker", MAKERS)
@pytest.mark.parametrize("begin", [0, 3, 1000])
def test_an_element_beyond_a_view_is_out_of_bounds(device: str, maker: str, begin: int) -> None:
    view = MAKERS[maker]()[begin : begin + 100]
    np.testing.assert_array_equal(run(device, view, 100), np.arange(begin, begin + 100))
    with pytest.raises(tw.DeviceError, match="out-of-bounds"):
        run(device, view, 101)
    if begin:
        with pytest.raises(tw.DeviceError, match="out-of-bounds"):
            run(device, view, 1, first=-1)


@pytest.mark.usefixtures("all_views")
@everywhere
@pytest.mark.parametrize("maker", MAKERS)
def test_a_view_with_strides_reaches_from_its_first_to_its_last_element(
    device: str, maker: str
) -> None:
    view = MAKERS[maker]().reshape(64, 64)[2:10, 5]
    np.testing.assert_array_equal(run(device, view, 8, step=64), np.arange(2, 10) * 64 + 5)
    with pytest.raises(tw.DeviceError, match="out-of-bounds"):
        run(device, view, 9, step=64)


@pytest.mark.usefixtures("all_views")
@everywhere
def test_a_reversed_view_reaches_backwards(device: str) -> None:
    view = np.arange(64, dtype=np.float32)[20:10:-1]
    np.testing.assert_array_equal(run(device, view, 10, step=-1), np.arange(20, 10, -1))
    with pytest.raises(tw.DeviceError, match="out-of-bounds"):
        run(device, view, 11, step=-1)


def map_page_below(limit: int) -> int:
    """Map one page at an address below `limit` and return its address."""
    map_memory = ctypes.CDLL(None).mmap
    map_memory.restype = ctypes.c_void_p
    map_memory.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    read_write, fixed_no_replace = mmap.PROT_READ | mmap.PROT_WRITE, 0x100000
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | fixed_no_replace
    # MAP_32BIT searches the second GiB only, which may be full in a large process.
    for address in range(1 << 20, limit, 1 << 20):
        if map_memory(address, mmap.PAGESIZE, read_write, flags, -1, 0) == address:
            return address
    pytest.skip(f"no free page below {limit:#x}")


@pytest.mark.skipif(sys.platform != "linux", reason="MAP_FIXED_NOREPLACE of Linux")
@everywhere
def test_an_array_may_lie_at_a_low_address(device: str) -> None:
    """Buffers of AMD's GPUs may begin 2^31 bytes before it: below 0, at the end of 48 bits."""
    address = map_page_below(1 << 31)
    low = np.ctypeslib.as_array((ctypes.c_float * 64).from_address(address))
    low[:] = np.arange(64)
    np.testing.assert_array_equal(run(device, low, 64), np.arange(64))
    with pytest.raises(tw.DeviceError, match="out-of-bounds"):
        run(device, low, 65)


@everywhere
@pytest.mark.parametrize("maker", MAKERS)
def test_a_view_from_its_arrays_begin_is_held_to_its_end(device: str, maker: str) -> None:
    x = MAKERS[maker]()
    np.testing.assert_array_equal(run(device, x[:100], 100), np.arange(100))
    with pytest.raises(tw.DeviceError, match="out-of-bounds"):
        run(device, x[:100], 101)
    # From within, a view is a pointer to step from in both directions.
    np.testing.assert_array_equal(run(device, x[50:60], 20, first=-10), np.arange(40, 60))


@everywhere
def test_an_empty_view_holds_no_element(device: str) -> None:
    with pytest.raises(tw.DeviceError, match="out-of-bounds"):
        run(device, np.arange(64, dtype=np.float32)[:0], 1)


@everywhere
@pytest.mark.parametrize("maker", MAKERS)
def test_one_element_stands_for_a_pointer_into_its_array(device: str, maker: str) -> None:
    x = MAKERS[maker]()
    np.testing.assert_array_equal(run(device, x[7:8], 50), np.arange(7, 57))


@pytest.mark.usefixtures("all_views")
@everywhere
def test_views_of_one_array_are_held_to_their_own_elements(device: str) -> None:
    both = np.arange(256, dtype=np.float32)
    x, out = both[:100], both[100:228]
    with tw.device(device):
        copy[(1,)](x, out, 0, 100, 1, B=128, debug=True)
        np.testing.assert_array_equal(out[:100], np.arange(100))
        with pytest.raises(tw.DeviceError, match="out-of-bounds"):
            copy[(1,)](x, out, 0, 101, 1, B=128, debug=True)


@everywhere
def test_the_bounds_of_allocations_can_be_chosen(
    device: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    view = np.arange(4096, dtype=np.float32)[:100]
    monkeypatch.setenv("TILEWRIGHT_BOUNDS", "allocations")
    knobs.reset()
    np.testing.assert_array_equal(run(device, view, 101), np.arange(101))
    monkeypatch.undo()
    knobs.reset()
    with pytest.raises(tw.DeviceError, match="out-of-bounds"):
        run(device, view, 101)
    if device.startswith("sim:"):
        with tw.simulation.simulate(device, bounds="allocations"):
            np.testing.assert_array_equal(run(device, view, 101), np.arange(101))
        with pytest.raises(ValueError, match="no bounds 'none'"):
            with tw.simulation.simulate(device, bounds="none"):
                pass
        with pytest.raises(tw.DeviceError, match="out-of-bounds"):
            run(device, view, 101)


@pytest.mark.parametrize("device", DEVICES[:2])
def test_sectors_of_a_view_count_from_its_array(device: str) -> None:
    x = np.arange(4096, dtype=np.float32)
    sectors: list[int] = []
    for begin in (0, 4):
        run(device, x[begin : begin + 128], 128)
        sectors.append(tw.simulation.last_report(device).statistics["global_load_sectors"])
    assert sectors[1] > sectors[0]
