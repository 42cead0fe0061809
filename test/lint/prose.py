"""Checks what users read for worn phrases, repeated words, long sentences, and names that are not spelt
as their owners spell them.

Pages, and what tutorials say of themselves, go through proselint, and its words for good English are
joined by those of this field. Code is left out.
"""

from __future__ import annotations

import ast
import importlib.util
import io
import itertools
import pathlib
import re
import string
import sys
import tokenize
from collections.abc import Iterator

import tree

PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
FOLDER = "tutorials"
MOST_WORDS = 35  # of a sentence on the pages that users read first
READ_FIRST = ("README.md", "tutorials/README.md", "tutorials/site/")

# What is wrong or says nothing -> what to write. Letters count.
FIELD = {
    "Numpy": "NumPy", "Pytorch": "PyTorch", "Cuda": "CUDA", "Nvidia": "NVIDIA", "Github": "GitHub",
    "Jax": "JAX", "Onnx": "ONNX", "Rocm": "ROCm",
    "smem": "shared memory", "tensor core": "matrix instruction", "threadblock": "program, or CTA",
    "tensor cores": "matrix instructions", "metaparameter": "constexpr", "scalar type": "element type",
    "meta-parameter": "constexpr", "relayout": "change of layout",
    "leverage": "use", "utilize": "use", "utilise": "use", "performant": "fast",
    "blazingly": "a number", "blazing fast": "a number", "seamless": "nothing",
    "seamlessly": "nothing", "simply": "nothing", "obviously": "nothing", "out of the box": "nothing",
}  # fmt: skip
# Of proselint: typography of print, where this tree has ASCII; nouns such as "multiply-adds".
QUIET = ("typography.symbols", "misc.phrasal_adjectives")

_FENCE = re.compile(r"^ *```.*?^ *```$|^(?: {4}|#).*?$", re.M | re.S)
_CODE = re.compile(r"`[^`\n]*`")
_SIZES = re.compile(r"\d+(?: x \d+)+")
_LINK = re.compile(r"\]\([^)\s]*\)")
_PART = re.compile(r"\n\s*\n|\n(?= *(?:-|\d+\.) )|\|")  # paragraphs, items, cells
_END = re.compile(r"(?<=[.!?])\s+")


def prose(markdown: str) -> str:
    """The text of a page without code and headings; what stays keeps its place."""
    text = _FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found.group()), markdown)
    text = _SIZES.sub(lambda found: "9" * len(found.group()), text)
    # A word for a name of code, another one each time: else names in a row were a repeated word.
    letters = itertools.cycle(string.ascii_lowercase)
    text = _CODE.sub(lambda found: next(letters).ljust(len(found.group()), "q"), text)
    return _LINK.sub(lambda found: "]" + " " * (len(found.group()) - 1), text)


def comments(program: str) -> str:
    """The docstring of a program and its comments on lines of their own, at their places."""
    lines = [""] * (program.count("\n") + 1)
    for token in tokenize.generate_tokens(io.StringIO(program).readline):
        if token.type == tokenize.COMMENT and not token.line[: token.start[1]].strip():
            lines[token.start[0] - 1] = token.string.removeprefix("#")
    module = ast.parse(program)
    if ast.get_docstring(module):
        for number, line in enumerate((ast.get_docstring(module) or "").split("\n")):
            lines[module.body[0].lineno - 1 + number] = line
    return "\n".join(lines)


def sentence_problems(name: str, text: str) -> Iterator[str]:
    """Sentences that nobody reads in one breath."""
    place = 0
    for part in [*_PART.finditer(text), None]:
        end = part.start() if part else len(text)
        for sentence in _END.split(text[place:end]):
            count = len(re.findall(r"\S*\w\S*", sentence))
            if count > MOST_WORDS:
                number = text.count("\n", 0, text.index(sentence, place)) + 1
                yield f"{name}:{number}: a sentence of {count} words, at most {MOST_WORDS}"
        place = part.end() if part else end


def phrase_problems(name: str, text: str) -> Iterator[str]:
    """What proselint says, with its words and ours."""
    _register()
    from proselint.config import DEFAULT
    from proselint.tools import LintFile

    for found in LintFile(name, text + "\n").lint(DEFAULT):
        result = found.check_result
        if not result.check_path.startswith(QUIET):
            yield f"{name}:{found.pos[0]}: {' '.join(result.message.split())}"


def _register() -> None:
    """Make proselint's checks and ours known, once."""
    from proselint.checks import __register__ as checks
    from proselint.registry import CheckRegistry
    from proselint.registry.checks import Check, types
    from proselint.registry.checks.engine import Fast, RegexOptions

    registry = CheckRegistry()
    if not registry.checks:
        registry.register_many(checks)
        own = types.PreferredFormsSimple(items=FIELD)
        message = "write {} for '{}'"
        engine = Fast(opts=RegexOptions(case_insensitive=False))
        registry.register(Check(own, engine, "terms.field", message))


def problems(root: pathlib.Path) -> Iterator[str]:
    if importlib.util.find_spec("proselint") is None:
        yield "proselint is not there: pip install -r test/requirements.txt"
        return
    pages = [root / page for page in PAGES if (root / page).is_file()]
    texts = {page: prose(tree.read(page)) for page in [*pages, *tree.files(root, [FOLDER], {".md"})]}
    for program in tree.files(root, [FOLDER], {".py"}):
        texts[program] = prose(comments(tree.read(program)))
    for file, text in texts.items():
        name = file.relative_to(root).as_posix()
        if name.startswith(READ_FIRST):
            yield from sentence_problems(name, text)
        yield from phrase_problems(name, text)


if __name__ == "__main__":
    sys.exit(tree.main(problems, "prose reads well"))
