"""Candidates of autotune that are wrong, racy, do not compile, or crash or hang the worker that compiles
them: each is a row of the report, and the others are tuned."""

from __future__ import annotations

import math
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from candidates import add_one, blocks, states, tune
from driver_doubles import find_double, run_with_driver

import tilewright as tw
from tilewright.tuning import workers

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(autouse=True)
def _two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_TUNE_WORKERS", "2")
    tw.knobs.reset()


@pytest.mark.parametrize("wrong", [1, 2])
def test_a_candidate_with_another_result_is_thrown_out(wrong: int) -> None:
    x, out = np.random.rand(100).astype(np.float32), np.full(100, 7, np.float32)
    # The wrong one is the first: most of them decide.
    tuned = tune(add_one, [{"WRONG": w, "BLOCK": b} for w, b in ((wrong, 64), (0, 32), (0, 16))])
    with pytest.warns(tw.TilewrightWarning, match=rf"TW0448(.|\n)*WRONG: {wrong}, BLOCK: 64"):
        tuned[blocks(100)](x, out, 100)
    np.testing.assert_array_equal(out, x + 1)
    assert states(tuned)[0] == "wrong" and tuned.best_config.kwargs["WRONG"] == 0
    row = tuned.report.rows[0]
    assert row.code == "TW0448" and "`out`" in row.reason and "2 that agree" in row.reason
    assert tuned.configs_timings[row.config] == math.inf


def test_of_two_the_one_that_leaves_elements_out_is_wrong() -> None:
    x, out = np.random.rand(100).astype(np.float32), np.full(100, 7, np.float32)
    tuned = tune(add_one, [{"WRONG": wrong, "BLOCK": 64} for wrong in (2, 0)])
    with pytest.warns(tw.TilewrightWarning, match="TW0448"):
        tuned[blocks(100)](x, out, 100)
    np.testing.assert_array_equal(out, x + 1)


def test_unchecked_results_are_not_compared() -> None:
    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    tuned = tune(add_one, [{"WRONG": w, "BLOCK": 64} for w in (0, 1)], check=None)
    tuned[blocks(64)](x, out, 64)
    assert "wrong" not in states(tuned)


def test_a_function_may_check_results() -> None:
    def is_right(arguments: dict[str, Any]) -> None:
        np.testing.assert_array_equal(arguments["out"], arguments["x"] + 2)

    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    tuned = tune(add_one, [{"WRONG": w, "BLOCK": 64} for w in (0, 1)], check=is_right)
    with pytest.warns(tw.TilewrightWarning, match="TW0448"):
        tuned[blocks(64)](x, out, 64)
    assert states(tuned) == ["wrong", "measured"] and (out == 2).all()


@tw.jit
def partial_sums(x, out, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + tw.program_id(0), tw.sum(tw.load(x + i, mask=i < n, other=0), axis=0))


def test_results_that_depend_on_the_configuration_are_all_kept() -> None:
    x, out = np.random.rand(256).astype(np.float32), np.full(256, 3, np.float32)
    tuned = tune(partial_sums, [{"BLOCK": block} for block in (16, 32, 64)])
    tuned[blocks(256)](x, out, 256)
    assert "wrong" not in states(tuned) and "depends on the configuration" in tuned.report.notes[0]
    count = 256 // tuned.best_config.kwargs["BLOCK"]
    np.testing.assert_allclose(out[:count], x.reshape(count, -1).sum(1), rtol=1e-5)
    assert (out[count:] == 3).all()  # what candidates left there is gone


@tw.jit
def total(x, out, n, BLOCK: tw.constexpr):
    sums = tw.zeros([BLOCK], tw.float32)
    for i in range(0, n, BLOCK):
        sums += tw.load(x + i + tw.arange(0, BLOCK))
    tw.store(out, tw.sum(sums, axis=0))


def test_another_order_of_sums_is_no_fault() -> None:
    x, out = np.sin(np.arange(1 << 16, dtype=np.float32)) + 0.1, np.zeros(1, np.float32)
    tuned = tune(total, [{"BLOCK": block} for block in (4, 64, 1024)])
    tuned[(1,)](x, out, x.size)
    assert "wrong" not in states(tuned) and not tuned.report.notes
    strict = tune(total, [{"BLOCK": block} for block in (4, 1024)], tolerance=1e-12)
    with pytest.warns(tw.TilewrightWarning, match="TW0448"):
        strict[(1,)](x, out, x.size)


