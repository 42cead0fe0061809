"""Our side of the benchmark: the tutorials' kernels and three more, with their tile sizes."""

from __future__ import annotations

import importlib
import pathlib
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import operation_kernels
import tilewright as tw
from tilewright.native import native

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tutorials"))
_vector_add, _softmax, _matmul, _layer_norm, _attention = map(
    importlib.import_module,
    ("01_vector_add", "02_fused_softmax", "03_matmul", "04_layer_norm", "06_flash_attention"),
)

grouped_tile = _matmul.grouped_tile

Tensors = dict[str, Any]

# Tile sizes for the CPU. Elementwise tiles are large to make starting a program cheap, and small
# enough for many programs to share the work evenly.
ELEMENTWISE_BLOCK = 8192
# Of a matrix product: large tiles read less, and what they cover beyond the matrix is work for
# nothing.
MATMUL_TILES = {
    "BLOCK_M": (256, 128, 64), "BLOCK_N": (128, 64), "BLOCK_K": (1024, 512, 256, 128, 64)
}  # fmt: skip
# The same caches hold more bytes, and every program sums up its rows and packs its columns.
BYTE_MATMUL_TILES = {
    "BLOCK_M": (512, 256, 128, 64), "BLOCK_N": (256, 128, 64), "BLOCK_K": (1024, 512, 256, 128, 64)
}  # fmt: skip
MATMUL_WASTE = 1.1
MATMUL_GROUP = 4
# BLOCK_M and BLOCK_N, by kind and bytes of an element. Every program packs all keys: more queries at
# once pack them less often, but of a causal kernel they also see more keys in vain.
ATTENTION_TILES = {
    ("full", 4): (256, 128), ("full", 2): (128, 128),
    ("causal", 4): (64, 64), ("causal", 2): (128, 128),
}  # fmt: skip


