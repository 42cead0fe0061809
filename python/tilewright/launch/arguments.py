"""Reads launch arguments: what a kernel may assume of each (its facts) and the bits to pass."""

from __future__ import annotations

import enum
import os
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, cast

from ..capture import is_jit
from ..capture.classes import is_bare, is_settled
from ..capture.contents import look_into
from ..capture.values import Part
from ..native.errors import ArgumentRangeError, LaunchError
from ..language.dtypes import dtype
from ..language.static import constexpr
from ..native import native, without_handlers
from ..native.targets import Device, device_named, gpu_of_dlpack, gpu_of_torch
from ..compile.facts import Facts, facts_of_memory, made_exact, parse_facts, scalar_facts

# (address of the first byte, bytes, is read-only) of the memory behind a pointer.
Memory = tuple[int, int, bool]
NO_MEMORY: Memory = (0, 0, False)


class ArgumentProblem(Exception):
    """An argument that cannot be passed; the launch adds the parameter's name."""

    def __init__(self, code: str, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint
        self.index = -1  # of the argument, where it was not being read

    def of_parameter(self, name: str, kernel: str) -> LaunchError:
        """The error of a launch that passed it."""
        error = ArgumentRangeError if self.code == "TW0407" else LaunchError
        message = f"argument `{name}` of {kernel}: {self.message}"
        return error(message, code=self.code, hint=self.hint)


_SIMPLE_CONSTANTS = frozenset({int, bool, str, type(None), dtype})


class _Held:
    """Keeps objects alive with a key that has their addresses. Equal to every other one."""

    def __init__(self, *objects: Any) -> None:
        self.objects = objects

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Held)

    def __hash__(self) -> int:
        return 0


def constexpr_key(value: Any) -> tuple[Any, ...]:
    """What identifies a compile-time constant: 1, True and 1.0 differ, and so do 0.0 and -0.0. Of an
    object its contents count, as they are now; where they cannot be known, no key is like another."""
    kind = cast("type[Any]", type(value))
    if kind in _SIMPLE_CONSTANTS:
        return (kind, value)
    if kind is tuple or kind is list:
        return (kind, *map(constexpr_key, value))
    if kind is float:
        return (kind, float(value).hex())
    if is_jit(value):
        is_itself = kind.__eq__ is object.__eq__ and kind.__hash__ is object.__hash__
        return (kind, value) if is_itself else (kind, id(value), _Held(value))
    if isinstance(value, constexpr):
        return constexpr_key(value.value)
    if kind.__module__ in ("numpy", "torch"):
        return _library_key(kind, value)
    return _derived_key(kind, value) if is_bare(value) else _object_key(kind, value)


def _library_key(kind: type, value: Any) -> tuple[Any, ...]:
    """The key of a number or dtype of a library, which has no more to it."""
    if kind.__name__ == "dtype":
        return (kind, value)
    is_number = hasattr(kind, "item") and not hasattr(kind, "__dlpack__")
    if is_number and not value.dtype.hasobject:
        return (kind, value.tobytes(), str(value.dtype))
    return _object_key(kind, value)


def _derived_key(kind: type, value: Any) -> tuple[Any, ...]:
    """The key of a number, text or tuple of a class that adds nothing to it, as members of an enum have."""
    if isinstance(value, enum.Enum):
        return (kind, value.name, constexpr_key(value.value))
    if isinstance(value, tuple):
        return (kind, *map(constexpr_key, cast("tuple[Any, ...]", value)))
    if isinstance(value, float):
        return (kind, float.hex(value))
    if isinstance(value, int):
        return (kind, int(value))
    return (kind, value) if isinstance(value, type) and is_settled(value.__module__) else _object_key(kind, value)


def _object_key(kind: type, value: Any) -> tuple[Any, ...]:
    if hasattr(kind, "__dlpack__"):
        raise ArgumentProblem(
            "TW0405",
            "an array cannot be a compile-time constant",
            "pass it for a parameter of its own, and not for a tw.constexpr",
        )
    if kind.__hash__ is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise ArgumentProblem(
            "TW0405",
            f"a {kind.__qualname__} cannot be a compile-time constant: it is not hashable",
            "pass numbers, strings, dtypes, functions or tuples of them",
        )
    seen = look_into(value)
    return (kind, seen.digest or object(), _Held(*seen.functions))


