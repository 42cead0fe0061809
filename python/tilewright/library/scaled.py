"""`dot_scaled`: products of tiles in the microscaling formats, by the machine's instruction for them, or
in the language itself.

The formats and scales are those of the Open Compute Project's "Microscaling Formats (MX)
Specification", version 1.0 (2023). Bodies are kernel code, as in `library`.

How a product is composed. Each element times its scale is written in a type that holds it exactly,
and these are multiplied as by `dot`: bfloat16 (8 digits and the exponents of float32) where both
sides have at most 8 digits, float32 with "tf32" up to 11 digits, float32 beyond. What bfloat16
cannot hold are scaled elements outside of its exponents (448 times 2 ** 127, whose products with
small ones are numbers of float32), and products of very small ones leave those of the sum. So
scales of 8 bits are looked at first. If one is outside of the range in which nothing of this can
happen, or is NaN, the elements are multiplied one by one in float32, and their products by the scales.
"""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from ..native.targets import device_named
from ..language.dtypes import (
    bfloat16,
    dtype,
    float8e4nv,
    float8e5,
    float16,
    float32,
    int32,
    tensor,
    uint8,
    uint16,
    uint32,
)
from .tiles import max
from ..language.machine import compiled_for
from ..language.marks import builtin, constexpr_function, library_function
from ..language.static import constexpr
from ..language.tile import (
    arange,
    broadcast_to,
    dot,
    expand_dims,
    full,
    gather,
    join,
    maximum,
    permute,
    reshape,
    where,
)

# By format: digits of an element, exponents of the smallest and the largest one.
_FORMATS = {
    "e2m1": (2, -1, 2),
    "e4m3": (4, -9, 8),
    "e5m2": (3, -16, 15),
    "bf16": (8, -133, 127),
    "fp16": (11, -24, 15),
}
# Products of two elements whose exponents are at least this one have exponents of float32.
_LOWEST_EXPONENT = -63
_SCALE_BIAS = 127
# No element of 8 bits times 2 to this power is subnormal in float32.
_LOWEST_FIRST = -100


@builtin
def check_dot_scaled(
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: str,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: str,
    acc: tensor | None,
    lhs_k_pack: bool,
    rhs_k_pack: bool,
    out_dtype: dtype,
) -> None:
    """Refuse what `dot_scaled` does not take, with an error that says what fits."""


@builtin
def scaled_product(
    lhs: tensor, lhs_scale: tensor, rhs: tensor, rhs_scale: tensor, acc: tensor
) -> tensor:
    """The product by the machine's instruction: elements of 8-bit floats, or bytes of two of e2m1 along
    K, and scales of uint8."""


@builtin
def converted_product(reason: str) -> None:
    """Report as a remark why a product is not by the machine's instruction."""


@constexpr_function
def _has_instructions(name: str) -> bool:
    return bool(device_named(name).scaled_products)


@constexpr_function
def _obstacle(
    name: str, extents: tuple[int, int, int], formats: tuple[str, str], packs: tuple[bool, bool],
    has_numbers: bool,
) -> str:  # fmt: skip
    """Why the machine's instructions do not multiply such operands; empty if one does."""
    others = [format for format in formats if format not in ("e2m1", "e4m3", "e5m2")]
    if others:
        return f"the instruction does not take {others[0]}"
    if has_numbers:
        return "the instruction's scales are powers of two for 32 elements, not float8e4nv"
    if not all(packs):
        return "the instruction takes e2m1 packed along K"
    if any(extent & extent - 1 for extent in extents):
        return f"extents {' x '.join(map(str, extents))} are not powers of two"
    sizes = device_named(name).scaled_products
    if any(all(own >= least for own, least in zip(extents, size)) for size in sizes):
        return ""
    least = " or ".join(" x ".join(map(str, size)) for size in sizes)
    return f"{' x '.join(map(str, extents))} is smaller than {least}"


@constexpr_function
def _digits(format: str, has_number: bool) -> int:
    """Significant binary digits of an element, with those of a scale that is not a power of two."""
    return _FORMATS[format][0] + (4 if has_number else 0)


@constexpr_function
def _lowest_scale(format: str) -> int:
    return _SCALE_BIAS + _LOWEST_EXPONENT - _FORMATS[format][1]


@constexpr_function
def _highest_scale(format: str) -> int:
    return _SCALE_BIAS + 127 - _FORMATS[format][2]


@constexpr_function
def _order(rank: int) -> tuple[int, ...]:
    """The dimensions with the last two exchanged."""
    return (*range(rank - 2), rank - 1, rank - 2)


@library_function
def _exchanged(x):
    """The tile with its last two dimensions exchanged."""
    rank: constexpr = len(x.shape)
    return permute(x, _order(rank))


