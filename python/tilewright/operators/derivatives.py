"""Backward passes of operators: functions or kernels, and what the forward pass keeps for them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad
from ..launch.interface import KernelInterface
from ..native.errors import LaunchError

if TYPE_CHECKING:
    from .definition import TorchOp

Rule = Callable[..., Any]


def backward_of(
    operator: TorchOp,
    backward: Any,
    setup_context: Rule | None,
    is_differentiable: bool,
    grid: Any,
    constants: Mapping[str, Any],
) -> tuple[Rule, Rule]:
    """The backward pass and what keeps the values for it, as torch.library takes them."""
    setup = setup_context or _keeper(operator)
    if isinstance(backward, KernelInterface):
        if grid is None:
            raise ValueError("a kernel as a backward pass needs its grid: register_backward(kernel, grid=...)")
        backward = _launcher(operator, backward, grid, constants)
    return (backward if is_differentiable else _once(operator, backward)), setup


def check_forward(operator: TorchOp, values: Iterable[Any]) -> None:
    """Refuse tensors with a tangent: no rule of an operator is one of forward derivatives."""
    for value in values:
        if isinstance(value, torch.Tensor) and forward_ad.unpack_dual(value).tangent is not None:
            raise _without_rule(operator, "a forward derivative", "use reverse mode: torch.func.vjp, .backward()")


def _without_rule(operator: TorchOp, what: str, hint: str) -> LaunchError:
    return LaunchError(f"{what} of the operator {operator.name} has no rule", code="TW0445", hint=hint)


def function_of(operator: TorchOp, rule: Rule, setup: Rule) -> type[torch.autograd.Function]:
    """The operator for transforms of torch.func, which take only such functions."""

    class Function(torch.autograd.Function):
        @staticmethod
        def forward(*args: Any) -> Any:
            return operator.call(*args)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            setup(ctx, inputs, output)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return rule(ctx, *gradients)

        @staticmethod
        def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
            return operator.map(info, in_dims, *args)

    return Function


class _Kept:
    """What a forward pass has kept, with its tensors as a transform of torch.func has them now."""

    def __init__(self, context: Any, saved_tensors: tuple[Any, ...]) -> None:
        self._context, self.saved_tensors = context, saved_tensors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)


def _once(operator: TorchOp, backward: Rule) -> Rule:
    """A backward pass whose results have no derivative: one that is asked for is refused."""

    class Once(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(context: Any, num_gradients: int, *tensors: Any) -> Any:
            kept = _Kept(context, tensors[num_gradients:])
            return backward(kept, *tensors[:num_gradients])

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            """Keep nothing: there is no derivative."""

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            hint = "register a function of operators that have rules, with is_differentiable=True"
            raise _without_rule(operator, "a second derivative", hint)

    def rule(ctx: Any, *gradients: Any) -> Any:
        tensors = (*gradients, *ctx.saved_tensors)
        if torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in tensors):
            return Once.apply(ctx, len(gradients), *tensors)
        return backward(ctx, *gradients)

    return rule


def _keeper(operator: TorchOp) -> Rule:
    def setup(ctx: Any, inputs: Sequence[Any], output: Any) -> None:
        named = dict(zip(operator.parameters, inputs))
        tensors = {name: value for name, value in named.items() if isinstance(value, torch.Tensor)}
        outputs = output if isinstance(output, (tuple, list)) else [output]
        ctx.names = [*tensors]
        ctx.arguments = {name: value for name, value in named.items() if name not in tensors}
        ctx.save_for_backward(*tensors.values(), *outputs)  # pyright: ignore[reportUnknownArgumentType]

    return setup


def _launcher(operator: TorchOp, kernel: Any, grid: Any, constants: Mapping[str, Any]) -> Rule:
    """A backward pass that launches a kernel, which has its arguments by name."""
    names: Sequence[str] = kernel.arg_names

    def backward(ctx: Any, *gradients: Any) -> tuple[Any, ...]:
        saved = ctx.saved_tensors
        given: dict[str, Any] = {**ctx.arguments, **dict(zip(ctx.names, saved))}
        outputs = saved[len(ctx.names) :]
        single = len(outputs) == 1
        for index, (output, gradient) in enumerate(zip(outputs, gradients)):
            end = "" if single else str(index)
            given[f"out{end}"], given[f"grad_out{end}"] = output, gradient.contiguous()
        results: dict[str, Any] = {}
        for index, name in enumerate(operator.parameters):
            if f"grad_{name}" in names:
                results[name] = given[f"grad_{name}"] = torch.empty_like(given[name])
        given.update(constants)
        kernel[grid](**{name: given[name] for name in names if name in given})
        return tuple(results.get(name) for name in operator.parameters)

    return backward
