"""What the README and the tutorials' page show is what happens: the kernel runs, the errors are the
compiler's and the simulator's."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys

import pytest

pytest.importorskip("torch")

ROOT = pathlib.Path(__file__).resolve().parents[3]
README = (ROOT / "README.md").read_text()
TUTORIALS = (ROOT / "tutorials" / "README.md").read_text()
PROGRAMS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
IMPORTS = "import numpy as np\nimport tilewright as tw\n\n"
CHECK = """
difference = (out - torch.softmax(x, 1)).abs().max().item()
assert difference < 1e-6, difference
"""


def test_the_kernel_of_the_readme_is_right(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAMS[0] + CHECK)
    result = subprocess.run(
        [sys.executable, str(program)], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == 0, result.stderr


def test_the_report_of_the_simulator_is_printed_so(tmp_path: pathlib.Path) -> None:
    program = tmp_path / "race.py"
    program.write_text(IMPORTS + PROGRAMS[1])
    result = subprocess.run(
        [sys.executable, program.name], capture_output=True, text=True, timeout=300, cwd=tmp_path
    )
    (shown,) = re.findall(r"^```\n(\S+DeviceError: .*?)^```$", README, re.DOTALL | re.MULTILINE)
    # Lines and registers of the PTX are LLVM's to choose.
    pattern = re.sub(r"\d+", r"\\d+", re.escape(shown.removesuffix("...\n")))
    assert re.search(pattern, result.stderr), result.stderr


def test_the_error_of_the_tutorials_is_printed_so() -> None:
    (shown,) = re.findall(r"^```\n(error\[.*?)^```$", TUTORIALS, re.DOTALL | re.MULTILINE)
    golden = ROOT / "test" / "golden" / "errors" / "shape_mismatch_in_a_call.txt"
    assert shown == golden.read_text()
