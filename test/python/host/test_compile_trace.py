"""The time of a compilation as spans for trace viewers: they nest, add up, and survive odd names."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tilewright.tools.cli import main

KERNEL = """
import tilewright as tw

@tw.jit
def rows(out, x, n, BLOCK: tw.constexpr):
    at = tw.arange(0, BLOCK)
    v = tw.load(x + tw.program_id(0) * n + at, mask=at < n, other=0.0)
    tw.store(out + at, tw.exp(v - tw.max(v, axis=0)), mask=at < n)
"""
SPAN = ("dur", "name", "ph", "pid", "tid", "ts")


def traced(folder: Path, target: str, stem: str = "kernels") -> list[dict[str, Any]]:
    file = folder / f"{stem}.py"
    file.write_text(KERNEL)
    trace = folder / "trace.json"
    command = ["compile", f"{file}:rows", "--signature", "*fp32:16, *fp32:16, i32", "--target", target]
    command += ["--constexpr", "BLOCK=64", "--trace", str(trace), "-o", str(folder / "code")]
    assert main(command) == 0
    assert (folder / "code").stat().st_size > 0
    return json.loads(trace.read_text())["traceEvents"]


@pytest.mark.parametrize("target", ["cpu", "nvidia:sm_80", "amd:gfx942"])
def test_spans_nest_and_add_up(compiler: None, tmp_path: Path, target: str) -> None:
    for _ in range(2):  # the second time it is in the cache
        events = traced(tmp_path, target)
        kernel, *inner = events
        assert all(set(SPAN) <= set(event) and event["ph"] == "X" for event in events)
        assert all(event["dur"] >= 0 for event in events)
        steps = [event for event in inner if event["cat"] == "step"]
        assert [step["name"] for step in steps][:3] == ["frontend", "passes", "llvm"]
        assert sum(step["dur"] for step in steps) == pytest.approx(kernel["dur"], abs=0.1)
        for step in steps:
            parts = [e for e in inner if e["cat"] == f"part of {step['name']}"]
            end = step["ts"]
            for part in parts:  # one after the other, within the step
                assert part["ts"] >= end - 0.01
                end = part["ts"] + part["dur"]
            assert end <= step["ts"] + step["dur"] + 0.1
        passes = [e["name"] for e in inner if e["cat"] == "part of passes"]
        assert passes[0].startswith("000 ") and len(passes) > 10 and passes == sorted(passes)
        parts = [e["name"] for e in inner if e["cat"] == "part of llvm"]
        assert parts == ["translate", "optimize", "codegen"]


def test_a_dump_of_a_launch_has_its_trace(compiler: None, tmp_path: Path) -> None:
    name = 'odd "name"\n<script>.py'
    launch = "import numpy as np\nrows[(1,)](np.ones(64, np.float32), np.ones(64, np.float32), 64, BLOCK=64)"
    (tmp_path / name).write_text(f"{KERNEL}\n{launch}\n")
    settings = {**os.environ, "TILEWRIGHT_DUMP": str(tmp_path / "dump"), "TILEWRIGHT_DEVICE": "cpu"}
    subprocess.run([sys.executable, str(tmp_path / name)], env=settings, check=True)
    [trace] = (tmp_path / "dump").glob("rows-*.trace.json")
    kernel, *inner = json.loads(trace.read_text())["traceEvents"]
    assert kernel["name"] == "rows for cpu" and "BLOCK=64" in kernel["args"]["request"]
    assert any(event["cat"] == "part of passes" for event in inner)


def test_constants_with_quotes_and_controls_are_escaped(compiler: None, tmp_path: Path) -> None:
    text = 'WORD = \'"}]\\n\\x1b</script>\''
    (tmp_path / "k.py").write_text(
        "import tilewright as tw\n@tw.jit\ndef k(x, WORD: tw.constexpr):\n    tw.store(x, len(WORD))\n"
    )
    file = tmp_path / "t.json"
    command = ["compile", f"{tmp_path / 'k.py'}:k", "--signature", "*i32", "--constexpr", text]
    assert main([*command, "--trace", str(file), "-o", str(tmp_path / "code")]) == 0
    content = file.read_text()
    assert content.isascii() and not any(ord(sign) < 32 and sign != "\n" for sign in content)
    assert "</script>" in json.loads(content)["traceEvents"][0]["args"]["request"]
