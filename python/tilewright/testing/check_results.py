"""Findings of `check`, their text, and a script that shows one of them."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..native.errors import with_visible_controls
from .cases import describe
from .check_runs import Launch, Way
from .differences import Tolerance
from .examples import Example, grid_of, limit_of, sizes_of

_TITLES = {
    "race": "race", "bounds": "access out of bounds", "uninitialized": "uninitialized read",
    "difference": "results differ from those of reference", "expected": "results are not the expected ones",
    "assertion": "failed assertion", "endless": "endless loop",
}  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A fault: `kind` is race, bounds, uninitialized, difference (from `reference`), expected (a
    difference from `expected`), or a word of the device; `line` of the kernel's file, 0 where unknown; the
    smallest `case` that shows it, on the device and in the order of `way`; all `devices` that showed it."""

    kind: str
    message: str
    line: int
    way: Way
    case: Example
    devices: list[str]

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


def reproducer_of(
    finding: Finding,
    launch: Launch,
    signature: Mapping[str, str],
    updated: Collection[str],
    expected: Any,
    tolerance: Tolerance,
) -> str:
    """A script that runs the case of a finding and exits with 1 while it is found. Raises ValueError for
    functions that a script cannot import: those of a function's body, or without a file."""
    name, where = launch.kernel.fn.__name__, place_of(launch.kernel.fn)
    way = finding.way
    chosen = {
        "example": _sizes_and_limits(finding.case), "grid": finding.grid, "devices": (way.device,),
        "updated": tuple(updated), "rtol": tolerance.relative, "atol": tolerance.absolute, "seed": launch.seed, "cases": 1, "raises": False,
        "ways": () if way == Way(way.device) else ((way.schedule, way.completion),), **launch.options,
    }  # fmt: skip
    lines = [f"    {name}={value!r},\n" for name, value in chosen.items()]
    if expected is not None and finding.kind == "expected":
        lines.append(f"    expected=load_object({place_of(expected)!r}),\n")
    summary = f"{finding.kind} of {name} on {way}"
    return (
        f'"""Shows {summary}; exits with 1 while it is there."""\n\n'
        "import sys\n\nimport tilewright as tw\nfrom tilewright.export.entries import load_object\n\n"
        f"kernel = load_object({where!r})\n"
        "result = tw.testing.check(\n    kernel,\n"
        f"    {dict(signature)!r},\n    {dict(finding.case.constants)!r},\n{''.join(lines)})\n"
        "print(result)\nsys.exit(0 if result else 1)\n"
    )


def _sizes_and_limits(case: Example) -> dict[str, Any]:
    """The numbers behind a case's entries, and the limits of integers that entries have."""
    sizes = sizes_of(case)
    values = {**case.constants, **sizes}
    limited = [name for name in case.arrays if "<" in str(case.entries[name])]
    return {**sizes, **{name: f"{sizes[name]} < {limit_of(case, name, values)}" for name in limited}}


def place_of(function: Any) -> str:
    """FILE:NAME of a function of a module."""
    file, name = inspect.getsourcefile(function), getattr(function, "__qualname__", "")
    if not file or not Path(file).is_file() or not name.isidentifier():
        raise ValueError(f"a script cannot import {name or function!r}: it is not a function of a file's module")
    return f"{Path(file).resolve()}:{name}"
