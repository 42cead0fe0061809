"""The parameters that the frontend binds are those that the Python face of the language shows."""

from __future__ import annotations

import builtins
import inspect
import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.language import elementwise, libdevice, marks, tile

# The frontend takes more: what older kernels write, or a default that depends on the value.
_CLASSES = {"tensor", "dtype", "constexpr", "block_type", "pointer_type"}
_DEFAULTS_DIFFER = {"full", "dot", "minimum", "maximum", "clamp", "static_assert", "device_assert"}


def faces() -> dict[str, Any]:
    """Every function of the language that the frontend implements, by the frontend's name."""
    found: dict[str, Any] = {}
    for module in (tile, elementwise, libdevice):
        for name, value in vars(module).items():
            mark = getattr(value, marks.BUILTIN, None) if callable(value) else None
            if isinstance(mark, str) and mark not in _CLASSES and ":" not in mark:
                found.setdefault(mark, value)
    return found


def formals_of(call: str) -> list[tuple[str, bool, bool]]:
    """(name, is required, takes the rest) of each parameter, as the report of an error says."""
    text = f"def kernel(x):\n    {call}(no_such_parameter=1)\n"
    scope: dict[str, Any] = {"tw": tw, "mark": None}
    exec(text, scope)
    with pytest.raises(tw.CompileError) as caught:
        tw.jit(scope["kernel"])[(1,)](np.zeros(1, np.float32))
    assert caught.value.code == "TW0109", caught.value.rendered
    signature = re.search(r"it is \w+\((.*)\)", caught.value.rendered)
    assert signature, caught.value.rendered
    parts = [part for part in signature.group(1).split(", ") if part and part != "/"]
    return [
        (part.split("=")[0].lstrip("*"), "=" not in part and not part.startswith("*"),
         part.startswith("*"))
        for part in parts
    ]  # fmt: skip


def formals_of_face(face: Any) -> list[tuple[str, bool, bool]]:
    function = face.__init__ if inspect.isclass(face) else face
    parameters = list(inspect.signature(function).parameters.values())
    rest = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [
        (p.name, p.default is p.empty and p.kind not in rest,
         p.kind in rest)
        for p in parameters if p.name != "self"
    ]  # fmt: skip


FACES = faces()


@pytest.mark.parametrize("name", sorted(name for name in FACES if hasattr(tw, name)))
def test_a_builtin_binds_the_parameters_that_its_stub_shows(name: str) -> None:
    bound, shown = formals_of(f"tw.{name}"), formals_of_face(FACES[name])
    assert [p[0] for p in bound][: len(shown)] == [p[0] for p in shown]
    extra = bound[len(shown) :]
    assert all(not required for _, required, _ in extra)
    if name not in _DEFAULTS_DIFFER:
        assert bound[: len(shown)] == shown


PYTHON = [
    "len", "abs", "int", "float", "bool", "repr", "isinstance", "hasattr", "enumerate", "sum",
    "any", "all", "pow", "divmod", "tuple", "list", "reversed", "sorted",
]  # fmt: skip


@pytest.mark.parametrize("name", [n for n in PYTHON if n != "sorted"])
def test_a_builtin_of_python_has_the_parameter_names_of_python(name: str) -> None:
    if name in ("int", "bool", "float", "enumerate", "reversed", "tuple", "list"):
        expected = {"enumerate": ["iterable", "start"]}.get(name)
    else:
        expected = list(inspect.signature(getattr(builtins, name)).parameters)
    if expected is not None:
        assert [p[0] for p in formals_of(name)] == expected


@pytest.mark.parametrize(
    "call",
    [
        "enumerate((1, 2), foo=5)", "enumerate()", "enumerate((1,), 1, 2)",
        "enumerate((1,), 1, start=2)", "len(obj=(1,))", "sum((1,), first=2)", "max()",
        "max(1, 2, foo=3)", "zip((1,), (2,), strct=True)", "abs(x=3)", "print(1, separator='')",
        "range(start=1)", "int(5, bse=3)", "isinstance(1)", "tw.range(5, start=2)",
        "tw.program_id(axes=0)", "tw.program_id(0, axis=0)", "tw.load()",
    ],
)  # fmt: skip
def test_wrong_arguments_are_refused_at_their_place(call: str) -> None:
    text = f"def kernel(x):\n    y = {call}\n"
    scope: dict[str, Any] = {"tw": tw}
    exec(text, scope)
    with pytest.raises(tw.CompileError) as caught:
        tw.jit(scope["kernel"])[(1,)](np.zeros(1, np.float32))
    assert caught.value.code == "TW0109"
    assert "^" in caught.value.rendered
