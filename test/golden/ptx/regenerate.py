"""Compiles the golden kernels again: `.venv/bin/python test/golden/ptx/regenerate.py [NAME ...]`.

The mutants beside this file name lines of the old texts; their test says which ones to look at.
"""

from __future__ import annotations

import pathlib
import subprocess
import sys

from launches import FOLDER, GOLDENS, NUM_WARPS, Golden

ROOT = pathlib.Path(__file__).resolve().parents[3]


def compile_kernel(name: str, golden: Golden) -> None:
    """Write kernels/NAME.ptx."""
    subprocess.run(
        [sys.executable, "-m", "tilewright", "compile", golden.source,
         "--signature", golden.signature, "--constexpr", golden.constexpr,
         "--num-warps", str(NUM_WARPS), "--target", "nvidia:sm_80", "--emit", "ptx",
         "-o", str(FOLDER / f"{name}.ptx")],
        cwd=ROOT, check=True,
    )  # fmt: skip


if __name__ == "__main__":
    for name in sys.argv[1:] or GOLDENS:
        compile_kernel(name, GOLDENS[name])
