"""The simulator finds what is wrong in the PTX of products by warpgroups: every mutant that some legal order of
completion makes wrong is reported on the default one, and kernels without a change are clean and right."""

from __future__ import annotations

import itertools
import os
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from warpsim_command import needs_command

FOLDER = Path(__file__).resolve().parent
sys.path.insert(0, str(FOLDER))

from warpgroup_cases import CASES, arrays_of, compiled, simulate  # noqa: E402
from warpgroup_harmless import HARMLESS, reason_of  # noqa: E402
from warpgroup_mutants import TRIALS, check, mutants_of  # noqa: E402
from warpgroup_rules import RULES  # noqa: E402

pytestmark = [needs_command, pytest.mark.usefixtures("compiler"), pytest.mark.one_machine]

# Of each case, at least so many mutants, and at least so many that are right where copies and products complete at
# once, and that are reported.
AT_LEAST = {
    "rows, 1 stage": (63, 17),
    "rows, 2 stages": (50, 22),
    "rows, 3 stages": (90, 23),
    "rows, 4 stages, 8 warps": (50, 30),
    "columns of A, bf16": (90, 23),
    "columns of A, rows of B": (72, 24),
    "rows of B": (126, 26),
    "bytes": (81, 23),
    "unsigned bytes": (40, 0),
    "sums apart": (90, 25),
    "sums apart, 8 warps": (45, 22),
    "sums of halves": (45, 18),
    "A computed": (72, 20),
    "A computed, 8 warps": (40, 19),
    "masked": (153, 40),
    "two slabs of B": (45, 0),
    "attention": (252, 61),
    "attention, 2 stages": (117, 65),
    "boxes, 2 stages": (60, 20),
    "boxes, 3 stages": (80, 25),
    "boxes along n, 8 warps": (96, 30),
    "masked boxes": (86, 24),
    "boxes of attention": (150, 70),
    "loader, 2 stages": (60, 20),
    "loader, 8 warps": (60, 20),
    "slabs, with a loader": (60, 20),
    "sums apart, with a loader": (75, 20),
    "masked, with a loader": (60, 20),
    "loader of attention": (60, 20),
    "cluster, 2 stages": (70, 15),
    "cluster, 3 stages": (85, 15),
    "cluster of two axes": (100, 18),
    "stores": (50, 20),
    "stores of the same rows, 8 warps": (70, 25),
    "ring of tiles": (70, 20),
}


def right_numbers(case: str) -> str:
    run = simulate(case, compiled(case).ptx, "early", "rr")
    assert run
    return run.numbers[-1]


@pytest.mark.parametrize("case", CASES)
def test_kernels_are_right_and_clean(case: str) -> None:
    text, right = compiled(case).ptx, right_numbers(case)
    assert "wgmma.mma_async" in text
    for completion, schedule in TRIALS:
        run = simulate(case, text, completion, schedule)
        assert run and not run.kinds, (completion, schedule, run)
        assert run.numbers[-1] == right, (completion, schedule)
        *_, result = arrays = arrays_of(run)
        answer = CASES[case].answer(arrays).reshape(-1)
        scale = np.abs(answer).mean()
        np.testing.assert_allclose(result, answer, rtol=2e-3, atol=4e-3 * scale)
        assert scale > 0.05


@pytest.mark.parametrize("case", CASES)
def test_no_mutant_is_missed(case: str) -> None:
    right, mutants = right_numbers(case), mutants_of(case)
    with ThreadPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        outcomes = list(pool.map(lambda mutant: check(mutant, right), mutants))
    by_word: dict[str, list[str]] = {word: [] for word in ("miss", "refused", "equivalent")}
    for mutant, outcome in zip(mutants, outcomes, strict=True):
        is_known = outcome.word == "equivalent" and reason_of(case, mutant.rule, mutant.number)
        if outcome.word in by_word and not is_known:
            by_word[outcome.word].append(f"{mutant.name}: {mutant.line[:80]} {sorted(outcome.kinds)}")
    assert by_word == {"miss": [], "refused": [], "equivalent": []}
    found = sum(outcome.word == "finding" and outcome.is_right_when_early for outcome in outcomes)
    num_mutants, num_found = AT_LEAST[case]
    assert len(mutants) >= num_mutants and found >= num_found, Counter(outcome.word for outcome in outcomes)


def test_the_corpus_holds_enough_mutants_that_early_completion_hides() -> None:
    assert AT_LEAST.keys() == CASES.keys()
    assert sum(count for count, _ in AT_LEAST.values()) >= 150
    assert sum(found for _, found in AT_LEAST.values()) >= 75


@pytest.mark.parametrize("rule", RULES["all"] | RULES["loader"] | RULES["stores"])
def test_every_rule_changes_something(rule: str) -> None:
    assert any(mutant.rule == rule for case in CASES for mutant in mutants_of(case))


def test_reasons_are_of_mutants_that_exist() -> None:
    names = {(mutant.case, mutant.rule, mutant.number) for case in CASES for mutant in mutants_of(case)}
    for entry in HARMLESS:
        for case, numbers in entry.numbers.items():
            for rule, number in itertools.product(entry.rules, numbers):
                assert (case, rule, number) in names, (case, rule, number)
