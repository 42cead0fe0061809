"""Measures configurations against each other: each different launch once, and slow ones briefly."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable
from typing import Any

from ..launch.arguments import ArgumentProblem, constexpr_key
from .configurations import Arguments, Config
from ..compile import CompiledKernel
from ..compile.facts import Facts
from ..launch.run import resolve_grid

# A configuration is out once each of its launches took this much longer than the best one's median:
# launches of one kernel differ by less, even on a busy machine.
_TIMES_THE_BEST = 2.0


class Trials:
    """The times of one choice, by what the device does in a launch.

    Configurations that lead to the same binary over the same grid, as those do on a CPU that differ in
    `num_warps` only, share a time.
    """

    def __init__(self, key: tuple[Any, ...]) -> None:
        self.key = key
        self._times: dict[Hashable, tuple[Config, float]] = {}
        self._best = math.inf

    def time(
        self, config: Config, launched: Hashable, measure: Callable[[float], float]
    ) -> float:
        """The milliseconds of a configuration, whose launch `launched` identifies if it is not None.
        `measure` gets the time above which it may stop. A configuration that is asked for again is
        measured again."""
        measured_as, known = self._times.get(launched, (config, 0.0))
        if measured_as != config:
            return known
        taken = measure(self._best * _TIMES_THE_BEST)
        self._best = min(self._best, taken)
        if launched is not None:
            self._times[launched] = config, taken
        return taken


def launch_of(kernel: Any, config: Config, arguments: Arguments, grid: Any) -> Hashable:
    """What a configuration's launch is: its binary, its grid and its hook. None where that is not known
    before the launch."""
    if not isinstance(kernel, CompiledKernel) or kernel.is_opaque:
        return None
    request = kernel.request
    every = zip(request.parameters, request.facts, request.constants)
    constants = {name: value for name, facts, value in every if not isinstance(facts, Facts)}
    named = {**request.options._asdict(), **arguments, **constants, **config.all_kwargs()}
    try:
        programs = resolve_grid(grid, named)
        chosen = constexpr_key(tuple(sorted(config.kwargs.items())))
    except (KeyError, ArgumentProblem):  # what only the launch knows, or an option without a key
        return None
    return kernel.key, programs, chosen, config.pre_hook
