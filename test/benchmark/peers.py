"""The other side of the benchmark: each workload by torch, torch.compile and NumPy.

Every peer writes into memory that exists already wherever it can, as our kernels do; where it
cannot, its allocation is part of its time (scaled_dot_product_attention has no `out=`)."""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable
from typing import Any

import numpy
import torch
from torch.nn import functional

Tensors = dict[str, Any]
Call = Callable[[], object]

aten = torch.ops.aten


def prepare(threads: int) -> None:
    """The same number of threads as our side, and a compiler for torch.compile."""
    torch.set_num_threads(threads)
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
    whole = {"gelu_tanh": _numpy_gelu, "softmax": _numpy_softmax, "layer_norm": _numpy_layer_norm}
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
