"""Loads that a pipelined loop cannot copy ahead are named at their line, with the reason."""

from __future__ import annotations

from typing import Any

import pytest

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")

SIGNATURE = {"x": "*fp16:16", "table": "*i32:16", "out": "*fp32:16", "n": "i32:16"}


@tw.jit
def product(x, table, out, n, LOAD: tw.constexpr, B: tw.constexpr):
    i = tw.arange(0, B)
    acc = tw.zeros((B, B), tw.float32)
    for start in range(0, n, B):
        a = LOAD(x, table, n, start, i)
        acc = tw.dot(a, a, acc)
    tw.store(out + i[:, None] * B + i[None, :], acc)


@tw.jit
def other_than_zero(x, table, n, start, i):
    return tw.load(x + i[:, None] * n + (start + i)[None, :], mask=i[:, None] < n, other=1.0)


@tw.jit
def written_by_the_loop(x, table, n, start, i):
    a = tw.load(x + i[:, None] * n + (start + i)[None, :])
    tw.store(x + i[:, None] * n + (start + i)[None, :], a * a)
    return a


@tw.jit
def apart_in_memory(x, table, n, start, i):
    return tw.load(x + i[:, None] * n + (start + i)[None, :] * 3)


@tw.jit
def address_from_a_sum(x, table, n, start, i):
    row = tw.sum(tw.load(table + start + i), 0)
    return tw.load(x + (row + i)[:, None] * n + (start + i)[None, :])


@tw.jit
def address_from_a_branch(x, table, n, start, i):
    row = start
    if start > 64:
        row = tw.load(table + start)
    return tw.load(x + (row + i)[:, None] * n + i[None, :])


@tw.jit
def volatile(x, table, n, start, i):
    return tw.load(x + i[:, None] * n + (start + i)[None, :], volatile=True)


@tw.jit
def address_with_an_effect(x, table, n, start, i):
    ticket = tw.atomic_add(table, 1, sem="relaxed")
    return tw.load(x + (ticket + i)[:, None] * n + i[None, :])


@tw.jit
def copied(x, table, n, start, i):
    row = tw.load(table + start)
    return tw.load(x + (row + i)[:, None] * n + i[None, :])


REASONS = [
    (other_than_zero, "its `other` is not"),
    (written_by_the_loop, "may write what is read"),
    (apart_in_memory, "no 4 bytes are known to be consecutive"),
    (address_from_a_sum, "crosses between warps"),
    (address_from_a_branch, "the result of a branch"),
    (volatile, "volatile"),
    (address_with_an_effect, "other effects"),
]


def remark_of(load: Any, num_stages: int) -> Any:
    constants = {"LOAD": load, "B": 32}
    compiled = product.compile(SIGNATURE, constants, device="nvidia:sm_80", num_stages=num_stages)
    (remark,) = (r for r in compiled.remarks if r["code"] == "TW0356")
    return remark


@pytest.mark.parametrize(("load", "reason"), REASONS, ids=lambda each: getattr(each, "__name__", ""))
def test_reasons(load: Any, reason: str) -> None:
    remark = remark_of(load, 3)
    assert reason in remark["message"]
    assert "tw.load(x + " in remark["rendered"]


def test_a_pipelined_loop_says_how_far_ahead() -> None:
    remark = remark_of(copied, 4)
    assert "pipelined: the copies of 1 load run 3 iterations ahead" in remark["message"]
    assert "for start in range(0, n, B):" in remark["rendered"]


@tw.jit
def bounded_by_the_program(x, table, out, n, B: tw.constexpr):
    """No tensor map ends where a program does: only the iterations without masks are boxes."""
    i = tw.arange(0, B)
    end = tw.minimum((tw.program_id(0) + 1) * B * 3 - 7, n)
    acc = tw.zeros((B, B), tw.float32)
    for start in range(0, end, B):
        k = start + i
        a = tw.load(x + i[:, None] * n + k[None, :], mask=k[None, :] < end, other=0.0)
        b = tw.load(x + k[:, None] * n + i[None, :], mask=k[:, None] < end, other=0.0)
        acc = tw.dot(a, b, acc)
    tw.store(out + i[:, None] * B + i[None, :], acc)


@tw.jit
def bounded_twice(x, table, out, n, B: tw.constexpr):
    """Threads cannot copy the iterations with masks ahead either: their masks change at each element."""
    i = tw.arange(0, B)
    end = tw.minimum((tw.program_id(0) + 1) * B * 3 - 7, n)
    acc = tw.zeros((B, B), tw.float32)
    for start in range(0, end, B):
        k = start + i
        a = tw.load(x + i[:, None] * n + k[None, :], mask=k[None, :] < end, other=0.0)
        acc = tw.dot(a, a, acc)
    tw.store(out + i[:, None] * B + i[None, :], acc)


@pytest.mark.parametrize("kernel", [bounded_by_the_program, bounded_twice], ids=lambda each: each.__name__)
def test_iterations_with_masks_say_why_no_loader_copies_for_them(kernel: Any) -> None:
    options = {"device": "nvidia:sm_90a", "num_stages": 3}
    compiled = kernel.compile(SIGNATURE, {"B": 64}, **options)
    (remark,) = (r for r in compiled.remarks if r["code"] == "TW0369")
    assert "in the iterations that compute masks, threads load" in remark["message"]
    assert "for start in range(0, end, B):" in remark["rendered"]
    assert "mask" in remark["message"].split(":")[1]
