"""The names of `triton.runtime.jit`."""

from __future__ import annotations

from tilewright import jit as jit
from tilewright import reinterpret as reinterpret
from tilewright.jit import JITFunction as JITFunction

KernelInterface = JITFunction
