"""What an access to a block of a strided array means, in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np


def block_of(
    array: np.ndarray[Any, Any],
    indices: Sequence[Sequence[int]],
    padding: float = 0,
) -> np.ndarray[Any, Any]:
    """The elements at all combinations of indices; `padding` where one is outside of the array."""
    shape = tuple(len(along) for along in indices)
    result = np.full(shape, padding, array.dtype)
    for place in np.ndindex(shape):
        index = tuple(along[i] for along, i in zip(indices, place))
        if all(0 <= i < n for i, n in zip(index, array.shape)):
            result[place] = array[index]
    return result


def put_block(
    array: np.ndarray[Any, Any], indices: Sequence[Sequence[int]], value: np.ndarray[Any, Any]
) -> None:
    """Store a block; elements outside of the array are dropped."""
    for place in np.ndindex(value.shape):
        index = tuple(along[i] for along, i in zip(indices, place))
        if all(0 <= i < n for i, n in zip(index, array.shape)):
            array[index] = value[place]


def spans(offsets: Sequence[int], block: Sequence[int]) -> list[range]:
    """The indices of a block along each dimension."""
    return [range(start, start + extent) for start, extent in zip(offsets, block)]


def elements(
    rng: np.random.Generator, shape: Sequence[int], dtype: str
) -> np.ndarray[Any, Any]:
    """Random elements that every dtype holds exactly."""
    return rng.integers(0 if dtype.startswith("u") else -50, 50, shape).astype(dtype)
