"""Takes kernels out of Python: source, captured values, and the buffer that the frontend reads.

`capture(kernel)` gives a `Capture` with `.buffer` (JSON text, see frontend/buffer/FORMAT.md),
`.dependencies`, `.is_current()`, `.including(constexpr values)`, `.encode(value)` and
`.evaluate(request)`.
A jit function is any object with `__tilewright_jit__ = True` and the plain function as `.fn`.
"""

from .dependencies import MISSING, Dependency
from .executed import keep_text
from .serialize import Attribute, Capture, capture
from .source import (
    FunctionSource,
    SourceNotFound,
    SourceTooDeep,
    find_source,
)
from .values import ValueNotCaptured, decode_value, encode_value, is_jit, plain_function

__all__ = [
    "MISSING",
    "Attribute",
    "Capture",
    "Dependency",
    "FunctionSource",
    "SourceNotFound",
    "SourceTooDeep",
    "ValueNotCaptured",
    "capture",
    "decode_value",
    "encode_value",
    "find_source",
    "is_jit",
    "keep_text",
    "plain_function",
]
