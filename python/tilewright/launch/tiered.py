"""`@tw.jit(specialize="tiered")`: a general binary answers, one for the very shape follows it."""

from __future__ import annotations

import types
from collections.abc import Mapping
from typing import Any

from .. import knobs
from . import hooks
from ..compile import CompiledKernel
from ..errors import TilewrightError, warn_user
from .arguments import Facts
from .background import settle, worker
from .devices import chosen_device, device_of_launch
from .interface import untraced
from .jit import JITFunction
from .run import launch, resolve_grid

# Of these many launches' integers it is counted how often they came.
_MOST_COUNTED = 1024
_NOTHING: dict[str, Any] = {}
Key = tuple[Any, ...]


class TieredFunction(JITFunction):
    """A kernel that launches as one with specialize="auto" does. Integers that have come `hot_launches`
    times get a binary of their own, as of specialize="shape", which a thread compiles in the
    background; launches that come after it is done run it, and none waits. At most `most_exact` are
    made. Where nothing may be compiled (tw.freeze()) those on disk are taken.

    `exact` is the kernel of these: `kernel.exact.prepare(...)` makes one at once. Sums in floating
    point may be in another order in the two. Launches with hooks (`pre_run_hooks`) stay general.
    """

    def __init__(
        self, fn: types.FunctionType, *, hot_launches: int = 8, most_exact: int = 16, **options: Any
    ) -> None:
        super().__init__(fn, **{**options, "specialize": "tiered"})
        self.exact = ExactFunction(fn, self, **{**options, "specialize": "shape"})
        self.hot_launches = hot_launches
        self.most_exact = most_exact

    @untraced
    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> CompiledKernel | None:
        if not self.pre_run_hooks:
            kernel = self.exact.launch_if_ready(grid, args, kwargs)
            if kernel is not None:
                return kernel
        return super()._launch(grid, *args, **kwargs)

    def settle(self) -> None:
        """Wait until nothing is compiled in the background: for measurements and tests."""
        settle()


class ExactFunction(JITFunction):
    """The kernel for exact integers: never compiled by a launch."""

    def __init__(self, fn: types.FunctionType, tiered: TieredFunction, **options: Any) -> None:
        super().__init__(fn, **options)
        self._tiered = tiered
        self._counts: dict[Key, int] = {}
        self._asked: set[Key] = set()  # in the background, done or failed

    def launch_if_ready(
        self, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]
    ) -> CompiledKernel | None:
        """Launch the binary for these very integers, if there is one."""
        if not self._signature.is_current():
            self._read_signature_again()
            self._counts, self._asked = {}, set()
        values, options, extra = args, self._options, _NOTHING
        if kwargs or len(args) != self._num_plain_arguments:
            values, options, extra = self._binder.bind(args, kwargs, options)
        facts, bits, every = self._read(values)
        key = (chosen_device(), options, facts)
        kernel = self._loaded.get(key)
        if kernel is None:
            self._note(key, every)
            return None
        programs = resolve_grid(grid, self._grid_arguments(values, options, kwargs, grid))
        if not all(programs):
            return kernel
        stream = self._checked(extra, kernel) if extra else None
        if hooks.launch_enter.calls or hooks.launch_exit.calls:
            self._launch_compiled(kernel, programs, every, bits, stream)
        else:
            launch(kernel, programs, every, bits, stream)
        return kernel

    def _note(self, key: Key, values: tuple[Any, ...]) -> None:
        """Count a launch; have the binary made where there were enough."""
        limits = self._tiered
        if key in self._asked or len(self._asked) >= limits.most_exact:
            return
        count = self._counts.pop(key, 0) + 1
        if count < limits.hot_launches:
            if len(self._counts) >= _MOST_COUNTED:
                del self._counts[next(iter(self._counts))]  # the one that came longest ago
            self._counts[key] = count
            return
        chosen, options, facts = key
        self._asked.add(key)
        if not any(p.is_exact and type(f) is not Facts for p, f in zip(self.parameters, facts)):
            return  # no integer is exact: the general binary is this one
        device = device_of_launch(chosen, self._names(values), facts, self.fn.__name__)
        # Not the arrays: they are not to live as long as the work waits.
        constants = tuple(None if type(f) is Facts else v for f, v in zip(facts, values))
        worker.submit(_Compilation(self, key, (device, options, facts), constants))

    def make(self, key: Key, resolved: Key, constants: tuple[Any, ...]) -> None:
        """Compile, or find on disk where nothing may be compiled; in the background."""
        try:
            if knobs.settings().is_jit_denied:
                kernel = self._find_on_disk(resolved, constants)
            else:
                kernel = self._prepare(resolved, constants, is_warmup=True)
        except TilewrightError as error:
            if error.code != "TW0408":
                warn_user(f"{self.fn.__name__} runs on without a binary for its shape: {error}")
            return
        if kernel is not None:
            self._loaded.add(key, kernel)

    def forget(self, key: Key) -> None:
        """What was to be made will not be."""
        self._asked.discard(key)


class _Compilation:
    """The making of one binary."""

    def __init__(
        self, function: ExactFunction, key: Key, resolved: Key, constants: tuple[Any, ...]
    ) -> None:
        self.function, self.key = function, key
        self.resolved, self.constants = resolved, constants

    def run(self) -> None:
        self.function.make(self.key, self.resolved, self.constants)

    def forget(self) -> None:
        self.function.forget(self.key)
