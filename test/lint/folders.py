"""Checks that no two folders include each other, of the C++ or of the Python package, and that the
package's core imports neither its tools nor what is there for Triton's sake.

Files count for the folder that they lie in, also a package's `__init__.py`; a file counts for no folder
above its own. An import counts wherever it stands: in a function or under TYPE_CHECKING, too.
"""

from __future__ import annotations

import ast
import pathlib
import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import tree

CPP_FOLDERS = ("ir", "frontend", "passes", "runtime", "backend", "python/bindings")
PACKAGE = "python/tilewright"

# The parts of the Python package: folder -> part, and part -> the parts that it may import. The folders
# in a folder belong to its part. The package's own files are its face: the names of `import tilewright`.
PARTS = {
    "": "face",
    "native": "core",
    "language": "core",
    "capture": "core",
    "compile": "core",
    "launch": "core",
    "library": "library",
    "arrays": "tools",
    "tuning": "tools",
    "analysis": "tools",
    "testing": "tools",
    "profiler": "tools",
    "export": "tools",
    "explain": "tools",
    "graphs": "tools",
    "operators": "tools",
    "jax": "tools",
    "tools": "tools",
    "libdevice": "compat",
    "triton": "compat",
}
MAY_IMPORT = {
    "core": {"core"},
    "library": {"core", "library"},
    "tools": {"core", "library", "tools"},
    "compat": {"core", "library", "tools", "compat", "face"},
    "face": {"core", "library", "tools", "compat", "face"},
}


class Use(NamedTuple):
    """A line of a file that includes a file of another folder."""

    file: str
    line: int
    used: str

    @property
    def folders(self) -> tuple[str, str]:
        """The folder that includes, and the one that is included."""
        return folder_of(self.file), folder_of(self.used)


def folder_of(path: str) -> str:
    """The folder of a file."""
    return path.rpartition("/")[0]


def cpp_uses(root: pathlib.Path) -> Iterator[Use]:
    """Every #include of a file of ours."""
    for file in tree.files(root, CPP_FOLDERS, tree.CPP):
        path = file.relative_to(root).as_posix()
        for number, line in enumerate(tree.read(file).splitlines(), 1):
            match = re.match(r'\s*#\s*include\s+"([^"]+)"', line)
            if match and (root / match.group(1)).is_file():
                yield Use(path, number, match.group(1))


def python_uses(root: pathlib.Path) -> Iterator[Use]:
    """Every import of a module of the package by another one."""
    base = (root / PACKAGE).parent
    files = {module_of(file, base): file for file in tree.files(root, (PACKAGE,), {".py"})}
    for module, file in files.items():
        package = module if file.name == "__init__.py" else module.rpartition(".")[0]
        for node in ast.walk(ast.parse(tree.read(file))):
            for name in imported_names(node, package):
                while name and name not in files:
                    name = name.rpartition(".")[0]
                if name:
                    used = files[name].relative_to(root).as_posix()
                    yield Use(file.relative_to(root).as_posix(), getattr(node, "lineno"), used)


def module_of(file: pathlib.Path, base: pathlib.Path) -> str:
    """The dotted name of a file."""
    return ".".join(file.relative_to(base).with_suffix("").parts).removesuffix(".__init__")


def imported_names(node: ast.AST, package: str) -> Iterator[str]:
    """The dotted names that a statement imports, of modules or of what is in them."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")
        above = above[: len(above) + 1 - node.level] if node.level else []
        start = ".".join([*above, *filter(None, [node.module])])
        yield from (f"{start}.{alias.name}" for alias in node.names)


def two_way(uses: Iterable[Use]) -> dict[tuple[str, str], list[Use]]:
    """The pairs of folders that include each other, with the uses of the direction that has fewer."""
    by_folders: dict[tuple[str, str], list[Use]] = {}
    for use in uses:
        by_folders.setdefault(use.folders, []).append(use)
    found: dict[tuple[str, str], list[Use]] = {}
    for (user, used), forth in by_folders.items():
        back = by_folders.get((used, user), [])
        if user < used and back:
            found[user, used] = min(forth, back, key=len)
    return found


def part_of(path: str) -> str:
    """The part of a file of the package; an empty text where the table has none."""
    return PARTS.get(folder_of(path).removeprefix(PACKAGE).lstrip("/").partition("/")[0], "")


def part_problems(uses: Iterable[Use]) -> Iterator[str]:
    for use in uses:
        user, used = part_of(use.file), part_of(use.used)
        for path, part in ((use.file, user), (use.used, used)):
            if not part:
                yield f"{path}: its folder is in no part of the package: add it to folders.PARTS"
        if user and used and used not in MAY_IMPORT[user]:
            yield f"{use.file}:{use.line}: {user} may not import {used} ({use.used})"


def pair_problems(root: pathlib.Path, imports: Iterable[Use]) -> Iterator[str]:
    pairs = {**two_way(cpp_uses(root)), **two_way(imports)}
    for pair in sorted(pairs):
        use = pairs[pair][0]
        yield f"{use.file}:{use.line}: includes {use.used}: {pair[0]}/ and {pair[1]}/ include each other"


def problems(root: pathlib.Path) -> Iterator[str]:
    imports = list(python_uses(root))
    yield from pair_problems(root, imports)
    yield from part_problems(imports)
