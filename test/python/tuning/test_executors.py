"""Candidates that are compiled and measured by executors of other libraries."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import executor_workers
import numpy as np
import pytest

import tilewright as tw
from tilewright.native import native

pytestmark = pytest.mark.usefixtures("compiler")


NUMBERS = itertools.count(3)


def make() -> Any:
    """A kernel that no earlier test has compiled."""
    factor = next(NUMBERS)

    @tw.jit
    def scale(x, out, n, BLOCK: tw.constexpr):
        i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
        y = tw.load(x + i, mask=i < n) * tw.constexpr(len("ab")) + factor
        tw.store(out + i, y, mask=i < n)

    return scale


@pytest.fixture(params=["ProcessPoolExecutor", "dask.distributed", "ray"])
def executor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two processes of a library; each is one line for its user."""
    paths = [str(Path(tw.__file__).parents[1]), str(Path(__file__).parent)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    if request.param == "ProcessPoolExecutor":
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            yield pool
    elif request.param == "dask.distributed":
        distributed = pytest.importorskip("distributed")
        with distributed.LocalCluster(2, threads_per_worker=1, dashboard_address=None) as cluster:
            with distributed.Client(cluster) as client:
                yield client.get_executor()
    else:
        ray = pytest.importorskip("ray")
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield lambda fn, *args: ray.remote(fn).remote(*args).future()
        ray.shutdown()


def configs(*blocks: int) -> list[tw.Config]:
    return [tw.Config({"BLOCK": block}) for block in blocks]


def launch(tuned: Any) -> None:
    x, out = np.random.rand(1000).astype(np.float32), np.zeros(1000, np.float32)
    tuned[lambda named: (tw.cdiv(1000, named["BLOCK"]),)](x, out, 1000)
    factor = tuned.fn.fn.__closure__[0].cell_contents
    np.testing.assert_allclose(out, x * 2 + factor, rtol=1e-6)


def refuse(*given: Any) -> None:
    raise AssertionError("it is compiled here")


@pytest.fixture
def _nothing_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process compiles nothing, and starts no workers."""
    monkeypatch.setenv("TILEWRIGHT_TUNE_WORKERS", "0")
    tw.knobs.reset()
    monkeypatch.setattr(native(), "compile", refuse)


@pytest.mark.usefixtures("_nothing_here")
def test_an_executor_compiles_and_measures(
    executor: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    tuned = tw.autotune(configs(32, 64, 128), key=[], executor=executor, warmup=1, rep=2)(make())
    launch(tuned)
    assert all(row.compile_seconds for row in tuned.report.rows) and not tuned.report.left_out
    monkeypatch.setattr("tilewright.tuning.measurement.Measurement._race", refuse)
    remote = tw.autotune(
        configs(32, 64, 128), key=[], executor=executor, measure="executor", warmup=1, rep=2
    )(make())
    launch(remote)
    assert all(row.samples > 0 for row in remote.report.rows) and not remote.report.left_out


@pytest.mark.usefixtures("_nothing_here")
def test_workers_get_data_and_no_code(monkeypatch: pytest.MonkeyPatch) -> None:
    sent: list[Any] = []

    def submit(fn: Any, *args: Any) -> Future[Any]:
        sent.extend([fn, *args])
        done: Future[Any] = Future()
        done.set_result(fn(*args))
        return done

    launch(tw.autotune(configs(32, 64), key=[], executor=submit, warmup=1, rep=2)(make()))
    assert [part for part in sent if callable(part)][0].__module__ == "tilewright.native.packed"
    assert all(is_data(part) for part in sent if not callable(part))


def is_data(value: Any) -> bool:
    if isinstance(value, dict):
        return all(is_data(part) for pair in value.items() for part in pair)
    if isinstance(value, (list, tuple)):
        return all(map(is_data, value))
    return value is None or type(value) in (str, bytes, int, float, bool)


@pytest.mark.parametrize("is_faulty_here", [False, True])
def test_what_a_lost_worker_had_is_compiled_elsewhere(
    monkeypatch: pytest.MonkeyPatch, is_faulty_here: bool
) -> None:
    monkeypatch.setenv("TILEWRIGHT_TUNE_WORKERS", "2")
    tw.knobs.reset()
    if is_faulty_here:
        from tilewright.tuning import workers

        fault = "sys.path[:0] = [%r]; import executor_workers as e\n" % str(Path(__file__).parent)
        fault += "from tilewright.tuning import worker; worker.compile_packed = e.crash_at_48\n"
        program = workers._PROGRAM.replace("serve(int", fault + "serve(int")
        monkeypatch.setattr(workers, "_PROGRAM", program)
        monkeypatch.setattr(workers, "_idle", [])
    monkeypatch.syspath_prepend(str(Path(tw.__file__).parents[1]))
    start = executor_workers.become_faulty
    with ProcessPoolExecutor(2, get_context("spawn"), initializer=start) as pool:
        tuned = tw.autotune(configs(64, 48, 32, 16), key=[], executor=pool, warmup=1, rep=2)(make())
        launch(tuned)
    codes = [row.code for row in tuned.report.rows]
    assert codes == ["", "TW0446" if is_faulty_here else "", "", ""]
    assert all(row.compile_seconds for row in tuned.report.rows if not row.code)


@pytest.mark.usefixtures("_nothing_here")
def test_what_is_lost_once_is_submitted_again() -> None:
    seen: set[str] = set()

    def submit(fn: Any, *args: Any) -> Future[Any]:
        done: Future[Any] = Future()
        request = repr(args)
        if request not in seen:
            seen.add(request)
            done.set_exception(ConnectionError("the worker is gone"))
        else:
            done.set_result(fn(*args))
        return done

    tuned = tw.autotune(configs(32, 64), key=[], executor=submit, warmup=1, rep=2)(make())
    launch(tuned)
    assert len(seen) >= 2 and not tuned.report.left_out


class Altering(Executor):
    """Changes a byte of each result on its way."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        result = fn(*args)
        if "content" in result:
            content = bytearray(result["content"])
            content[len(content) // 2] ^= 1
            result["content"] = bytes(content)
        done.set_result(result)
        return done


def test_an_altered_result_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_TUNE_WORKERS", "2")
    tw.knobs.reset()
    loaded: list[bytes] = []
    unpack = native().unpack

    def note(*given: Any) -> Any:
        loaded.append(given[5])
        return unpack(*given)

    monkeypatch.setattr(native(), "unpack", note)
    tuned = tw.autotune(configs(32, 64), key=[], executor=Altering(), warmup=1, rep=2)(make())
    launch(tuned)
    assert len(loaded) == 2 and not tuned.report.left_out  # by this machine's workers


def test_a_kernel_of_another_build_is_not_loaded() -> None:
    from tilewright.tuning.packing import PackedRequest
    from tilewright.native.packed import compile_packed
    from tilewright.tuning.compilations import requests_of

    x = np.zeros(10, np.float32)
    (request,) = requests_of(lambda: make().warmup(x, x.copy(), 10, BLOCK=16))
    packed = PackedRequest(request)
    while "asked" in (result := compile_packed(packed.data())):
        packed.answer(result["asked"])
    assert not packed.load({**result, "key": "0" * 64})
    assert packed.load(result)
