"""The names of `triton.language`: the language, and where Triton keeps the parts of it."""

from __future__ import annotations

from tilewright.language import *  # noqa: F403 (every name of the language)

from ..absent import names_of
from . import core as core
from . import extra as extra
from . import random as random
from . import standard as standard
from .limits import TRITON_MAX_TENSOR_NUMEL as TRITON_MAX_TENSOR_NUMEL

__getattr__ = names_of(__name__)
