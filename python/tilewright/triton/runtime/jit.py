"""The names of `triton.runtime.jit`."""

from __future__ import annotations

from tilewright import jit as jit
from tilewright import reinterpret as reinterpret
from tilewright.launch.arguments import Reinterpreted
from tilewright.launch.interface import KernelInterface as KernelInterface
from tilewright.launch.jit import JITFunction as JITFunction
from tilewright.language import constexpr_function as constexpr_function
from tilewright.language.element_types import ELEMENT_TYPES
from tilewright.launch.parameters import Parameter

from ..absent import names_of
from .compilation_hooks import KernelIdentity
from .mock import MockTensor as MockTensor

TensorWrapper = Reinterpreted
KernelParam = Parameter
JitFunctionInfo = KernelIdentity

# Triton's names of dtypes by the names that signatures use.
type_canonicalisation_dict = {
    "i1": "i1", "uint1": "u1", "half": "fp16", "float": "fp32", "double": "fp64",
    **{name: row.short_name for row in ELEMENT_TYPES for name in (row.name, row.library) if name},
}  # fmt: skip

__path__: list[str] = []
__getattr__ = names_of(__name__)
