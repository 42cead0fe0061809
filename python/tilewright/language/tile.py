"""The functions of the language that the frontend implements: their signatures and meaning.

The bodies never run: inside a kernel the frontend knows each function by its mark. `tensor` stands
for a run-time scalar or tile; Python numbers are accepted wherever a tensor is.
"""

# pyright: reportReturnType=false
from __future__ import annotations

import enum
from collections.abc import Callable, Iterator
from typing import Any

from .dtypes import dtype, tensor
from .marks import builtin, scope



class PropagateNan(enum.Enum):
    """What `minimum`, `maximum` and `clamp` do with NaN: ignore it (NONE) or yield it (ALL)."""

    NONE = 0
    ALL = 0xFFFF


Scalar = int | float | bool
Value = tensor | Scalar
Shape = tuple[int, ...] | list[int]


class range:  # noqa: N801 (the language's name)
    """`for i in tw.range(start, end, step)`: a run-time loop with options for the compiler.

    `num_stages` asks for software pipelining of the loop's loads, `loop_unroll_factor` for
    unrolling, `flatten` for merging with an inner loop, `disable_licm` keeps invariant code inside;
    `disallow_acc_multi_buffer` changes nothing. Without `warp_specialize`, a warp beside those of
    `num_warps` starts the copies of a loop's operands where that is possible (nvidia:sm_90a): False
    forbids it, and with True a remark (TW0369) says why it is not.
    """

    __tilewright_builtin__ = "range"

    def __init__(
        self,
        arg1: Value,
        arg2: Value | None = None,
        step: Value | None = None,
        num_stages: int | None = None,
        loop_unroll_factor: int | None = None,
        disallow_acc_multi_buffer: bool = False,
        flatten: bool = False,
        warp_specialize: bool | None = None,
        disable_licm: bool = False,
    ) -> None:
        raise RuntimeError("tw.range has a meaning only inside a kernel; use range on the host")

    def __iter__(self) -> Iterator[Any]: ...


class static_range:  # noqa: N801
    """`for i in tw.static_range(start, end, step)`: unrolled, so `i` is a compile-time value."""

    __tilewright_builtin__ = "static_range"

    def __init__(self, arg1: int, arg2: int | None = None, step: int | None = None) -> None:
        raise RuntimeError("tw.static_range has a meaning only inside a kernel")

    def __iter__(self) -> Iterator[Any]: ...


@builtin
def aggregate_replace(value: Any, **fields: Any) -> Any:
    """The object `value` of an aggregate with the named fields replaced."""


async_task: Callable[..., Any] = scope(
    "async_task", "`with tw.async_task(...)`: the statements inside, in the order of the text."
)
async_tasks: Callable[..., Any] = scope("async_tasks", "`with tw.async_tasks()` around `with tw.async_task(...)`.")


class condition:  # noqa: N801
    """`while tw.condition(c)`: a run-time loop with options, else the same as `while c`."""

    __tilewright_builtin__ = "condition"

    def __init__(self, arg1: Value, disable_licm: bool = False) -> None:
        raise RuntimeError("tw.condition has a meaning only inside a kernel")


# The grid.


@builtin
def program_id(axis: int) -> tensor:
    """Index of this program along grid axis 0, 1 or 2, an int32."""


@builtin
def num_programs(axis: int) -> tensor:
    """Number of programs along grid axis 0, 1 or 2, an int32."""


# Making tiles.


@builtin
def arange(start: int, end: int) -> tensor:
    """The int32 tile [start, start + 1, ..., end - 1]; both ends are compile-time integers."""


@builtin
def full(shape: Shape, value: Value, dtype: dtype | None = None) -> tensor:
    """A tile of the given compile-time shape whose elements all equal the scalar `value`.

    Without `dtype` they have the type of the value.
    """


@builtin
def to_tensor(x: Value) -> tensor:
    """A number as a run-time scalar: int32, uint32, int64 or uint64 by value, or float32.

    A value that is a tensor already is returned as it is.
    """


