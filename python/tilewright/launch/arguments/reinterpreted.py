"""Arrays whose elements a kernel takes for another type."""

from __future__ import annotations

from typing import Any

from ...language.dtypes import dtype
from ...native.above import above


class Reinterpreted:
    """An array whose elements a kernel takes for another type of the same size.

    Has the methods of a tensor that callers of Triton's `TensorWrapper` use; those that copy or move
    act on the array itself, with its own dtype.
    """

    def __init__(self, base: Any, dtype: Any) -> None:
        self.base, self.dtype = base, own_dtype(dtype)

    def __getattr__(self, name: str) -> Any:
        # Facts about the array that do not depend on the type of its elements.
        if name in ("shape", "device", "data", "is_cuda", "ndim", "strides"):
            return getattr(self.base, name)
        raise AttributeError(f"a reinterpreted array has no attribute {name!r}; its `base` may")

    def data_ptr(self) -> int:
        """The address of the first element."""
        return self.base.data_ptr()

    def stride(self, *dim: int) -> Any:
        """The strides in elements, or that of one dimension."""
        return self.base.stride(*dim)

    def element_size(self) -> int:
        """Bytes of an element."""
        return self.base.element_size()

    def numel(self) -> int:
        """The number of elements."""
        return self.base.numel()

    def cpu(self) -> Reinterpreted:
        """The same on the host."""
        return Reinterpreted(self.base.cpu(), self.dtype)

    def to(self, device: Any) -> Reinterpreted:
        """The same on a device."""
        return Reinterpreted(self.base.to(device), self.dtype)

    def clone(self) -> Reinterpreted:
        """A copy."""
        return Reinterpreted(self.base.clone(), self.dtype)

    def copy_(self, other: Reinterpreted) -> None:
        """Take over the elements of another one, bit by bit."""
        self.base.copy_(other.base)

    def new_empty(self, sizes: Any) -> Reinterpreted:
        """An array of the same type with other extents."""
        return Reinterpreted(self.base.new_empty(sizes), self.dtype)

    def __repr__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def own_dtype(element_type: Any) -> dtype:
    """Our dtype for one of ours or of torch's. Raises TypeError for anything else."""
    if isinstance(element_type, dtype):
        return element_type
    if (type(element_type).__module__, type(element_type).__name__) == ("torch", "dtype"):
        try:
            return above("from_torch")(element_type)
        except KeyError:
            pass
    raise TypeError(f"{element_type!r} is not an element type of kernels")


def reinterpret(array: Any, dtype: Any) -> Any:
    """The array as a launch argument with elements of another dtype (ours or torch's), for example
    int8 as bool; the array itself where that is its own dtype again.

    Nothing is copied or converted. Raises TypeError for what is not an array or not a dtype;
    LaunchError at the launch for dtypes of another size.
    """
    if isinstance(array, Reinterpreted):
        array = array.base
        if array.dtype == dtype:
            return array
    if not (hasattr(array, "data_ptr") or hasattr(type(array), "__dlpack__")):
        try:
            memoryview(array)
        except TypeError:
            raise TypeError(f"cannot reinterpret a {type(array).__qualname__}") from None
    return Reinterpreted(array, dtype)
