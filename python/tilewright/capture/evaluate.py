"""Evaluates, with Python itself, the static expressions that the frontend does not know."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any, TypeGuard

from ..errors import TilewrightError
from ..language import static
from . import values
from .nodes import decode_expression
from .purity import refuse_impure
from .record import namespace_of

if TYPE_CHECKING:
    from .serialize import Capture


def evaluate(capture: Capture, request: str) -> str:
    """`{"function", "node", "names"}` to `{"value"}`, or `{"error"}` with the exception's text; an
    error with a code keeps it, and its hint."""
    try:
        answer = {"value": capture.encode_answer(_value_of(capture, json.loads(request)))}
    except TilewrightError as error:
        answer = {"error": error.message, "code": error.code, "hint": error.hint}
    except Exception as error:  # user code may raise anything; the frontend reports it
        answer = {"error": f"{type(error).__name__}: {error}"}
    return json.dumps(answer, separators=(",", ":"))


def _refuse_impure_calls(node: ast.expr, namespace: dict[str, Any]) -> None:
    """Judge every function that the expression names."""
    for part in ast.walk(node):
        if _is_dotted_name(part):
            try:
                value = eval(compile(ast.Expression(body=part), "<name>", "eval"), namespace)
            except Exception:  # evaluating the whole expression reports it
                continue
            refuse_impure(value)


def _is_dotted_name(node: ast.AST) -> TypeGuard[ast.expr]:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _value_of(capture: Capture, request: dict[str, Any]) -> object:
    function = values.plain_function(capture.function_by_id(request["function"]))
    namespace = namespace_of(function)
    for name, encoded in request["names"].items():
        if "." not in name:
            namespace[name] = static.unwrap(values.decode_value(encoded, capture))
    node = decode_expression(request["node"], lambda v: values.decode_value(v, capture))
    _refuse_impure_calls(node, namespace)
    return eval(compile(ast.Expression(body=node), "<static expression>", "eval"), namespace)
