"""Atomic operations by name: what one leaves of what was there."""

from __future__ import annotations

import re

import numpy as np

from .semantics import NotUnderstood

_SHORT = {"add": "add_u32", "sub": "sub_u32", "smin": "min_i32", "smax": "max_i32", "umin": "min_u32",
          "umax": "max_u32", "and": "and_b32", "or": "or_b32", "xor": "xor_b32", "swap": "swap_b32",
          "cmpswap": "cmpswap_b32"}  # fmt: skip


def atomic_of(name: str) -> str:
    """An atomic's operation and type: `smax_x2` is `max_i64`."""
    wide = name.endswith("_x2")
    full = _SHORT.get(name.removesuffix("_x2"), name.removesuffix("_x2"))
    return full.replace("32", "64") if wide else full.replace("_rtn", "")


def combined(operation: str, old: np.ndarray, operands: np.ndarray) -> np.ndarray:
    """What an atomic leaves: `old` and `operands` are bytes of one lane."""
    name, _, kind = operation.rpartition("_")
    if name == "cmpswap":
        half = operands.size // 2
        return operands[:half] if bytes(operands[half:]) == bytes(old) else old
    if name in ("swap", "wrxchg", "storexchg"):
        return operands
    if kind == "bf16":
        from ml_dtypes import bfloat16

        seen = np.dtype(bfloat16)
    else:
        seen = np.dtype({"u": "u", "i": "i", "b": "u", "f": "f"}[kind[0]] + str(int(kind[1:]) // 8))
    one, other = old.view(seen), operands.view(seen)
    functions = {"add": np.add, "pk_add": np.add, "sub": np.subtract, "min": np.fmin, "max": np.fmax,
                 "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}  # fmt: skip
    if name not in functions:
        raise NotUnderstood(f"the atomic {operation}")
    return np.asarray(functions[name](one, other)).astype(seen).view(np.uint8)


def width_of(operation: str) -> int:
    """Bytes of memory that an atomic changes."""
    return 4 if operation.startswith("pk_") else int(re.findall(r"\d+", operation)[-1]) // 8
