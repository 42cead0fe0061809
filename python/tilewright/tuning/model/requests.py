"""What launches of configurations would compile, and over which grid, without compiling it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ...compile import CompiledKernel, Request
from ...compile.facts import Facts
from ...launch import hooks
from ...launch.run import Programs, resolve_grid


class Candidate(NamedTuple):
    """A configuration's compilation: its grid and the integers that are passed at run time."""

    request: Request
    grid: Programs
    numbers: dict[str, int]


def candidate_of(
    config: Any, warm: Callable[[Any], Any], arguments: Mapping[str, Any], grid: Any
) -> Candidate | None:
    """What a configuration would compile. `warm` is a warmup with the configuration, which compiles
    nothing here. None where there is no kernel of ours."""
    asked: list[Any] = []
    token = hooks.plan.set(asked.append)
    try:
        found = warm(config)
    finally:
        hooks.plan.reset(token)
    request = found.request if isinstance(found, CompiledKernel) else asked[0] if asked else None
    if request is None:
        return None
    every = list(zip(request.parameters, request.facts, request.constants))
    constants = {name: value for name, facts, value in every if not isinstance(facts, Facts)}
    named = {**request.options._asdict(), **arguments, **constants, **config.all_kwargs()}
    scalars = [name for name, facts, _ in every if isinstance(facts, Facts) and not facts.is_pointer]
    whole = [name for name in scalars if hasattr(named.get(name), "__index__")]
    numbers = {name: operator.index(named[name]) for name in whole}
    return Candidate(request, resolve_grid(grid, named), numbers)
