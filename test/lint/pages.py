"""Checks that every folder has its page, that what pages and comments name is there, and that pages
wrap.

A folder with more than five files has a README.md; below a folder of test/, that of a folder above
is enough. A path that begins at the top of the tree (`ir/tile/TileOps.td`,
`passes/simd`, with or without its ending, `*` for any name) exists, wherever it stands. On pages, a
path in backticks may begin at the page's own folder, and links lead to files. Text on pages wraps at
100 columns, except in tables and code.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Iterator

import tree

MOST_WITHOUT_PAGE = 5
PAGE = "README.md"
SUFFIXES = {*tree.CPP, ".md", ".td", ".py", ".txt", ".mlir"}
MOST_COLUMNS = 100
TOP_FILES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "CMakeLists.txt", "Makefile")
NOT_SOURCE = {".so", ".pyc"}
# Whose folders may be told of on the page of a folder above: top folder -> levels that may not.
TOLD_ABOVE = {"test": 1, "tutorials": 1}
# Files whose paths are of another tree: path -> which.
EXEMPT = {
    "test/lint/test_lints.py": "trees that the tests make",
    "test/gpu_check.py": "tests by their place in test/python",
}

_PATH = re.compile(rf"(?<![\w/.$}}-])(?:{'|'.join(tree.TOP_FOLDERS)})/[\w*][\w./*-]*")
_SPAN = re.compile(r"`([\w*-]+/[\w./*-]*)`")
_LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")
_CODE = re.compile(r"`[^`\n]*`")
_FENCE = re.compile(r"^ *```.*?^ *```$", re.M | re.S)
_TABLE_OR_CODE = ("|", "    ")


def exists(base: pathlib.Path, path: str) -> bool:
    """Whether the path is a file or folder below `base`, or a file without its ending."""
    path = path.rstrip("./-")
    if "*" in path:
        return any(base.glob(path)) or any(base.glob(path + ".*"))
    return (base / path).exists() or any((base / path).parent.glob(f"{(base / path).name}.*"))


def _is_generated(line: str, path: str) -> bool:
    return path.endswith(".inc") or "#include" in line


def _named(root: pathlib.Path, file: pathlib.Path, line: str) -> Iterator[str]:
    """The paths that a line names and that are not there."""
    for match in _PATH.finditer(line):
        path = match.group()
        if not _is_generated(line, path) and not any(exists(b, path) for b in (root, file.parent)):
            yield path


def _named_beside(root: pathlib.Path, page: pathlib.Path, line: str) -> Iterator[str]:
    """The same of paths that begin at the page's own folder."""
    for path in _SPAN.findall(line):
        first = path.split("/")[0]
        if (page.parent / first).is_dir() and not any(exists(b, path) for b in (page.parent, root)):
            yield path


def path_problems(root: pathlib.Path, file: pathlib.Path) -> Iterator[str]:
    name = file.relative_to(root).as_posix()
    text = tree.read(file)
    is_page = file.suffix == ".md"
    if is_page:  # pictures and examples count for paths from the top only
        prose = _FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), text).splitlines()
    for number, line in enumerate(text.splitlines(), 1):
        missing = dict.fromkeys(_named(root, file, line))
        if is_page:
            missing |= dict.fromkeys(_named_beside(root, file, prose[number - 1]))
        for path in missing:
            yield f"{name}:{number}: there is no {path}"
        for target in _LINK.findall(_CODE.sub("", prose[number - 1])) if is_page else ():
            if not (file.parent / target).exists():
                yield f"{name}:{number}: a link to {target}, which is not there"


def width_problems(root: pathlib.Path, page: pathlib.Path) -> Iterator[str]:
    name = page.relative_to(root).as_posix()
    prose = _FENCE.sub(lambda found: re.sub(r"[^\n]", "", found.group()), tree.read(page))
    for number, line in enumerate(prose.splitlines(), 1):
        if len(line) > MOST_COLUMNS and not line.startswith(_TABLE_OR_CODE):
            yield f"{name}:{number}: {len(line)} columns, at most {MOST_COLUMNS}"


def has_page(root: pathlib.Path, folder: pathlib.Path) -> bool:
    """Whether the folder is told of on a page of its own, or on one above where that is enough."""
    parts = folder.relative_to(root).parts
    own = TOLD_ABOVE.get(parts[0], len(parts))
    above = [parts[:length] for length in range(own + 1, len(parts) + 1)]
    return any(root.joinpath(*path, PAGE).exists() for path in [parts, *above])


def folder_problems(root: pathlib.Path) -> Iterator[str]:
    for top in tree.TOP_FOLDERS:
        for folder in sorted([root / top, *(root / top).rglob("*")]):
            parts = folder.relative_to(root).parts
            if not folder.is_dir() or any(p.startswith((".", "__pycache__")) for p in parts):
                continue
            files = [f for f in folder.iterdir() if f.is_file() and f.suffix not in NOT_SOURCE]
            if len(files) > MOST_WITHOUT_PAGE and not has_page(root, folder):
                yield f"{'/'.join(parts)}: {len(files)} files and no {PAGE}"


def problems(root: pathlib.Path) -> Iterator[str]:
    files = list(tree.files(root, tree.TOP_FOLDERS, SUFFIXES))
    files += [root / name for name in TOP_FILES if (root / name).is_file()]
    for file in files:
        if file.relative_to(root).as_posix() not in EXEMPT:
            yield from path_problems(root, file)
        if file.suffix == ".md":
            yield from width_problems(root, file)
    yield from folder_problems(root)


if __name__ == "__main__":
    sys.exit(tree.main(problems, "pages hold"))
