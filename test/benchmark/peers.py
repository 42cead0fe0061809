"""The other side of the benchmark: each workload by torch, torch.compile, NumPy, numba and JAX.

Every peer writes into memory that exists already wherever it can, as our kernels do; where it
cannot, its allocation is part of its time (scaled_dot_product_attention has no `out=`, and nothing
of JAX). numba and JAX have a column where they are installed, which `make bench` does."""

from __future__ import annotations

import importlib.util
import math
import os
import pathlib
import shutil
import sys
from collections.abc import Callable
from typing import Any

import numpy
import torch
import workloads
from torch.nn import functional

Tensors = dict[str, Any]
Call = Callable[[], object]

aten = torch.ops.aten


# Where `make bench` installs what nothing else needs.
INSTALLED = pathlib.Path(sys.prefix) / "peers"


def installed() -> list[str]:
    """The names of numba and JAX as far as they are there."""
    for name in ("numba", "jax"):
        sys.path.append(str(INSTALLED / name))  # last: the environment's own packages come first
    return [name for name in ("numba", "JAX") if importlib.util.find_spec(name.lower())]


def prepare(threads: int) -> None:
    """The same number of threads as our side, and a compiler for torch.compile."""
    torch.set_num_threads(threads)
    os.environ["NUMBA_NUM_THREADS"] = str(threads)
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    # Compiling in helper processes would go on beside the measurement.
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", "1")
    if (
        "CXX" not in os.environ
        and not shutil.which("g++")
        and (clang := shutil.which("clang++-22"))
    ):
        os.environ["CXX"] = clang


# What torch.compile compiles: the result is copied into `out`, which its code generator fuses.
def _add(t: Tensors) -> None:
    t["out"].copy_(t["x"] + t["y"])


def _exp(t: Tensors) -> None:
    t["out"].copy_(torch.exp(t["x"]))


def _gelu_erf(t: Tensors) -> None:
    t["out"].copy_(functional.gelu(t["x"]))


def _gelu_tanh(t: Tensors) -> None:
    t["out"].copy_(functional.gelu(t["x"], approximate="tanh"))


def _softmax(t: Tensors) -> None:
    t["out"].copy_(torch.softmax(t["x"], 1))


def _layer_norm(t: Tensors) -> None:
    x = t["x"]
    t["out"].copy_(functional.layer_norm(x, (x.shape[1],), t["weight"], t["bias"]))


def _rms_norm(t: Tensors) -> None:
    t["out"].copy_(functional.rms_norm(t["x"], (t["x"].shape[1],), t["weight"], 1e-5))


def _cross_entropy(t: Tensors) -> None:
    t["out"].copy_(functional.cross_entropy(t["x"], t["target"], reduction="none"))


def _rotary(t: Tensors) -> None:
    t["out"].copy_(workloads.rotated(t))


def _matmul(t: Tensors) -> None:
    torch.mm(t["a"], t["b"], out=t["out"])


def _matmul_int8(t: Tensors) -> None:
    t["out"].copy_(torch._int_mm(t["a"], t["b"]))


def _attention_full(t: Tensors) -> None:
    t["out"].copy_(functional.scaled_dot_product_attention(t["q"], t["k"], t["v"]))


def _attention_causal(t: Tensors) -> None:
    q, k, v = t["q"], t["k"], t["v"]
    t["out"].copy_(functional.scaled_dot_product_attention(q, k, v, is_causal=True))


COMPILED: dict[str, Callable[[Tensors], None]] = {
    "add": _add,
    "exp": _exp,
    "gelu_erf": _gelu_erf,
    "gelu_tanh": _gelu_tanh,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "cross_entropy": _cross_entropy,
    "rotary": _rotary,
    "matmul": _matmul,
    "matmul_int8": _matmul_int8,
    "attention_full": _attention_full,
    "attention_causal": _attention_causal,
}


def eager(family: str, t: Tensors) -> Call:
    """The workload by torch's own operator, in its `out=` form where there is one."""
    out = t["out"]
    if family == "layer_norm":
        x, shape = t["x"], [t["x"].shape[1]]
        column = (x.shape[0], 1)
        rest = {"out1": t["mean"].view(column), "out2": t["rstd"].view(column)}
        return lambda: aten.native_layer_norm.out(
            x, shape, t["weight"], t["bias"], 1e-5, out0=out, **rest
        )
    if family.startswith("attention"):
        q, k, v = t["q"], t["k"], t["v"]
        causal = family == "attention_causal"
        return lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    calls: dict[str, Call] = {
        "add": lambda: torch.add(t["x"], t["y"], out=out),
        "exp": lambda: torch.exp(t["x"], out=out),
        "gelu_erf": lambda: aten.gelu.out(t["x"], out=out),
        "gelu_tanh": lambda: aten.gelu.out(t["x"], approximate="tanh", out=out),
        "softmax": lambda: torch.softmax(t["x"], 1, out=out),
        "rms_norm": lambda: functional.rms_norm(t["x"], (out.shape[1],), t["weight"], 1e-5),
        "cross_entropy": lambda: functional.cross_entropy(t["x"], t["target"], reduction="none"),
        "rotary": lambda: workloads.rotated(t),
        "matmul": lambda: torch.mm(t["a"], t["b"], out=out),
        "matmul_int8": lambda: torch._int_mm(t["a"], t["b"], out=out),
    }
    return calls[family]


