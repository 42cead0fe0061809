"""Finds the source text and the syntax tree of a Python function, wherever it was defined."""

from __future__ import annotations

import ast
import inspect
import linecache
import sys
import types
from collections.abc import Sequence
from typing import NamedTuple, Union

FunctionNode = Union[ast.FunctionDef, ast.Lambda]


class SourceNotFound(Exception):
    """The source text of a function is not available; the message says how to make it so."""


class SourceTooDeep(Exception):
    """A function's expressions or statements are nested too deeply to be read."""

    def __init__(self, source: FunctionSource, node: ast.AST | None = None) -> None:
        self.line = getattr(node, "lineno", source.line)
        index = self.line - source.line
        self.text = source.lines[index].rstrip("\n") if 0 <= index < len(source.lines) else ""
        self.file = source.file
        super().__init__(f"{source.file}:{self.line}: this is nested too deeply")


class FunctionSource(NamedTuple):
    """A function's snippet. Line numbers of `node` are the file's own, from 1."""

    file: str
    line: int  # file line of the snippet's first line
    text: str
    node: FunctionNode
    lines: tuple[str, ...]  # of the snippet, for columns in characters

    def character_column(self, line: int, byte_column: int) -> int:
        """The 1-based character column of a syntax tree's UTF-8 byte offset."""
        # Before Python 3.12 the parts of a long f-string may claim lines outside of the function.
        index = line - self.line
        text = self.lines[index] if 0 <= index < len(self.lines) else ""
        if text.isascii():
            return byte_column + 1
        return len(text.encode()[:byte_column].decode(errors="replace")) + 1


class Place(NamedTuple):
    """Where a function is defined, with the text as it was when it was asked for."""

    file: str
    line: int
    name: str
    lines: tuple[str, ...]  # of the whole file


def find_source(function: types.FunctionType) -> FunctionSource:
    """The source of a function from a file, a notebook cell, or a name registered in linecache."""
    place = find_place(function)
    if function.__name__ == "<lambda>":
        return _find_lambda(function.__code__, place)
    return read_source(place)


_TEXT = "__tilewright_text__"
# File -> its lines when a kernel in it was last decorated: the text that Python imported.
_imported_lines: dict[str, list[str]] = {}


def keep_imported_text(function: types.FunctionType) -> None:
    """Remember the text of a function's file, for a capture after the file was edited."""
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if lines:
        _imported_lines[code.co_filename] = lines
        vars(function)[_TEXT] = code, lines


def _lines_of(function: types.FunctionType) -> list[str]:
    """Those that were imported with the function, or with a kernel of the same file."""
    code = function.__code__
    kept_code, lines = vars(function).get(_TEXT, (None, []))
    # functools.wraps copies what a function keeps to its wrapper, which has other code.
    if kept_code is code:
        return lines
    return _imported_lines.get(code.co_filename) or _file_lines(function)


def find_place(function: types.FunctionType) -> Place:
    """Where a function is defined. Raises SourceNotFound when its file has no text."""
    code = function.__code__
    lines = tuple(_lines_of(function))
    return Place(code.co_filename, code.co_firstlineno, code.co_name, lines)


def read_source(place: Place) -> FunctionSource:
    """The source of a function that is not a lambda; nothing but the place has a say in it."""
    if place.line > len(place.lines):
        raise _changed(place)
    node = _parse_block(place)
    if isinstance(node, ast.AsyncFunctionDef):
        raise SourceNotFound(f"{place.name} is a coroutine; a kernel is a plain function")
    if not isinstance(node, ast.FunctionDef) or node.name != place.name:
        raise _changed(place)
    if _first_line(node) != place.line:
        raise _changed(place)
    return _make(place.file, place.line, place.lines, node)


def _parse_block(place: Place) -> ast.stmt:
    lines = place.lines[place.line - 1 :]
    for find_block in (_quick_block, inspect.getblock):
        try:
            return _parse_at(find_block(lines), place.line).body[0]
        except (SyntaxError, IndexError):
            continue
    # A line continued with less indentation ends a block too early: see the whole file.
    return _function_in_file(place)


