"""Autotuning and heuristics, and the measurements they use. Without a compiler."""

from __future__ import annotations

import math
import time
from typing import Any

import numpy
import pytest
import tilewright as tw
from fake_native import FakeNative
from tilewright import testing
from tilewright.tuning.autotune import Autotuner


def body(out, n, BLOCK: tw.constexpr, EVEN: tw.constexpr = False):
    tw.store(out + n, BLOCK)


class Bench:
    """Measures by the constant that a configuration chose instead of by a clock."""

    def __init__(self, fake: FakeNative, cost: dict[int, float]) -> None:
        self.fake, self.cost, self.calls = fake, cost, 0

    def __call__(self, launch: Any, quantiles: Any) -> list[float]:
        self.calls += 1
        launch()
        return [self.cost[chosen_block(self.fake)], 0.0, 0.0]


def chosen_block(fake: FakeNative) -> int:
    kernel = fake.launches[-1][0]
    source = next(c for c, k in zip(fake.compilations, range(1, 99)) if kernel.key == f"{k:064x}")
    text = {s.name: s for s in source[1].arguments}["BLOCK"].facts["json"]
    return int(text.split('"v":"')[1].rstrip('"}'))


def configs(*blocks: int) -> list[tw.Config]:
    return [tw.Config({"BLOCK": block}, num_warps=2) for block in blocks]


def test_the_fastest_configuration_is_used_for_its_key(fake: FakeNative) -> None:
    bench = Bench(fake, {16: 3.0, 32: 1.0, 64: 2.0})
    kernel = tw.autotune(configs(16, 32, 64), key=["n"], do_bench=bench)(tw.jit(body))
    out = numpy.zeros(4)
    kernel[(4,)](out, 60)
    assert chosen_block(fake) == 32 and kernel.best_config.kwargs == {"BLOCK": 32}
    assert bench.calls == 3 and sorted(kernel.configs_timings.values()) == [1.0, 2.0, 3.0]
    kernel[(4,)](out, 60)
    assert bench.calls == 3
    kernel[(4,)](out, 61)
    assert bench.calls == 6
    kernel[(4,)](out.astype(numpy.float32), 61)
    assert bench.calls == 9
    assert kernel[(4,)](out, 60).metadata.num_warps == 2


def test_the_grid_sees_the_chosen_constants(fake: FakeNative) -> None:
    bench = Bench(fake, {16: 1.0, 32: 2.0})
    kernel = tw.autotune(configs(16, 32), key=[], do_bench=bench)(tw.jit(body))
    kernel[lambda arguments: (tw.cdiv(arguments["n"], arguments["BLOCK"]),)](numpy.zeros(4), 60)
    assert fake.launches[-1][1] == (4, 1, 1)


def test_one_configuration_is_not_measured(fake: FakeNative) -> None:
    bench = Bench(fake, {})
    kernel = tw.autotune(configs(16), key=["n"], do_bench=bench)(tw.jit(body))
    kernel[1](numpy.zeros(4), 60)
    assert bench.calls == 0 and chosen_block(fake) == 16


def test_arrays_are_restored_between_measurements(fake: FakeNative) -> None:
    torch = pytest.importorskip("torch")
    seen: list[tuple[float, float]] = []

    def bench(launch: Any, quantiles: Any) -> float:
        restored.add_(5.0)
        zeroed.add_(5.0)
        launch()
        seen.append((float(restored[0]), float(zeroed[0])))
        return 1.0

    restored, zeroed = torch.full((4,), 7.0), torch.full((4,), 7.0)

    @tw.jit
    def kernel(a, b, BLOCK: tw.constexpr):
        tw.store(a, tw.load(b) + BLOCK)

    tuned = tw.autotune(
        configs(16, 32), key=[], reset_to_zero=["b"], restore_value=["a"], do_bench=bench
    )(kernel)
    tuned[1](restored, zeroed)
    assert seen == [(7.0, 0.0)] * 2 and float(restored[0]) == 7.0


