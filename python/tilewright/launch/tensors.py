"""Reads an array for a parameter that is annotated `tw.Tensor`: its memory, shape and strides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..tensors import Tensor
from .arguments import ArgumentProblem, Parts, Reading


class _Described(NamedTuple):
    base: Any
    shape: tuple[Any, ...]
    stride: tuple[Any, ...]


def read_tensor(array: Any) -> Reading:
    """The key of an array and its parts."""
    parts = Parts()
    key, constant = parts.add(_Described(array, *map(tuple, shape_and_strides(array))), "")
    # As of a tuple, which a signature has in its place.
    return (tuple, None, *key[2:]), as_tensor(parts, constant)


def as_tensor(parts: Parts, described: Any) -> Parts:
    """The parts of (base, shape, strides) as those of a Tensor. Raises ValueError for others."""
    if not isinstance(described, tuple) or len(described) != 3:
        raise ValueError("the entry of a tw.Tensor is (pointer, types of the shape, types of the strides)")
    parts.constant = Tensor(*described)
    return parts


def shape_and_strides(array: Any) -> tuple[Sequence[int], Sequence[int]]:
    """Extents, and strides in elements. Raises ArgumentProblem where an object does not tell."""
    if not hasattr(array, "strides") and not hasattr(array, "stride"):
        array = _as_numpy(array)
    shape = [int(extent) for extent in array.shape]
    strides = getattr(array, "stride", None)
    if callable(strides):  # torch
        return shape, list(strides())
    size = array.itemsize
    if any(number % size for number in array.strides):
        raise ArgumentProblem(
            "TW0405",
            f"the strides {tuple(array.strides)} are not multiples of the element's {size} bytes",
            "pass a copy, or a field of the records as an array of its own",
        )
    return shape, [number // size for number in array.strides]


def _as_numpy(array: Any) -> Any:
    """A view of an object of DLPack's protocol or the buffer protocol on the host."""
    try:
        import numpy

        return numpy.from_dlpack(array) if hasattr(array, "__dlpack__") else numpy.asarray(memoryview(array))
    except (ImportError, TypeError, RuntimeError, BufferError, ValueError) as error:
        raise ArgumentProblem(
            "TW0405",
            f"a {type(array).__qualname__} does not tell its shape and strides ({error})",
            "pass a torch tensor or a NumPy array",
        ) from None
