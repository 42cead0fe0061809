"""The rows of the benchmark of GPUs: what is computed, how kernels are launched for it, with which
settings, what torch does instead, and which ratio is the goal."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import gpu_languages
import torch
from gpu_timing import Call
from torch.nn import functional

TORCH, COPY = "torch", "torch copy"


class Setting(NamedTuple):
    """One way to launch: of all that are tried, the fastest is measured."""

    kernel: str
    constants: Mapping[str, Any]
    num_warps: int
    num_stages: int = 3

    def text(self) -> str:
        constants = [f"{n} {value}" for n, value in self.constants.items() if n.isupper()]
        options = f"{self.num_warps} warps, {self.num_stages} stages"
        return ", ".join([self.kernel, *constants, options])


class Goal(NamedTuple):
    """At least this ratio of a peer's time to ours."""

    peer: str
    ratio: float


@dataclass
class Workload:
    """One row's tensors and how everyone computes it."""

    unit: str
    work: float  # GB that have to be moved, or GFLOP
    out: torch.Tensor
    reference: Callable[[], torch.Tensor]  # in float64
    tolerance: float  # of the relative error in the Frobenius norm
    settings: list[Setting]
    launch: Callable[[gpu_languages.Language, Setting], Any]
    peers: dict[str, Call]
    goals: list[Goal] = field(default_factory=list)
    has_products: bool = False  # Triton is held to mma.sync as well, beside what it chooses
    triton_arch: str = "sm80"  # the oldest with the instructions
    uninterpreted: str = ""  # why Triton's interpreter, which stands for it on a CPU, cannot


class Row(NamedTuple):
    name: str
    make: Callable[[str], Workload]


def launcher(
    grid_of: Callable[[Setting], tuple[int, ...]], arguments: tuple[Any, ...]
) -> Callable[[gpu_languages.Language, Setting], Any]:
    def launch(language: gpu_languages.Language, setting: Setting) -> Any:
        options = {"num_warps": setting.num_warps, "num_stages": setting.num_stages}
        return language.launch(
            setting.kernel, grid_of(setting), arguments, setting.constants, options
        )

    return launch


