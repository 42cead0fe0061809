"""A fused kernel in place of a subgraph: torch.compile finds the pattern, and launches ours for it.

A model is often somebody else's code. torch.compile turns it into a graph of operators, and Inductor
lets a pass of ours rewrite that graph: wherever the operators of a residual sum and a root mean
square norm appear, one kernel that reads both inputs once takes their place. The model is not
touched.
"""

from __future__ import annotations

from typing import Any

import compare
import torch
from torch._inductor.custom_graph_pass import CustomGraphPass, get_hash_for_files
from torch._inductor.pattern_matcher import Match, PatternMatcherPass, fwd_only, register_replacement

import tilewright as tw

EPSILON = 1e-6


# One program sums and normalizes one row.
@tw.jit
def add_norm_kernel(out, x, residual, weight, n_cols, eps, BLOCK: tw.constexpr):
    cols = tw.arange(0, BLOCK)
    exists = cols < n_cols
    start = tw.program_id(0) * n_cols
    total = tw.load(x + start + cols, mask=exists, other=0.0)
    total += tw.load(residual + start + cols, mask=exists, other=0.0)
    mean_of_squares = tw.sum(total * total, axis=0) / n_cols
    scaled = total * tw.rsqrt(mean_of_squares + eps) * tw.load(weight + cols, mask=exists, other=0.0)
    tw.store(out + start + cols, scaled, mask=exists)


# An operator, not a bare launch: a graph refers to it by name, and its result has a shape while
# nothing runs. Both follow from the annotations and from a run of the function without values.
@tw.torch_op("tutorial::add_norm")
def add_norm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    n_cols = x.shape[-1]
    block = tw.next_power_of_2(n_cols)
    add_norm_kernel[(x.numel() // n_cols,)](out, x, residual, weight, n_cols, EPSILON, BLOCK=block)
    return out


# The subgraph to look for, written as a model would write it. It is traced to operators, so that other
# ways to write the same operators match, too; another constant for epsilon does not.
def pattern(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    total = x + residual
    return total * torch.rsqrt(total.pow(2).mean(-1, keepdim=True) + EPSILON) * weight


def replacement(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    return add_norm(x, residual, weight)


# The shapes of a match are not those of the examples below. The kernel takes rows back to back and
# as many weights as columns: a match with others is left to Inductor.
def fits(match: Match) -> bool:
    x, residual, weight = (match.kwargs[name].meta["val"] for name in ("x", "residual", "weight"))
    is_dense = all(t.is_contiguous() and t.dtype == torch.float32 for t in (x, residual, weight))
    return is_dense and x.shape == residual.shape and weight.shape == x.shape[-1:]


class FuseAddNorm(CustomGraphPass):
    """Replaces each match in a graph. Inductor keeps compiled graphs on disk, by `uuid` too."""

    def __init__(self) -> None:
        self.patterns = PatternMatcherPass()
        self.num_replaced = 0
        add_norm(torch.ones(1, 4), torch.ones(1, 4), torch.ones(4))  # its first call defines the operator
        examples = [torch.empty(2, 4), torch.empty(2, 4), torch.empty(4)]
        patterns: Any = self.patterns  # torch annotates what takes them for another class
        register_replacement(pattern, replacement, examples, fwd_only, patterns, extra_check=fits)

    def __call__(self, graph: torch.fx.Graph) -> None:
        self.num_replaced += self.patterns.apply(graph)

    def uuid(self) -> bytes:
        return get_hash_for_files((__file__,))


class Layer(torch.nn.Module):
    """Somebody else's model: it knows nothing of the kernel."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(width))
        self.linear = torch.nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.linear(x) + x
        return y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + EPSILON) * self.weight


def run(size: str) -> list[compare.Race]:
    torch.manual_seed(7)
    n_rows, width = (4096, 1024) if size == "full" else (64, 256)
    layer, x = Layer(width), torch.randn(n_rows, width)
    fuse = FuseAddNorm()
    # The graphs of derivatives have the pattern with more around it: this pass is for inference.
    options: dict[str, Any] = {"post_grad_custom_pre_pass": fuse, "fx_graph_cache": False}
    fused = torch.compile(layer, options=options)
    plain = torch.compile(layer)
    with torch.no_grad():
        out = fused(x)
        assert fuse.num_replaced == 1, "the graph has no such pattern"
        compare.check(f"layer {n_rows} x {width}", out, layer.double()(x.double()), atol=1e-4)
        layer.float()
        return [
            compare.race(
                f"layer {n_rows} x {width} fp32", lambda: fused(x), lambda: plain(x), size, "inductor"
            )
        ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
