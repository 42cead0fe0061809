"""Chooses a kernel's constants: by timing (`autotune`) or by rules (`heuristics`)."""

from __future__ import annotations

import functools
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..native import knobs
from ..launch.arguments import Reinterpreted, constexpr_key
from .announcements import autotuning
from .configurations import Arguments, Config, checked_configs, checked_names, names_of_kernel
from ..compile import CompiledKernel
from ..native.errors import LaunchError, TilewrightError
from ..launch.devices import chosen_device
from ..launch.arguments.tracing import inlined_as, is_traced, untraced
from ..launch.interface import KernelInterface
from ..launch.references import ByReference
from ..launch.graphs.traced import inlined_run, launch_traced
from .tiered import general_binaries
from .timings import read_timings, write_timings
from .trials import Trials, launch_of

Hook = Callable[..., None]


class Wrapper(KernelInterface, ByReference):
    """A kernel with something added to its launches; wrappers may be stacked."""

    def __init__(self, fn: Any) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn, updated=())

    @property
    def arg_names(self) -> list[str]:
        """The parameters' names of the kernel inside."""
        return self.fn.arg_names

    @property
    def base_fn(self) -> Callable[..., Any]:
        """The Python function of the kernel inside."""
        return getattr(self.fn, "base_fn", None) or self.fn.fn

    @inlined_as(inlined_run)
    @untraced
    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        """Launch the kernel inside."""
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)

    @untraced
    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> Any:
        """Compile for arguments without running."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)


class Heuristics(Wrapper):
    """A kernel some of whose parameters are computed from the others at each launch."""

    def __init__(self, fn: Any, values: Mapping[str, Callable[[Arguments], Any]]) -> None:
        super().__init__(fn)
        self.values = dict(values)

    def ways(self, given: dict[str, Any]) -> list[dict[str, Any]]:
        full = dict(given)
        for name, rule in self.values.items():
            full[name] = rule(full)
        return self.fn.ways(full)

    @inlined_as(inlined_run)
    @untraced
    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        for name, rule in self.values.items():
            kwargs[name] = rule({**dict(zip(self.arg_names, args)), **kwargs})
        return self.fn.run(*args, grid=grid, warmup=warmup, **kwargs)


def heuristics(values: Mapping[str, Callable[[Arguments], Any]]) -> Callable[[Any], Heuristics]:
    """Compute parameters of a kernel: `@tw.heuristics({"EVEN": lambda args: args["n"] % 64 == 0})`.

    Each rule gets the dictionary of the arguments by name, with the values computed before it.
    """
    return lambda fn: Heuristics(fn, values)


class Autotuner(Wrapper):
    """A kernel that times its configurations once per key and then uses the fastest.

    `cache` maps a key (values of the key arguments, element types and places of the arrays, the device
    that was chosen, if one was) to the best
    configuration; `best_config` is that of the last launch, `configs_timings` the last measurement
    in milliseconds. The constructor's parameters are those of Triton's class, which libraries derive
    their own from; `autotune` explains them.
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
        self.cache_results = cache_results
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
        saved = {n: _copy(arguments[n], n, self.__name__) for n in self.restore_value}
        if self._trials.key != (key := self._key(arguments)):
            self._trials = Trials(key)
        try:
            launch = self._launcher(config, arguments, saved, args, kwargs, grid)
            kernels = self._compiled([config], args, kwargs, grid, {})
            launched = launch_of(kernels.get(config), config, arguments, grid)
            return [self._trials.time(config, launched, partial(self._time, launch))] * 3
        except TilewrightError as error:
            self._after(config, arguments, error)
            return [math.inf] * 3
        finally:
            self._restore(arguments, saved)

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
            start = time.perf_counter()
            config = candidates[0] if len(candidates) == 1 else self._recall(candidates, key)
            if config is None:
                self._refuse_to_measure(key)
                config = self._measure(candidates, arguments, args, kwargs, grid)
                self._remember(candidates, key, config)
                self._tell(key, config, time.perf_counter() - start)
            self.cache[key] = config
        return config

    def _refuse_to_measure(self, key: tuple[Any, ...]) -> None:
        """Measuring compiles, which a closed world forbids."""
        if knobs.settings().is_jit_denied:
            raise LaunchError(
                "nothing may be compiled (tw.freeze() or TILEWRIGHT_JIT=deny), and autotuning has chosen "
                f"no configuration of {self.__name__} for {key}",
                code="TW0408",
                hint="launch it for such arguments before; with cache_results=True the choice goes into "
                "the cache on disk, and with `tilewright cache export` to other machines",
            )

    def _tell(self, key: tuple[Any, ...], config: Config, seconds: float) -> None:
        """Tell the user and the listener what was chosen."""
        if autotuning.prints():
            print(f"autotuning {self.__name__} for {key} took {seconds:.2f} s; the best is {config}")
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
        values = constexpr_key(tuple(arguments.get(name) for name in self.keys))
        types = [f"{v.dtype}{_place_of(v)}" for v in arguments.values() if hasattr(v, "dtype")]
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
        timings = read_timings(self.fn, candidates, key, knobs.settings().is_jit_denied)
        if timings is None:
            return None
        self.configs_timings = dict(zip(candidates, timings))
        return min(candidates, key=lambda c: self.configs_timings[c])

    def _remember(self, candidates: Sequence[Config], key: tuple[Any, ...], best: Config) -> None:
        if self.cache_results:
            timings = [self.configs_timings[config] for config in candidates]
            write_timings(self.fn, candidates, key, timings)

    def _measure(
        self, candidates: Sequence[Config], arguments: Arguments, args: tuple[Any, ...],
        kwargs: Arguments, grid: Any,
    ) -> Config:  # fmt: skip
        failures: dict[Config, TilewrightError] = {}
        kernels = self._compiled(candidates, args, kwargs, grid, failures)
        updated = _updated_by(kernels.values())
        names = dict.fromkeys([*self.restore_value, *(n for n in updated if self._is_ours(n))])
        saved = {name: _copy(arguments[name], name, self.__name__) for name in names}
        self.configs_timings = dict.fromkeys(candidates, math.inf)
        trials = Trials(self._key(arguments))
        try:
            for config in self.configs_timings:
                if config in failures:
                    self._after(config, arguments, failures[config])
                    continue
                launch = self._launcher(config, arguments, saved, args, kwargs, grid)
                try:
                    launched = launch_of(kernels.get(config), config, arguments, grid)
                    taken = trials.time(config, launched, partial(self._time, launch))
                    self.configs_timings[config] = taken
                except TilewrightError as error:
                    failures[config] = error
                    self._after(config, arguments, error)
        finally:
            self._restore(arguments, saved)
        best = min(candidates, key=lambda c: self.configs_timings[c])
        if math.isinf(self.configs_timings[best]):
            raise self._hopeless(failures)
        return best

    def _launcher(
        self, config: Config, arguments: Arguments, saved: Arguments, args: tuple[Any, ...],
        kwargs: Arguments, grid: Any,
    ) -> Callable[[], None]:  # fmt: skip
        full = {**arguments, **config.all_kwargs()}

        def launch() -> None:
            self._prepare(config, full, saved)
            self._call(config, args, kwargs, grid, False)
            self.post_hook(full, exception=None)

        return launch

    def _after(self, config: Config, arguments: Arguments, error: TilewrightError) -> None:
        self.post_hook({**arguments, **config.all_kwargs()}, exception=error)

    def _compiled(
        self, candidates: Sequence[Config], args: tuple[Any, ...], kwargs: Arguments, grid: Any,
        failures: dict[Config, TilewrightError],
    ) -> dict[Config, Any]:  # fmt: skip
        """The candidates' kernels, where nothing forbids them. Fills in those that do not compile."""
        kernels: dict[Config, Any] = {}
        for config in candidates:
            try:
                kernels[config] = self._call(config, args, kwargs, grid, True)
            except TilewrightError as error:
                failures[config] = error
        return kernels

    def _is_ours(self, name: str) -> bool:
        """Whether nothing that the person said brings an array back between runs."""
        return name not in self.reset_to_zero and not self.user_defined_pre_hook

    def _hopeless(self, failures: Mapping[Config, TilewrightError]) -> LaunchError:
        lines = [f"  {config}: [{e.code}] {e.message.splitlines()[0]}" for config, e in failures.items()]
        first = next(iter(failures.values()))
        error = LaunchError(
            f"no configuration of {self.__name__} runs:\n" + "\n".join(lines),
            code="TW0411",
            hint=f"`tilewright explain {first.code}`",
        )
        error.__cause__ = first
        return error

    def _time(self, launch: Callable[[], None], limit: float = math.inf) -> float:
        """The median of a launch's milliseconds, from few launches if each takes longer than `limit`."""
        from ..testing import sample_times, summarize

        with general_binaries():
            if self.do_bench:
                result = self.do_bench(launch, quantiles=(0.5, 0.2, 0.8))
            else:
                times = sample_times(launch, self.warmup_ms, self.rep_ms, limit=limit)
                result = summarize(times, None, "median")
        return float(result[0]) if isinstance(result, Sequence) else float(result)

    def _prepare(self, config: Config, full: Arguments, saved: Arguments) -> None:
        self.pre_hook(full, reset_only=False)
        self._restore(full, saved)
        if config.pre_hook:
            config.pre_hook(full)

    def _clear(self, arguments: Arguments, reset_only: bool = False) -> None:
        """What runs before each launch of a measurement where nobody gave a hook."""
        del reset_only
        for name in self.reset_to_zero:
            if arguments[name] is not None:  # an optional array that this launch does without
                _target(arguments[name])[...] = 0

    def _restore(self, arguments: Arguments, saved: Arguments) -> None:
        self._clear(arguments)
        for name, value in saved.items():
            if value is not None:
                _target(arguments[name])[...] = value


