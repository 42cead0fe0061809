"""A kernel as a function of JAX: within jax.jit, over a batch, and with a gradient of its own.

Arrays of JAX never change, so a kernel cannot write into one that it is given. `tw.jax.call` turns
the roles around: it says which arrays the kernel fills, XLA allocates them and calls the kernel
within its program, and they are returned.
"""

from __future__ import annotations

import compare
import jax
import torch

import tilewright as tw

BLOCK = 1024


# gelu(x) = x * Phi(x), where Phi is the distribution function of the standard normal distribution.
@tw.jit
def gelu_kernel(x, out, n, BLOCK: tw.constexpr):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + at, mask=at < n)
    tw.store(out + at, value * 0.5 * (1 + tw.erf(value * 0.7071067811865476)), mask=at < n)


# Its derivative is Phi(x) + x * phi(x), with the density phi.
@tw.jit
def gelu_backward_kernel(x, grad_out, grad_x, n, BLOCK: tw.constexpr):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    value = tw.load(x + at, mask=at < n)
    cumulative = 0.5 * (1 + tw.erf(value * 0.7071067811865476))
    density = 0.3989422804014327 * tw.exp(-0.5 * value * value)
    slope = cumulative + value * density
    tw.store(grad_x + at, tw.load(grad_out + at, mask=at < n) * slope, mask=at < n)


# The results are the parameters that the kernel stores to and nobody passes. Sizes are numbers of
# Python: JAX traces a function for each shape, and the kernel is compiled for it.
def launch(kernel: tw.JITFunction, *arrays: jax.Array) -> jax.Array:
    n = arrays[0].size
    spec = jax.ShapeDtypeStruct(arrays[0].shape, arrays[0].dtype)
    call = tw.jax.call(kernel, grid=(tw.cdiv(n, BLOCK),), out_shapes=spec, n=n, BLOCK=BLOCK)
    return call(*arrays)


# JAX does not look into kernels. Without this rule it would refuse to differentiate.
@jax.custom_vjp
def gelu(x: jax.Array) -> jax.Array:
    return launch(gelu_kernel, x)


gelu.defvjp(
    lambda x: (gelu(x), x), lambda x, grad_out: (launch(gelu_backward_kernel, x, grad_out),)
)


def run(size: str) -> list[compare.Race]:
    torch.manual_seed(7)
    n = 1 << 22 if size == "full" else 4096
    values = torch.randn(n)
    x = jax.numpy.asarray(values.numpy())

    # A program of JAX, of which only one function is ours.
    leaf = values.double().requires_grad_()
    (torch.nn.functional.gelu(leaf) ** 2).sum().backward()
    assert leaf.grad is not None
    gradient = jax.jit(jax.grad(lambda a: (gelu(a) ** 2).sum()))(x)
    compare.check(f"gradient of {n} elements", torch.from_dlpack(gradient), leaf.grad, atol=1e-4)

    # One launch for each row, one after another.
    rows = jax.jit(jax.vmap(gelu))(x.reshape(16, -1)).reshape(-1)
    expected = torch.nn.functional.gelu(values.double())
    compare.check(f"16 rows of {n // 16}", torch.from_dlpack(rows), expected, atol=1e-5)

    fused, plain = jax.jit(gelu), jax.jit(lambda a: jax.nn.gelu(a, approximate=False))
    return [
        compare.race(
            f"gelu of {n} fp32",
            lambda: fused(x).block_until_ready(),
            lambda: plain(x).block_until_ready(),
            size,
            "jax",
        )
    ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
