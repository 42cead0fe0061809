"""The part of an operator of torch that torch.func.vmap calls: one launch for a whole batch, or the refusal
of one that would write into what has no place for a batch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from .gradients import called_operator, parameter_types
from .operator_rules import refused, schema_arguments

if TYPE_CHECKING:
    from .package import ExportedKernel

# The parameter that a kernel of a batch has beside those of a single call: the batch's extent.
BATCH = "batch"


def is_batched(kernel: ExportedKernel) -> bool:
    """Returns true where vmap has something of the package to call; without, torch calls an operator for
    one of the batch after the other, which only needs results of its own."""
    return bool(kernel.rules.vmap) or any(a.is_stored for _, a in schema_arguments(kernel))


def write_batched(
    package: str, kernel: ExportedKernel, batched: ExportedKernel | None
) -> Iterator[str]:
    """Write the function batch_NAME for the dispatch key FuncTorchBatched."""
    if not is_batched(kernel):
        return
    given = schema_arguments(kernel)
    types = parameter_types(kernel)
    parameters = [f"[[maybe_unused]] {kind} given{index}" for kind, (index, _) in zip(types, given)]
    count = len(kernel.rules.outputs)
    returned = ("void", "at::Tensor")[count] if count < 2 else f"std::tuple<{', '.join(['at::Tensor'] * count)}>"
    grid = "[[maybe_unused]] at::OptionalSymIntArrayRef grid"
    yield f"\n{returned} batch_{kernel.name}({', '.join([*parameters, grid])}) {{"
    if batched is None:
        stored = next(a.name for _, a in given if a.is_stored)
        yield f'  TORCH_CHECK(false, "TW0441: the operator {kernel.name} is within torch.func.vmap, and has no rule "'
        yield f'              "for it: it stores to `{stored}`, which the caller passes; return the array, "'
        yield '              "as_operator(name, outputs=...)");\n}'
        return
    tensors = ", ".join(f"given{index}" for index, a in given if a.is_pointer)
    yield f"  {called_operator(package, batched)}"
    yield f'  Batch batch({{{tensors}}}, "{kernel.name}", grid.has_value());'
    yield "  c10::impl::ExcludeDispatchKeyGuard guard(c10::DispatchKey::FuncTorchBatched);"
    values = {a.name: f"batch.of(given{i})" if a.is_pointer else f"given{i}" for i, a in given}
    values[BATCH] = "batch.count"
    passed = [values[argument.name] for _, argument in schema_arguments(batched)]
    yield f"  auto results = called.call({', '.join([*passed, 'std::nullopt'])});"
    results = [f"std::get<{i}>(results)" for i in range(count)] if count > 1 else ["results"]
    made = ", ".join(f"at::functorch::makeBatched({result}, 0, batch.level)" for result in results)
    yield f"  return {f'{{{made}}}' if count > 1 else made};\n}}"


def check_batched(kernel: ExportedKernel, kernels: Mapping[str, ExportedKernel]) -> None:
    """Refuse a kernel of a batch that does not fit. Raises UnsupportedError TW0803."""
    batched = kernels.get(kernel.rules.vmap)
    if batched is None:
        hint = "add it to the package under this name"
        raise refused(kernel.name, f"the package has no kernel {kernel.rules.vmap}", hint)
    hint = (
        "a kernel of a batch takes arguments of the single one by name, its arrays with the batch as the first "
        f"dimension, and the batch's extent as `{BATCH}`, and returns the same arrays"
    )
    for one in (kernel, batched):
        if stored := [a.name for _, a in schema_arguments(one) if a.is_stored]:
            what = f"it has a kernel for vmap, and {one.name} stores to `{stored[0]}`, which the caller passes"
            raise refused(kernel.name, what, "return the array: as_operator(name, outputs=...)")
    if [*batched.rules.outputs] != [*kernel.rules.outputs]:
        raise refused(kernel.name, f"its kernel for vmap {batched.name} returns other arrays", hint)
    known = {argument.name: argument.type for _, argument in schema_arguments(kernel)}
    for _, argument in schema_arguments(batched):
        is_extent = argument.name == BATCH and argument.is_integer
        if not is_extent and known.get(argument.name) != argument.type:
            what = f"its kernel for vmap {batched.name} has an argument `{argument.name}`"
            raise refused(kernel.name, what, hint)
    if not all(specialization.grid for specialization in batched.specializations):
        raise refused(kernel.name, f"its kernel for vmap {batched.name} has no grid", "add it with grid=...")
