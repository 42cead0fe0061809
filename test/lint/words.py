"""Checks that one thing has one word: the right column of the conventions' table is refused. That
"is not a number" is said so, not "is no number". And that a doc comment begins with a verb or with
the thing's name, not with "Of", "What" or "Whether".

Looked at for words are identifiers and comments of ir/, passes/ and frontend/, split, so that
`smemBytes`, `SMEM_BYTES` and "smem bytes" are all found. Not checked, because the upstream
interfaces or another meaning need the word: block, module, predicate (of a comparison), encoding in
frontend/ (of values in JSON), entry, thread, stage.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Iterator

import tree

# Refused phrase -> what to write.
REFUSED = {
    "thread block": "CTA, or program",
    "threadblock": "CTA, or program",
    "workgroup": "CTA, or program",
    "work group": "CTA, or program",
    "scalar type": "element type",
    "predicate mask": "mask",
    "meta parameter": "constexpr",
    "metaparameter": "constexpr",
    "variant": "specialization",
    "wavefront": "warp",
    "encoding": "layout",
    "relayout": "convert_layout",
    "smem": "shared memory, or shared buffer",
    "lds": "shared memory",
    "memdesc": "shared buffer",
    "tensor core": "mma",
    "wmma": "mma",
    "mfma": "mma",
    "cp async": "async copy",
    "tma": "async copy",
    "platform": "target",
    "blob": "artifact",
    "log message": "diagnostic, or remark",
}

# Text in which a refused word is someone else's name: removed before looking.
ALLOWED = re.compile(
    r"std::(variant|get_if|holds_alternative)\w*|[<\"][^>\"\n]*\.(h|inc|td)[>\"]|<variant>"
    r"|\b(getEncoding|verifyEncoding|VerifiableTensorEncoding)\b|\bwithout an encoding\b|\bpadding_option\w*",
)
ENCODING_OF_VALUES = ("frontend",)

# "There is no such stage" is plain; so is "no longer".
NO_FOR_NOT_A = re.compile(
    r"(?<!there )\b(is|are|was|were) no (?!longer\b|such\b|more than\b)(?=[a-z])", re.I
)
READ_BY_PEOPLE = {*tree.CPP, ".td", ".py", ".md", ".mlir", ".txt"}

# "/// Whether a mask is all true." is "/// Returns true if a mask is all true."
NOUN_CLAUSE = re.compile(r"\s*///<?\s*(Of|What|Whether)\b")
DOCUMENTED = ("ir", "passes", "frontend", "backend", "runtime", "python/bindings")

_PARTS = re.compile(r"[^\w\s-]+")  # a phrase does not reach over punctuation
FOLDERS = ("ir", "passes", "frontend")
REFUSED_IN_NAMES = set("util utils helper helpers common manager base impl info".split())
NAMES_OF_TRITON = {"target_info"}  # modules that kernels import by this name, and their examples
# Declarations of ours; upstream types of these names are only used.
DECLARED = re.compile(
    r"^\s*(?:template\s*<[^{;]*>\s*)?(?:class|struct|enum(?:\s+class)?)\s+(\w+)\s*"
    r"(?:final\s*)?[:{]",
    re.M,
)


def phrase_problems(path: str, text: str) -> Iterator[str]:
    visible = tree.blank(text, keep=lambda found: found.startswith("/"))
    for number, line in enumerate(visible.splitlines(), 1):
        parts = _PARTS.split(ALLOWED.sub(";", line).replace("cp.async", "cp async"))
        found = "".join(f" {' '.join(tree.words(part))} ;" for part in parts)
        for phrase, instead in REFUSED.items():
            if phrase == "encoding" and path.startswith(ENCODING_OF_VALUES):
                continue
            if re.search(f" {phrase}s? ", found):
                yield f"{path}:{number}: '{phrase}' here is called: {instead}"


def name_problems(root: pathlib.Path) -> Iterator[str]:
    for file in tree.files(root, tree.TOP_FOLDERS, {*tree.CPP, ".py", ".td"}):
        path = file.relative_to(root).as_posix()
        is_foreign = file.stem.removesuffix("_examples") in NAMES_OF_TRITON
        for word in REFUSED_IN_NAMES.intersection(() if is_foreign else tree.words(file.stem)):
            yield f"{path}: '{word}' says nothing in a file's name"
        if file.suffix in tree.CPP:
            code = tree.blank(tree.read(file))
            for match in DECLARED.finditer(code):
                for word in REFUSED_IN_NAMES.intersection(tree.words(match.group(1))):
                    number = code.count("\n", 0, match.start(1)) + 1
                    yield f"{path}:{number}: '{word}' says nothing in the name {match.group(1)}"


def english_problems(root: pathlib.Path) -> Iterator[str]:
    for file in tree.files(root, tree.TOP_FOLDERS, READ_BY_PEOPLE):
        path = file.relative_to(root).as_posix()
        if path.startswith("test/lint/"):
            continue  # the rule and its violations
        for number, line in enumerate(tree.read(file).splitlines(), 1):
            for match in NO_FOR_NOT_A.finditer(line):
                yield f"{path}:{number}: '{match.group().strip()}' here is: {match.group(1)} not"


def doc_comment_problems(root: pathlib.Path) -> Iterator[str]:
    """Looks at the first lines of doc comments: a later one may begin with any word."""
    for file in tree.files(root, DOCUMENTED, {*tree.CPP, ".td"}):
        path = file.relative_to(root).as_posix()
        is_first = True
        for number, line in enumerate(tree.read(file).splitlines(), 1):
            if is_first and (match := NOUN_CLAUSE.match(line)):
                yield f"{path}:{number}: begin with a verb or a name, not with '{match.group(1)}'"
            is_first = not line.lstrip().startswith("///")


def problems(root: pathlib.Path) -> Iterator[str]:
    for file in tree.files(root, FOLDERS, {*tree.CPP, ".td"}):
        yield from phrase_problems(file.relative_to(root).as_posix(), tree.read(file))
    yield from name_problems(root)
    yield from english_problems(root)
    yield from doc_comment_problems(root)


if __name__ == "__main__":
    sys.exit(tree.main(problems, "words hold"))
