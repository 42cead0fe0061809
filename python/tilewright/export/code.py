"""The C file of a package: the launcher of runtime/aot, the kernels' code, and tables of both."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..compile.facts import integer_rules
from ..native.errors import InternalError
from ..native.targets import device_named
from . import grid as grids
from .assembly import embedded
from .ffi import ffi_functions
from .frameworks import Framework, operator_tables
from .header import interface_of
from .names import c_name
from .specializations import Argument, Specialization
from .tensor_maps import map_table

if TYPE_CHECKING:
    from .compiled import Code
    from .package import ExportedKernel

# The parts of the launcher, each after what it needs.
_PARTS = (
    "Tables.h", "Errors.c", "Choose.c", "TensorMaps.c", "GpuDriver.c", "CudaDriver.c",
    "HipDriver.c", "GpuMaps.c", "GpuLaunch.c", "CpuHost.c", "CpuPool.c", "CpuLaunch.c",
    "OpenClNeeds.h", "OpenClLaunch.c", "GpuPlaces.c", "Forks.c", "Launch.c",
)  # fmt: skip
_OWN_INCLUDE = re.compile(r'#include "runtime/aot/.*"\n')
_ASSUMPTIONS = {
    "equals": "TW_EQUALS", "divisible": "TW_DIVISIBLE", "disjoint": "TW_DISJOINT",
    "at_least": "TW_AT_LEAST", "at_most": "TW_AT_MOST",
}  # fmt: skip
_MAKERS = {"cuda": "TW_CUDA", "hip": "TW_HIP", "opencl": "TW_OPENCL"}  # by `Code.backend`


def launcher_file(name: str) -> str:
    """A file of the launcher, which lies beside the package or, in a source tree, in runtime/."""
    here = Path(__file__).resolve()  # a build for sanitizers links to the source tree
    places = (here.parent / "runtime", here.parents[3] / "runtime" / "aot")
    for place in places:
        if (place / name).is_file():
            return (place / name).read_text(encoding="utf-8")
    raise InternalError(f"the launcher of exported packages is not installed: there is no {name}")


def _text(value: str) -> str:
    return json.dumps(value, ensure_ascii=True)


def _image(name: str, data: bytes) -> Iterator[str]:
    """Bytes as words: compilers read them faster. They end in a zero, which ends PTX."""
    padded = data + b"\0" * (8 - len(data) % 8)
    words = struct.unpack(f"<{len(padded) // 8}Q", padded)
    yield f"static const uint64_t {name}[] = {{"
    for start in range(0, len(words), 6):
        yield "  " + " ".join(f"{word:#x}," for word in words[start : start + 6])
    yield "};"


def _bytes(name: str, values: Sequence[int]) -> str:
    return f"static const uint8_t {name}[] = {{{', '.join(map(str, values)) or '0'}}};"


def _int64(value: int) -> str:
    value = value - (1 << 64) if value >= 1 << 63 else value  # the bits of an unsigned number
    return "INT64_MIN" if value == -(1 << 63) else f"INT64_C({value})"


def rule_functions() -> Iterator[str]:
    """The functions that decide facts of integers and say what they are, by number, for Choose.c."""
    rows = integer_rules().values()
    yield "static int tw_rule_holds(int64_t rule, uint64_t bits, unsigned width) {"
    yield "  switch (rule) {"
    yield from (f"  case {number}:\n    return {row.rule};" for number, row in enumerate(rows))
    yield "  }\n  return 0;\n}"
    yield "static const char *tw_rule_needs(int64_t rule) {"
    yield f"  static const char *const needs[] = {{{', '.join(_text(row.needs) for row in rows)}}};"
    yield "  return needs[rule];\n}"


class _Variant:
    """Writes one specialization: its code, then its row in pieces."""

    def __init__(self, package: str, kernel: ExportedKernel, number: int, tag: str) -> None:
        self.package, self.kernel, self.tag = package, kernel, tag
        self.specialization: Specialization = kernel.specializations[number]
        self.codes: list[Code] = kernel.codes[number]

    def lines(self) -> Iterator[str]:
        """The declarations before the table of variants."""
        for index, code in enumerate(self.codes):
            name = f"tw_{self.tag}_{index}"
            numbers = [self._number(parameter) for parameter in code.parameters]
            yield _bytes(f"{name}_parameters", numbers)
            if code.level:
                entry = f"{self.package}_{name}"
                yield "#if defined(__x86_64__)"
                yield f"extern void {entry}(const uint64_t *, struct tw_program *);"
                yield embedded(code.text, code.symbol, entry, self.package, self.kernel.name)
                yield "#endif"
                continue
            for form, image in code.images():
                yield from _image(f"{name}_{form}", image)
            if code.tensor_maps:
                yield from map_table(f"{name}_maps", code.tensor_maps, self._number)
        yield from self._tables()
        yield from self._grid()

    def _number(self, parameter: str) -> int:
        return [argument.name for argument in self.kernel.arguments].index(parameter)

    def _tables(self) -> Iterator[str]:
        yield f"static const struct tw_fact tw_{self.tag}_facts[] = {{"
        for kind, argument, value in self.specialization.assumptions:
            rule = [*integer_rules()].index(kind) if kind in integer_rules() else value
            yield f"  {{{_ASSUMPTIONS.get(kind, 'TW_RULE')}, {argument}, {_int64(rule)}}},"
        yield "  {0, 0, 0}};"
        yield f"static const struct tw_cpu_code tw_{self.tag}_cpu[] = {{"
        processors = [(code.level, i) for i, code in enumerate(self.codes) if code.level]
        yield "#if defined(__x86_64__)"
        for level, index in sorted(processors, reverse=True):
            name, code = f"tw_{self.tag}_{index}", self.codes[index]
            yield (
                f"  {{{level}, {self.package}_{name}, {code.scratch_bytes}, {name}_parameters, "
                f"{len(code.parameters)}}},"
            )
        yield "#endif"
        yield "  {0, 0, 0, 0, 0}};"
        yield f"static const struct tw_gpu_code tw_{self.tag}_gpu[] = {{"
        for index, code in enumerate(self.codes):
            name, num_maps = f"tw_{self.tag}_{index}", len(code.tensor_maps)
            maps = f"{name}_maps" if num_maps else "NULL"
            for form, image in code.images():
                yield (
                    f"  {{{_MAKERS[code.backend]}, {code.arch:#x}, {int(form == 'ptx')}, "
                    f"{int(code.is_only)}, {name}_{form}, {_text(code.symbol)}, {code.num_threads}, "
                    f"{code.shared_bytes}, {name}_parameters, {len(code.parameters)}, "
                    f"{maps}, {num_maps}, {code.resources.get('early_launch', 0)}, "
                    f"{{{', '.join(str(code.resources.get(f'cluster_{axis}', 1)) for axis in 'xyz')}}}, {len(image)}, "
                    f"{_text(device_named(code.target).arch)}, {_text(code.build_options)}, "
                    f"{code.resources.get('first_version', 0)}, {code.resources.get('last_version', 0)}}},"
                )
        yield "  {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0}, 0, 0, 0, 0, 0}};"

    def _grid(self) -> Iterator[str]:
        grid = self.specialization.grid
        if not grid:
            return
        arguments = {
            argument.name: f"(int64_t)values[{index}]"
            for index, argument in enumerate(self.kernel.arguments)
            if argument.is_integer
        }
        yield (
            f"static void tw_{self.tag}_grid(const uint64_t *values, int64_t *programs) {{\n"
            "  (void)values;"
        )
        for axis, text in enumerate(grid):
            expression = grids.c_expression(text, arguments, self.specialization.constants)
            yield f"  programs[{axis}] = {expression};"
        yield "}"

    def row(self) -> str:
        """The row of the table of variants."""
        tag = f"tw_{self.tag}"
        grid = f"{tag}_grid" if self.specialization.grid else "NULL"
        num_cpu = f"TW_COUNT({tag}_cpu)"
        return (
            f"  {{{_text(self.specialization.describe(self.kernel.arguments))}, {tag}_facts, "
            f"{len(self.specialization.assumptions)}, {tag}_cpu, {num_cpu}, {tag}_gpu, "
            f"TW_COUNT({tag}_gpu), {grid}}},"
        )


def _packed(argument: Argument, index: int) -> str:
    """The statement that puts an argument into the row of values."""
    given = f"arguments->{c_name(argument.name)}"
    if argument.is_pointer:
        return f"  values[{index}] = (uint64_t)(uintptr_t){given};"
    if argument.type in ("fp32", "fp64"):
        return f"  memcpy(&values[{index}], &{given}, sizeof({given}));"
    if argument.type in ("fp16", "bf16"):
        mantissa = "TW_HALF_MANTISSA" if argument.type == "fp16" else "TW_BFLOAT_MANTISSA"
        return f"  values[{index}] = tw_narrow((double){given}, {mantissa});"
    if argument.type == "i1":
        return f"  values[{index}] = {given} != 0;"
    return f"  values[{index}] = (uint64_t)(int64_t){given};"


def _functions(package: str, kernels: Sequence[ExportedKernel]) -> Iterator[str]:
    for number, kernel in enumerate(kernels):
        count = max(1, len(kernel.arguments))
        yield (
            f"int {kernel.name}_run(const struct {kernel.name}_arguments *arguments, const struct "
            "tilewright_launch *launch,\n    struct tilewright_error *error, uint64_t interface_) {"
        )
        yield f"  uint64_t values[{count}] = {{0}};"
        values = "arguments ? values : NULL" if kernel.arguments else "values"
        yield "  if (arguments) {"
        yield from (f"  {_packed(argument, i)}" for i, argument in enumerate(kernel.arguments))
        yield "  }"
        yield (
            f"  return tw_launch(&tw_this_package, {number}, interface_, {values}, launch, error);\n}}"
        )
    yield f"""\
