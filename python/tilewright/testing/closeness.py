"""`assert_close`: compares arrays, and says where they differ and by how many units in the last place."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..language.element_types import ELEMENT_TYPES, ElementType


class Format(NamedTuple):
    """A floating-point type: the bits of its fraction, the exponent of its smallest normal number, and the
    relative and absolute tolerance."""

    fraction: int
    exponent: int
    relative: float
    absolute: float


# Tolerances as torch.testing uses them.
_TOLERANCES = {
    "bfloat16": (1.6e-2, 1e-5),
    "float16": (1e-3, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
}


def _format_of(row: ElementType) -> Format:
    """A row's format; of eight bits, with one unit in the last place and the smallest number."""
    fraction, exponent = row.mantissa_bits, 1 - row.exponent_bias
    own = (2.0**-fraction, 2.0 ** (exponent - fraction))
    return Format(fraction, exponent, *_TOLERANCES.get(row.library, own))


FORMATS = {
    row.library: _format_of(row) for row in ELEMENT_TYPES if row.kind == "float" and row.library
}


def assert_close(
    actual: Any,
    expected: Any,
    atol: float | None = None,
    rtol: float | None = None,
    err_msg: str = "",
    *,
    ulps: float | None = None,
) -> None:
    """Raise AssertionError unless |actual - expected| <= atol + rtol * |expected| everywhere.

    Takes tensors, arrays and numbers of f16, bf16, f32, f64, types of eight bits, integers and bools.
    Unset tolerances come from the coarser element type; integers and bools must be equal. With `ulps`
    the bound is as many units in the last place of the coarser type instead. NaN equals NaN; infinities
    must agree. The message has the count, the place of the worst element and its distance in units in
    the last place. Raises ValueError for `ulps` with another tolerance or without a floating-point
    type. Needs NumPy.
    """
    import numpy

    left, left_type = _to_array(actual)
    right, right_type = _to_array(expected)
    if left.shape != right.shape:
        raise AssertionError(f"shapes differ: {left.shape} and {right.shape}. {err_msg}".rstrip())
    known = [name for name in (left_type, right_type) if name in FORMATS]
    coarser = min(known, key=lambda name: FORMATS[name].fraction, default="")
    if ulps is not None and (atol is not None or rtol is not None or not coarser):
        raise ValueError("ulps= is a bound of its own, of floating-point numbers")
    relative, absolute = FORMATS[coarser][2:] if coarser else (0.0, 0.0)
    relative = relative if rtol is None else rtol
    absolute = absolute if atol is None else atol
    with numpy.errstate(invalid="ignore", over="ignore"):
        error = numpy.abs(left - right)
        units = error / _spacing(right, FORMATS[coarser]) if coarser else None
        bound = absolute + relative * numpy.abs(right)
        is_near = error <= bound if ulps is None else units <= ulps
        is_close = (left == right) | (numpy.isnan(left) & numpy.isnan(right))
        is_close |= numpy.isfinite(right) & is_near
    if is_close.all():
        return
    limit = f"{absolute:g} + {relative:g} * |expected|" if ulps is None else f"{ulps:g} ulp of {coarser}"
    raise AssertionError(_difference(left, right, error, units, is_close, limit, coarser, err_msg))


def _difference(
    left: Any, right: Any, error: Any, units: Any, is_close: Any, limit: str, coarser: str, err_msg: str
) -> str:
    """The message for arrays of which some elements are not close."""
    import numpy

    error = numpy.where(numpy.isnan(error), numpy.inf, error)
    worst = numpy.argmax(numpy.where(is_close, -1.0, error))
    place = tuple(int(i) for i in numpy.unravel_index(worst, left.shape))
    count = int((~is_close).sum())
    message = f"{count} of {left.size} elements differ by more than {limit}; worst at {place}: "
    message += f"{float(left[place])!r} instead of {float(right[place])!r}"
    if coarser and numpy.isfinite(error[place]):
        distance = float(units[place])
        message += f", {distance:.3g} ulp of {coarser}" if distance < 100 else f", {distance:.0f} ulp of {coarser}"
    odd = [f"{int(there.sum())} {name}" for name, there in (
        ("NaN", numpy.isnan(left) & ~is_close), ("infinite", numpy.isinf(left) & ~is_close)
    ) if there.any()]  # fmt: skip
    message += f" ({' and '.join(odd)} where they should not be)" if odd else ""
    return f"{message}. {err_msg}".rstrip()


def _spacing(values: Any, form: Format) -> Any:
    """The distance of neighbours in a type around each of its numbers, those below the normal ones too."""
    import numpy

    _, exponents = numpy.frexp(numpy.abs(values))
    exponents = numpy.where(values == 0, form.exponent, numpy.maximum(exponents - 1, form.exponent))
    return numpy.ldexp(1.0, exponents - form.fraction)


def _to_array(value: Any) -> tuple[Any, str]:
    """The values as float64 (integers exactly, as objects if they need it) and the element type."""
    import numpy

    name = str(getattr(value, "dtype", type(value).__name__)).removeprefix("torch.")
    if hasattr(value, "detach"):
        tensor = value.detach().cpu()
        value = tensor.double() if tensor.is_floating_point() else tensor
        value = value.numpy()
    array = numpy.asarray(value)
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        # Differences of large 64-bit integers vanish in float64.
        return array.astype(numpy.longdouble), name
    return array.astype(numpy.float64), "float64" if name == "float" else name
