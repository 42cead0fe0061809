"""Functions written in the language itself; kernels inline them like jit functions.

Bodies are kernel code: `if` on compile-time values folds, and tiles have the frontend's methods.
"""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from typing import Any

from ..language.dtypes import dtype, float32, int32, int64, tensor, uint32
from ..language.elementwise import exp
from ..language.marks import library_function, library_method
from ..language.static import Axis, OptionalAxis, constexpr
from ..language.machine import checks_overflow
from ..language.memory import _or
from ..language.tile import (
    PropagateNan,
    Shape,
    Value,
    arange,
    associative_scan,
    broadcast_to,
    count_values,
    device_assert,
    expand_dims,
    fdiv,
    full,
    gather,
    join,
    maximum,
    minimum,
    reduce,
    reshape,
    static_assert,
    static_range,
    where,
)

# Making tiles.


@library_function
def zeros(shape: Shape, dtype: dtype) -> tensor:
    """A tile of the given compile-time shape filled with 0 of `dtype`."""
    return full(shape, 0, dtype)


@library_function
def zeros_like(input: tensor) -> tensor:
    """Zeros of the shape and dtype of `input`."""
    return full(input.shape, 0, input.dtype)


# Reductions.


@library_function
def _add(a, b):
    return a + b


@library_function
def _multiply(a, b):
    return a * b


@library_function
def _exclusive_or(a, b):
    return a ^ b


@library_function
def _larger(a, b):
    return maximum(a, b)


@library_function
def _smaller(a, b):
    return minimum(a, b)


@library_function
def _larger_or_nan(a, b):
    return maximum(a, b, propagate_nan=PropagateNan.ALL)


@library_function
def _smaller_or_nan(a, b):
    return minimum(a, b, propagate_nan=PropagateNan.ALL)


@library_function
def _larger_at(a, i, b, j, ties_go_left: constexpr):
    """The larger value and its index; a NaN loses against every number."""
    wins = a > b
    if a.dtype.is_floating():
        wins = wins | ((b != b) & (a == a))
    if ties_go_left:
        ties = a == b
        if a.dtype.is_floating():
            ties = ties | ((a != a) & (b != b))
        wins = wins | (ties & (i < j))
    return where(wins, a, b), where(wins, i, j)


@library_function
def _smaller_at(a, i, b, j, ties_go_left: constexpr):
    """The smaller value and its index; a NaN loses against every number."""
    wins = a < b
    if a.dtype.is_floating():
        wins = wins | ((b != b) & (a == a))
    if ties_go_left:
        ties = a == b
        if a.dtype.is_floating():
            ties = ties | ((a != a) & (b != b))
        wins = wins | (ties & (i < j))
    return where(wins, a, b), where(wins, i, j)


@library_function
def _larger_at_left(a, i, b, j):
    return _larger_at(a, i, b, j, True)


@library_function
def _larger_at_any(a, i, b, j):
    return _larger_at(a, i, b, j, False)


@library_function
def _smaller_at_left(a, i, b, j):
    return _smaller_at(a, i, b, j, True)


@library_function
def _smaller_at_any(a, i, b, j):
    return _smaller_at(a, i, b, j, False)


@library_function
def _widen_for_sum(input, dtype: constexpr):
    """The operand of a sum: in `dtype`, else small ints in 32 bits and small floats in float32."""
    if dtype is not None:
        return input.to(dtype)
    if input.dtype.primitive_bitwidth >= 32:
        return input
    if input.dtype.is_floating():
        return input.to(float32)
    if input.dtype.is_int_signed():
        return input.to(int32)
    return input.to(uint32)


@library_function
def _widen_for_order(input):
    """The operand of max or min: no value changes, and the result has at least 32 bits."""
    if input.dtype.primitive_bitwidth >= 32:
        return input
    if input.dtype.is_floating():
        return input.to(float32)
    return input.to(int32)


@library_function
def _positions(input, axis: constexpr):
    """The int32 index along `axis` of every element; the row-major index when `axis` is None."""
    if axis is None:
        return reshape(arange(0, input.numel), input.shape)
    rank: constexpr = len(input.shape)
    dim: constexpr = axis + rank if axis < 0 else axis
    index = arange(0, input.shape[dim])
    for d in static_range(rank):
        if d < dim:
            index = expand_dims(index, 0)
        if d > dim:
            index = expand_dims(index, d)
    return broadcast_to(index, input.shape)


@library_function
def _may_overflow(terms):
    """Whether a debug build looks at their sum, as at sums of two."""
    return checks_overflow() and terms.dtype.is_int() and terms.dtype.primitive_bitwidth <= 32


@library_function
def _check_sum(total, exact):
    bits: constexpr = total.dtype.primitive_bitwidth
    device_assert(total.to(int64) == exact, f"int{bits} overflow detected for operation add")


