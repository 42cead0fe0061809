"""Which global and closure names a function uses, as dotted chains in the order of the source."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from .nodes import chain_links
from .source import FunctionNode

Scope = frozenset[str]
Chain = tuple[str, ...]
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


@dataclass
class FreeNames:
    """`chains` holds ("tl", "math", "exp"); `attributes` every attribute of a local value."""

    chains: dict[Chain, None] = field(default_factory=dict[Chain, None])
    arguments: set[Chain] = field(default_factory=set[Chain])  # the chains passed to a call
    attributes: dict[str, None] = field(default_factory=dict[str, None])


def find_free_names(function: FunctionNode) -> FreeNames:
    """The free names of a function's body; decorators, annotations and defaults do not count."""
    found = FreeNames()
    _visit_function(function, (), found)
    return found


def _visit_function(node: FunctionNode, scopes: tuple[Scope, ...], found: FreeNames) -> None:
    body = node.body if isinstance(node.body, list) else [node.body]
    inner = (*scopes, _argument_names(node.args) | _bound_names(body))
    for child in body:
        _visit(child, inner, found)


def _visit(node: ast.AST, scopes: tuple[Scope, ...], found: FreeNames) -> None:
    if isinstance(node, (ast.FunctionDef, ast.Lambda)):
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                _visit(default, scopes, found)
        _visit_function(node, scopes, found)
    elif isinstance(node, _COMPREHENSIONS):
        targets = _bound_names([g.target for g in node.generators])
        for child in _children(node):
            _visit(child, (*scopes, targets), found)
    elif isinstance(node, (ast.Name, ast.Attribute)):
        _visit_chain(node, scopes, found)
    elif isinstance(node, ast.Call):
        for child in _children(node):
            _visit(child, scopes, found)
        values = [*node.args, *(keyword.value for keyword in node.keywords)]
        found.arguments.update(chain for chain in map(_chain_of, values) if chain)
    elif isinstance(node, (ast.BinOp, ast.If)):
        _visit_links(node, scopes, found)
    else:
        for child in _children(node):
            _visit(child, scopes, found)


def _visit_links(
    node: ast.BinOp | ast.If, scopes: tuple[Scope, ...], found: FreeNames
) -> None:
    """A sum of many terms or an `if` of many `elif`s, which nest as deeply as they are long."""
    links, end = chain_links(node)
    if isinstance(node, ast.BinOp):
        for child in end:
            _visit(child, scopes, found)
        for link in reversed(links):
            _visit(link.right, scopes, found)  # type: ignore[union-attr]
        return
    for link in links:
        for child in (link.test, *link.body):  # type: ignore[union-attr]
            _visit(child, scopes, found)
    for child in end:
        _visit(child, scopes, found)


def _visit_chain(
    node: ast.Name | ast.Attribute, scopes: tuple[Scope, ...], found: FreeNames
) -> None:
    chain = _chain_of(node)
    if chain and not any(chain[0] in scope for scope in scopes):
        found.chains.setdefault(chain)
        return
    base: ast.expr = node
    while isinstance(base, ast.Attribute):
        found.attributes.setdefault(base.attr)
        base = base.value
    if not isinstance(base, ast.Name):
        _visit(base, scopes, found)


def _chain_of(node: ast.expr) -> Chain:
    """The names of `a.b.c`; empty when the expression is anything else or a target."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return (node.id, *reversed(names))
    return ()


@functools.cache
def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a class of nodes that may hold names."""
    return tuple(name for name in kind._fields if name not in ("ctx", "op", "ops"))


def _children(node: ast.AST) -> list[ast.AST]:
    """What `ast.iter_child_nodes` gives, less contexts and operators: most of its time."""
    found: list[ast.AST] = []
    for name in _fields_of(type(node)):
        value = getattr(node, name, None)
        if isinstance(value, list):
            found.extend(item for item in cast("list[Any]", value) if isinstance(item, ast.AST))
        elif isinstance(value, ast.AST):
            found.append(value)
    return found


def _argument_names(arguments: ast.arguments) -> Scope:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return frozenset(a.arg for a in every)


def _bound_names(nodes: Iterable[ast.AST]) -> Scope:
    """Names bound in a body, not looking into the functions nested in it."""
    bound: set[str] = set()
    outer: set[str] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.add(node.name)
        elif isinstance(node, ast.Lambda):
            pass
        elif isinstance(node, _COMPREHENSIONS):
            # Only a walrus binds outside of its comprehension.
            inner = (n for n in ast.walk(node) if isinstance(n, ast.NamedExpr))
            bound.update(n.target.id for n in inner)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            outer.update(node.names)
        else:
            if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del)):
                bound.add(node.id)
            elif isinstance(node, ast.alias):
                bound.add((node.asname or node.name).split(".")[0])
            elif isinstance(node, ast.ExceptHandler) and node.name:
                bound.add(node.name)
            pending.extend(_children(node))
    return frozenset(bound - outer)
