"""`triton.tools.ragged_tma`: arrays whose rows are a row of batches of any lengths, accessed block by
block so that nothing outside of a batch is read or written.

Every device has them: a batch is described by a tensor descriptor of its own, made in the kernel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tilewright.triton.language as tl
from tilewright.native.errors import LaunchError
from tilewright.language.marks import library_function
from tilewright.arrays.descriptor import TensorDescriptor

from ..absent import names_of

MOST_DIMENSIONS = 3
MOST_DIMENSIONS_TO_WRITE = 4


def create_ragged_descriptor(
    T: Any, block_shape: Sequence[int], ragged_dim: int = 0, write_only: bool = False
) -> TensorDescriptor:
    """Describe an array whose batches lie one behind the other along `ragged_dim`.

    The array has 2 to 3 dimensions (to 4 with `write_only`), the last of which is contiguous and not
    ragged. Kernels pass the descriptor to `load_ragged` and `store_ragged`. Raises LaunchError TW0236.
    """
    rank = len(T.shape)
    most = MOST_DIMENSIONS_TO_WRITE if write_only else MOST_DIMENSIONS
    dimension = ragged_dim + rank if ragged_dim < 0 else ragged_dim
    if rank > most or not 0 <= dimension < rank - 1:
        raise LaunchError(
            f"dimension {ragged_dim} of an array of {rank} dimensions cannot be ragged",
            code="TW0236",
            hint=f"any but the last can be, of 2 to {most} dimensions",
        )
    return TensorDescriptor.from_tensor(T, list(block_shape))


@library_function
def _batch_of(TMA, end, ragged_dim: tl.constexpr):
    """The array as far as one of its batches goes."""
    shape = TMA.shape[:ragged_dim] + (tl.minimum(end, TMA.shape[ragged_dim]),) + TMA.shape[ragged_dim + 1 :]
    return tl.make_tensor_descriptor(TMA.base, shape, TMA.strides, TMA.block_shape)


@library_function
def _place_of(batch_offset, coords, ragged_dim: tl.constexpr):
    row = batch_offset + coords[ragged_dim]
    return tuple(coords[:ragged_dim]) + (row,) + tuple(coords[ragged_dim + 1 :])


@library_function
def to_ragged_indices(batch_offset, batch_size, row):
    """The three coordinates by which Triton's descriptors name a row of a batch."""
    most: tl.constexpr = 0x40000000
    return most, batch_offset + batch_size, most - batch_size + row


@library_function
def load_ragged(TMA, batch_offset, batch_size, coords, ragged_dim: tl.constexpr = 0):
    """The block at `coords` of the batch T[batch_offset : batch_offset + batch_size]; what lies
    behind the batch or outside of the array is 0."""
    tl.static_assert(len(TMA.shape) == len(coords), "load_ragged takes one coordinate for each dimension")
    batch = _batch_of(TMA, batch_offset + batch_size, ragged_dim)
    return batch.load(_place_of(batch_offset, coords, ragged_dim))


@library_function
def store_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Write a block at `coords` of the batch T[batch_offset : batch_offset + batch_size]; what lies
    behind the batch or outside of the array is dropped."""
    tl.static_assert(len(TMA.shape) == len(coords), "store_ragged takes one coordinate for each dimension")
    batch = _batch_of(TMA, batch_offset + batch_size, ragged_dim)
    batch.store(_place_of(batch_offset, coords, ragged_dim), data)


@library_function
def atomic_add_ragged(TMA, batch_offset, batch_size, coords, data, ragged_dim: tl.constexpr = 0):
    """Add a block at `coords` of the batch T[batch_offset : batch_offset + batch_size]; what lies
    behind the batch or outside of the array is dropped."""
    tl.static_assert(len(TMA.shape) == len(coords), "atomic_add_ragged takes one coordinate for each dimension")
    batch = _batch_of(TMA, batch_offset + batch_size, ragged_dim)
    batch.atomic_add(_place_of(batch_offset, coords, ragged_dim), data)


__path__: list[str] = []
__getattr__ = names_of(__name__)