def test_configurations_that_fail_are_left_out(fake: FakeNative) -> None:
    bench = Bench(fake, {16: 1.0, 32: 2.0})
    bad = tw.Config({"BLOCK": 16}, num_warps=3)
    kernel = tw.autotune([bad, *configs(32)], key=[], do_bench=bench)(tw.jit(body))
    kernel[1](numpy.zeros(4), 60)
    assert chosen_block(fake) == 32 and kernel.configs_timings[bad] == math.inf
    hopeless = tw.autotune([bad, tw.Config({"BLOCK": 8}, num_warps=5)], key=[])(tw.jit(body))
    with pytest.raises(tw.LaunchError, match="num_warps=3") as error:
        hopeless[1](numpy.zeros(4), 60)
    assert error.value.code == "TW0411"


def test_pruning(fake: FakeNative) -> None:
    bench = Bench(fake, {16: 3.0, 32: 2.0, 64: 1.0})
    prune = {
        "early_config_prune": lambda configs, named, **_: [
            c for c in configs if c.kwargs["BLOCK"] < named["n"]
        ],
        "perf_model": lambda BLOCK, **_: BLOCK,
        "top_k": 1,
    }
    kernel = tw.autotune(configs(64, 32, 16), ["n"], prune_configs_by=prune, do_bench=bench)(
        tw.jit(body)
    )
    kernel[1](numpy.zeros(4), 60)
    assert bench.calls == 0 and chosen_block(fake) == 16
    with pytest.raises(tw.LaunchError, match="no configuration"):
        kernel[1](numpy.zeros(4), 3)


def test_pruning_tells_positional_arguments_from_keywords(fake: FakeNative) -> None:
    seen: list[tuple[list[str], list[str]]] = []

    def prune(configs: Any, named: Any, **rest: Any) -> Any:
        seen.append((sorted(named), sorted(rest)))
        return configs

    bench = Bench(fake, {16: 1.0, 32: 2.0})
    rules = {"early_config_prune": prune}
    kernel = tw.autotune(configs(16, 32), ["n"], prune_configs_by=rules, do_bench=bench)(tw.jit(body))
    kernel[1](numpy.zeros(4), n=60)
    kernel[1](numpy.zeros(4), 61)
    kernel.warmup(numpy.zeros(4), n=62, grid=(1,))
    assert seen == [(["out"], ["n"]), (["n", "out"], []), (["out"], ["n"])]


def test_hooks(fake: FakeNative) -> None:
    events: list[str] = []
    config = tw.Config(
        {"BLOCK": 16}, pre_hook=lambda named: events.append(f"config {named['BLOCK']}")
    )
    kernel = tw.autotune(
        [config, *configs(32)],
        key=[],
        pre_hook=lambda named, reset_only: events.append("pre"),
        post_hook=lambda named, exception: events.append("post"),
        do_bench=Bench(fake, {16: 1.0, 32: 2.0}),
    )(tw.jit(body))
    kernel[1](numpy.zeros(4), 60)
    assert events == ["pre", "config 16", "post", "pre", "post", "config 16"]


def test_constants_given_twice_are_refused(fake: FakeNative) -> None:
    kernel = tw.autotune(configs(16), key=[])(tw.jit(body))
    with pytest.raises(tw.LaunchError, match="`BLOCK`"):
        kernel[1](numpy.zeros(4), 60, BLOCK=8)


def test_heuristics_compute_parameters(fake: FakeNative) -> None:
    rules = {
        "BLOCK": lambda named: tw.next_power_of_2(named["n"]),
        "EVEN": lambda named: named["n"] == named["BLOCK"],
    }
    kernel = tw.heuristics(rules)(tw.jit(body))
    kernel[1](numpy.zeros(4), 60)
    assert chosen_block(fake) == 64 and '"v":false' in fake.last["EVEN"].facts["json"]
    kernel[1](numpy.zeros(4), n=64)
    assert '"v":true' in fake.last["EVEN"].facts["json"]


