"""The names of `triton.compiler.errors`: every error of a compilation is a CompilationError."""

from __future__ import annotations

from tilewright.native.errors import CompilationError as CompilationError
from tilewright.native.errors import StaticAssertionError, UnsupportedError

from ..absent import names_of

UnsupportedLanguageConstruct = UnsupportedError
CompileTimeAssertionFailure = StaticAssertionError

__path__: list[str] = []
__getattr__ = names_of(__name__)
