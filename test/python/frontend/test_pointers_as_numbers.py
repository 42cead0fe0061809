"""An array argument is an address, that of a 0-d tensor too: nothing takes it for a number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw

N = np.array(5, np.int32)  # what is a number on the host and an address in a kernel

COMPARED = [
    "i < n", "n < i", "n == 5", "n != 0", "i >= n", "0 < n < 9", "n == 1.5", "(i, n) == (0, 5)",
    "n in (1, 5)", "i in (1, n)", "n == x", "n and i", "i or n", "not n", "bool(n)", "int(n)",
    "float(n)", "any((i, n))", "1 if n else 2", "tw.where(n, 1, 2)",
    "tw.full((8,), n, tw.int64)",
]  # fmt: skip
OTHERS = {
    "n * 2": "TW0202", "n / 2": "TW0202", "n // 2": "TW0202", "n % 2": "TW0202", "n ** 2": "TW0202",
    "n + 1.5": "TW0202", "n + n": "TW0202", "n - n": "TW0202", "-n": "TW0202", "~n": "TW0202",
    "n << 1": "TW0202", "n & 1": "TW0202", "abs(n)": "TW0202", "max(n, 3)": "TW0202",
    "tw.cdiv(n, 4)": "TW0201", "tw.exp(n)": "TW0202", "tw.sum(n)": "TW0103",
    "n.to(tw.int32)": "TW0206", "n.to(tw.float32)": "TW0206", "tw.arange(0, n)": "TW0104",
    "tw.zeros((n,), tw.int32)": "TW0104", "x.dtype.primitive_bitwidth + n": None,
}  # fmt: skip
STATEMENTS = {
    "if n: pass": "TW0222", "while n: pass": "TW0222", "assert n": "TW0222",
    "tw.device_assert(n)": "TW0222", "tw.assume(n)": "TW0222",
    "for j in range(n): pass": "TW0103", "for j in range(0, 8, n): pass": "TW0103",
    "while i < n: i += 1": "TW0222", "tw.store(x, 1, mask=n)": "TW0212", "tw.store(x, n)": "TW0206",
    "tw.load(x, mask=n)": "TW0212", "tw.atomic_add(x, n)": "TW0206", "n += 1.5": "TW0202",
}  # fmt: skip


def compiled(line: str) -> Any:
    text = f"def kernel(x, n):\n    i = tw.program_id(0)\n    {line}\n"
    scope: dict[str, Any] = {"tw": tw}
    exec(text, scope)
    x = np.full(8, -1.0, np.float32)
    tw.jit(scope["kernel"])[(1,)](x, N)
    return x


def code_of(line: str) -> tuple[str, str]:
    with pytest.raises(tw.CompileError) as caught:
        compiled(line)
    assert f"{line}\n" in caught.value.rendered
    return caught.value.code, caught.value.rendered


@pytest.mark.parametrize("expression", COMPARED)
def test_a_pointer_is_not_compared_with_a_number(expression: str) -> None:
    code, rendered = code_of(f"value = {expression}")
    assert code == "TW0222"
    assert "x.item()" in rendered and "tw.load" in rendered


@pytest.mark.parametrize("expression", [e for e in OTHERS if OTHERS[e]])
def test_arithmetic_takes_no_pointer(expression: str) -> None:
    assert code_of(f"value = {expression}")[0] == OTHERS[expression]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_a_statement_takes_no_pointer_for_a_number(statement: str) -> None:
    assert code_of(statement)[0] == STATEMENTS[statement]


def test_pointers_of_one_type_and_none_are_compared() -> None:
    def kernel(x, y, z):
        tw.store(x, x == x + 1 - 1)
        tw.store(x + 1, x == y)
        tw.store(x + 2, x + 1 > x)
        tw.store(x + 3, (x is not None) and (z is None) and x != None)  # noqa: E711
        tw.store(x + 4, x.to(tw.int64) != 0)

    x = np.full(5, -1.0, np.float32)
    tw.jit(kernel)[(1,)](x, np.zeros(1, np.float32), None)
    assert x.tolist() == [1, 0, 1, 1, 1]
