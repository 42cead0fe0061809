"""Reads an array for a parameter that is annotated `tw.Tensor`: its memory, shape and strides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

from ..capture.values import Part
from ..launch.arguments import ArgumentProblem, Parts, Reading, read_argument
from ..compile.facts import Facts
from ..launch.parts import ARRAY_CLASS, ArrayClass, renumbered
from .tensor_class import Tensor


class _Kind(NamedTuple):
    """What launches have in common whose arrays have as many dimensions."""

    key: tuple[Any, ...]
    constant: Tensor
    placed: Callable[[int, str], Any]


@lru_cache(maxsize=None)
def _kind_of(rank: int) -> _Kind:
    numbers = [f".{name}[{dim}]" for name in ("shape", "stride") for dim in range(rank)]
    paths = [".base", *numbers]
    base, *rest = (Part(index, path) for index, path in enumerate(paths))
    constant = Tensor(base, tuple(rest[:rank]), tuple(rest[rank:]))
    extents = tuple, None, *[Part] * rank
    # As of a tuple, which a signature has in its place.
    key = tuple, None, Part, extents, extents
    placed = lru_cache(maxsize=1024)(partial(renumbered, constant))
    return _Kind(key, constant, placed)


@lru_cache(maxsize=4096)
def _read_numbers(numbers: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """The facts and bits of extents and strides."""
    readings = [read_argument(number) for number in numbers]
    return tuple(facts for facts, _ in readings), tuple(bits for _, bits in readings)


def read_tensor(array: Any) -> Reading:
    """The key of an array and its parts."""
    shape, strides = shape_and_strides(array)
    base, address = read_argument(array)
    if not isinstance(base, Facts):
        raise ArgumentProblem("TW0405", f"a {type(array).__qualname__} is not an array")
    kind = _kind_of(len(shape))
    parts = Parts()
    facts, bits = _read_numbers((*shape, *strides))
    parts.facts, parts.bits = [base, *facts], [address, *bits]
    parts.values = [array, *bits]
    parts.constant, parts.placed = kind.constant, kind.placed
    return kind.key, parts


def as_tensor(parts: Parts, described: Any) -> Parts:
    """The parts of (base, shape, strides) as those of a Tensor. Raises ValueError for others."""
    if not isinstance(described, tuple) or len(described) != 3:
        raise ValueError("the entry of a tw.Tensor is (pointer, types of the shape, types of the strides)")
    parts.constant = Tensor(*described)
    return parts


def shape_and_strides(array: Any) -> tuple[Sequence[int], Sequence[int]]:
    """Extents, and strides in elements. Raises ArgumentProblem where an object does not tell."""
    strides = getattr(array, "stride", None)
    if callable(strides):  # torch
        return tuple(map(int, array.shape)), tuple(map(int, strides()))
    if not hasattr(array, "strides"):
        array = _as_numpy(array)
    return tuple(map(int, array.shape)), _in_elements(tuple(map(int, array.strides)), array.itemsize)


@lru_cache(maxsize=4096)
def _in_elements(strides: tuple[int, ...], size: int) -> tuple[int, ...]:
    if any(number % size for number in strides):
        raise ArgumentProblem(
            "TW0405",
            f"the strides {strides} are not multiples of the element's {size} bytes",
            "pass a copy, or a field of the records as an array of its own",
        )
    return tuple(number // size for number in strides)


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


setattr(Tensor, ARRAY_CLASS, ArrayClass(read_tensor, as_tensor))
