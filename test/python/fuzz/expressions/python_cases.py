"""Runs random expressions and functions in kernels and compares them with CPython.

Many cases stand in one kernel. Where it is refused, it is halved until the refused case is alone:
a refusal with a code is allowed, another value never.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import python_model as model
from python_expressions import Generator
from python_programs import Program

import tilewright as tw
from tilewright.errors import CompileError, TilewrightError, UnsupportedError

SCALARS = {"a": 5, "b": -3, "c": 5, "u": 1.5, "v": -0.75}
_numbers = itertools.count()


@dataclass
class Case:
    seed: int
    text: str  # an expression, or a function
    expected: Any
    ends_in: str = ""  # what Python raises instead

    def __str__(self) -> str:
        return f"seed {self.seed}: {self.text}"


@dataclass
class Outcome:
    numCases: int = 0
    refused: dict[str, int] = field(default_factory=dict[str, int])
    failures: list[str] = field(default_factory=list[str])
    prints_refusals: bool = False

    @property
    def numRefused(self) -> int:
        return sum(self.refused.values())


def make_expression(seed: int) -> Case | None:
    """None where the model has no answer."""
    mixed = (0.0, 0.3, 0.6)[seed % 3]
    generator = Generator(seed, mixed)
    text = generator.any_value(2 + seed % 2)
    scalars = {n: model.Scalar("int" if isinstance(v, int) else "float", v)
               for n, v in SCALARS.items()}  # fmt: skip
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = model.evaluate(text, scalars)
    except model.Unknown:
        return None
    except model.Refused as error:
        return Case(seed, text, None, f"Refused: {error}")
    except Exception as error:  # Python may raise anything
        return Case(seed, text, None, type(error).__name__)
    return Case(seed, text, value) if _is_kept(value) else None


def _is_kept(value: Any) -> bool:
    """Whether the kernel can tell the value: not endless, not complex, no list."""
    if isinstance(value, (tuple, list)):
        return isinstance(value, tuple) and all(map(_is_kept, value))
    if isinstance(value, model.Scalar):
        return bool(np.isfinite(value.value))
    if isinstance(value, (str, bytes)):
        return isinstance(value, str) and len(value) < 200
    return value is None or isinstance(value, (int, float)) and len(repr(value)) < 400


def _leaves(value: Any, path: str) -> list[tuple[str, Any]]:
    """Run-time scalars in a value, each with the expression that names it."""
    if isinstance(value, model.Scalar):
        return [(path, value)]
    if isinstance(value, tuple):
        return [leaf for i, item in enumerate(value) for leaf in _leaves(item, f"{path}[{i}]")]
    return []


def _checks(index: int, case: Case, slots: list[tuple[int, Any]]) -> list[str]:
    """The lines that store a case's run-time leaves and compare the rest with Python's text."""
    name = f"v{index}"
    lines = [f"{name} = {case.text}"]

    def check(value: Any, path: str) -> None:
        if isinstance(value, model.Scalar):
            slots.append((index, value))
            lines.append(f"tw.store(out + {len(slots) - 1}, {path})")
        elif isinstance(value, tuple) and not model.is_static(value):
            lines.append(f"tw.static_assert(len({path}) == {len(value)}, 'case {index} #len')")
            for i, item in enumerate(value):
                check(item, f"{path}[{i}]")
        else:
            text = f"'case {index} #is ' + repr({path})"
            lines.append(f"tw.static_assert(repr({path}) == {repr(value)!r}, {text})")

    check(case.expected, name)
    return lines


def _compile(name: str, text: str) -> Any:
    scope: dict[str, Any] = {"tw": tw}
    exec(text, scope)
    return tw.jit(scope[name])


def run_expressions(cases: Sequence[Case], device: str, outcome: Outcome) -> None:
    """One kernel for all; halves of it where it is refused."""
    slots: list[tuple[int, Any]] = []
    lines = [line for i, case in enumerate(cases) for line in _checks(i, case, slots)]
    name = f"kernel{next(_numbers)}"
    text = f"def {name}(out, a, b, c, u, v):\n    " + "\n    ".join(lines) + "\n    return\n"
    out = np.full(max(1, len(slots)), np.nan, np.float64)
    failure = _attempt(name, text, out, tuple(SCALARS.values()), device)
    if failure is None:
        for (index, scalar), got in zip(slots, out):
            if not got == float(scalar.value):
                outcome.failures.append(f"{cases[index]}\n  is {got}, not {scalar}")
        outcome.numCases += len(cases)
    elif len(cases) > 1:
        half = len(cases) // 2
        run_expressions(cases[:half], device, outcome)
        run_expressions(cases[half:], device, outcome)
    else:
        outcome.numCases += 1
        _judge(cases[0], failure, outcome)


def _attempt(name: str, text: str, out: Any, args: tuple[Any, ...], device: str) -> Any:
    try:
        kernel = _compile(name, text)
        with contextlib.redirect_stderr(io.StringIO()), tw.device(device):
            kernel[(1,)](out, *args)
    except Exception as error:
        return error
    return None


def _judge(case: Case, failure: Exception, outcome: Outcome) -> None:
    """A refusal has a code; a failed comparison is a wrong value."""
    is_coded = isinstance(failure, (CompileError, UnsupportedError))
    if not is_coded or "#" in getattr(failure, "message", ""):
        wanted = f"not {case.expected!r}" if not case.ends_in else f"Python: {case.ends_in}"
        text = getattr(failure, "message", repr(failure))
        outcome.failures.append(f"{case}\n  {type(failure).__name__}: {text}, {wanted}")
        return
    assert isinstance(failure, TilewrightError)
    if outcome.prints_refusals and not case.ends_in:
        print(f"{case}\n  refused: {failure.code} {failure.message}")
    outcome.refused[failure.code] = outcome.refused.get(failure.code, 0) + 1


def run_refusals(cases: Sequence[Case], device: str, outcome: Outcome) -> None:
    """What Python raises has no value: a kernel must not compute one."""
    for case in cases:
        outcome.numCases += 1
        name = f"kernel{next(_numbers)}"
        text = f"def {name}(out, a, b, c, u, v):\n    v0 = {case.text}\n    return\n"
        out = np.full(1, np.nan)
        failure = _attempt(name, text, out, tuple(SCALARS.values()), device)
        if failure is None:
            outcome.failures.append(f"{case}\n  compiles, but Python: {case.ends_in}")
        else:
            _judge(case, failure, outcome)


def make_program(seed: int) -> Case:
    return Case(seed, Program(seed).text(f"function{seed}"), None)


INPUTS = [(5, -3), (0, 0), (1, 7), (-2, 2), (4, 3)]
_WIDTH = 8


def _python_results(case: Case) -> list[tuple[float, ...]] | None:
    scope: dict[str, Any] = {}
    exec(case.text, scope)
    results = [scope[f"function{case.seed}"](a, b) for a, b in INPUTS]
    numbers = [number for result in results for number in result]
    return results if all(abs(n) < 2**20 for n in numbers) else None


def run_programs(cases: Sequence[Case], device: str, outcome: Outcome) -> None:
    """Several functions in one kernel, called with the same run-time integers."""
    expected = {case.seed: _python_results(case) for case in cases}
    cases = [case for case in cases if expected[case.seed] is not None]
    if not cases:
        return
    name = f"kernel{next(_numbers)}"
    text = "".join(f"@tw.jit\n{case.text}\n" for case in cases)
    text += f"def {name}(out, a, b):\n"
    for index, case in enumerate(cases):
        text += f"    v = function{case.seed}(a, b)\n"
        for j in range(7):
            text += f"    tw.store(out + {index * _WIDTH + j}, v[{j}])\n"
    outs: list[Any] = []
    failure = None
    for a, b in INPUTS:
        outs.append(np.full(len(cases) * _WIDTH, np.nan, np.float64))
        # As one-dimensional values that no specialization turns into constants.
        failure = failure or _attempt(name, text, outs[-1], (np.int32(a), np.int32(b)), device)
    if failure is not None and len(cases) > 1:
        half = len(cases) // 2
        run_programs(cases[:half], device, outcome)
        run_programs(cases[half:], device, outcome)
        return
    outcome.numCases += len(cases)
    if failure is not None:
        _judge(cases[0], failure, outcome)
        return
    for index, case in enumerate(cases):
        for inputs, out, wanted in zip(INPUTS, outs, expected[case.seed] or ()):
            got = tuple(out[index * _WIDTH : index * _WIDTH + 7])
            if got != tuple(map(float, wanted)):
                outcome.failures.append(f"{case}\n  of {inputs} is {got}, not {wanted}")
                break


def run(
    first: int, count: int, device: str = "cpu", prints_refusals: bool = False, batch: int = 40
) -> Outcome:
    """All kinds of cases for a range of seeds."""
    outcome = Outcome(prints_refusals=prints_refusals)
    found = [make_expression(seed) for seed in range(first, first + count)]
    cases = [case for case in found if case is not None]
    valued = [case for case in cases if not case.ends_in]
    _in_batches([c for c in valued if model.is_static(c.expected)], batch, run_expressions, device,
                outcome)  # fmt: skip
    _in_batches([c for c in valued if not model.is_static(c.expected)], batch, run_expressions,
                device, outcome)  # fmt: skip
    run_refusals([case for case in cases if case.ends_in][: count // 20], device, outcome)
    programs = [make_program(seed) for seed in range(first, first + count // 8)]
    _in_batches(programs, 6, run_programs, device, outcome)
    return outcome


def _in_batches(
    cases: Sequence[Case],
    size: int,
    function: Callable[[Sequence[Case], str, Outcome], None],
    device: str,
    outcome: Outcome,
) -> None:
    for begin in range(0, len(cases), size):
        function(cases[begin : begin + size], device, outcome)
