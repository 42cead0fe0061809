"""A package of operators of torch with results, backward passes and strides, for the tests of them."""

from __future__ import annotations

import tilewright as tw


@tw.jit
def scaled(x, out, n, factor: tw.float32, BLOCK: tw.constexpr = 64):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + at, factor * tw.load(x + at, mask=at < n), mask=at < n)


@tw.jit
def scaled_backward(grad_out, grad_x, n, factor: tw.float32, BLOCK: tw.constexpr = 64):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(grad_x + at, factor * tw.load(grad_out + at, mask=at < n), mask=at < n)


@tw.jit
def exp(x, y, n, BLOCK: tw.constexpr = 64):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(y + at, tw.exp(tw.load(x + at, mask=at < n)), mask=at < n)


@tw.jit
def exp_backward(y, grad_y, grad_x, n, BLOCK: tw.constexpr = 64):
    """The derivative of exp, by what it returned."""
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(grad_x + at, tw.load(y + at, mask=at < n) * tw.load(grad_y + at, mask=at < n), mask=at < n)


@tw.jit
def row_ends(x, first, last, M, N, stride_m, stride_n, BLOCK: tw.constexpr = 64):
    """The first and the last element of each row."""
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(first + at, tw.load(x + at * stride_m, mask=at < M), mask=at < M)
    tw.store(last + at, tw.load(x + at * stride_m + (N - 1) * stride_n, mask=at < M), mask=at < M)


@tw.jit
def add_columns(x, out, M, N, stride_m, BLOCK: tw.constexpr = 64):
    """out[m] = x[m, 0] + x[m, 1]."""
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    both = tw.load(x + at * stride_m, mask=at < M) + tw.load(x + at * stride_m + 1, mask=at < M)
    tw.store(out + at, both, mask=at < M)


@tw.jit
def increment(x, n, BLOCK: tw.constexpr = 64):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(x + at, tw.load(x + at, mask=at < n) + 1, mask=at < n)


@tw.jit
def add_rows(x, y, out, n, BLOCK: tw.constexpr = 64):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + at, tw.load(x + at, mask=at < n) + tw.load(y + at, mask=at < n), mask=at < n)


@tw.jit
def add_batch(x, y, out, n, batch, BLOCK: tw.constexpr = 64):
    """add_rows of a batch; a thousand more, so that tests see which kernel ran."""
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    mask = at < n * batch
    tw.store(out + at, tw.load(x + at, mask=mask) + tw.load(y + at, mask=mask) + 1000, mask=mask)


def package() -> tw.Package:
    """Every kernel as an operator."""
    made = tw.Package("operator_kernels")
    flat, rows = "cdiv(n, BLOCK)", "cdiv(M, BLOCK)"
    made.add(scaled, "*fp32, *fp32, i32", grid=flat)
    made.add(scaled_backward, "*fp32, *fp32, i32", grid=flat)
    made.add(exp, "*fp32, *fp32, i32", grid=flat, name="exponential")
    made.add(exp_backward, "*fp32, *fp32, *fp32, i32", grid=flat)
    made.add(row_ends, "*fp32, *fp32, *fp32, i32, i32, i32, i32", grid=rows)
    made.add(add_columns, "*fp32, *fp32, i32, i32, i32", grid=rows)
    made.add(increment, "*fp32, i32", grid=flat)
    made.add(add_rows, "*fp32, *fp32, *fp32, i32", grid=flat)
    made.add(add_batch, "*fp32, *fp32, *fp32, i32, i32", grid="cdiv(n * batch, BLOCK)")
    made.as_operator("add_rows", outputs={"out": "x"}, vmap="add_batch")
    made.as_operator("add_batch", outputs={"out": "x"})
    made.as_operator("scaled", outputs={"out": "x"}, backward="scaled_backward")
    made.as_operator("scaled_backward", outputs={"grad_x": "grad_out"})
    made.as_operator("exponential", outputs={"y": "x"}, backward="exp_backward")
    made.as_operator("exp_backward", outputs={"grad_x": "y"})
    made.as_operator(
        "row_ends", outputs={"first": "M", "last": "cdiv(2 * M, 2)"}, strides={"x": "stride_m, stride_n"}
    )
    return made.as_operator("add_columns", outputs={"out": "M"}, strides={"x": ("stride_m", 1)})
