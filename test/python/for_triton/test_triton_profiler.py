"""The profiler of launches: what it records, where, and what it writes."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.triton as triton
import tilewright.triton.language as tl
import tilewright.triton.profiler as proton
import tilewright.triton.profiler.language as pl
from tilewright.errors import DeviceError, UnsupportedError
from tilewright.launch import hooks
from tilewright.profiler import clocks, sessions
from tilewright.native.targets import device_named
from tilewright.triton.profiler import viewer


def told(grid: Any, metadata: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    n = arguments["n"]
    return {"name": f"scale_{n}", "bytes": 8 * n, "flops32": n, "other": None}


@triton.jit(launch_metadata=told)
def scale(x, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    with pl.scope("body"):
        pl.enter_scope("load")
        v = tl.load(x + i, mask=i < n)
        pl.exit_scope("load")
        tl.store(x + i, v * 2, mask=i < n)


@triton.jit
def failing(x):
    tl.device_assert(tl.load(x) > 0, "positive")


@pytest.fixture(autouse=True)
def _ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    yield
    proton.finalize()
    assert not hooks.launch_enter and not hooks.launch_exit


def launched(n: int = 64) -> None:
    scale[(triton.cdiv(n, 64),)](np.ones(n, np.float32), n, 64)


def children(frame: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found = {child["frame"]["name"]: child for child in frame["children"]}
    assert len(found) == len(frame["children"])
    return found


def counts(frame: dict[str, Any]) -> dict[str, int]:
    """The launches by their path."""
    below = {
        f"{frame['frame']['name']}/{path}": count
        for child in frame["children"]
        for path, count in counts(child).items()
    }
    own = frame["metrics"].get("count", 0)
    return {**below, frame["frame"]["name"]: own} if own else below


def test_launches_are_counted_under_the_scopes_they_are_in(device: str) -> None:
    launched()  # compiled before, and not recorded
    session = proton.start("profile")
    launched()
    with proton.scope("a", {"flops": 5}):
        for n in (64, 65, 64):
            launched(n)
        with proton.scope("b"), proton.state("first"), proton.state("second"):
            launched()

    @proton.scope("a")
    def again() -> None:
        launched()

    again()
    proton.deactivate(session)
    with proton.scope("unseen"):
        launched()
    proton.activate(session)
    proton.enter_scope("entered", metrics={"bytes": np.int64(3)})
    proton.exit_scope("entered", metrics={"bytes": 4})
    proton.finalize(session)
    root, devices = json.loads(Path("profile.hatchet").read_text())
    assert counts(root) == {"ROOT/scale": 1, "ROOT/a/scale": 4, "ROOT/a/b/second/scale": 1}
    assert children(root)["a"]["metrics"] == {"flops": 5}
    assert children(root)["entered"]["metrics"] == {"bytes": 7}
    assert root["metrics"] == {"bytes": 0, "count": 0, "flops": 0, "time (ns)": 0}
    kernel = children(children(root)["a"])["scale"]["metrics"]
    assert kernel["time (ns)"] > 0
    assert kernel["device_id"] in devices[kernel["device_type"]]


def test_launch_metadata_names_and_measures_launches() -> None:
    proton.start("profile", hook="triton")
    launched(64)
    launched(100)
    launched(100)
    frames = children(proton.data.get()[0])
    assert {name: frame["metrics"]["count"] for name, frame in frames.items()} == {
        "scale_64": 1, "scale_100": 2
    }  # fmt: skip
    assert frames["scale_100"]["metrics"]["bytes"] == 1600
    assert "other" not in frames["scale_100"]["metrics"]
    proton.data.clear()
    assert proton.data.get()[0]["children"] == [] and proton.data.get(None) is None


def test_sessions_record_apart_and_names_go_on() -> None:
    first = proton.start("one")
    launched()
    second = proton.start("two", data="trace", context="python")
    launched()
    assert proton.start("one") == first != second
    launched()
    proton.finalize(first)
    launched()
    proton.finalize(output_format="chrome_trace")
    assert counts(json.loads(Path("one.hatchet").read_text())[0]) == {"ROOT/scale": 3}
    events = json.loads(Path("two.chrome_trace").read_text())["traceEvents"]
    assert [event["name"] for event in events] == ["scale"] * 3
    assert all(event["ph"] == "X" and event["dur"] > 0 for event in events)
    starts = [event["ts"] for event in events]
    assert starts == sorted(starts) and len(set(starts)) == 3
    stack = events[0]["args"]["call_stack"]
    assert stack[0] == "ROOT" and stack[-1] == "scale" and f"{__file__}:launched@" in stack[-2]


def test_a_launch_that_fails_is_not_recorded() -> None:
    proton.start("profile")
    with pytest.raises(DeviceError), proton.scope("fails"):
        failing[(1,)](np.zeros(1, np.float32), debug=True)
    launched()
    assert counts(proton.data.get()[0]) == {"ROOT/scale": 1}


def test_threads_have_scopes_of_their_own() -> None:
    launched()
    proton.start("profile")

    def work(name: str) -> None:
        with proton.scope(name):
            for _ in range(50):
                launched()

    with proton.scope("main"):
        threads = [threading.Thread(target=work, args=(f"t{i}",)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    found = counts(proton.data.get()[0])
    assert found == {f"ROOT/t{i}/scale": 50 for i in range(4)}


def test_the_same_kernel_on_two_devices_is_two_frames() -> None:
    proton.start("profile")
    for name in ("cpu", "reference", "cpu"):
        with tw.device(name):
            launched()
    tree, devices = proton.data.get()
    found = {f["metrics"]["device_type"]: f["metrics"]["count"] for f in tree["children"]}
    assert found == {"cpu": 2, "reference": 1} and set(devices) == {"cpu", "reference"}


def test_decorated_functions_record_their_calls() -> None:
    @proton.profile
    def plain() -> int:
        launched()
        return 3

    @proton.profile(name="named", hook="triton")
    def named() -> None:
        launched()

    assert plain() == 3 and plain() == 3
    named()
    launched()
    proton.finalize()
    assert counts(json.loads(Path("proton.hatchet").read_text())[0]) == {"ROOT/scale": 2}
    assert counts(json.loads(Path("named.hatchet").read_text())[0]) == {"ROOT/scale_64": 1}


def test_timed_scopes_say_how_long_the_program_was_in_them() -> None:
    proton.start("profile")
    with proton.cpu_timed_scope("outer"), proton.cpu_timed_scope("inner"):
        launched()
    proton.finalize()
    root = json.loads(Path("profile.hatchet").read_text())[0]
    outer = children(root)["outer"]
    inner = children(outer)["inner"]
    kernel = children(inner)["scale"]
    times = [outer["metrics"]["cpu_time (ns)"], inner["metrics"]["cpu_time (ns)"]]
    assert times[0] > times[1] > kernel["metrics"]["time (ns)"] > 0
    assert "cpu_time (ns)" not in root["metrics"]  # it is not a sum


def test_what_cannot_be_recorded_is_refused() -> None:
    for options in ({"backend": "instrumentation"}, {"mode": "pcsampling"}, {"mode": proton.mode.Default()},
                    {"mode": proton.mode.PCSampling()}, {"mode": "periodic_flushing"}):  # fmt: skip
        with pytest.raises(UnsupportedError) as caught:
            proton.start("profile", **options)
        assert caught.value.code == "TW0432"
    for options in ({"backend": "mine"}, {"hook": "other"}, {"data": "list"}, {"context": "both"}):
        with pytest.raises(ValueError):
            proton.start("profile", **options)
    with pytest.raises(ValueError, match="no session 7"):
        proton.finalize(7)
    with pytest.raises(ValueError, match="no scope to exit"):
        proton.exit_scope()
    proton.start("profile")
    with pytest.raises(ValueError, match="hatchet"):
        proton.finalize(output_format="chrome_trace")
    proton.enter_scope("a")
    with pytest.raises(ValueError, match="'a', not 'b'"):
        proton.exit_scope("b")
    proton.exit_scope("a")
    with pytest.raises(ValueError, match="not a number"):
        proton.scope("a", {"bytes": "many"}).__enter__()
    with pytest.raises(ValueError, match="granularity"):
        proton.mode.Default(granularity="grid")


def test_scopes_mean_nothing_where_nothing_records() -> None:
    with proton.scope("a", {"bytes": "many"}), proton.cpu_timed_scope("b"):
        launched()
    proton.enter_scope("a")
    proton.start("profile")
    proton.exit_scope("a")
    launched()
    assert counts(proton.data.get()[0]) == {"ROOT/scale": 1}


def frame(name: str, metrics: dict[str, Any], *below: Any) -> dict[str, Any]:
    return {"frame": {"name": name, "type": "function"}, "metrics": metrics, "children": [*below]}


def kernel(name: str, count: int, time: int, **metrics: int) -> dict[str, Any]:
    return frame(name, {"count": count, "time (ns)": time, "device_id": "0", "device_type": "CUDA", **metrics})


PROFILE = [
    frame(
        "ROOT", {"count": 0, "time (ns)": 0, "flops16": 0, "bytes": 0},
        frame("a", {}, kernel("k", 4, 8_000_000, flops16=8 * 10**9, bytes=4000), kernel("m", 1, 2_000_000)),
        frame("c", {"cpu_time (ns)": 5_000}, kernel("k", 1, 10_000_000, flops16=10**9)),
    ),
    {},
]  # fmt: skip


def test_a_profile_is_shown_with_derived_metrics(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "p.hatchet"
    path.write_text(json.dumps(PROFILE))
    asked = ["time/ms", "avg_time/us", "tflop16/s", "byte/s", "time/%", "count", "cpu_time/us"]
    tree, columns = viewer.parse(asked, str(path))
    shown = {node.name: [node.values[name] for name in columns] for node in tree.walk() if node.name != "k"}
    assert shown["ROOT"][:6] == pytest.approx([20, 20_000 / 6, 9e9 / 0.02 / 1e12, 200_000, 100, 6])
    assert shown["a"][:6] == pytest.approx([10, 2000, 0.8, 400_000, 50, 5])
    assert shown["m"][2:4] == [0, 0] and math.isnan(shown["m"][6])
    assert shown["c"][6] == pytest.approx(5)
    viewer.print_tree(tree, columns[:1], print_sorted=True)
    lines = capsys.readouterr().out.splitlines()
    assert lines[:6] == ["20.000 ROOT", "|- 10.000 a", "|  |- 8.000 k", "|  `- 2.000 m", "`- 10.000 c", "   `- 10.000 k"]  # fmt: skip
    assert [line.split()[0] for line in lines[7:]] == ["a", "c", "k", "k", "m"]
    names = lambda **options: [n.name for n in viewer.parse(["time/ms"], str(path), **options)[0].walk()]  # noqa: E731
    assert names(include="m") == ["ROOT", "a", "m"]
    assert names(exclude="^a$") == ["ROOT", "c", "k"]
    assert names(threshold=5) == ["ROOT", "a", "k", "c", "k"]
    for metric in ("util", "flop8/s", "nothing", "time/h"):
        with pytest.raises(ValueError, match=metric.partition("/")[0].removesuffix("8")):
            viewer.parse([metric], str(path))


def test_the_viewer_is_a_command(tmp_path: Path) -> None:
    path = tmp_path / "p.hatchet"
    path.write_text(json.dumps(PROFILE))
    run = lambda *words: subprocess.run(  # noqa: E731
        [sys.executable, "-m", "tilewright.triton.profiler.viewer", *words],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "20.000 ROOT" in run("-m", "time/ms", str(path)).stdout
    assert "flops16" in run("-l", str(path)).stdout
    (tmp_path / "bad").write_text("[]")
    for words in (("-m", "util", str(path)), (str(tmp_path / "bad"),), (str(tmp_path / "none"),)):
        result = run(*words)
        assert result.returncode == 1 and result.stderr.startswith("error: ")


class FakeTorch:
    """The events of a GPU whose streams run what they are given at once, by a clock of its own."""

    def __init__(self) -> None:
        self.now, self.is_capturing, self.waited = 0.0, False, 0
        torch = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self, stream: Any) -> None:
                self.at, self.stream = torch.now, stream

            def synchronize(self) -> None:
                torch.waited += 1

            def elapsed_time(self, later: Any) -> float:
                return later.at - self.at

        class Stream:
            def __init__(self, number: int, gpu: Any = None) -> None:
                self.cuda_stream = number

        self.device = str
        self.cuda = SimpleNamespace(
            Event=Event, ExternalStream=Stream, current_stream=lambda gpu: Stream(0),
            is_current_stream_capturing=lambda: self.is_capturing,
        )  # fmt: skip


def test_launches_on_gpus_are_timed_by_events_of_their_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = FakeTorch()
    monkeypatch.setitem(sys.modules, "torch", torch)
    clock = clocks.EventClock(device_named("cuda:0"))
    told: list[tuple[int, int]] = []
    for stream, duration in ((0, 2.0), (7, 0.5), (0, 1.0)):
        torch.now += 3.0
        begun = clock.begin(stream)
        assert begun[1].cuda_stream == stream == begun[0].stream.cuda_stream
        torch.now += duration
        clock.end(begun, lambda start, duration: told.append((start, duration)))
    assert not told and not torch.waited  # a launch waits for nothing
    torch.is_capturing = True
    clock.end(clock.begin(0), lambda *times: told.append(times))
    clock.settle()
    clock.settle()
    assert told == [(3_000_000, 2_000_000), (8_000_000, 500_000), (11_500_000, 1_000_000)]
    assert torch.waited == 3


def test_nothing_is_recorded_in_the_middle_of_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    free: list[bool] = []

    def written(session: sessions.Session) -> Any:
        other = threading.Thread(target=lambda: free.append(sessions._lock.acquire(blocking=False)))
        other.start()
        other.join()
        return original(session)

    original = sessions.Session.written
    monkeypatch.setattr(sessions.Session, "written", written)
    session = proton.start(str(tmp_path / "s"))
    scale[(1,)](np.zeros(8, np.float32), 8, B=8)
    sessions.records(session)
    proton.finalize(session)
    assert free == [False, False]


def test_one_file_that_cannot_be_written_keeps_no_other_from_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    x = np.zeros(8, np.float32)
    for name in ("before", "file/within", "after"):
        proton.start(str(tmp_path / name))
    scale[(1,)](x, 8, B=8)
    with pytest.raises(OSError):
        proton.finalize()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["after.hatchet", "before.hatchet", "file"]
    assert not hooks.launch_enter and not hooks.launch_exit
    proton.finalize()


def test_a_launch_that_fails_keeps_no_array_alive(tmp_path: Path) -> None:
    class Failing(np.ndarray):
        pass

    x = np.zeros(8, np.float32).view(Failing)
    scale[(1,)](x, 8, B=8)
    gone, failures = weakref.ref(x), 0

    def fails(metadata: Any) -> None:
        raise ZeroDivisionError

    session = proton.start(str(tmp_path / "s"))
    hooks.launch_enter.add(fails)
    try:
        for _ in range(3):
            try:
                scale[(1,)](x, 8, B=8)
            except ZeroDivisionError:
                failures += 1
    finally:
        hooks.launch_enter.remove(fails)
    del x
    assert failures == 3 and gone() is None
    scale[(1,)](np.zeros(8, np.float32), 8, B=8)
    proton.finalize(session)
    root = json.loads((tmp_path / "s.hatchet").read_text())[0]
    assert [frame["metrics"]["count"] for frame in root["children"]] == [1]


def test_what_a_launch_says_of_itself_without_numbers_is_no_metric(tmp_path: Path) -> None:
    @triton.jit(launch_metadata=lambda *_: {"name": "named", "what": "a text", "flops": 3})
    def zero(x):
        tl.store(x, 0.0)

    session = proton.start(str(tmp_path / "s"), hook="triton")
    zero[(1,)](np.zeros(1, np.float32))
    proton.finalize(session)
    (frame,) = json.loads((tmp_path / "s.hatchet").read_text())[0]["children"]
    assert frame["frame"]["name"] == "named" and frame["metrics"]["flops"] == 3
    assert "what" not in frame["metrics"]


def test_a_child_forked_in_the_middle_of_a_record_records(tmp_path: Path) -> None:
    session = proton.start(str(tmp_path / "s"))
    is_held, is_over = threading.Event(), threading.Event()

    def hold() -> None:
        with sessions._lock:
            is_held.set()
            is_over.wait(0.2)

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # instead of waiting for ever
        scale[(1,)](np.zeros(8, np.float32), 8, B=8)
        proton.finalize(session)
        os._exit(7)
    is_over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    proton.finalize(session)


def test_a_function_that_ends_its_own_session_is_recorded(tmp_path: Path) -> None:
    @proton.profile(name=str(tmp_path / "own"))
    def step() -> int:
        scale[(1,)](np.zeros(8, np.float32), 8, B=8)
        proton.finalize()
        return 5

    assert step() == 5 and (tmp_path / "own.hatchet").exists()
