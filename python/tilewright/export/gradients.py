"""The part of an operator of torch that autograd calls: what it refuses, what it keeps, and the backward
pass."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from .operator_rules import returned_arguments, schema_arguments
from .specializations import Argument

if TYPE_CHECKING:
    from .package import ExportedKernel


def write_record(package: str, kernel: ExportedKernel, backward: ExportedKernel | None) -> Iterator[str]:
    """Write the function record_NAME for the dispatch key Autograd, and the node of its backward pass."""
    if kernel.rules.outputs:
        yield from _node(package, kernel, backward)
    yield from _function(package, kernel, _kept(kernel, backward))


def _number(argument: Argument) -> str:
    return "bool" if argument.type == "i1" else "c10::SymInt" if argument.is_integer else "double"


def _type(argument: Argument) -> str:
    return "const at::Tensor &" if argument.is_pointer else _number(argument)


def parameter_types(kernel: ExportedKernel) -> list[str]:
    """The types in C++ of an operator's arguments, where sizes may be symbols."""
    return [_type(argument) for _, argument in schema_arguments(kernel)]


def called_operator(package: str, kernel: ExportedKernel) -> str:
    """The statement that finds an operator, whose calls torch dispatches."""
    count = len(kernel.rules.outputs)
    returned = ("void", "at::Tensor")[count] if count < 2 else f"std::tuple<{', '.join(['at::Tensor'] * count)}>"
    types = ", ".join([*(kind.rstrip() for kind in parameter_types(kernel)), "at::OptionalSymIntArrayRef"])
    found = f'c10::Dispatcher::singleton().findSchemaOrThrow("{package}::{kernel.name}", "")'
    return f"static auto called = {found}.typed<{returned}({types})>();"


def _kept(kernel: ExportedKernel, backward: ExportedKernel | None) -> list[tuple[int, Argument]]:
    """The arguments and results that the backward pass reads."""
    if backward is None:
        return []
    names = {argument.name for _, argument in schema_arguments(backward)}
    names |= {array for name, (array, _) in kernel.rules.filled.items() if name in names}
    filled = kernel.rules.filled
    return [(i, a) for i, a in enumerate(kernel.arguments) if a.name in names and a.name not in filled]


def _node(package: str, kernel: ExportedKernel, backward: ExportedKernel | None) -> Iterator[str]:
    kept = _kept(kernel, backward)
    arrays = [index for index, argument in kept if argument.is_pointer]
    yield f"\nstruct Record_{kernel.name} final : torch::autograd::Node {{"
    for index, argument in kept:
        kind = "torch::autograd::SavedVariable" if argument.is_pointer else _number(argument)
        yield f"  {kind} saved{index}{'' if argument.is_pointer else ' = {}'};"
    yield f'  std::string name() const override {{ return "{kernel.name}Backward"; }}'
    if arrays:
        yield "  void release_variables() override {\n    std::lock_guard<std::mutex> lock(mutex_);"
        yield from (f"    saved{index}.reset_data();" for index in arrays)
        yield "  }"
    given = "gradients" if backward else ""
    list_of = "torch::autograd::variable_list"
    yield f"  {list_of} apply({list_of} &&{given}) override {{"
    if backward is None:
        yield f'    TORCH_CHECK(false, "TW0445: the derivative of the operator {kernel.name} has no rule: name its "'
        yield '                "backward kernel when the package is made: as_operator(..., backward=...)");'
    else:
        yield from _backward_call(package, kernel, backward, bool(arrays))
    yield "  }\n};"


