"""What the lints share: which files are ours, code without its comments, names split into words."""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator

TOP_FOLDERS = (
    *("frontend", "ir", "passes", "backend", "runtime", "python", "tutorials", "test"),
)
CPP = {".h", ".cpp"}

Lint = Callable[[pathlib.Path], Iterable[str]]

# Comments, string and character literals, raw strings; a digit separator opens no character
# literal.
_TRIVIA = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|R"(?P<d>[^()\s]*)\(.*?\)(?P=d)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'",
    re.S,
)


def files(root: pathlib.Path, folders: Iterable[str], suffixes: set[str]) -> Iterator[pathlib.Path]:
    """Our files below the folders, in a fixed order; generated and hidden ones left out."""
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            parts = path.relative_to(root).parts
            if path.suffix not in suffixes or not path.is_file():
                continue
            if not any(part.startswith(".") or part == "__pycache__" for part in parts):
                yield path


def read(path: pathlib.Path) -> str:
    return path.read_text(encoding="utf-8")


def blank(text: str, keep: Callable[[str], bool] = lambda _: False) -> str:
    """C++ or TableGen text with comments and literals blanked out; positions and lines stay."""

    def spaces(match: re.Match[str]) -> str:
        found = match.group()
        return found if keep(found) else re.sub(r"[^\n]", " ", found)

    return _TRIVIA.sub(spaces, text)


def words(name: str) -> list[str]:
    """`numSharedBytes`, `NUM_SHARED_BYTES`, "num shared bytes" -> ["num", "shared", "bytes"]."""
    split = re.sub(r"([a-z0-9])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", name)
    return re.findall(r"[a-z0-9]+", split.lower())


def main(lint: Lint, done: str) -> int:
    """Prints what a lint finds in the tree given on the command line, or in this one."""
    default = pathlib.Path(__file__).resolve().parents[2]
    root = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else default
    found = list(lint(root))
    for problem in found:
        print(problem)
    print(f"{len(found)} problems" if found else done)
    return 1 if found else 0
