"""specialize="tiered": a general binary answers until the one for the very integers is there."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import knobs
from tilewright.tuning.tiered import binaries

pytestmark = pytest.mark.usefixtures("compiler")
OFFSET = 3


def shifted(out, x, n, by, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n, other=0.0) + by, mask=i < n)


def make(function: Callable[..., Any] = shifted, **options: Any) -> Any:
    return tw.jit(specialize="tiered", do_not_specialize=["by"], **options)(function)


def run(kernel: Any, n: int, by: int = 3) -> list[str]:
    """The run-time parameters of the binary that a launch ran."""
    x = np.arange(128, dtype=np.float32)
    out = np.full(128, -1, np.float32)
    compiled = kernel[(1,)](out, x, n, by, BLOCK=128)
    assert (out[:n] == x[:n] + by).all() and (out[n:] == -1).all()
    return [name for name, *_ in compiled.parameters]


def asked(kernel: Any) -> int:
    """How many binaries were made or are to be."""
    return sum(len(tier.asked) for tier in kernel._tiers.all() if tier.positions)


GENERAL, EXACT = ["out", "x", "n", "by"], ["out", "x", "by"]


def test_integers_that_come_often_get_a_binary_of_their_own() -> None:
    kernel = make(hot_launches=3)
    for _ in range(3):
        assert run(kernel, 50) == GENERAL
    kernel.settle()
    assert run(kernel, 50, by=7) == EXACT
    assert run(kernel, 51) == GENERAL, "another shape"
    x = np.arange(129, dtype=np.float32)
    unaligned = kernel[(1,)](np.zeros(129, np.float32)[1:], x[1:], 50, 3, BLOCK=128)
    assert len(unaligned.parameters) == 4, "other facts: a launch never compiles the exact one"


@tw.jit(specialize="tiered", hot_launches=1, most_exact=1000)
def halves(out, n, m, x: tw.Tensor, pair):
    tw.store(out, (n - 1) // 2)
    tw.store(out + 1, (n * m * 100003) % 1000)
    tw.store(out + 2, x.shape[0] * pair[0] - x.stride[0] // 3)
    tw.store(out + 3, (pair[1] - 9) // 4)


def test_results_are_the_same_after_the_swap(device: str) -> None:
    rng = random.Random()
    for _ in range(6):
        n, m = (rng.choice((0, 1, -1, 2, 16, -7, 2**31 - 1, rng.randrange(1 << 20))) for _ in range(2))
        x, pair = np.zeros((rng.randrange(1, 9), 5), np.float32), (rng.randrange(20), 7)
        results: list[list[int]] = []
        taken: list[int] = []
        for _ in range(2):
            out = np.full(4, -77, np.int64)
            taken.append(len(halves[(1,)](out, n, m, x, pair).parameters))
            results.append(out.tolist())
            halves.settle()
        assert results[0] == results[1], (n, m, x.shape, pair)
        # Beside the arrays, of which one is never read, nothing is passed any more.
        assert taken[1] <= 2, taken


def test_no_launch_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    make_exact = binaries.Tier.make

    def late(*args: Any) -> None:
        goes_on.wait()
        make_exact(*args)

    monkeypatch.setattr(binaries.Tier, "make", late)
    kernel = make(hot_launches=1)
    for n in (50, 50, 60, 60):
        assert run(kernel, n) == GENERAL
    goes_on.set()
    kernel.settle()
    assert run(kernel, 50) == run(kernel, 60) == EXACT


def test_no_more_are_made_than_were_allowed() -> None:
    kernel = make(hot_launches=1, most_exact=2)
    sizes = (21, 32, 33, 48, 50)
    for n in sizes:
        run(kernel, n)
        kernel.settle()
    assert [run(kernel, n) == EXACT for n in sizes] == [True, True, False, False, False]
    assert asked(kernel) == 2


@pytest.mark.parametrize("name", ["hot_launches", "most_exact"])
@pytest.mark.parametrize("value", [0, -3, 1.5, True, "8"])
def test_bounds_are_positive(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}=.* is not a positive integer"):
        make(**{name: value})


def test_integers_that_never_come_again_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "MOST_COUNTED", 4)
    kernel = make(hot_launches=3)
    odd = [n for n in range(17, 60) if n % 16]
    for n in odd:
        run(kernel, n)
    (tier,) = [tier for tier in kernel._tiers.all() if tier._counts]
    assert [*tier._counts] == odd[-4:], "the last are known: not all are forgotten at the limit"
    run(kernel, odd[-1])
    run(kernel, odd[-1])
    kernel.settle()
    assert run(kernel, odd[-1]) == EXACT


def test_a_change_of_the_kernel_is_heeded() -> None:
    kernel = make(offset_by_global, hot_launches=1)
    globals()["OFFSET"] = 3

    def launched() -> list[str]:
        out = np.zeros(64, np.int32)
        compiled = kernel[(1,)](out, 33)
        assert (out[:33] == 33 + OFFSET).all() and not out[33:].any()
        return [name for name, *_ in compiled.parameters]

    assert launched() == ["out", "n"]
    kernel.settle()
    assert launched() == ["out"]
    globals()["OFFSET"] = 4
    assert launched() == ["out", "n"], "the binary for 33 is of another kernel"
    kernel.settle()
    assert launched() == ["out"]
    kernel._unsafe_update_src(kernel.src.replace("n + OFFSET", "OFFSET + n + 0"))
    assert launched() == ["out", "n"]
    kernel.settle()
    assert launched() == ["out"]
    globals()["OFFSET"] = 3


def offset_by_global(out, n):
    i = tw.arange(0, 64)
    tw.store(out + i, n + OFFSET, mask=i < n)


def test_a_change_while_it_is_made_is_heeded(monkeypatch: pytest.MonkeyPatch) -> None:
    make_exact = binaries.Tier.make

    def amid_a_change(*args: Any) -> None:
        globals()["OFFSET"] = 5
        make_exact(*args)
        globals()["OFFSET"] = 3

    kernel = make(offset_by_global, hot_launches=1)
    monkeypatch.setattr(binaries.Tier, "make", amid_a_change)
    for _ in range(3):
        out = np.zeros(64, np.int32)
        compiled = kernel[(1,)](out, 35)
        assert (out[:35] == 38).all() and len(compiled.parameters) == 2
        kernel.settle()


def test_dropped_binaries_are_forgotten() -> None:
    kernel = make(hot_launches=1, most_exact=1)
    run(kernel, 50)
    kernel.settle()
    assert run(kernel, 50) == EXACT and asked(kernel) == 1
    kernel._loaded.clear()
    import gc

    gc.collect()
    assert asked(kernel) == 0
    run(kernel, 51)
    kernel.settle()
    assert run(kernel, 51) == EXACT, "there is room again"


def test_nothing_is_compiled_in_a_closed_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_JIT", "allow")  # and what freeze() sets goes with the test
    knobs.reset()
    first = make(hot_launches=1)
    run(first, 97)
    first.settle()
    run(make(hot_launches=99), 103)
    prepared = make(hot_launches=99)
    arrays = [np.zeros(128, np.float32) for _ in range(2)]
    prepared.prepare(*arrays, 99, 3, BLOCK=128)
    tw.freeze()
    assert run(prepared, 99) == EXACT, "prepare() makes both"
    kernel = make(hot_launches=1)
    for n in (97, 103, 103):
        assert run(kernel, n) == GENERAL
        kernel.settle()
    assert run(kernel, 97) == EXACT, "it is on disk"
    assert run(kernel, 103) == GENERAL, "no other test compiles it in this process"


def test_a_closed_world_stays_closed_while_threads_read_the_knobs(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was read before freeze() is not stored after it."""
    monkeypatch.setenv("TILEWRIGHT_JIT", "allow")
    knobs.reset()
    has_read, goes_on = threading.Event(), threading.Event()
    read = knobs.read_settings

    def slow() -> knobs.Settings:
        found = read()
        if threading.current_thread() is not threading.main_thread():
            has_read.set()
            goes_on.wait()
        return found

    monkeypatch.setattr(knobs, "read_settings", slow)
    seen: list[bool] = []
    thread = threading.Thread(target=lambda: seen.append(knobs.settings().is_jit_denied))
    thread.start()
    has_read.wait()
    tw.freeze()
    goes_on.set()
    thread.join()
    assert seen == [True] and knobs.settings().is_jit_denied


