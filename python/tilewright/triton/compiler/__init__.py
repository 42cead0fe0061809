"""The names of `triton.compiler`: what a compilation gives and how it fails."""

from __future__ import annotations

from tilewright import CompiledKernel as CompiledKernel
from tilewright import CompileError, TilewrightError

from . import errors as errors

CompilationError = CompileError
TritonError = TilewrightError
