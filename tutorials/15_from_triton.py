"""From Triton in ten minutes: a kernel as Triton's users write it, unchanged, and what it gains here.

Only the imports differ. A script that cannot be touched runs as it is, too:
`python -m tilewright.triton script.py`.
"""

from __future__ import annotations

import compare
import torch

import tilewright as tw
import tilewright.triton as triton
import tilewright.triton.language as tl


# Triton's decorators, its names and its habits: pointers and strides as arguments, `num_warps` in a
# configuration, a grid that is a function of the constants.
@triton.autotune(
    configs=[
        triton.Config({"BLOCK_SIZE": 1024}, num_warps=4),
        triton.Config({"BLOCK_SIZE": 4096}, num_warps=8),
    ],
    key=["n_cols"],
)
@triton.jit
def rms_norm_kernel(
    x_ptr, w_ptr, out_ptr, stride, n_cols, eps, BLOCK_SIZE: tl.constexpr
):
    row = tl.program_id(0)
    x_ptr += row * stride
    out_ptr += row * stride
    squares = tl.zeros([BLOCK_SIZE], dtype=tl.float32)
    for off in range(0, n_cols, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        x = tl.load(x_ptr + cols, mask=cols < n_cols, other=0.0).to(tl.float32)
        squares += x * x
    rstd = tl.rsqrt(tl.sum(squares, axis=0) / n_cols + eps)
    for off in range(0, n_cols, BLOCK_SIZE):
        cols = off + tl.arange(0, BLOCK_SIZE)
        mask = cols < n_cols
        x = tl.load(x_ptr + cols, mask=mask, other=0.0).to(tl.float32)
        w = tl.load(w_ptr + cols, mask=mask)
        tl.store(out_ptr + cols, x * rstd * w, mask=mask)


def rms_norm(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    out = compare.poisoned(x)
    rms_norm_kernel[(x.shape[0],)](x, w, out, x.stride(0), x.shape[1], 1e-6)
    return out


def reference(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return x * torch.rsqrt(x.square().mean(1, keepdim=True) + 1e-6) * w


def run(size: str) -> list[compare.Race]:
    torch.manual_seed(15)
    rows, columns = (2048, 4096) if size == "full" else (5, 1500)
    x, w = torch.randn(rows, columns), torch.rand(columns)
    name = f"rms norm {rows} x {columns}"
    # It runs on tensors of the CPU, where Triton asks for a GPU ...
    compare.check(name, rms_norm(x, w), reference(x.double(), w.double()), atol=1e-5, rtol=1e-5)
    # ... and on a simulated GPU, which executes the code for the real one and reports races, reads out of
    # bounds and bank conflicts. Below the decorators is the kernel, for a launch without tuning.
    few = x[:2].contiguous()
    out = compare.poisoned(few)
    with tw.device("sim:sm_90a"):
        kernel = rms_norm_kernel.fn
        kernel[(2,)](few, w, out, columns, columns, 1e-6, BLOCK_SIZE=1024, num_warps=4)
    expected = reference(few.double(), w.double())
    compare.check(f"{name}, simulated", out, expected, atol=1e-5, rtol=1e-5)
    # What stands in its way on an H100, without one.
    types = {"x_ptr": "*fp32:16", "w_ptr": "*fp32:16", "out_ptr": "*fp32:16", "stride": "i32"}
    types |= {"n_cols": "i32", "eps": "fp32"}
    found = kernel.explain(types, {"BLOCK_SIZE": 1024}, "nvidia:sm_90a")
    print("  tilewright explain:")
    print("".join(f"    {line}\n" for line in str(found).splitlines()[:8]), end="")
    return [compare.race(name, lambda: rms_norm(x, w), lambda: reference(x, w), size)]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
