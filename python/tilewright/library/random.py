"""Random numbers by counter: Philox-4x32-10 and 4x64-10 (Salmon et al., SC 2011).

A number depends on (seed, offset) only, so any program can draw any part of a sequence.
"""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from ..language.dtypes import int32, int64, tensor, uint32, uint64
from ..language.elementwise import cos, log, sin, sqrt
from ..language.marks import library_function
from ..language.static import constexpr
from ..language.tile import Value, maximum, static_assert, static_range, to_tensor, umulhi, where

N_ROUNDS_DEFAULT = constexpr(10)


@library_function
def philox_impl(
    c0: Value,
    c1: Value,
    c2: Value,
    c3: Value,
    k0: Value,
    k1: Value,
    n_rounds: constexpr = N_ROUNDS_DEFAULT,
) -> tuple[tensor, tensor, tensor, tensor]:
    """`n_rounds` of Philox on a counter of four words and a key of two, all uint32 or uint64."""
    if c0.dtype == uint32:
        multiplier_0: constexpr = 0xD2511F53
        multiplier_1: constexpr = 0xCD9E8D57
        weyl_0: constexpr = 0x9E3779B9
        weyl_1: constexpr = 0xBB67AE85
    else:
        static_assert(c0.dtype == uint64, "philox works on uint32 or uint64")
        multiplier_0: constexpr = 0xD2E7470EE14C6C93
        multiplier_1: constexpr = 0xCA5A826395121157
        weyl_0: constexpr = 0x9E3779B97F4A7C15
        weyl_1: constexpr = 0xBB67AE8584CAA73B
    for _ in static_range(n_rounds):
        even = c0
        odd = c2
        c0 = umulhi(odd, multiplier_1) ^ c1 ^ k0
        c2 = umulhi(even, multiplier_0) ^ c3 ^ k1
        c1 = odd * multiplier_1
        c3 = even * multiplier_0
        k0 = k0 + weyl_0
        k1 = k1 + weyl_1
    return c0, c1, c2, c3


@library_function
def philox(
    seed: Value, c0: Value, c1: Value, c2: Value, c3: Value, n_rounds: constexpr = N_ROUNDS_DEFAULT
) -> tuple[tensor, tensor, tensor, tensor]:
    """Four random words for the counter (c0, c1, c2, c3): uint32, or uint64 for 64-bit counters."""
    key = to_tensor(seed).to(uint64)
    counter = to_tensor(c0)
    if counter.dtype.primitive_bitwidth == 32:
        word: constexpr = uint32
        low = (key & 0xFFFFFFFF).to(uint32)
        high = (key >> 32).to(uint32)
    else:
        word: constexpr = uint64
        low = key
        high = key * 0
    first = counter.to(word)
    second = to_tensor(c1).to(word)
    third = to_tensor(c2).to(word)
    fourth = to_tensor(c3).to(word)
    return philox_impl(first, second, third, fourth, low, high, n_rounds)


@library_function
def randint4x(
    seed: Value, offset: Value, n_rounds: constexpr = N_ROUNDS_DEFAULT
) -> tuple[tensor, tensor, tensor, tensor]:
    """Four tiles of random uint32 shaped like `offset`: the cheapest way to draw many."""
    place = to_tensor(offset)
    low = place.to(uint32)
    zero = low * 0
    if place.dtype.primitive_bitwidth > 32:
        high = (place >> 32).to(uint32)
    else:
        high = zero
    return philox(seed, low, high, zero, zero, n_rounds)


@library_function
def randint(seed: Value, offset: Value, n_rounds: constexpr = N_ROUNDS_DEFAULT) -> tensor:
    """Random uint32 shaped like `offset`."""
    first, _, _, _ = randint4x(seed, offset, n_rounds)
    return first


@library_function
def uint_to_uniform_float(x: tensor) -> tensor:
    """Random integers of 32 or 64 bits as float32 in [0, 1)."""
    if x.dtype.primitive_bitwidth == 32:
        signed = x.to(int32, bitcast=True)
        scale: constexpr = 4.6566127342e-10  # just below 2**-31: the product stays below 1
    else:
        static_assert(x.dtype.primitive_bitwidth == 64, "random integers have 32 or 64 bits")
        signed = x.to(int64, bitcast=True)
        scale: constexpr = 1.0842020432385337e-19  # just below 2**-63
    return where(signed < 0, -signed - 1, signed) * scale


@library_function
def rand(seed: Value, offset: Value, n_rounds: constexpr = N_ROUNDS_DEFAULT) -> tensor:
    """Uniform random float32 in [0, 1), shaped like `offset`."""
    return uint_to_uniform_float(randint(seed, offset, n_rounds))


@library_function
def rand4x(
    seed: Value, offset: Value, n_rounds: constexpr = N_ROUNDS_DEFAULT
) -> tuple[tensor, tensor, tensor, tensor]:
    """Four tiles of uniform random float32 in [0, 1), each shaped like `offset`."""
    a, b, c, d = randint4x(seed, offset, n_rounds)
    return (
        uint_to_uniform_float(a),
        uint_to_uniform_float(b),
        uint_to_uniform_float(c),
        uint_to_uniform_float(d),
    )


@library_function
def pair_uniform_to_normal(u1: Value, u2: Value) -> tuple[tensor, tensor]:
    """Two tiles of standard normal numbers from two of uniform ones (Box and Muller)."""
    radius = sqrt(-2.0 * log(maximum(1.0e-7, u1)))
    angle = 6.283185307179586 * u2
    return radius * cos(angle), radius * sin(angle)


@library_function
def randn(seed: Value, offset: Value, n_rounds: constexpr = N_ROUNDS_DEFAULT) -> tensor:
    """Standard normal random float32, shaped like `offset`."""
    a, b, _, _ = randint4x(seed, offset, n_rounds)
    first, _ = pair_uniform_to_normal(uint_to_uniform_float(a), uint_to_uniform_float(b))
    return first


@library_function
def randn4x(
    seed: Value, offset: Value, n_rounds: constexpr = N_ROUNDS_DEFAULT
) -> tuple[tensor, tensor, tensor, tensor]:
    """Four tiles of standard normal random float32, each shaped like `offset`."""
    a, b, c, d = rand4x(seed, offset, n_rounds)
    first, second = pair_uniform_to_normal(a, b)
    third, fourth = pair_uniform_to_normal(c, d)
    return first, second, third, fourth

__all__ = [
    "pair_uniform_to_normal", "philox", "philox_impl", "rand", "rand4x", "randint", "randint4x",
    "randn", "randn4x", "uint_to_uniform_float",
]  # fmt: skip
