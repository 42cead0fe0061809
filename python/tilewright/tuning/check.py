"""Compares what candidates store, and says which of them are wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..native.errors import LaunchError
from .arrays import copy_of, count_poison, difference, poison, target_of
from .configurations import Arguments, Config

# The most bytes of results that are compared: copies of them lie beside the arguments, and comparing
# takes a few times as long as storing them.
MOST_BYTES = 64 << 20
# Results that are kept to compare with; more than so many different ones say nothing.
_MOST_RESULTS = 4

Judge = Callable[[Arguments], Any]


class _Group(NamedTuple):
    """Candidates with one result, and how many elements of it none of them has stored."""

    result: dict[str, Any]
    configs: list[Config]
    num_left: int


class Check:
    """The results of one key's candidates on the same arguments.

    Candidates whose results are alike form a group. The largest group is right, of equal ones that
    which has stored the most elements, then the first; where no two candidates agree, results depend
    on the configuration and none is wrong.
    """

    def __init__(
        self, names: Sequence[str], overwritten: Sequence[str], arguments: Arguments, kernel: str,
        tolerance: float | None, judge: Judge | None,
    ) -> None:  # fmt: skip
        self.names, self.overwritten, self.kernel = names, overwritten, kernel
        self.arguments, self.tolerance, self.judge = arguments, tolerance, judge
        self._groups: list[_Group] = []
        self._problems: dict[Config, str] = {}  # how one differs from the first group
        self._judged: dict[Config, str] = {}
        self.problem = ""  # why nothing is compared

    def prepare(self) -> None:
        """Fill what a candidate only writes with other values, before it runs."""
        self._attempt(lambda: [poison(self.arguments[name]) for name in self.overwritten])

    def note(self, config: Config) -> None:
        """Compare what a candidate has left in the arrays; its launch has finished."""
        if self.judge is not None:
            self._ask(config)
        else:
            self._attempt(lambda: self._sort(config))

    def _attempt(self, work: Callable[[], Any]) -> None:
        """Do something with arrays whose library may not be able to, as with some types of torch's."""
        if self.problem:
            return
        try:
            work()
        except (RuntimeError, TypeError, ValueError, NotImplementedError) as error:
            self.problem = f"{type(error).__name__}: {error}".splitlines()[0]
            self._groups.clear()

    def _sort(self, config: Config) -> None:
        for group in self._groups:
            problem = self._difference(group.result)
            if not problem:
                group.configs.append(config)
                return
            self._problems.setdefault(config, problem)
        if len(self._groups) < _MOST_RESULTS:
            result = {n: copy_of(self.arguments[n], n, self.kernel) for n in self.names}
            num_left = sum(count_poison(result[name]) for name in self.overwritten)
            self._groups.append(_Group(result, [config], num_left))

    def _ask(self, config: Config) -> None:
        assert self.judge is not None
        try:
            if self.judge({**self.arguments, **config.all_kwargs()}) is False:
                self._judged[config] = "the check of autotune said so"
        except AssertionError as error:
            lines = str(error).strip().splitlines()
            self._judged[config] = lines[0] if lines else "the check of autotune raised"

    def _difference(self, result: Mapping[str, Any]) -> str:
        for name, expected in result.items():
            if problem := difference(target_of(self.arguments[name]), expected, self.tolerance):
                return f"`{name}`: {problem}"
        return ""

    def wrong(self, configs: Sequence[Config]) -> dict[Config, LaunchError]:
        """The errors of those of the candidates that ran and whose result is wrong."""
        if self.judge is not None:
            return {config: self._error(config, why) for config, why in self._judged.items()}
        if len(configs) < 2 or not self._groups or self.is_unsettled(configs):
            return {}
        right = max(self._groups, key=lambda group: (len(group.configs), -group.num_left)).configs
        found: dict[Config, LaunchError] = {}
        ran = {*self._problems, *(config for group in self._groups for config in group.configs)}
        for config in configs:
            if config in ran and config not in right:
                # Others know how they differ from the first group.
                why = self._problems.get(config) or self._problems.get(right[0], "")
                found[config] = self._error(config, f"{why}, against {len(right)} that agree")
        return found

    def is_unsettled(self, configs: Sequence[Config]) -> bool:
        """Returns true if no two of several candidates have the same result."""
        return len(configs) > 2 and all(len(group.configs) == 1 for group in self._groups)

    def _error(self, config: Config, why: str) -> LaunchError:
        return LaunchError(
            f"its result is wrong: {why}",
            code="TW0448",
            hint="correct the kernel for this configuration, or write check=None where results "
            "depend on it",
        )
