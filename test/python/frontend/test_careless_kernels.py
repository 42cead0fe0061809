"""Kernels as careless people write them: each works, or is an error with a code at its line.

`careless_kernels.txt` holds the kernels. Above each stands its name and what becomes of it: the
first number that it stores, or the code and the line (counted from the first one below the name).
GOLDEN=accept in the environment rewrites what becomes of them: read what changed.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import CompileError, UnsupportedError

TABLE = Path(__file__).with_name("careless_kernels.txt")
N = 5


def read_table() -> dict[str, tuple[str, str]]:
    """Of each kernel what becomes of it, and its text."""
    parts = re.split(r"^## (\w+): (.*)\n", TABLE.read_text(), flags=re.M)[1:]
    return {name: (end, text) for name, end, text in zip(parts[::3], parts[1::3], parts[2::3])}


KERNELS = read_table()


def outcome_of(name: str) -> str:
    """What becomes of a kernel, in the words of the table."""
    text = KERNELS[name][1]
    scope: dict[str, Any] = {"tw": tw}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own, of `is` with a number
        exec(text, scope)
    x, out = np.ones(64, np.float32), np.full(64, -9.0, np.float32)
    try:
        scope["kernel"][(1,)](x, out, N)
    except (CompileError, UnsupportedError) as error:
        place = re.search(r"--> <exec \w+>:(\d+)", error.rendered)
        assert re.fullmatch(r"TW\d{4}", error.code) and error.hint, error.rendered
        assert place, f"not in the kernel's own text: {error.rendered}"
        return f"{error.code} at {place.group(1)}"
    return f"{out[0]:g}"


@pytest.mark.parametrize("name", KERNELS)
def test_a_careless_kernel_works_or_is_refused_at_its_line(name: str) -> None:
    found, (expected, text) = outcome_of(name), KERNELS[name]
    if os.environ.get("GOLDEN") == "accept":
        KERNELS[name] = (found, text)
        TABLE.write_text("".join(f"## {n}: {e}\n{t}" for n, (e, t) in KERNELS.items()))
        return
    assert found == expected, text


def test_most_careless_kernels_are_refused() -> None:
    refused = [name for name, (end, _) in KERNELS.items() if end.startswith("TW")]
    assert len(refused) >= 100
