"""Checks that code shared by all targets holds no number of a machine.

How many lanes a warp has, how many bytes a bank, a line or an access: such facts stand in the row of
a target (`#tile.target`, `#tile.simd`), and passes ask for them. Looked at are lines of ir/ and passes/ that give or
compare something named after such a part with a power of two that real machines have.
"""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Iterator

import tree

FOLDERS = ("ir", "passes")
PARTS = set(
    "lane lanes warp warps bank banks line lines sector sectors transfer access accesses vector".split()
)
NUMBER = re.compile(r"(?<![\w.])(8|16|32|64|128|256)u?(?![\w.])")
# What is given to, divided by or compared with a number: `kLineBytes = 128`, `lane / 32`.
BESIDE = re.compile(
    r"(?P<left>[A-Za-z_]\w*)(?:\(\))?\s*(?:=|==|!=|<=|>=|<|>|\*|/|%|&)\s*(?P<number>\d+)u?\b(?!\.)"
)
# Template arguments are capacities of containers.
CAPACITY = re.compile(r"\b(?:SmallVector|SmallPtrSet|SmallSetVector|SmallString)\w*<[^;\n]*?>")

# (file, identifier) -> why the number is not a machine's.
ALLOWED: dict[tuple[str, str], str] = {
    ("ir/tile/Tile.h", "kMostWarps"): "no program has more, on any machine",
    ("ir/layout/MatrixAccess.h", "kMatrixRowBytes"): "part of what simt.load_matrix means",
    ("ir/target/TargetDesc.cpp", "warpSize"): "the plain machine of IR that describes none",
    ("ir/target/TargetDesc.cpp", "vectorBytes"): "the plain machine of IR that describes none",
    ("ir/target/TargetDesc.cpp", "lineBytes"): "the plain machine of IR that describes none",
    ("ir/target/TargetDesc.cpp", "sectorBytes"): "the plain machine of IR that describes none",
    ("ir/target/TargetDesc.cpp", "getVectorBits"): "bits of a byte",
    ("passes/simt/layout/LayoutCost.cpp", "kAccess"): "a cost in instructions",
}
# The same of whole files.
ALLOWED_FILES = {"ir/tile/Tile.cpp": "the verifiers of #tile.target and #tile.simd: what a row may say at all"}


def problems(root: pathlib.Path) -> Iterator[str]:
    for file in tree.files(root, FOLDERS, tree.CPP):
        path = file.relative_to(root).as_posix()
        if path in ALLOWED_FILES:
            continue
        code = CAPACITY.sub("", tree.blank(tree.read(file)))
        for number, line in enumerate(code.splitlines(), 1):
            for match in BESIDE.finditer(line):
                name = match["left"]
                is_machines = NUMBER.fullmatch(match["number"]) and PARTS.intersection(tree.words(name))
                if is_machines and (path, name) not in ALLOWED:
                    yield f"{path}:{number}: {name} beside {match['number']}: ask the target's row"


if __name__ == "__main__":
    sys.exit(tree.main(problems, "no machine's numbers in ir/ and passes/"))
