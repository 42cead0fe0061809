"""Kernels of a package as operators of torch: a file of C++ that registers them, for libtorch, AOTInductor
and `torch.ops.load_library`."""

from __future__ import annotations

import string
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from ..language.element_types import BY_SHORT_NAME
from ..native.errors import UnsupportedError
from .specializations import C_NUMBERS, Argument

if TYPE_CHECKING:
    from .package import ExportedKernel

_RESERVED = frozenset({"grid"})

_HEAD = """\
// {package}_torch.cpp: the kernels of {package} as torch.ops.{package}.NAME. C++ of the version that
// torch's headers ask for; link with {package}.a, libtorch, -ldl and -lpthread.
#include "{package}.h"
#include <ATen/Context.h>
#include <ATen/MemoryOverlap.h>
#include <ATen/core/Tensor.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <optional>
#include <torch/library.h>

namespace {{
/// Where the tensors of a call are, and whether any of them has no memory, as of torch's tracing.
struct Place {{
  const char *kernel;
  std::optional<c10::Device> device = std::nullopt;
  bool isMeta = false;

  void add(const at::Tensor &tensor, const char *name, at::ScalarType type) {{
    TORCH_CHECK(tensor.scalar_type() == type, "TW0822: the argument `", name, "` of ", kernel, " is of ",
                tensor.scalar_type(), ", and the package takes ", type);
    TORCH_CHECK(tensor.layout() == at::kStrided, "TW0822: the argument `", name, "` of ", kernel,
                " is not a dense tensor");
    TORCH_CHECK(!device || *device == tensor.device(), "TW0822: the argument `", name, "` of ", kernel,
                " is on ", tensor.device(), ", and others are on ", *device);
    device = tensor.device();
    isMeta = isMeta || tensor.is_meta();
  }}
}};

/// Elements that share memory, as those of an expanded tensor, would be written several times. Symbolic
/// sizes do not tell.
[[maybe_unused]] void checkWritten(const at::Tensor &tensor, const char *name, const char *kernel) {{
  if (tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides())
    return;
  TORCH_CHECK(at::has_internal_overlap(tensor) != at::MemOverlap::Yes, "TW0822: the argument `", name,
              "` of ", kernel, " is written, and several of its elements share memory (strides ",
              tensor.strides(), " of sizes ", tensor.sizes(), "): pass a copy (clone, contiguous)");
}}

/// Code that takes two arrays for apart; the launch itself compares where they begin.
[[maybe_unused]] void checkApart(const at::Tensor &written, const char *name, const at::Tensor &other,
                                 const char *otherName, const char *kernel) {{
  bool isPartial = at::get_overlap_status(written, other) == at::MemOverlapStatus::Partial &&
                   written.const_data_ptr() != other.const_data_ptr();
  TORCH_CHECK(!isPartial, "TW0822: the arguments `", name, "` and `", otherName, "` of ", kernel,
              " overlap, and the first is written: pass a copy of one of them");
}}

/// A tensor that is written gets memory of its own where it shares another's until then.
[[maybe_unused]] void *addressOf(const at::Tensor &tensor, bool isWritten) {{
  return isWritten ? tensor.mutable_data_ptr() : const_cast<void *>(tensor.const_data_ptr());
}}

/// Tells torch that a tensor has other values now, which a backward pass checks.
[[maybe_unused]] void markWritten(const at::Tensor &tensor) {{
  if (!tensor.is_inference())
    tensor.unsafeGetTensorImpl()->bump_version();
}}

/// Of 64 bits without a sign by its bits.
template <typename T>
[[maybe_unused]] T narrowed(int64_t value, const char *name, const char *kernel) {{
  TORCH_CHECK(int64_t(T(value)) == value, "TW0822: the argument `", name, "` of ", kernel,
              " is ", value, ", which its type does not have");
  return T(value);
}}

tilewright_launch launchOf(const Place &place, at::IntArrayRef grid) {{
  tilewright_launch launch = {{}};
  TORCH_CHECK(grid.size() <= 3, "TW0822: the grid of ", place.kernel, " has ", grid.size(), " extents");
  for (size_t axis = 0; axis < grid.size(); ++axis)
    launch.grid[axis] = grid[axis];
  if (!place.device)
    return launch;
  TORCH_CHECK(place.device->is_cpu() || place.device->is_cuda(), "TW0822: the tensors of ", place.kernel,
              " are on ", *place.device, ", where no kernel of the package runs");
  launch.device = TILEWRIGHT_CPU;
  if (place.device->is_cuda()) {{
    // torch for ROCm calls its GPUs "cuda", too.
    int number = place.device->index();
    launch.device = at::Context::hasROCM() ? TILEWRIGHT_HIP_GPU(number) : TILEWRIGHT_CUDA_GPU(number);
    launch.stream = c10::impl::VirtualGuardImpl(place.device->type()).getStream(*place.device).native_handle();
  }}
  return launch;
}}

void check(int code, const tilewright_error &error) {{
  TORCH_CHECK(code == 0, "TW0", code, ": ", error.message);
}}
"""


def _schema_of(kernel: ExportedKernel) -> str:
    letters = iter(string.ascii_lowercase)
    entries: list[str] = []
    for argument in kernel.arguments:
        if argument.is_pointer:
            alias = f"({_letter(letters, kernel)}!)" if argument.is_stored else ""
            entries.append(f"Tensor{alias} {argument.name}")
        else:
            kind = "bool" if argument.type == "i1" else "SymInt" if argument.is_integer else "float"
            entries.append(f"{kind} {argument.name}")
    return f"{kernel.name}({', '.join([*entries, 'SymInt[] grid=[]'])}) -> ()"


