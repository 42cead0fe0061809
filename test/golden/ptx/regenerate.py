"""Compiles the golden kernels again: `.venv/bin/python test/golden/ptx/regenerate.py [NAME ...]`.

The mutants beside this file name lines of the old texts; their tests say which ones to look at.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from launches import FOLDER, GOLDENS, Golden
from pipelined_launches import PIPELINED

ROOT = Path(__file__).resolve().parents[3]


def compile_kernel(name: str, golden: Golden) -> None:
    """Write kernels/NAME.ptx."""
    subprocess.run(
        [sys.executable, "-m", "tilewright", "compile", golden.source,
         "--signature", golden.signature, "--constexpr", golden.constexpr,
         "--num-warps", str(golden.num_warps), "--num-stages", str(golden.num_stages),
         "--target", "nvidia:sm_80", "--emit", "ptx", "-o", str(FOLDER / f"{name}.ptx")],
        cwd=ROOT, check=True,
    )  # fmt: skip


if __name__ == "__main__":
    goldens = GOLDENS | PIPELINED
    for name in sys.argv[1:] or goldens:
        compile_kernel(name, goldens[name])
