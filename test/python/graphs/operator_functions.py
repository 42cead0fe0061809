"""Functions that are operators of torch, in a module of their own: they are pickled by its name."""

from __future__ import annotations

import tilewright as tw
import torch
from graph_kernels import scale


@tw.jit
def scale_to(out, x, n, factor, B: tw.constexpr):
    i = tw.program_id(0) * B + tw.arange(0, B)
    tw.store(out + i, tw.load(x + i, mask=i < n) * factor, mask=i < n)


@tw.jit
def scale_gradient(grad_x, grad_out, n, factor, B: tw.constexpr):
    i = tw.program_id(0) * B + tw.arange(0, B)
    tw.store(grad_x + i, tw.load(grad_out + i, mask=i < n) * factor, mask=i < n)


@tw.torch_op("graphs::scaled")
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:
    x = x.contiguous()
    out = torch.empty_like(x)
    scale_to[(tw.cdiv(x.numel(), 64),)](out, x, x.numel(), factor, B=64)
    return out


@scaled.register_backward
def _scaled_backward(ctx, grad):
    return scaled(grad, ctx.arguments["factor"]), None


@scaled.register_vmap
def _scaled_map(info, in_dims, x, factor):
    return scaled(x, factor), in_dims[0]


scaled.register_autocast("cpu", torch.float32)


@tw.torch_op("graphs::scaled_by_kernel")
def scaled_by_kernel(x: torch.Tensor, n: int, factor: float = 2.0) -> torch.Tensor:
    out = torch.empty_like(x)
    scale_to[(tw.cdiv(n, 64),)](out, x, n, factor, B=64)
    return out


scaled_by_kernel.register_backward(
    scale_gradient, grid=lambda meta: (tw.cdiv(meta["n"], 64),), B=64
)


@tw.torch_op("graphs::scale_")
def scale_(x: torch.Tensor, n: int) -> None:
    scale[(1,)](x, n, 2.0)


class Scaled(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(16))
        self.kernel, self.operator = scale_to, scaled

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.operator(x * self.weight, 3.0)


class Items(torch.utils.data.Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return scaled(torch.full((4,), float(index)), 2.0)


def send_scaled(queue, module) -> None:
    queue.put(module(torch.ones(16)).detach().sum().item())