def _letter(letters: Iterator[str], kernel: ExportedKernel) -> str:
    letter = next(letters, None)
    if letter is None:
        raise UnsupportedError(
            f"the kernel {kernel.name} stores to more arrays than an operator of torch can name",
            code="TW0803",
            hint='write the form "a" and register it by hand',
        )
    return letter


def _type(argument: Argument) -> str:
    if argument.is_pointer:
        return "const at::Tensor &"
    return "bool " if argument.type == "i1" else "int64_t " if argument.is_integer else "double "


def _symbolic_type(argument: Argument) -> str:
    """The type of a parameter where sizes are symbols."""
    is_size = not argument.is_pointer and argument.is_integer and argument.type != "i1"
    return "const c10::SymInt &" if is_size else _type(argument)


def _value(argument: Argument, given: str, kernel: str) -> str:
    if argument.is_pointer:
        is_written = "true" if argument.is_stored else "false"
        return f"static_cast<{argument.c_type.strip()}>(addressOf({given}, {is_written}))"
    if argument.is_integer:
        return f'narrowed<{C_NUMBERS[argument.type]}>({given}, "{argument.name}", "{kernel}")'
    return f"static_cast<{C_NUMBERS[argument.type]}>({given})"


def _overlap_checks(kernel: ExportedKernel) -> Iterator[str]:
    """Of arrays that are written: with themselves, and with what some code takes them to be apart from."""
    apart = {
        assumption.argument
        for specialization in kernel.specializations
        for assumption in specialization.assumptions
        if assumption.kind == "disjoint"
    }
    arrays = [(i, a) for i, a in enumerate(kernel.arguments) if a.is_pointer]
    for index, argument in arrays:
        if argument.is_stored:
            yield f'  checkWritten(given{index}, "{argument.name}", "{kernel.name}");'
        for other, its in arrays if index in apart else []:
            if other != index:
                names = f'"{argument.name}", given{other}, "{its.name}", "{kernel.name}"'
                yield f"  checkApart(given{index}, {names});"


def _type_checks(kernel: ExportedKernel) -> Iterator[str]:
    yield f'  Place place{{"{kernel.name}"}};'
    for index, argument in enumerate(kernel.arguments):
        if argument.is_pointer:
            row = BY_SHORT_NAME.get(argument.type.removeprefix("k"))
            element = row.c10 if row and row.c10 else "Byte"
            yield f'  place.add(given{index}, "{argument.name}", at::ScalarType::{element});'


def _meta_function(kernel: ExportedKernel) -> Iterator[str]:
    """The checks of a call with tensors without memory, whose sizes may be symbols."""
    unnamed = [
        f"{_symbolic_type(argument)}{f'given{index}' if argument.is_pointer else ''}".rstrip()
        for index, argument in enumerate(kernel.arguments)
    ]
    yield f"\nvoid trace_{kernel.name}({', '.join([*unnamed, 'c10::SymIntArrayRef'])}) {{"
    yield from _type_checks(kernel)
    yield from (line for line in _overlap_checks(kernel) if "checkWritten" in line)
    yield "}"


def _function(kernel: ExportedKernel) -> Iterator[str]:
    # By number: names of parameters are the user's, and may be those of anything else here.
    given = [(argument, f"given{index}") for index, argument in enumerate(kernel.arguments)]
    parameters = [*(f"{_type(argument)}{name}" for argument, name in given), "at::IntArrayRef grid"]
    values = [_value(argument, name, kernel.name) for argument, name in given]
    yield f"\nvoid call_{kernel.name}({', '.join(parameters)}) {{"
    yield from _type_checks(kernel)
    yield from _overlap_checks(kernel)
    yield "  if (place.isMeta)\n    return;"
    yield "  tilewright_launch launch = launchOf(place, grid);\n  tilewright_error error = {};"
    yield f"  check(::{kernel.name}({', '.join([*values, '&launch', '&error'])}), error);"
    yield from (f"  markWritten({name});" for argument, name in given if argument.is_stored)
    yield "}"


def _check_names(kernel: ExportedKernel) -> None:
    if taken := _RESERVED.intersection(argument.name for argument in kernel.arguments):
        raise UnsupportedError(
            f"the kernel {kernel.name} has a parameter `{min(taken)}`, which operators of torch take "
            "the launch's grid by",
            code="TW0803",
            hint="give the parameter another name",
        )


def write_operators(package: str, kernels: Sequence[ExportedKernel]) -> str:
    """The text of NAME_torch.cpp. Raises UnsupportedError TW0803 for names that no operator can have."""
    lines = [_HEAD.format(package=package)]
    for kernel in kernels:
        _check_names(kernel)
        lines += [*_function(kernel), *_meta_function(kernel)]
    lines.append("} // namespace\n")
    lines.append(f"TORCH_LIBRARY_FRAGMENT({package}, library) {{")
    for kernel in kernels:
        lines.append(f'  library.def("{_schema_of(kernel)}");')
        lines.append(
            f'  library.impl("{kernel.name}", torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, '
            f"TORCH_FN(call_{kernel.name})));"
        )
        lines.append(
            f'  library.impl("{kernel.name}", torch::dispatch(c10::DispatchKey::Meta, '
            f"TORCH_FN(trace_{kernel.name})));"
        )
    lines.append("}")
    return "\n".join(lines) + "\n"