Reading = tuple[Any, Any]  # (facts, bits), or (key of a constant, the constant)


def read_constant(value: Any) -> Reading:
    """The key of a compile-time constant and the constant."""
    return constexpr_key(value), value


# Objects that are passed as tuples of their parts.
SPREADERS: dict[type, Callable[[Any], tuple[Any, ...]]] = {}


class Parts:
    """A tuple as several arguments: its run-time parts, and a constant that says where they are."""

    def __init__(self) -> None:
        self.constant: Any = None  # the tuple with a `Part` in the place of each
        self.facts: list[Any] = []
        self.values: list[Any] = []
        self.bits: list[Any] = []
        # (number of the first part, name of the parameter) -> the constant with such parts, where it is kept
        self.placed: Callable[[int, str], Any] | None = None

    def exact(self) -> Parts:
        """The same parts with integers of known values."""
        self.facts = [made_exact(fact, bits) for fact, bits in zip(self.facts, self.bits)]
        return self

    def generalized(self, changed: Callable[[Facts], Facts]) -> Parts:
        """The same parts with other facts."""
        self.facts = [changed(fact) for fact in self.facts]
        return self

    def add(self, value: Any, path: str) -> tuple[Any, Any]:
        """The key of an item and what stands for it in the constant."""
        if spread := SPREADERS.get(type(value)):
            value = spread(value)
        if isinstance(value, (tuple, list)):
            return self._add_items(cast("Sequence[Any]", value), path)
        fact, bit = read_argument(value)
        if not isinstance(fact, Facts):
            return fact, value
        self.facts.append(fact)
        self.values.append(value)
        self.bits.append(bit)
        return Part, Part(len(self.facts) - 1, path)

    def add_entries(self, entries: Sequence[Any], path: str, place: str) -> tuple[Any, Any]:
        """The same of the entries of a signature, as in ("*fp32:16", "i32"), whose pointers are to
        memory on `place`."""
        pairs: list[tuple[Any, Any]] = []
        for index, entry in enumerate(entries):
            name = f"{path}[{index}]"
            if isinstance(entry, (tuple, list)):
                pairs.append(self.add_entries(cast("Sequence[Any]", entry), name, place))
                continue
            self.facts.append(parse_facts(entry).on(place))
            self.values.append(None)
            self.bits.append(None)
            pairs.append((Part, Part(len(self.facts) - 1, name)))
        return (tuple, None, *(key for key, _ in pairs)), tuple(c for _, c in pairs)

    def _add_items(self, items: Sequence[Any], path: str) -> tuple[Any, Any]:
        fields: tuple[str, ...] | None = getattr(items, "_fields", None)
        names = [f".{name}" for name in fields] if fields else [f"[{i}]" for i in range(len(items))]
        pairs = [self.add(item, path + name) for item, name in zip(items, names)]
        key = (tuple, fields, *(key for key, _ in pairs))
        constants = [constant for _, constant in pairs]
        return key, cast(Any, items)._make(constants) if fields else tuple(constants)


def read_tuple(value: Any) -> Reading:
    """The key of a tuple and its parts; a constant where nothing in it is known at run time only."""
    parts = Parts()
    key, parts.constant = parts.add(value, "")
    return (key, parts) if parts.facts else read_constant(value)


_BOOL = scalar_facts("i1")
_FLOAT = scalar_facts("fp32")


def _read_int(value: int) -> Reading:
    reading: Reading | None = native().read_integer(value)
    if reading is None:
        raise ArgumentProblem("TW0407", f"the integer {value} does not fit in 64 bits")
    return reading


def _read_bool(value: bool) -> Reading:
    return _BOOL, value


def _read_float(value: float) -> Reading:
    return _FLOAT, value


class OwnedAddress(int):
    """An address with the object that keeps its memory alive during a launch."""

    owner: object
    memory: Memory


