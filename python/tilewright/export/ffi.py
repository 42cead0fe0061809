"""Kernels of a package by the calling convention of TVM-FFI: `__tvm_ffi_NAME`, beside the functions of C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .specializations import Argument

if TYPE_CHECKING:
    from .package import ExportedKernel

# DLPack's code and bits of elements (dlpack.h, DLDataTypeCode).
_ELEMENTS = {
    "i1": (6, 8), "i8": (0, 8), "i16": (0, 16), "i32": (0, 32), "i64": (0, 64),
    "u8": (1, 8), "u16": (1, 16), "u32": (1, 32), "u64": (1, 64),
    "fp16": (2, 16), "fp32": (2, 32), "fp64": (2, 64), "bf16": (4, 16),
    "fp8e4nv": (10, 8), "fp8e4b8": (11, 8), "fp8e5": (12, 8), "fp8e5b16": (13, 8),
}  # fmt: skip
_BYTES = (1, 8)  # what other elements are passed as
_BRAIN_BITS = 17  # of runtime/aot/TvmFfi.c, which tells them from half floats by it


def _row(argument: Argument) -> str:
    if argument.is_pointer:
        code, bits = _ELEMENTS.get(argument.type.removeprefix("k"), _BYTES)
        return f"  {{'p', {code}, {bits}}},"
    if argument.type == "i1":
        return "  {'b', 0, 1},"
    if argument.is_integer:
        return f"  {{'{argument.type[0]}', 0, {argument.bits}}},"
    bits = _BRAIN_BITS if argument.type == "bf16" else int(argument.type.lstrip("fp"))
    return f"  {{'f', 0, {bits}}},"


def ffi_functions(kernels: Sequence[ExportedKernel]) -> Iterator[str]:
    """The functions and what they know of their arguments. They are weak: a program may have its own."""
    for number, kernel in enumerate(kernels):
        function = f"__tvm_ffi_{kernel.name}"
        parameters = (
            "void *self, const struct tw_ffi_any *arguments, int32_t count, struct tw_ffi_any *result"
        )
        yield f"static const struct tw_ffi_type tw_{number}_ffi[] = {{"
        yield from map(_row, kernel.arguments)
        yield "  {0, 0, 0}};"
        yield f'__attribute__((weak, visibility("default"))) int {function}({parameters});'
        yield f"int {function}({parameters}) {{"
        yield "  (void)self;"
        yield f"  return tw_ffi_call(&tw_this_package, {number}, tw_{number}_ffi, arguments, count, result);"
        yield "}"
