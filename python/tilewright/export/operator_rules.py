"""Rules of a package for its operators of frameworks: which arrays they return, how their tensors lie, and which
kernel is the backward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..native.errors import UnsupportedError
from .entries import split_entries

if TYPE_CHECKING:
    from .package import ExportedKernel

# Strides of an array that the caller passes itself, or that the kernel does not depend on.
ANY = "any"


@dataclass(frozen=True)
class OperatorRules:
    """What `Package.as_operator` was told of one kernel."""

    outputs: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    strides: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    backward: str = ""
    vmap: str = ""

    @property
    def filled(self) -> dict[str, tuple[str, int]]:
        """The parameters that an operator reads from strides: the array and the dimension of each."""
        return {
            entry: (name, dimension)
            for name, entries in self.strides.items()
            for dimension, entry in enumerate(entries)
            if entry.isidentifier() and entry != ANY
        }


def read_rules(
    outputs: Mapping[str, str], strides: Mapping[str, str | Sequence[str | int]], backward: str, vmap: str
) -> OperatorRules:
    """The rules as they are spelled: shapes "M, N" or an array's name; strides "stride_m, 1" or "any"."""
    return OperatorRules(
        {name: _entries(shape) for name, shape in outputs.items()},
        {name: _entries(given) for name, given in strides.items()},
        backward,
        vmap,
    )


def _entries(given: str | Sequence[str | int]) -> tuple[str, ...]:
    if isinstance(given, str):
        text = given.strip()
        is_bracketed = text[:1] + text[-1:] in ("()", "[]") and text.count(text[0]) == 1
        given = split_entries(text[1:-1] if is_bracketed else text)
    return tuple(str(entry).strip() for entry in given)


def refused(kernel: str, what: str, hint: str) -> UnsupportedError:
    """The error of rules that no operator of torch can have."""
    return UnsupportedError(f"the operator {kernel}: {what}", code="TW0803", hint=hint)


def check_rules(kernel: ExportedKernel, kernels: Mapping[str, ExportedKernel]) -> None:
    """Refuse rules that do not fit a kernel's parameters. Raises UnsupportedError TW0803."""
    rules, arguments = kernel.rules, {a.name: a for a in kernel.arguments}
    hint = "name parameters that are arrays of the kernel"
    for name in (*rules.outputs, *rules.strides):
        if name not in arguments or not arguments[name].is_pointer:
            raise refused(kernel.name, f"`{name}` is not an array among its arguments", hint)
    for name in rules.outputs:
        if not arguments[name].is_stored:
            raise refused(kernel.name, f"it returns `{name}`, which the kernel does not store to", hint)
        if name in rules.strides:
            raise refused(kernel.name, f"`{name}` is returned, and so contiguous", "leave its strides out")
    for name in rules.filled:
        if name not in arguments or not arguments[name].is_integer:
            what = f"the stride `{name}` is neither an integer argument nor a number"
            raise refused(kernel.name, what, 'write the strides as "stride_m, 1", or "any"')
    given = [a for a in kernel.arguments if a.is_pointer and a.name not in rules.outputs]
    if rules.outputs and not given:
        what = "it returns all of its arrays, so that no tensor says on which device"
        raise refused(kernel.name, what, "leave one array to the caller")
    if rules.backward:
        _check_backward(kernel, kernels)


def _check_backward(kernel: ExportedKernel, kernels: Mapping[str, ExportedKernel]) -> None:
    backward = kernels.get(kernel.rules.backward)
    if backward is None:
        hint = "add it to the package under this name"
        raise refused(kernel.name, f"the package has no kernel {kernel.rules.backward}", hint)
    mutated = [a.name for a in kernel.arguments if a.is_stored and a.name not in kernel.rules.outputs]
    if mutated:
        what = f"it has a backward pass, and stores to `{mutated[0]}`, which the caller passes"
        raise refused(kernel.name, what, "return the array: as_operator(name, outputs=...)")
    hint = (
        "a backward kernel takes arguments and results of the forward one by name, grad_RESULT, and "
        "returns grad_ARGUMENT"
    )
    tensors = {a.name for a in kernel.arguments if a.is_pointer} - set(kernel.rules.outputs)
    known = {a.name for a in kernel.arguments} | {f"grad_{name}" for name in kernel.rules.outputs}
    for argument in backward.arguments:
        name = argument.name
        if argument.is_stored and name not in backward.rules.outputs:
            raise refused(kernel.name, f"its backward pass stores to `{name}`, which it does not return", hint)
        if name in backward.rules.outputs:
            is_known = name.removeprefix("grad_") in tensors and name.startswith("grad_")
        else:
            is_known = name in known or name in backward.rules.filled
        if not is_known:
            raise refused(kernel.name, f"its backward pass {backward.name} has an argument `{name}`", hint)
    if not backward.rules.outputs:
        raise refused(kernel.name, f"its backward pass {backward.name} returns nothing", hint)
    if not all(specialization.grid for specialization in backward.specializations):
        raise refused(kernel.name, f"its backward pass {backward.name} has no grid", "add it with grid=...")


def schema_arguments(kernel: ExportedKernel) -> list[tuple[int, Any]]:
    """The arguments that callers of the operator pass, with their numbers."""
    left_out = {*kernel.rules.outputs, *kernel.rules.filled}
    return [(index, a) for index, a in enumerate(kernel.arguments) if a.name not in left_out]


def returned_arguments(kernel: ExportedKernel) -> list[tuple[int, Any]]:
    """The arrays that the operator allocates, in the order in which it returns them."""
    numbers = {argument.name: index for index, argument in enumerate(kernel.arguments)}
    return [(numbers[name], kernel.arguments[numbers[name]]) for name in kernel.rules.outputs]