def test_large_results_are_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tilewright.tuning.measurement.MOST_BYTES", 255)
    tuned = tune(add_one, [{"WRONG": w, "BLOCK": 64} for w in (0, 1)])
    tuned[blocks(64)](np.zeros(64, np.float32), np.zeros(64, np.float32), 64)
    assert "wrong" not in states(tuned) and "were not compared" in tuned.report.notes[0]


@tw.jit
def count(out, ATOMIC: tw.constexpr, BLOCK: tw.constexpr):
    if ATOMIC:
        tw.atomic_add(out, 1)
    else:
        tw.store(out, tw.load(out) + 1)


@pytest.mark.parametrize("device", ["cpu", "sim:sm_80"])
def test_the_simulator_finds_a_racy_candidate(device: str) -> None:
    out = np.zeros(1, np.int32)
    tuned = tune(count, [{"ATOMIC": is_atomic, "BLOCK": 1} for is_atomic in (False, True)], check="sim")
    with tw.device(device), warnings.catch_warnings(record=True) as said:
        tuned[(8,)](out)
    assert device != "cpu" or "ATOMIC: False" in str(said[0].message)
    assert out[0] == 8 and tuned.best_config.kwargs["ATOMIC"]
    row = tuned.report.rows[0]
    assert row.state == ("wrong" if device == "cpu" else "failed")  # there each launch is checked
    assert row.code.startswith("TW06") and "race" in row.reason


FAULTS = """
from tilewright.tuning import worker
import os, time
compile_packed = worker.compile_packed
def faulty(packed):
    texts = repr(packed["specialization"])
    if '"v":"48"' in texts:
        os.abort()
    if '"v":"80"' in texts:
        time.sleep(1000)
    return compile_packed(packed)
worker.compile_packed = faulty
"""


@pytest.fixture
def _faulty_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers that crash while they compile for 48, and hang for 80."""
    program = workers._PROGRAM
    monkeypatch.setattr(workers, "_PROGRAM", program.replace("serve(int", FAULTS + "serve(int"))
    monkeypatch.setattr(workers, "_idle", [])


@pytest.mark.usefixtures("_faulty_workers")
@pytest.mark.parametrize("cache", ["0", "1"])
def test_a_compilation_that_crashes_or_hangs_is_left_out(
    monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", cache)
    tw.knobs.reset()
    monkeypatch.setattr("tilewright.tuning.measurement.LONGEST", 1.5)
    x, out = np.zeros(100, np.float32), np.zeros(100, np.float32)
    tuned = tune(add_one, [{"WRONG": 0, "BLOCK": block} for block in (48, 64, 80, 32)])
    tuned[blocks(100)](x, out, 100)
    assert (out == 1).all()
    crashed, _, hung, _ = tuned.report.rows
    assert crashed.code == "TW0446" and "SIGABRT" in crashed.reason
    assert hung.code == "TW0447" and "longer than 1.5 s" in hung.reason
    assert states(tuned).count("failed") == 1 and states(tuned).count("late") == 1


def test_a_candidate_whose_worker_is_lost_once_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fault = f"""
import os
from tilewright.tuning import worker
if not os.path.exists({str(tmp_path / "lost")!r}):
    def end(packed):
        open({str(tmp_path / "lost")!r}, "w")
        os.abort()
    worker.compile_packed = end
