"""specialize="tiered": a general binary answers until the one for the very integers is there."""

from __future__ import annotations

import functools
import os
import random
import signal
import subprocess
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import knobs
from tilewright.compile import facts
from tilewright.tuning.tiered import background, binaries

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


def run_at_once(works: Sequence[Callable[[], None]]) -> None:
    """Run each in a thread, with many changes from one to the other."""
    threads = [threading.Thread(target=work) for work in works]
    switch = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(switch)


def test_many_threads_launch_while_binaries_are_made() -> None:
    kernels = [make(copied(offset_with_function), hot_launches=2, most_exact=64) for _ in range(2)]
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        rng = random.Random(seed)
        try:
            for _ in range(60):
                n, out = rng.randrange(2, 30), np.zeros(32, np.int32)
                step = rng.choice((plus_one, plus_two))
                rng.choice(kernels)[(1,)](out, n, step)
                assert (out[:n] == n + (1 if step is plus_one else 2)).all() and not out[n:].any()
        except BaseException as error:
            failures.append(error)

    run_at_once([functools.partial(work, seed) for seed in range(8)])
    assert not failures, failures
    for kernel in kernels:
        kernel.settle()
        assert asked(kernel) > 4
        out = np.zeros(32, np.int32)
        hot = next(tier for tier in kernel._tiers.all() if tier.ready)
        assert len(kernel[(1,)](out, next(iter(hot.ready)), plus_one).parameters) <= 2


def test_room_is_asked_for_while_other_threads_meet_general_binaries() -> None:
    class General:  # what is asked of a tier
        positions = (1,)
        asked: dict[object, object] = {}

    tiers = binaries.Tiers(make(), 1, 64)
    failures: list[BaseException] = []

    def meet() -> None:
        for _ in range(20_000):
            tier = General()
            tiers._references.add(weakref.ref(tier, tiers._references.discard))

    def ask() -> None:
        try:
            for _ in range(5_000):
                assert tiers.has_room()
        except BaseException as error:
            failures.append(error)

    run_at_once([meet, meet, ask, ask])
    assert not failures and not tiers.all()


@tw.jit
def plus_one(x):
    return x + 1


@tw.jit
def plus_two(x):
    return x + 2


def offset_with_function(out, n, step):
    i = tw.arange(0, 32)
    tw.store(out + i, step(n), mask=i < n)


def copied(function: Any) -> Any:
    copy = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__
    )
    copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
    return copy


SCRIPT = """
import os, sys, time, numpy as np, tilewright as tw
@tw.jit(specialize="tiered", hot_launches=1, most_exact=100)
def grown(out, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, n, mask=i < n)
out = np.zeros(64, np.int32)
def launched(n):
    names = [name for name, *_ in grown[(1,)](out, n, BLOCK=64).parameters]
    assert (out[:n] == n).all()
    return names
def fork():
    child = os.fork()
    if child == 0:
        launched(33)
        launched(34)
        grown.settle()
        os._exit(7 if launched(33) == launched(34) == ["out"] else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
"""


def child(tmp_path: Path, text: str) -> subprocess.CompletedProcess[str]:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT + text)
    paths = {"PYTHONPATH": os.pathsep.join(sys.path), "TILEWRIGHT_CACHE_DIR": str(tmp_path / "c")}
    return subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", str(script)],
        env={**os.environ, **paths}, capture_output=True, text=True, timeout=120,
    )  # fmt: skip


def test_a_forked_child_begins_anew(tmp_path: Path) -> None:
    text = "launched(33)\nprint([fork() for _ in range(3)])\n"
    text += "for n in range(35, 60):\n    launched(n)\n    assert fork() == 7\nprint('end')\n"
    done = child(tmp_path, text)
    assert done.stdout == "[7, 7, 7]\nend\n", done.stderr


def test_the_end_of_a_program_drops_what_has_not_begun(tmp_path: Path) -> None:
    done = child(tmp_path, "[launched(n) for n in range(2, 62)]\nprint('end', flush=True)\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
    kept = [entry for entry in (tmp_path / "c").glob("v*/??/*")]
    assert len(kept) < 50, "the jobs were done, not dropped"


class Job:
    """One that fails, or waits for an event."""

    def __init__(self, error: BaseException | None = None) -> None:
        self.error, self.is_forgotten, self.is_done = error, False, False

    def run(self) -> None:
        if self.error:
            raise self.error
        self.is_done = True

    def forget(self) -> None:
        self.is_forgotten = True


def test_a_child_forked_while_a_job_is_taken_drops_it() -> None:
    codes: list[int] = []

    class Jobs(deque[Any]):
        def popleft(self) -> Any:
            job = super().popleft()
            child = os.fork()
            if child == 0:
                os._exit(7 if job.is_forgotten else 1)
            codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            return job

    worker = background.Worker()
    worker._jobs = Jobs()
    job = Job()
    worker.submit(job)
    worker.settle()
    assert codes == [7] and job.is_done and not job.is_forgotten


def test_a_child_forked_while_facts_are_made_makes_facts() -> None:
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with facts._exact_lock:
            is_held.set()
            is_over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait()
    child_id = os.fork()
    if child_id == 0:
        signal.alarm(20)  # instead of waiting for ever
        os._exit(7 if facts.exact_facts("i32", 123457).equals == 123457 else 1)
    is_over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child_id, 0)[1]) == 7


@pytest.mark.parametrize("error", [ZeroDivisionError(), SystemExit(3), KeyboardInterrupt(), GeneratorExit()])
def test_a_job_that_fails_does_not_end_the_worker(error: BaseException, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def hook(args: Any) -> None:
        seen.append(args.exc_type)
        raise RuntimeError("the hook fails, too")

    monkeypatch.setattr(threading, "excepthook", hook)
    worker = background.Worker()
    jobs = [Job(error), Job(), Job(error), Job()]
    for job in jobs:
        worker.submit(job)
    worker.settle()
    assert seen == [type(error)] * 2
    assert [job.is_done for job in jobs] == [False, True, False, True]
    assert [job.is_forgotten for job in jobs] == [True, False, True, False]


def test_jobs_are_forgotten_where_no_thread_can_be_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(thread: Any) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", start)
    worker, job = background.Worker(), Job()
    worker.submit(job)
    assert job.is_forgotten and not job.is_done
    monkeypatch.undo()
    after = Job()
    worker.submit(after)
    worker.settle()
    assert after.is_done


def test_a_handler_that_submits_while_a_thread_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Handlers of signals run where a thread that starts another one waits for it."""
    worker, within = background.Worker(), Job()
    start = threading.Thread.start

    def start_and_submit(thread: threading.Thread) -> None:
        monkeypatch.undo()
        worker.submit(within)
        start(thread)
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", start_and_submit)
    before, after = Job(), Job()
    with pytest.raises(KeyboardInterrupt):
        worker.submit(before)
    worker.submit(after)
    worker.settle()
    assert before.is_done and within.is_done and after.is_done