@library_method
def sum(
    input: tensor, axis: OptionalAxis = None, keep_dims: constexpr = False, dtype: constexpr = None
) -> tensor:
    """The sum along `axis`, or of all elements.

    Ints below 32 bits are added in int32 (uint32), float16 and bfloat16 in float32, and the result
    has that type; `dtype` chooses another one. `keep_dims` keeps the axis with extent 1.
    """
    terms = _widen_for_sum(input, dtype)
    total = reduce(terms, axis, _add, keep_dims=keep_dims)
    if _may_overflow(terms):
        _check_sum(total, reduce(terms.to(int64), axis, _add, keep_dims=keep_dims))
    return total


@library_method
def xor_sum(input: tensor, axis: OptionalAxis = None, keep_dims: constexpr = False) -> tensor:
    """The bitwise exclusive or of integers along `axis`, or of all elements."""
    static_assert(input.dtype.is_int(), "xor_sum takes integers")
    return reduce(input, axis, _exclusive_or, keep_dims=keep_dims)


@library_method
def reduce_or(input: tensor, axis: OptionalAxis = None, keep_dims: constexpr = False) -> tensor:
    """The bitwise or of integers along `axis`, or of all elements."""
    static_assert(input.dtype.is_int(), "reduce_or takes integers")
    return reduce(input, axis, _or, keep_dims=keep_dims)


@library_function
def _check_propagation(propagate_nan: constexpr) -> None:
    static_assert(
        propagate_nan == PropagateNan.ALL or propagate_nan == PropagateNan.NONE,
        "propagate_nan is tw.PropagateNan.ALL or tw.PropagateNan.NONE",
    )


@library_method
def max(
    input: tensor,
    axis: OptionalAxis = None,
    return_indices: constexpr = False,
    return_indices_tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
    propagate_nan: constexpr = PropagateNan.NONE,
) -> Any:
    """The largest element along `axis`, or of all; with `return_indices` also its int32 index.

    NaN is ignored, or yielded with `propagate_nan` (without indices). Types below 32 bits give
    float32 or int32. Of equal elements the first one's index is given, or any one's without
    `return_indices_tie_break_left`.
    """
    _check_propagation(propagate_nan)
    operand = _widen_for_order(input)
    if return_indices:
        both = (operand, _positions(operand, axis))
        if return_indices_tie_break_left:
            return reduce(both, axis, _larger_at_left, keep_dims, commutative=True)
        return reduce(both, axis, _larger_at_any, keep_dims, commutative=True)
    if propagate_nan == PropagateNan.ALL:
        return reduce(operand, axis, _larger_or_nan, keep_dims, commutative=True)
    return reduce(operand, axis, _larger, keep_dims=keep_dims)


@library_method
def min(
    input: tensor,
    axis: OptionalAxis = None,
    return_indices: constexpr = False,
    return_indices_tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
    propagate_nan: constexpr = PropagateNan.NONE,
) -> Any:
    """The smallest element along `axis`, or of all; the parameters are those of `max`."""
    _check_propagation(propagate_nan)
    operand = _widen_for_order(input)
    if return_indices:
        both = (operand, _positions(operand, axis))
        if return_indices_tie_break_left:
            return reduce(both, axis, _smaller_at_left, keep_dims, commutative=True)
        return reduce(both, axis, _smaller_at_any, keep_dims, commutative=True)
    if propagate_nan == PropagateNan.ALL:
        return reduce(operand, axis, _smaller_or_nan, keep_dims, commutative=True)
    return reduce(operand, axis, _smaller, keep_dims=keep_dims)


@library_method
def argmax(
    input: tensor,
    axis: Axis,
    tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
) -> tensor:
    """The int32 index of the largest element along `axis`; see `max`."""
    _, index = max(input, axis, True, tie_break_left, keep_dims)
    return index


@library_method
def argmin(
    input: tensor,
    axis: Axis,
    tie_break_left: constexpr = True,
    keep_dims: constexpr = False,
) -> tensor:
    """The int32 index of the smallest element along `axis`; see `max`."""
    _, index = min(input, axis, True, tie_break_left, keep_dims)
    return index


@library_method
def histogram(input: tensor, num_bins: constexpr, mask: Value | None = None) -> tensor:
    """How many elements of an integer tile equal 0, 1, ..., num_bins - 1, as int32[num_bins].

    Elements outside of the bins, and those whose `mask` is false, are not counted. GPUs
    count 32 elements at a time in each bin: the work grows with both numbers.
    """
    is_narrow: constexpr = input.dtype.primitive_bitwidth < 32 or input.dtype == int32
    values = input.to(int32 if is_narrow else int64)
    if mask is not None:
        values = where(mask, values, -1)
    return count_values(reshape(values, (input.numel,)), num_bins)


# Scans.


@library_method
def cumsum(
    input: tensor, axis: Axis = 0, reverse: constexpr = False, dtype: constexpr = None
) -> tensor:
    """Running sums along `axis`, from the end when `reverse`; types as for `sum`."""
    terms = _widen_for_sum(input, dtype)
    totals = associative_scan(terms, axis, _add, reverse=reverse)
    if _may_overflow(terms):
        _check_sum(totals, associative_scan(terms.to(int64), axis, _add, reverse=reverse))
    return totals


