"""Arrays in memory that are accessed block by block: block pointers and tensor descriptors.

Both know the array's shape and strides (in elements), so that a block may reach outside of the array:
no masks are written. A block pointer carries its position and is moved with `advance`; a tensor
descriptor is given the position at each access. Indices and addresses are computed in 64 bits.
"""

# pyright: reportReturnType=false
from __future__ import annotations

from typing import Any

from .dtypes import block_type, dtype, tensor
from .marks import builtin, builtin_alias, refuse_outside_kernel
from .tile import Shape, Value

Integers = tuple[Any, ...] | list[Any]


class tensor_descriptor:  # noqa: N801
    """An array in memory as kernels see it: made by `make_tensor_descriptor`, or a host's
    `TensorDescriptor` as an argument.

    `isinstance(x, tw.tensor_descriptor)` is known at compile time, and False for pointers. Values go
    through branches, loops, tuples and calls like others.
    """

    __tilewright_builtin__ = "tensor_descriptor"

    base: tensor  # the pointer to the array's first element
    shape: tuple[Any, ...]
    strides: tuple[Any, ...]
    block_shape: tuple[int, ...]
    dtype: dtype
    type: tensor_descriptor_type

    def __init__(self) -> None:
        refuse_outside_kernel("tensor_descriptor")

    def load(
        self, offsets: Integers, cache_modifier: str = "", eviction_policy: str = ""
    ) -> tensor:
        """The block whose first element is at `offsets`.

        Elements outside of the array (before its first or behind its last, in any dimension) are 0,
        or NaN with `padding_option="nan"`. The hints are those of `tw.load`.
        """

    def store(self, offsets: Integers, value: Value) -> None:
        """Write a block, converted to the array's type; what lies outside of the array is dropped."""

    def gather(self, x_offsets: tensor, y_offset: Value) -> tensor:
        """The rows with the numbers `x_offsets` (1-D), from column `y_offset`: [len(x_offsets), N].

        The descriptor is of blocks [1, N]. Rows and columns outside of the array read as padding.
        """

    def scatter(self, value: tensor, x_offsets: tensor, y_offset: Value) -> None:
        """Write rows [len(x_offsets), N] to the rows with these numbers, as `gather` reads them."""

    def atomic_add(self, offsets: Integers, value: Value) -> None:
        """Add a block to memory, element by element, without order (relaxed); yields nothing.

        `atomic_min`, `atomic_max`, `atomic_and`, `atomic_or` and `atomic_xor` are alike. They take the
        types of `tw.atomic_add` and so on; what lies outside of the array is dropped.
        """

    atomic_min = atomic_max = atomic_and = atomic_or = atomic_xor = atomic_add


class tensor_descriptor_type:  # noqa: N801
    """The type of a tensor descriptor, `desc.type`: `block_type` is that of its blocks."""

    __tilewright_builtin__ = "tensor_descriptor_type"

    block_type: block_type

    def __init__(self) -> None:
        refuse_outside_kernel("tensor_descriptor_type")


@builtin
def make_block_ptr(
    base: tensor,
    shape: Integers,
    strides: Integers,
    offsets: Integers,
    block_shape: Shape,
    order: Shape,
) -> Any:
    """A pointer to the block at `offsets` of the array that begins at `base`, for `load` and `store`.

    Shape, strides and offsets are integers of any width, known at run time or before; negative strides
    and offsets are allowed. `order` names the dimensions from the fastest in memory to the slowest; the
    strides say as much, and decide. `load(pointer, boundary_check=(0, 1), padding_option="zero")` checks
    the named dimensions: elements outside read as 0 or NaN ("nan", floats only), and are not stored.
    In dimensions that are not named the block must lie inside: `reference` and `sim:` report where it
    does not. A block pointer takes no mask. Its type is `p.type.element_ty.element_ty`, also
    `p.dtype.element_ty`.
    """


@builtin
def advance(base: Any, offsets: Integers) -> Any:
    """The block pointer `base` moved by `offsets` elements in each dimension; `base` stays as it is."""


@builtin
def make_tensor_descriptor(
    base: tensor,
    shape: Integers,
    strides: Integers,
    block_shape: Shape,
    padding_option: str = "zero",
) -> tensor_descriptor:
    """Describe the array that begins at `base`, of 1 to 5 dimensions, for access in blocks.

    The last stride must be 1 where it is known at compile time; one that is known at run time only is
    used as it is. Base and strides need no alignment and a row of a block no 16 bytes, which copying
    hardware would ask for: kernels that are to run in Triton as well should have them.
    `padding_option` is "zero", or "nan" for floats.
    """


@builtin
def load_tensor_descriptor(
    desc: tensor_descriptor,
    offsets: Integers,
    cache_modifier: str = "",
    eviction_policy: str = "",
) -> tensor:
    """`desc.load(offsets)`."""


@builtin
def store_tensor_descriptor(desc: tensor_descriptor, offsets: Integers, value: Value) -> None:
    """`desc.store(offsets, value)`."""


@builtin
def _experimental_descriptor_load(
    desc: tensor_descriptor, offsets: Integers, block_shape: Shape, dtype: dtype
) -> tensor:
    """`desc.load(offsets)`; shape and dtype must be those of the descriptor's blocks."""


@builtin
def _experimental_descriptor_store(
    desc: tensor_descriptor, value: Value, offsets: Integers
) -> None:
    """`desc.store(offsets, value)`."""


_experimental_make_tensor_descriptor = builtin_alias(
    "_experimental_make_tensor_descriptor", make_tensor_descriptor
)

__all__ = [
    "_experimental_descriptor_load", "_experimental_descriptor_store",
    "_experimental_make_tensor_descriptor", "advance", "load_tensor_descriptor", "make_block_ptr",
    "make_tensor_descriptor", "store_tensor_descriptor", "tensor_descriptor",
    "tensor_descriptor_type",
]  # fmt: skip