@library_function
def _from_e2m1(code):
    """The numbers of 4-bit codes as float32: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives."""
    magnitude = (code & 7).to(uint32)
    # The exponent of e2m1 has bias 1; below it, code 1 is a half.
    bits = where(magnitude > 1, (magnitude << 22) + (126 << 23), magnitude * 0x3F000000)
    sign = (code & 8).to(uint32) << 28
    return (bits | sign).to(float32, bitcast=True)


@library_function
def _unpacked(x, along_last: constexpr):
    """The halves of bytes, the lower before the upper, along one of the last two dimensions."""
    both = x.to(uint8, bitcast=True)
    pairs = join(both & 15, both >> 4)
    if along_last:
        return reshape(pairs, x.shape[:-1] + (x.shape[-1] * 2,))
    return reshape(_exchanged(pairs), x.shape[:-2] + (x.shape[-2] * 2, x.shape[-1]))


@library_function
def _elements(x, format: constexpr, along_last: constexpr):
    """The elements of an operand as floats: float32 from bytes of e2m1, else their own type."""
    if format == "e2m1":
        return _from_e2m1(_unpacked(x, along_last))
    if format == "e4m3":
        return x.to(float8e4nv, bitcast=True)
    if format == "e5m2":
        return x.to(float8e5, bitcast=True)
    if format == "bf16":
        return x.to(bfloat16, bitcast=True)
    return x.to(float16, bitcast=True)


@library_function
def _spread(scale, group: constexpr, is_left: constexpr):
    """A group's number for each element: [M, K / group] as [M, K], [N, K / group] as [K, N]."""
    lead: constexpr = scale.shape[:-2]
    rows: constexpr = scale.shape[-2]
    depth: constexpr = scale.shape[-1] * group
    if is_left:
        wide = expand_dims(scale, len(scale.shape))
        return reshape(broadcast_to(wide, scale.shape + (group,)), lead + (rows, depth))
    wide = expand_dims(_exchanged(scale), len(scale.shape) - 1)
    return reshape(
        broadcast_to(wide, lead + (scale.shape[-1], group, rows)), lead + (depth, rows)
    )


@library_function
def _power_of_two(exponent):
    """2 to the power of exponents from -126 to 127, as float32."""
    return ((exponent + 127) << 23).to(float32, bitcast=True)


@library_function
def _scale_number(scale):
    """2 to the power scale - 127, of any 8 bits: the smallest is subnormal, 255 is NaN."""
    bits = where(scale == 0, 0x00400000, scale.to(int32) << 23)
    return where(scale == 255, float("nan"), bits.to(float32, bitcast=True))


@library_function
def _has_outside(scale, format: constexpr):
    """Whether a scale is outside of the range in which its elements are exact in bfloat16."""
    lowest: constexpr = _lowest_scale(format)
    width: constexpr = _highest_scale(format) - lowest
    # Numbers below the range wrap to ones above it.
    return max(scale - lowest, axis=None) > width


@library_function
def _is_number(scale):
    """Whether scales are numbers with digits, and not exponents."""
    if scale is None:
        return False
    return scale.dtype == float8e4nv


@library_function
def _is_checked(scale, format: constexpr):
    """Whether the elements have scales of 8 bits and a range that such scales can leave."""
    if scale is None:
        return False
    return scale.dtype == uint8 and format != "bf16"


