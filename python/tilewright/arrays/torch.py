"""How torch tensors are read as kernel arguments, and torch's dtypes as ours; imported on use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from ..compile.facts import Changes, Facts, pointer_facts
from ..language.dtypes import dtype
from ..language.element_types import ELEMENT_TYPES
from ..native import native
from ..native.targets import device_named, gpu_of_dlpack, gpu_of_torch
from .protocols import DLPACK_CPU
from .bounds import SHAPE_READERS, ShapedArray
from ..launch.arguments.memory import MEMORY_READERS, SPAN_READERS, WRITE_MARKERS
from ..launch.arguments.problems import (
    ArgumentProblem,
    Memory,
    Reading,
    unknown_element_type,
    without_memory,
    wrong_device,
)
from ..graphs.tracing import watch_tracing
from ..launch.arguments.tracing import untraced

_POINTEES: dict[torch.dtype, str] = {
    getattr(torch, row.library): row.short_name for row in ELEMENT_TYPES if hasattr(torch, row.library)
}

# (dtype, divisibility and changes, is 0-d, device) -> facts: one probe for each tensor of a launch.
_Key = tuple[torch.dtype, tuple[int, Changes], bool, torch.device]
_facts: dict[_Key, Facts] = {}


def from_torch(element_type: torch.dtype) -> dtype:
    """Our dtype for one of torch's. Raises KeyError when kernels have no such type."""
    return dtype(_POINTEES[element_type])


def _read_tensor(tensor: torch.Tensor) -> Reading:
    if type(tensor).__name__ == "FakeTensor":  # torch warns where its address is asked for
        raise _without_memory(tensor)
    is_on_host = tensor.is_cpu
    try:
        address = tensor.data_ptr()
        # The size of a GPU's last-level cache does not matter to a kernel's code.
        known = native().pointer_facts(address, tensor.nbytes if is_on_host else 0)
        key = (tensor.dtype, known, not tensor.ndim, tensor.device)
    except RuntimeError as error:
        raise _without_memory(tensor, str(error)) from None
    if not address and _has_elements(tensor):
        raise _without_memory(tensor)
    if tensor.is_neg():
        raise _negated()
    if tensor.is_nested:
        raise _without_memory(tensor)
    if is_on_host:
        _check_reach(tensor)
    return _facts.get(key) or _find_facts(key), address


def _check_reach(tensor: torch.Tensor) -> None:
    """Refuse one whose storage has been resized since it was made: torch leaves its shape as it was."""
    size = tensor.untyped_storage().nbytes()
    begin, whole = tensor.storage_offset() * tensor.itemsize, tensor.nbytes
    if not tensor.is_contiguous():
        last = sum((extent - 1) * stride for extent, stride in zip(tensor.shape, tensor.stride()))
        whole = (last + 1) * tensor.itemsize if whole else 0
    reach = begin + whole if whole else 0
    if reach > size:
        raise ArgumentProblem(
            "TW0405",
            f"the tensor reaches to byte {reach} of a storage that has {size} bytes",
            "its storage was resized after the tensor was made: resize it back, or make the tensor anew",
        )


def _has_elements(tensor: torch.Tensor) -> bool:
    try:
        return bool(tensor.numel())
    except Exception:  # a size that only a tracer knows
        return True


def _without_memory(tensor: torch.Tensor, error: str = "") -> ArgumentProblem:
    """Why there is nothing to read or write, as far as the tensor tells."""
    reason, hint = _absence(tensor, error)
    return without_memory(reason, hint)


