"""Timelines of warps of simulated programs, as traces: spans nest, and waits and copies are those of the report."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from masked_kernels import matmul
from tilewright.explain.timeline import chrome_trace
from tilewright.tools.cli import main

pytestmark = pytest.mark.usefixtures("compiler")
DEVICES = ("sim:sm_80", "sim:sm_90a", "sim:gfx942")
SIZE = {"M": 32, "N": 64, "K": 200}


@tw.jit
def counted_often(x, times, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    for _ in range(times):
        tw.atomic_add(x + i, 1.0)


def simulated(device: str, programs: int = 1, timelines: int = 1, **words: Any) -> tw.simulation.SimulationReport:
    """The report of a launch of the kernel."""
    rng = np.random.default_rng(5)
    a, b = (rng.standard_normal((SIZE[x], SIZE[y])).astype(np.float16) for x, y in ("MK", "KN"))
    c = np.full((SIZE["M"], SIZE["N"]), np.nan, np.float32)
    with tw.simulation.simulate(device, timelines=timelines, **words):
        matmul[(programs,)](c, a, b, *SIZE.values(), BM=32 // programs, BN=64, BK=32)
    np.testing.assert_allclose(c, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-3, atol=1e-2)
    return tw.simulation.last_report(device)


def events_of(report: tw.simulation.SimulationReport) -> list[dict[str, Any]]:
    return json.loads(report.chrome_trace())["traceEvents"]


def spans(events: list[dict[str, Any]]) -> Iterator[list[tuple[int, int, str]]]:
    """Of each warp begin, end and category of its spans, the outer ones first."""
    threads: dict[Any, list[tuple[int, int, str]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            threads[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"], event["cat"]))
    for of_warp in threads.values():
        yield sorted(of_warp, key=lambda span: (span[0], -span[1]))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("schedule", ["round-robin", "random"])
def test_spans_nest_and_steps_stand_in_turns(schedule: str, device: str) -> None:
    events = events_of(simulated(device, schedule=schedule, seed=3))
    threads = list(spans(events))
    assert len(threads) == (4 if device != "sim:gfx942" else 8), "an AMD wave is two warps"
    turns: list[tuple[int, int]] = []
    for thread in threads:
        open_spans: list[tuple[int, int, str]] = []
        for begin, end, category in thread:
            assert begin <= end
            while open_spans and open_spans[-1][1] <= begin:
                open_spans.pop()
            assert not open_spans or end <= open_spans[-1][1], "one is within the other, or they are apart"
            if category == "step":
                assert open_spans and open_spans[0][2] == "turn"
            open_spans.append((begin, end, category))
        turns += [(begin, end) for begin, end, category in thread if category == "turn"]
    turns.sort()
    assert all(first[1] <= second[0] for first, second in zip(turns, turns[1:])), "warps take turns"


@pytest.mark.parametrize("device", DEVICES)
def test_each_wait_of_the_report_is_in_the_trace(device: str) -> None:
    report = simulated(device)
    waits = Counter(
        int(event["args"]["source"].rpartition(":")[2]) for event in events_of(report) if event.get("cat") == "wait"
    )
    counted = {line["line"]: line["waits"] for line in report.statistics["lines"] if line["waits"]}
    assert waits == counted and sum(waits.values()) > 4
    names = {event["name"] for event in events_of(report) if event.get("cat") == "wait"}
    assert any("bar" in name for name in names), names


@pytest.mark.parametrize("completion", ["late", "early"])
def test_copies_are_in_flight_until_they_are_waited_for(completion: str) -> None:
    report = simulated("sim:sm_80", completion=completion)
    events = events_of(report)
    begun = {event["id"]: event for event in events if event["ph"] == "b"}
    ended = {event["id"]: event for event in events if event["ph"] == "e"}
    assert begun.keys() == ended.keys() and len(begun) == report.statistics["async_copies"] > 0
    assert all(begun[key]["name"].startswith("cp.async") for key in begun)
    assert all(begun[key]["ts"] < ended[key]["ts"] for key in begun)
    # Three copies of each warp fill the slots of an iteration: those of a later one begin while they are in flight.
    points = sorted((event["ts"], 1 if event["ph"] == "b" else -1) for event in events if event["ph"] in "be")
    running, most = 0, 0
    for _, change in points:
        running += change
        most = max(most, running)
    assert running == 0 and most > 3 * 4


def test_as_many_programs_as_were_asked_for() -> None:
    report = simulated("sim:sm_80", programs=2, timelines=2)
    assert [one["program"] for one in report.timelines] == [0, 1]
    names = [event["args"]["name"] for event in events_of(report) if event["name"] == "process_name"]
    assert names == ["program 0", "program 1"]
    assert simulated("sim:sm_80", timelines=0).timelines == []
    assert events_of(simulated("sim:sm_80", timelines=0)) == []
    with pytest.raises(ValueError, match="timelines is a number of programs"):
        simulated("sim:sm_80", timelines=-1)
    with pytest.raises(ValueError, match="takes max_steps, arrays and bounds only"):
        simulated("reference", timelines=1)


def test_a_timeline_that_is_too_long_says_that_it_is_cut() -> None:
    report = simulated("sim:sm_80")
    assert not report.timelines[0]["isCut"] and json.loads(report.chrome_trace())["otherData"]["cut"] == []
    x = np.zeros(1 << 11, np.float32)
    with tw.simulation.simulate("sim:sm_80", timelines=1):
        counted_often[(1,)](x, 1 << 11, BLOCK=1 << 11, num_warps=1)
    long = tw.simulation.last_report()
    assert long.timelines[0]["isCut"] and len(long.timelines[0]["events"]) == 1 << 16
    assert json.loads(long.chrome_trace())["otherData"]["cut"] == [0]


def test_names_may_have_any_signs() -> None:
    hostile = '"}],\x1b[2J\u202e\n</script>'
    timeline = {"program": 0, "isCut": False, "events": [[1, 0, 7, 0, 1], [3, 0, 7, 1, 2]]}
    text = chrome_trace([timeline], {"7": {"text": hostile, "file": hostile, "line": 3}})
    step = next(event for event in json.loads(text)["traceEvents"] if event["ph"] == "X")
    assert step["args"]["source"].endswith("</script>:3") and "\x1b" not in step["args"]["source"] + step["name"]
    assert "\u202e" not in text and text.isascii()


def test_the_command_writes_a_trace(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "trace.json"
    words = ["explain", f"{__file__}:matmul", "--signature", "*fp32:16, *fp16:16, *fp16:16, i32, i32, i32"]
    words += ["--constexpr", "BM=32, BN=64, BK=32", "--example", "c=M*N, a=M*K, b=K*N, M=32, N=64, K=96"]
    assert main([*words, "--run", "sim:sm_80", "--timeline", str(file)]) == 0
    trace = json.loads(file.read_text())
    assert any(event["name"].startswith("mma.sync") for event in trace["traceEvents"])
    assert "no cycles" in trace["otherData"]["unit"]
    assert main([*words, "--timeline", str(file)]) == 1
    assert "--timeline is of a simulated launch" in capsys.readouterr().err