def test_wrappers_can_be_stacked(fake: FakeNative) -> None:
    bench = Bench(fake, {16: 2.0, 32: 1.0})
    inner = tw.heuristics({"EVEN": lambda named: named["n"] % named["BLOCK"] == 0})(tw.jit(body))
    kernel = tw.autotune(configs(16, 32), key=["n"], do_bench=bench)(inner)
    kernel[1](numpy.zeros(4), 64)
    assert chosen_block(fake) == 32 and '"v":true' in fake.last["EVEN"].facts["json"]
    assert kernel.__name__ == "body" and kernel.arg_names == ["out", "n", "BLOCK", "EVEN"]
    assert len(kernel.warmup(numpy.zeros(4), 62).parameters) == 2


def test_configurations_compare_by_what_they_choose() -> None:
    assert tw.Config({"A": 1}) == tw.Config({"A": 1})
    assert tw.Config({"A": 1}) != tw.Config({"A": True})
    assert tw.Config({"A": 1}, num_warps=8) != tw.Config({"A": 1})
    assert "A: 1, num_warps: 4" in repr(tw.Config({"A": 1}))


def test_next_power_of_2() -> None:
    values = [tw.next_power_of_2(n) for n in (0, 1, 2, 3, 4, 5, 1023, 1024, 1025)]
    assert values == [1, 1, 2, 4, 4, 8, 1024, 1024, 2048]


def test_summaries_of_times() -> None:
    times = [4.0, 1.0, 3.0, 2.0]
    assert testing.summarize(times, None, "all") == times
    assert testing.summarize(times, None, "mean") == testing.summarize(times, [0.5], "mean") == 2.5
    assert testing.summarize(times, [0, 1, 1 / 3], "mean") == [1.0, 4.0, 2.0]
    assert [testing.summarize(times, None, m) for m in ("min", "max", "median")] == [1.0, 4.0, 2.5]
    with pytest.raises(ValueError, match="fastest"):
        testing.summarize(times, None, "fastest")


def test_do_bench_calls_the_function() -> None:
    calls: list[None] = []
    assert testing.do_bench(lambda: calls.append(None), warmup=0, rep=0.01) > 0
    assert len(calls) >= 2


