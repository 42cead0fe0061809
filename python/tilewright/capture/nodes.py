"""Syntax trees as JSON and back, in the form of the kernel source buffer."""

from __future__ import annotations

import ast
import functools
import json
from collections.abc import Callable
from typing import Any, cast

from .source import FunctionNode, FunctionSource, SourceTooDeep

Json = dict[str, Any]

# What the frontend does not read; `kind` and type comments carry no meaning.
_LEFT_OUT = frozenset({"ctx", "type_comment", "type_params", "kind"})
_OPERATOR = (ast.operator, ast.unaryop, ast.boolop, ast.cmpop)


to_json = json.JSONEncoder(separators=(",", ":")).encode


def function_text(source: FunctionSource, constant: Callable[[object], Json]) -> str:
    """The NODE of a FunctionDef or Lambda without docstring, decorators and annotations (see `params`),
    as JSON text."""
    return _Writer(source, constant).text(_bare(source.node), 0)


def _bare(node: FunctionNode) -> FunctionNode:
    """A function less what is not a part of its meaning, or not of its text's."""
    given = node.args
    arguments = ast.arguments(
        posonlyargs=[_bare_argument(a) for a in given.posonlyargs],
        args=[_bare_argument(a) for a in given.args],
        vararg=given.vararg and _bare_argument(given.vararg),
        kwonlyargs=[_bare_argument(a) for a in given.kwonlyargs],
        kw_defaults=[],
        kwarg=given.kwarg and _bare_argument(given.kwarg),
        defaults=[],
    )
    if isinstance(node, ast.Lambda):
        return ast.copy_location(ast.Lambda(args=arguments, body=node.body), node)
    has_text = len(node.body) > 1 and ast.get_docstring(node, clean=False) is not None
    body = node.body[1:] if has_text else node.body
    bare = ast.FunctionDef(name=node.name, args=arguments, body=body, decorator_list=[])
    return ast.copy_location(bare, node)


def _bare_argument(argument: ast.arg) -> ast.arg:
    return ast.copy_location(ast.arg(arg=argument.arg), argument)


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


class _Writer:
    """Writes the nodes of one source. Text at once: trees of dicts would take as long again."""

    def __init__(self, source: FunctionSource, constant: Callable[[object], Json]) -> None:
        self._source = source
        self._constant = constant
        self._is_ascii = source.text.isascii()

    def text(self, value: Any, depth: int) -> str:
        kind = type(value)
        if kind is list:
            return "[" + ",".join([self.text(item, depth) for item in value]) + "]"
        if not isinstance(value, ast.AST):
            return "null" if value is None else to_json(value)
        opening, has_place, fields = _layout(kind)
        if fields is None:
            return opening
        if depth > _MAX_DEPTH and has_place:  # an error names a place
            raise SourceTooDeep(self._source, value)
        if kind is ast.BinOp or kind is ast.If:
            chain = self._chain(cast("ast.BinOp | ast.If", value), depth)
            if chain is not None:
                return chain
        if has_place:
            opening += self._span(value)
        if kind is ast.Constant:
            return f'{opening},"value":{to_json(self._constant(cast(ast.Constant, value).value))}}}'
        for name, key in fields:
            opening += key + self.text(getattr(value, name, None), depth + 1)
        return opening + "}"

    def _chain(self, node: ast.BinOp | ast.If, depth: int) -> str | None:
        """A long chain as one node with a list of `links`, each without the next; else None."""
        links, end = chain_links(node)
        if len(links) <= _LONGEST_NESTED_CHAIN:
            return None
        inner = "left" if isinstance(node, ast.BinOp) else "orelse"
        texts: list[str] = []
        for link in links:
            opening, _, fields = _layout(type(link))
            opening += self._span(link)
            for name, key in fields or ():
                if name != inner:
                    opening += key + self.text(getattr(link, name), depth + 1)
            texts.append(f'{opening},"{inner}":null}}')
        front = f'{{"_":"Chain","@":{self._span(node)},"inner":"{inner}","links":'
        return f'{front}[{",".join(texts)}],"end":{self.text(end, depth)}}}'

    def _span(self, node: Any) -> str:
        line, column = node.lineno, node.col_offset
        end_line: int = node.end_lineno or line
        end_column: int = column if node.end_col_offset is None else node.end_col_offset
        if self._is_ascii:
            return f"[{line},{column + 1},{end_line},{end_column + 1}]"
        start = self._source.character_column(line, column)
        return f"[{line},{start},{end_line},{self._source.character_column(end_line, end_column)}]"


@functools.cache
def _layout(kind: type[ast.AST]) -> tuple[str, bool, tuple[tuple[str, str], ...] | None]:
    """How the text of a class's nodes begins, whether they have a place, and the fields to write with
    what stands before each; None of operators, whose text is their name."""
    if issubclass(kind, _OPERATOR):
        return f'"{kind.__name__}"', False, None
    has_place = issubclass(kind, (ast.expr, ast.stmt, ast.arg, ast.keyword))
    opening = f'{{"_":"{kind.__name__}"' + (',"@":' if has_place else "")
    fields = tuple((f, f',"{f}":') for f in kind._fields if f not in _LEFT_OUT)
    return opening, has_place, fields


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
