"""Findings of `check`, and their text."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from ..native.errors import with_visible_controls
from .bisection import WrongPass
from .cases import describe
from .check_runs import Way
from .examples import Example, grid_of, sizes_of

_TITLES = {
    "race": "race", "bounds": "access out of bounds", "uninitialized": "uninitialized read",
    "difference": "results differ from those of reference", "expected": "results are not the expected ones",
    "assertion": "failed assertion", "endless": "endless loop",
}  # fmt: skip

_PLACE = re.compile(r"`([^`]*)` \+ \d+")
# Kinds of findings that a kernel may have itself.
_OF_KERNELS = ("race", "bounds", "uninitialized", "assertion", "endless", "expected")


@dataclass(frozen=True)
class Finding:
    """A fault: `kind` is race, bounds, uninitialized, difference (from `reference`), expected (a
    difference from `expected`), or a word of the device; `line` of the kernel's file, 0 where unknown; the
    smallest `case` that shows it, on the device and in the order of `way`; all `devices` that showed it;
    `wrong_pass` of the compiler, where one was found."""

    kind: str
    message: str
    line: int
    way: Way
    case: Example
    devices: list[str]
    wrong_pass: WrongPass | None = None

    @property
    def is_of_compiler(self) -> bool:
        """Tell whether no kernel can be at fault: it knows no shared memory, and means the same everywhere."""
        return self.kind not in _OF_KERNELS or self.is_in_shared

    @property
    def is_in_shared(self) -> bool:
        """Tell whether the place of the fault is a buffer of a program, none of the arrays."""
        place = _PLACE.search(self.message)
        return place is not None and place[1] not in self.case.arrays

    @property
    def arguments(self) -> dict[str, Any]:
        """The values of numbers and the elements of arrays by parameter, and the constants."""
        return {**sizes_of(self.case), **self.case.constants}

    @property
    def grid(self) -> tuple[int, ...]:
        """The programs of the launch along each axis."""
        return grid_of(self.case)

    def __str__(self) -> str:
        place = f" at line {self.line}" if self.line else ""
        others = [name for name in self.devices if name != self.way.device]
        also = f", also {', '.join(others)}" if others else ""
        title = _TITLES.get(self.kind, self.kind)
        text = f"{title}{place}, on {self.way}{also}\n  {self.message}\n  with {describe(self.case)}"
        if self.wrong_pass is not None:
            text += f"\n  {self.wrong_pass}"
        return with_visible_controls(text)


@dataclass(frozen=True)
class CheckResult:
    """The findings of `check`, smallest case first, and how much was run. True where nothing was found."""

    kernel: str
    findings: list[Finding]
    cases: int
    launches: int
    notes: list[str]

    def __bool__(self) -> bool:
        return not self.findings

    def __str__(self) -> str:
        count = len(self.findings)
        found = f"{count} finding{'s' if count != 1 else ''}" if count else "nothing found"
        head = f"{self.kernel}: {found} in {self.cases} cases, {self.launches} launches"
        parts = [f"{number}. {finding}" for number, finding in enumerate(self.findings, 1)]
        notes = [with_visible_controls(f"note: {note}") for note in self.notes]
        return "\n".join([head, *parts, *notes])


class CheckError(AssertionError):
    """Findings of `check`: `result` has them."""

    def __init__(self, result: CheckResult) -> None:
        super().__init__(str(result))
        self.result = result
