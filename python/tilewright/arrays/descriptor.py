"""Tensor descriptors made on the host: arrays that kernels access block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..launch.arguments import READERS, SPREADERS, ArgumentProblem, read_tuple
from ..native.errors import LaunchError
from ..language.static import constexpr

MAX_RANK = 5


@dataclass
class TensorDescriptor:
    """An array with shape and strides in elements, and the shape of the blocks to access it in.

    As a kernel's argument it is what `tw.make_tensor_descriptor` gives in the kernel. Block shape and
    padding are compiled in; base, shape and strides are run-time arguments with facts of their own.
    The fields may be changed between launches (autotuners set `block_shape` in a hook). `padding`,
    "zero" or "nan", is what loads outside of the array yield. Base and strides need no alignment here;
    Triton asks for 16 bytes on GPUs.

    Raises LaunchError TW0236 for ranks that differ or are not 1 to 5, a last stride other than 1, an
    extent or block extent below 1, and NaN as padding of integers; again at a launch if they came later.
    """

    base: Any
    shape: Sequence[int]
    strides: Sequence[int]
    block_shape: Sequence[int]
    padding: str = "zero"
    round_f32_to_tf32: bool = False

    def __post_init__(self) -> None:
        self.check()

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        block_shape: Sequence[int],
        padding: str = "zero",
        round_f32_to_tf32: bool = False,
    ) -> TensorDescriptor:
        """Describe a whole array of torch or NumPy, whose last dimension is contiguous."""
        shape = [int(extent) for extent in tensor.shape]
        return cls(tensor, shape, _strides_of(tensor), block_shape, padding, round_f32_to_tf32)

    def check(self) -> None:
        """Raise LaunchError TW0236 unless the fields describe an array."""
        problem = self._problem()
        if problem:
            what, hint = problem
            raise LaunchError(f"this tensor descriptor is wrong: {what}", code="TW0236", hint=hint)

    def _problem_of_rank(self) -> tuple[str, str] | None:
        rank = len(self.block_shape)
        if not len(self.shape) == len(self.strides) == rank:
            what = f"shape {self.shape}, strides {self.strides} and block_shape {self.block_shape} "
            return what + "differ in their number of dimensions", "give one number for each dimension"
        if not 1 <= rank <= MAX_RANK:
            return f"it has {rank} dimensions", "describe 1 to 5 dimensions; reshape others"
        return None

    def _problem(self) -> tuple[str, str] | None:
        """What is wrong, and what to do."""
        if problem := self._problem_of_rank():
            return problem
        for name in ("shape", "block_shape"):
            if any(extent < 1 for extent in getattr(self, name)):
                return f"{name} {getattr(self, name)} has an extent below 1", "each is at least 1"
        if self.strides[-1] != 1:
            hint = "describe the transposed array, or pass the array and use tw.make_block_ptr"
            return f"the last stride is {self.strides[-1]}, not 1", hint
        if self.padding not in ("zero", "nan"):
            return f"the padding is {self.padding!r}", 'choose "zero" or "nan"'
        if self.padding == "nan" and not _is_floating(self.base):
            return "NaN pads floats only", 'choose "zero"'
        if self.round_f32_to_tf32:
            return "loads do not round to TF32", 'give tw.dot input_precision="tf32"'
        return None


def _strides_of(array: Any) -> list[int]:
    """Strides in elements: torch counts so, NumPy and the like in bytes."""
    if hasattr(array, "stride") and not hasattr(array, "strides"):
        strides: Any = array.stride()
        return [int(number) for number in strides]
    if hasattr(array, "strides") and hasattr(array, "itemsize"):
        size = array.itemsize
        if all(number % size == 0 for number in array.strides):
            return [number // size for number in array.strides]
    if not hasattr(array, "shape"):
        raise TypeError(f"a {type(array).__qualname__} is not an array")
    strides, size = [], 1
    for extent in reversed(array.shape):
        strides.insert(0, size)
        size *= int(extent)
    return strides


def _is_floating(array: Any) -> bool:
    return "float" in str(getattr(array, "dtype", "float"))


class _Described(tuple[Any, ...]):
    """A descriptor as the parts of an argument, which the frontend knows by the last field."""

    _fields = ("base", "shape", "strides", "block_shape", "nan_outside", "tensor descriptor")

    @classmethod
    def _make(cls, items: Any) -> _Described:
        return cls(items)


def _spread(descriptor: TensorDescriptor) -> _Described:
    problem = descriptor._problem()  # pyright: ignore[reportPrivateUsage]
    if problem:
        raise ArgumentProblem("TW0236", f"this tensor descriptor is wrong: {problem[0]}", problem[1])
    return _Described((
        descriptor.base,
        tuple(map(int, descriptor.shape)),
        (*map(int, descriptor.strides[:-1]), constexpr(1)),
        constexpr(tuple(map(int, descriptor.block_shape))),
        constexpr(descriptor.padding == "nan"),
        constexpr(True),
    ))  # fmt: skip


SPREADERS[TensorDescriptor] = _spread
READERS[TensorDescriptor] = read_tuple
