"""One key's tuning: its candidates are compiled, checked and raced, and the fastest one is found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..compile import CompiledKernel
from ..native.clock import timed
from ..native.errors import DeviceError, TilewrightError, render, warn_user
from ..testing.timing import wait_for_gpus
from .arrays import copy_of, is_comparable, stored_by, target_of, updated_by
from .check import MOST_BYTES, Check
from .checked_runs import check_accesses
from .compilations import LONGEST, Compilations, compile_beside, missing, requests_of
from .configurations import Arguments, Config
from .isolation import LONGEST_RUN, Launch, can_isolate, failures_alone, launches_of, times_elsewhere
from .model.shortlist import TOLERATED
from .refusals import hopeless, out_of_time
from .race import Race, Runner, fastest
from .report import MEASURED, SAME, SLOWER, WRONG, Progress, Report, Row
from .tiered import general_binaries
from .trials import launch_of
from .workers import most_workers

if TYPE_CHECKING:
    from .autotune import Autotuner

_LATE = "TW0447"  # of candidates that the budget leaves no time for
# Compiling may take this share of a budget: without a measurement, no candidate is better than another.
_SHARE_OF_COMPILING = 0.6
# Runs alone may take this share of what is left of it, each an equal part.
_SHARE_OF_RUNS = 0.5


class Measurement:
    """The candidates of one key, and what became of them. `call(config, is_warmup)` launches or compiles
    the kernel inside with the arguments of the launch that is tuned for, or with other ones or options by
    name."""

    def __init__(
        self, tuner: Autotuner, key: tuple[Any, ...], candidates: Sequence[Config],
        arguments: Arguments, call: Callable[..., Any], grid: Any,
    ) -> None:  # fmt: skip
        self.tuner, self.arguments, self.call, self.grid = tuner, arguments, call, grid
        self.begin = time.monotonic()
        self.budget = math.inf if tuner.budget is None else tuner.budget
        self.rows = {config: Row(config) for config in candidates}
        self.report = Report(tuner.__name__, key, [*self.rows.values()])
        self.progress = Progress(tuner.__name__, tuner.progress)
        self.kernels: dict[Config, Any] = {}
        self.runners: dict[Config, Runner] = {}
        self.saved: Arguments = {}  # brought back before each launch
        self.replaced: Arguments = {}  # brought back at the end
        self.check: Check | None = None
        self.alone: list[Config] = []  # whose first run, in a worker, ended well

    def run(self) -> Config:
        """The best configuration; with a `budget` that is over before one is compiled, the first. After an
        interrupt (Ctrl-C) it is the best of those that were measured, or one that ran well in a worker,
        or the first that was compiled. Raises LaunchError TW0411 where none runs."""
        try:
            self._compile()
            self._save()
            with general_binaries():
                configs = self._survivors(self._distinct())
                if self.tuner.measure == "executor":
                    self._measure_elsewhere(configs)
                else:
                    self._bench(configs) if self.tuner.do_bench else self._race(configs)
        except KeyboardInterrupt:
            if not self.kernels:
                raise
            self.report.is_interrupted, self.report.is_sure = True, False
            self._throw_out()
        finally:
            self._bring_back()
            self.progress.close()
            self._note_times()
        best = self.report.best = self._best()
        self.report.seconds = time.monotonic() - self.begin
        for row in self.report.left_out:
            if row.state == WRONG and row.same_as is None:
                what = f"{row.config} of {self.tuner.__name__} is left out: {row.reason}"
                warn_user(render(row.code, what, severity="warning").rstrip())
        return best

    # Compilation.

    def _compile(self) -> None:
        share = self.begin + _SHARE_OF_COMPILING * self.budget
        compilations = Compilations(
            most_workers(), self.tuner.submit, min(LONGEST, self.budget), share
        )

        def expect(count: int) -> None:
            compilations.told = self._counting("compiled", count)

        def warm(config: Config) -> Any:
            return self.call(config, True)

        try:
            compiled = compile_beside(self.rows, warm, compilations, expect)
        except KeyboardInterrupt:
            for config in self.rows:  # the first that was compiled
                if found := requests_of(lambda c=config: warm(c)):
                    if not missing(found):
                        self.kernels[config] = warm(config)
                        break
            raise
        failed = {config: error for config, error in compiled.items() if error is not None}
        late = [config for config, error in failed.items() if error.code == _LATE]
        if late and len(failed) == len(self.rows):
            compiled[late[0]] = None  # a launch needs one: it is compiled here, however long that takes
        for config, row in self.rows.items():
            error = compiled.get(config)
            if error is None:
                try:
                    kernel = self.kernels[config] = self.call(config, True)
                    if isinstance(kernel, CompiledKernel):
                        is_new = config in compiled or kernel.origin == "compiled"
                        row.compile_seconds = sum(kernel.milliseconds.values()) / 1e3 if is_new else None
                except TilewrightError as failure:
                    error = failure
            if error is not None:
                self._fail(config, error)

    def _counting(self, done: str, total: int) -> Callable[[], None]:
        """A function that shows one more as done."""
        count = 0

        def told() -> None:
            nonlocal count
            count += 1
            self.progress.say(f"{count} of {total} {done}", is_last=count == total)

        return told

    def _fail(self, config: Config, error: TilewrightError) -> None:
        self.rows[config].fail(error)
        self.kernels.pop(config, None)
        self.tuner.after_failure(config, self.arguments, error)

    # Arrays.

    def _save(self) -> None:
        """Copy the arrays that launches change."""
        tuner, arguments = self.tuner, self.arguments
        kernels = self.kernels.values()
        updated = updated_by(kernels)
        names = dict.fromkeys([*tuner.restore_value, *(n for n in updated if tuner.is_ours(n))])
        self.saved = {name: copy_of(arguments[name], name, tuner.__name__) for name in names}
        if tuner.check is None or len(self.kernels) < 2:
            return
        stored = stored_by(kernels)
        if problem := self._problem_of_check(stored, updated):
            self.report.notes.append(f"results were not compared: {problem}")
            return
        others = [name for name in stored if name not in names]
        try:
            for name in others:
                self.replaced[name] = copy = copy_of(arguments[name], name, tuner.__name__)
                target_of(arguments[name])[...] = copy
        except (RuntimeError, TypeError, ValueError) as error:  # elements that share memory, for example
            self.replaced.pop(name)
            self.report.notes.append(f"results were not compared: `{name}` takes no values: {error}")
            return
        kept = {*updated, *tuner.reset_to_zero, *tuner.restore_value}
        overwritten = [name for name in others if name not in kept]
        judge = tuner.check if callable(tuner.check) else None
        self.check = Check(
            stored, overwritten, arguments, tuner.__name__, tuner.tolerance, judge
        )

    def _problem_of_check(self, stored: Sequence[str], updated: Sequence[str]) -> str:
        """Why results cannot be compared; empty where they can."""
        brought_back = {*self.saved, *self.tuner.reset_to_zero}
        if others := [name for name in updated if name not in brought_back]:
            return f"launches change `{others[0]}`, which is left to the pre_hook"
        arrays = {name: self.arguments.get(name) for name in stored}
        for name, array in arrays.items():
            target = target_of(array)
            if not is_comparable(target):
                return f"`{name}` is not an array that can be copied"
        size = sum(getattr(target_of(array), "nbytes", 0) for array in arrays.values())
        if size > MOST_BYTES and not callable(self.tuner.check):
            return f"they have {size >> 20} MiB, more than {MOST_BYTES >> 20}"
        return ""

    def _bring_back(self) -> None:
        self.tuner.restore(self.arguments, {**self.saved, **self.replaced})

    # Measurement.

    def _launcher(self, config: Config) -> Callable[[], float]:
        """What launches a configuration once and gives the milliseconds of the launch alone; its first
        launch is checked."""
        tuner, full = self.tuner, {**self.arguments, **config.all_kwargs()}
        check = self.check

        def launch() -> float:
            nonlocal check
            if check is not None:
                check.prepare()
            tuner.prepare(config, full, self.saved)
            wait = wait_for_gpus()
            wait()
            _, taken = timed(lambda: (self.call(config, False), wait()))
            if check is not None:
                wait_for_gpus()()  # in use since this launch
                check.note(config)
                check = None
            tuner.post_hook(full, exception=None)
            return taken

        return launch

    def _distinct(self) -> list[Config]:
        """The configurations whose launches are different; the others have the time of one of them."""
        first: dict[Hashable, Config] = {}
        for config, kernel in self.kernels.items():
            launched = launch_of(kernel, config, self.arguments, self.grid)
            same = config if launched is None else first.setdefault(launched, config)
            if same is not config:
                self.rows[config].state, self.rows[config].same_as = SAME, same
        return [config for config in self.kernels if self.rows[config].same_as is None]

    def _bench(self, configs: Sequence[Config]) -> None:
        """Have the user's `do_bench` measure each."""
        tuner = self.tuner
        told = self._counting("measured", len(configs))
        for config in configs:
            if time.monotonic() - self.begin > self.budget and self._has_time():
                self._fail(config, out_of_time())
                continue
            try:
                row = self.rows[config]
                row.milliseconds = tuner.time(lambda launch=self._launcher(config): launch() and None)
                row.state = MEASURED
                row.interval = row.milliseconds, row.milliseconds
            except TilewrightError as error:
                self._fail(config, error)
            told()
        self._throw_out()

    def _race(self, configs: Sequence[Config]) -> None:
        tuner = self.tuner
        told = self._counting("launched", len(configs))
        for config in configs:
            self.runners[config] = Runner(self._launcher(config))
        by_runner = {id(runner): config for config, runner in self.runners.items()}

        def failed(runner: Runner, error: Exception) -> bool:
            if isinstance(error, TilewrightError):
                self._fail(by_runner[id(runner)], error)
            return isinstance(error, TilewrightError)

        def show() -> None:
            left = sum(not runner.is_out for runner in self.runners.values())
            self.progress.say(f"{left} of {len(configs)} may still be the fastest")

        race = Race(
            [*self.runners.values()], tuner.warmup_ms, tuner.rep_ms, self.begin + self.budget,
            failed, show, TOLERATED if tuner.shortlist.reasons else 0.0,
        )  # fmt: skip
        race.start(told)
        for config in self._untried(configs):
            self._fail(config, out_of_time())
        self._throw_out()
        self.report.is_sure = race.finish()

    def _survivors(self, configs: Sequence[Config]) -> list[Config]:
        """The configurations whose accesses are right, where they are checked, and whose first run, in
        a worker, crashes nothing and ends in time."""
        tuner, workers = self.tuner, most_workers()
        if tuner.check == "sim":
            configs = [config for config in configs if self._is_clean(config)]
        isolated = [c for c in configs if can_isolate(self.kernels[c])]
        if not (tuner.isolate and workers and len(configs) > 1 and isolated):
            return [*configs]
        # Workers get the arrays as they are then, and hooks may leave others for each configuration.
        has_hooks = tuner.user_defined_pre_hook or any(c.pre_hook for c in configs)
        groups = [[config] for config in isolated] if has_hooks else [isolated]
        told = self._counting("run alone", len(isolated))
        share = _SHARE_OF_RUNS * (self.begin + self.budget - time.monotonic())
        each, deadline = share / len(groups), time.monotonic() + share
        failures: dict[Config, TilewrightError | None] = {}
        for group in groups:
            launches = self._launches(group)
            seconds = min(LONGEST_RUN, each * min(workers, len(group)) / len(group))
            failures |= failures_alone(launches, workers, seconds, deadline, told, self.alone)
            for config in launches if has_hooks else ():
                if config not in failures:
                    tuner.post_hook({**self.arguments, **config.all_kwargs()}, exception=None)
        untried = [config for config, error in failures.items() if error is None]
        if untried and len(failures) == len(configs):  # a launch needs one
            del failures[untried[0]]
        for config, error in failures.items():
            self._fail(config, error or out_of_time())
        return [config for config in configs if config not in failures]

    def _untried(self, configs: Sequence[Config]) -> list[Config]:
        """The configurations that the budget left no time for."""
        return [c for c in configs if not self.runners[c].times and self.rows[c].error is None]

    def _launches(self, configs: Sequence[Config]) -> dict[Config, Launch]:
        """The launches of configurations, for other processes."""
        launches: dict[Config, Launch] = {}
        for config in configs:
            try:
                self.tuner.prepare(config, {**self.arguments, **config.all_kwargs()}, self.saved)
                found = launches_of(lambda c=config: self.call(c, False))
            except TilewrightError:  # which its launch here raises again
                continue
            if len(found) == 1:
                launches[config] = found[0]
        return launches

    def _measure_elsewhere(self, configs: Sequence[Config]) -> None:
        """Have the executor's workers measure each, on arrays of their own."""
        tuner, launches = self.tuner, self._launches(configs)
        told = self._counting("measured", len(launches))
        times, failures = times_elsewhere(
            launches, tuner.submit, tuner.warmup_ms, tuner.rep_ms, self.begin + self.budget, told
        )
        for config, milliseconds in times.items():
            self.runners[config] = Runner(lambda: math.inf)
            self.runners[config].times = milliseconds
        for config, error in failures.items():
            self._fail(config, error)
        self.report.is_sure = len(fastest(self.runners.values())) < 2

    def _is_clean(self, config: Config) -> bool:
        """Returns true unless checking every access of a candidate finds a fault."""
        try:
            check_accesses(self.kernels[config], config, self.arguments, self.grid, self.call)
        except TilewrightError as error:
            self._fail(config, error)
            if isinstance(error, DeviceError):
                self.rows[config].state = WRONG
            return False
        return True

    def _throw_out(self) -> None:
        """Leave out the candidates with a wrong result."""
        if self.check is None:
            return
        ran = [config for config in self.kernels if self.rows[config].same_as is None]
        for config, error in self.check.wrong(ran).items():
            self._fail(config, error)
            if config in self.runners:
                self.runners[config].is_out = True
                self.runners[config].times = []
        if self.check.problem:
            self.report.notes.append(f"results were not compared: {self.check.problem}")
        elif self.check.is_unsettled(ran):
            note = "no two candidates have the same result: it depends on the configuration"
            self.report.notes.append(note)

    # The result.

    def _has_time(self) -> bool:
        return any(not math.isinf(row.milliseconds) for row in self.rows.values())

    def _note_times(self) -> None:
        """Write what was measured into the rows."""
        for config, runner in self.runners.items():
            row = self.rows[config]
            if runner.times and row.error is None:
                row.milliseconds, row.interval = runner.median, runner.interval
                row.samples, row.state = len(runner.times), SLOWER if runner.is_out else MEASURED
        for row in self.rows.values():
            if row.same_as is not None:
                first = self.rows[row.same_as]
                row.milliseconds, row.interval = first.milliseconds, first.interval
                if first.error is not None:
                    row.fail(first.error)

    def _best(self) -> Config:
        best = min(self.rows.values(), key=lambda row: row.milliseconds)
        if not math.isinf(best.milliseconds):
            return best.config
        usable = [config for config in (*self.alone, *self.kernels) if config in self.kernels]
        has_failed = any(row.error for row in self.rows.values())
        if usable and (self.report.is_interrupted or not has_failed):
            return usable[0]
        raise hopeless(self.tuner.__name__, self.report)
