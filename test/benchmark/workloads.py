"""What the benchmark measures: the workloads, their inputs, and the goals set for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

Tensors = dict[str, Any]
Shape = int | tuple[int, int, int]  # of a product: m, k, n; or all the same


class Workload(NamedTuple):
    """One row of the table. `family` names a function of kernels.py and an entry of peers.py."""

    name: str
    family: str
    inputs: Callable[[torch.Generator], Tensors]
    tolerance: float  # |ours - torch's float64| at most this times max(1, |value|)
    work: float  # GB moved or GFLOP done by one call
    unit: str
    goal: float | None = None  # ratio to torch eager that must be reached
    is_quick: bool = True  # part of --quick


# Goals for compile times and code of the kernels named; code bytes for every kernel.
FIRST_CALL_MS = {"add": 50.0, "matmul": 150.0}
SECOND_PROCESS_MS = 5.0
CODE_BYTES = 20_000


def vectors(n: int, *names: str) -> Callable[[torch.Generator], Tensors]:
    def make(generator: torch.Generator) -> Tensors:
        tensors = {name: torch.randn(n, generator=generator) for name in names}
        return {**tensors, "out": torch.empty(n)}

    return make


def rows(n_rows: int, n_cols: int) -> Callable[[torch.Generator], Tensors]:
    def make(generator: torch.Generator) -> Tensors:
        return {
            "x": torch.randn(n_rows, n_cols, generator=generator),
            "weight": torch.rand(n_cols, generator=generator),
            "bias": torch.randn(n_cols, generator=generator),
            "out": torch.empty(n_rows, n_cols),
            "mean": torch.empty(n_rows),
            "rstd": torch.empty(n_rows),
        }

    return make


def matrices(m: int, k: int, n: int, dtype: torch.dtype) -> Callable[[torch.Generator], Tensors]:
    def make(generator: torch.Generator) -> Tensors:
        a, b = (torch.randn(shape, generator=generator).to(dtype) for shape in ((m, k), (k, n)))
        return {"a": a, "b": b, "out": torch.empty(m, n, dtype=dtype)}

    return make


def byte_matrices(n: int) -> Callable[[torch.Generator], Tensors]:
    def make(generator: torch.Generator) -> Tensors:
        a, b = (
            torch.randint(-128, 128, (n, n), generator=generator, dtype=torch.int8)
            for _ in range(2)
        )
        return {"a": a, "b": b, "out": torch.empty(n, n, dtype=torch.int32)}

    return make


def heads(*shape: int) -> Callable[[torch.Generator], Tensors]:
    def make(generator: torch.Generator) -> Tensors:
        q, k, v = (torch.randn(shape, generator=generator) for _ in range(3))
        return {"q": q, "k": k, "v": v, "out": torch.empty(shape)}

    return make


def expected(family: str, t: Tensors) -> torch.Tensor:
    """The result in float64."""
    d = {name: tensor.double() for name, tensor in t.items()}
    functional = torch.nn.functional
    by_family: dict[str, Callable[[], torch.Tensor]] = {
        "add": lambda: d["x"] + d["y"],
        "exp": lambda: d["x"].exp(),
        "gelu_erf": lambda: functional.gelu(d["x"]),
        "gelu_tanh": lambda: functional.gelu(d["x"], approximate="tanh"),
        "softmax": lambda: torch.softmax(d["x"], 1),
        "layer_norm": lambda: functional.layer_norm(
            d["x"], (d["x"].shape[1],), d["weight"], d["bias"]
        ),
        "matmul": lambda: d["a"] @ d["b"],
        "matmul_int8": lambda: d["a"] @ d["b"],
        "attention_full": lambda: functional.scaled_dot_product_attention(d["q"], d["k"], d["v"]),
        "attention_causal": lambda: functional.scaled_dot_product_attention(
            d["q"], d["k"], d["v"], is_causal=True
        ),
    }
    return by_family[family]()


def _elementwise(name: str, family: str, goal: float | None, *names: str) -> Workload:
    n = 1 << 24
    moved = 4 * n * (len(names) + 1) / 1e9
    return Workload(f"{name} 16M fp32", family, vectors(n, *names), 1e-5, moved, "GB/s", goal)


def _matmul(dtype: torch.dtype, short: str, shape: Shape, goal: float | None) -> Workload:
    # Sums of k products of size 1 cancel: their rounding errors grow with k, not with the result.
    m, k, n = (shape, shape, shape) if isinstance(shape, int) else shape
    tolerance = k * 2**-22 if dtype == torch.float32 else 2**-7
    size = f"{shape}" if isinstance(shape, int) else f"{m}x{k}x{n}"
    inputs, work = matrices(m, k, n, dtype), 2 * m * k * n / 1e9
    is_quick = shape in (512, 1024)
    name = f"matmul {size} {short}"
    return Workload(name, "matmul", inputs, tolerance, work, "GFLOP/s", goal, is_quick)


def _matmul_int8(n: int, goal: float) -> Workload:
    name, work = f"matmul {n} int8", 2 * n**3 / 1e9
    return Workload(name, "matmul_int8", byte_matrices(n), 0.0, work, "GOP/s", goal)


def _attention(kind: str, flops: float) -> Workload:
    name, family = f"attention {kind} 8x1024x64 fp32", f"attention_{kind}"
    return Workload(name, family, heads(1, 8, 1024, 64), 1e-4, flops, "GFLOP/s", 1.3)


def workloads() -> list[Workload]:
    """All rows, in the order of the table."""
    matrix = 4096 * 1024 * 4 / 1e9
    attention_flops = 4 * 8 * 1024 * 1024 * 64 / 1e9  # causal counts half
    return [
        _elementwise("vector add", "add", 1.0, "x", "y"),
        _elementwise("exp", "exp", None, "x"),
        _elementwise("gelu erf", "gelu_erf", 1.0, "x"),
        _elementwise("gelu tanh", "gelu_tanh", 1.0, "x"),
        Workload(
            "softmax 4096x1024 fp32", "softmax", rows(4096, 1024), 1e-5, 2 * matrix, "GB/s", 1.2
        ),
        Workload(
            "layer norm 4096x1024", "layer_norm", rows(4096, 1024), 1e-4, 2 * matrix, "GB/s", 1.0
        ),
        *(_matmul(torch.float32, "fp32", n, goal) for n, goal in MATMUL_GOALS["fp32"].items()),
        *(_matmul(torch.bfloat16, "bf16", n, goal) for n, goal in MATMUL_GOALS["bf16"].items()),
        _matmul_int8(1024, 1.2),
        _attention("full", attention_flops),
        _attention("causal", attention_flops / 2),
    ]


MATMUL_GOALS: dict[str, dict[Shape, float | None]] = {
    "fp32": {384: 1.0, 512: None, 1000: 1.0, 1024: 1.0, 2048: 1.0, (4096, 64, 4096): 1.0},
    "bf16": {512: 1.0, 1024: 1.0, 2048: 1.0, (4096, 64, 4096): None},
}
