"""Scripts that show a finding of `check` again."""

from __future__ import annotations

import inspect
import shlex
import shutil
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..native.errors import with_visible_controls
from .check_results import Finding
from .check_runs import Launch, Way
from .differences import Tolerance
from .examples import Example, limit_of, sizes_of

_COPY = "kernel.py"


@dataclass(frozen=True)
class Asked:
    """The arguments of `check`, as far as a script repeats them."""

    launch: Launch
    signature: Mapping[str, str]
    updated: Collection[str]
    expected: Any
    tolerance: Tolerance


def write_reproducer(path: str | Path, finding: Finding, asked: Asked) -> None:
    """Write a script that runs the case of a finding and exits with 1 while it is found: to a file NAME.py, or
    as reproduce.py into a folder, which is made, with a copy of the kernel's file that it runs and the report."""
    path, source = Path(path), place_of(asked.launch.kernel.fn)
    if path.suffix == ".py":
        path.write_text(_script(finding, asked, repr(source), path), encoding="utf-8")
        return
    path.mkdir(parents=True, exist_ok=True)
    file, _, name = source.rpartition(":")
    shutil.copyfile(file, path / _COPY)
    script = path / "reproduce.py"
    where = f"str(Path(__file__).with_name({_COPY!r})) + {':' + name!r}"
    script.write_text(_script(finding, asked, where, script, Path(file).parent), encoding="utf-8")
    (path / "report.txt").write_text(f"{finding}\n", encoding="utf-8")


def _script(finding: Finding, asked: Asked, where: str, script: Path, imports: Path | None = None) -> str:
    """The text of a script; `where` is an expression of the kernel's FILE:NAME, and `imports` the folder in
    which the kernel's file finds what it imports."""
    launch, signature, expected = asked.launch, asked.signature, asked.expected
    name, way = launch.kernel.fn.__name__, finding.way
    chosen = {
        "example": _sizes_and_limits(finding.case), "grid": finding.grid, "devices": (way.device,),
        "updated": tuple(asked.updated), "rtol": asked.tolerance.relative, "atol": asked.tolerance.absolute, "seed": launch.seed, "cases": 1, "raises": False,
        "ways": () if way == Way(way.device) else ((way.schedule, way.completion),), **launch.options,
    }  # fmt: skip
    given = [f"    {name}={value!r},\n" for name, value in chosen.items()]
    if expected is not None and finding.kind == "expected":
        given.append(f"    expected=load_object({place_of(expected)!r}),\n")
    summary = f"{finding.kind} of {name} on {way}"
    again = f"To run it again: {shlex.join(['python', str(script.resolve())])}"
    lines = [*str(finding).splitlines(), "\\n".join(again.splitlines())]  # a folder's name may have several
    report = "".join(f"# {with_visible_controls(line)}\n" for line in lines)
    return (
        f'"""Shows {summary}; exits with 1 while it is there."""\n\n'
        f"{report}\n"
        "import sys\nfrom pathlib import Path\n\n"
        "import tilewright as tw\nfrom tilewright.export.entries import load_object\n\n"
        f"{f'sys.path.append({str(imports)!r})' if imports else ''}\n"
        f"kernel = load_object({where})\n"
        "result = tw.testing.check(\n    kernel,\n"
        f"    {dict(signature)!r},\n    {dict(finding.case.constants)!r},\n{''.join(given)})\n"
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
