"""torch's own tensors at addresses of a GPU, on machines that have none: by DLPack, as other libraries
lend arrays to torch."""

from __future__ import annotations

import ctypes
from typing import Any

import torch


class _Tensor(ctypes.Structure):
    """DLTensor (https://dmlc.github.io/dlpack)."""

    _fields_ = [
        ("data", ctypes.c_uint64), ("device_type", ctypes.c_int32), ("device_index", ctypes.c_int32),
        ("num_dims", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64),
    ]  # fmt: skip


class _Managed(ctypes.Structure):
    """DLManagedTensor; `context` and `deleter` are null."""

    _fields_ = [("tensor", _Tensor), ("context", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


_CUDA, _FLOAT = 2, 2  # of DLDeviceType and DLDataTypeCode
_lent: list[Any] = []  # torch may look at what it was lent while a tensor lives

_new_capsule: Any = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


def lent_tensor(size: int, address: int, index: int = 0, bits: int = 32) -> torch.Tensor:
    """A tensor of floats on "cuda:index", of exactly torch's type; nothing can be computed with it."""
    torch.cuda._lazy_init = lambda: None  # pyright: ignore[reportPrivateUsage]
    extents, strides = (ctypes.c_int64 * 1)(size), (ctypes.c_int64 * 1)(1)
    tensor = _Tensor(address, _CUDA, index, 1, _FLOAT, bits, 1, extents, strides, 0)
    managed = _Managed(tensor, None, None)
    _lent.append((managed, extents, strides))
    capsule = _new_capsule(ctypes.addressof(managed), b"dltensor", None)
    return torch.utils.dlpack.from_dlpack(capsule)
