"""Kernels that the packages for JAX and ONNX Runtime are made of."""

from __future__ import annotations

from typing import Any

import tilewright as tw


@tw.jit
def scaled(x, out, n, factor: tw.float32, BLOCK: tw.constexpr = 64):
    """x times a "number"."""
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + at, factor * tw.load(x + at, mask=at < n), mask=at < n)


@tw.jit
def scaled_backward(grad_out, grad_x, n, factor: tw.float32, BLOCK: tw.constexpr = 64):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(grad_x + at, factor * tw.load(grad_out + at, mask=at < n), mask=at < n)


@tw.jit
def row_ends(x, first, last, M, N, stride_m, stride_n, BLOCK: tw.constexpr = 64):
    """The first and the last element of each row."""
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(first + at, tw.load(x + at * stride_m, mask=at < M), mask=at < M)
    tw.store(last + at, tw.load(x + at * stride_m + (N - 1) * stride_n, mask=at < M), mask=at < M)


@tw.jit
def selected(x, flags, y, out, n, shift: tw.float64, negates: tw.int1, BLOCK: tw.constexpr = 64):
    """Arrays and numbers of every kind."""
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    mask = at < n
    value = tw.where(tw.load(flags + at, mask) != 0, tw.load(x + at, mask), tw.load(y + at, mask))
    value = value.to(tw.float64) + shift
    tw.store(out + at, tw.where(negates, -value, value).to(tw.int64), mask)


@tw.jit
def checked(x, out, n, BLOCK: tw.constexpr = 64):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + at, mask=at < n)
    tw.store(out + at, value, mask=at < n)


@tw.jit
def increment(x, n, BLOCK: tw.constexpr = 64):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(x + at, tw.load(x + at, mask=at < n) + 1, mask=at < n)


def package(name: str, wide: bool = True) -> tw.Package:
    """Every kernel as an operator; `wide`: with results of 64 bits."""
    made, flat = tw.Package(name), "cdiv(n, BLOCK)"
    made.add(scaled, "*fp32, *fp32, i32", grid=flat)
    made.add(scaled_backward, "*fp32, *fp32, i32", grid=flat)
    made.add(row_ends, "*fp32, *fp32, *fp32, i32, i32, i32, i32", grid="cdiv(M, BLOCK)")
    made.add(checked, "*bf16:16, *bf16:16, u32", {"BLOCK": 32}, grid="cdiv(n, BLOCK)")
    made.as_operator("scaled", outputs={"out": "x"}, backward="scaled_backward")
    made.as_operator("scaled_backward", outputs={"grad_x": "grad_out"})
    made.as_operator("checked", outputs={"out": "n"})
    made.as_operator(
        "row_ends", outputs={"first": "M", "last": "cdiv(2 * M, 2)"}, strides={"x": "stride_m, stride_n"}
    )
    if wide:
        made.add(selected, "*i32, *i1, *i32, *i64, i64", grid=flat)
        made.as_operator("selected", outputs={"out": "n"})
    return made


def refused() -> list[tuple[Any, str]]:
    """Packages of which no operators can be made, and the words that say why."""

    def one(kernel: Any, signature: str, outputs: Any, grid: Any = "cdiv(n, BLOCK)", **rules: Any) -> Any:
        made = tw.Package("refused_kernels").add(kernel, signature, grid=grid)
        return made.as_operator(kernel.fn.__name__, outputs=outputs, **rules)

    three = "*fp32, *fp32, i32"
    rows = "*fp32, *fp32, *fp32, i32, i32, i32, i32"
    ends = {"first": "M", "last": "M"}
    return [
        (one(increment, "*fp32, i32", {}), "stores to `x`, and arrays of the framework do not change"),
        (one(scaled, three, {}), "stores to `out`"),
        (one(scaled, three, {"x": "n"}), "returns `x`, which the kernel does not store to"),
        (one(scaled, three, {"out": "m + 1"}), "no integer parameter `m`"),
        (one(row_ends, rows, ends, "M", strides={"x": "1, stride_m"}), "a stride of 1, and arrays"),
        (one(scaled, "*fp8e4b15, *fp32, i32", {"out": "x"}), "which arrays of the framework do not have"),
    ]