def _updated_by(kernels: Iterable[Any]) -> list[str]:
    """The arrays that some kernel reads and writes: a second run of it would read what the first has
    left."""
    compiled = (kernel for kernel in kernels if isinstance(kernel, CompiledKernel))
    return list(dict.fromkeys(name for kernel in compiled for name in kernel.updated_arguments()))


def _place_of(array: Any) -> str:
    """The device that an array is on: what is the fastest on one is not on another."""
    device = str(getattr(array, "device", "cpu"))
    return "" if device == "cpu" else f" on {device}"


def _no_hook(arguments: Arguments, exception: Exception | None) -> None:
    del arguments, exception


def _target(array: Any) -> Any:
    """What assignments to an array's elements go through."""
    if isinstance(array, Reinterpreted):
        return _target(array.base)
    # A leaf that requires gradients takes no assignment; its values do.
    return array.detach() if hasattr(array, "detach") else array


def _copy(array: Any, name: str, kernel: str) -> Any:
    if array is None:
        return None
    target = _target(array)
    for method in ("clone", "copy"):
        if hasattr(target, method) and hasattr(target, "__setitem__"):
            return getattr(target, method)()
    raise LaunchError(
        f"`{name}` of {kernel} has to be restored between the runs of a measurement, and a "
        f"{type(target).__name__} cannot be copied and assigned",
        code="TW0417",
        hint="pass a tensor or a NumPy array, or launch once with such a one first",
    )


