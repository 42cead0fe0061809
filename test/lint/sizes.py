"""Checks that functions, files, headers and folders stay small enough to be read in one sitting."""

from __future__ import annotations

import ast
import collections
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import NamedTuple

import tree

MAX_FUNCTION_LINES = 60
# Of tests, and of kernels in tutorials, which are one function each.
MAX_FUNCTION_LINES_OF_TESTS = 80
MAX_FILE_LINES = 700
MAX_HEADER_LINES = 150
# Of the Python package, whose files and folders are all below them.
PACKAGE = "python/tilewright"
MAX_PACKAGE_FILE_LINES = 500
MAX_PACKAGE_FOLDER_FILES = 25

# Files whose length is that of a table, and why it stays one table: path -> reason.
EXEMPT: dict[str, str] = {
    "backend/warpsim/Instruction.h": "most of it enumerates the words of an instruction set",
}


class Function(NamedTuple):
    name: str
    line: int
    num_lines: int


_ACCESS = re.compile(r"(\s*(public|private|protected)\s*:)*")
# What may stand before the keyword of a declaration.
_PREFIX = re.compile(r"\s*(template\s*<(?:[^<>]|<[^<>]*>)*>|inline|static|typedef|export)\s*")
# A scope whose braces hold declarations: what is inside is looked at one by one.
_SCOPE = re.compile(r"\s*(namespace|class|struct|union|enum)\b|\s*extern\s*$")
_PARAMETERS = re.compile(r"\)\s*(const|noexcept|override|->[^)]*)?\s*$")
# `name = {` and `name[] {`: data, not code.
_TABLE = re.compile(r"(=|\])\s*$")


def _without_directives(text: str) -> str:
    """Blanks preprocessor lines with their continuations: their braces may not pair up."""

    def spaces(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match.group())

    return re.sub(r"^[ \t]*#(?:\\\n|[^\n])*", spaces, text, flags=re.M)


def _is_scope(header: str) -> bool:
    header = _ACCESS.sub("", header, count=1)
    while prefix := _PREFIX.match(header):
        header = header[prefix.end() :]
    return bool(_SCOPE.match(header)) and not _PARAMETERS.search(header)


def _name(header: str) -> str:
    match = re.search(r"([\w:~]+|operator[^\w\s(]+)\s*\(", header)
    return match.group(1) if match else header.strip().split("\n")[0][:40] or "block"


def cpp_functions(text: str) -> Iterator[Function]:
    """The functions of a C++ file: every block of a scope that is neither a scope nor a table."""
    code = _without_directives(tree.blank(text))
    depth_of_function = 0  # braces open inside the function that is being measured
    start = 0  # where the declaration being read starts
    opening = 0
    for match in re.finditer(r"[{};]", code):
        here, sign = match.start(), match.group()
        if depth_of_function:
            depth_of_function += {"{": 1, "}": -1, ";": 0}[sign]
            if depth_of_function == 0:
                access = _ACCESS.match(code, start, opening)
                start = access.end() if access else start
                header = code[start:opening]
                if not _TABLE.search(header):
                    first = start + len(header) - len(header.lstrip())
                    lines = code.count("\n", first, here) + 1
                    yield Function(_name(header), code.count("\n", 0, first) + 1, lines)
                start = here + 1
        elif sign == "{" and not _is_scope(code[start:here]):
            depth_of_function, opening = 1, here
        else:
            start = here + 1


def python_functions(text: str) -> Iterator[Function]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield Function(
                node.name, node.lineno, (node.end_lineno or node.lineno) - node.lineno + 1
            )


def folder_problems(root: pathlib.Path) -> Iterator[str]:
    files = tree.files(root, (PACKAGE,), {".py", ".md"})
    counts = collections.Counter(file.parent.relative_to(root).as_posix() for file in files)
    for folder, count in counts.items():
        if count > MAX_PACKAGE_FOLDER_FILES:
            yield f"{folder}: {count} files, at most {MAX_PACKAGE_FOLDER_FILES}"


def problems(root: pathlib.Path) -> Iterator[str]:
    for file in tree.files(root, tree.TOP_FOLDERS, {*tree.CPP, ".py"}):
        path = file.relative_to(root).as_posix()
        text = tree.read(file)
        limit = MAX_HEADER_LINES if file.suffix == ".h" else MAX_FILE_LINES
        limit = MAX_PACKAGE_FILE_LINES if path.startswith(PACKAGE) else limit
        num_lines = text.count("\n")
        if num_lines > limit and path not in EXEMPT:
            yield f"{path}: {num_lines} lines, at most {limit}"
        is_test = path.startswith(("test/", "tutorials/"))
        most = MAX_FUNCTION_LINES_OF_TESTS if is_test else MAX_FUNCTION_LINES
        functions = python_functions(text) if file.suffix == ".py" else cpp_functions(text)
        for function in functions:
            if function.num_lines > most:
                yield (
                    f"{path}:{function.line}: {function.name} has {function.num_lines} lines, "
                    f"at most {most}"
                )
    yield from folder_problems(root)
    for path in EXEMPT:
        if not (root / path).is_file() and (root / "CMakeLists.txt").is_file():
            yield f"test/lint/sizes.py: exempt file {path} does not exist"


if __name__ == "__main__":
    sys.exit(tree.main(problems, "sizes hold"))
