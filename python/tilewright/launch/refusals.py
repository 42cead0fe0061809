"""The errors of launches whose kernel cannot be compiled now."""

from __future__ import annotations

import re
from typing import Any

from ..capture import SourceTooDeep
from ..compile import Options, Request
from ..compile.facts import Facts
from ..native.errors import CompileError, LaunchError
from .parts import entry_of, part_names


def not_prepared(request: Request) -> LaunchError:
    """The error of a launch that would have to compile, with the line that prepares it."""
    types, values, unnamed = _entries_of(request)
    options = "".join(
        f", {name}={value!r}"
        for name, value in request.options._asdict().items()
        if value != Options._field_defaults[name]
    )
    line = f"{request.name}.compile({types}, {values}, {request.device!r}{options})"
    if unnamed:  # an object, which has no text
        names = ", ".join(f"`{name}`" for name in unnamed)
        line = f"{request.name}.prepare(...) with such arguments; no signature can name {names}"
    return LaunchError(
        f"nothing may be compiled (tw.freeze() or TILEWRIGHT_JIT=deny), and {request.name} was not "
        f"prepared for {request.describe()}",
        code="TW0408",
        hint=f"prepare it: {line}",
    )


def _entries_of(request: Request) -> tuple[dict[str, Any], dict[str, Any], list[str]]:
    """What `compile` takes for a request: the signature, the constants, and the parameters that neither
    can name."""
    function_names = [name for name in request.parameters if name.isidentifier()]
    parts = request.facts[len(function_names) :]
    types: dict[str, Any] = {}
    values: dict[str, Any] = {}
    unnamed: list[str] = []
    for name, facts, value in zip(function_names, request.facts, request.constants):
        if isinstance(facts, Facts):
            types[name] = str(facts)
        elif not any(part_names([value])):
            values[name] = value
        elif (entry := entry_of(value, parts)) is not None:
            types[name] = entry
        else:
            unnamed.append(name)
    return types, values, unnamed


def of_arguments(error: CompileError, request: Request) -> CompileError:
    """The error of a kernel; of types, with a note for each argument that its lines name and that kernels only
    hand on, as they do with text and None. The error itself where there is none."""
    notes = [
        f"  = note: `{name}` is an argument of the launch: {what}; kernels compute with arrays and numbers"
        for name, facts, value in zip(request.parameters, request.facts, request.constants)
        if not isinstance(facts, Facts)
        and (what := _text_of(value))
        and re.search(rf"^\s*\d+ \|.*\b{re.escape(name)}\b", error.rendered, re.MULTILINE)
    ]
    if not notes or error.code != "TW0103":
        return error
    rendered = "\n".join([error.rendered.rstrip("\n"), *notes]) + "\n"
    parts = {"code": error.code, "hint": error.hint, "rendered": rendered}
    return type(error)(error.message, **parts, report={**error.report, "rendered": rendered})


def _text_of(value: Any) -> str:
    """A constant that is neither a number nor an object of the language; empty for those."""
    if value is None:
        return "None"
    if isinstance(value, str):
        return f"the string {value[:40]!r}"
    if type(value) in (list, tuple):
        return f"a {type(value).__name__} of {len(value)}"
    return ""


def too_deep(error: SourceTooDeep) -> CompileError:
    """The error of a kernel whose text is nested more deeply than Python's stack."""
    message = "expressions and blocks of a kernel are nested too deeply"
    hint = "use names for parts of the expression"
    lines = [
        f"error[TW0121]: {message}",
        f"  --> {error.file}:{error.line}",
        f"  {error.line} | {error.text[:96]}",
        f"  = hint: {hint}",
    ]
    return CompileError(message, code="TW0121", hint=hint, rendered="\n".join(lines))