@builtin
def cat(input: tensor, other: tensor, can_reorder: bool = False, dim: int = 0) -> tensor:
    """Two tiles one after the other along `dim`; `can_reorder` permits any order of elements."""


@builtin
def cast(
    input: Value, dtype: dtype, fp_downcast_rounding: str | None = None, bitcast: bool = False
) -> tensor:
    """`input` converted to `dtype`, also `x.to(dtype)`.

    Floats to integers saturate and NaN gives 0; floats round to nearest even, or toward zero with
    `fp_downcast_rounding="rtz"`. To 8-bit floats, whatever is beyond the largest finite value (448
    of float8e4nv, 240 of float8e4b8, 57344 of float8e5 and float8e5b16), infinity too, becomes that
    value, as by the instructions of GPUs (to float8_e5m2, torch makes it infinite); NaN stays NaN.
    float8e4b15 has no NaN, which becomes its largest value 1.75, and rounds halves away from zero.
    `bitcast` keeps the bits; both types then have one width.
    """


# Shapes.


@builtin
def expand_dims(input: tensor, axis: int | tuple[int, ...]) -> tensor:
    """Insert dimensions of extent 1 so that they stand at `axis`; the same as `x[:, None]`."""


@builtin
def broadcast(input: Value, other: Value) -> tuple[tensor, tensor]:
    """Both values with their common shape. Missing dimensions are added on the left."""


@builtin
def broadcast_to(input: Value, *shape: Any) -> tensor:
    """`input` repeated along its dimensions of extent 1 to `shape`."""


@builtin
def reshape(input: tensor, *shape: Any, can_reorder: bool = False) -> tensor:
    """The same elements in row-major order under another shape, given as a tuple or as integers."""


@builtin
def view(input: tensor, *shape: Any, can_reorder: bool = False) -> tensor:
    """The same elements under another shape, as `reshape` gives them."""


@builtin
def trans(input: tensor, *dims: Any) -> tensor:
    """Dimensions in the order `dims`; without it the last two are exchanged. Also `x.T`."""


@builtin
def permute(input: tensor, *dims: Any) -> tensor:
    """Dimension i of the result is dimension `dims[i]` of `input`."""


@builtin
def join(a: Value, b: Value) -> tensor:
    """Two tiles side by side along a new last dimension of extent 2."""


@builtin
def split(a: tensor) -> tuple[tensor, tensor]:
    """The halves of a last dimension of extent 2, which they lose: the inverse of `join`."""


@builtin
def gather(src: tensor, index: tensor, axis: int) -> tensor:
    """result[.., i, ..] = src[.., index[.., i, ..], ..] along `axis`; shaped like `index`.

    An index outside of `src` is an error on GPUs, their simulators and `reference`; on CPUs it gives
    the last element along the axis.
    """


@builtin
def count_values(src: tensor, count: int) -> tensor:
    """How many elements of `src` are 0, 1, ..., count - 1, as int32[count].

    `src` is an int32 or int64 tile of one dimension; other values than these are not counted.
    """


# Assembly.


@builtin
def inline_asm_elementwise(
    asm: str,
    constraints: str,
    args: Any,
    dtype: dtype | tuple[dtype, ...],
    is_pure: bool,
    pack: int,
) -> Any:
    """Run assembly text of the GPU on every element of `args`, or on every `pack` of them.

    `$0`, `$1`, ... in `asm` are registers in the order of `constraints`: those of the results
    first ("=r"), then those of the arguments ("r"). "r" holds up to 32 bits and "h" up to 16, also
    of float16 and packed elements (the bits above a narrower element are 0), "l" 64 bits and
    pointers, "f" float32, "d" float64, "b" int1; "0" is the register of result 0. Elements below
    32 bits share registers of at most 32 bits, the first one lowest, so an int8 with `pack=4` takes
    one register and a float32 four. Which elements are packed together is not defined. Arguments
    are broadcast, not converted. `dtype` is the result's type, or a tuple for several results.
    `is_pure=False` keeps text that reads clocks or accesses memory in its place; where several
    threads hold an element, each of them runs the text. `$$` is a dollar sign. The text stands in
    braces of its own, so it may declare registers. GPUs and their simulator only.
    """


