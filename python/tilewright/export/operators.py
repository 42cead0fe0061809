"""Kernels of a package as operators of torch: a file of C++ that registers them, for libtorch, AOTInductor
and `torch.ops.load_library`."""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..language.element_types import BY_SHORT_NAME
from ..native.errors import UnsupportedError
from .batching import check_batched, is_batched, write_batched
from .gradients import write_record
from .grid import c_expression
from .operator_rules import ANY, check_rules, refused, returned_arguments, schema_arguments
from .operator_text import HEAD
from .specializations import C_NUMBERS, Argument

if TYPE_CHECKING:
    from .package import ExportedKernel

_RESERVED = frozenset({"grid"})


def _schema_of(kernel: ExportedKernel) -> str:
    letters = iter(string.ascii_lowercase)
    entries: list[str] = []
    for _, argument in schema_arguments(kernel):
        if argument.is_pointer:
            alias = f"({_letter(letters, kernel)}!)" if argument.is_stored else ""
            entries.append(f"Tensor{alias} {argument.name}")
        else:
            kind = "bool" if argument.type == "i1" else "SymInt" if argument.is_integer else "float"
            entries.append(f"{kind} {argument.name}")
    results = ["Tensor"] * len(kernel.rules.outputs)
    returned = results[0] if len(results) == 1 else f"({', '.join(results)})"
    return f"{kernel.name}({', '.join([*entries, 'SymInt[]? grid=None'])}) -> {returned}"


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
    return "c10::SymInt " if argument.is_integer else _type(argument)


def _returned_type(kernel: ExportedKernel) -> str:
    count = len(kernel.rules.outputs)
    return ("void", "at::Tensor")[count] if count < 2 else f"std::tuple<{', '.join(['at::Tensor'] * count)}>"


def _value(argument: Argument, given: str, kernel: str) -> str:
    if argument.is_pointer:
        is_written = "true" if argument.is_stored else "false"
        return f"static_cast<{argument.c_type.strip()}>(addressOf({given}, {is_written}))"
    if argument.is_integer:
        return f'narrowed<{C_NUMBERS[argument.type]}>({given}, "{argument.name}", "{kernel}")'
    return f"static_cast<{C_NUMBERS[argument.type]}>({given})"


def _element_of(argument: Argument) -> str:
    row = BY_SHORT_NAME.get(argument.type.removeprefix("k"))
    return f"at::ScalarType::{row.c10 if row and row.c10 else 'Byte'}"


def _overlap_checks(kernel: ExportedKernel) -> Iterator[str]:
    """Of arrays that are written: with themselves, and with what some code takes them to be apart from."""
    apart = {
        assumption.argument
        for specialization in kernel.specializations
        for assumption in specialization.assumptions
        if assumption.kind == "disjoint"
    }
    arrays = [(i, a) for i, a in schema_arguments(kernel) if a.is_pointer]
    for index, argument in arrays:
        if argument.is_stored:
            yield f'  checkWritten(given{index}, "{argument.name}", "{kernel.name}");'
        for other, its in arrays if index in apart else []:
            if other != index:
                names = f'"{argument.name}", given{other}, "{its.name}", "{kernel.name}"'
                yield f"  checkApart(given{index}, {names});"


def _reach_checks(kernel: ExportedKernel) -> Iterator[str]:
    """Refuse tensors that are larger than offsets of 32 bits reach; on AMD's GPUs these count bytes."""
    for index, argument in schema_arguments(kernel):
        if argument.name in kernel.near_arrays:
            yield f'  checkReach(given{index}, {argument.element_bytes}, "{argument.name}", "{kernel.name}");'


def _layout_checks(kernel: ExportedKernel) -> Iterator[str]:
    """Of tensors whose elements lie otherwise than the kernel takes for granted."""
    for index, argument in schema_arguments(kernel):
        if not argument.is_pointer:
            continue
        strides = kernel.rules.strides.get(argument.name)
        names = f'"{argument.name}", "{kernel.name}"'
        if strides is None:
            yield f"  checkContiguous(given{index}, {names});"
        elif strides != (ANY,):
            known = ", ".join("-1" if entry in kernel.rules.filled else entry for entry in strides)
            yield f"  checkStrides(given{index}, {{{known}}}, {names});"


def _type_checks(kernel: ExportedKernel) -> Iterator[str]:
    yield f'  Place place{{"{kernel.name}"}};'
    for index, argument in schema_arguments(kernel):
        if argument.is_pointer:
            yield f'  place.add(given{index}, "{argument.name}", {_element_of(argument)});'


def _read_strides(kernel: ExportedKernel, is_symbolic: bool) -> Iterator[str]:
    """The numbers that are read from tensors."""
    numbers = {argument.name: index for index, argument in enumerate(kernel.arguments)}
    kind, method = ("c10::SymInt", "sym_stride") if is_symbolic else ("int64_t", "stride")
    for name, (array, dimension) in kernel.rules.filled.items():
        value = f"given{numbers[array]}.{method}({dimension})"
        yield f"  [[maybe_unused]] {kind} given{numbers[name]} = {value};"


