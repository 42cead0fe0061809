"""What the benchmark measures: the workloads, their inputs, their peaks, and the goals set for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import peaks
import torch

Tensors = dict[str, Any]
Shape = int | tuple[int, int, int]  # of a product: m, k, n; or all the same


class Goal(NamedTuple):
    """Ratios to be reached beside torch, and alone against torch.compile."""

    torch: float | None = None
    compiled: float | None = None
    share: float | None = None  # of the peak measured beside the row
    is_share_enough: bool = False  # of what memory gives, nothing can have more


class Workload(NamedTuple):
    """One row of the table. `family` names a function of kernels.py and an entry of peers.py."""

    name: str
    family: str
    inputs: Callable[[torch.Generator], Tensors]
    tolerance: float  # |ours - torch's float64| at most this times max(1, |value|)
    work: float  # GB moved or GFLOP done by one call
    unit: str
    peak: str  # of peaks.PRODUCTS or peaks.STREAMS
    goal: Goal = Goal()
    is_quick: bool = True  # part of --quick


# Goals for compile times and code of the kernels named; code bytes for every kernel.
FIRST_CALL_MS = {"add": 15.0, "matmul": 45.0, "attention_full": 120.0, "attention_causal": 120.0}
SECOND_PROCESS_MS = 5.0
# Without arguments; of ten tensors and nine numbers.
WARM_LAUNCH_US = {"empty": 1.5, "many": 4.0, "many on a GPU": 2.0}
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


def classes(n_rows: int, n_classes: int) -> Callable[[torch.Generator], Tensors]:
    def make(generator: torch.Generator) -> Tensors:
        return {
            "x": torch.randn(n_rows, n_classes, generator=generator),
            "target": torch.randint(0, n_classes, (n_rows,), generator=generator),
            "out": torch.empty(n_rows),
        }

    return make


def angles(tokens: int, n_heads: int, half: int) -> Callable[[torch.Generator], Tensors]:
    def make(generator: torch.Generator) -> Tensors:
        return {
            "x": torch.randn(tokens, n_heads, 2 * half, generator=generator),
            "cos": torch.randn(tokens, half, generator=generator),
            "sin": torch.randn(tokens, half, generator=generator),
            "out": torch.empty(tokens, n_heads, 2 * half),
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


def heads(dtype: torch.dtype, *shape: int) -> Callable[[torch.Generator], Tensors]:
    def make(generator: torch.Generator) -> Tensors:
        q, k, v = (torch.randn(shape, generator=generator).to(dtype) for _ in range(3))
        return {"q": q, "k": k, "v": v, "out": torch.empty(shape, dtype=dtype)}

    return make


def rotated(t: Tensors) -> torch.Tensor:
    """Rotary embedding: the halves of every head as the two coordinates of points."""
    a, b = t["x"].chunk(2, 2)
    c, s = t["cos"][:, None], t["sin"][:, None]
    return torch.cat((a * c - b * s, b * c + a * s), 2)


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
        "rms_norm": lambda: functional.rms_norm(d["x"], (d["x"].shape[1],), d["weight"], 1e-5),
        "cross_entropy": lambda: functional.cross_entropy(d["x"], t["target"], reduction="none"),
        "rotary": lambda: rotated(d),
        "matmul": lambda: d["a"] @ d["b"],
        "matmul_int8": lambda: d["a"] @ d["b"],
        "attention_full": lambda: functional.scaled_dot_product_attention(d["q"], d["k"], d["v"]),
        "attention_causal": lambda: functional.scaled_dot_product_attention(
            d["q"], d["k"], d["v"], is_causal=True
        ),
    }
    return by_family[family]()


# Where memory is all that there is to wait for, its bandwidth is as good as a ratio.
_STREAMED = Goal(torch=1.2, compiled=1.0, share=0.95, is_share_enough=True)


def _elementwise(name: str, family: str, *names: str) -> Workload:
    n = 1 << 24
    moved = 4 * n * (len(names) + 1) / 1e9
    peak = "add" if len(names) == 2 else "copy"
    inputs = vectors(n, *names)
    return Workload(f"{name} 16M fp32", family, inputs, 1e-5, moved, "GB/s", peak, _STREAMED)


def _rowwise() -> list[Workload]:
    n_rows, n_cols = 4096, 1024
    matrix, head = n_rows * n_cols * 4 / 1e9, "GB/s"
    x, size = rows(n_rows, n_cols), f"{n_rows}x{n_cols}"
    turned = 2 * 4096 * 8 * 128 * 4 / 1e9
    return [
        Workload(name, family, inputs, tolerance, moved, head, "copy", _STREAMED, is_quick)
        for name, family, inputs, tolerance, moved, is_quick in (
            (f"softmax {size} fp32", "softmax", x, 1e-5, 2 * matrix, True),
            (f"layer norm {size}", "layer_norm", x, 1e-4, 2 * matrix, True),
            (f"RMS norm {size}", "rms_norm", x, 1e-4, 2 * matrix, False),
            (f"cross entropy {size}", "cross_entropy", classes(n_rows, n_cols), 1e-4, matrix, False),
            ("rotary 4096x8x128", "rotary", angles(4096, 8, 64), 1e-5, turned, False),
        )
    ]


def _matmul(dtype: torch.dtype, short: str, shape: Shape, goal: Goal) -> Workload:
    # Sums of k products of size 1 cancel: their rounding errors grow with k, not with the result.
    m, k, n = (shape, shape, shape) if isinstance(shape, int) else shape
    tolerance = k * 2**-22 if dtype == torch.float32 else 2**-7
    size = f"{shape}" if isinstance(shape, int) else f"{m}x{k}x{n}"
    inputs, work = matrices(m, k, n, dtype), 2 * m * k * n / 1e9
    is_quick = shape in (512, 1024)
    name = f"matmul {size} {short}"
    return Workload(name, "matmul", inputs, tolerance, work, "GFLOP/s", short, goal, is_quick)


def _matmul_int8(n: int, goal: Goal) -> Workload:
    name, work = f"matmul {n} int8", 2 * n**3 / 1e9
    return Workload(name, "matmul_int8", byte_matrices(n), 0.0, work, "GOP/s", "int8", goal)


def _attention(dtype: torch.dtype, short: str, kind: str) -> Workload:
    name, family = f"attention {kind} 8x1024x64 {short}", f"attention_{kind}"
    flops = 4 * 8 * 1024 * 1024 * 64 / 1e9
    # Of bf16 the queries are rounded once more after scaling, and the weights once.
    tolerance = 1e-4 if dtype == torch.float32 else 3e-2
    work = flops / 2 if kind == "causal" else flops
    inputs = heads(dtype, 1, 8, 1024, 64)
    return Workload(name, family, inputs, tolerance, work, "GFLOP/s", short, Goal(torch=1.3))


def workloads() -> list[Workload]:
    """All rows, in the order of the table."""
    return [
        _elementwise("vector add", "add", "x", "y"),
        _elementwise("exp", "exp", "x"),
        _elementwise("gelu erf", "gelu_erf", "x"),
        _elementwise("gelu tanh", "gelu_tanh", "x"),
        *_rowwise(),
        *(_matmul(torch.float32, "fp32", n, goal) for n, goal in MATMUL_GOALS["fp32"].items()),
        *(_matmul(torch.bfloat16, "bf16", n, goal) for n, goal in MATMUL_GOALS["bf16"].items()),
        _matmul_int8(1024, Goal(torch=1.2)),
        *(_attention(torch.float32, "fp32", kind) for kind in ("full", "causal")),
        *(_attention(torch.bfloat16, "bf16", kind) for kind in ("full", "causal")),
    ]


# A unit for whole tiles leaves torch's code further behind its own peak than vectors do.
_BF16 = Goal(1.2) if "amx_bf16" in peaks.features() else Goal(1.0)
MATMUL_GOALS: dict[str, dict[Shape, Goal]] = {
    "fp32": {
        384: Goal(1.0),
        512: Goal(),
        1000: Goal(1.0),
        1024: Goal(1.0, share=0.8),
        2048: Goal(1.0, share=0.8),
        (4096, 64, 4096): Goal(1.0),
    },
    "bf16": {
        512: _BF16,
        1024: _BF16,
        2048: _BF16._replace(share=0.45),
        (4096, 64, 4096): Goal(),
    },
}
