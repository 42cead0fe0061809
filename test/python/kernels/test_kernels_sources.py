"""Kernels whose source is not a file: strings for `exec` and notebook cells."""

from __future__ import annotations

import linecache
import textwrap

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
