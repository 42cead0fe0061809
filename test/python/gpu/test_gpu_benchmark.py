"""The benchmark of GPUs computes what torch computes: its kernels, rehearsed on the CPU."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler")
SCRIPT = Path(__file__).resolve().parents[2] / "benchmark" / "gpu.py"


def test_every_kernel_is_right() -> None:
    command = [sys.executable, str(SCRIPT), "--rehearse"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(": right\n") == 6, done.stdout
