"""`tw.Tensor`: arrays as kernels see them that ask for tiles by coordinates."""

# Kernel code follows the type rules of the language, not those of Python:
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportGeneralTypeIssues=false, reportOperatorIssue=false
from __future__ import annotations

from .. import language as tw
from ..launch.jit import jit


@jit
def _first_outside(extent, at, count: tw.constexpr):
    """Coordinates of `count` elements from `at` on, and which of them are in [0, extent)."""
    place = at + tw.arange(0, count)
    return place, (place >= 0) & (place < extent)


@jit
def _spread(tile, axis: tw.constexpr, rank: tw.constexpr):
    """A tile of one dimension as one of `rank`, along `axis`."""
    for other in tw.static_range(rank):
        if other != axis:
            tile = tw.expand_dims(tile, other)
    return tile


@jit
def _reach(x, at, shape: tw.constexpr):
    """Pointers to a tile's elements, and the mask of those that the array has."""
    tw.static_assert(len(shape) == len(x.shape), "shape has one extent for each dimension of the array")
    tw.static_assert(len(at) == len(x.shape), "there is one coordinate for each dimension of the array")
    pointers, mask = x.base, True
    for axis in tw.static_range(len(shape)):
        place, is_inside = _first_outside(x.shape[axis], at[axis], shape[axis])
        pointers += _spread(place * x.stride[axis], axis, len(shape))
        mask = mask & _spread(is_inside, axis, len(shape))
    return pointers, tw.broadcast_to(mask, shape)


@tw.aggregate
class Tensor:
    """An array of torch, NumPy or DLPack as a kernel's parameter: `def kernel(x: tw.Tensor)`.

    `shape` and `stride` have a number for each dimension, strides in elements, and `base` is the
    pointer to the first element. They are arguments with facts of their own: a stride of 1 is known
    when the kernel is compiled, and with specialize="shape" the values of all of them are.
    """

    base: tw.tensor
    shape: tw.tuple
    stride: tw.tuple

    @property
    def dtype(self):
        """The type of the elements."""
        return self.base.dtype.element_ty

    @jit
    def load(self, at, shape: tw.constexpr, pad=0):
        """The tile of the compile-time `shape` whose first element is at the coordinates `at`, one for
        each dimension; `pad` is what it has outside of the array."""
        pointers, mask = _reach(self, at, shape)
        return tw.load(pointers, mask=mask, other=pad)

    @jit
    def store(self, at, value):
        """Write a tile whose first element goes to the coordinates `at`; nothing outside of the array is
        written. The value is converted to the array's type."""
        pointers, mask = _reach(self, at, value.shape)
        tw.store(pointers, value, mask=mask)
