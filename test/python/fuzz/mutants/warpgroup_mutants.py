"""Mutants of the PTX of kernels whose products warpgroups compute, by warpgroup_rules.py, and what becomes of them."""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from warpgroup_cases import CASES, compiled, simulate
from warpgroup_rules import ALWAYS_WRONG, LOADER_RULES, ORDER_RULES, RULES

# From test/golden/ptx, whose path warpgroup_cases adds.
from edits import FRESH, statements  # isort: skip


class Mutant(NamedTuple):
    case: str
    rule: str
    number: int  # of those of the case and rule
    line: str  # the statement at the place
    text: str

    @property
    def name(self) -> str:
        return f"{self.case}: {self.rule} ({self.number})"


@cache
def mutants_of(case: str) -> list[Mutant]:
    """Every rule at every place of a case's text."""
    lines = statements(compiled(case).ptx)
    lines.insert(lines.index("{") + 1, FRESH)
    found = []
    for rule, changes in RULES[CASES[case].rules].items():
        for number, (place, changed) in enumerate(changes(lines)):
            assert changed != lines, (case, rule, number)
            found.append(Mutant(case, rule, number, lines[place], "\n".join(changed)))
    return found


#---- What becomes of a mutant

# Completion of copies and products, and schedule of warps. The first is what a launch has unless it says otherwise.
TRIALS = (
    ("late", "rr"), ("early", "rr"), ("late", "reverse"), ("late", "greedy"), ("random:1", "random:1"),
    ("random:2", "reverse"), ("random:3", "random:2"),
)  # fmt: skip


class Outcome(NamedTuple):
    """`word`: "finding", "numbers" (wrong ones alone, in every trial the same), "equivalent", "miss" or "refused"."""

    word: str
    kinds: frozenset[str] = frozenset()
    is_right_when_early: bool = False


def check(mutant: Mutant, right: str) -> Outcome:
    """Runs a mutant; `right` are the numbers that the kernel leaves in its last array."""
    runs = [simulate(mutant.case, mutant.text, *trial) for trial in TRIALS[:2]]
    if not all(runs):
        return Outcome("refused")
    late, early = (run for run in runs if run)
    is_right_when_early = early.numbers[-1] == right
    if late.kinds:
        return Outcome("finding", late.kinds, is_right_when_early)
    # Which elements a product takes does not depend on the order of warps: fewer trials tell.
    trials = TRIALS[2:] if mutant.rule in ORDER_RULES | LOADER_RULES else TRIALS[4:5]
    others = [run for trial in trials if (run := simulate(mutant.case, mutant.text, *trial))]
    everything = [late, early, *others]
    kinds = frozenset().union(*(run.kinds for run in everything))
    results = {run.numbers[-1] for run in everything}
    # A finding that the default trial lacks is one that a user lacks.
    if kinds or len(results) > 1 or mutant.rule in ALWAYS_WRONG:
        return Outcome("miss", kinds, is_right_when_early)
    return Outcome("equivalent" if results == {right} else "numbers", frozenset(), is_right_when_early)