def _quick_block(lines: Sequence[str]) -> Sequence[str]:
    """The function at the start of `lines` without the cost of a tokenizer.

    It ends where a line after its first indented one is not indented. Inside of brackets, strings
    or continued lines that is too early, and then what is left does not parse.
    """
    margin = len(lines[0]) - len(lines[0].lstrip())
    is_inside = False
    for index, line in enumerate(lines):
        text = line.lstrip()
        if not text or text[0] in "#)":
            continue
        is_indented = len(line) - len(text) > margin
        if is_inside and not is_indented:
            return lines[:index]
        is_inside |= is_indented and lines[index - 1].rstrip().endswith(":")
    return lines


def _file_lines(function: types.FunctionType) -> list[str]:
    code = function.__code__
    linecache.checkcache(code.co_filename)
    lines = linecache.getlines(code.co_filename, function.__globals__)
    if lines:
        return lines
    if code.co_filename == "<stdin>":
        raise SourceNotFound(
            f"the source of {code.co_name} is not available: Python keeps no text of a program that "
            "comes through a pipe. Write it to a file, or pass it by `python -c`."
        )
    raise SourceNotFound(
        f"the source of {code.co_name} is not available: it was compiled from a string under the "
        f"name {code.co_filename!r}. Keep the string in a variable of the code that calls exec, or "
        "compile it under a name of its own and register its lines: "
        "linecache.cache[name] = (len(text), None, text.splitlines(True), name)"
    )


def _changed(place: Place) -> SourceNotFound:
    return SourceNotFound(
        f"line {place.line} of {place.file} no longer holds the definition of "
        f"{place.name}: the file changed after it was imported. Import it again."
    )


def _parse_at(snippet: Sequence[str], line: int) -> ast.Module:
    """Parse indented lines in place: an `if` before them keeps columns and multi-line strings."""
    text = "".join(snippet)
    if not snippet[0][:1].isspace():
        return ast.parse("\n" * (line - 1) + text)
    if line == 1:
        raise SyntaxError("there is no line for an `if`")
    outer = ast.parse("\n" * (line - 2) + "if 1:\n" + text).body[0]
    assert isinstance(outer, ast.If)
    return ast.Module(body=outer.body, type_ignores=[])


def _function_in_file(place: Place) -> ast.stmt:
    for node in ast.walk(_parse_file(place)):
        if isinstance(node, ast.FunctionDef) and node.name == place.name:
            if _first_line(node) == place.line:
                return node
    raise _changed(place)


def _first_line(node: ast.FunctionDef) -> int:
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])


def _parse_file(place: Place) -> ast.Module:
    import textwrap

    text = "".join(place.lines)
    for candidate in (text, textwrap.dedent(text)):
        try:
            return ast.parse(candidate)
        except SyntaxError:
            continue
    raise _changed(place)


def _find_lambda(code: types.CodeType, place: Place) -> FunctionSource:
    tree = _parse_file(place)
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Lambda) and _encloses(n, code)]
    if len(found) > 1:
        found = [n for n in found if _compiles_to(n, code)]
    if not found:
        raise _changed(place)
    # Lambdas of one line that compile to the same code are the same function.
    node = found[0]
    return _make(place.file, node.lineno, place.lines, node)


def _encloses(node: ast.Lambda, code: types.CodeType) -> bool:
    end = node.end_lineno or node.lineno
    return node.lineno <= code.co_firstlineno <= end


def _compiles_to(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether `code` came from this lambda, by columns (since 3.11) or by its instructions."""
    expression = ast.Expression(body=node)
    for candidate in compile(expression, code.co_filename, "eval").co_consts:
        if isinstance(candidate, types.CodeType):
            if sys.version_info >= (3, 11):
                if list(candidate.co_positions()) == list(code.co_positions()):
                    return True
            elif (candidate.co_code, candidate.co_consts) == (code.co_code, code.co_consts):
                return True
    return False


def _make(file: str, start: int, lines: tuple[str, ...], node: FunctionNode) -> FunctionSource:
    end = node.end_lineno or node.lineno
    snippet = lines[start - 1 : end]
    return FunctionSource(file, start, "".join(snippet), node, snippet)
