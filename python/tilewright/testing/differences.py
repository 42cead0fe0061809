"""Where arrays of two devices differ, by the values of their elements or by their words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..language.element_types import BY_SHORT_NAME, ElementType
from .check_runs import storage_of
from .closeness import FORMATS

class Tolerance(NamedTuple):
    """A user's relative and absolute tolerance; None: the type's."""

    relative: float | None
    absolute: float | None


def values_of(array: Any, type: str) -> Any:
    """The elements as NumPy has them; those of a type that NumPy does not know as float64."""
    words, row = storage_of(array), BY_SHORT_NAME[type]
    return words if row.is_of_numpy else _decoded(words, row)


def _decoded(words: Any, form: ElementType) -> Any:
    """The numbers that words of a format spell; infinities and NaN as the numbers that follow the largest."""
    import numpy

    bits = words.astype(numpy.int64)
    exponent_bits = form.bits - 1 - form.mantissa_bits
    exponent = (bits >> form.mantissa_bits) & ((1 << exponent_bits) - 1)
    fraction = (bits & ((1 << form.mantissa_bits) - 1)) * 2.0**-form.mantissa_bits
    magnitude = numpy.ldexp(fraction + (exponent > 0), numpy.maximum(exponent, 1) - form.exponent_bias)
    return numpy.where(bits >> (form.bits - 1), -magnitude, magnitude)


def differing(first: Any, second: Any, *initial: Any) -> int | None:
    """The first element that two launches left differently, and that not both left as it was."""
    import numpy

    words = [storage_of(array).reshape(-1).view(f"uint{8 * storage_of(array).itemsize}") for array in (
        first, second, *initial
    )]  # fmt: skip
    is_left = (words[0] == words[2]) & (words[1] == words[3])
    found = numpy.flatnonzero((words[0] != words[1]) & ~is_left)
    return int(found[0]) if found.size else None


def difference(
    actual: Any, expected: Any, types: Mapping[str, str], name: str, tolerance: Tolerance, longest: int
) -> tuple[int, str] | None:
    """The first element that is not close, and what to say of it; None where all are.

    Sums may be made in another order, so an error is measured by the larger of the expected number and the
    root mean square of the array. The tolerances are those of the coarsest type among the launch's arrays;
    `longest`, the elements of the largest one, bounds the length of sums.
    """
    import numpy

    expected = numpy.asarray(expected).reshape(-1)
    if expected.size != actual.size:
        return 0, f"{actual.size} elements, and {expected.size} expected"
    if BY_SHORT_NAME[types[name]].kind != "float":
        return _first(actual, expected, actual != expected, "")
    libraries = [BY_SHORT_NAME[type].library for type in types.values()]
    formats = [FORMATS[library] for library in libraries if library in FORMATS] or [FORMATS["float8_e4m3fn"]]
    coarsest = min(formats, key=lambda form: form.fraction)
    relative = coarsest.relative + _of_order(coarsest.fraction, longest)
    relative = relative if tolerance.relative is None else tolerance.relative
    absolute = coarsest.absolute if tolerance.absolute is None else tolerance.absolute
    left, right = actual.astype(numpy.float64), expected.astype(numpy.float64)
    finite = right[numpy.isfinite(right)]
    with numpy.errstate(invalid="ignore", over="ignore"):
        scale = numpy.sqrt(numpy.mean(finite**2)) if finite.size else 0.0
        bound = absolute + relative * numpy.maximum(numpy.abs(right), scale)
        is_close = (numpy.abs(left - right) <= bound) & numpy.isfinite(right)
    is_close |= (left == right) | (numpy.isnan(left) & numpy.isnan(right))
    return _first(left, right, ~is_close, f" by more than {absolute:g} + {relative:g} * max(|expected|, {scale:.3g})")


def _of_order(fraction: int, longest: int) -> float:
    """The change that the order of so many additions may make, relative to their result: errors of rounding in fp32,
    or in fp64, add up as in a random walk; four of them allow for the worst of many elements."""
    return float(4 * 2.0 ** -(max(fraction, 23) + 1) * longest**0.5)


def _first(left: Any, right: Any, is_wrong: Any, limit: str) -> tuple[int, str] | None:
    if not is_wrong.any():
        return None
    index = int(is_wrong.argmax())
    text = f"{int(is_wrong.sum())} of {left.size} elements differ{limit}; the first is element {index}: "
    return index, f"{text}{left[index].item()!r} instead of {right[index].item()!r}"