_BUFFER_TYPES = {
    "?": "i1", "b": "i8", "B": "u8", "c": "u8", "h": "i16", "H": "u16", "i": "i32", "I": "u32",
    "l": "i64", "L": "u64", "q": "i64", "Q": "u64", "n": "i64", "N": "u64",
    "e": "fp16", "f": "fp32", "d": "fp64",
}  # fmt: skip


def _is_zero_dim(array: Any) -> bool:
    return tuple(getattr(array, "shape", (1,))) == ()


def _owned(
    description: tuple[int, int, int, Any, bool], pointee: str, owner: object, is_zero_dim: bool
) -> Reading:
    address, base, size, _, is_read_only = description
    if not address and size:
        raise without_memory("its address is null")
    value = OwnedAddress(address)
    value.owner, value.memory = owner, (base, size, is_read_only)
    return facts_of_memory(pointee, address, size, is_read_only, is_zero_dim), value


def _read_buffer(value: Any) -> Reading:
    # The view keeps the exporter from moving or resizing its memory.
    view = memoryview(value)
    description = native().describe_buffer(view)
    # ctypes says "<f"; kernels have no element type of the other byte order.
    pointee = _BUFFER_TYPES.get(description[3].lstrip("@=<"))
    if pointee is None:
        raise unknown_element_type(f"buffer format {description[3]!r}")
    return _owned(description, pointee, view, _is_zero_dim(view))


_DLPACK_TYPES = {
    (6, 8): "i1", (0, 8): "i8", (0, 16): "i16", (0, 32): "i32", (0, 64): "i64",
    (1, 8): "u8", (1, 16): "u16", (1, 32): "u32", (1, 64): "u64",
    (2, 16): "fp16", (2, 32): "fp32", (2, 64): "fp64", (4, 16): "bf16",
    # kDLFloat8_e4m3fn, _e4m3fnuz, _e5m2, _e5m2fnuz (dlpack.h)
    (10, 8): "fp8e4nv", (11, 8): "fp8e4b8", (12, 8): "fp8e5", (13, 8): "fp8e5b16",
}  # fmt: skip
_DLPACK_CPU, _DLPACK_ROCM = 1, 10  # of DLDeviceType


def _read_dlpack(value: Any) -> Reading:
    device, index = value.__dlpack_device__()
    options: dict[str, Any] = {}
    gpu = gpu_of_dlpack(device, index) if device != _DLPACK_CPU else ""
    if gpu:
        # The producer makes this stream wait for its own. The default stream is 1 for CUDA and 0 for
        # ROCm (array API standard, __dlpack__).
        facts = device_named(gpu)
        options["stream"] = current_stream(facts) or (0 if device == _DLPACK_ROCM else 1)
    elif device != _DLPACK_CPU:
        raise wrong_device(f"DLPack device {(int(device), index)}")
    capsule = _lent(value, options)
    description = native().describe_dlpack(capsule)
    code, bits, lanes = description[3][:3]
    pointee = _DLPACK_TYPES.get((code, bits))
    if pointee is None or lanes != 1:
        raise unknown_element_type(f"DLPack type (code {code}, {bits} bits, {lanes} lanes)")
    facts, bits = _owned(description, pointee, capsule, _is_zero_dim(value))
    return facts.on(gpu), bits


def _lent(value: Any, options: dict[str, Any]) -> Any:
    try:
        return value.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # a producer of DLPack before 1.0
        return value.__dlpack__(**options)


def current_stream(gpu: Device) -> int:
    """The stream that a GPU's launches go to: torch's current one, else the driver's default."""
    torch: Any = sys.modules.get("torch")
    streams = getattr(torch, gpu.torch_type, None)
    if streams is None or not streams.is_initialized():
        return 0
    return streams.current_stream(gpu.index).cuda_stream


def unknown_element_type(name: str) -> ArgumentProblem:
    """An array of a type that kernels do not have."""
    return ArgumentProblem(
        "TW0406",
        f"arrays of {name} cannot be passed to a kernel",
        "element types are bool, (u)int8-64, float8e4nv (float8_e4m3fn), float8e5 (float8_e5m2), "
        "float8e4b8 (float8_e4m3fnuz), float8e5b16 (float8_e5m2fnuz), float16, bfloat16, float32 "
        "and float64; others are passed as bytes, as with x.view(torch.uint8)",
    )