@library_function
def _with_sure_scale(x, scale, is_checked: constexpr, is_left: constexpr, fast_math: constexpr):
    """The elements times their scales, unless those must be looked at first."""
    if scale is None or is_checked:
        return x
    if scale.dtype == float8e4nv:
        depth: constexpr = x.shape[-1] if is_left else x.shape[-2]
        return x.to(float32) * _spread(scale.to(float32), depth // scale.shape[-1], is_left)
    if fast_math:
        factor = (scale.to(int32) << 23).to(float32, bitcast=True)
    else:
        factor = _scale_number(scale)
    return x.to(float32) * _spread(factor, 32, is_left)


@library_function
def _with_scale_in_range(x, scale, is_checked: constexpr, is_left: constexpr):
    """The elements times scales that were looked at."""
    if not is_checked:
        return x
    return x.to(float32) * _spread(_power_of_two(scale.to(int32) - _SCALE_BIAS), 32, is_left)


@library_function
def _exponents(scale, shape: constexpr):
    """A scale as the instruction takes it; 2 to the power 0 where there is none."""
    if scale is None:
        return full(shape, 127, uint8)
    return scale


@library_function
def _stored(x, format: constexpr):
    """The elements of an operand as the instruction takes them: bytes of e2m1, else floats."""
    if format == "e2m1":
        return x.to(uint8, bitcast=True)
    return _elements(x, format, True)


@library_function
def _as_bfloat16(x, format: constexpr):
    """The elements of an operand as bfloat16, which holds them exactly: of float32 it is the upper half.
    Only elements of "bf16" that their scales made subnormal are rounded."""
    if x.dtype != float32 or format == "bf16":
        return x.to(bfloat16)
    return (x.to(uint32, bitcast=True) >> 16).to(uint16).to(bfloat16, bitcast=True)


@library_function
def _multiplied(a, lhs_format: constexpr, b, rhs_format: constexpr, acc, digits: constexpr):
    """The product of tiles whose elements have at most so many digits, without rounding them."""
    if a.dtype == float16 and b.dtype == float16:
        return dot(a, b, acc)
    if digits <= 8:
        return dot(_as_bfloat16(a, lhs_format), _as_bfloat16(b, rhs_format), acc)
    if digits <= 11:
        return dot(a.to(float32), b.to(float32), acc, input_precision="tf32")
    return dot(a.to(float32), b.to(float32), acc, input_precision="ieee")


@library_function
def _at(x, k, is_left: constexpr):
    """One column of a left tile, [M, 1], or one row of a right one, [1, N]."""
    rank: constexpr = len(x.shape)
    if is_left:
        return gather(x, full(x.shape[:-1] + (1,), k, int32), rank - 1)
    return gather(x, full(x.shape[:-2] + (1, x.shape[-1]), k, int32), rank - 2)


@library_function
def _elements_at(x, k, format: constexpr, packs_k: constexpr, is_left: constexpr):
    """The elements of an operand, as it was given, at one place along K, as float32."""
    if format != "e2m1":
        return _elements(_at(x, k, is_left), format, True).to(float32)
    if not packs_k:
        return _elements(_at(x, k, is_left), format, not is_left)
    both = _at(x, k // 2, is_left).to(uint8, bitcast=True)
    return _from_e2m1(both >> (k % 2 * 4).to(uint8) & 15)


@library_function
def _first_exponent(exponent, other_format: constexpr, is_left: constexpr):
    """The part of a scale's exponent that its elements get before they are multiplied. Beside small
    elements that is half of it; odd ones are rounded to different sides in left and right operands,
    so that no factors of both leave the range. Beside elements as large as float32 has, negative
    ones come first, so far as the others' elements stay exact."""
    if other_format == "bf16":
        return where(exponent < 0, maximum(exponent, _LOWEST_FIRST), exponent >> 1)
    return exponent >> 1 if is_left else (exponent + 1) >> 1


@library_function
def _factors_at(
    scale, k, depth: constexpr, format: constexpr, other_format: constexpr, is_left: constexpr
):
    """Two factors that make up the scales at one place along K, [M, 1] or [1, N]: before and after
    the elements are multiplied."""
    if scale is None:
        return 1.0, 1.0
    own = _at(scale, k // (depth // scale.shape[-1]), True)
    if not is_left:
        own = _exchanged(own)
    if own.dtype == float8e4nv:
        return own.to(float32), 1.0
    if format == "bf16":
        return _scale_number(own), 1.0
    exponent = own.to(int32) - _SCALE_BIAS
    first = _first_exponent(exponent, other_format, is_left)
    return where(own == 255, float("nan"), _power_of_two(first)), _power_of_two(exponent - first)


@library_function
def _multiplied_one_by_one(
    lhs, lhs_scale, lhs_format: constexpr, lhs_k_pack: constexpr,
    rhs, rhs_scale, rhs_format: constexpr, rhs_k_pack: constexpr, acc, depth: constexpr,
):  # fmt: skip
    """The product for all scales, of one column by one row after the other."""
    for k in range(depth):
        a_first, a_second = _factors_at(lhs_scale, k, depth, lhs_format, rhs_format, True)
        b_first, b_second = _factors_at(rhs_scale, k, depth, rhs_format, lhs_format, False)
        left = _elements_at(lhs, k, lhs_format, lhs_k_pack, True)
        right = _elements_at(rhs, k, rhs_format, rhs_k_pack, False)
        # Intermediate products leave the range only if the result does.
        acc += (left * a_first) * (right * b_first) * (a_second * b_second)
    return acc


@library_function
def _as_bytes(scale):
    """A scale as it is meant: numbers of 8 bits without a sign, float8e4nv, or None."""
    if scale is None or scale.dtype == float8e4nv:
        return scale
    return scale.to(uint8, bitcast=True)


@library_function
def _composed(
    lhs, a_scale, lhs_format: constexpr, lhs_k_pack: constexpr,
    rhs, b_scale, rhs_format: constexpr, rhs_k_pack: constexpr,
    acc, depth: constexpr, fast_math: constexpr,
):  # fmt: skip
    """The product of any operands, by products of elements that were converted exactly."""
    a = _elements(lhs, lhs_format, lhs_k_pack)
    b = _elements(rhs, rhs_format, not rhs_k_pack)
    has_a_number: constexpr = _is_number(a_scale)
    has_b_number: constexpr = _is_number(b_scale)
    a_digits: constexpr = _digits(lhs_format, has_a_number)
    b_digits: constexpr = _digits(rhs_format, has_b_number)
    digits: constexpr = a_digits if a_digits > b_digits else b_digits
    is_a_checked: constexpr = not fast_math and _is_checked(a_scale, lhs_format)
    is_b_checked: constexpr = not fast_math and _is_checked(b_scale, rhs_format)
    a = _with_sure_scale(a, a_scale, is_a_checked, True, fast_math)
    b = _with_sure_scale(b, b_scale, is_b_checked, False, fast_math)
    is_outside = False
    if is_a_checked:
        is_outside = _has_outside(a_scale, lhs_format)
    if is_b_checked:
        is_outside = is_outside | _has_outside(b_scale, rhs_format)
    if is_outside:
        acc = _multiplied_one_by_one(
            lhs, a_scale, lhs_format, lhs_k_pack, rhs, b_scale, rhs_format, rhs_k_pack, acc, depth
        )
    else:
        scaled_a = _with_scale_in_range(a, a_scale, is_a_checked, True)
        scaled_b = _with_scale_in_range(b, b_scale, is_b_checked, False)
        acc = _multiplied(scaled_a, lhs_format, scaled_b, rhs_format, acc, digits)
    return acc


@library_function
def dot_scaled(
    lhs: tensor,
    lhs_scale: tensor | None,
    lhs_format: constexpr,
    rhs: tensor,
    rhs_scale: tensor | None,
    rhs_format: constexpr,
    acc: tensor | None = None,
    fast_math: constexpr = False,
    lhs_k_pack: constexpr = True,
    rhs_k_pack: constexpr = True,
    out_dtype: constexpr = float32,
) -> tensor:
    """The matrix product [M, K] x [K, N] -> float32[M, N] of scaled elements, plus `acc`.

    Formats are "e2m1", "e4m3", "e5m2", "bf16" and "fp16", in any pair. Elements come in their type
    or as unsigned integers of its bits; e2m1 two in a byte of uint8, the first in the lower half,
    neighbours along K, or along M or N with `lhs_k_pack=False` or `rhs_k_pack=False`.
    `lhs_scale` is [M, K / 32] and `rhs_scale` [N, K / 32] of uint8: s scales 32 elements along K
    by 2 ** (s - 127), and 255 makes them NaN. Scales of float8e4nv are numbers for 16 elements
    each, or for 32, as their shape says; None is 1. Rank 3 is a batch of products.

    Elements times scales are not rounded (those of "bf16" with a scale: within the range of
    float32), whatever the scales; their products are summed in float32 as by `dot`.
    `fast_math=True` promises that no scale of 8 bits is NaN or so small or large that a scaled
    element or product leaves the normal range of float32; then none is looked at.
    """
    check_dot_scaled(
        lhs, lhs_scale, lhs_format, rhs, rhs_scale, rhs_format, acc, lhs_k_pack, rhs_k_pack,
        out_dtype,
    )  # fmt: skip
    a_scale = _as_bytes(lhs_scale)
    b_scale = _as_bytes(rhs_scale)
    lead: constexpr = lhs.shape[:-2]
    rows: constexpr = lhs.shape[-2] * (1 if lhs_k_pack else 2)
    columns: constexpr = rhs.shape[-1] * (1 if rhs_k_pack else 2)
    depth: constexpr = lhs.shape[-1] * (2 if lhs_format == "e2m1" and lhs_k_pack else 1)
    name: constexpr = compiled_for()
    if acc is None:
        acc = full(lead + (rows, columns), 0, float32)
    if _has_instructions(name):
        has_numbers: constexpr = _is_number(a_scale) or _is_number(b_scale)
        obstacle: constexpr = _obstacle(
            name, (rows, columns, depth), (lhs_format, rhs_format), (lhs_k_pack, rhs_k_pack),
            has_numbers,
        )  # fmt: skip
        if obstacle == "":
            return scaled_product(
                _stored(lhs, lhs_format), _exponents(a_scale, lead + (rows, depth // 32)),
                _stored(rhs, rhs_format), _exponents(b_scale, lead + (columns, depth // 32)), acc,
            )  # fmt: skip
        converted_product(obstacle)
    return _composed(
        lhs, a_scale, lhs_format, lhs_k_pack, rhs, b_scale, rhs_format, rhs_k_pack, acc, depth,
        fast_math,
    )  # fmt: skip


__all__ = ["dot_scaled"]
