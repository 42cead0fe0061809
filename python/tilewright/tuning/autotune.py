"""Chooses a kernel's configuration by timing: `autotune`."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from numbers import Number
from typing import Any

from ..launch.arguments import constexpr_key
from ..launch.arguments.tracing import inlined_as, untraced
from ..launch.devices import chosen_device
from ..graphs.traced import inlined_run
from ..native.errors import LaunchError, TilewrightError
from .announcements import autotuning
from .arrays import copy_of, place_of, target_of
from .buckets import bucketed, checked_bucket
from .check import Judge
from .compilations import Compilations, Submit, compile_beside
from .configurations import (
    Arguments, Config, checked_configs, checked_limits, checked_names, names_of_kernel, submit_of,
)  # fmt: skip
from .heuristics import Wrapper
from .kept.recall import find_record, keep, make_record, question_of, timings_of
from .kept.records import fastest
from .measurement import Measurement
from .model.shortlist import MEASURED_OF_SPACES, Shortlist, checked_most, shortlist
from .ranks import decided, is_one_of_many
from .refusals import refuse_to_measure
from .report import Report
from .spaces import configs_of
from .tiered import general_binaries
from .trials import Trials, launch_of
from .workers import most_workers, start_ahead

Hook = Callable[..., None]


class Autotuner(Wrapper):
    """A kernel that times its configurations once per key and then uses the fastest.

    `cache` maps a key (values of the key arguments, element types and places of the arrays, the device
    that was chosen, if one was) to the best configuration; `best_config` is that of the last launch,
    `configs_timings` the last measurement in milliseconds, and `report` what became of each. The
    constructor's positional parameters are those of Triton's class, which libraries derive their own
    from; `autotune` explains them.
    """

    def __init__(
        self,
        fn: Any,
        arg_names: Sequence[str],
        configs: Sequence[Config],
        key: Sequence[str],
        reset_to_zero: Sequence[str] | None,
        restore_value: Sequence[str] | None,
        pre_hook: Hook | None = None,
        post_hook: Hook | None = None,
        prune_configs_by: Mapping[str, Any] | None = None,
        warmup: float | None = None,
        rep: float | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
        *,
        budget: float | None = None,
        check: str | Judge | None = "first",
        tolerance: float | None = None,
        isolate: bool = True,
        executor: Executor | Submit | None = None,
        measure: str = "here",
        progress: bool | None = None,
        store: str | os.PathLike[str] | None = None,
        bucket: Callable[[int], int] | None = None,
        measure_at_most: int | None = None,
    ) -> None:
        del arg_names  # the kernel has them
        super().__init__(fn)
        self.configs = checked_configs(configs, fn)
        self.keys = checked_names("key", key, fn, must_exist=False)
        self.reset_to_zero = checked_names("reset_to_zero", reset_to_zero or (), fn)
        self.restore_value = checked_names("restore_value", restore_value or (), fn)
        self.pre_hook: Hook = pre_hook or self._clear
        self.post_hook: Hook = post_hook or _no_hook
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        rules = prune_configs_by or {}
        self.early_config_prune = rules.get("early_config_prune")
        self.perf_model, self.configs_top_k = rules.get("perf_model"), rules.get("top_k")
        self.warmup_ms = 25.0 if warmup is None else warmup
        self.rep_ms = 100.0 if rep is None else rep
        self.use_cuda_graph = use_cuda_graph
        self.do_bench = do_bench
        self.store = os.fspath(store) if store is not None else None
        self.cache_results = cache_results or self.store is not None
        self.bucket = checked_bucket(bucket, fn)
        self.measure_at_most = checked_most(measure_at_most, fn)
        self.shortlist = Shortlist([], {}, {})  # of the last measurement
        checked_limits(fn, budget, check, tolerance)
        self.budget, self.check, self.tolerance = budget, check, tolerance
        self.submit, self.measure = submit_of(executor, measure, fn), measure
        self.isolate, self.progress = isolate, progress
        self.report: Report | None = None
        self.cache: dict[tuple[Any, ...], Config] = {}
        self.best_config: Config | None = None
        self.configs_timings: dict[Config, float] = {}
        self.nargs: Arguments | None = None  # set by a `run` of a derived class
        self._trials = Trials(())  # what `_bench` measured of the last key

    def prune_configs(self, kwargs: Arguments) -> list[Config]:
        """The configurations to measure, for the positional arguments in `nargs` and these."""
        return self._pruned(self.nargs or {}, kwargs)

    def _bench(self, *args: Any, config: Config, grid: Any, **kwargs: Any) -> list[float]:
        """For a `run` of a derived class: milliseconds as the median, the 20th and the 80th of a
        hundred runs would be, all infinite where the configuration fails."""
        kwargs.pop("warmup", None)
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        saved = {n: copy_of(arguments[n], n, self.__name__) for n in self.restore_value}
        if self._trials.key != (key := self._key(arguments)):
            self._trials = Trials(key)
        try:
            launch = self._launcher(config, arguments, saved, args, kwargs, grid)
            kernel = self._call(config, args, kwargs, grid, True)
            launched = launch_of(kernel, config, arguments, grid)
            return [self._trials.time(config, launched, partial(self.time, launch))] * 3
        except TilewrightError as error:
            self.after_failure(config, arguments, error)
            return [math.inf] * 3
        finally:
            self.restore(arguments, saved)

    def ways(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        # Which one it is, a launch decides: also where some are pruned.
        every: list[dict[str, Any]] = []
        for config in self.configs or [Config({})]:
            every.extend(self.fn.ways({**config.all_kwargs(), **given}))
        return every

    def touched_arguments(self) -> set[str] | None:
        has_hooks = self.user_defined_pre_hook or any(config.pre_hook for config in self.configs)
        inside = self.fn.touched_arguments()
        if has_hooks or inside is None:
            return None
        return {*inside, *self.reset_to_zero, *self.restore_value}

    @inlined_as(inlined_run)
    @untraced
    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        arguments = {**dict(zip(self.arg_names, args)), **kwargs}
        if warmup:
            candidates = self._pruned(dict(zip(self.arg_names, args)), kwargs)
            compilations = Compilations(most_workers(), self.submit)
            made = compile_beside(
                candidates, lambda c: self._call(c, args, kwargs, grid, True), compilations
            )
            for error in filter(None, made.values()):
                raise error
            return [self._call(c, args, kwargs, grid, True) for c in candidates][-1]
        config = self._choose(arguments, args, kwargs, grid)
        self.best_config = config
        if config.pre_hook:
            config.pre_hook({**arguments, **config.all_kwargs()})
        return self._call(config, args, kwargs, grid, False)

    def _call(
        self, config: Config, args: tuple[Any, ...], kwargs: Arguments, grid: Any, warmup: bool
    ) -> Any:
        twice = [name for name in config.kwargs if name in kwargs]
        if twice:
            raise LaunchError(
                f"`{twice[0]}` of {self.__name__} is chosen by autotune and given at the launch",
                code="TW0404",
                hint="leave it out of the launch",
            )
        return self.fn.run(
            *args, grid=grid, warmup=warmup, **{**config.all_kwargs(), **kwargs}
        )

    def _choose(
        self, arguments: Arguments, args: tuple[Any, ...], kwargs: Arguments, grid: Any
    ) -> Config:
        key = self._key(arguments)
        config = self.cache.get(key)
        if config is None:
            candidates = self._pruned(dict(zip(self.arg_names, args)), kwargs)
            decide = partial(self._decide, candidates, key, arguments, args, kwargs, grid)
            ask = partial(question_of, self.fn, candidates, self.keys, key)
            config = self.cache[key] = decided(candidates, ask, decide)
        return config

    def known_choice(self, arguments: Arguments) -> Config | None:
        """The configuration that was chosen for such arguments (arrays, or what has their shape and
        dtype), by this process or one before; nothing is measured. None without one."""
        key = self._key(arguments)
        config = self.cache.get(key)
        if config is None and not is_one_of_many():  # where rank 0 asks the store for all
            config = self._recall(self._pruned({}, arguments), key)
            if config is not None:
                self.cache[key] = config
        return config

    def _decide(
        self, candidates: Sequence[Config], key: tuple[Any, ...], arguments: Arguments,
        args: tuple[Any, ...], kwargs: Arguments, grid: Any,
    ) -> Config:  # fmt: skip
        """The configuration that an earlier process found, or the fastest of a measurement."""
        config = self._recall(candidates, key)
        if config is None:
            start = time.perf_counter()
            refuse_to_measure(self.__name__, key)
            warm = partial(self._call, args=args, kwargs=kwargs, grid=grid, warmup=True)
            if self.measure_at_most is not None and len(candidates) > self.measure_at_most > 1:
                start_ahead(min(most_workers(), self.measure_at_most))  # while the model predicts
            self.shortlist = shortlist(candidates, self.measure_at_most, warm, arguments, grid)
            config = self._measure(self.shortlist.measured, arguments, args, kwargs, grid)
            if not (self.report and self.report.is_interrupted):
                config = fastest(self.shortlist.measured, self.configs_timings)
                self._remember(candidates, key, config)
            self._tell(key, config, time.perf_counter() - start)
        return config

    def _tell(self, key: tuple[Any, ...], config: Config, seconds: float) -> None:
        """Tell the user and the listener what was chosen."""
        if autotuning.prints():
            print(self.report)
        if autotuning.listener:
            autotuning.listener(
                fn=self,
                key=key,
                best_config=config,
                configs_timings=self.configs_timings,
                duration=seconds,
                cache_hit=False,
            )

    def _key(self, arguments: Arguments) -> tuple[Any, ...]:
        given = tuple(bucketed(arguments.get(name), name, self.bucket) for name in self.keys)
        values = constexpr_key(given)
        arrays = [v for v in arguments.values() if hasattr(v, "dtype") and not isinstance(v, Number)]
        types = [f"{array.dtype}{place_of(array)}" for array in arrays]
        chosen = chosen_device()
        return (*values, *types, *([f"on {chosen}"] if chosen else []))

    def _pruned(self, positional: Arguments, keywords: Arguments) -> list[Config]:
        configs = self.configs or [Config({})]
        if self.early_config_prune:
            configs = list(self.early_config_prune(configs, positional, **keywords))
        arguments = {**positional, **keywords}
        model, top_k = self.perf_model, self.configs_top_k
        if model and top_k:
            count = int(len(configs) * top_k) if isinstance(top_k, float) else top_k
            cost = {c: model(**{**arguments, **c.all_kwargs()}) for c in configs}
            configs = sorted(configs, key=lambda c: cost[c])[: max(count, 1)]
        if not configs:
            raise LaunchError(
                f"no configuration of {self.__name__} is left after pruning", code="TW0411"
            )
        return configs

    def _recall(self, candidates: Sequence[Config], key: tuple[Any, ...]) -> Config | None:
        """The configuration that an earlier process found, where results are kept on disk."""
        if not self.cache_results:
            return None
        record = find_record(question_of(self.fn, candidates, self.keys, key), self.store)
        timings = timings_of(record, candidates) if record else {}
        if not timings or math.isinf(min(timings.values())):
            return None
        self.configs_timings = timings
        return fastest(candidates, timings)

    def _remember(self, candidates: Sequence[Config], key: tuple[Any, ...], best: Config) -> None:
        if self.cache_results:
            question = question_of(self.fn, candidates, self.keys, key)
            timings = {**dict.fromkeys(candidates, math.inf), **self.configs_timings}
            _, predicted, reasons = self.shortlist
            spreads = self.report.spreads() if self.report else {}
            keep(make_record(question, timings, best, spreads, predicted, reasons), self.store)

    def _measure(
        self, candidates: Sequence[Config], arguments: Arguments, args: tuple[Any, ...],
        kwargs: Arguments, grid: Any,
    ) -> Config:  # fmt: skip
        def call(config: Config, is_warmup: bool, others: Mapping[str, Any] = {}) -> Any:
            given = tuple(others.get(name, value) for name, value in zip(self.arg_names, args))
            by_place = self.arg_names[: len(args)]
            named = {**kwargs, **{n: v for n, v in others.items() if n not in by_place}}
            return self._call(config, (*given, *args[len(given) :]), named, grid, is_warmup)

        measurement = Measurement(self, self._key(arguments), candidates, arguments, call, grid)
        try:
            return measurement.run()
        finally:
            self.report = measurement.report
            self.configs_timings = {row.config: row.milliseconds for row in self.report.rows}

    def _launcher(
        self, config: Config, arguments: Arguments, saved: Arguments, args: tuple[Any, ...],
        kwargs: Arguments, grid: Any,
    ) -> Callable[[], None]:  # fmt: skip
        full = {**arguments, **config.all_kwargs()}

        def launch() -> None:
            self.prepare(config, full, saved)
            self._call(config, args, kwargs, grid, False)
            self.post_hook(full, exception=None)

        return launch

    def after_failure(self, config: Config, arguments: Arguments, error: TilewrightError) -> None:
        """Run the hook after a configuration that does not run."""
        self.post_hook({**arguments, **config.all_kwargs()}, exception=error)

    def is_ours(self, name: str) -> bool:
        """Whether nothing that the person said brings an array back between runs."""
        return name not in self.reset_to_zero and not self.user_defined_pre_hook

    def time(self, launch: Callable[[], Any], limit: float = math.inf) -> float:
        """The median of a launch's milliseconds, from few launches if each takes longer than `limit`."""
        from ..testing import sample_times, summarize

        with general_binaries():
            if self.do_bench:
                result = self.do_bench(launch, quantiles=(0.5, 0.2, 0.8))
            else:
                times = sample_times(launch, self.warmup_ms, self.rep_ms, limit=limit)
                result = summarize(times, None, "median")
        return float(result[0]) if isinstance(result, Sequence) else float(result)

    def prepare(self, config: Config, full: Arguments, saved: Arguments) -> None:
        """Do what a launch of a measurement needs before it."""
        self.pre_hook(full, reset_only=False)
        self.restore(full, saved)
        if config.pre_hook:
            config.pre_hook(full)

    def _clear(self, arguments: Arguments, reset_only: bool = False) -> None:
        """What runs before each launch of a measurement where nobody gave a hook."""
        del reset_only
        for name in self.reset_to_zero:
            if arguments[name] is not None:  # an optional array that this launch does without
                target_of(arguments[name])[...] = 0

    def restore(self, arguments: Arguments, saved: Arguments) -> None:
        """Bring back arrays as they were before the measurement."""
        self._clear(arguments)
        for name, value in saved.items():
            if value is not None:
                target_of(arguments[name])[...] = value


