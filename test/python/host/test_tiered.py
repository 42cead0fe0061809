"""specialize="tiered": a general binary answers until the one for the very shape is there. Buckets."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import knobs
from tilewright.launch import background, tiered

pytestmark = pytest.mark.usefixtures("compiler")


def shifted(out, x, n, by, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n, other=0.0) + by, mask=i < n)


def make(**options: Any) -> Any:
    return tw.jit(specialize="tiered", do_not_specialize=["by"], **options)(shifted)


def run(kernel: Any, n: int, by: int = 3) -> list[str]:
    """The run-time parameters of the binary that a launch ran."""
    x = np.arange(128, dtype=np.float32)
    out = np.full(128, -1, np.float32)
    compiled = kernel[(1,)](out, x, n, by, BLOCK=128)
    assert (out[:n] == x[:n] + by).all() and (out[n:] == -1).all()
    return [name for name, *_ in compiled.parameters]


GENERAL, EXACT = ["out", "x", "n", "by"], ["out", "x", "by"]


def test_a_hot_shape_gets_a_binary_of_its_own() -> None:
    kernel = make(hot_launches=3)
    for _ in range(3):
        assert run(kernel, 50) == GENERAL
    kernel.settle()
    assert run(kernel, 50, by=7) == EXACT
    assert run(kernel, 51) == GENERAL, "another shape"
    x = np.arange(129, dtype=np.float32)
    unaligned = kernel[(1,)](np.zeros(129, np.float32)[1:], x[1:], 50, 3, BLOCK=128)
    assert len(unaligned.parameters) == 4, "other facts: a launch never compiles the exact one"


def test_no_launch_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    goes_on = threading.Event()
    make_exact = tiered.ExactFunction.make

    def late(*args: Any) -> None:
        goes_on.wait()
        make_exact(*args)

    monkeypatch.setattr(tiered.ExactFunction, "make", late)
    kernel = make(hot_launches=1)
    for n in (50, 50, 60, 60):
        assert run(kernel, n) == GENERAL
    goes_on.set()
    kernel.settle()
    assert run(kernel, 50) == run(kernel, 60) == EXACT


def test_no_more_are_made_than_were_allowed() -> None:
    kernel = make(hot_launches=1, most_exact=2)
    for n in (1, 20, 30, 40, 50):
        run(kernel, n)
        kernel.settle()
    assert [run(kernel, n) == EXACT for n in (1, 20, 30, 40, 50)] == [True, True, False, False, False]
    assert len(kernel.exact._counts) == 0, "nothing is counted any more"


def test_shapes_that_never_come_again_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiered, "_MOST_COUNTED", 4)
    kernel = make(hot_launches=2)
    for n in range(20, 40):
        run(kernel, n)
    assert len(kernel.exact._counts) == 4
    kernel.settle()
    assert run(kernel, 39) == GENERAL


def test_nothing_is_compiled_in_a_closed_world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TILEWRIGHT_JIT", "allow")  # and what freeze() sets goes with the test
    knobs.reset()
    first = make(hot_launches=1)
    run(first, 97)
    first.settle()
    run(make(hot_launches=99), 103)
    tw.freeze()
    kernel = make(hot_launches=1)
    for n in (97, 103, 103):
        assert run(kernel, n) == GENERAL
        kernel.settle()
    assert run(kernel, 97) == EXACT, "it is on disk"
    assert run(kernel, 103) == GENERAL, "no other test compiles it in this process"


def test_a_binary_that_cannot_be_made_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*args: Any, **options: Any) -> None:
        raise tw.CompileError("too large a tile", code="TW0209")

    monkeypatch.setattr(tiered.ExactFunction, "_prepare", fail)
    kernel = make(hot_launches=1)
    with pytest.warns(tw.TilewrightWarning) as told:
        for _ in range(3):
            assert run(kernel, 50) == GENERAL
            kernel.settle()
    assert len(told) == 1 and "runs on without a binary for its shape" in str(told[0].message)


SCRIPT = """
import os, sys, time, numpy as np, tilewright as tw
@tw.jit(specialize="tiered", hot_launches=1)
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
        [sys.executable, str(script)], env={**os.environ, **paths}, capture_output=True, text=True,
        timeout=120,
    )  # fmt: skip


def test_a_forked_child_begins_anew(tmp_path: Path) -> None:
    done = child(tmp_path, "launched(33)\nprint([fork() for _ in range(3)])\n")
    assert done.stdout == "[7, 7, 7]\n", done.stderr


def test_the_end_of_a_program_drops_what_has_not_begun(tmp_path: Path) -> None:
    done = child(tmp_path, "[launched(n) for n in range(2, 62)]\nprint('end', flush=True)\n")
    assert (done.returncode, done.stdout, done.stderr) == (0, "end\n", "")
    kept = [entry for entry in (tmp_path / "c").glob("v*/??/*")]
    assert len(kept) < 50, "the jobs were done, not dropped"


def test_a_job_that_fails_does_not_end_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(threading, "excepthook", seen.append)

    class Failing:
        def run(self) -> None:
            raise ZeroDivisionError

        def forget(self) -> None: ...

    worker = background.Worker()
    worker.submit(Failing())
    worker.submit(Failing())
    worker.settle()
    assert [args.exc_type for args in seen] == [ZeroDivisionError] * 2


@tw.jit
def total(out, x, n, BLOCK: tw.constexpr = tw.bucket("n")):
    i = tw.arange(0, BLOCK)
    tw.store(out, tw.sum(tw.load(x + i, mask=i < n, other=0.0)))
    tw.store(out + 1, BLOCK)


@tw.jit
def stepped(out, x, n, BLOCK: tw.constexpr = tw.bucket("n", (64, 16, 256))):
    i = tw.arange(0, BLOCK)
    tw.store(out, tw.sum(tw.load(x + i, mask=i < n, other=0.0)))
    tw.store(out + 1, BLOCK)


def sums(kernel: Any, n: int, **given: Any) -> tuple[int, Any]:
    x, out = np.ones(1000, np.float32), np.zeros(2, np.float32)
    compiled = kernel[lambda meta: (meta["BLOCK"] // meta["BLOCK"],)](out, x, n, **given)
    assert out[0] == n
    return int(out[1]), compiled


def test_a_bucket_has_one_binary(device: str) -> None:
    found = [sums(total, n) for n in (1, 2, 33, 63, 64, 65)]
    assert [size for size, _ in found] == [1, 2, 64, 64, 64, 128]
    assert sums(total, 35)[1] is sums(total, 63)[1]
    assert sums(total, 5, BLOCK=32)[0] == 32, "what the launch gives"
    assert [sums(stepped, n)[0] for n in (1, 16, 17, 100)] == [16, 16, 64, 256]


def test_what_no_bucket_takes_is_refused() -> None:
    with pytest.raises(tw.LaunchError, match="300 is more than the largest size, 256") as caught:
        sums(stepped, 300)
    assert caught.value.code == "TW0405" and "`BLOCK`" in str(caught.value)
    with pytest.raises(tw.LaunchError, match="2.5 is not an integer"):
        sums(stepped, 2.5)  # pyright: ignore
    other = tw.jit(stepped.fn)
    assert other.compile({"out": "*fp32", "x": "*fp32", "n": "i32"}, {"BLOCK": 64})
    with pytest.raises(tw.LaunchError, match="lacks|BLOCK"):
        other.compile({"out": "*fp32", "x": "*fp32", "n": "i32"})
    with pytest.raises(ValueError, match="no sizes"):
        tw.bucket("n", ())
    with pytest.raises(TypeError, match="name of a parameter"):
        tw.bucket(7)  # pyright: ignore