def without_memory(reason: str, hint: str = "pass a dense tensor with values") -> ArgumentProblem:
    """An array without memory that a kernel could read."""
    return ArgumentProblem("TW0409", f"it has no memory for a kernel: {reason}", hint)


def wrong_device(place: str) -> ArgumentProblem:
    """An array whose memory is neither the host's nor a GPU's that kernels run on."""
    return ArgumentProblem(
        "TW0409",
        f"the array is on {place}, where no kernel runs",
        "move it with .cpu() or .to('cuda')",
    )


class Reinterpreted:
    """An array whose elements a kernel takes for another type of the same size.

    Has the methods of a tensor that callers of Triton's `TensorWrapper` use; those that copy or move
    act on the array itself, with its own dtype.
    """

    def __init__(self, base: Any, dtype: Any) -> None:
        self.base, self.dtype = base, _own_dtype(dtype)

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


def _own_dtype(element_type: Any) -> dtype:
    """Our dtype for one of ours or of torch's. Raises TypeError for anything else."""
    if isinstance(element_type, dtype):
        return element_type
    if (type(element_type).__module__, type(element_type).__name__) == ("torch", "dtype"):
        from .torch import from_torch

        try:
            return from_torch(element_type)
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


def _read_reinterpreted(value: Reinterpreted) -> Reading:
    facts, bits = read_argument(value.base)
    if not isinstance(facts, Facts) or not facts.is_pointer:
        raise ArgumentProblem("TW0405", "only arrays can be reinterpreted as another dtype")
    if dtype(facts.type).itemsize != value.dtype.itemsize:
        raise ArgumentProblem(
            "TW0406", f"elements of {facts.type} cannot be taken for {value.dtype}: sizes differ"
        )
    return facts.as_type(value.dtype.short_name), bits


# How arguments of exactly a type are read; read_argument fills it for subclasses and libraries.
READERS: dict[type, Callable[[Any], Reading]] = {
    int: _read_int,
    bool: _read_bool,
    float: _read_float,
    Reinterpreted: _read_reinterpreted,
    **{kind: read_constant for kind in (type(None), str, constexpr, dtype)},
    tuple: read_tuple,
    list: read_tuple,
    **{kind: read_constant for kind in (types.FunctionType, types.BuiltinFunctionType, type)},
}


def read_argument(value: Any) -> Reading:
    """The facts and bits of an argument, or the key of a constant and the constant."""
    reader = READERS.get(type(value))
    if reader is None:
        reader = READERS[type(value)] = _find_reader(type(value), value)
    return reader(value)


def make_reader(readers: Sequence[Callable[[Any], Reading]]) -> Callable[[tuple[Any, ...]], Any]:
    """What reads a kernel's arguments at once where they are numbers, constants and torch tensors on
    the host; it gives None for all others, and for tensors that overlap."""
    modes = {read_argument: 0, read_constant: 1}
    return native().make_reader(
        [modes.get(reader, 2) for reader in readers], tuple(readers), (_BOOL, _FLOAT)
    )


def _find_reader(kind: type, value: Any) -> Callable[[Any], Reading]:
    _register_libraries(kind)
    for cls in kind.__mro__:
        if cls in READERS:
            return READERS[cls]
    if hasattr(kind, "__tilewright_jit__"):
        return read_constant
    if hasattr(kind, "__dlpack__") and hasattr(kind, "__dlpack_device__"):
        return _read_dlpack
    if hasattr(kind, "__cuda_array_interface__"):
        raise ArgumentProblem(
            "TW0409",
            "the array is on a GPU, and does not say on which",
            "pass it as a torch tensor, or as an object with __dlpack__",
        )
    if hasattr(kind, "data_ptr") and hasattr(value, "dtype"):
        return _read_addressed
    return _find_buffer_reader(kind, value)


def _register_libraries(kind: type) -> None:
    libraries = {cls.__module__.partition(".")[0] for cls in kind.__mro__}
    if "torch" in libraries:
        without_handlers(_register_torch)
    if "numpy" in libraries:
        without_handlers(_register_numpy)


