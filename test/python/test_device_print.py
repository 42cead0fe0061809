"""device_print and print write the same lines on every device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """
import numpy as np
import tilewright as tw

@tw.jit
def prints(x, n):
    tw.device_print("start")
    tw.device_print("tile", tw.arange(0, 8).reshape(2, 4))
    tw.device_print("hex", n, hex=True)
    tw.device_print("two", n, tw.load(x))
    if n > 3:
        print("n =", n)

with tw.device(DEVICE):
    prints[(1,)](np.array([0.1], np.float32), 10)
"""

EXPECTED = """\
idx () start
idx (0, 0) tile 0
idx (0, 1) tile 1
idx (0, 2) tile 2
idx (0, 3) tile 3
idx (1, 0) tile 4
idx (1, 1) tile 5
idx (1, 2) tile 6
idx (1, 3) tile 7
idx () hex 0xa
idx () two 10
idx () two 0.100000001
idx () n = 10
"""


@pytest.mark.parametrize("device", ["cpu", "reference", "sim:sm_80"])
def test_printed_lines(device: str, compiler: None, tmp_path: Path) -> None:
    script = tmp_path / "prints.py"
    script.write_text(PROGRAM.replace("DEVICE", repr(device)))
    run = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, timeout=60,
        env={"PYTHONPATH": os.pathsep.join(sys.path), "TILEWRIGHT_CACHE": "0"},
    )  # fmt: skip
    assert run.stdout.replace("pid (0, 0, 0) ", "") == EXPECTED