def autotune(
    configs: Sequence[Config],
    key: Sequence[str],
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
) -> Callable[[Any], Autotuner]:
    """Time a kernel's configurations once for each value of the arguments named by `key`.

    `prune_configs_by` may hold `early_config_prune(configs, positional, **keywords)`,
    `perf_model(**arguments)` and `top_k`; arrays in `reset_to_zero` are zeroed and those in
    `restore_value` restored before each run of a measurement, and so are arrays that the kernel
    both reads and writes, unless a `pre_hook` is there to see to it; `pre_hook(arguments,
    reset_only)` and `post_hook(arguments, exception)` run around it; `warmup` and `rep` are
    milliseconds of a measurement, which ends early where each launch takes twice as long as the
    best configuration's, and with the first launch if that takes ten times both. Configurations
    that lead to the same binary and grid are measured once, as on CPUs those that differ in
    `num_warps`. A configuration that fails, for whatever reason, is left out; without
    configurations the kernel runs as it is launched. Results are kept in memory, with
    `cache_results` on disk, too. `use_cuda_graph` changes nothing
    (`tilewright.launch.options.DECORATOR_OPTIONS`). Raises LaunchError TW0418 for what is not a
    list of configurations or names parameters that the kernel lacks; a name of `key` that it lacks
    is a warning.
    """
    return lambda fn: Autotuner(
        fn,
        names_of_kernel(fn),
        configs,
        key,
        reset_to_zero,
        restore_value,
        pre_hook,
        post_hook,
        prune_configs_by,
        warmup,
        rep,
        use_cuda_graph,
        do_bench,
        cache_results,
    )