@library_method
def cumprod(input: tensor, axis: Axis = 0, reverse: constexpr = False) -> tensor:
    """Running products along `axis`, from the end when `reverse`; types as for `sum`."""
    return associative_scan(_widen_for_sum(input, None), axis, _multiply, reverse=reverse)


# Elementwise.


@library_method
def sigmoid(x: tensor) -> tensor:
    """1 / (1 + exp(-x)), computed in float32 for smaller floats, and given so."""
    if x.dtype.is_floating() and x.dtype.primitive_bitwidth < 32:
        x = x.to(float32)
    return 1 / (1 + exp(-x))


@library_method
def softmax(
    x: tensor,
    dim: OptionalAxis = None,
    keep_dims: constexpr = False,
    ieee_rounding: constexpr = False,
) -> tensor:
    """exp(x - max(x)) / sum(exp(x - max(x))) along `dim` (0 by default), shaped like `x`.

    `keep_dims` changes nothing, as the extents always fit.
    """
    axis: constexpr = 0 if dim is None else dim
    numerator = exp(x - max(x, axis, keep_dims=True))
    return fdiv(numerator, sum(numerator, axis, keep_dims=True), ieee_rounding)


@library_function
def swizzle2d(
    i: Value, j: Value, size_i: Value, size_j: Value, size_g: Value
) -> tuple[tensor, tensor]:
    """Index (i, j) of a row-major size_i x size_j grid in an order by groups of `size_g` rows.

    Within a group the order is by columns, so that neighbouring programs share operands.
    """
    linear = i * size_j + j
    group_size = size_g * size_j
    first_i = linear // group_size * size_g
    rows = minimum(size_i - first_i, size_g)
    within = linear % group_size
    return first_i + within % rows, within // rows


@library_function
def program_by_die(program: Value, num_programs: Value, num_dies: constexpr = 8) -> tensor:
    """The program that takes the place of number `program` of `num_programs`, where a GPU deals programs to
    `num_dies` dies in turn: each die gets neighbours, which share its cache.

    A permutation of the numbers below `num_programs`, of scalars or tiles of integers. 8 is what AMD's
    MI300X and MI350X have.
    """
    turn = program // num_dies
    die = program % num_dies
    return die * (num_programs // num_dies) + minimum(die, num_programs % num_dies) + turn


# Masks.


@library_method
def logical_and(input: tensor, other: Value) -> tensor:
    """Whether both are not 0, element by element."""
    return (input != 0) & (other != 0)


@library_method
def logical_or(input: tensor, other: Value) -> tensor:
    """Whether one of them is not 0, element by element."""
    return (input != 0) | (other != 0)


@library_function
def expect_zero(x: Value, mask: Value) -> Value:
    """`x`, of which debug builds assert that it is 0 where `mask` is not."""
    device_assert((x == 0) | (mask == 0), "expect_zero expected x == 0 where mask is true")
    return x


# Shapes.


@library_method
def item(input: tensor) -> tensor:
    """The one element of a tile with one element, as a scalar."""
    static_assert(input.numel == 1, "item takes a tile with one element")
    return reduce(input, None, _or if input.dtype.is_int() else _add)


@library_method
def ravel(x: tensor, can_reorder: constexpr = False) -> tensor:
    """All elements as a tile of rank 1, in row-major order unless `can_reorder`."""
    return reshape(x, (x.numel,), can_reorder=can_reorder)


@library_method
def squeeze(x: tensor, dim: Axis) -> tensor:
    """`x` without dimension `dim`, whose extent must be 1."""
    axis: constexpr = dim + len(x.shape) if dim < 0 else dim
    static_assert(x.shape[axis] == 1, "squeeze takes a dimension of extent 1")
    return reshape(x, x.shape[:axis] + x.shape[axis + 1 :])


@library_method
def unsqueeze(x: tensor, dim: Axis) -> tensor:
    """`x` with a dimension of extent 1 at `dim`."""
    return expand_dims(x, dim)


@library_function
def interleave(a: tensor, b: tensor) -> tensor:
    """The elements of two tiles in turn along the last dimension: a0, b0, a1, b1, ..."""
    pairs = join(a, b)
    if len(pairs.shape) == 1:
        return pairs
    return reshape(pairs, pairs.shape[:-2] + (2 * pairs.shape[-2],))


@library_method
def flip(x: tensor, dim: OptionalAxis = None) -> tensor:
    """`x` in reverse order along `dim`, by default the last dimension."""
    axis: constexpr = len(x.shape) - 1 if dim is None else dim
    last: constexpr = x.shape[axis] - 1
    return gather(x, last - _positions(x, axis), axis)


__all__ = [
    "argmax", "argmin", "cumprod", "cumsum", "expect_zero", "flip", "histogram", "interleave",
    "item", "max", "min", "program_by_die", "ravel", "reduce_or", "sigmoid", "softmax", "squeeze", "sum",
    "swizzle2d", "unsqueeze", "xor_sum", "zeros", "zeros_like",
]  # fmt: skip