def compiled(family: str, t: Tensors) -> Call:
    """The workload by torch.compile; raises what its first call raises."""
    torch._dynamo.reset()
    function = torch.compile(COMPILED[family], dynamic=False)
    function(t)
    return lambda: function(t)


def by_numpy(family: str, t: Tensors) -> Call | None:
    """The workload by NumPy; None where NumPy has no function or no dtype for it."""
    if any(tensor.dtype in (torch.bfloat16, torch.int8) for tensor in t.values()):
        return None  # no bfloat16, and bytes neither widen nor are they fast
    a = {name: tensor.numpy() for name, tensor in t.items()}
    out = a["out"]
    if family == "add":
        return lambda: numpy.add(a["x"], a["y"], out=out)
    if family == "exp":
        return lambda: numpy.exp(a["x"], out=out)
    if family == "matmul":
        return lambda: numpy.matmul(a["a"], a["b"], out=out)
    whole = {
        "gelu_tanh": _numpy_gelu,
        "softmax": _numpy_softmax,
        "layer_norm": _numpy_layer_norm,
        "rms_norm": _numpy_rms_norm,
        "rotary": _numpy_rotary,
    }
    return (lambda: whole[family](a)) if family in whole else None


def _numpy_gelu(a: dict[str, numpy.ndarray]) -> None:
    x, out = a["x"], a["out"]
    numpy.multiply(x, x, out=out)
    out *= 0.044715
    out += 1
    out *= x
    out *= math.sqrt(2 / math.pi)
    numpy.tanh(out, out=out)
    out += 1
    out *= x
    out *= 0.5


def _numpy_softmax(a: dict[str, numpy.ndarray]) -> None:
    x, out = a["x"], a["out"]
    numpy.subtract(x, x.max(axis=1, keepdims=True), out=out)
    numpy.exp(out, out=out)
    out /= out.sum(axis=1, keepdims=True)


def _numpy_layer_norm(a: dict[str, numpy.ndarray]) -> None:
    x, out = a["x"], a["out"]
    numpy.subtract(x, x.mean(axis=1, keepdims=True), out=out)
    variance = numpy.einsum("ij,ij->i", out, out)[:, None] / x.shape[1]
    out /= numpy.sqrt(variance + 1e-5)
    out *= a["weight"]
    out += a["bias"]


def _numpy_rms_norm(a: dict[str, numpy.ndarray]) -> None:
    x, out = a["x"], a["out"]
    squares = numpy.einsum("ij,ij->i", x, x)[:, None] / x.shape[1]
    numpy.multiply(x, 1 / numpy.sqrt(squares + 1e-5), out=out)
    out *= a["weight"]


def _numpy_rotary(a: dict[str, numpy.ndarray]) -> None:
    half = a["cos"].shape[1]
    first, second = a["x"][..., :half], a["x"][..., half:]
    c, s = a["cos"][:, None], a["sin"][:, None]
    numpy.subtract(first * c, second * s, out=a["out"][..., :half])
    numpy.add(second * c, first * s, out=a["out"][..., half:])


def by_numba(family: str, t: Tensors) -> Call | None:
    """The workload by loops that numba compiles for all threads; None where there is none here:
    its products are the BLAS of NumPy."""
    import numba

    def elementwise(function: Callable[[Any], Any]) -> Call:
        scalar = numba.njit(function)

        @numba.njit(parallel=True)
        def run(x: Any, out: Any) -> None:
            for i in numba.prange(x.size):
                out[i] = scalar(x[i])

        return lambda: run(a["x"], a["out"])

    f32, one, half = numpy.float32, numpy.float32(1), numpy.float32(0.5)
    root, inner, cubic = f32(math.sqrt(0.5)), f32(math.sqrt(2 / math.pi)), f32(0.044715)

    @numba.njit(parallel=True)
    def add(x: Any, y: Any, out: Any) -> None:
        for i in numba.prange(x.size):
            out[i] = x[i] + y[i]

    a = {name: tensor.numpy() for name, tensor in t.items() if tensor.dtype == torch.float32}
    whole: dict[str, Callable[[], Call]] = {
        "add": lambda: lambda: add(a["x"], a["y"], a["out"]),
        "exp": lambda: elementwise(lambda v: math.exp(v)),
        "gelu_erf": lambda: elementwise(lambda v: half * v * (one + f32(math.erf(v * root)))),
        "gelu_tanh": lambda: elementwise(
            lambda v: half * v * (one + f32(math.tanh(inner * (v + cubic * v * v * v))))
        ),
        "softmax": lambda: _numba_softmax(a),
        "layer_norm": lambda: _numba_layer_norm(a),
        "rms_norm": lambda: _numba_rms_norm(a),
    }
    return _compiled_once(whole[family]()) if family in whole else None


