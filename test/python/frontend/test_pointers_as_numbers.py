"""An array argument is an address, that of a 0-d tensor too: nothing takes it for a number. As a condition
it is whether it is null."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
import torch

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


@tw.jit
def loaded_or_zero(p, i):
    if not p:
        return tw.zeros((4,), tw.float32)
    return tw.load(p + i)


@tw.jit
def optional(out, p, q):
    i = tw.arange(0, 4)
    total = loaded_or_zero(p, i)
    if p and q:
        total += 10 * tw.load(q + i)
    total += 100 if p or q else 200
    count = 0
    while p and count < 3:
        total += tw.load(p + i)
        count += 1
    if bool(q) and p is None and q is not None:
        total += 1000
    tw.store(out + i, total)


def expected_of(p: Any, q: Any) -> Any:
    total = 4 * p if p is not None else np.zeros(4)
    total = total + (10 * q if p is not None and q is not None else 0)
    total = total + (200 if p is None and q is None else 100)
    return total + (1000 if p is None and q is not None else 0)


def test_a_pointer_is_true_where_an_array_is_given(device: str) -> None:
    p, q = np.arange(4, dtype=np.float32), np.full(4, 3, np.float32)
    for first in (None, p):
        for second in (None, q):
            out = np.full(4, np.nan, np.float32)
            optional[(1,)](out, first, second)
            np.testing.assert_array_equal(out, expected_of(first, second))


def test_a_null_pointer_is_false(compiler: None) -> None:
    """A tensor without elements has no memory, a pointer that is read may be null."""

    @tw.jit
    def kernel(out, addresses, empty):
        pointer = tw.load(addresses + tw.program_id(0)).to(tw.pointer_type(tw.int32))
        if empty:
            tw.store(out + tw.program_id(0), -1)
        elif pointer:
            tw.store(out + tw.program_id(0), tw.load(pointer))

    value = np.full(1, 42, np.int32)
    addresses = np.array([0, value.ctypes.data, 0], np.int64)
    out = np.zeros(3, np.int32)
    with tw.device("cpu"):
        kernel[(3,)](out, addresses, torch.empty(0))
    assert out.tolist() == [0, 42, 0]


ZERO_DIM = [
    np.array(5, np.int32), torch.tensor(5.0), torch.ones(3)[1], ctypes.c_int(5),
    tw.reinterpret(np.array(5, np.int32), tw.float32),
]  # fmt: skip


@pytest.mark.parametrize("flag", ZERO_DIM, ids=["numpy", "torch", "view", "ctypes", "reinterpreted"])
def test_a_0d_array_has_no_truth_value_also_after_other_arrays(flag: Any, compiler: None) -> None:
    @tw.jit
    def kernel(x, flag, ASKS: tw.constexpr):
        if ASKS and flag:
            tw.store(x, 1.0)
        tw.store(x + 1, tw.load(flag).to(tw.float32))

    x = np.zeros(2, np.float32)
    for given in (np.full(1, 5, np.int32), np.full(1, 5, np.float32), torch.ones(1)):
        launched = kernel[(1,)](x, given, True)
        assert x[0] == 1 and launched is not None and ":0d" not in launched.request.describe()
    for _ in range(2):
        with pytest.raises(tw.CompileError, match="may be meant as a number") as caught:
            kernel[(1,)](x, flag, True)
        assert caught.value.code == "TW0222"
    launched = kernel[(1,)](x, flag, False)
    assert launched is not None and "0d" in launched.request.describe()
    signature = {"x": "*fp32:16", "flag": "*fp32:0d"}
    with pytest.raises(tw.CompileError, match="may be meant as a number"):
        kernel.compile(signature, {"ASKS": True})
    assert kernel.compile({**signature, "flag": "*fp32"}, {"ASKS": True})


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
