"""`tw.testing`: times with cold caches, rotated inputs and events; comparisons in units in the last place; reports."""

from __future__ import annotations

import math
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest
from tilewright import testing
from tilewright.testing import caches, timing

torch = pytest.importorskip("torch")


class Clock:
    """A clock that calls of itself move on, and that records what happens between."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *costs: float) -> None:
        self.costs, self.now, self.events = costs, 0, list[Any]()
        monkeypatch.setattr(time, "perf_counter_ns", lambda: self.now)

    def __call__(self, *args: Any) -> None:
        self.now += round(self.costs[len(self.events) % len(self.costs)] * 1e6)
        self.events.append(args)

    def flush(self) -> None:
        self.now += round(7e6)
        self.events.append("flush")


def test_the_caches_are_overwritten_before_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 2.0)
    monkeypatch.setattr(timing, "make_flush", lambda: clock.flush)
    times = testing.do_bench(clock, warmup=0, rep=6, return_mode="all", cold=True)
    assert times == [2.0, 2.0, 2.0], "the flush itself is not timed"
    assert clock.events == [(), "flush", (), "flush", (), "flush", ()]
    clock.events.clear()
    testing.do_bench(clock, warmup=0, rep=6)
    assert "flush" not in clock.events


def test_measuring_ends_where_overwriting_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.001)
    monkeypatch.setattr(timing, "make_flush", lambda: clock.flush)
    assert len(testing.do_bench(clock, warmup=0, rep=7, return_mode="all", cold=True)) == 10


def test_the_largest_cache_is_overwritten(tmp_path: Path) -> None:
    for index, size in enumerate(("32K", "1024K", "300M")):
        (tmp_path / f"index{index}").mkdir()
        (tmp_path / f"index{index}" / "size").write_text(f"{size}\n")
    assert caches.cache_bytes(tmp_path) == 300 << 20
    assert caches.cache_bytes(tmp_path / "nowhere") == 0
    caches.make_flush()()


def test_inputs_rotate(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 1.0)
    testing.do_bench(clock, warmup=0, rep=4, inputs=[("a", 1), ("b", 2)])
    assert clock.events == [("a", 1), ("b", 2)] * 2 + [("a", 1)]


def test_the_spread_of_times() -> None:
    spread = testing.summarize([4.0, 1.0, 2.0, 3.0, 5.0, 6.0], None, "spread")
    assert spread == testing.Spread(3.5, 2.0, 5.0, 6) and spread.relative == pytest.approx(3 / 3.5)
    assert testing.summarize([2.0], None, "spread").relative == 0


class Gpu:
    """torch.cuda as far as measurements use it, with a clock of its own."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.log = 0.0, list[str]()
        gpu = self

        class Event:
            def __init__(self, enable_timing: bool) -> None:
                assert enable_timing

            def record(self) -> None:
                self.time = gpu.now

            def elapsed_time(self, other: Any) -> float:
                return other.time - self.time

        class Graph:
            def replay(self) -> None:
                gpu.now += 0.5 * gpu.captured

        class Capture:
            def __init__(self, graph: Any) -> None:
                pass

            def __enter__(self) -> None:
                self.before = len(gpu.log)

            def __exit__(self, *_: Any) -> None:
                gpu.captured = gpu.log[self.before :].count("call")

        cuda = SimpleNamespace(
            is_initialized=lambda: True, is_available=lambda: True, Event=Event, CUDAGraph=Graph, graph=Capture,
            synchronize=lambda: self.log.append("wait"), Stream=lambda: None, stream=lambda _: _Nothing(),
        )  # fmt: skip
        monkeypatch.setattr(torch, "cuda", cuda)
        monkeypatch.setattr(torch, "empty", lambda *_, **__: SimpleNamespace(zero_=self.zero))

    def zero(self) -> None:
        self.now += 100.0
        self.log.append("zero")

    def call(self) -> None:
        self.now += 2.0
        self.log.append("call")


class _Nothing:
    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        pass


def test_gpus_are_timed_between_events_with_a_cold_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(monkeypatch)
    assert testing.do_bench(gpu.call, warmup=4, rep=6, return_mode="all") == [2.0, 2.0, 2.0]
    assert gpu.log == ["call", "wait", *["call"] * 5, "wait", "call", "call", *["zero", "call"] * 3, "wait"]
    gpu.log.clear()
    testing.do_bench(gpu.call, warmup=0, rep=6, cold=False)
    assert "zero" not in gpu.log


def test_graphs_are_replayed_for_times_without_launches(monkeypatch: pytest.MonkeyPatch) -> None:
    gpu = Gpu(monkeypatch)
    assert testing.do_bench_cudagraph(gpu.call, rep=20, return_mode="all") == [0.5] * 10
    assert gpu.captured == 10


