"""Each of AMD's simulated GPUs computes what NumPy does, and reports wrong kernels at their line."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gpu.machine.cases import CASES

import tilewright as tw

DEVICES = ("sim:gfx90a", "sim:gfx942", "sim:gfx950", "sim:gfx1100", "sim:gfx1201",
           "sim:gfx1250")  # fmt: skip

pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.parametrize("device", DEVICES)]


@pytest.mark.parametrize("name", CASES)
def test_kernels_of_every_kind(name: str, device: str, rng: np.random.Generator) -> None:
    with tw.device(device):
        CASES[name](rng)


@tw.jit
def pairs_to_one_place(x, out, B: tw.constexpr):
    i = tw.arange(0, B)
    value = tw.load(x + i)
    tw.store(out + i // 2, value)  # wrong


@tw.jit
def sum_of_programs(x, out, B: tw.constexpr):
    value = tw.sum(tw.load(x + tw.program_id(0) * B + tw.arange(0, B)), 0)
    tw.store(out, tw.load(out) + value)  # wrong


@tw.jit
def unmasked_load(x, out, n, B: tw.constexpr):
    i = tw.program_id(0) * B + tw.arange(0, B)
    value = tw.load(x + i)  # wrong
    tw.store(out + i, value, mask=i < n)


@tw.jit
def unmasked_store(x, out, n, B: tw.constexpr):
    i = tw.program_id(0) * B + tw.arange(0, B)
    value = tw.load(x + i, mask=i < n, other=0)
    tw.store(out + i, value)  # wrong


@tw.jit
def shifted_load(x, out, shift, B: tw.constexpr):
    i = tw.arange(0, B)
    value = tw.load(x + shift + i)  # wrong
    tw.store(out + i, value)


@tw.jit
def gathered_load(x, index, out, B: tw.constexpr):
    at = tw.load(index + tw.arange(0, B))
    value = tw.load(x + at)  # wrong
    tw.store(out + tw.arange(0, B), value)


@tw.jit
def atomic_beyond(x, index, B: tw.constexpr):
    at = tw.load(index + tw.arange(0, B))
    tw.atomic_add(x + at, 1.0)  # wrong


def ones(size: int) -> np.ndarray:
    return np.ones(size, np.float32)


def indices(wrong: int) -> np.ndarray:
    index = np.arange(128, dtype=np.int32)
    index[77] = wrong
    return index


# What is wrong, the kernel, its grid and arguments. Offsets of 2^31 bytes are where buffers end.
WRONG: list[tuple[str, Any, int, Callable[[], tuple[Any, ...]]]] = [
    ("race-waw", pairs_to_one_place, 1, lambda: (np.arange(128, dtype=np.float32), ones(64))),
    ("race-raw", sum_of_programs, 4, lambda: (ones(512), ones(1))),
    ("out-of-bounds-global: read", unmasked_load, 3, lambda: (ones(300), ones(300), 300)),
    ("out-of-bounds-global: write", unmasked_store, 3, lambda: (ones(300), ones(300), 300)),
    ("out-of-bounds-global: read", shifted_load, 1, lambda: (ones(128), ones(128), -5)),
    ("out-of-bounds-global: read", shifted_load, 1, lambda: (ones(128), ones(128), 2**29)),
    ("out-of-bounds-global: read", shifted_load, 1, lambda: (ones(128), ones(128), 2**30)),
    ("out-of-bounds-global: read", gathered_load, 1, lambda: (ones(128), indices(5000), ones(128))),
    ("out-of-bounds-global: read", gathered_load, 1, lambda: (ones(128), indices(-9), ones(128))),
    ("out-of-bounds-global: write", atomic_beyond, 1, lambda: (ones(128), indices(128))),
]


@pytest.mark.parametrize("number", range(len(WRONG)))
def test_wrong_kernels_are_reported_at_their_line(number: int, device: str) -> None:
    what, kernel, programs, arguments = WRONG[number]
    lines, first = inspect.getsourcelines(kernel.fn)
    line = first + next(place for place, text in enumerate(lines) if text.endswith("# wrong\n"))
    with tw.device(device), pytest.raises(tw.DeviceError, match=f"test_amd_reports.py:{line}: {what}") as caught:
        kernel[(programs,)](*arguments(), B=128)
    assert caught.value.code == "TW0612"
