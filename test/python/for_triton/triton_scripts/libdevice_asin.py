"""An arc sine by the device's library, with and without its explicit path."""

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

DEVICE = triton.runtime.driver.active.get_active_torch_device()


@triton.jit
def asin_kernel(x_ptr, y_ptr, n_elements, BLOCK_SIZE: tl.constexpr):
    offsets = tl.program_id(axis=0) * BLOCK_SIZE + tl.arange(0, BLOCK_SIZE)
    mask = offsets < n_elements
    x = tl.load(x_ptr + offsets, mask=mask)
    tl.store(y_ptr + offsets, libdevice.asin(x), mask=mask)


torch.manual_seed(0)
x = torch.rand(9843, device=DEVICE)
output = torch.zeros(9843, device=DEVICE)
n_elements = output.numel()
grid = lambda meta: (triton.cdiv(n_elements, meta["BLOCK_SIZE"]),)
asin_kernel[grid](x, output, n_elements, BLOCK_SIZE=1024)
assert torch.max(torch.abs(output - torch.asin(x))) < 1e-6
