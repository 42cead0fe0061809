"""Which global and closure names a function uses, as dotted chains in the order of the source."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import Any, NamedTuple, cast

from .nodes import chain_links
from .source import FunctionNode

Chain = tuple[str, ...]
Scopes = tuple[set[str], ...]
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class FreeNames(NamedTuple):
    """`chains` holds ("tl", "math", "exp"); `attributes` every attribute of a local value."""

    chains: dict[Chain, None]
    arguments: set[Chain]  # the chains passed to a call
    attributes: dict[str, None]


class _Inside(NamedTuple):
    """Where a node is."""

    scopes: Scopes  # what each function and comprehension around binds
    bound: set[str]  # where the names go that are bound here
    by_walrus: set[str]  # those of `:=`, which go through comprehensions
    outer: set[str]  # declared global or nonlocal

    @classmethod
    def elsewhere(cls, scopes: Scopes) -> _Inside:
        """For nodes that bind nothing of a function around them."""
        unused: set[str] = set()
        return cls(scopes, unused, unused, unused)


def find_free_names(function: FunctionNode) -> FreeNames:
    """The free names of a function's body; decorators, annotations and defaults do not count."""
    walk = _Walk()
    walk.function(function, ())
    return walk.found()


class _Walk:
    """Goes through a tree once. What a function binds is known behind its last statement, so that it is
    decided at the end which chains are free."""

    def __init__(self) -> None:
        self._arguments: set[Chain] = set()
        # In the order of the source: the attributes of an expression, the last one first, and where it
        # is a chain of names, that chain and what was around it.
        self._uses: list[tuple[list[str], Chain, Scopes]] = []

    def found(self) -> FreeNames:
        names = FreeNames({}, self._arguments, {})
        for attributes, chain, scopes in self._uses:
            if chain and not any(chain[0] in scope for scope in scopes):
                names.chains.setdefault(chain)
            else:
                names.attributes.update(dict.fromkeys(attributes))
        return names

    def function(self, node: FunctionNode, scopes: Scopes) -> None:
        own, bound, outer = _argument_names(node.args), set[str](), set[str]()
        inside = _Inside((*scopes, own), bound, bound, outer)
        for child in node.body if isinstance(node.body, list) else [node.body]:
            self._visit(child, inside)
        own |= bound - outer

    def _visit(self, node: ast.AST, inside: _Inside) -> None:
        kind = type(node)
        visit = _SPECIAL.get(kind)
        if visit is not None:
            visit(self, node, inside)
            return
        for name in _fields_of(kind):
            value = getattr(node, name, None)
            if isinstance(value, list):
                for item in cast("list[Any]", value):
                    if isinstance(item, ast.AST):
                        self._visit(item, inside)
            elif isinstance(value, ast.AST):
                self._visit(value, inside)
        if kind is ast.Call:
            self._add_arguments(cast(ast.Call, node))

    def _add_arguments(self, call: ast.Call) -> None:
        for value in (*call.args, *[keyword.value for keyword in call.keywords]):
            if isinstance(value, (ast.Name, ast.Attribute)):
                _, base, chain = _links_of(value)
                if isinstance(base, ast.Name):
                    self._arguments.add(chain)

    def _visit_nested(self, node: ast.FunctionDef | ast.Lambda, inside: _Inside) -> None:
        if isinstance(node, ast.FunctionDef):
            inside.bound.add(node.name)
        elsewhere = _Inside.elsewhere(inside.scopes)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self._visit(default, elsewhere)
        self.function(node, inside.scopes)

    def _visit_definition(self, node: ast.AsyncFunctionDef | ast.ClassDef, inside: _Inside) -> None:
        inside.bound.add(node.name)
        elsewhere = _Inside.elsewhere(inside.scopes)
        for child in ast.iter_child_nodes(node):
            self._visit(child, elsewhere)

    def _visit_comprehension(self, node: ast.expr, inside: _Inside) -> None:
        own: set[str] = set()
        within = inside._replace(scopes=(*inside.scopes, own), bound=own)
        for child in ast.iter_child_nodes(node):
            self._visit(child, within)

    def _visit_walrus(self, node: ast.NamedExpr, inside: _Inside) -> None:
        inside.by_walrus.add(node.target.id)
        self._visit(node.value, inside)

    def _visit_name(self, node: ast.Name, inside: _Inside) -> None:
        if isinstance(node.ctx, ast.Load):
            self._uses.append(([], (node.id,), inside.scopes))
        else:
            inside.bound.add(node.id)

    def _visit_attribute(self, node: ast.Attribute, inside: _Inside) -> None:
        attributes, base, chain = _links_of(node)
        if isinstance(base, ast.Name):
            self._uses.append((attributes, chain, inside.scopes))
        else:
            self._uses.append((attributes, (), ()))
            self._visit(base, inside)

    def _visit_declaration(self, node: ast.Global | ast.Nonlocal, inside: _Inside) -> None:
        inside.outer.update(node.names)

    def _visit_alias(self, node: ast.alias, inside: _Inside) -> None:
        inside.bound.add((node.asname or node.name).split(".")[0])

    def _visit_handler(self, node: ast.ExceptHandler, inside: _Inside) -> None:
        if node.name:
            inside.bound.add(node.name)
        for child in ast.iter_child_nodes(node):
            self._visit(child, inside)

    def _visit_sum(self, node: ast.BinOp, inside: _Inside) -> None:
        """Of many terms, which nest as deeply as they are many."""
        links, end = chain_links(node)
        for child in end:
            self._visit(child, inside)
        for link in reversed(links):
            self._visit(link.right, inside)  # type: ignore[union-attr]

    def _visit_if(self, node: ast.If, inside: _Inside) -> None:
        """Of many `elif`s, likewise."""
        links, end = chain_links(node)
        for link in links:
            for child in (link.test, *link.body):  # type: ignore[union-attr]
                self._visit(child, inside)
        for child in end:
            self._visit(child, inside)


_SPECIAL: dict[type[ast.AST], Callable[[_Walk, Any, _Inside], None]] = {
    ast.Name: _Walk._visit_name,
    ast.Attribute: _Walk._visit_attribute,
    ast.BinOp: _Walk._visit_sum,
    ast.If: _Walk._visit_if,
    ast.FunctionDef: _Walk._visit_nested,
    ast.Lambda: _Walk._visit_nested,
    ast.AsyncFunctionDef: _Walk._visit_definition,
    ast.ClassDef: _Walk._visit_definition,
    ast.NamedExpr: _Walk._visit_walrus,
    ast.Global: _Walk._visit_declaration,
    ast.Nonlocal: _Walk._visit_declaration,
    ast.alias: _Walk._visit_alias,
    ast.ExceptHandler: _Walk._visit_handler,
    **dict.fromkeys(_COMPREHENSIONS, _Walk._visit_comprehension),
}


def _links_of(node: ast.expr) -> tuple[list[str], ast.expr, Chain]:
    """The attributes of `a.b.c`, the last one first, what they are of, and where that is a name, all
    names in order; the name may not be a target."""
    attributes: list[str] = []
    while isinstance(node, ast.Attribute):
        attributes.append(node.attr)
        node = node.value
    chain = (node.id, *reversed(attributes)) if isinstance(node, ast.Name) else ()
    return attributes, node, chain


@functools.cache
def _fields_of(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a class of nodes that may hold names."""
    if kind is ast.Constant:
        return ()
    return tuple(name for name in kind._fields if name not in ("ctx", "op", "ops"))


def _argument_names(arguments: ast.arguments) -> set[str]:
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [a for a in (arguments.vararg, arguments.kwarg) if a is not None]
    return {a.arg for a in every}
