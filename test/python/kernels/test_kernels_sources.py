"""Kernels whose source is not a file: strings for `exec`, notebook cells, commands, the prompt."""

from __future__ import annotations

import contextlib
import linecache
import os
import pty
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw

MODULE = """
import tilewright as tw

def plain(v):
    return v + 1

@tw.jit
def helper(v):
    return plain(v) * 2

@tw.jit
def kernel(out):
    tw.store(out, helper(VALUE))
"""


def result_of(kernel) -> float:
    out = np.zeros(1)
    kernel[(1,)](out)
    return float(out[0])


def test_a_module_made_by_exec(compiler: None) -> None:
    for value in (1.5, 2.5):
        scope: dict = {"VALUE": value}
        exec(MODULE, scope)
        assert result_of(scope["kernel"]) == (value + 1) * 2
    for value in (3, 4):
        text = MODULE.replace("VALUE", str(value))
        scope = {}
        exec(text, scope)
        assert result_of(scope["kernel"]) == (value + 1) * 2


def test_constant_strings_and_their_dedented_form(compiler: None) -> None:
    scope = {"tw": tw}
    exec("@tw.jit\ndef kernel(out):\n    tw.store(out, 7)\n", scope)
    assert result_of(scope["kernel"]) == 7
    exec(
        textwrap.dedent("""
            @tw.jit
            def kernel(out):
                tw.store(out, 8)
        """),
        scope,
    )
    assert result_of(scope["kernel"]) == 8


def test_errors_in_a_string_show_its_line(compiler: None) -> None:
    scope = {"tw": tw}
    exec("@tw.jit\ndef kernel(out):\n    tw.store(out, missing)\n", scope)
    with pytest.raises(tw.CompileError) as caught:
        result_of(scope["kernel"])
    assert "<exec " in str(caught.value) and ":3:19" in str(caught.value)
    assert "tw.store(out, missing)\n" in str(caught.value)


def test_a_similar_string_is_not_taken_for_the_source(compiler: None) -> None:
    decoy = "@tw.jit\ndef kernel(out):\n    tw.store(out, 1)\n"
    scope = {"tw": tw}
    exec(decoy.replace("1)", "".join(["2", ")"])), scope)
    with pytest.raises(tw.CompileError, match="is not available"):
        result_of(scope["kernel"])


def run_cell(number: int, text: str, scope: dict) -> None:
    """What a notebook does with a cell."""
    name = f"<ipython-input-{number}-0123456789ab>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    exec(compile(text, name, "exec"), scope)


def test_cells_are_run_again_with_other_definitions(compiler: None) -> None:
    scope: dict = {"tw": tw, "result_of": result_of}
    run_cell(1, "SCALE = 3\n@tw.jit\ndef helper(v):\n    return v * SCALE\n", scope)
    run_cell(2, "@tw.jit\ndef kernel(out):\n    tw.store(out, helper(2))\n", scope)
    assert result_of(scope["kernel"]) == 6
    run_cell(3, "SCALE = 5\n", scope)
    assert result_of(scope["kernel"]) == 10
    run_cell(4, "@tw.jit\ndef helper(v):\n    return v - SCALE\n", scope)
    assert result_of(scope["kernel"]) == -3
    run_cell(2, "@tw.jit\ndef kernel(out):\n    tw.store(out, helper(20))\n", scope)
    assert result_of(scope["kernel"]) == 15


PROGRAM = """import numpy as np, tilewright as tw
@tw.jit
def helper(v):
    return v + 1

@tw.jit
def kernel(x, B: tw.constexpr):
    i = tw.arange(0, B)
    tw.store(x + i, helper(tw.load(x + i)))

x = np.zeros(4)
_ = kernel[(1,)](x, B=4)
print("sum", x.sum())
"""


def run_python(*arguments: str, **options: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def test_the_text_of_a_command(compiler: None) -> None:
    result = run_python("-c", PROGRAM)
    assert result.stdout == "sum 4.0\n", result.stderr


def test_a_file_that_stdin_reads(compiler: None, tmp_path: Path) -> None:
    (tmp_path / "program").write_text(PROGRAM)
    with (tmp_path / "program").open() as program:
        result = run_python("-", stdin=program)
    assert result.stdout == "sum 4.0\n", result.stderr


def test_a_pipe_is_used_up(compiler: None) -> None:
    result = run_python("-", input=PROGRAM)
    assert "TW0412" in result.stderr and "Write it to a file" in result.stderr


def test_what_is_typed_at_the_prompt(compiler: None, tmp_path: Path) -> None:
    """A terminal of our own: Python's prompt keeps what is typed there only."""
    pytest.importorskip("readline")
    environment = {**os.environ, "HOME": str(tmp_path), "TERM": "dumb", "PYTHON_BASIC_REPL": "1"}
    ours, theirs = pty.openpty()
    command = [sys.executable, "-q"]
    with subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment) as python:
        os.close(theirs)
        # A statement ends with an empty line. The same name is defined once more, otherwise.
        typed = PROGRAM.replace("tw.load(x + i))", "tw.load(x + i)) * 2")
        os.write(ours, (PROGRAM + typed.partition("\n")[2] + "exit()\n").encode())
        shown = b""
        with contextlib.suppress(OSError):  # the other end is closed
            while part := os.read(ours, 4096):
                shown += part
    os.close(ours)
    assert python.returncode == 0 and b"sum 4.0" in shown and b"sum 8.0" in shown, shown.decode()
