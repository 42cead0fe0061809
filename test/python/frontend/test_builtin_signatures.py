"""The parameters that the frontend binds are those that the Python face of the language shows."""

from __future__ import annotations

import builtins
import enum
import importlib
import inspect
import json
import pkgutil
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright import language, library
from tilewright.language import marks
from tilewright.language.marks import METHODS

# Classes of values, which a kernel names and does not call.
_TYPES = {"tensor", "block_type", "tensor_descriptor", "tensor_descriptor_type"}
# Methods of tiles that the library has as a function, for tiles only.
_LIBRARY = {"item"}


def text_of_default(value: Any) -> str:
    """As the frontend's tables spell it, and its messages show it."""
    if isinstance(value, str):
        return json.dumps(value)
    return str(value) if isinstance(value, enum.Enum) else repr(value)


def text_of(face: Any, first: str = "") -> str:
    """The parameters of a function, or of the making of a class, with `first` in place of self."""
    words = []
    for parameter in inspect.signature(face.__init__ if inspect.isclass(face) else face).parameters.values():
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(parameter.kind, "")
        # Behind *rest, the frontend takes parameters by keyword only. No table says a bare `*`.
        is_only_keyword = parameter.kind == parameter.KEYWORD_ONLY
        if is_only_keyword and not any(re.match(r"\*\w", word) for word in words):
            words.append("*")
        default = parameter.default
        value = "" if default is parameter.empty else "=" + text_of_default(default)
        words.append(star + parameter.name + value)
    if words and words[0] == "self":
        words[:1] = [first] if first else []
    return ", ".join(words)


def stubs() -> dict[str, set[str]]:
    """What every Python name of each builtin shows; descriptors' methods as the frontend names them."""
    shown: dict[str, set[str]] = {}
    packages = [(f"{package.__name__}.", package.__path__) for package in (language, library)]
    for module in (module for prefix, path in packages for module in pkgutil.iter_modules(path, prefix)):
        for value in vars(importlib.import_module(module.name)).values():
            mark = getattr(value, marks.BUILTIN, None)
            is_face = inspect.isfunction(value) or inspect.isclass(value)
            if is_face and isinstance(mark, str) and mark not in _TYPES and ":" not in mark:
                shown.setdefault(mark, set()).add(text_of(value))
    for name, method in vars(tw.tensor_descriptor).items():
        if inspect.isfunction(method) and not name.startswith("_"):
            shown[f"tensor_descriptor.{name}"] = {text_of(method, "desc")}
    for name in _LIBRARY:
        shown[name] = {text_of(METHODS[name].fn)}
    return shown


def differences(bound: dict[str, str], shown: dict[str, set[str]]) -> list[str]:
    """The builtins whose parameters here and there are not the same text, or that one side lacks."""
    return [
        f"{name}: the frontend binds ({bound.get(name)}), Python shows {shown.get(name)}"
        for name in sorted({*bound, *shown})
        if shown.get(name) != {bound.get(name)}
    ]


def bound_signatures() -> dict[str, str]:
    from tilewright.native import native

    return native().builtin_signatures()


def test_every_builtin_binds_the_parameters_that_its_stub_shows(compiler: None) -> None:
    bound = bound_signatures()
    assert len(bound) > 100 and not differences(bound, stubs())


@pytest.mark.parametrize(
    "change",
    [
        lambda rows: rows.pop("load"),
        lambda rows: rows.update(extra="x"),
        lambda rows: rows.update(where="condition, y, x"),
        lambda rows: rows.update(gather="src, indices, axis"),
        lambda rows: rows.update(arange="start, end, step"),
        lambda rows: rows.update(cat="input, other, can_reorder=False, dim=1"),
        lambda rows: rows.update(cat="input, other, can_reorder=False, dim"),
        lambda rows: rows.update(map_elementwise="scalar_fn, pack=1, *args"),
        lambda rows: rows.update(broadcast_to="input, shape"),
        lambda rows: rows.update(exp="x, y"),
        lambda rows: rows.update({"tensor_descriptor.load": "desc, offsets"}),
    ],
)
def test_any_difference_of_parameters_is_found(
    compiler: None, change: Callable[[dict[str, str]], Any]
) -> None:
    bound = bound_signatures()
    change(bound)
    assert len(differences(bound, stubs())) == 1


def names_of(call: str) -> list[str]:
    """The parameters of a call, as the report of an error says."""
    text = f"def kernel(x):\n    {call}(no_such_parameter=1)\n"
    scope: dict[str, Any] = {"tw": tw, "mark": None}
    exec(text, scope)
    with pytest.raises(tw.CompileError) as caught:
        tw.jit(scope["kernel"])[(1,)](np.zeros(1, np.float32))
    assert caught.value.code == "TW0109", caught.value.rendered
    signature = re.search(r"it is \w+\((.*)\)", caught.value.rendered)
    assert signature, caught.value.rendered
    parts = [part for part in signature.group(1).split(", ") if part and part != "/"]
    return [part.split("=")[0].lstrip("*") for part in parts]


def test_the_report_of_a_wrong_argument_shows_the_parameters() -> None:
    assert names_of("tw.where") == ["condition", "x", "y"]
    assert names_of("tw.atan2") == ["y", "x"]


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
        assert names_of(name) == expected


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