def _absence(tensor: torch.Tensor, error: str) -> tuple[str, str]:
    kind = type(tensor).__name__
    transforms: Any = getattr(torch._C, "_functorch", None)  # pyright: ignore[reportPrivateUsage]
    if kind == "FakeTensor":
        return "a FakeTensor is traced, not computed", (
            "pass only FakeTensors, for which a launch runs nothing, or none of them"
        )
    if tensor.is_meta:
        return "it is on the device meta", "make it on cpu or cuda; kernel.warmup takes dtypes"
    if transforms and transforms.is_functorch_wrapped_tensor(tensor):
        return "it is within a transform of torch.func (vmap, grad, ...)", (
            "make the function that launches a tw.torch_op, and register a rule for it"
        )
    if torch._is_functional_tensor(tensor):  # pyright: ignore[reportPrivateUsage]
        return "a functional tensor is traced, not computed", "launch kernels outside of tracing"
    if tensor.is_nested:
        return "a nested tensor holds tensors of several shapes", "pass tensor.values()"
    if tensor.layout is not torch.strided:
        return f"its layout is {tensor.layout}", (
            "pass its parts (indices, values), or tensor.to_dense()"
        )
    if tensor._is_zerotensor():  # pyright: ignore[reportPrivateUsage]
        return "its zeros are not stored", "pass tensor.clone()"
    if type(tensor) not in (torch.Tensor, torch.nn.Parameter):
        return f"a {kind} keeps its values in other tensors", "pass the tensors that it wraps"
    return error or "its storage is empty", "resize the storage, or pass another tensor"


def _negated() -> ArgumentProblem:
    return ArgumentProblem(
        "TW0405", "the tensor is a lazy negation of its memory", "pass tensor.resolve_neg()"
    )


def _find_facts(key: _Key) -> Facts:
    element_type, known, is_zero_dim, device = key
    place = "" if device.type == "cpu" else gpu_of_torch(device.type, device.index)
    if device.type != "cpu" and not place:
        raise wrong_device(f"device {device}")
    if element_type not in _POINTEES:
        raise unknown_element_type(str(element_type))
    facts = pointer_facts(_POINTEES[element_type], *known)
    return _facts.setdefault(key, (facts.zero_dim if is_zero_dim else facts).on(place))


@untraced
def _facts_of_lent(
    element_type: torch.dtype, divisibility: int, changes: Changes, device_type: int, index: int
) -> Facts:
    """The facts of a tensor on a device by its type and number of DLPack."""
    device = torch.device("cpu")
    if device_type != DLPACK_CPU:
        gpu = gpu_of_dlpack(device_type, index)
        if not gpu:
            raise wrong_device(f"DLPack device {(device_type, index)}")
        device = torch.device(device_named(gpu).torch_name)
    key = (element_type, (divisibility, changes), False, device)
    return _facts.get(key) or _find_facts(key)


def _memory(tensor: torch.Tensor) -> Memory:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes(), False


def _shape(tensor: torch.Tensor) -> ShapedArray:
    size = tensor.element_size()
    strides = [stride * size for stride in tensor.stride()]
    return tensor.data_ptr(), tensor.shape, strides, size


@untraced
def _span(tensor: torch.Tensor, address: int) -> tuple[int, int]:
    # A prefix of its storage meets every other prefix, and whatever is none stands for all of it.
    if tensor.storage_offset() == 0 and tensor.is_contiguous():
        return address, address + tensor.nbytes
    base, size, _ = _memory(tensor)
    _check_reach(tensor)
    return base, base + size


# torch.autograd.graph.increment_version asks first whether it was given a tensor or a list of them, which
# takes as long as the rest of it.
_increment_version: Any = getattr(torch._C, "_increment_version", None)  # pyright: ignore[reportPrivateUsage]


def _mark_written(tensor: torch.Tensor) -> None:
    # A backward pass that saved the tensor has to see that it is another one now.
    _increment_version([tensor])


def register(readers: dict[type, Callable[[Any], Reading]]) -> None:
    """Add torch's types to the readers."""
    readers[torch.Tensor] = _read_tensor
    types = torch.Tensor, torch.nn.Parameter
    native().set_tensor_reading(types, _facts_of_lent, _span, _increment_version)
    watch_tracing()
    MEMORY_READERS[torch.Tensor] = _memory
    SPAN_READERS[torch.Tensor] = _span
    SHAPE_READERS[torch.Tensor] = _shape
    WRITE_MARKERS[torch.Tensor] = _mark_written if _increment_version else None
