"""Sorting: a bitonic network on the last dimension, whose extent is a power of two."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from ..language.dtypes import int16, int32, int64, int8, tensor
from .tiles import _exclusive_or
from ..language.machine import compiled_for
from ..language.marks import library_function, library_method
from ..language.sizes import next_power_of_2
from ..language.static import OptionalAxis, constexpr
from ..language.tile import (
    arange,
    broadcast_to,
    expand_dims,
    gather,
    reduce,
    reshape,
    static_assert,
    static_range,
    where,
)


@library_function
def _log2(n: constexpr):
    """The compile-time logarithm of a power of two; a tile has at most 2**20 elements."""
    static_assert(n & (n - 1) == 0, "sorting needs an extent that is a power of two")
    result: constexpr = 0
    for i in static_range(20):
        if 2 << i == n:
            result: constexpr = i + 1
    return result


@library_function
def _as_integer(x):
    """The bits of floats as integers of the same width."""
    if x.dtype.is_floating():
        width: constexpr = x.dtype.primitive_bitwidth
        integer: constexpr = (int8, int16, int32, int64)[_log2(width // 8)]
        return x.to(integer, bitcast=True)
    return x


@library_function
def _compare_exchange(x, bit: constexpr, turn: constexpr, descending: constexpr):
    """Order the elements whose indices differ in `bit`, the other way round where `turn` is set.

    Both are numbers of bits of the index into the whole tile; `turn` None is set nowhere.
    """
    outer: constexpr = x.numel // (2 << bit)
    own = reshape(x, (outer, 2, 1 << bit))
    # A reduction of two elements gives each its partner in place: no element changes its lane.
    bits = _as_integer(own)
    partner = (bits ^ reduce(bits, 1, _exclusive_or, True)).to(x.dtype, bitcast=True)
    is_upper = expand_dims(arange(0, 2) != 0, (0, 2))
    if turn is not None:
        if turn > bit:
            is_turned = ((arange(0, outer) >> (turn - bit - 1)) & 1) != 0
            is_upper = is_upper ^ expand_dims(is_turned, (1, 2))
        else:
            is_turned = ((arange(0, 1 << bit) >> turn) & 1) != 0
            is_upper = is_upper ^ expand_dims(is_turned, (0, 1))
    if descending:
        swap = where(is_upper, partner < own, own < partner)
    else:
        swap = where(is_upper, partner > own, own > partner)
    return reshape(where(swap, partner, own), x.shape)


@library_method
def bitonic_merge(x: tensor, dim: OptionalAxis = None, descending: constexpr = False) -> tensor:
    """Sort, along the last dimension, what first rises and then falls."""
    static_assert(dim is None or dim == -1 or dim == len(x.shape) - 1,
                  "sorting works along the last dimension")  # fmt: skip
    stages: constexpr = _log2(x.shape[-1])
    for step in static_range(stages):
        x = _compare_exchange(x, stages - 1 - step, None, descending)
    return x


@library_function
def _runs_on_vectors():
    """Whether neighbours are the lanes of a vector (CPUs), not elements of several threads.

    Exchanges of near elements are cheap between the registers and lanes of threads. Vectors want
    them far apart: whole vectors are exchanged then.
    """
    name: constexpr = compiled_for()
    return name.partition(":")[0] in ("cpu", "reference")


@library_method
def sort(x: tensor, dim: OptionalAxis = None, descending: constexpr = False) -> tensor:
    """`x` sorted along its last dimension, whose extent is a power of two; not stable."""
    static_assert(dim is None or dim == -1 or dim == len(x.shape) - 1,
                  "sorting works along the last dimension")  # fmt: skip
    n: constexpr = _log2(x.shape[-1])
    # The network may take any bit of the index for its lowest. It exchanges along that one most
    # often, and along its highest one once.
    lowest: constexpr = 4 if _runs_on_vectors() and n > 4 else 0
    for i in static_range(1, n + 1):
        turn: constexpr = (i + lowest) % n if i < n else None
        for step in static_range(i):
            x = _compare_exchange(x, (i - 1 - step + lowest) % n, turn, descending)
    if lowest > 0:
        rows: constexpr = x.numel >> n
        apart = reshape(x, (rows, 1 << (n - lowest), 1 << lowest))
        x = reshape(apart.permute(0, 2, 1), x.shape)
    return x


@library_function
def _first_falling(a, b):
    return where(a > b, a, b)


@library_function
def _first_rising(a, b):
    return where(a < b, a, b)


@library_method
def topk(
    x: tensor, k: constexpr, dim: OptionalAxis = None, descending: constexpr = True
) -> tensor:
    """The k largest elements along the last dimension, largest first.

    Without `descending`, the k smallest ones, smallest first. The extent is a power of two. Sorts
    groups of k elements (or the next power of two), every second one the other way round, and
    keeps the better half of each pair until one group is left.
    """
    static_assert(dim is None or dim == -1 or dim == len(x.shape) - 1,
                  "topk works along the last dimension")  # fmt: skip
    static_assert(0 < k, "topk gives at least one element")
    static_assert(k <= x.shape[-1], "topk cannot give more elements than there are")
    size: constexpr = next_power_of_2(k)
    n: constexpr = _log2(size)
    rows: constexpr = x.numel // x.shape[-1]
    rounds: constexpr = _log2(x.shape[-1]) - n
    better: constexpr = _first_falling if descending else _first_rising
    ordered = reshape(x, (x.numel,))
    # Bits of the index: of an element in its group, and of its group.
    for halving in static_range(rounds + 1):
        groups: constexpr = rounds - halving
        lowest: constexpr = groups if _runs_on_vectors() else 0
        group_bit: constexpr = (groups - 1 if _runs_on_vectors() else n) if groups > 0 else None
        if halving > 0:
            # Of a falling group and the rising one after it, the better of each pair.
            below: constexpr = (1 << groups) if _runs_on_vectors() else size
            pairs = reshape(ordered, (ordered.numel // (2 * below), 2, below))
            ordered = reshape(reduce(pairs, 1, better), (ordered.numel // 2,))
        for i in static_range(1 if halving == 0 else n, n + 1):
            turn: constexpr = i + lowest if i < n else group_bit
            for step in static_range(i):
                ordered = _compare_exchange(ordered, i - 1 - step + lowest, turn, descending)
    ordered = reshape(ordered, (rows, size))
    index = broadcast_to(expand_dims(arange(0, k), 0), (rows, k))
    return reshape(gather(ordered, index, 1), x.shape[:-1] + (k,))


__all__ = [
    "bitonic_merge", "sort", "topk",
]  # fmt: skip