NUMBERS = [
    (torch.float16, 1.0, 1.0 + 2.0**-8, 4), (torch.bfloat16, 1.0, 1.0 + 2.0**-4, 8),
    (torch.float32, 1.0, 1.0 + 2.0**-16, 128), (torch.float64, 1.0, 1.0 + 2.0**-20, 2**32),
    (torch.float8_e4m3fn, 1.0, 1.25, 2), (torch.float8_e5m2, 1.0, 1.5, 2), (torch.float16, 0.0, 2.0**-14, 1024),
]  # fmt: skip


@pytest.mark.parametrize("dtype, expected, actual, units", NUMBERS)
def test_differences_are_in_units_in_the_last_place(dtype: Any, expected: float, actual: float, units: int) -> None:
    left, right = torch.tensor([expected, actual]).to(dtype), torch.tensor([expected] * 2).to(dtype)
    if dtype == torch.float64:
        left = torch.tensor([expected, actual], dtype=dtype)
    with pytest.raises(AssertionError, match=rf"1 of 2 .*\(1,\): .*, {units} ulp of {str(dtype)[6:]}"):
        testing.assert_close(left, right)
    testing.assert_close(left, right, ulps=units)
    with pytest.raises(AssertionError, match=rf"by more than (?:.*) ulp"):
        testing.assert_close(left, right, ulps=units - 1)


def test_the_coarser_type_counts() -> None:
    half = torch.tensor([1.0009765625], dtype=torch.float16)
    testing.assert_close(half, torch.tensor([1.0], dtype=torch.float64), ulps=1)
    testing.assert_close(half, [1.0], ulps=1)


def test_the_worst_element_and_odd_numbers_are_named() -> None:
    nan, inf = math.nan, math.inf
    actual = numpy.float32([[1, nan, 3], [inf, 5, 6.5]])
    expected = numpy.float32([[1, 2, 3], [4, 5, 6]])
    with pytest.raises(AssertionError, match=r"3 of 6 .*\(0, 1\): nan instead of 2.0 \(1 NaN and 1 infinite where"):
        testing.assert_close(actual, expected)
    with pytest.raises(AssertionError, match="2 of 3.*2.0 instead of 5.0"):
        testing.assert_close(numpy.array([1, 2, 3]), numpy.array([1, 5, 4]))
    for wrong in ({"ulps": 1, "atol": 1.0}, {"ulps": 1, "rtol": 1.0}):
        with pytest.raises(ValueError, match="a bound of its own"):
            testing.assert_close(actual, expected, **wrong)
    with pytest.raises(ValueError, match="floating-point"):
        testing.assert_close([1], [1], ulps=1)


def report(**options: Any) -> Any:
    fields: dict[str, Any] = {
        "x_names": ["n"], "x_vals": [1, 10, 100], "line_arg": "how", "line_vals": [1, 2],
        "line_names": ["<one>", "two"], "plot_name": "first & best", "args": {}, "ylabel": "ms", "x_log": True,
    }  # fmt: skip
    return testing.Benchmark(**{**fields, **options})


def test_a_report_is_one_page_without_matplotlib(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", None)

    @testing.perf_report([report(), report(plot_name="second", x_vals=[5], y_log=True)])
    def measure(n: int, how: int) -> Any:
        return (float(n * how), n * how - 0.5, n * how + 0.5) if how == 1 else float(n * how)

    measure.run(save_path=str(tmp_path))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first & best.csv", "results.html", "second.csv"]
    page = (tmp_path / "results.html").read_text()
    assert page.count("<svg") == 2 and page.count("<polyline") == 4 and page.count("<polygon") == 2
    assert "<h2>first &amp; best</h2>" in page and "&lt;one&gt;" in page and "<one>" not in page
    assert "<td>10</td><td>10.000000</td><td>20.000000</td>" in page
    first = page[page.index("<polyline") :].partition("'")[2].partition("'")[0].split()
    assert [float(point.split(",")[0]) for point in first] == [56.0, 343.0, 630.0], "a logarithmic axis"
    assert "matplotlib is not installed (pip install matplotlib)" in capsys.readouterr().out


def test_a_report_plots_by_matplotlib_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[str] = []

    class Pyplot:
        def __getattr__(self, name: str) -> Any:
            def draw(*args: Any, **kwargs: Any) -> Any:
                drawn.append(name)
                if name == "savefig":
                    Path(args[0]).write_bytes(b"png")
                return self

            return draw

    monkeypatch.setitem(__import__("sys").modules, "matplotlib", SimpleNamespace(pyplot=Pyplot()))
    monkeypatch.setitem(__import__("sys").modules, "matplotlib.pyplot", Pyplot())
    testing.perf_report(report(plot_name="plot"))(lambda n, how: float(n)).run(save_path=str(tmp_path))
    assert (tmp_path / "plot.png").read_bytes() == b"png" and drawn.count("plot") == 2