def _backward_call(
    package: str, kernel: ExportedKernel, backward: ExportedKernel, locks: bool
) -> Iterator[str]:
    if locks:
        yield "    std::lock_guard<std::mutex> lock(mutex_);"
    yield f"    {called_operator(package, backward)}"
    values = {f"grad_{a.name}": f"gradientOf(*this, gradients[{position}], {position})"
              for position, (_, a) in enumerate(returned_arguments(kernel))}  # fmt: skip
    numbers = {argument.name: index for index, argument in enumerate(kernel.arguments)}
    for index, argument in _kept(kernel, backward):
        is_result = argument.name in kernel.rules.outputs
        unpacked = f".unpack({'getptr()' if is_result else ''})" if argument.is_pointer else ""
        values[argument.name] = f"saved{index}{unpacked}"
    for name, (array, dimension) in kernel.rules.filled.items():
        values[name] = f"saved{numbers[array]}.unpack().sym_stride({dimension})"
    passed = [values[argument.name] for _, argument in schema_arguments(backward)]
    yield f"    auto results = called.call({', '.join([*passed, 'std::nullopt'])});"
    tensors = [a.name for _, a in schema_arguments(kernel) if a.is_pointer]
    yield f"    torch::autograd::variable_list all({len(tensors)});"
    for position, (_, argument) in enumerate(returned_arguments(backward)):
        result = f"std::get<{position}>(results)" if len(backward.rules.outputs) > 1 else "results"
        yield f"    all[{tensors.index(argument.name.removeprefix('grad_'))}] = {result};"
    yield "    return all;"


def _function(package: str, kernel: ExportedKernel, kept: list[tuple[int, Argument]]) -> Iterator[str]:
    given = schema_arguments(kernel)
    tensors = [index for index, argument in given if argument.is_pointer]
    parameters = [f"{_type(a)}{'' if a.is_pointer else ' '}given{index}" for index, a in given]
    yield f"\nauto record_{kernel.name}({', '.join([*parameters, 'at::OptionalSymIntArrayRef grid'])}) {{"
    yield f"  {called_operator(package, kernel)}"
    for index, argument in given:
        if argument.is_pointer:
            yield f'  refuseTangent(given{index}, "{kernel.name}");'
        if argument.is_stored:
            yield f'  refuseLeaf(given{index}, "{argument.name}", "{kernel.name}");'
    call = f"called.call({', '.join([*(f'given{index}' for index, _ in given), 'grid'])})"
    if not kernel.rules.outputs:
        yield f"  at::AutoDispatchBelowAutograd below;\n  {call};\n}}"
        return
    every = ", ".join(f"given{index}" for index in tensors)
    yield f"  decltype(makeRecord<Record_{kernel.name}>()) record;"
    yield f"  if (torch::autograd::compute_requires_grad({every})) {{"
    yield f"    record = makeRecord<Record_{kernel.name}>();"
    yield f"    record->set_next_edges(torch::autograd::collect_next_edges({every}));"
    for index, argument in kept:
        if argument.name not in kernel.rules.outputs:
            value = f"torch::autograd::SavedVariable(given{index}, false)" if argument.is_pointer else f"given{index}"
            yield f"    record->saved{index} = {value};"
    yield "  }\n  auto results = [&] {\n    at::AutoDispatchBelowAutograd below;"
    yield f"    return {call};\n  }}();"
    yield from _link_results(kernel, kept)
    yield "  return results;\n}"


def _link_results(kernel: ExportedKernel, kept: list[tuple[int, Argument]]) -> Iterator[str]:
    """Name the record as what made the results; those that it keeps are kept after that."""
    yield "  if (record) {"
    returned = returned_arguments(kernel)
    for position, (index, _) in enumerate(returned):
        result = f"std::get<{position}>(results)" if len(returned) > 1 else "results"
        yield f"    at::Tensor &result{index} = {result};"
        yield f"    bool isReal{index} = torch::autograd::isDifferentiableType(result{index}.scalar_type());"
        yield f"    torch::autograd::set_history(isReal{index} ? result{index} : at::Tensor(), record);"
    names = {index for index, _ in kept}
    for index, _ in returned:
        if index in names:
            yield f"    record->saved{index} = torch::autograd::SavedVariable(result{index}, true);"
    yield "  }"
