"""The names of Triton, so that its kernels run here after changing an import.

`import tilewright.triton as triton` and `import tilewright.triton.language as tl`; or run
an unmodified script with `python -m tilewright.triton script.py`. What is not here says why: see
`absent/reasons.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tilewright import Config as Config
from tilewright import autotune as autotune
from tilewright import cdiv as cdiv
from tilewright import heuristics as heuristics
from tilewright import jit as jit
from tilewright.native import knobs as _settings
from tilewright import next_power_of_2 as next_power_of_2
from tilewright import reinterpret as reinterpret
from tilewright.language import aggregate as aggregate
from tilewright.language import constexpr_function as constexpr_function

from . import backends as backends
from . import compiler as compiler
from . import errors as errors
from . import knobs as knobs
from . import language as language
from . import runtime as runtime
from . import testing as testing
from . import tools as tools
from .absent import install_finder, names_of
from .compiler import ASTSource as ASTSource
from .compiler import CompilationError as CompilationError
from .compiler import TritonError as TritonError
from .compiler import compile as compile
from .language.limits import must_use_result as must_use_result
from .runtime._async_compile import AsyncCompileMode as AsyncCompileMode
from .runtime._async_compile import FutureKernel as FutureKernel
from .runtime import InterpreterError as InterpreterError
from .runtime import JITFunction as JITFunction
from .runtime import KernelInterface as KernelInterface
from .runtime import MockTensor as MockTensor
from .runtime import OutOfResources as OutOfResources
from .runtime import TensorWrapper as TensorWrapper

# The version whose public names the language follows; scripts compare it.
__version__ = "3.9.0"

def set_allocator(allocator: Callable[[int, int, int | None], Any]) -> None:
    """Take the function that would give kernels workspace: `allocator(bytes, alignment, stream)`.

    It is never called: no kernel needs memory beside its arguments.
    """
    if not callable(allocator):
        raise TypeError(f"an allocator is a function, not {allocator!r}")


install_finder()
# The environment's names of Triton's count from here on.
_settings.reset()
__getattr__ = names_of(__name__)
