"""A module, a dataset and functions of processes that launch kernels themselves, without an operator."""

from __future__ import annotations

import tilewright as tw
import torch
from operator_functions import scale_gradient, scale_to


@tw.autotune([tw.Config({"B": 64}), tw.Config({"B": 128})], key=["n"])
@tw.jit
def negate(out, x, n, B: tw.constexpr):
    i = tw.program_id(0) * B + tw.arange(0, B)
    tw.store(out + i, -tw.load(x + i, mask=i < n), mask=i < n)


class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: torch.Tensor, factor: float) -> torch.Tensor:
        ctx.factor = factor
        out = torch.empty_like(x)
        scale_to[(tw.cdiv(x.numel(), 64),)](out, x, x.numel(), factor, B=64)
        return out

    @staticmethod
    def backward(ctx, gradient: torch.Tensor):
        result = torch.empty_like(gradient)
        gradient = gradient.contiguous()
        scale_gradient[(tw.cdiv(gradient.numel(), 64),)](result, gradient, gradient.numel(), ctx.factor, B=64)
        return result, None


class Layer(torch.nn.Module):
    """Holds a kernel and an autotuned one."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(16))
        self.kernel, self.tuned = scale_to, negate

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return Scale.apply(x * self.weight, 3.0)


class Launches(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return Scale.apply(torch.full((4,), float(index)), 2.0)


def train_shared(module: Layer, queue) -> None:
    """Add a gradient to the parameters that the parent has, too."""
    module(torch.ones(16)).sum().backward()
    with torch.no_grad():
        module.weight += module.weight.grad
    queue.put(module.weight.sum().item())