class Launch(NamedTuple):
    """A kernel with everything that it is launched with."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: tuple[Any, ...]
    options: dict[str, Any]

    def bound(self) -> Callable[[], Any]:
        """A function that launches and returns the compiled kernel."""
        run, arguments, options = self.kernel[self.grid], self.arguments, self.options
        return lambda: run(*arguments, **options)

    def compiled(self) -> Any:
        """Compiles without running."""
        return self.kernel.warmup(*self.arguments, grid=self.grid, **self.options)


@tw.jit
def exp_kernel(x, out, n, BLOCK: tw.constexpr):
    indices = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    exists = indices < n
    tw.store(out + indices, tw.exp(tw.load(x + indices, mask=exists)), mask=exists)


@tw.jit
def gelu_erf_kernel(x, out, n, BLOCK: tw.constexpr):
    indices = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    exists = indices < n
    v = tw.load(x + indices, mask=exists)
    tw.store(out + indices, 0.5 * v * (1.0 + tw.erf(v * 0.7071067811865476)), mask=exists)


@tw.jit
def gelu_tanh_kernel(x, out, n, BLOCK: tw.constexpr):
    indices = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    exists = indices < n
    v = tw.load(x + indices, mask=exists)
    inner = 0.7978845608028654 * (v + 0.044715 * v * v * v)
    tw.store(out + indices, 0.5 * v * (1.0 + tw.tanh(inner)), mask=exists)


def _elementwise(kernel: Any, *arrays: Any) -> Launch:
    n = arrays[0].numel()
    options = {"BLOCK": ELEMENTWISE_BLOCK}
    return Launch(kernel, (tw.cdiv(n, ELEMENTWISE_BLOCK),), (*arrays, n), options)


def add(t: Tensors) -> Launch:
    return _elementwise(_vector_add.add_kernel, t["x"], t["y"], t["out"])


def exp(t: Tensors) -> Launch:
    return _elementwise(exp_kernel, t["x"], t["out"])


def gelu_erf(t: Tensors) -> Launch:
    return _elementwise(gelu_erf_kernel, t["x"], t["out"])


def gelu_tanh(t: Tensors) -> Launch:
    return _elementwise(gelu_tanh_kernel, t["x"], t["out"])


def softmax(t: Tensors) -> Launch:
    x, out = t["x"], t["out"]
    n_rows, n_cols = x.shape
    arguments = (out, x, out.stride(0), x.stride(0), n_cols)
    options = {"BLOCK": tw.next_power_of_2(n_cols)}
    return Launch(_softmax.softmax_kernel, (n_rows,), arguments, options)


def layer_norm(t: Tensors) -> Launch:
    x = t["x"]
    n_rows, n_cols = x.shape
    outputs = (t["out"], t["mean"], t["rstd"])
    arguments = (x, t["weight"], t["bias"], *outputs, x.stride(0), n_cols, 1e-5)
    options = {"BLOCK": tw.next_power_of_2(n_cols)}
    return Launch(_layer_norm.layer_norm_kernel, (n_rows,), arguments, options)


def rms_norm(t: Tensors) -> Launch:
    x = t["x"]
    arguments, options = (x, t["weight"], t["out"]), {"COLUMNS": x.shape[1]}
    return Launch(operation_kernels.rms_norm, (x.shape[0],), arguments, options)


def cross_entropy(t: Tensors) -> Launch:
    x = t["x"]
    arguments, options = (x, t["target"], t["out"]), {"COLUMNS": x.shape[1]}
    return Launch(operation_kernels.cross_entropy, (x.shape[0],), arguments, options)


def rotary(t: Tensors) -> Launch:
    tokens, heads, head_size = t["x"].shape
    arguments = (t["x"], t["cos"], t["sin"], t["out"], t["cos"].shape[0])
    options = {"HEADS": heads, "HALF": head_size // 2}
    return Launch(operation_kernels.rotary, (tokens,), arguments, options)


def _fitting(extent: int, sizes: tuple[int, ...]) -> int:
    """The largest tile that covers the extent without much waste; the smallest if none does."""
    fitting = (s for s in sizes if tw.cdiv(extent, s) * s <= MATMUL_WASTE * extent)
    return next(fitting, sizes[-1])


def _matmul_tiles(
    m: int, n: int, k: int, choices: dict[str, tuple[int, ...]] = MATMUL_TILES
) -> tuple[int, dict[str, int]]:
    """Programs, and their tiles: narrower ones where the threads would get unequal shares."""
    tiles = {
        name: _fitting(extent, sizes)
        for (name, sizes), extent in zip(choices.items(), (m, n, k), strict=True)
    }
    threads = native().num_threads()
    count = tw.cdiv(m, tiles["BLOCK_M"]) * tw.cdiv(n, tiles["BLOCK_N"])
    if count % threads and count < 8 * threads:
        tiles["BLOCK_N"] = choices["BLOCK_N"][-1]
        count = tw.cdiv(m, tiles["BLOCK_M"]) * tw.cdiv(n, tiles["BLOCK_N"])
    return count, {**tiles, "GROUP_M": MATMUL_GROUP}


@tw.jit
def matmul_int8_kernel(
    a, b, c, M, N, K, BLOCK_M: tw.constexpr, BLOCK_N: tw.constexpr, BLOCK_K: tw.constexpr,
    GROUP_M: tw.constexpr,
):  # fmt: skip
    tile_m, tile_n = grouped_tile(
        tw.program_id(0), tw.cdiv(M, BLOCK_M), tw.cdiv(N, BLOCK_N), GROUP_M
    )
    rows = tile_m * BLOCK_M + tw.arange(0, BLOCK_M)
    cols = tile_n * BLOCK_N + tw.arange(0, BLOCK_N)
    total = tw.zeros((BLOCK_M, BLOCK_N), dtype=tw.int32)
    for start in range(0, K, BLOCK_K):
        k = start + tw.arange(0, BLOCK_K)
        a_mask = (rows[:, None] < M) & (k[None, :] < K)
        b_mask = (k[:, None] < K) & (cols[None, :] < N)
        a_tile = tw.load(a + rows[:, None] * K + k[None, :], mask=a_mask, other=0)
        b_tile = tw.load(b + k[:, None] * N + cols[None, :], mask=b_mask, other=0)
        total = tw.dot(a_tile, b_tile, total)
    pointers = c + rows[:, None] * N + cols[None, :]
    tw.store(pointers, total, mask=(rows[:, None] < M) & (cols[None, :] < N))


def matmul(t: Tensors) -> Launch:
    a, b, c = t["a"], t["b"], t["out"]
    (m, k), n = a.shape, b.shape[1]
    count, tiles = _matmul_tiles(m, n, k)
    arguments = (a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
    return Launch(_matmul.matmul_kernel, (count,), arguments, {"ACTIVATION": None, **tiles})


def matmul_int8(t: Tensors) -> Launch:
    a, b, c = t["a"], t["b"], t["out"]
    (m, k), n = a.shape, b.shape[1]
    count, tiles = _matmul_tiles(m, n, k, BYTE_MATMUL_TILES)
    return Launch(matmul_int8_kernel, (count,), (a, b, c, m, n, k), tiles)


def _attend(t: Tensors, causal: bool) -> Launch:
    q = t["q"]
    sequences, heads, n, head_size = q.shape
    rows, columns = ATTENTION_TILES["causal" if causal else "full", q.element_size()]
    grid = (tw.cdiv(n, rows), sequences * heads)
    scale = _attention.LOG2_E / head_size**0.5
    arguments = (q, t["k"], t["v"], t["out"], q.stride(1), q.stride(2), n, scale)
    options = {"HEAD": head_size, "CAUSAL": causal, "BLOCK_M": rows, "BLOCK_N": columns}
    return Launch(_attention.attention_kernel, grid, arguments, options)


def attention_full(t: Tensors) -> Launch:
    return _attend(t, causal=False)


def attention_causal(t: Tensors) -> Launch:
    return _attend(t, causal=True)
