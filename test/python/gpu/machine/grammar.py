"""Reads the vendor's pseudo-code of an instruction into trees: `parse(text)`.

A tree is a tuple: what it is, then its parts. Statements: assign, if, for, declare. Expressions:
number, name, field (`S0.u32`), index (`S1[4 : 0]`), call, cast, join (`{ high, low }`), unary,
binary, choose (`c ? a : b`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

Tree = tuple[Any, ...]

_TOKEN = re.compile(
    r"\s+|//[^\n]*"
    r"|(?P<number>\d+'(?:0x[0-9a-fA-F]+|\d+(?:\.\d+)?)U?|0x[0-9a-fA-F]+(?:ULL|LL|U|L)?|\d+\.\d+(?:[eE][-+]?\d+)?F?|\d+(?:ULL|LL|U|L|F)?)"
    r"|(?P<cast>'[UIFB])|(?P<name>[A-Za-z_]\w*)"
    r"|(?P<sign>\*\*|<<|>>|<=|>=|==|!=|<>|&&|\|\||[-+]=|\|=|&=|[-+*/%&|^~!<>=?:;,.(){}\[\]])"
)
# From what binds least.
_LEVELS = (
    ("||",), ("&&",), ("|",), ("^",), ("&",), ("==", "!=", "<>"), ("<", "<=", ">", ">="),
    ("<<", ">>"), ("+", "-"), ("*", "/", "%"), ("**",),
)  # fmt: skip


class NotUnderstood(Exception):
    """Pseudo-code with something that this does not read."""


def _tokens(text: str) -> list[tuple[str, str]]:
    found, at = [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if not match:
            raise NotUnderstood(f"{text[at:at + 20]!r}")
        if match.lastgroup:
            found.append((match.lastgroup, match[0]))
        at = match.end()
    return [*found, ("end", "")]


class Parser:
    """Takes tokens from the front."""

    def __init__(self, text: str) -> None:
        self.tokens, self.at = _tokens(text), 0

    @property
    def text(self) -> str:
        return self.tokens[self.at][1]

    def take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def takes(self, *wanted: str) -> bool:
        if self.text not in wanted or self.tokens[self.at][0] == "end":
            return False
        self.at += 1
        return True

    def expect(self, wanted: str) -> None:
        if not self.takes(wanted):
            raise NotUnderstood(f"{self.text!r} where {wanted!r} was expected")

    def block(self, *ends: str) -> list[Tree]:
        statements = []
        while self.text not in ends:
            if not self.takes(";"):
                statements.append(self.statement())
        return statements

    def statement(self) -> Tree:
        if self.takes("if"):
            return self.condition()
        if self.takes("for"):
            return self.loop()
        if self.takes("declare"):
            name = self.take()
            while self.text not in (";", ""):
                self.take()
            return "declare", name
        if self.takes("break"):
            return ("break",)
        target = self.postfix()
        operator = self.take()
        if operator not in ("=", "+=", "-=", "|=", "&="):
            raise NotUnderstood(f"{operator!r} behind {target}")
        value = self.expression()
        if self.takes("="):  # two places for one value
            return "assign_both", target, value, self.expression()
        return "assign", target, value if operator == "=" else ("binary", operator[0], target, value)

    def condition(self) -> Tree:
        asked = self.expression()
        self.expect("then")
        then, otherwise = self.block("elsif", "else", "endif"), []
        if self.takes("elsif"):
            return "if", asked, then, [self.condition()]
        if self.takes("else"):
            otherwise = self.block("endif")
        self.expect("endif")
        return "if", asked, then, otherwise

    def loop(self) -> Tree:
        name = self.take()
        self.expect("in")
        first = self.expression()
        self.expect(":")
        last = self.expression()
        self.expect("do")
        body = self.block("endfor")
        self.expect("endfor")
        return "for", name, first, last, body

    def expression(self) -> Tree:
        asked = self.binary(0)
        if not self.takes("?"):
            return asked
        left = self.expression()
        self.expect(":")
        return "choose", asked, left, self.expression()

    def binary(self, level: int) -> Tree:
        if level == len(_LEVELS):
            return self.unary()
        left = self.binary(level + 1)
        while self.text in _LEVELS[level]:
            operator = self.take()
            left = "binary", operator, left, self.binary(level + 1)
        return left

    def unary(self) -> Tree:
        if self.text in ("-", "+", "!", "~"):
            return "unary", self.take(), self.unary()
        return self.postfix()

    def postfix(self) -> Tree:
        tree = self.primary()
        while True:
            if self.takes("."):
                tree = "field", tree, self.take()
            elif self.takes("["):
                high = self.expression()
                low = self.expression() if self.takes(":") else None
                self.expect("]")
                tree = "index", tree, high, low
            elif self.text == "(" and tree[0] == "name":
                tree = "call", tree[1], self.several("(", ")")
            else:
                return tree

    def several(self, first: str, last: str) -> list[Tree]:
        self.expect(first)
        found = []
        while not self.takes(last):
            found.append(self.expression())
            self.takes(",")
        return found

    def primary(self) -> Tree:
        kind, text = self.tokens[self.at]
        if kind == "number":
            self.take()
            if self.tokens[self.at][0] == "cast":
                letter = self.take()[1]
                return "cast", int(text), letter, self.several("(", ")")[0]
            return "number", *number(text)
        if text == "(":
            (tree,) = self.several("(", ")")
            return tree
        if text == "{":
            return "join", self.several("{", "}")
        if kind != "name":
            raise NotUnderstood(f"{text!r}")
        return "name", self.take()


def number(text: str) -> tuple[str, int, float]:
    """A number's kind (u, i or f), bits and value."""
    bits, _, digits = text.rpartition("'")
    if "." in digits:
        is_single = digits[-1] == "F"
        return "f", int(bits) if bits else 32 if is_single else 64, float(digits[:-1] if is_single else digits)
    digits, suffix = re.fullmatch(r"(0x[0-9a-fA-F]+?|\d+)(U?L?L?|F)", digits).groups()  # type: ignore[union-attr]
    if suffix == "F" and not digits.startswith("0x"):
        return "f", 32, float(digits)
    value = int(digits, 0)
    wide = 64 if "LL" in suffix or value >> 32 else 32
    return "u" if "U" in suffix else "i", int(bits) if bits else wide, value


@lru_cache(None)
def parse(text: str) -> tuple[Tree, ...]:
    """The statements of a pseudo-code. Raises NotUnderstood."""
    parser = Parser(text)
    return tuple(parser.block(""))
