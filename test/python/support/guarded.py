"""Arrays in front of memory that cannot be read or written."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np


def before_a_guard(values: np.ndarray) -> np.ndarray:
    """A copy whose end is that of its memory: behind it nothing can be read."""
    page = mmap.PAGESIZE
    used = -(-values.nbytes // page) * page
    memory = mmap.mmap(-1, used + page)
    whole = np.frombuffer(memory, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(whole.ctypes.data + used), page, 0) == 0
    copy = whole[used - values.nbytes : used].view(values.dtype).reshape(values.shape)
    copy[:] = values
    return copy
