"""Syntax trees as JSON and back, in the form of the kernel source buffer."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any, cast

from .source import FunctionSource, SourceTooDeep

Json = dict[str, Any]

# What the frontend does not read; `kind` and type comments carry no meaning.
_LEFT_OUT = frozenset({"ctx", "type_comment", "type_params", "kind"})
_OPERATOR = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


def encode_function_node(source: FunctionSource, constant: Callable[[object], Json]) -> Json:
    """A FunctionDef or Lambda without docstring, decorators and annotations: see `params`."""
    node = _Encoder(source, constant).encode(source.node, 0)
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


class _Encoder:
    """Writes the nodes of one source."""

    def __init__(self, source: FunctionSource, constant: Callable[[object], Json]) -> None:
        self._source = source
        self._constant = constant
        self._is_ascii = all(line.isascii() for line in source.lines)

    def encode(self, value: Any, depth: int) -> Any:
        kind = type(value)
        if kind is list:
            return [self.encode(item, depth) for item in value]
        if not isinstance(value, ast.AST):
            return value
        if depth > _MAX_DEPTH and _layout(kind)[1]:  # an error names a place
            raise SourceTooDeep(self._source, value)
        if kind is ast.BinOp or kind is ast.If:
            chain = self._encode_chain(value, depth)
            if chain is not None:
                return chain
        return self._encode_node(value, kind, depth)

    def _encode_node(self, value: ast.AST, kind: type[ast.AST], depth: int) -> Json | str:
        name, has_place, fields = _layout(kind)
        if fields is None:
            return name
        node: Json = {"_": name}
        if has_place:
            node["@"] = self._span(value)
        if kind is ast.Constant:
            node["value"] = self._constant(value.value)
            return node
        for field in fields:
            node[field] = self.encode(getattr(value, field, None), depth + 1)
        return node

    def _encode_chain(self, node: ast.BinOp | ast.If, depth: int) -> Json | None:
        """A long chain as one node with a list of `links`, each without the next; else None."""
        links, end = chain_links(node)
        if len(links) <= _LONGEST_NESTED_CHAIN:
            return None
        inner = "left" if isinstance(node, ast.BinOp) else "orelse"
        encoded: list[Json] = []
        for link in links:
            fields = {name: getattr(link, name) for name in link._fields if name != inner}
            parts = {name: self.encode(field, depth + 1) for name, field in fields.items()}
            encoded.append({"_": type(link).__name__, "@": self._span(link), **parts, inner: None})
        last = self.encode(end, depth)
        return {"_": "Chain", "@": self._span(node), "inner": inner, "links": encoded, "end": last}

    def _span(self, node: Any) -> list[int]:
        line, column = node.lineno, node.col_offset
        end_line: int = node.end_lineno or line
        end_column: int = column if node.end_col_offset is None else node.end_col_offset
        if self._is_ascii:
            return [line, column + 1, end_line, end_column + 1]
        start = self._source.character_column(line, column)
        return [line, start, end_line, self._source.character_column(end_line, end_column)]


@functools.cache
def _layout(kind: type[ast.AST]) -> tuple[str, bool, tuple[str, ...] | None]:
    """A class's name, whether its nodes have a place, and the fields to write; None of operators,
    which are written as their names."""
    if issubclass(kind, _OPERATOR):
        return kind.__name__, False, None
    has_place = issubclass(kind, (ast.expr, ast.stmt, ast.arg, ast.keyword))
    return kind.__name__, has_place, tuple(f for f in kind._fields if f not in _LEFT_OUT)


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