class Clock:
    """A clock that only calls of itself move on, by as many milliseconds as the next cost says."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *costs: float) -> None:
        self.costs, self.calls, self.now = costs, 0, 0
        monkeypatch.setattr(time, "perf_counter_ns", lambda: self.now)

    def __call__(self) -> None:
        self.now += round(self.costs[min(self.calls, len(self.costs) - 1)] * 1e6)
        self.calls += 1


def test_do_bench_ends_in_time_where_calls_become_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 0.01, 0.01, 8.0)
    assert testing.do_bench(clock, warmup=25, rep=100, return_mode="median") == 8.0
    assert clock.calls == 1 + 1 + 4 + 13


def test_calls_longer_than_the_measurement_are_made_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch, 900.0, 500.0)
    assert testing.do_bench(clock, warmup=25, rep=100) == 500.0 and clock.calls == 2
    clock = Clock(monkeypatch, 40.0)
    assert testing.do_bench(clock, warmup=25, rep=100) == 40.0 and clock.calls == 5


@pytest.mark.parametrize(
    ("cost", "limit", "calls"),
    [(300.0, 3.0, 1), (4.0, 3.0, 8), (3.0, 3.0, 44), (1250.0, math.inf, 1), (1249.0, math.inf, 2)],
)
def test_calls_above_a_limit_are_not_repeated(
    monkeypatch: pytest.MonkeyPatch, cost: float, limit: float, calls: int
) -> None:
    clock = Clock(monkeypatch, cost)
    times = testing.sample_times(clock, 25, 100, limit=limit)
    assert set(times) == {cost} and clock.calls == calls


def test_assert_close() -> None:
    torch = pytest.importorskip("torch")
    nan, inf = math.nan, math.inf
    testing.assert_close(torch.tensor([1.0, nan, inf]), numpy.array([1.0, nan, inf]))
    testing.assert_close(torch.tensor([1.0], dtype=torch.bfloat16), [1.01])
    testing.assert_close(numpy.float32([1.0]), numpy.float64([1.0 + 1e-6]))
    testing.assert_close([1, 2], [1, 2])
    for left, right in (
        ([1.0], [1.1]), ([nan], [1.0]), ([1.0], [nan]), ([inf], [-inf]), ([1.0], [inf]),
        ([1], [2]), ([2**60], [2**60 + 1]), ([1.0], [1.0, 1.0]),
    ):  # fmt: skip
        with pytest.raises(AssertionError):
            testing.assert_close(numpy.array(left), numpy.array(right))
    text = r"1 of 4 .* worst at \(1, 0\): 2.0 instead of 3.0, 4194304 ulp of float32. why"
    with pytest.raises(AssertionError, match=text):
        testing.assert_close(numpy.float32([[1, 1], [2, 1]]), [[1, 1], [3, 1]], err_msg="why")


class Remembering(Autotuner):
    """As libraries derive from Triton's class: by its constructor, reading and setting its fields."""

    def __init__(
        self, fn: Any, arg_names: Any, configs: Any, key: Any, *others: Any, **options: Any
    ) -> None:
        super().__init__(fn, arg_names, configs, key, *others, **options)
        self.prepared: list[bool] = []
        if not self.user_defined_pre_hook and self.reset_to_zero:
            self.pre_hook = lambda arguments, reset_only=False: self.prepared.append(reset_only)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        if self.early_config_prune is None and self.perf_model is None:
            self.configs = self.configs[-1:]
        return super().run(*args, **kwargs)


def test_libraries_derive_from_the_autotuner(fake: FakeNative) -> None:
    bench = Bench(fake, {16: 1.0, 32: 2.0})
    kernel = tw.jit(body)
    others: dict[str, Any] = dict(pre_hook=None, post_hook=None, warmup=None, rep=None)
    tuned = Remembering(
        kernel, kernel.arg_names, configs(16, 32), ["n"], None, None, **others,
        prune_configs_by=None, use_cuda_graph=False, do_bench=bench, cache_results=False,
    )  # fmt: skip
    tuned[(1,)](numpy.zeros(4), 5)
    assert chosen_block(fake) == 32 and bench.calls == 0
    rules = {"early_config_prune": lambda configs, named, **meta: configs}
    tuned = Remembering(
        kernel, kernel.arg_names, configs(16, 32), ["n"], ["out"], None, **others,
        prune_configs_by=rules, do_bench=bench,
    )  # fmt: skip
    tuned[(1,)](numpy.zeros(4), 5)
    assert chosen_block(fake) == 16 and bench.calls == 2 and tuned.prepared == [False, False]


@pytest.mark.parametrize(
    ("options", "words", "hint"),
    [
        ({"configs": [1]}, "configs of body has 1, which is not a tw.Config", "tw.Config({"),
        ({"configs": {"BLOCK": 16}}, "configs of body is a dict, not a list", "tw.Config({"),
        ({"configs": 3}, "configs of body is a int, not a list", "tw.Config({"),
        ({"key": None}, "key of body is None, not a list of names", "[] for none"),
        ({"key": [3]}, r"key of body is \[3\], not a list of names", "[] for none"),
        ({"reset_to_zero": ["uot"]}, "reset_to_zero of autotune names `uot`", "did you mean `out`?"),
        ({"restore_value": ["zz"]}, "restore_value of autotune names `zz`", "parameters: out, n, BLOCK"),
    ],
)
def test_arguments_that_do_not_fit_the_kernel(options: Any, words: str, hint: str) -> None:
    given = {"configs": configs(16), "key": ["n"], **options}
    with pytest.raises(tw.LaunchError, match=words) as error:
        tw.autotune(**given)(tw.jit(body))
    assert error.value.code == "TW0418" and hint in error.value.hint


