"""Kernels of a package as operators of JAX and of ONNX Runtime: the tables of runtime/aot/Operators.h, and
the functions that the frameworks find in the package's library."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..language.element_types import ELEMENT_TYPES
from ..native.errors import UnsupportedError
from .grid import c_expression
from .operator_rules import ANY, check_rules, refused, returned_arguments, schema_arguments
from .specializations import Argument

if TYPE_CHECKING:
    from .package import ExportedKernel


class Framework(NamedTuple):
    """A framework that calls kernels as operators."""

    form: str  # of `Package.write`
    parts: tuple[str, ...]  # files of the launcher beside all others
    elements: Mapping[str, int]  # its enumeration of element types, by their short names
    takes_grid: bool  # whether a call may give one

    def element(self, kernel: str, argument: Argument) -> int:
        """The number of an array's elements' type, or of the type that a number comes as."""
        name = argument.type.removeprefix("k")
        if not argument.is_pointer:
            name = name if name == "i1" else "i64" if argument.is_integer else self.float_of(name)
        if name not in self.elements:
            what = f"`{argument.name}` has elements of {name}, which arrays of the framework do not have"
            raise refused(kernel, what, "pass them as u8, and take them for others in the kernel")
        return self.elements[name]

    def float_of(self, name: str) -> str:
        """The type that a float comes as."""
        return "fp64" if self.takes_grid or name == "fp64" else "fp32"


JAX = Framework(
    "jax", ("XlaFfi.h", "XlaFfi.c"), {row.short_name: row.xla for row in ELEMENT_TYPES if row.xla}, True
)
ONNX_RUNTIME = Framework(
    "onnxruntime", ("OnnxRuntime.c",), {row.short_name: row.onnx for row in ELEMENT_TYPES if row.onnx}, False
)
FRAMEWORKS = {framework.form: framework for framework in (JAX, ONNX_RUNTIME)}
_BRAIN_BITS = 17  # of runtime/aot/Numbers.c


def check_operators(framework: Framework, kernels: Sequence[ExportedKernel]) -> None:
    """Refuse kernels of which no operator can be made. Raises UnsupportedError TW0803."""
    by_name = {kernel.name: kernel for kernel in kernels}
    for kernel in kernels:
        check_rules(kernel, by_name)
        for argument in kernel.arguments:
            if argument.is_stored and argument.name not in kernel.rules.outputs:
                what = f"it stores to `{argument.name}`, and arrays of the framework do not change"
                raise refused(kernel.name, what, f'return it: as_operator(name, outputs={{"{argument.name}": ...}})')
        if not kernel.rules.outputs:
            raise refused(kernel.name, "it returns nothing", "say what: as_operator(name, outputs=...)")
        if not framework.takes_grid:
            if not all(specialization.grid for specialization in kernel.specializations):
                raise refused(kernel.name, "nothing says over which grid it is launched", "add it with grid=...")
            if not all(any(code.level for code in codes) for codes in kernel.codes):
                what = "it has no code for processors, where the framework's own arrays are"
                raise refused(kernel.name, what, "add a target such as cpu:x86-64-v3")
        _check_strides(kernel)


def _check_strides(kernel: ExportedKernel) -> None:
    for name, entries in kernel.rules.strides.items():
        *others, last = entries or (ANY,)
        numbers = [entry for entry in others if entry.lstrip("-").isdigit()]
        if numbers or (last.lstrip("-").isdigit() and last != "1"):
            what = f"`{name}` has a stride of {(numbers or [last])[0]}, and arrays of the framework are row-major"
            raise refused(kernel.name, what, 'write the strides as "stride_m, 1"')


def _given(framework: Framework, kernel: ExportedKernel) -> Iterator[str]:
    for index, a in schema_arguments(kernel):
        kind = "p" if a.is_pointer else "b" if a.type == "i1" else a.type[0] if a.is_integer else "f"
        bits = 0 if a.is_pointer else a.bits
        if kind == "f":
            bits = _BRAIN_BITS if a.type == "bf16" else int(a.type.lstrip("fp"))
        yield f"  {{{index}, '{kind}', {bits}, {framework.element(kernel.name, a)}}},"


def _result_tables(framework: Framework, kernel: ExportedKernel, number: int) -> Iterator[str]:
    sizes = {a.name: f"(int64_t)values[{i}]" for i, a in enumerate(kernel.arguments) if a.is_integer}
    arrays = {a.name: index for index, a in schema_arguments(kernel) if a.is_pointer}
    rows: list[str] = []
    for index, argument in returned_arguments(kernel):
        shape, element = kernel.rules.outputs[argument.name], framework.element(kernel.name, argument)
        if len(shape) == 1 and shape[0] in arrays:
            rows.append(f"  {{{index}, {element}, {arrays[shape[0]]}, 0, NULL}},")
            continue
        function = f"tw_{number}_{index}_shape"
        yield f"static void {function}(const uint64_t *values, int64_t *extents) {{\n  (void)values;\n  (void)extents;"
        for axis, text in enumerate(shape):
            yield f"  extents[{axis}] = {extent(kernel.name, argument.name, text, sizes)};"
        yield "}"
        rows.append(f"  {{{index}, {element}, -1, {len(shape)}, {function}}},")
    yield f"static const struct tw_result tw_{number}_results[] = {{"
    yield from rows
    yield "  {0, 0, 0, 0, NULL}};"


def extent(kernel: str, name: str, text: str, sizes: Mapping[str, str]) -> str:
    """An extent of a result in C. Raises UnsupportedError TW0803 for what is not an expression of integers."""
    try:
        return c_expression(text, sizes, {})
    except UnsupportedError as error:
        reason = error.message.partition(": ")[2]
        hint = "write the name of an array that callers pass, or integers and integer arguments"
        raise refused(kernel, f"the shape of `{name}`: {reason}", hint) from None


def operator_tables(framework: Framework, kernels: Sequence[ExportedKernel]) -> Iterator[str]:
    """The tables of all kernels, and what the framework calls."""
    operators: list[str] = []
    for number, kernel in enumerate(kernels):
        yield f"static const struct tw_given tw_{number}_given[] = {{"
        yield from _given(framework, kernel)
        yield "  {0, 0, 0, 0}};"
        yield from _result_tables(framework, kernel, number)
        numbers = {argument.name: index for index, argument in enumerate(kernel.arguments)}
        yield f"static const struct tw_stride tw_{number}_strides[] = {{"
        for name, (array, dimension) in kernel.rules.filled.items():
            rank = len(kernel.rules.strides[array])
            yield f"  {{{numbers[name]}, {numbers[array]}, {dimension}, {rank}}},"
        yield "  {0, 0, 0, 0}};"
        tables = [f"tw_{number}_{part}, TW_COUNT(tw_{number}_{part})" for part in ("given", "results", "strides")]
        operators.append(f'  {{"{kernel.name}", {number}, {", ".join(tables)}}},')
    yield "static const struct tw_operator tw_operators[] = {"
    yield from operators
    yield "};"
    yield from _xla_functions(kernels) if framework is JAX else _ort_functions(len(kernels))


def _xla_functions(kernels: Sequence[ExportedKernel]) -> Iterator[str]:
    for number, kernel in enumerate(kernels):
        for ending, first in (("cpu", "0"), ("cuda", "TILEWRIGHT_CUDA_GPU(0)"), ("hip", "TILEWRIGHT_HIP_GPU(0)")):
            function = f"struct tw_xla_error *{kernel.name}_xla_{ending}(struct tw_xla_frame *frame)"
            yield f'__attribute__((visibility("default"))) {function};'
            yield f"{function} {{"
            yield f"  return tw_xla_call(&tw_this_package, &tw_operators[{number}], {first}, frame);"
            yield "}"


def _ort_functions(count: int) -> Iterator[str]:
    function = "struct tw_ort_status *RegisterCustomOps(void *options, const struct tw_ort_base *base)"
    yield f'__attribute__((visibility("default"))) {function};'
    yield f"{function} {{"
    yield f"  static struct tw_ort_operator made[{count}];"
    yield f"  return tw_ort_register(&tw_this_package, tw_operators, made, {count}, options, base);"
    yield "}"