"""
    program = workers._PROGRAM
    monkeypatch.setattr(workers, "_PROGRAM", program.replace("serve(int", fault + "serve(int"))
    monkeypatch.setattr(workers, "_idle", [])
    x, out = np.zeros(40, np.float32), np.zeros(40, np.float32)
    tuned = tune(add_one, [{"WRONG": 0, "BLOCK": block} for block in (8, 4)])
    tuned[blocks(40)](x, out, 40)
    assert (out == 1).all() and not tuned.report.left_out and (tmp_path / "lost").exists()


@pytest.mark.usefixtures("_faulty_workers")
def test_no_candidate_takes_longer_than_the_budget() -> None:
    x, out = np.zeros(100, np.float32), np.zeros(100, np.float32)
    tuned = tune(add_one, [{"WRONG": 0, "BLOCK": block} for block in (80, 64, 32)], budget=2.0)
    tuned[blocks(100)](x, out, 100)
    assert (out == 1).all() and states(tuned)[0] == "late" and tuned.report.seconds < 20


@tw.jit
def too_large(x, out, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    a = tw.load(x + i[:, None] * BLOCK + i[None, :])
    tw.store(out + i[:, None] * BLOCK + i[None, :], tw.dot(a, a))


def test_one_that_needs_too_much_shared_memory_is_left_out() -> None:
    x, out = np.ones((32, 32), np.float32), np.zeros((32, 32), np.float32)
    tuned = tune(too_large, [{"BLOCK": block} for block in (512, 32)], check=None)
    with tw.device("sim:sm_80"):
        tuned[(1,)](x, out)
    assert (out == 32).all() and states(tuned) == ["failed", "measured"]
    assert tuned.report.rows[0].code in ("TW0311", "TW0313")


def helper(block: int) -> int:
    return block * 3


@tw.jit
def evaluated(out, BLOCK: tw.constexpr):
    tw.store(out, BLOCK * FACTOR + tw.constexpr(helper(BLOCK)))


FACTOR = tw.constexpr(2)
helper = tw.constexpr_function(helper)


def test_workers_ask_for_what_python_has_to_evaluate() -> None:
    out = np.zeros(1, np.int32)
    tuned = tune(evaluated, [{"BLOCK": block} for block in (16, 32)], check=None)
    tuned[(1,)](out)
    assert out[0] == 5 * tuned.best_config.kwargs["BLOCK"] and "failed" not in states(tuned)


def test_the_table_names_each_configuration() -> None:
    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    configs = [tw.Config({"WRONG": w, "BLOCK": 64}, num_warps=n) for w, n in ((0, 2), (0, 4), (1, 4))]
    tuned = tw.autotune(configs, key=[], warmup=1, rep=2)(add_one)
    with pytest.warns(tw.TilewrightWarning):
        tuned[blocks(64)](x, out, 64)
    text = str(tuned.report)
    assert all(str(config) in text for config in configs)
    assert "same WRONG: 0, BLOCK: 64, num_warps: 2" in text and "wrong [TW0448]" in text
    assert tuned.report.row(configs[1]).same_as == configs[0]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"budget": 0}, "budget of add_one is 0, not a number above 0"),
        ({"tolerance": "x"}, "tolerance of add_one is 'x'"),
        ({"check": "last"}, "check of add_one is 'last', which checks nothing"),
        ({"measure": "executor"}, "measure of add_one is 'executor', without an executor"),
        ({"measure": "there"}, "measure of add_one is 'there'"),
        ({"executor": 3}, "executor of add_one is a int, which takes no work"),
    ],
)
def test_options_that_mean_nothing(options: Any, words: str) -> None:
    with pytest.raises(tw.LaunchError, match=words) as error:
        tune(add_one, [{"WRONG": 0, "BLOCK": 64}], **options)
    assert error.value.code == "TW0418" and error.value.hint


def test_no_tuning_begins_while_launches_are_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    x, out = torch.zeros(64), torch.zeros(64)
    tuned = tune(add_one, [{"WRONG": 0, "BLOCK": block} for block in (32, 64)])
    with monkeypatch.context() as capturing:
        capturing.setattr(torch.cuda, "is_initialized", lambda: True)
        capturing.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
        with pytest.raises(tw.LaunchError, match="captured into a graph") as error:
            tuned[blocks(64)](x, out, 64)
    assert error.value.code == "TW0449" and error.value.hint
    tuned[blocks(64)](x, out, 64)
    with monkeypatch.context() as capturing:
        capturing.setattr(torch.cuda, "is_initialized", lambda: True)
        capturing.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
        tuned[blocks(64)](x, out, 64)  # with the configuration that is known
    assert (out == 1).all()


@pytest.mark.parametrize("name", ["float8_e5m2", "bfloat16", "float16", "float64", "int8", "bool", "uint32"])
def test_results_of_each_type_are_compared(name: str) -> None:
    torch = pytest.importorskip("torch")
    dtype = getattr(torch, name)

    x = torch.zeros(64, dtype=torch.float32).to(dtype)
    out = torch.zeros(64, dtype=torch.float32).to(dtype)
    tuned = tune(copy_some, [{"LAST": last, "BLOCK": 64} for last in (40, 64, 40, 64, 64)])
    # Of truth values, none says that nobody has stored it.
    with pytest.warns(tw.TilewrightWarning, match="TW0448") if name != "bool" else nullcontext():
        tuned[(1,)](x, out)


@tw.jit
def copy_some(x, out, LAST: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i), mask=i < LAST)


def test_a_line_of_progress(capsys: pytest.CaptureFixture[str]) -> None:
    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    tune(add_one, [{"WRONG": 0, "BLOCK": block} for block in (32, 64)])[blocks(64)](x, out, 64)
    assert capsys.readouterr().err == ""  # stderr is a file
    shown = tune(add_one, [{"WRONG": 0, "BLOCK": block} for block in (32, 64)], progress=True)
    shown[blocks(64)](x, out, 64)
    lines = capsys.readouterr().err.split("\r")
    assert any("autotuning add_one: 2 of 2 launched" in line for line in lines)
    assert lines[-1].strip() == "" and lines[-2].strip() == ""  # and it is gone


@tw.jit
def increase(x, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(x + i, tw.load(x + i) + 1)


def test_arrays_that_a_hook_brings_back_are_not_compared() -> None:
    x = np.zeros(64, np.float32)

    def hook(arguments: Any, reset_only: bool = False) -> None:
        """Does something else: what a launch changes, the next one sees."""

    tuned = tune(increase, [{"BLOCK": block} for block in (64, 32)], pre_hook=hook)
    tuned[(1,)](x)
    assert "left to the pre_hook" in tuned.report.notes[0] and not tuned.report.left_out
    x[:] = 0
    tuned = tune(increase, [{"BLOCK": block} for block in (64, 64)])
    tuned[(1,)](x)
    assert (x == 1).all() and not tuned.report.notes


def test_elements_that_share_memory_are_not_compared() -> None:
    torch = pytest.importorskip("torch")
    x, out = torch.zeros(64), torch.zeros(1).expand(64)
    tuned = tune(store_one, [{"BLOCK": block} for block in (32, 64)])
    tuned[(1,)](x, out)
    assert "results were not compared" in tuned.report.notes[0] and out[0] == 1


@tw.jit
def store_one(x, out, BLOCK: tw.constexpr):
    tw.store(out, tw.load(x) + 1)


def test_a_candidate_that_does_not_compile_is_an_error_of_a_warm_up() -> None:
    x = np.zeros(64, np.float32)
    tuned = tune(add_one, [{"WRONG": 0, "BLOCK": block} for block in (32, 33.5)])
    with pytest.raises(tw.CompileError):
        tuned.warmup(x, x.copy(), 64)


ON_GPU = """
import numpy as np, tilewright as tw
from tilewright.testing import DeviceArray

@tw.jit
def add(x, out, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n) + 1, mask=i < n)

x, out = (DeviceArray(np.zeros(1000, np.float32)) for _ in range(2))
configs = [tw.Config({"BLOCK": block}, num_warps=warps) for block in (64, 128) for warps in (1, 40)]
tuned = tw.autotune(configs, key=[], warmup=1, rep=2)(add)
tuned[lambda named: (tw.cdiv(1000, named["BLOCK"]),)](x, out, 1000)
print(*(f"{row.state} {row.code}" for row in tuned.report.rows), sep="\\n")
assert all(row.compile_seconds for row in tuned.report.rows if row.samples)
"""


def test_candidates_for_a_gpu(tmp_path: Path) -> None:
    driver = find_double("libcuda_double.so")
    script = tmp_path / "script.py"
    script.write_text(ON_GPU)
    done = run_with_driver(
        [str(script)], tmp_path, TILEWRIGHT_CUDA_LIBRARY=driver, TILEWRIGHT_TUNE_WORKERS="2"
    )
    assert done.returncode == 0, done.stderr
    states = done.stdout.split("\n")
    assert states[1].startswith("failed TW") and states[3].startswith("failed TW")
    assert {states[0], states[2]} <= {"measured ", "slower "}
