"""Evaluates, with Python itself, the static expressions that the frontend does not know."""

from __future__ import annotations

import ast
import json
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..native.errors import TilewrightError
from ..language import static
from . import values
from .nodes import decode_expression
from .purity import refuse_impure
from .record import namespace_of

if TYPE_CHECKING:
    from .serialize import Attribute, Capture


def evaluate(capture: Capture, request: str, found: list[Attribute]) -> str:
    """`{"function", "node", "names"}` to `{"value"}`, or `{"error"}` with the exception's text; an
    error with a code keeps it, and its hint. Attributes of modules that the capture lacks are put into
    `found`."""
    try:
        value = _value_of(capture, json.loads(request), found)
        answer = {"value": capture.encode_answer(value)}
    except TilewrightError as error:
        answer = {"error": error.message, "code": error.code, "hint": error.hint}
    except Exception as error:  # user code may raise anything; the frontend reports it
        answer = {"error": f"{type(error).__name__}: {error}"}
    return json.dumps(answer, separators=(",", ":"))


def _note_attributes(capture: Capture, found: list[Attribute]) -> dict[Any, Callable[..., Any]]:
    """What stands for Python's functions that find attributes by a name that only the expression has, so
    that what a compilation depends on is in its capture."""

    def note(owner: Any, name: str) -> None:
        if isinstance(owner, types.ModuleType) and capture.lacks(owner, name):
            found.append((owner, name))
            raise ValueError(f"`{name}` of the module {owner.__name__} cannot be captured")

    def get(owner: Any, name: str, *default: Any) -> Any:
        note(owner, name)
        return getattr(owner, name, *default)

    def has(owner: Any, name: str) -> bool:
        note(owner, name)
        return hasattr(owner, name)

    return {getattr: get, hasattr: has}


def _value_of(capture: Capture, request: dict[str, Any], found: list[Attribute]) -> object:
    function = values.plain_function(capture.function_by_id(request["function"]))
    namespace = namespace_of(function)
    for name, encoded in request["names"].items():
        if "." not in name:
            namespace[name] = static.unwrap(values.decode_value(encoded, capture))
    node = decode_expression(request["node"], lambda v: values.decode_value(v, capture))
    refuse_impure(node, namespace)
    for known, noting in _note_attributes(capture, found).items():
        namespace.setdefault(known.__name__, known)
        for name in (known.__name__, "_function"):
            if namespace.get(name) is known:
                namespace[name] = noting
    return eval(compile(ast.Expression(body=node), "<static expression>", "eval"), namespace)
