"""What an editor finds in programs: the tutorials have no error of types, and a wrong launch has one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
# Parameters of kernels carry no annotation: pyright infers what follows from them at each call, and
# these rules of "strict" ask for annotations.
UNANNOTATED = [
    "MissingParameterType", "UnknownArgumentType", "UnknownLambdaType", "UnknownMemberType",
    "UnknownParameterType", "UnknownVariableType",
]  # fmt: skip
KERNEL = """
import torch
import tilewright as tw

@tw.jit
def add(x, y, out, n: tw.int32, BLOCK: tw.constexpr, EVEN: tw.constexpr[bool] = False):
    at = tw.arange(0, BLOCK)
    tw.store(out + at, tw.load(x + at) + tw.load(y + at), mask=at < n)

t = torch.zeros(64)
SIZE = tw.constexpr(64)
"""


def checked(folder: Path, *files: Path) -> list[dict[str, Any]]:
    """What pyright says of files."""
    pytest.importorskip("pyright")
    settings = {
        "include": [str(file) for file in files],
        "extraPaths": [str(ROOT / "tutorials"), str(ROOT / "python")],
        "typeCheckingMode": "strict",
        "pythonVersion": "3.10",
        **{f"report{rule}": False for rule in UNANNOTATED},
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(settings))
    command = ["-m", "pyright", "-p", str(folder), "--pythonpath", sys.executable, "--outputjson"]
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return json.loads(done.stdout)["generalDiagnostics"]


def of_text(folder: Path, text: str) -> list[tuple[str, str, str]]:
    """Severity, line and message of what pyright says of a program behind the kernel `add`."""
    lines = [*KERNEL.splitlines(), *text.splitlines()]
    file = folder / "program.py"
    file.write_text("\n".join(lines) + "\n")
    return [
        (found["severity"], lines[found["range"]["start"]["line"]], found["message"])
        for found in checked(folder, file)
    ]


def test_tutorials_have_no_errors_of_types(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    if not list((ROOT / "tutorials").glob("0*.py")):
        pytest.skip("no tutorials here")
    files = [*(ROOT / "tutorials").glob("*.py"), *(ROOT / "tutorials/cpp").glob("*.py")]
    missing = {"reportMissingImports", "reportMissingModuleSource"}  # jax may not be installed
    found = [f for f in checked(tmp_path, *files) if f.get("rule") not in missing]
    assert not [(f["file"], f["range"]["start"]["line"] + 1, f["message"]) for f in found]


def test_launches_that_bind_have_no_errors(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    right = """
add[(1,)](t, t, t, 64, BLOCK=64)
add[(1,)](t, t, t, 64, 64, True)
add[(1, 1)](t, t, out=t, n=64, BLOCK=SIZE, EVEN=True)
add[lambda given: (tw.cdiv(given["n"], given["BLOCK"]),)](t, t, t, 64, BLOCK=64)
add[(1,)](t, t, t, 64, BLOCK=64, num_warps=8)
add[(1,)](t, t, t, 64, BLOCK=64, num_stages=2, enable_fp_fusion=False)
add[(1,)](t, t, t, 64, BLOCK=64, stream=None, debug=True)
"""
    assert not of_text(tmp_path, right)


def test_missing_and_surplus_arguments_are_two_errors(tmp_path: Path) -> None:
    pytest.importorskip("torch")
    missing, surplus = "add[(1,)](t, t, 64, BLOCK=64)", "add[(1,)](t, t, t, 64, 64, True, 3)"
    found = of_text(tmp_path, f"add[(1,)](t, t, t, 64, BLOCK=64)\n{missing}\n{surplus}")
    assert [(kind, line) for kind, line, _ in found] == [("error", missing), ("error", surplus)]


def test_results_of_operators_on_tiles_are_tiles(tmp_path: Path) -> None:
    expressions = [
        "a + b", "1 - a", "a[:, None]", "a == b", "a < 3", "-a", "a.to(tw.float32)", "a.sum(axis=0)",
        "tw.exp(a)", "tw.load(a).reshape(4, 2)", "a.cast(tw.int8)",
    ]  # fmt: skip
    revealed = "\n".join(f"    reveal_type({text})" for text in expressions)
    said = of_text(tmp_path, f"@tw.jit\ndef body(a: tw.tensor, b: tw.tensor):\n{revealed}")
    assert [message.split(" is ")[-1] for *_, message in said] == ['"tensor"'] * len(expressions)


def test_axes_that_are_no_integers_are_errors(tmp_path: Path) -> None:
    right = "a.sum(axis=0); tw.max(a); tw.argmin(a, -1); tw.sort(a, dim=AXIS); tw.cumsum(a, 1); a.sum(None)"
    wrong = ['tw.sum(a, axis="rows")', "tw.argmax(a, None)", "tw.cumsum(a, axis=1.5)", 'tw.flip(a, "x")']
    body = "\n".join(f"    {text}" for text in [*right.split("; "), *wrong])
    found = of_text(tmp_path, f"@tw.jit\ndef body(a: tw.tensor, AXIS: tw.constexpr):\n{body}")
    found = [entry for entry in found if "not accessed" not in entry[2] and "not used" not in entry[2]]
    assert [(kind, line.strip()) for kind, line, _ in found] == [("error", text) for text in wrong]