def _allocations(kernel: ExportedKernel) -> Iterator[str]:
    """The arrays that are returned, in memory of their own."""
    given = {a.name: index for index, a in schema_arguments(kernel) if a.is_pointer}
    sizes = {a.name: f"c10::SymInt(given{i})" for i, a in enumerate(kernel.arguments) if a.is_integer}
    for index, argument in returned_arguments(kernel):
        shape = kernel.rules.outputs[argument.name]
        if len(shape) == 1 and shape[0] in given:
            extents = f"given{given[shape[0]]}.sym_sizes()"
        else:
            parts = [_extent(kernel, argument.name, entry, sizes) for entry in shape]
            extents = f"std::vector<c10::SymInt>{{{', '.join(parts)}}}"
        options = f"given{next(iter(given.values()))}.options().dtype({_element_of(argument)})"
        yield f"  at::Tensor given{index} = at::empty_symint({extents}, {options});"


def _extent(kernel: ExportedKernel, name: str, text: str, sizes: Mapping[str, str]) -> str:
    try:
        return f"c10::SymInt({c_expression(text, sizes, {})})"
    except UnsupportedError as error:
        reason = error.message.partition(": ")[2]
        hint = "write the name of an array that callers pass, or integers and integer arguments"
        raise refused(kernel.name, f"the shape of `{name}`: {reason}", hint) from None


def _return(kernel: ExportedKernel) -> str:
    names = [f"given{index}" for index, _ in returned_arguments(kernel)]
    return f"  return {{{', '.join(names)}}};" if len(names) > 1 else f"  return{''.join(f' {n}' for n in names)};"


def _meta_function(kernel: ExportedKernel) -> Iterator[str]:
    """The checks of a call with tensors without memory, whose sizes may be symbols."""
    given = [
        f"[[maybe_unused]] {_symbolic_type(argument)}given{index}"
        for index, argument in schema_arguments(kernel)
    ]
    parameters = ", ".join([*given, "at::OptionalSymIntArrayRef"])
    yield f"\n{_returned_type(kernel)} trace_{kernel.name}({parameters}) {{"
    yield from _type_checks(kernel)
    yield from (line for line in _overlap_checks(kernel) if "checkWritten" in line)
    yield from _layout_checks(kernel)
    yield from _read_strides(kernel, True)
    yield from _allocations(kernel)
    yield _return(kernel)
    yield "}"


def _function(kernel: ExportedKernel) -> Iterator[str]:
    # By number: names of parameters are the user's, and may be those of anything else here.
    given = [f"{_type(argument)}given{index}" for index, argument in schema_arguments(kernel)]
    values = [_value(a, f"given{index}", kernel.name) for index, a in enumerate(kernel.arguments)]
    parameters = ", ".join([*given, "at::OptionalIntArrayRef grid"])
    yield f"\n{_returned_type(kernel)} call_{kernel.name}({parameters}) {{"
    yield from _type_checks(kernel)
    yield from _overlap_checks(kernel)
    yield from _reach_checks(kernel)
    yield from _layout_checks(kernel)
    yield from _read_strides(kernel, False)
    yield from _allocations(kernel)
    yield f"  if (place.isMeta)\n  {_return(kernel)}"
    yield "  tilewright_launch launch = launchOf(place, grid.value_or(at::IntArrayRef()));\n  tilewright_error error = {};"
    yield f"  check(::{kernel.name}({', '.join([*values, '&launch', '&error'])}), error);"
    yield from (f"  markWritten(given{index});" for index, a in schema_arguments(kernel) if a.is_stored)
    yield _return(kernel)
    yield "}"


def _check_names(kernel: ExportedKernel) -> None:
    if taken := _RESERVED.intersection(argument.name for argument in kernel.arguments):
        raise UnsupportedError(
            f"the kernel {kernel.name} has a parameter `{min(taken)}`, which operators of torch take "
            "the launch's grid by",
            code="TW0803",
            hint="give the parameter another name",
        )


def _registration(kernel: ExportedKernel) -> Iterator[str]:
    # Kernels compute with the strides that they are given.
    is_exact = (ANY,) in kernel.rules.strides.values()
    strides = "needs_exact_strides" if is_exact else "needs_fixed_stride_order"
    tags = f"at::Tag::pt2_compliant_tag, at::Tag::{strides}"
    yield f'  library.def("{_schema_of(kernel)}", {{{tags}}});'
    functions = {"CompositeExplicitAutograd": "call", "Meta": "trace", "Autograd": "record"}
    if is_batched(kernel):
        functions["FuncTorchBatched"] = "batch"
    for key, function in functions.items():
        yield (
            f'  library.impl("{kernel.name}", torch::dispatch(c10::DispatchKey::{key}, '
            f"TORCH_FN({function}_{kernel.name})));"
        )


def write_operators(package: str, kernels: Sequence[ExportedKernel]) -> str:
    """The text of NAME_torch.cpp. Raises UnsupportedError TW0803 for names that no operator can have, and
    for rules that do not fit a kernel."""
    by_name = {kernel.name: kernel for kernel in kernels}
    lines = [HEAD.format(package=package)]
    for kernel in kernels:
        _check_names(kernel)
        check_rules(kernel, by_name)
        if kernel.rules.vmap:
            check_batched(kernel, by_name)
    for kernel in kernels:
        lines += [*_function(kernel), *_meta_function(kernel)]
        lines += write_record(package, kernel, by_name.get(kernel.rules.backward))
        lines += write_batched(package, kernel, by_name.get(kernel.rules.vmap))
    lines.append("} // namespace\n")
    lines.append(f"TORCH_LIBRARY_FRAGMENT({package}, library) {{")
    for kernel in kernels:
        lines += _registration(kernel)
    lines.append("}")
    return "\n".join(lines) + "\n"
