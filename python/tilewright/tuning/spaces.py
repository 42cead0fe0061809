"""Spaces of configurations: the values that each parameter may have, and rules between them."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .configurations import Config, misfit_of_space, names_like, names_of_kernel

OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg")
# More than anybody can compile; a space that is larger has forgotten a constraint.
_MOST = 20_000
Constraint = Callable[..., Any]


class choice(tuple[Any, ...]):
    """The values that a parameter of a space may have: `tw.choice(4, 8)`. Each counts once."""

    def __new__(cls, *values: Any) -> choice:
        kept: list[Any] = []
        for value in values:
            if not any(type(value) is type(known) and value == known for known in kept):
                kept.append(value)
        return super().__new__(cls, kept)

    def __repr__(self) -> str:
        return f"tw.choice({', '.join(map(repr, self))})"


def powers_of_two(low: int, high: int) -> choice:
    """The powers of two from `low` to `high`, both included: `tw.powers_of_two(16, 256)`. Raises
    ValueError where one of them is not a power of two."""
    for bound in (low, high):
        if not isinstance(bound, int) or bound < 1 or bound & (bound - 1):
            raise ValueError(f"powers_of_two takes powers of two, not {bound!r}")
    if low > high:
        raise ValueError(f"there is no power of two from {low} to {high}: the first bound is the larger")
    return choice(*(1 << exponent for exponent in range(low.bit_length() - 1, high.bit_length())))


def configs_of(
    space: Any, constraints: Sequence[Constraint] | Constraint | None, configs: Any, fn: Any
) -> Any:
    """The configurations of a space, or those that were given where there is none. Raises LaunchError
    TW0418."""
    if space is None:
        if constraints:
            raise misfit_of_space(fn, "constraints are given without a space", "write space={...} too")
        return configs
    if configs is not None:
        raise misfit_of_space(fn, "configs and a space are both given", "leave one of them out")
    return list(expand(space, constraints or (), fn))


def expand(
    space: Any, constraints: Sequence[Constraint] | Constraint, fn: Any
) -> Iterator[Config]:
    """The configurations of a space that meet all constraints, one by one, the last parameter's values
    changing first. A constraint gets the values as keywords. Raises LaunchError TW0418."""
    values = _checked_space(space, fn)
    rules = [_Rule(c, values, fn) for c in ([constraints] if callable(constraints) else constraints)]
    count = 0
    for combination in itertools.product(*values.values()):
        chosen = dict(zip(values, combination))
        if not all(rule.allows(chosen) for rule in rules):
            continue
        count += 1
        if count > _MOST:
            what = f"the space has more than {_MOST:,} configurations"
            raise misfit_of_space(fn, what, "add a constraint, or leave values out")
        options = {name: chosen.pop(name) for name in OPTIONS if name in chosen}
        yield Config(chosen, **options)
    if not count:
        listed = ", ".join(rule.describe() for rule in rules)
        raise misfit_of_space(fn, "no configuration of the space meets its constraints", f"they are {listed}")


class _Rule:
    """A constraint with the parameters that it names."""

    def __init__(self, constraint: Any, values: Mapping[str, choice], fn: Any) -> None:
        if not callable(constraint):
            what = f"{constraint!r} in constraints is not a function"
            raise misfit_of_space(fn, what, "write constraints=[lambda BLOCK_M, **_: BLOCK_M <= 64]")
        self.constraint, self.fn = constraint, fn
        parameters = list(inspect.signature(constraint).parameters.values())
        self.takes_all = any(p.kind is p.VAR_KEYWORD for p in parameters)
        self.names = [p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)]
        for parameter in parameters:
            is_named = parameter.name in self.names and parameter.default is parameter.empty
            if is_named and parameter.name not in values:
                what = f"a constraint takes `{parameter.name}`, which the space does not have"
                raise misfit_of_space(fn, what, names_like(parameter.name, list(values)))

    def describe(self) -> str:
        """The constraint's name, or its parameters."""
        name = getattr(self.constraint, "__name__", "<lambda>")
        return name if name != "<lambda>" else f"a lambda of {', '.join(self.names) or 'all'}"

    def allows(self, chosen: Mapping[str, Any]) -> bool:
        """Whether the constraint holds. Raises LaunchError TW0418 where it fails."""
        given = chosen if self.takes_all else {n: v for n, v in chosen.items() if n in self.names}
        try:
            return bool(self.constraint(**given))
        except Exception as error:
            values = ", ".join(f"{name}={value}" for name, value in given.items())
            raise misfit_of_space(
                self.fn,
                f"a constraint fails for {values}: {type(error).__name__}: {error}",
                "a constraint gives True or False for each configuration of the space",
            ) from error


def _checked_space(space: Any, fn: Any) -> dict[str, choice]:
    if not isinstance(space, Mapping) or not space:
        what = f"space is {space!r}, not a dictionary of values by parameter"
        raise misfit_of_space(fn, what, "write space={'BLOCK': tw.powers_of_two(16, 256)}")
    known = [*names_of_kernel(fn), *OPTIONS]
    checked: dict[str, choice] = {}
    for name, values in space.items():
        if name not in known:
            what = f"the space names `{name}`, which is neither a parameter nor an option of launches"
            raise misfit_of_space(fn, what, names_like(str(name), known))
        if isinstance(values, (str, bytes)) or not isinstance(values, Sequence):
            what = f"the space has {values!r} for {name}, which is not a choice of values"
            raise misfit_of_space(fn, what, f"write tw.choice({values!r})")
        checked[name] = choice(*values)
        if not checked[name]:
            raise misfit_of_space(fn, f"the space has no value for {name}", "write at least one")
    return checked
