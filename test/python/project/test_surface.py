"""A part of `make surface`: every row is accounted for, and every ninth runs on every device."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).resolve().parents[2] / "surface"
PARTS = 9

pytest.importorskip("torch")


@pytest.fixture(scope="module")
def surface() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        import surface as module

        return module
    finally:
        sys.path.remove(str(FOLDER))


def test_every_row_has_a_program_or_a_reason(surface: Any) -> None:
    table = surface.rows()
    known = {*surface.harness.PROGRAMS, *surface.harness.NOT_FEATURES}
    assert len(table) > 800 and not [name for _, _, name in table if name not in known]
    assert not {*surface.harness.PROGRAMS} - {name for _, _, name in table}
    refused = surface.refused()
    assert refused and not {*refused} - {name for _, _, name in table} and not {*refused} & {
        *surface.harness.NOT_FEATURES
    }
    assert all("refused" in words and {*words} <= {"works", "refused"} for words in refused.values())


@pytest.mark.parametrize("part", range(2))
def test_a_part_of_the_surface_does_what_it_did(compiler: None, surface: Any, part: int) -> None:
    rows, before = surface.rows(), surface.refused()
    seed = 20260 + part
    problems: list[str] = []
    for _, _, feature in rows[part::2][::PARTS]:
        problems += surface.problems_of(feature, surface.run_row(feature, seed), before)
    assert not problems, "\n".join([f"seed {seed}", *problems])


def test_what_no_longer_works_and_what_is_wrong_is_reported(surface: Any) -> None:
    before = {"a": ["works", "works", "refused"]}
    results = ["works", "refused: TW0112", "refused: TW0112"]
    assert surface.problems_of("a", results, before) == ["a on reference: refused: TW0112"]
    assert len(surface.problems_of("new", ["wrong: 3"] * 3, before)) == 3
    assert len(surface.problems_of("new", ["refused: TW0112"] * 3, before)) == 3
    assert not surface.problems_of("a", ["works"] * 3, before)


def test_a_wrong_number_is_found(compiler: None, surface: Any) -> None:
    harness = surface.harness
    harness.expression("a wrong expectation", "x + y", lambda x, y: x + y + 1e-3)
    harness.tile("another", "t * 2", lambda x, y: x * 2 + (x > 0) * 1e-3)
    try:
        for name in ("a wrong expectation", "another"):
            assert harness.run(name, "cpu", 1).startswith("wrong: Not equal")
    finally:
        for name in ("a wrong expectation", "another"):
            del harness.PROGRAMS[name]
