"""Reads arrays by the buffer protocol, by DLPack, and by what tensors have: their address and type."""

from __future__ import annotations

import sys
from typing import Any

from ..compile.facts import facts_of_memory
from ..language.element_types import OF_DLPACK
from ..launch.arguments.arrays import OwnedAddress, current_stream
from ..launch.arguments.problems import ArgumentProblem, Reading, unknown_element_type, without_memory, wrong_device
from ..launch.arguments.reinterpreted import own_dtype
from ..native import native
from ..native.targets import device_named, gpu_of_dlpack, gpu_of_torch

_BUFFER_TYPES = {
    "?": "i1", "b": "i8", "B": "u8", "c": "u8", "h": "i16", "H": "u16", "i": "i32", "I": "u32",
    "l": "i64", "L": "u64", "q": "i64", "Q": "u64", "n": "i64", "N": "u64",
    "e": "fp16", "f": "fp32", "d": "fp64",
}  # fmt: skip


def _is_zero_dim(array: Any) -> bool:
    return tuple(getattr(array, "shape", (1,))) == ()


def owned(
    description: tuple[int, int, int, Any, bool], pointee: str, owner: object, is_zero_dim: bool
) -> Reading:
    """The facts and the address of memory as `describe_buffer` tells of it, which `owner` keeps alive."""
    address, base, size, _, is_read_only = description
    if not address and size:
        raise without_memory("its address is null")
    value = OwnedAddress(address)
    value.owner, value.memory = owner, (base, size, is_read_only)
    return facts_of_memory(pointee, address, size, is_read_only, is_zero_dim), value


def read_buffer(value: Any) -> Reading:
    # The view keeps the exporter from moving or resizing its memory.
    view = memoryview(value)
    description = native().describe_buffer(view)
    # ctypes says "<f"; kernels have no element type of the other byte order.
    pointee = _BUFFER_TYPES.get(description[3].lstrip("@=<"))
    if pointee is None:
        raise unknown_element_type(f"buffer format {description[3]!r}")
    return owned(description, pointee, view, _is_zero_dim(view))


DLPACK_CPU, _DLPACK_ROCM = 1, 10  # of DLDeviceType


def read_dlpack(value: Any) -> Reading:
    device, index = value.__dlpack_device__()
    options: dict[str, Any] = {}
    gpu = gpu_of_dlpack(device, index) if device != DLPACK_CPU else ""
    if gpu:
        # The producer makes this stream wait for its own. The default stream is 1 for CUDA and 0 for
        # ROCm (array API standard, __dlpack__).
        facts = device_named(gpu)
        options["stream"] = current_stream(facts) or (0 if device == _DLPACK_ROCM else 1)
    elif device != DLPACK_CPU:
        raise wrong_device(f"DLPack device {(int(device), index)}")
    capsule = _lent(value, options)
    description = native().describe_dlpack(capsule)
    code, bits, lanes = description[3][:3]
    pointee = OF_DLPACK.get((code, bits))
    if pointee is None or lanes != 1:
        raise unknown_element_type(f"DLPack type (code {code}, {bits} bits, {lanes} lanes)")
    facts, bits = owned(description, pointee, capsule, _is_zero_dim(value))
    return facts.on(gpu), bits


def read_jax(value: Any) -> Reading:
    """An array of JAX, whose elements never change. Raises ArgumentProblem TW0405 for one that is traced,
    TW0409 for one without memory in one piece."""
    if isinstance(value, sys.modules["jax"].core.Tracer):
        raise ArgumentProblem(
            "TW0405",
            "it has no values while JAX traces the function",
            "tw.jax.call(kernel, grid=..., out_shapes=...) makes a function for JAX's programs",
        )
    if value.is_deleted():
        raise without_memory("it was deleted, or donated to a function")
    try:
        if value.__dlpack_device__()[0] == DLPACK_CPU:
            value.block_until_ready()  # the host has no streams to wait for
        facts, bits = read_dlpack(value)
    except (AttributeError, BufferError, RuntimeError, ValueError) as error:
        raise without_memory(str(error).partition("\n")[0], "pass an array that is on one device") from None
    return facts.but(is_read_only=True), bits


def _lent(value: Any, options: dict[str, Any]) -> Any:
    try:
        return value.__dlpack__(max_version=(1, 0), **options)
    except TypeError:  # a producer of DLPack before 1.0
        return value.__dlpack__(**options)


def read_addressed(value: Any) -> Reading:
    """What has `data_ptr()` and `dtype` as a tensor has. What its extents and strides do not reach is
    none of its memory to the devices that check accesses."""
    try:
        element_type = own_dtype(value.dtype)
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
    facts, bits = owned(description, element_type.short_name, value, _is_zero_dim(value))
    type, _, index = str(getattr(value, "device", "cpu")).partition(":")
    return facts.on(gpu_of_torch(type, int(index or 0)) if type != "cpu" else ""), bits
