"""First runs of candidates in workers: one that reads out of bounds or never ends is a row of the report."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from candidates import add_one, blocks, states, tune
from sampled import OPENCL

import tilewright as tw
from tilewright.tuning import isolation

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(autouse=True)
def _two_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_TUNE_WORKERS", "2")
    tw.knobs.reset()


@tw.jit
def read_behind(x, out, n, BEHIND: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i + BEHIND) * 0 + i, mask=i < n)


@pytest.mark.parametrize("distance", [64, 1 << 24, 1 << 40])
@pytest.mark.parametrize("device", ["cpu", *OPENCL])
def test_a_candidate_that_reads_out_of_bounds_ends_only_its_worker(device: str, distance: int) -> None:
    x, out = np.zeros(1024, np.float32), np.zeros(1024, np.float32)
    configs = [{"BEHIND": behind, "BLOCK": 64} for behind in (distance, 0)]
    tuned = tune(read_behind, configs)
    with tw.device(device):
        tuned[blocks(1024)](x, out, 1024)
    np.testing.assert_array_equal(out, np.arange(1024))
    row = tuned.report.rows[0]
    assert row.state == "failed" and row.code == "TW0446" and "SIGSEGV" in row.reason


@pytest.mark.parametrize(
    ("device", "code"), [("reference", "TW0601"), ("sim:sm_80", "TW0612"), ("sim:generic16", "TW0612")]
)
def test_where_accesses_are_checked_a_candidate_out_of_bounds_is_a_row(device: str, code: str) -> None:
    x, out = np.zeros(256, np.float32), np.zeros(256, np.float32)
    tuned = tune(read_behind, [{"BEHIND": behind, "BLOCK": 64} for behind in (1 << 24, 0)])
    with tw.device(device):
        tuned[blocks(256)](x, out, 256)
    np.testing.assert_array_equal(out, np.arange(256))
    row = tuned.report.rows[0]
    assert row.state == "failed" and row.code == code and "out-of-bounds" in row.reason


def test_checked_accesses_are_those_of_a_debug_build() -> None:
    x, out = np.zeros(1024, np.float32), np.zeros(1024, np.float32)
    tuned = tune(read_behind, [{"BEHIND": b, "BLOCK": 64} for b in (1, 0)], check="sim", isolate=False)
    with pytest.warns(tw.TilewrightWarning, match="TW06"):
        tuned[blocks(1024)](x, out, 1024)
    row = tuned.report.rows[0]
    assert row.state == "wrong" and row.code.startswith("TW06"), row


@tw.jit
def await_flag(flag, out, WAITS: tw.constexpr, BLOCK: tw.constexpr):
    if WAITS:
        while tw.atomic_add(flag, 0) == 0:
            pass
    tw.store(out, 1)


@pytest.mark.parametrize("device", ["cpu", *OPENCL])
def test_a_candidate_that_never_ends_is_left_out(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # A driver that compiles takes a second to load.
    monkeypatch.setattr("tilewright.tuning.measurement.LONGEST_RUN", 0.5 if device == "cpu" else 8.0)
    flag, out = np.zeros(1, np.int32), np.zeros(1, np.int32)
    tuned = tune(await_flag, [{"WAITS": waits, "BLOCK": 1} for waits in (True, False)])
    with tw.device(device):
        tuned[(1,)](flag, out)
    assert out[0] == 1 and states(tuned) == ["late", "measured"]
    assert tuned.report.rows[0].code == "TW0447"


@tw.jit
def add_tensor(x: tw.Tensor, out: tw.Tensor, scale, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK
    out.store((i,), x.load((i,), shape=(BLOCK,)) * scale)


@tw.jit
def add_described(x, out, scale, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK
    out.store([i], x.load([i]) * scale)


def describe(array: Any, block: int) -> Any:
    return tw.TensorDescriptor(array, [array.shape[0]], [1], [block])


@pytest.mark.parametrize("kind", ["array", "view", "tensor argument", "descriptor"])
def test_each_kind_of_argument_runs_alone(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[Any] = []
    answer = isolation.Workers.outcomes

    def note(self: Any) -> Any:
        for number, outcome in answer(self):
            ran.append(outcome[0])
            yield number, outcome

    monkeypatch.setattr(isolation.Workers, "outcomes", note)
    x, out = np.random.rand(256).astype(np.float32), np.zeros(256, np.float32)
    configs: list[dict[str, Any]] = [{"BLOCK": 32}, {"BLOCK": 64}]
    if kind in ("array", "view"):
        given = (x, out) if kind == "array" else (x[7:], out[7:])
        tuned = tune(add_one, [{"WRONG": 0, **config} for config in configs])
        tuned[blocks(249)](*given, 249)
        np.testing.assert_array_equal(out[7:249], x[7:249] + 1)
    elif kind == "tensor argument":
        tuned = tune(add_tensor, configs)
        tuned[blocks_of_all](x, out, np.float32(2.5))
        np.testing.assert_allclose(out, x * 2.5, rtol=1e-6)
    else:
        tuned = tune(add_described, [{"BLOCK": 32}, {"BLOCK": 32}, {"BLOCK": 32}])
        tuned.configs[1].num_stages = 1
        tuned[(8,)](describe(x, 32), describe(out, 32), 2.5)
        np.testing.assert_allclose(out, x * 2.5, rtol=1e-6)
    assert not tuned.report.left_out
    if kind != "descriptor":
        assert [answer.get("reports") for answer in ran if "reports" in answer][-2:] == [[], []]


def blocks_of_all(named: Any) -> tuple[int]:
    return (256 // named["BLOCK"],)


def test_where_no_candidate_runs_the_error_names_each() -> None:
    x, out = np.zeros(64, np.float32), np.zeros(64, np.float32)
    tuned = tune(read_behind, [{"BEHIND": 1 << 40, "BLOCK": block} for block in (32, 64)])
    with pytest.raises(tw.LaunchError, match="TW0446.*\n.*TW0446") as error:
        tuned[blocks(64)](x, out, 64)
    assert error.value.code == "TW0411" and len(tuned.report.left_out) == 2
