"""The names of `triton.compiler`: what a compilation takes and gives, and how it fails."""

from __future__ import annotations

from tilewright import TilewrightError

from ..absent import names_of
from . import compiler as compiler
from . import errors as errors
from .compiler import ASTSource as ASTSource
from .compiler import CompiledKernel as CompiledKernel
from .compiler import IRSource as IRSource
from .compiler import LazyDict as LazyDict
from .compiler import compile as compile
from .compiler import make_backend as make_backend
from .compiler import max_shared_mem as max_shared_mem
from .errors import CompilationError as CompilationError
from .errors import CompileTimeAssertionFailure as CompileTimeAssertionFailure
from .errors import UnsupportedLanguageConstruct as UnsupportedLanguageConstruct

TritonError = TilewrightError

__getattr__ = names_of(__name__)