@builtin
def extern_call(symbol: str, args: Any, dtype: dtype, is_pure: bool) -> tensor:
    """The function `symbol` of a library given as `extern_libs`, for every element of `args`.

    Arguments are broadcast, not converted: integers, and floats of at least 16 bits, as the function
    takes them. `is_pure=True` promises that its result depends on them alone. GPUs, their simulator
    and, for pure functions, the CPU.
    """


# Elementwise, with promotion and broadcasting.


@builtin
def where(condition: Value, x: Value, y: Value) -> tensor:
    """Elements of `x` where the condition is true, of `y` elsewhere. Both are computed."""


@builtin
def minimum(x: Value, y: Value, propagate_nan: PropagateNan = PropagateNan.NONE) -> tensor:
    """The smaller of two elements. NaN is ignored, unless `propagate_nan=tw.PropagateNan.ALL`."""


@builtin
def maximum(x: Value, y: Value, propagate_nan: PropagateNan = PropagateNan.NONE) -> tensor:
    """The larger of two elements. NaN is ignored, unless `propagate_nan=tw.PropagateNan.ALL`."""


@builtin
def clamp(
    x: Value, min: Value, max: Value, propagate_nan: PropagateNan = PropagateNan.NONE
) -> tensor:
    """`x` limited to [min, max]; undefined where min > max."""


