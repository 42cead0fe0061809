"""Syntax trees as JSON and back, in the form of the kernel source buffer."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any, cast

from .source import FunctionSource, SourceTooDeep

Json = dict[str, Any]

# What the frontend does not read; `kind` and type comments carry no meaning.
_LEFT_OUT = frozenset({"ctx", "type_comment", "type_params", "kind"})
_OPERATOR = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


def encode_function_node(source: FunctionSource, constant: Callable[[object], Json]) -> Json:
    """A FunctionDef or Lambda without docstring, decorators and annotations: see `params`."""
    node = _encode(source.node, source, constant, 0)
    if isinstance(source.node, ast.FunctionDef):
        node["decorator_list"] = []
        node["returns"] = None
        if len(node["body"]) > 1 and ast.get_docstring(source.node, clean=False) is not None:
            del node["body"][0]
    arguments = node["args"]
    groups = [arguments["posonlyargs"], arguments["args"], arguments["kwonlyargs"]]
    for argument in [a for group in groups for a in group]:
        argument["annotation"] = None
    for name in ("vararg", "kwarg"):
        if arguments[name] is not None:
            arguments[name]["annotation"] = None
    arguments["defaults"], arguments["kw_defaults"] = [], []
    return node


# Levels of a syntax tree, each of which is one or two of JSON: more are never meant.
_MAX_DEPTH = 300
# A chain that is longer is written as a list: readers of JSON and of trees are recursive.
_LONGEST_NESTED_CHAIN = 24


def chain_links(node: ast.BinOp | ast.If) -> tuple[list[ast.BinOp] | list[ast.If], list[Any]]:
    """The nodes that `a + b + c` and `if .. elif ..` nest in each other, the outermost first, and
    what stands at the end: the first operand, or the statements of the last `else`."""
    if isinstance(node, ast.BinOp):
        operators = [node]
        while isinstance(operators[-1].left, ast.BinOp):
            operators.append(operators[-1].left)
        return operators, [operators[-1].left]
    arms = [node]
    while len(arms[-1].orelse) == 1 and isinstance(arms[-1].orelse[0], ast.If):
        arms.append(arms[-1].orelse[0])
    return arms, arms[-1].orelse


def _encode_chain(
    node: ast.BinOp | ast.If, source: FunctionSource, constant: Callable[[object], Json], depth: int
) -> Json | None:
    """A long chain as one node with a list of `links`, each without the next; else None."""
    links, end = chain_links(node)
    if len(links) <= _LONGEST_NESTED_CHAIN:
        return None
    inner = "left" if isinstance(node, ast.BinOp) else "orelse"
    encoded: list[Json] = []
    for link in links:
        fields = {name: getattr(link, name) for name in link._fields if name != inner}
        parts = {name: _encode(field, source, constant, depth + 1) for name, field in fields.items()}
        encoded.append({"_": type(link).__name__, "@": _span(link, source), **parts, inner: None})
    last = _encode(end, source, constant, depth)
    place = _span(node, source)
    return {"_": "Chain", "@": place, "inner": inner, "links": encoded, "end": last}


def _encode(
    value: Any, source: FunctionSource, constant: Callable[[object], Json], depth: int
) -> Any:
    if isinstance(value, _OPERATOR):
        return type(value).__name__
    if depth > _MAX_DEPTH:
        raise SourceTooDeep(source, value)
    if isinstance(value, (ast.BinOp, ast.If)):
        chain = _encode_chain(value, source, constant, depth)
        if chain is not None:
            return chain
    if isinstance(value, ast.AST):
        node: Json = {"_": type(value).__name__}
        if isinstance(value, (ast.expr, ast.stmt, ast.arg, ast.keyword)):
            node["@"] = _span(value, source)
        for name in value._fields:
            if name in _LEFT_OUT:
                continue
            field = getattr(value, name, None)
            if isinstance(value, ast.Constant) and name == "value":
                node[name] = constant(field)
            else:
                node[name] = _encode(field, source, constant, depth + 1)
        return node
    if isinstance(value, list):
        return [_encode(item, source, constant, depth) for item in cast("list[Any]", value)]
    return value


def _span(node: ast.expr | ast.stmt | ast.arg | ast.keyword, source: FunctionSource) -> list[int]:
    end_line = node.end_lineno or node.lineno
    end_column = node.end_col_offset if node.end_col_offset is not None else node.col_offset
    return [
        node.lineno,
        source.character_column(node.lineno, node.col_offset),
        end_line,
        source.character_column(end_line, end_column),
    ]


def decode_expression(node: Json, constant: Callable[[Json], object]) -> ast.expr:
    """The Python expression of a NODE, to be compiled by itself."""
    result = ast.fix_missing_locations(_decode(node, constant))
    if not isinstance(result, ast.expr):
        raise ValueError(f"{type(result).__name__} is not an expression")
    return result


def _decode(value: Any, constant: Callable[[Json], object]) -> Any:
    if isinstance(value, list):
        return [_decode(item, constant) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    node = cast("Json", value)
    if node["_"] == "Chain":
        result: Any = _decode(node["end"], constant)
        for link in reversed(node["links"]):
            outer = _decode({**link, node["inner"]: []}, constant)
            setattr(outer, node["inner"], result[0] if node["inner"] == "left" else result)
            result = [outer]
        return result[0]
    kind = getattr(ast, node["_"], None)
    if not (isinstance(kind, type) and issubclass(kind, ast.AST)):
        raise ValueError(f"unknown node {node['_']!r}")
    if kind is ast.Constant:
        literal: Any = constant(node["value"])
        return ast.Constant(value=literal)
    fields: dict[str, Any] = {}
    for name in kind._fields:
        field = node.get(name)
        if name in ("op", "ops"):
            fields[name] = _decode_operators(node[name])
        elif name == "ctx":
            fields[name] = ast.Load()
        elif name not in _LEFT_OUT:
            fields[name] = _decode(field, constant)
    if kind is ast.NamedExpr:
        fields["target"].ctx = ast.Store()
    if kind is ast.comprehension:
        _store(fields["target"])
    return kind(**fields)


def _store(target: ast.AST) -> None:
    for node in ast.walk(target):
        if isinstance(node, (ast.Name, ast.Tuple, ast.List, ast.Starred)):
            node.ctx = ast.Store()


def _decode_operators(value: str | list[str]) -> Any:
    if isinstance(value, list):
        return [getattr(ast, name)() for name in value]
    return getattr(ast, value)()
