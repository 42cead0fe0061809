"""An operator of torch with a gradient: two kernels that a model trains with, compiled or not.

SwiGLU, the gate of today's language models, is x * sigmoid(x) * gate. As three operators it reads and
writes memory five times; the kernel reads two tensors and writes one. torch cannot see into a kernel, so
that its derivative is a second kernel, and the operator says which.
"""

from __future__ import annotations

import compare
import torch

import tilewright as tw

BLOCK = 1024


@tw.jit
def forward_kernel(out, x, gate, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    value = tw.load(x + i, mask=inside)
    tw.store(out + i, value * tw.sigmoid(value) * tw.load(gate + i, mask=inside), mask=inside)


# d(x s(x) g)/dx = g s(x) (1 + x (1 - s(x))), and with respect to g it is x s(x). The sigmoid is computed
# again: that is cheaper than to keep it in memory between the two passes.
@tw.jit
def backward_kernel(grad_x, grad_gate, grad, x, gate, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    value, upper = tw.load(x + i, mask=inside), tw.load(grad + i, mask=inside)
    part = tw.sigmoid(value)
    slope = part * (1 + value * (1 - part))
    tw.store(grad_x + i, upper * tw.load(gate + i, mask=inside) * slope, mask=inside)
    tw.store(grad_gate + i, upper * value * part, mask=inside)


# Both are operators with a name of their own. Their schemas and the shapes of their results follow from
# the annotations and from a run without values.
@tw.torch_op("tutorial::swiglu")
def swiglu(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n = x.numel()
    forward_kernel[(tw.cdiv(n, BLOCK),)](out, x, gate, n, BLOCK=BLOCK)
    return out


@tw.torch_op("tutorial::swiglu_backward")
def swiglu_backward(
    grad: torch.Tensor, x: torch.Tensor, gate: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    grad_x, grad_gate = torch.empty_like(x), torch.empty_like(gate)
    n = x.numel()
    backward_kernel[(tw.cdiv(n, BLOCK),)](grad_x, grad_gate, grad, x, gate, n, BLOCK=BLOCK)
    return grad_x, grad_gate


def keep_inputs(ctx, inputs, output) -> None:
    ctx.save_for_backward(*inputs)


def gradients(ctx, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    return swiglu_backward(grad.contiguous(), *ctx.saved_tensors)


swiglu.register_backward(gradients, setup_context=keep_inputs)


def reference(x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
    return torch.nn.functional.silu(x) * gate


def train_step(function, x: torch.Tensor, gate: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The gradients of the sum of squares of the function's result."""
    x, gate = x.detach().requires_grad_(), gate.detach().requires_grad_()
    function(x, gate).square().sum().backward()
    return x.grad, gate.grad


def run(size: str) -> list[compare.Race]:
    torch.manual_seed(13)
    rows, columns = (1024, 4096) if size == "full" else (7, 300)
    x, gate = torch.randn(rows, columns), torch.randn(rows, columns)
    name = f"swiglu {rows} x {columns}"
    compare.check(name, swiglu(x, gate), reference(x.double(), gate.double()), atol=1e-5)
    expected = train_step(reference, x.double(), gate.double())
    # One node of a compiled graph, with its gradient: nothing of the graph is split off.
    compiled = torch.compile(swiglu, fullgraph=True, backend="aot_eager")
    for how, function in (("", swiglu), (", compiled", compiled)):
        for of, actual, right in zip(("x", "gate"), train_step(function, x, gate), expected):
            compare.check(f"{name}{how}, gradient of {of}", actual, right, atol=1e-4, rtol=1e-5)
    return [
        compare.race(
            f"{name} and its gradients",
            lambda: train_step(swiglu, x, gate),
            lambda: train_step(reference, x, gate),
            size,
        )
    ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
