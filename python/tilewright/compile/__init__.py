"""Compiles one specialization of a captured kernel, and what Python shows of the result."""

from .compiler import compile_request, dump, find_request
from .kernel import CompiledKernel
from .options import Options
from .request import Request, Source
from .stages import StageTexts, binary_stage_of, inspect, stages_of

__all__ = [
    "CompiledKernel", "Options", "Request", "Source", "StageTexts", "binary_stage_of",
    "compile_request", "dump", "find_request", "inspect", "stages_of",
]  # fmt: skip