def test_autotuning_measures_general_binaries() -> None:
    seen: list[int] = []

    def bench(launch: Any, quantiles: Any) -> float:
        for _ in range(5):
            launch()
            kernel.fn.settle()
            seen.append(asked(kernel.fn))
        return 1.0

    configs = [tw.Config({"BLOCK": size}) for size in (128, 256)]
    kernel = tw.autotune(configs, key=["n"], do_bench=bench)(make(hot_launches=1))
    x, out = np.zeros(256, np.float32), np.zeros(256, np.float32)
    kernel[(1,)](out, x, 50, 3)
    assert seen == [0] * 10
    kernel.fn.settle()
    assert len(kernel[(1,)](out, x, 50, 3).parameters) == 3


def test_a_binary_that_cannot_be_made_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = make(hot_launches=1)
    prepare = kernel.compile_for

    def fail(key: Any, *args: Any, **options: Any) -> Any:
        if any("=" in str(fact) for fact in key[2]):
            raise tw.CompileError("too large a tile", code="TW0209")
        return prepare(key, *args, **options)

    monkeypatch.setattr(kernel, "compile_for", fail)
    with pytest.warns(tw.TilewrightWarning) as told:
        for _ in range(3):
            assert run(kernel, 50) == GENERAL
            kernel.settle()
    assert len(told) == 1 and "runs on without a binary for its integers" in str(told[0].message)