def copying_peer(device: str, num_bytes: int) -> Call:
    """torch's copy of as many bytes, read and written together, as a row has to move."""
    source = torch.randn(max(1, num_bytes // 8), device=device)
    target = torch.empty_like(source)
    return lambda: target.copy_(source)


def streaming_row(n: int, is_add: bool) -> Row:
    def make(device: str) -> Workload:
        x, y = torch.randn(n, device=device), torch.randn(n, device=device)
        out = torch.empty_like(x)
        kernel, tensors = ("add", (x, y, out)) if is_add else ("copy", (x, out))
        arguments = (*tensors, n)
        settings = [
            Setting(kernel, {"BLOCK": block}, warps)
            for block, warps in ((1024, 4), (2048, 4), (2048, 8), (4096, 8))
        ]
        num_bytes = 4 * n * len(tensors)
        peers: dict[str, Call] = {COPY: copying_peer(device, num_bytes)}
        if is_add:
            peers[TORCH] = lambda: torch.add(x, y, out=out)
        return Workload(
            unit="GB/s",
            work=1e-9 * num_bytes,
            out=out,
            reference=lambda: x.double() + y.double() if is_add else x.double(),
            tolerance=1e-7 if is_add else 0.0,
            settings=settings,
            launch=launcher(lambda s: (math.ceil(n / s.constants["BLOCK"]),), arguments),
            peers=peers,
            goals=[Goal(COPY, 0.95)],
        )

    return Row(f"{'add' if is_add else 'copy'} f32 {n}", make)


def softmax_row(rows: int, columns: int) -> Row:
    def make(device: str) -> Workload:
        x = torch.randn(rows, columns, device=device)
        out = torch.empty_like(x)
        constants = {"BLOCK": 1 << (columns - 1).bit_length()}
        num_bytes = 8 * rows * columns
        return Workload(
            unit="GB/s",
            work=1e-9 * num_bytes,
            out=out,
            reference=lambda: torch.softmax(x.double(), 1),
            tolerance=1e-5,
            settings=[Setting("softmax", constants, warps) for warps in (4, 2, 8, 1)],
            launch=launcher(lambda _: (rows,), (out, x, columns, columns)),
            peers={
                COPY: copying_peer(device, num_bytes),
                TORCH: lambda: torch.softmax(x, 1, out=out),
            },
            goals=[Goal(COPY, 0.9)],
        )

    return Row(f"softmax f32 {rows}x{columns}", make)


def layer_norm_row(rows: int, columns: int) -> Row:
    def make(device: str) -> Workload:
        x = torch.randn(rows, columns, device=device).half()
        weight, bias = (torch.randn(columns, device=device).half() for _ in range(2))
        means, scales = torch.empty(rows, device=device), torch.empty(rows, device=device)
        out = torch.empty_like(x)
        arguments = (out, x, weight, bias, means, scales, columns, columns, 1e-5)
        shape, num_bytes = (columns,), 4 * rows * columns
        return Workload(
            unit="GB/s",
            work=1e-9 * num_bytes,
            out=out,
            reference=lambda: functional.layer_norm(
                x.double(), shape, weight.double(), bias.double(), 1e-5
            ),
            tolerance=1e-3,
            settings=[
                Setting("layer_norm", {"BLOCK": block}, warps)
                for block, warps in ((1024, 4), (1024, 2), (1024, 8), (512, 2))
            ],
            launch=launcher(lambda _: (rows,), arguments),
            peers={
                COPY: copying_peer(device, num_bytes),
                TORCH: lambda: functional.layer_norm(x, shape, weight, bias, 1e-5),
            },
            goals=[Goal(COPY, 0.9)],
        )

    return Row(f"layer_norm f16 {rows}x{columns}", make)


class Product(NamedTuple):
    """A matrix product's element types, and what a K tile of 64 bytes has of them."""

    name: str
    operand: torch.dtype
    result: torch.dtype
    k_tile: int
    tolerance: float
    is_transposed: bool = False  # B, as cuBLAS wants 8-bit types
    triton_arch: str = "sm80"
    uninterpreted: str = ""


NO_NUMPY_TYPE = "Triton's interpreter computes in NumPy, which has no such type"
PRODUCTS = {
    product.name: product
    for product in (
        Product("f16", torch.float16, torch.float16, 32, 1e-3),
        Product("bf16", torch.bfloat16, torch.bfloat16, 32, 1e-2, uninterpreted=NO_NUMPY_TYPE),
        # Instructions read ten digits of the fraction; who does not round cuts the others off.
        Product("tf32", torch.float32, torch.float32, 16, 3e-3),
        Product("int8", torch.int8, torch.int32, 64, 0.0, True),
        Product("fp8", torch.float8_e4m3fn, torch.float16, 64, 2e-2, True, "sm89", NO_NUMPY_TYPE),
    )
}
# BM, BN, BK in K tiles of 64 bytes, warps, stages
MATMUL_SETTINGS = (
    *((128, 128, 1, 4, 4), (128, 256, 1, 8, 4), (128, 256, 2, 8, 3)),
    *((256, 128, 1, 8, 4), (128, 128, 2, 4, 3), (128, 128, 1, 8, 4)),
)


def operand(product: Product, size: int, device: str) -> torch.Tensor:
    if product.operand == torch.int8:
        return torch.randint(-127, 128, (size, size), dtype=torch.int8, device=device)
    return torch.randn(size, size, device=device).to(product.operand)


def torch_product(product: Product, a: torch.Tensor, b: torch.Tensor) -> Call:
    if product.operand == torch.int8:
        return lambda: torch._int_mm(a, b)
    if product.operand == torch.float8_e4m3fn:
        one = torch.ones((), device=a.device)
        return lambda: torch._scaled_mm(
            a, b, scale_a=one, scale_b=one, out_dtype=product.result, use_fast_accum=True
        )
    return lambda: a @ b


def matmul_settings(product: Product) -> list[Setting]:
    settings: list[Setting] = []
    for bm, bn, k_tiles, warps, stages in MATMUL_SETTINGS:
        constants = {"BM": bm, "BN": bn, "BK": k_tiles * product.k_tile, "GROUP": 8}
        kernel = "matmul"
        if product.name != "f16":
            constants["IS_INTEGER"] = product.operand == torch.int8
            kernel = "matmul_of"
        settings.append(Setting(kernel, constants, warps, stages))
    return settings


def matmul_row(kind: str, size: int) -> Row:
    product = PRODUCTS[kind]

    def make(device: str) -> Workload:
        # As torch's product of fp32 does it, where this is asked for.
        torch.backends.cuda.matmul.allow_tf32 = True
        a, b = operand(product, size, device), operand(product, size, device)
        b = b.t() if product.is_transposed else b
        out = torch.empty(size, size, dtype=product.result, device=device)
        arguments = (a, b, out, size, size, size, *a.stride(), *b.stride(), *out.stride())

        def grid(s: Setting) -> tuple[int, ...]:
            return (math.ceil(size / s.constants["BM"]) * math.ceil(size / s.constants["BN"]),)

        goals = [Goal(TORCH, 0.5), Goal(gpu_languages.FREE, 1.0)] if kind == "f16" else []
        return Workload(
            unit="TFLOP/s" if product.operand != torch.int8 else "TOP/s",
            work=2e-12 * size**3,
            out=out,
            reference=lambda: a.double() @ b.double(),
            tolerance=product.tolerance,
            settings=matmul_settings(product),
            launch=launcher(grid, arguments),
            peers={TORCH: torch_product(product, a, b)},
            goals=goals,
            has_products=True,
            triton_arch=product.triton_arch,
            uninterpreted=product.uninterpreted,
        )

    return Row(f"matmul {kind} {size}", make)


# BM, BN, warps, stages
ATTENTION_SETTINGS = ((128, 64, 4, 3), (128, 64, 8, 3), (64, 64, 4, 3), (128, 32, 4, 4))


def exact_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool) -> Any:
    """In float64, head by head: all heads' scores together would fill a GPU's memory."""
    length, size = q.shape[2:]
    hidden = torch.ones(length, length, dtype=torch.bool, device=q.device).triu(1)
    out = torch.empty(q.shape, dtype=torch.float64, device=q.device)
    for head in range(q.shape[1]):
        score = q[0, head].double() @ k[0, head].double().t() / size**0.5
        if causal:
            score.masked_fill_(hidden, -math.inf)
        out[0, head] = torch.softmax(score, 1) @ v[0, head].double()
    return out


def attention_row(heads: int, length: int, size: int, is_causal: bool) -> Row:
    def make(device: str) -> Workload:
        q, k, v = (torch.randn(1, heads, length, size, device=device).half() for _ in range(3))
        out = torch.empty_like(q)
        arguments = (q, k, v, out, math.log2(math.e) / size**0.5, length * size, size, length)
        settings = [
            Setting(kernel, {"BM": bm, "BN": bn, "D": size, "CAUSAL": is_causal}, warps, stages)
            for bm, bn, warps, stages in ATTENTION_SETTINGS
            for kernel in ("attention", "attention_in_two_loops")
            if kernel == "attention" or length % bm == 0
        ]
        return Workload(
            unit="TFLOP/s",
            work=4e-12 * heads * length**2 * size / (2 if is_causal else 1),
            out=out,
            reference=lambda: exact_attention(q, k, v, is_causal),
            tolerance=2e-3,
            settings=settings,
            launch=launcher(
                lambda s: (math.ceil(length / s.constants["BM"]), heads), arguments
            ),
            peers={
                TORCH: lambda: functional.scaled_dot_product_attention(q, k, v, is_causal=is_causal)
            },
            goals=[Goal(gpu_languages.FREE, 1.0)],
            has_products=True,
        )

    shape = f"{heads}x{length}x{size}"
    return Row(f"attention f16 {shape} {'causal' if is_causal else 'full'}", make)


def all_rows(size: str) -> list[Row]:
    """The rows at a size: "full", "quick", or "tiny", which is for tests."""
    n, rows, columns, products, other, heads, length = {
        "full": (1 << 27, 32768, 4096, (4096, 8192), 4096, 64, 4096),
        "quick": (1 << 24, 4096, 1024, (2048,), 2048, 16, 2048),
        "tiny": (3000, 7, 200, (130,), 144, 2, 256),
    }[size]
    return [
        *(streaming_row(n, is_add) for is_add in (False, True)),
        softmax_row(rows, columns),
        layer_norm_row(rows, columns),
        *(matmul_row("f16", each) for each in products),
        *(
            attention_row(heads * 64 // head_size, length, head_size, is_causal)
            for head_size in (64, 128)
            for is_causal in (False, True)
        ),
        *(matmul_row(kind, other) for kind in ("bf16", "tf32", "int8", "fp8")),
    ]
