"""The names of `triton._filecheck`: FileCheck over a kernel's IR, for tests of compilers.

The IR is Tilewright's at the stage `tile`, which is what its frontend makes of the kernel: upstream's
dialects arith, math and scf are what they are in Triton, operations on tiles are called otherwise.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tilewright.native.errors import UnsupportedError
from tilewright.launch.devices import device
from tilewright.launch.jit import JITFunction

from .absent import names_of
from .backends.compiler import GPUTarget

# What the IR is made for where nothing else is said; it is the same for all.
stub_target = GPUTarget("cuda", 100, 32)
_PROGRAMS = ("FileCheck", "FileCheck-22", "/usr/lib/llvm-22/bin/FileCheck")
_TRITONS = re.compile(r"^[^\n]*\bCHECK[A-Z-]*:[^\n]*?\b((?:tt|ttg|ttng|nvws|gluon)\.\w+)", re.MULTILINE)


class MatchError(ValueError):
    """IR that is not as the directives say; its text has the IR."""

    def __init__(self, message: str, module_str: str) -> None:
        super().__init__(message)
        self.module_str = module_str

    def __str__(self) -> str:
        return f"{super().__str__()}\n{self.module_str}"


def run_filecheck(name: str, module_str: str, check_template: str) -> None:
    """Match a text against the directives of another. Raises MatchError where they do not, and
    UnsupportedError TW0432 where LLVM's FileCheck is not installed or they name Triton's own operations."""
    del name
    theirs = _TRITONS.search(check_template)
    if theirs:
        raise UnsupportedError(
            f"the directives name {theirs[1]}, an operation of Triton's own IR",
            code="TW0432",
            hint="kernel.asm['tile'] shows the kernel in Tilewright's, which directives are matched with",
        )
    program = next(filter(None, map(shutil.which, _PROGRAMS)), None)
    if program is None:
        raise UnsupportedError(
            "FileCheck is not installed", code="TW0432", hint="it is in Debian's package llvm-22-tools"
        )
    with tempfile.TemporaryDirectory() as folder:
        directives, text = os.path.join(folder, "directives"), os.path.join(folder, "module")
        Path(directives).write_text(check_template, encoding="utf-8")
        Path(text).write_text(module_str, encoding="utf-8")
        run = subprocess.run(
            [program, directives, "--input-file", text, "--dump-input-context=50"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
    if run.returncode:
        raise MatchError(run.stdout, module_str)


def run_parser(
    kernel_fn: JITFunction,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    target: GPUTarget = stub_target,
) -> Any:
    """A kernel's IR for some arguments, or what stands for them: `str_nodebug()` gives its text."""
    from .compiler.compiler import device_of

    with device(device_of(target) or "reference"):
        kernel = kernel_fn.warmup(*args, grid=(1,), **(kwargs or {}))
    return SimpleNamespace(str_nodebug=lambda: kernel.asm["tile"])


def run_filecheck_test(
    kernel_fn: JITFunction,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    target: GPUTarget = stub_target,
) -> None:
    """Match a kernel's IR against the directives in its own text. Raises as `run_filecheck`."""
    if not isinstance(kernel_fn, JITFunction):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{kernel_fn!r} is not a kernel made by triton.jit")
    directives = inspect.getsource(kernel_fn.fn)
    run_filecheck(kernel_fn.fn.__name__, run_parser(kernel_fn, args, kwargs, target).str_nodebug(), directives)


def filecheck_test(fn: JITFunction) -> Callable[[], None]:
    """A test that matches a kernel without parameters against the directives in its own text."""

    @functools.wraps(fn.fn)
    def test() -> None:
        run_filecheck_test(fn)

    # A test without parameters, whatever the kernel's are.
    del test.__wrapped__
    return test


__path__: list[str] = []
__getattr__ = names_of(__name__)
