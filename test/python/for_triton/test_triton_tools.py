"""Names of `triton.testing` and `triton.tools` that are more than another name of ours."""

from __future__ import annotations

import importlib
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.triton as triton
import tilewright.triton.language as tl
from tilewright.errors import LaunchError, UnsupportedError
from tilewright.triton.backends.compiler import GPUTarget
from tilewright.triton.runtime.driver import ActiveDriver
from tilewright.triton.testing import get_dram_gbps, get_max_simd_tflops, get_max_tensorcore_tflops
from tilewright.triton.tools.ragged_tma import (
    atomic_add_ragged,
    create_ragged_descriptor,
    load_ragged,
    store_ragged,
)


def pretend(monkeypatch: pytest.MonkeyPatch, capability: int, **facts: int) -> None:
    """A GPU with these facts is the device of launches."""
    known = {"multiprocessor_count": 100, "mem_clock_rate": 0, "mem_bus_width": 0, **facts}
    monkeypatch.setattr(ActiveDriver, "get_device_properties", lambda self, device=0: known)
    target = GPUTarget("cuda", capability, 32)
    monkeypatch.setattr(ActiveDriver, "get_current_target", lambda self: target)


def test_peaks_are_those_of_data_sheets(monkeypatch: pytest.MonkeyPatch) -> None:
    # A100 80 GB: 2,039 GB/s, 312 TFLOPS of float16 and 19.5 of float32, by NVIDIA's data sheet.
    pretend(monkeypatch, 80, multiprocessor_count=108, mem_clock_rate=1_593_000, mem_bus_width=5120)
    assert get_dram_gbps() == pytest.approx(2039, rel=1e-3)
    assert get_max_tensorcore_tflops(tl.float16, 1_410_000) == pytest.approx(312, rel=1e-2)
    assert get_max_tensorcore_tflops(tl.float32, 1_410_000) == pytest.approx(156, rel=1e-2)
    assert get_max_simd_tflops(tl.float32, 1_410_000) == pytest.approx(19.5, rel=1e-2)
    # H100 SXM: 989 TFLOPS of float16 without sparsity.
    pretend(monkeypatch, 90, multiprocessor_count=132)
    assert get_max_tensorcore_tflops(tl.bfloat16, 1_830_000) == pytest.approx(989, rel=1e-2)
    assert get_max_tensorcore_tflops(tl.float8e5, 1_830_000) == pytest.approx(1979, rel=1e-2)


def test_peaks_that_nobody_knows_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    for ask in (get_dram_gbps, lambda: get_max_simd_tflops(tl.float32, 1_000_000)):
        with pytest.raises(UnsupportedError, match="not known") as caught:
            ask()
        assert caught.value.code == "TW0432" and "data sheet" in caught.value.hint
    pretend(monkeypatch, 86)
    with pytest.raises(UnsupportedError, match="rate of"):
        get_max_tensorcore_tflops(tl.float64, 1_000_000)


@triton.jit
def shift_batches(source, target, starts, sizes, BATCHES: tl.constexpr, ROWS: tl.constexpr, RAGGED: tl.constexpr):
    for b in range(BATCHES):
        start, size = tl.load(starts + b), tl.load(sizes + b)
        for row in range(0, size, ROWS):
            at = [row, 0] if RAGGED == 0 else [0, row, 0]
            block = load_ragged(source, start, size, at, RAGGED)
            store_ragged(target, start, size, at, block + (b + 1), RAGGED)
            atomic_add_ragged(target, start, size, at, block, RAGGED)


@pytest.mark.parametrize("ragged", [0, 1])
def test_batches_of_any_lengths(device: str, ragged: int, rng: np.random.Generator) -> None:
    shape = (23, 8) if ragged == 0 else (2, 23, 8)
    block = (4, 8) if ragged == 0 else (2, 4, 8)
    x, out = rng.normal(size=shape).astype(np.float32), np.full(shape, 7, np.float32)
    starts, sizes = np.array([0, 5, 12], np.int32), np.array([5, 6, 11], np.int32)
    source = create_ragged_descriptor(x, block, ragged)
    target = create_ragged_descriptor(out, block, ragged, write_only=True)
    shift_batches[(1,)](source, target, starts, sizes, BATCHES=3, ROWS=4, RAGGED=ragged)
    number = np.full(23, -1)
    for b, (start, size) in enumerate(zip(starts, sizes)):
        number[start : start + size] = b + 1
    expected = np.where((number > 0)[:, None], 2 * x + number[:, None], 7)
    np.testing.assert_allclose(out, expected, rtol=1e-6, atol=1e-6)