def _compiled_once(call: Call) -> Call:
    call()  # compiles; raises what numba has against it
    return call


def _numba_softmax(a: dict[str, numpy.ndarray]) -> Call:
    import numba

    @numba.njit(parallel=True, fastmath={"reassoc", "nsz", "contract"})
    def run(x: Any, out: Any) -> None:
        for row in numba.prange(x.shape[0]):
            largest = x[row].max()
            total = numpy.float32(0)
            for i in range(x.shape[1]):
                out[row, i] = math.exp(x[row, i] - largest)
                total += out[row, i]
            for i in range(x.shape[1]):
                out[row, i] /= total

    return lambda: run(a["x"], a["out"])


def _numba_layer_norm(a: dict[str, numpy.ndarray]) -> Call:
    import numba

    @numba.njit(parallel=True, fastmath={"reassoc", "nsz", "contract"})
    def run(x: Any, weight: Any, bias: Any, out: Any) -> None:
        size = numpy.float32(x.shape[1])
        for row in numba.prange(x.shape[0]):
            mean = x[row].sum() / size
            variance = numpy.float32(0)
            for i in range(x.shape[1]):
                variance += (x[row, i] - mean) * (x[row, i] - mean)
            scale = numpy.float32(1) / math.sqrt(variance / size + numpy.float32(1e-5))
            for i in range(x.shape[1]):
                out[row, i] = (x[row, i] - mean) * scale * weight[i] + bias[i]

    return lambda: run(a["x"], a["weight"], a["bias"], a["out"])


def _numba_rms_norm(a: dict[str, numpy.ndarray]) -> Call:
    import numba

    @numba.njit(parallel=True, fastmath={"reassoc", "nsz", "contract"})
    def run(x: Any, weight: Any, out: Any) -> None:
        size = numpy.float32(x.shape[1])
        for row in numba.prange(x.shape[0]):
            squares = numpy.float32(0)
            for i in range(x.shape[1]):
                squares += x[row, i] * x[row, i]
            scale = numpy.float32(1) / math.sqrt(squares / size + numpy.float32(1e-5))
            for i in range(x.shape[1]):
                out[row, i] = x[row, i] * scale * weight[i]

    return lambda: run(a["x"], a["weight"], a["out"])


def by_jax(family: str, t: Tensors) -> Call | None:
    """The workload by jax.jit, whose results are new arrays; None without a function or the dtype."""
    import jax
    import jax.numpy as jnp

    if len(os.sched_getaffinity(0)) != torch.get_num_threads():
        raise RuntimeError("it takes all processors, and so does not compare")
    if any(tensor.dtype in (torch.bfloat16, torch.int8) for tensor in t.values()):
        return None
    a = {name: jnp.asarray(tensor.numpy()) for name, tensor in t.items() if name != "out"}

    def layer_norm(x: Any, weight: Any, bias: Any) -> Any:
        mean, variance = x.mean(1, keepdims=True), x.var(1, keepdims=True)
        return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * weight + bias

    def rms_norm(x: Any, weight: Any) -> Any:
        return x * jax.lax.rsqrt((x * x).mean(1, keepdims=True) + 1e-5) * weight

    def cross_entropy(x: Any, target: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(x, axis=1), target[:, None], 1)[:, 0]

    def rotary(x: Any, cos: Any, sin: Any) -> Any:
        (first, second), c, s = jnp.split(x, 2, 2), cos[:, None], sin[:, None]
        return jnp.concatenate((first * c - second * s, second * c + first * s), 2)

    def attention(q: Any, k: Any, v: Any) -> Any:
        turned = (jnp.swapaxes(tensor, 1, 2) for tensor in (q, k, v))
        return jax.nn.dot_product_attention(*turned, is_causal=family == "attention_causal")

    functions: dict[str, tuple[Callable[..., Any], str]] = {
        "add": (jnp.add, "x y"),
        "exp": (jnp.exp, "x"),
        "gelu_erf": (lambda x: jax.nn.gelu(x, approximate=False), "x"),
        "gelu_tanh": (lambda x: jax.nn.gelu(x, approximate=True), "x"),
        "softmax": (lambda x: jax.nn.softmax(x, axis=1), "x"),
        "layer_norm": (layer_norm, "x weight bias"),
        "rms_norm": (rms_norm, "x weight"),
        "cross_entropy": (cross_entropy, "x target"),
        "rotary": (rotary, "x cos sin"),
        "matmul": (jnp.matmul, "a b"),
        "attention_full": (attention, "q k v"),
        "attention_causal": (attention, "q k v"),
    }
    if family not in functions:
        return None
    function, names = functions[family]
    run, values = jax.jit(function), [a[name] for name in names.split()]
    return _compiled_once(lambda: jax.block_until_ready(run(*values)))
