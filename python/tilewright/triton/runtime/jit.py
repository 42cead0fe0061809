"""The names of `triton.runtime.jit`."""

from __future__ import annotations

from tilewright import jit as jit
from tilewright import reinterpret as reinterpret
from tilewright.launch.arguments import Reinterpreted
from tilewright.launch.interface import KernelInterface as KernelInterface
from tilewright.launch.jit import JITFunction as JITFunction
from tilewright.language import constexpr_function as constexpr_function
from tilewright.launch.parameters import Parameter

from ..absent import names_of
from .compilation_hooks import KernelIdentity
from .mock import MockTensor as MockTensor

TensorWrapper = Reinterpreted
KernelParam = Parameter
JitFunctionInfo = KernelIdentity

# Triton's names of dtypes by the names that signatures use.
type_canonicalisation_dict = {
    "bool": "i1", "int1": "i1", "uint1": "u1", "i1": "i1",
    "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64",
    "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64",
    "float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64",
    "half": "fp16", "float": "fp32", "double": "fp64",
    "float8e4nv": "fp8e4nv", "float8e5": "fp8e5", "float8e4b15": "fp8e4b15",
    "float8e4b8": "fp8e4b8", "float8e5b16": "fp8e5b16",
    "float8_e4m3fn": "fp8e4nv", "float8_e5m2": "fp8e5",
    "float8_e4m3fnuz": "fp8e4b8", "float8_e5m2fnuz": "fp8e5b16",
}  # fmt: skip

__path__: list[str] = []
__getattr__ = names_of(__name__)
