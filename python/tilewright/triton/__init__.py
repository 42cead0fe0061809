"""The names of Triton, so that its kernels run here after changing an import.

`import tilewright.triton as triton` and `import tilewright.triton.language as tl`; or run
an unmodified script with `python -m tilewright.triton script.py`.
"""

from __future__ import annotations

from tilewright import Config as Config
from tilewright import autotune as autotune
from tilewright import cdiv as cdiv
from tilewright import heuristics as heuristics
from tilewright import jit as jit
from tilewright import next_power_of_2 as next_power_of_2
from tilewright import reinterpret as reinterpret
from tilewright import testing as testing
from tilewright.language import constexpr_function as constexpr_function

from . import language as language
from . import runtime as runtime
from .compiler import CompilationError as CompilationError
from .compiler import TritonError as TritonError
from .runtime import JITFunction as JITFunction

# The version whose public names the language follows; scripts compare it.
__version__ = "3.9.0"
