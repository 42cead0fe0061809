"""The names of `triton.runtime`: kernels, tuning, and the device that scripts ask about."""

from __future__ import annotations

from tilewright import reinterpret as reinterpret

from ..absent import names_of
from . import autotuner as autotuner
from . import cache as cache
from . import errors as errors
from . import jit as jit
from .autotuner import Autotuner as Autotuner
from .autotuner import Config as Config
from .autotuner import Heuristics as Heuristics
from .autotuner import autotune as autotune
from .autotuner import heuristics as heuristics
from .driver import driver as driver
from .errors import InterpreterError as InterpreterError
from .errors import OutOfResources as OutOfResources
from .jit import JITFunction as JITFunction
from .jit import KernelInterface as KernelInterface
from .jit import MockTensor as MockTensor
from .jit import TensorWrapper as TensorWrapper

__getattr__ = names_of(__name__)
