"""Kernels of a package by the calling convention of TVM-FFI: `__tvm_ffi_NAME`, beside the functions of C."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..language.element_types import OF_DLPACK
from .specializations import Argument

if TYPE_CHECKING:
    from .package import ExportedKernel

# DLPack's code and bits of elements.
_ELEMENTS = {name: code_and_bits for code_and_bits, name in OF_DLPACK.items()}
_BYTES = (1, 8)  # what other elements are passed as
_BRAIN_BITS = 17  # of runtime/aot/Numbers.c, which tells them from half floats by it


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
