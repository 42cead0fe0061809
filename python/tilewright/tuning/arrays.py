"""The arrays of a measurement: copied before it, brought back between its launches, and compared."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..compile import CompiledKernel
from ..launch.arguments import Reinterpreted
from ..native.errors import LaunchError

# The largest difference of two results that only order their sums differently, by the largest element.
# Sums of n terms in two orders are apart by at most 2 (n - 1) u times the sum of the absolute terms
# (Higham, Accuracy and Stability of Numerical Algorithms, section 4.2), where u is half of the spacing
# of numbers at 1: 2^-13 of float32 is a sum of 1,024 terms, and of about a million whose signs are random.
# Types that sums are rounded to at their end have a few of their own spacings.
_TOLERANCES = {
    "float64": 2.0**-42,
    "float32": 2.0**-13,
    "float16": 2.0**-8,
    "bfloat16": 2.0**-5,
}
_POISON = 0x55  # in integers
_COARSEST = 0.25  # one spacing of eight bits with two of fraction


def target_of(array: Any) -> Any:
    """What assignments to an array's elements go through."""
    if isinstance(array, Reinterpreted):
        return target_of(array.base)
    # A leaf that requires gradients takes no assignment; its values do.
    return array.detach() if hasattr(array, "detach") else array


def copy_of(array: Any, name: str, kernel: str) -> Any:
    """A copy of an array's values. Raises LaunchError TW0417 where it has none."""
    if array is None:
        return None
    target = target_of(array)
    for method in ("clone", "copy"):
        if hasattr(target, method) and hasattr(target, "__setitem__"):
            return getattr(target, method)()
    raise LaunchError(
        f"`{name}` of {kernel} has to be restored between the runs of a measurement, and a "
        f"{type(target).__name__} cannot be copied and assigned",
        code="TW0417",
        hint="pass a tensor or a NumPy array, or launch once with such a one first",
    )


def place_of(array: Any) -> str:
    """The device that an array is on: what is the fastest on one is not on another."""
    device = str(getattr(array, "device", "cpu"))
    return "" if device == "cpu" else f" on {device}"


def updated_by(kernels: Iterable[Any]) -> list[str]:
    """The arrays that some kernel reads and writes: a second run of it would read what the first has
    left."""
    compiled = (kernel for kernel in kernels if isinstance(kernel, CompiledKernel))
    return list(dict.fromkeys(name for kernel in compiled for name in kernel.updated_arguments()))


def stored_by(kernels: Iterable[Any]) -> list[str]:
    """The arrays that some kernel stores to."""
    compiled = [kernel for kernel in kernels if isinstance(kernel, CompiledKernel)]
    return list(dict.fromkeys(
        kernel.request.parameters[index]
        for kernel in compiled for _, _, is_stored, index in kernel.parameters if is_stored
    ))  # fmt: skip


def is_comparable(target: Any) -> bool:
    """Returns true for an array that can be copied, assigned and compared."""
    can_copy = hasattr(target, "clone") or hasattr(target, "copy")
    return can_copy and all(hasattr(target, name) for name in ("__setitem__", "dtype", "shape"))


def dtype_of(array: Any) -> str:
    """The name of an array's element type."""
    return str(array.dtype).removeprefix("torch.")


def poison(array: Any) -> None:
    """Fill an array with what no kernel computes, so that elements which nobody stores are noticed."""
    target = target_of(array)
    name = dtype_of(target)
    if "float" in name:
        target[...] = math.nan
    elif name != "bool":
        target[...] = _POISON


def count_poison(array: Any) -> int:
    """The elements that `poison` has left, or that look like it."""
    name = dtype_of(array)
    array = _widened(array, name) if name.startswith("float8") else array
    is_left = array != array if "float" in name else array == _POISON
    return 0 if name == "bool" else int(is_left.sum())


def difference(actual: Any, expected: Any, tolerance: float | None) -> str:
    """How two arrays of one shape and type differ, or nothing where they are alike: numbers that are not
    integers within `tolerance` times the largest finite one, all others exactly."""
    name = dtype_of(expected)
    if name.startswith("float8"):
        actual, expected = _widened(actual, name), _widened(expected, name)
    if bool((actual == expected).all()):
        return ""
    if not name.startswith(("float", "bfloat")):
        count = int((actual != expected).sum())
        return f"{count} of {_size(expected)} elements differ"
    share = _TOLERANCES.get(name, _COARSEST) if tolerance is None else tolerance
    actual, expected = _widened(actual, name), _widened(expected, name)
    finite = expected[abs(expected) < math.inf]
    largest = float(abs(finite).max()) if _size(finite) else 0.0
    error = abs(actual - expected)
    is_alike = (actual == expected) | ((actual != actual) & (expected != expected))
    is_alike = is_alike | ((error <= share * largest) & (abs(expected) < math.inf))
    count = int((~is_alike).sum())
    if not count:
        return ""
    finite = error[error < math.inf]
    worst = float(finite.max()) if _size(finite) else math.nan
    num_nan = int(((actual != actual) ^ (expected != expected)).sum())
    if num_nan:
        return f"{count} of {_size(expected)} elements differ, {num_nan} of which one result does not have"
    return (
        f"{count} of {_size(expected)} elements differ by more than {share:.2g} of the largest, "
        f"{largest:.4g}; the largest difference is {worst:.4g}"
    )


def _size(array: Any) -> int:
    return math.prod(array.shape)


def _widened(array: Any, name: str) -> Any:
    """The values in a type that has arithmetic everywhere."""
    if str(array.dtype).removeprefix("torch.") in ("float32", "float64"):
        return array
    return array.float() if hasattr(array, "detach") else array.astype("float32")
