"""A sum of vectors on the driver's device, and a table of its speed with a plot."""

import os
import sys

import torch
import triton
import triton.language as tl

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def add_kernel(x_ptr, y_ptr, output_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    pid = tl.program_id(axis=0)
    offsets = pid * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    total = tl.load(x_ptr + offsets, mask=mask) + tl.load(y_ptr + offsets, mask=mask)
    tl.store(output_ptr + offsets, total, mask=mask)


def add(x: torch.Tensor, y: torch.Tensor):
    output = torch.empty_like(x)
    assert x.device == DEVICE and y.device == DEVICE and output.device == DEVICE
    n_elements = output.numel()
    grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
    add_kernel[grid](x, y, output, n_elements, BLOCK_SIZE=1024)
    return output


x, y = (torch.rand(9843, device=DEVICE) for _ in range(2))
assert torch.max(torch.abs(x + y - add(x, y))) == 0


@triton.testing.perf_report(
    triton.testing.Benchmark(
        x_names=["size"],
        x_vals=[2**i for i in range(8, 11, 1)],
        x_log=True,
        line_arg="provider",
        line_vals=["triton", "torch"],
        line_names=["Triton", "Torch"],
        styles=[("blue", "-"), ("green", "-")],
        ylabel="GB/s",
        plot_name="vector-add-performance",
        args={},
    )
)
def benchmark(size, provider):
    x, y = (torch.rand(size, device=DEVICE, dtype=torch.float32) for _ in range(2))
    run = (lambda: x + y) if provider == "torch" else (lambda: add(x, y))
    ms, min_ms, max_ms = triton.testing.do_bench(
        run, quantiles=[0.5, 0.2, 0.8], warmup=1, rep=2
    )
    gbps = lambda ms: 3 * x.numel() * x.element_size() * 1e-9 / (ms * 1e-3)
    return gbps(ms), gbps(max_ms), gbps(min_ms)


benchmark.run(print_data=True, show_plots=True, save_path=sys.argv[1])
lines = open(os.path.join(sys.argv[1], "vector-add-performance.csv")).read().splitlines()
assert lines[0] == "size,Triton (GB/s),Torch (GB/s)" and len(lines) == 4, lines
assert [float(line.split(",")[0]) for line in lines[1:]] == [256, 512, 1024]
assert all(float(cell) > 0 for line in lines[1:] for cell in line.split(",")[1:])