def _register_torch() -> None:
    from . import torch as torch_arguments

    torch_arguments.register(READERS)


def _register_numpy() -> None:
    from . import numpy as numpy_arguments

    numpy_arguments.register(READERS)


def _read_addressed(value: Any) -> Reading:
    """What has `data_ptr()` and `dtype` as a tensor has. What its extents and strides do not reach is
    none of its memory to the devices that check accesses."""
    try:
        element_type = _own_dtype(value.dtype)
    except TypeError:
        raise unknown_element_type(str(value.dtype)) from None
    address: Any = value.data_ptr()
    if not hasattr(address, "__index__") or not 0 <= address < 1 << 64:
        raise without_memory(f"its data_ptr() is {address!r}, no address")
    shape = tuple(getattr(value, "shape", ()))
    strides = tuple(map(int, value.stride())) if hasattr(value, "stride") else (0,) * len(shape)
    steps = [(extent - 1) * stride for extent, stride in zip(shape, strides)]
    low = sum(min(step, 0) for step in steps)
    count = sum(map(abs, steps)) + 1 if all(shape) else 0
    memory = address + low * element_type.itemsize, count * element_type.itemsize
    description = (address, *memory, None, False)
    facts, bits = _owned(description, element_type.short_name, value, _is_zero_dim(value))
    type, _, index = str(getattr(value, "device", "cpu")).partition(":")
    return facts.on(gpu_of_torch(type, int(index or 0)) if type != "cpu" else ""), bits


def _find_buffer_reader(kind: type, value: Any) -> Callable[[Any], Reading]:
    try:
        memoryview(value)
    except TypeError:
        raise ArgumentProblem(
            "TW0405",
            f"an object of type {kind.__module__}.{kind.__qualname__} cannot be passed to a kernel",
            "kernels take tensors, arrays, numbers and compile-time constants",
        ) from None
    return _read_buffer


# What else becomes of an array that a kernel writes, by type: None where nothing does.
WRITE_MARKERS: dict[type, Callable[[Any], None] | None] = {}


def mark_written(value: Any) -> None:
    """Tell the library that an array is of that a kernel writes it."""
    kind = type(value)
    if kind not in WRITE_MARKERS:
        known = (WRITE_MARKERS[cls] for cls in kind.__mro__ if cls in WRITE_MARKERS)
        WRITE_MARKERS[kind] = next(known, None)
    marker = WRITE_MARKERS[kind]
    if marker is not None:
        marker(value)


def _mark_base(value: Reinterpreted) -> None:
    mark_written(value.base)


WRITE_MARKERS[Reinterpreted] = _mark_base

# The memory behind arguments of a type, for devices that check every access.
MEMORY_READERS: dict[type, Callable[[Any], Memory]] = {}


def memory_of(value: Any, bits: Any) -> Memory:
    """The memory that an argument may reach; NO_MEMORY of numbers."""
    if isinstance(bits, OwnedAddress):
        return bits.memory
    while isinstance(value, Reinterpreted):
        value = value.base
    for cls in type(value).__mro__:
        if cls in MEMORY_READERS:
            return MEMORY_READERS[cls](value)
    return NO_MEMORY


# (value, address) -> (begin, end) of memory that meets the memory of every other argument that
# shares an allocation with this one, without the cost of reading the allocation where it can be.
SPAN_READERS: dict[type, Callable[[Any, int], tuple[int, int]]] = {}


def _read_span(value: Any, address: int) -> tuple[int, int]:
    base, size, _ = memory_of(value, address)
    return base, base + size


def _span_of_base(value: Reinterpreted, address: int) -> tuple[int, int]:
    return span_of(value.base, address)


SPAN_READERS[Reinterpreted] = _span_of_base


def span_of(value: Any, address: int) -> tuple[int, int]:
    """The memory of a pointer argument, for finding overlaps; empty when it is not known."""
    reader = SPAN_READERS.get(type(value))
    if reader is None:
        known = (SPAN_READERS[cls] for cls in type(value).__mro__ if cls in SPAN_READERS)
        reader = SPAN_READERS[type(value)] = next(known, _read_span)
    return reader(value, address)