@triton.jit
def read_past_a_batch(source, out, size, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    tl.store(out + at, load_ragged(source, 2, size, [0, 0]))


def test_what_lies_behind_a_batch_is_zero(device: str) -> None:
    x, out = np.ones((16, 8), np.float32), np.full((8, 8), np.nan, np.float32)
    read_past_a_batch[(1,)](create_ragged_descriptor(x, [8, 8]), out, 3, ROWS=8, COLUMNS=8)
    np.testing.assert_array_equal(out, (np.arange(8) < 3)[:, None] * np.ones((8, 8)))


@pytest.mark.parametrize("ragged", [1, -1, 2])
def test_the_last_dimension_is_not_ragged(ragged: int) -> None:
    with pytest.raises(LaunchError, match="cannot be ragged") as caught:
        create_ragged_descriptor(np.zeros((4, 8), np.float32), [2, 8], ragged)
    assert caught.value.code == "TW0236"


def test_only_the_range_of_the_language_takes_options(compiler: None) -> None:
    def loop(make: Any) -> tw.JITFunction:
        @tw.jit
        def kernel(x):
            for i in make(0, 4, warp_specialize=True):
                tl.store(x + i, i)

        return kernel

    x = np.zeros(4, np.int32)
    loop(tl.range)[(1,)](x)
    np.testing.assert_array_equal(x, np.arange(4))
    with pytest.raises(tw.CompileError, match="`range` has no parameter `warp_specialize`") as caught:
        loop(range)[(1,)](x)
    *_, carets, _ = caught.value.rendered.splitlines()
    assert caught.value.code == "TW0109" and carets.count("^") == len("warp_specialize")


@triton.jit
def doubled(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * 2)


@triton.jit
def refused(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.load(x) + tl.nothing)


def test_kernels_compile_side_by_side_in_an_executor(compiler: None) -> None:
    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with ThreadPoolExecutor(2) as executor:
        with triton.AsyncCompileMode(executor) as mode:
            kernels = [doubled.warmup(x, out, BLOCK=size, grid=(1,)) for size in (16, 32, 64)]
            assert all(isinstance(kernel, triton.FutureKernel) for kernel in kernels)
            with pytest.raises(RuntimeError, match="already active"), triton.AsyncCompileMode(executor):
                pass
        assert len(mode.future_kernels) == 3
    assert all(kernel.result() is not None and kernel.name == "doubled" for kernel in kernels)
    loaded = len(doubled._loaded)
    kernels[2][(1,)](x, out)
    assert (out == 2 * x).all()
    doubled[(1,)](x, out, BLOCK=64)
    assert len(doubled._loaded) == loaded  # what was compiled is what is launched
    assert not isinstance(doubled.warmup(x, out, BLOCK=8, grid=(1,)), triton.FutureKernel)


def test_errors_of_postponed_compilations_are_raised_or_ignored(compiler: None) -> None:
    x, out = np.zeros(4, np.float32), np.zeros(4, np.float32)
    with ThreadPoolExecutor(1) as executor:
        with pytest.raises(tw.TilewrightError, match="nothing"), triton.AsyncCompileMode(executor):
            refused.warmup(x, out, BLOCK=4, grid=(1,))
        with triton.AsyncCompileMode(executor, ignore_errors=True):
            assert refused.warmup(x, out, BLOCK=4, grid=(1,)).result() is None


def test_functions_with_a_key_are_called_once() -> None:
    calls: list[int] = []
    with ThreadPoolExecutor(1) as executor, triton.AsyncCompileMode(executor) as mode:
        first, second = (mode.submit("key", lambda: calls.append(1) or 7) for _ in range(2))
        assert first is second and first.result() == 7
    assert calls == [1]


def test_machine_code_as_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    disasm = importlib.import_module("tilewright.triton.tools.disasm")
    tool = tmp_path / "bin" / "cuobjdump"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\n[ -s "$4" ] || [ -s "$2" ] || { echo empty >&2; exit 1; }\necho "$@"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}{os.pathsep}{os.environ['PATH']}")
    assert disasm.get_sass(b"code").startswith("-sass /")
    assert disasm.get_sass(b"code", "doubled").startswith("-sass -fun doubled /")
    with pytest.raises(ValueError, match="empty"):
        disasm.get_sass(b"")


def test_without_a_toolkit_nothing_is_disassembled(monkeypatch: pytest.MonkeyPatch) -> None:
    disasm = importlib.import_module("tilewright.triton.tools.disasm")
    monkeypatch.setattr(disasm.shutil, "which", lambda *_, **__: None)
    with pytest.raises(UnsupportedError, match="cuobjdump") as error:
        disasm.get_sass(b"")
    assert error.value.code == "TW0432" and "CUDA_HOME" in error.value.hint
