"""The names of `triton.compiler.errors`."""

from __future__ import annotations

from tilewright import CompileError, UnsupportedError

CompilationError = CompileError
UnsupportedLanguageConstruct = UnsupportedError
CompileTimeAssertionFailure = CompileError
