"""Kernels take as many instructions as `budget.tsv` says."""

from __future__ import annotations

import pytest

from . import budget


@pytest.mark.parametrize("row", budget.read(), ids=lambda row: row.label)
def test_kernels_take_the_instructions_of_their_budget(row: budget.Row, compiler: None) -> None:
    number = budget.count(row)
    # Fewer are good news, which the table is to tell.
    how = "more" if number > int(row.number) else "fewer"
    assert str(number) == row.number, f"{how} than {row.number}: {budget.COMMAND}, and read the diff"


def test_no_kernel_takes_more_than_of_triton() -> None:
    for row in budget.read():
        assert row.triton == "-" or int(row.number) < int(row.triton), row
