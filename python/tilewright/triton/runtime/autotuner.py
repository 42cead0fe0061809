"""The names of `triton.runtime.autotuner`."""

from __future__ import annotations

from tilewright import Config as Config
from tilewright import autotune as autotune
from tilewright import heuristics as heuristics
from tilewright.tuning.autotune import Autotuner as Autotuner
from tilewright.tuning.heuristics import Heuristics as Heuristics
from tilewright.launch.interface import KernelInterface as KernelInterface

from ..absent import names_of
from .errors import OutOfResources as OutOfResources
from .errors import PTXASError as PTXASError

__path__: list[str] = []
__getattr__ = names_of(__name__)
