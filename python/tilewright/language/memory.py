"""What kernels do with memory: loads, stores and atomic operations."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAssignmentType=false, reportOperatorIssue=false
# pyright: reportCallIssue=false, reportIndexIssue=false, reportOptionalMemberAccess=false
# pyright: reportAttributeAccessIssue=false, reportGeneralTypeIssues=false, reportReturnType=false
from __future__ import annotations

from .dtypes import int32, int64, tensor
from .machine import machine_clock
from .marks import builtin, library_function, library_method
from .static import constexpr
from .tile import Value, reduce, static_assert, to_tensor


@builtin
def load(
    pointer: tensor,
    mask: Value | None = None,
    other: Value | None = None,
    boundary_check: tuple[int, ...] = (),
    padding_option: str = "",
    cache_modifier: str = "",
    eviction_policy: str = "",
    volatile: bool = False,
) -> tensor:
    """Read the elements at the addresses.

    Where `mask` is false nothing is read and the element is `other`, or 0 without it. A block pointer
    (`make_block_ptr`) takes `boundary_check` and `padding_option` instead; they belong to it alone.
    `cache_modifier` is "", ".ca", ".cg", ".cs" or ".cv"; `eviction_policy` "", "evict_first" or
    "evict_last". They are hints and never change the result.
    """


@builtin
def store(
    pointer: tensor,
    value: Value,
    mask: Value | None = None,
    boundary_check: tuple[int, ...] = (),
    cache_modifier: str = "",
    eviction_policy: str = "",
) -> None:
    """Write the elements, converted to the pointers' type, where `mask` is true.

    A block pointer takes `boundary_check` instead: elements outside of its array are dropped.

    `cache_modifier` is "", ".wb", ".cg", ".cs" or ".wt".
    """


@builtin
def atomic_add(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Atomically add to each element in memory where `mask` is true; yields the old elements.

    `sem` is "acquire", "release", "acq_rel" (the default) or "relaxed"; `scope` "gpu" (the default:
    all programs of the launch), "cta" or "sys". The other atomic functions take the same arguments.
    """


@builtin
def atomic_max(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Atomically store the larger of each element in memory and `val`; yields the old elements."""


@builtin
def atomic_min(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Atomically store the smaller of each element in memory and `val`; yields the old elements."""


@builtin
def atomic_and(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Atomic bitwise and with each element in memory; yields the old elements."""


@builtin
def atomic_or(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Atomic bitwise or with each element in memory; yields the old elements."""


@builtin
def atomic_xor(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Atomic bitwise exclusive or with each element in memory; yields the old elements."""


@builtin
def atomic_xchg(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> tensor:
    """Atomically replace each element in memory; yields the old elements."""


@builtin
def atomic_cas(
    pointer: tensor, cmp: Value, val: Value, sem: str | None = None, scope: str | None = None
) -> tensor:
    """Atomically replace each element whose bits equal those of `cmp` by `val`; yields the old ones.

    Elements have 16, 32 or 64 bits. Of floats, -0.0 differs from 0.0, and a NaN equals itself.
    """


@builtin
def atomic_load(
    pointer: tensor, mask: Value | None = None, sem: str | None = None, scope: str | None = None
) -> tensor:
    """The elements of 16, 32 or 64 bits where `mask` is true, else 0, each read at once.

    `sem` is "acquire" (the default) or "relaxed"; `scope` as for `atomic_add`.
    """


@builtin
def atomic_store(
    pointer: tensor,
    val: Value,
    mask: Value | None = None,
    sem: str | None = None,
    scope: str | None = None,
) -> None:
    """Write elements of 16, 32 or 64 bits where `mask` is true, each at once.

    `sem` is "release" (the default) or "relaxed"; `scope` as for `atomic_add`.
    """


@library_function
def _or(a, b):
    return a | b


@library_function
def _differ(value, expected) -> tensor:
    """Whether any element differs, as a scalar."""
    differs = value != expected
    if differs.type.is_block():
        differs = reduce(differs.to(int32), None, _or) != 0
    return differs


@library_method
def atomic_poll(
    pointer: tensor,
    expected_value: Value,
    sem: constexpr = None,
    scope: constexpr = None,
    timeout_ns: Value | None = None,
) -> tensor:
    """Wait until the element at `pointer`, or every element of a tile, equals `expected_value`.

    True when it does, False when `timeout_ns` nanoseconds of the machine's clock have passed; 0 is
    one look. Elements are integers of 16, 32 or 64 bits; `sem` is "acquire" (the default) or
    "relaxed", `scope` as for `atomic_add`. On `reference`, and on a CPU with fewer workers than
    programs that wait, programs run one after the other: only an earlier one can be waited for.
    """
    static_assert(pointer.dtype.element_ty.is_int(), "atomic_poll waits for integers")
    expected = to_tensor(expected_value).to(pointer.dtype.element_ty)
    waits = _differ(atomic_load(pointer, sem=sem, scope=scope), expected)
    if timeout_ns is None:
        while waits:
            waits = _differ(atomic_load(pointer, sem=sem, scope=scope), expected)
    else:
        end = machine_clock() + to_tensor(timeout_ns).to(int64)
        while waits and machine_clock() < end:
            waits = _differ(atomic_load(pointer, sem=sem, scope=scope), expected)
    return not waits


__all__ = [
    "atomic_add", "atomic_and", "atomic_cas", "atomic_load", "atomic_max", "atomic_min",
    "atomic_or", "atomic_poll", "atomic_store", "atomic_xchg", "atomic_xor", "load", "store",
]  # fmt: skip
