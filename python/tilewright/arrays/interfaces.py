"""Reads arrays by what they say of themselves: `__array_interface__` (NumPy's protocol, version 3) and
`__cuda_array_interface__` (Numba's, version 3)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, cast

from ..language.element_types import ELEMENT_TYPES
from ..native import native
from ..native.errors import raise_report
from ..native.targets import device_named, first_gpus
from ..launch.arguments.arrays import current_stream
from .protocols import owned
from .bounds import reach
from ..launch.arguments.problems import ArgumentProblem, Reading, unknown_element_type, without_memory

_KINDS = {"bool": "b", "sint": "i", "uint": "u", "float": "f"}
_POINTEES = {
    f"{_KINDS[row.kind]}{max(row.bits // 8, 1)}": row.short_name for row in ELEMENT_TYPES if row.is_of_numpy
}
_NATIVE_ORDERS = "<|=" if sys.byteorder == "little" else ">|="
_LEGACY_STREAM = 1  # of CUDA's default stream, which launches call 0


def read_array_interface(value: Any) -> Reading:
    """An array of the host."""
    return _read(value, _checked(value, value.__array_interface__, "__array_interface__"), "")


def read_cuda_array_interface(value: Any) -> Reading:
    """An array of a GPU: of the one that its `device.id` names, else of the only one that there is. Waits
    for the array's stream where launches go to another one."""
    interface = _checked(value, value.__cuda_array_interface__, "__cuda_array_interface__")
    place = _place_of(value)
    _wait_for(interface.get("stream"), place)
    return _read(value, interface, place)


def _checked(value: Any, said: Any, name: str) -> Mapping[str, Any]:
    kind = type(value).__qualname__
    if not isinstance(said, Mapping) or not {"shape", "typestr"} <= cast("Mapping[str, Any]", said).keys():
        raise ArgumentProblem("TW0405", f"the {name} of a {kind} is not a mapping with a shape and a typestr")
    interface = cast("Mapping[str, Any]", said)
    if interface.get("mask") is not None:
        raise ArgumentProblem(
            "TW0405", "it has a mask, which a kernel would ignore", "pass the mask as an array of its own"
        )
    return interface


def _pointee_of(typestr: Any) -> str:
    text = str(typestr)
    pointee = _POINTEES.get(text[1:])
    if pointee is None or (text[0] not in _NATIVE_ORDERS and not text.endswith("1")):
        raise unknown_element_type(f"typestr {text!r}")
    return pointee


def _read(value: Any, interface: Mapping[str, Any], place: str) -> Reading:
    pointee, item_bytes = _pointee_of(interface["typestr"]), int(interface["typestr"][2:])
    shape = tuple(map(int, interface["shape"]))
    strides = interface.get("strides") or _row_major(shape, item_bytes)
    data = interface.get("data")
    if isinstance(data, tuple) and len(cast("tuple[Any, ...]", data)) == 2:
        address, is_read_only = cast("tuple[Any, Any]", data)
        address, memory, view = int(address or 0), None, value
    elif place:
        raise without_memory("its data is not a pair of an address and a flag")
    else:
        view = memoryview(cast(Any, value if data is None else data))
        begin, base, size, _, is_read_only = native().describe_buffer(view)
        address, memory = begin + int(interface.get("offset", 0)), (base, base + size)
    low, high = address, address
    if 0 not in shape:
        low, high = reach(address, shape, strides, item_bytes)
    if memory and not memory[0] <= low <= high <= memory[1]:
        raise ArgumentProblem(
            "TW0405",
            f"the array has elements from byte {low - memory[0]} to byte {high - memory[0]} of memory that "
            f"has {memory[1] - memory[0]} bytes",
        )
    # Some make the memory when they are asked for the interface, and keep it there.
    description = address, low, high - low, None, bool(is_read_only)
    facts, bits = owned(description, pointee, (view, interface), not shape)
    return facts.on(place), bits


def _row_major(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    strides, step = [0] * len(shape), item_bytes
    for axis in reversed(range(len(shape))):
        strides[axis], step = step, step * shape[axis]
    return tuple(strides)


def _place_of(value: Any) -> str:
    """The GPU that has the memory, by its name. Raises ArgumentProblem TW0409 where nothing tells."""
    kind = next(gpu.kind for gpu in first_gpus() if gpu.torch_build == "cuda")
    index = getattr(getattr(value, "device", None), "id", None)
    if isinstance(index, int):
        return f"{kind}:{index}"
    gpus = [name for name in native().gpus(True) if name.partition(":")[0] == kind]
    if len(gpus) == 1:
        return gpus[0]
    raise ArgumentProblem(
        "TW0409",
        f"the array is on a GPU, and does not say on which of the {len(gpus)} that there are",
        "pass it as a torch tensor, or as an object with __dlpack__",
    )


def _wait_for(stream: Any, place: str) -> None:
    """Wait until what an array's stream has begun is done, unless the launch is in the same one."""
    ours = current_stream(device_named(place))
    if stream is None or stream == (ours or _LEGACY_STREAM):
        return
    if (report := native().synchronize(place)) is not None:
        raise_report(report)