@builtin
def add(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """x + y. Debug builds assert that the sum of integers of up to 32 bits fits its type, in every
    element, unless `sanitize_overflow` is False; `+` is the same."""


@builtin
def sub(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """x - y; `sanitize_overflow` as for `add`."""


@builtin
def mul(x: Value, y: Value, sanitize_overflow: bool = True) -> tensor:
    """x * y; `sanitize_overflow` as for `add`."""


@builtin
def umulhi(x: Value, y: Value) -> tensor:
    """The high half of the product of two unsigned integers of 32 or 64 bits."""


@builtin
def fdiv(x: Value, y: Value, ieee_rounding: bool = False, approx: bool = False) -> tensor:
    """The quotient of floats, as x / y gives it: float16 and bfloat16 in float32, rounded once more.

    Of float32, it is correctly rounded on CPUs and within 2 units in the last place on GPUs, 3 where
    y is a square root: it is a product with `rsqrt` there. `ieee_rounding` asks for correct
    rounding there too, `approx` permits what x / y is permitted anyway. Of float64, it always is
    correctly rounded.
    """


@builtin
def div_rn(x: Value, y: Value) -> tensor:
    """The quotient of floats, correctly rounded to nearest even on every device."""


def cdiv(x: Any, div: Any) -> Any:
    """x / div rounded up, of integers; on the host as well."""
    return -(-x // div)


cdiv.__tilewright_builtin__ = "cdiv"  # type: ignore[attr-defined]


# Reductions, scans, matrix products.


@builtin
def reduce(
    input: Any,
    axis: int | None,
    combine_fn: Callable[..., Any],
    keep_dims: bool = False,
    commutative: bool = False,
) -> Any:
    """Fold a tile, or a tuple of tiles of one shape, along `axis` with `combine_fn`.

    `combine_fn` takes n left and n right scalars and returns n; it must be associative. With
    `commutative` its operands may also be swapped, which is faster. `axis=None` folds all elements. The result lacks the axis, or keeps it with extent 1 (`keep_dims`).
    """


@builtin
def associative_scan(
    input: Any, axis: int, combine_fn: Callable[..., Any], reverse: bool = False
) -> Any:
    """Inclusive prefix combination along `axis`, from the end when `reverse`; shape as `input`."""


@builtin
def map_elementwise(scalar_fn: Callable[..., Any], *args: Value, pack: int = 1) -> Any:
    """`scalar_fn` on every element of tiles, broadcast together: one tile per value it returns.

    Its branches and loops are each element's own. It takes `pack` consecutive elements (in
    row-major order) of the first tile, then of the second one, ..., and returns as many of the
    first result, then of the second one, ...; it reads and writes no memory.
    """


@builtin
def dot(
    input: tensor,
    other: tensor,
    acc: tensor | None = None,
    input_precision: str | None = None,
    allow_tf32: bool | None = None,
    max_num_imprecise_acc: int | None = None,
    out_dtype: dtype | None = None,
) -> tensor:
    """The matrix product [M, K] x [K, N] -> [M, N], plus `acc`; dimensions before these are batches.

    `out_dtype` chooses between float32 (which None is) and float16 for float16 and 8-bit floats; for
    others it means nothing. Floats accumulate in float32 (float64 for float64), int8 and uint8 in
    int32; operands may be different 8-bit floats, or signed and unsigned bytes. `input_precision` is
    "ieee", "tf32", "tf32x3", "bf16x3" or "bf16x6" and concerns float32 operands. "tf32" rounds them to
    10 bits of mantissa, or cuts them off where warpgroups multiply (sm_90a).

    `max_num_imprecise_acc` concerns 8-bit floats that accumulate in float32 where warpgroups multiply
    them: these add in 13 bits of mantissa. Sums of at most so many products along K are added so, and
    then to the accumulator in float32; one instruction's 32 always are. None is 128. From 2**30 on,
    the accumulator itself is added to so, in all iterations of a loop: fastest, and what Triton does
    for None. With K = 4096 of positive numbers, sums are then off by up to 7 %, and by 0.004 % with
    128. Elsewhere sums are exact to the accumulator.
    """


# Hints: promises about values, which the compiler believes.


@builtin
def multiple_of(input: tensor, values: Any) -> tensor:
    """`input`, promising that along dimension d the first value is a multiple of values[d].

    A promise that does not hold is a DeviceError (TW0603) on "reference", on simulators and in debug
    builds for the CPU.
    """


@builtin
def max_contiguous(input: tensor, values: Any) -> tensor:
    """`input`, promising that along dimension d runs of values[d] elements are contiguous."""


@builtin
def max_constancy(input: tensor, values: Any) -> tensor:
    """`input`, promising that along dimension d runs of values[d] elements are equal."""


@builtin
def assume(cond: Value) -> None:
    """Promise that a scalar condition holds; checked where `multiple_of` is."""


@builtin
def debug_barrier() -> None:
    """Order all memory accesses of this program before and after it."""


# Debugging.


@builtin
def static_print(*values: Any, sep: str = " ", end: str = "\n", file: Any = None,
                 flush: bool = False) -> None:  # fmt: skip
    """Print compile-time values while compiling."""


@builtin
def static_assert(cond: bool, msg: str = "") -> None:
    """A compile-time condition that must hold; else a CompileError with the message."""


@builtin
def device_print(prefix: str, *args: Value, hex: bool = False) -> None:
    """Print a line for each element while the kernel runs: `pid (0, 0, 0) idx ( 7) prefix: value`.

    Each program prints, in no order; indices are padded to one width, floats have six digits behind
    the point, and of several values each line says which it is: `(operand 1)`. With `hex`, the bits of
    a value in as many digits as its type has. Without values the line is `pid (0, 0, 0) prefix`.
    """


@builtin
def device_assert(cond: Value, msg: str = "", mask: Value | None = None) -> None:
    """Report a DeviceError where the condition is false and the mask true; only in debug builds.

    The program stops there, and no program with a higher number begins.
    """


__all__ = [
    "PropagateNan", "add", "aggregate_replace", "arange", "associative_scan", "assume",
    "async_task", "async_tasks", "map_elementwise", "broadcast", "broadcast_to", "cast", "cat",
    "cdiv", "clamp", "condition", "debug_barrier", "device_assert", "device_print", "div_rn",
    "dot", "expand_dims", "fdiv", "full", "gather", "inline_asm_elementwise", "join",
    "max_constancy", "max_contiguous", "maximum", "minimum", "mul", "multiple_of", "num_programs",
    "permute", "program_id", "range", "reduce", "reshape", "split", "static_assert",
    "static_print", "static_range", "sub", "to_tensor", "trans", "umulhi", "view", "where",
]  # fmt: skip
