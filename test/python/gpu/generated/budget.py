"""How many instructions kernels take: what `budget.tsv` says, and what the compiler makes now.

    .venv/bin/python test/python/gpu/generated/budget.py [--write]

prints the rows that differ; `--write` writes the numbers of today, whose diff is to be read.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[4]
TABLE = Path(__file__).with_suffix(".tsv")
COMMAND = f".venv/bin/python {Path(__file__).relative_to(ROOT)} --write"


class Row(NamedTuple):
    """A kernel for a target, and what is counted of its code."""

    kernel: str
    target: str  # an architecture
    settings: str  # what differs from the kernel's own constants and 4 warps; `-` for nothing
    # `all`: the instructions; `loop`: those of the first loop with matrix instructions; `masked`:
    # of the first of them that masks numbers
    counted: str
    number: str
    triton: str  # what Triton 3.9 makes of the same source, where that was counted; else `-`

    @property
    def label(self) -> str:
        return f"{self.kernel} {self.target} {self.settings}"


def read() -> list[Row]:
    _, *lines = TABLE.read_text().splitlines()
    return [Row(*line.split("\t")) for line in lines]


def count(row: Row) -> int:
    """What the compiler makes now."""
    from gpu.generated.amd_code import compile_for, instructions_of, product_loop

    words = row.settings.split() if row.settings != "-" else []
    settings = {name: int(value) for name, value in (word.split("=") for word in words)}
    if row.target.startswith("sm_"):
        return count_sass(compile_for(row.target, row.kernel, device="nvidia", **settings), row)
    text = compile_for(row.target, row.kernel, **settings).asm["asm"]
    if row.counted == "loop":
        return product_loop(text).total()
    assert row.counted == "all", row
    return sum(not line.startswith(".LBB") for line in instructions_of(text))


def count_sass(compiled: Any, row: Row) -> int:
    """The machine instructions of a kernel for NVIDIA's GPUs, by the assembler that is best there."""
    from machine_code import sass, write_cubin

    assert row.counted in ("loop", "masked"), row
    with TemporaryDirectory() as folder:
        text = sass.run_nvdisasm("-c", str(write_cubin(compiled, Path(folder))))
    _, loops = sass.parse(text)
    return next(
        loop.opcodes.total()
        for loop in loops
        if (loop.opcodes["HGMMA"] or loop.opcodes["QGMMA"])
        and (loop.opcodes["FSEL"] or row.counted == "loop")
    )


def main() -> int:
    """Exit status 1: a number differs and is not written."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write what the compiler makes now")
    is_written = parser.parse_args().write
    rows = read()
    now = [row._replace(number=str(count(row))) for row in rows]
    changed = [(old, new) for old, new in zip(rows, now, strict=True) if old != new]
    for old, new in changed:
        print(f"{new.label}: {old.number} -> {new.number}")
    if is_written:
        lines = ["\t".join(row) for row in (Row._fields, *now)]
        TABLE.write_text("\n".join(lines) + "\n")
    return int(bool(changed) and not is_written)


if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / part) for part in ("python", "test", "test/kernels", "test/python",
                                                  "test/python/support")]  # fmt: skip
    sys.exit(main())