int {package}_load(const struct tilewright_launch *launch, struct tilewright_error *error) {{
  return tw_load(&tw_this_package, launch, error);
}}
void {package}_unload(void) {{ tw_unload(&tw_this_package); }}
void {package}_set_threads(int count) {{ tw_pool_resize(count); }}
void {package}_set_parallel_for(tilewright_parallel_for parallel_for, void *context) {{
  tw_set_parallel(parallel_for, context);
}}"""


def _kernel_tables(kernels: Sequence[ExportedKernel]) -> Iterator[str]:
    slot = 0
    rows: list[str] = []
    for number, kernel in enumerate(kernels):
        yield f"static const struct tw_argument tw_{number}_arguments[] = {{"
        near = kernel.near_arrays
        for a in kernel.arguments:
            reached = a.element_bytes if a.name in near else 0
            yield f"  {{{_text(a.name)}, {int(a.is_pointer)}, {a.bits}, {a.element_bytes}, {reached}}},"
        yield "  {0, 0, 0, 0, 0}};"
        count = len(kernel.specializations)
        rows.append(
            f"  {{{_text(kernel.name)}, UINT64_C({interface_of(kernel.name, kernel.arguments):#x}), "
            f"tw_{number}_arguments, {len(kernel.arguments)}, tw_{number}_variants, {count}, {slot}}},"
        )
        slot += count
    yield "static const struct tw_kernel tw_kernels[] = {\n" + "\n".join(rows) + "\n};"
    yield (
        f"static const struct tw_package tw_this_package = {{TW_PACKAGE_NAME, tw_kernels, "
        f"{len(kernels)}, {slot}}};"
    )


def write_code(
    package: str, kernels: Sequence[ExportedKernel], has_ffi: bool = False, framework: Framework | None = None
) -> str:
    """The text of NAME.c, to be compiled as C11 beside NAME.h; `has_ffi`: with functions for TVM-FFI;
    `framework`: with those that it calls."""
    parts = (
        *_PARTS,
        *(["Numbers.c"] if has_ffi or framework else []),
        *(["TvmFfi.c"] if has_ffi else []),
        *(("Operators.h", *framework.parts) if framework else ()),
    )
    lines = [
        f"/* {package}.c: see {package}.h. C11 with POSIX threads; link with -lm, -lpthread and, before "
        "glibc 2.34, -ldl. */",
        "#ifndef _GNU_SOURCE\n#define _GNU_SOURCE\n#endif",
        '#if defined(__GNUC__)\n#pragma GCC diagnostic ignored "-Woverlength-strings"\n#endif',
        f'#include "{package}.h"',
        f"#define TW_NAME(function) {package}_##function",
        f"#define TW_PACKAGE_NAME {_text(package)}",
        "/* Tables end in a row of zeros: a table of C has one at least. */",
        "#define TW_COUNT(table) (sizeof(table) / sizeof((table)[0]) - 1)",
        *(_OWN_INCLUDE.sub("", launcher_file(part)) for part in parts),
        *rule_functions(),
        grids.HELPERS,
    ]
    for number, kernel in enumerate(kernels):
        variants = [
            _Variant(package, kernel, index, f"{number}_{index}")
            for index in range(len(kernel.specializations))
        ]
        for variant in variants:
            lines += variant.lines()
        lines.append(f"static const struct tw_variant tw_{number}_variants[] = {{")
        lines += [variant.row() for variant in variants]
        lines.append("};")
    lines += [*_kernel_tables(kernels), *_functions(package, kernels)]
    lines += ffi_functions(kernels) if has_ffi else []
    lines += operator_tables(framework, kernels) if framework else []
    return "\n".join(lines) + "\n"
