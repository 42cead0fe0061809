"""specialize="tiered" with several threads and processes, and where a binary cannot be made."""

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
from test_tiered import asked, make
from tilewright.compile import facts
from tilewright.tuning.tiered import background, binaries

pytestmark = pytest.mark.usefixtures("compiler")


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