def test_autotune_of_what_is_no_kernel() -> None:
    with pytest.raises(tw.LaunchError, match="decorates kernels, not 'body'") as error:
        tw.autotune(configs(16), key=["n"])(body)
    assert error.value.code == "TW0418" and "@tw.jit" in error.value.hint


def test_an_unknown_name_of_the_key_is_a_warning(fake: FakeNative) -> None:
    with pytest.warns(tw.TilewrightWarning, match=r"TW0418.*names `m`(.|\n)*parameters: out, n, BLOCK"):
        kernel = tw.autotune(configs(16), key=["n", "m"])(tw.jit(body))
    kernel[1](numpy.zeros(4), 60)
    assert chosen_block(fake) == 16


@pytest.mark.parametrize("none", [None, [], ()])
def test_without_configurations_a_kernel_runs_as_it_is_launched(fake: FakeNative, none: Any) -> None:
    tw.autotune(none, key=["n"])(tw.jit(body))[1](numpy.zeros(4), 60, BLOCK=64)
    assert chosen_block(fake) == 64


class Placed(numpy.ndarray):
    """An array of the host that says it is elsewhere."""

    device = "cuda:1"


def test_the_key_has_the_place_of_arrays_and_the_chosen_device(fake: FakeNative) -> None:
    kernel = tw.autotune(configs(16, 32), key=["n"], do_bench=Bench(fake, {16: 3.0, 32: 1.0}))(tw.jit(body))
    out = numpy.zeros(4)
    plain = kernel._key({"out": out, "n": 60})
    keys = {plain, kernel._key({"out": out.view(Placed), "n": 60})}
    with tw.device("reference"):
        keys.add(kernel._key({"out": out, "n": 60}))
    with tw.device("cpu"):
        keys.add(kernel._key({"out": out, "n": 60}))
    assert len(keys) == 4 and kernel._key({"out": out, "n": 60}) == plain


def test_each_device_is_measured(fake: FakeNative) -> None:
    bench = Bench(fake, {16: 3.0, 32: 1.0})
    kernel = tw.autotune(configs(16, 32), key=["n"], do_bench=bench)(tw.jit(body))
    out = numpy.zeros(4)
    for device in ("reference", "cpu", "reference"):
        with tw.device(device):
            kernel[(4,)](out, 60)
    assert bench.calls == 4


def test_configurations_far_slower_than_the_best_are_launched_once(
    fake: FakeNative, monkeypatch: pytest.MonkeyPatch
) -> None:
    cost = {16: 1.0, 32: 500.0, 64: 1.5}
    clock = Clock(monkeypatch, 0.0)
    launched: list[int] = []
    launch = fake.launch

    def timed(*given: Any) -> Any:
        report = launch(*given)
        launched.append(chosen_block(fake))
        clock.now += round(cost[launched[-1]] * 1e6)
        return report

    monkeypatch.setattr(fake, "launch", timed)
    kernel = tw.autotune(configs(16, 32, 64), key=[])(tw.jit(body))
    kernel[1](numpy.zeros(4), 60)
    assert list(kernel.configs_timings.values()) == [1.0, 500.0, 1.5] and chosen_block(fake) == 16
    # The first launch, 25 ms of warm-up, three turns of 6.25 ms, and the launch that was tuned for.
    assert [launched.count(block) for block in cost] == [1 + 25 + 3 * 7 + 1, 1, 1 + 17 + 3 * 5]
    states = [row.state for row in kernel.report.rows]
    assert states == ["measured", "slower", "slower"] and kernel.report.is_sure
