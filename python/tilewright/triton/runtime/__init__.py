"""The names of `triton.runtime`: kernels, tuning, and the device that scripts ask about."""

from __future__ import annotations

from tilewright import Config as Config
from tilewright import autotune as autotune
from tilewright import heuristics as heuristics
from tilewright.jit import JITFunction as JITFunction

from . import driver as driver
from . import jit as jit

KernelInterface = JITFunction