def _no_hook(arguments: Arguments, exception: Exception | None) -> None:
    del arguments, exception


def autotune(
    configs: Sequence[Config] | None = None,
    key: Sequence[str] = (),
    prune_configs_by: Mapping[str, Any] | None = None,
    reset_to_zero: Sequence[str] | None = None,
    restore_value: Sequence[str] | None = None,
    pre_hook: Hook | None = None,
    post_hook: Hook | None = None,
    warmup: float | None = None,
    rep: float | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
    *,
    budget: float | None = None,
    check: str | Judge | None = "first",
    tolerance: float | None = None,
    isolate: bool = True,
    executor: Executor | Submit | None = None,
    measure: str = "here",
    progress: bool | None = None,
    store: str | os.PathLike[str] | None = None,
    bucket: Callable[[int], int] | None = None,
    space: Mapping[str, Sequence[Any]] | None = None,
    constraints: Sequence[Callable[..., Any]] | Callable[..., Any] | None = None,
    measure_at_most: int | None = None,
) -> Callable[[Any], Autotuner]:
    """Time a kernel's configurations once for each value of the arguments named by `key`.

    Triton's parameters: `prune_configs_by` may hold `early_config_prune(configs, positional,
    **keywords)`, `perf_model(**arguments)` and `top_k`; arrays in `reset_to_zero` are zeroed and those
    in `restore_value` restored before each run, as are arrays that the kernel reads and writes unless
    there is a `pre_hook`; `pre_hook(arguments, reset_only)` and `post_hook(arguments, exception)` run
    around each; `warmup` and `rep` are the milliseconds that a candidate may take; `do_bench` measures
    candidates one by one; `cache_results` keeps results on disk; `use_cuda_graph` changes nothing.

    `budget`: the most seconds for one key. `check`: "first" compares what candidates store with the
    first's result, within `tolerance` of the largest element; "sim" runs them on the simulator, too; a
    function gets the arguments and returns False for a wrong result; None. `isolate`: the first run on
    `cpu` is in a worker process. `executor`: an `Executor`, or a function `submit(fn, *args)` that
    gives a `Future`, whose workers compile and, with `measure="executor"`, measure. `progress`: show a
    line while it runs; None: on a terminal.

    `store`: the file that keeps results. `bucket`: integers of the key count by this function of
    them: with `tw.next_power_of_2` lengths of 513 to 1024 share a choice. A `space` of values by
    parameter, whose `constraints` are functions of them, stands for all its configurations;
    `measure_at_most` of them, by default 6 of a space, are measured: those that a model of the device
    takes for the fastest. `tilewright/tuning/README.md` says more of each.

    What fails is a row of `report`. Ctrl-C ends the tuning with the best so far. Raises LaunchError
    TW0418 for arguments that do not fit the kernel, and launches TW0411 where no candidate runs.
    """
    most = MEASURED_OF_SPACES if measure_at_most is None and space is not None else measure_at_most
    return lambda fn: Autotuner(
        fn, names_of_kernel(fn), configs_of(space, constraints, configs, fn), key, reset_to_zero,
        restore_value, pre_hook, post_hook, prune_configs_by, warmup, rep, use_cuda_graph, do_bench, cache_results, budget=budget,
        check=check, tolerance=tolerance, isolate=isolate, executor=executor, measure=measure,
        progress=progress, store=store, bucket=bucket, measure_at_most=most,
    )  # fmt: skip
