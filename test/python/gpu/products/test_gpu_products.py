"""Kernels around products in the forms that users give them are right, and race-free.

Inputs are small integers, so that results are exact, wherever nothing but products is computed.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import product_kernels as kernels
from gpu.products import test_gpu_matmul as matmul
from gpu.launching import ARCHS, assemble_everywhere, is_nvidia
from gpu.products.test_gpu_matmul import assert_equal, counts, integers, poisoned

from tilewright.compile import CompiledKernel, compile_request

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler")

Setting = tuple[int, int, str]


@pytest.fixture(
    params=[(4, 3, "late"), (8, 2, "random"), (1, 5, "early"), (2, 4, "random")],
    ids=lambda s: f"{s[0]}w{s[1]}s-{s[2]}",
)
def setting(request: pytest.FixtureRequest) -> Setting:
    return request.param


def launch(
    kernel: Any, grid: Any, *arguments: Any, setting: Setting, **constants: Any
) -> CompiledKernel:
    """The launched kernel; at 4 warps every architecture takes it without spilling."""
    compiled = matmul.launch(kernel, grid, *arguments, setting=setting, **constants)
    if setting[0] == 4 and is_nvidia():
        assemble_everywhere(compiled)
    return compiled


def normal(rng: np.random.Generator, *shape: int, scale: float = 1.0, dtype: Any = None) -> Any:
    values = torch.from_numpy(scale * rng.standard_normal(shape))
    return values.to(dtype or torch.float16)


def assert_close(actual: Any, expected: Any, tolerance: float) -> None:
    np.testing.assert_allclose(
        actual.double().numpy(), expected.numpy(), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float8_e5m2", "float8_e4m3fn"])
@pytest.mark.parametrize("sizes", [(96, 80, 112), (77, 45, 51)])
def test_grouped_order_and_wrapped_rows(
    setting: Setting, dtype: str, sizes: tuple[int, int, int], rng: np.random.Generator
) -> None:
    M, N, K = sizes
    a, b = (integers(rng, *s, dtype=getattr(torch, dtype)) for s in ((M, K), (K, N)))
    c = poisoned(M, N, dtype=torch.float16)
    launch(
        kernels.wrapped_matmul, (-(-M // 32) * -(-N // 32),), a, b, c, M, N, K, *a.stride(),
        *b.stride(), *c.stride(), BM=32, BN=32, BK=32, GROUP=2, LEAKY=True, setting=setting,
    )  # fmt: skip
    exact = a.double() @ b.double()
    assert_equal(c, torch.where(exact >= 0, exact, 0.25 * exact).half())


def test_matrices_found_by_address(setting: Setting, rng: np.random.Generator) -> None:
    shapes = [(64, 32, 96), (32, 64, 32), (32, 32, 160)]
    a = [integers(rng, m, k) for m, _, k in shapes]
    b = [integers(rng, k, n) for _, n, k in shapes]
    c = [poisoned(m, n) for m, n, _ in shapes]
    addresses = [torch.tensor([matrix.data_ptr() for matrix in group]) for group in (a, b, c)]
    compiled = launch(
        kernels.matmuls_by_address, (4,), *addresses, torch.tensor(shapes, dtype=torch.int32),
        len(shapes), *a, *b, *c, PROGRAMS=4, BM=32, BN=32, BK=32, setting=setting,
    )  # fmt: skip
    code = counts(compiled)
    assert code is None or all(code), "the hints on addresses are statements, and not in vain"
    for x, y, z in zip(a, b, c):
        assert_equal(z, x.double() @ y.double())


@pytest.mark.parametrize("sizes", [(96, 112, 80), (64, 96, 8)])
def test_persistent_programs(
    setting: Setting, sizes: tuple[int, int, int], rng: np.random.Generator
) -> None:
    M, N, K = sizes
    a, b, c = integers(rng, M, K), integers(rng, K, N), poisoned(M, N, dtype=torch.float16)
    launch(
        kernels.persistent_matmul, (3,), a, b, c, M, N, K, BM=32, BN=32, BK=32, PROGRAMS=3,
        setting=setting,
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())


def test_stream_k(setting: Setting, rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 64, 104), integers(rng, 104, 64), torch.zeros(64, 64)
    steps, programs = 16, 3
    launch(
        kernels.stream_k_matmul, (programs,), a, b, c, 64, 104, steps // programs,
        steps % programs, 4, BM=32, BN=32, BK=32, setting=setting,
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())


def test_split_k_with_locks(setting: Setting, rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 64, 200), integers(rng, 200, 64), poisoned(64, 64)
    locks, turns = torch.zeros(4, dtype=torch.int32), torch.zeros(4, dtype=torch.int32)
    launch(
        kernels.locked_split_k, (4, 3), a, b, c, locks, turns, 64, 200, BM=32, BN=32, BK=32,
        SPLIT=3, setting=setting,
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    assert turns.tolist() == [3] * 4


@pytest.mark.parametrize("K", [72, 128])
def test_routed_experts(setting: Setting, K: int, rng: np.random.Generator) -> None:
    tokens, per_token, experts, N, block = 20, 2, 4, 80, 16
    x, weights = integers(rng, tokens, K), integers(rng, experts, N, K)
    chosen = rng.integers(0, experts, tokens * per_token)
    order: list[int] = []
    owners: list[int] = []
    for expert in range(experts):
        mine = np.flatnonzero(chosen == expert).tolist()
        order += mine + [len(chosen)] * (-len(mine) % block)
        owners += [expert if expert < 3 else -1] * -(-len(mine) // block)  # the last is elsewhere
    shares = 2.0 ** integers(rng, len(chosen), size=1, dtype=torch.float32)
    out, used = poisoned(len(chosen), N), torch.tensor([len(order)], dtype=torch.int32)
    slots, owner = (torch.tensor(v, dtype=torch.int32) for v in (order, owners))
    launch(
        kernels.routed_experts, (len(owners), 3), x, weights, out, shares, slots, owner, used, N, K,
        len(chosen), BM=block, BN=32, BK=32, PER_TOKEN=per_token, setting=setting,
    )  # fmt: skip
    rows = [
        shares[i].double() * (weights[e].double() @ x[i // per_token].double()) * (e < 3)
        for i, e in enumerate(chosen.tolist())
    ]
    assert_equal(out, torch.stack(rows))


def test_low_rank_updates(setting: Setting, rng: np.random.Generator) -> None:
    M, K, N, R = 40, 88, 72, 16
    x, down = integers(rng, M, K, size=1), integers(rng, 3, R, K, size=1)
    up, out = integers(rng, 3, N, R, size=1), integers(rng, M, N, dtype=torch.float32)
    adapters, expected = [2, -1, 0], out.double().clone()
    for block, adapter in enumerate(adapters):
        rows = slice(16 * block, min(16 * block + 16, M))
        if adapter >= 0:
            inner = 0.5 * (x[rows].double() @ down[adapter].double().T)
            expected[rows] += inner @ up[adapter].double().T
    launch(
        kernels.low_rank_update, (3,), x, down, up, out, torch.tensor(adapters), M, K, N, R=R,
        BM=16, BN=32, BK=32, setting=setting,
    )  # fmt: skip
    assert_equal(out, expected)


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("channels_last", [False, True])
def test_convolution(
    setting: Setting, stride: int, channels_last: bool, rng: np.random.Generator
) -> None:
    images, channels, height, width, filters = 2, 5, 9, 7, 20
    x = integers(rng, images, channels, height, width)
    if channels_last:
        x = x.contiguous(memory_format=torch.channels_last)
    w = integers(rng, filters, channels, 3, 3)
    expected = torch.nn.functional.conv2d(x.double(), w.double(), stride=stride, padding=1)
    P, Q = expected.shape[2:]
    out = poisoned(images * P * Q, filters)
    launch(
        kernels.convolution, (-(-images * P * Q // 32),), x, w, out, images, channels, height,
        width, filters, P, Q, stride, 1, *x.stride(), R=3, S=3, BM=32, BN=32, BK=32,
        setting=setting,
    )  # fmt: skip
    assert_equal(out, expected.permute(0, 2, 3, 1).reshape(-1, filters))


def test_rows_of_sparse_blocks(setting: Setting, rng: np.random.Generator) -> None:
    present = rng.random((4, 5)) < 0.5
    present[0], present[1] = True, False
    rows, columns = np.nonzero(present)
    values, b, out = integers(rng, len(rows), 16, 16), integers(rng, 80, 64), poisoned(64, 64)
    dense = torch.zeros(64, 80).double()
    for block, row, column in zip(values, rows, columns):
        dense[16 * row : 16 * row + 16, 16 * column : 16 * column + 16] = block.double()
    starts = torch.from_numpy(np.concatenate([[0], present.sum(1).cumsum()])).int()
    launch(
        kernels.sparse_rows, (4, 2), values, torch.from_numpy(columns).int(), starts, b, out, 64,
        B=16, BN=32, setting=setting,
    )  # fmt: skip
    assert_equal(out, dense @ b.double())


def test_rows_read_after_they_are_stored(setting: Setting, rng: np.random.Generator) -> None:
    blocks, B, N = 4, 16, 64
    kept = torch.from_numpy(np.kron(np.tri(blocks, k=-1), np.ones((B, B))))
    sparse = torch.from_numpy(rng.random((blocks * B, blocks * B)) < 0.1)
    lower = integers(rng, blocks * B, blocks * B, size=1, dtype=torch.float32) * kept * sparse
    x = integers(rng, blocks * B, N, dtype=torch.float32)
    identity = torch.eye(blocks * B).double()
    expected = torch.linalg.solve(lower.double() + identity, x.double()).round()
    launch(
        kernels.substitute_forward, (2,), lower.float(), x, blocks, N, B=B, BN=32, setting=setting
    )
    assert_equal(x, expected)


def test_linear_and_cross_entropy(setting: Setting, rng: np.random.Generator) -> None:
    M, V, K = 30, 100, 72
    x, w = normal(rng, M, K, scale=0.3), normal(rng, V, K, scale=0.3)
    labels, losses = torch.from_numpy(rng.integers(0, V, M)), poisoned(M)
    launch(
        kernels.linear_cross_entropy, (2,), x, w, labels, losses, M, V, K, BM=16, BV=32, BK=32,
        setting=setting,
    )  # fmt: skip
    logits = x.double() @ w.double().T
    expected = torch.nn.functional.cross_entropy(logits, labels, reduction="none")
    assert_close(losses, expected, 1e-4)


@pytest.mark.parametrize(("D", "H"), [(64, 96), (50, 70)])
def test_gated_layers(setting: Setting, D: int, H: int, rng: np.random.Generator) -> None:
    M = 33
    x, gate_up = normal(rng, M, D, scale=0.5), normal(rng, 2 * H, D, scale=0.2)
    down, out = normal(rng, D, H, scale=0.2), poisoned(M, D)
    launch(
        kernels.gated_layers, (3,), x, gate_up, down, out, M, D, H, BM=16, BD=64, BH=32,
        setting=setting,
    )  # fmt: skip
    gate, up = (x.double() @ gate_up.double().T).split(H, 1)
    assert_close(out, gate * gate.sigmoid() * up @ down.double().T, 5e-3)


def test_complex_numbers(setting: Setting, rng: np.random.Generator) -> None:
    M, N, K = 32, 32, 96
    a, b = [integers(rng, M, K) for _ in "ri"], [integers(rng, K, N) for _ in "ri"]
    c = [poisoned(M, N) for _ in "ri"]
    launch(kernels.complex_matmul, (1,), *a, *b, *c, K, M=M, N=N, BK=32, setting=setting)
    product = torch.complex(*(x.double() for x in a)) @ torch.complex(*(x.double() for x in b))
    assert_equal(c[0], product.real)
    assert_equal(c[1], product.imag)


@pytest.mark.parametrize("steps", [0, 1, 5])
def test_products_of_products(setting: Setting, steps: int, rng: np.random.Generator) -> None:
    a, out = torch.eye(32)[torch.from_numpy(rng.permutation(32))].half(), poisoned(32, 32)
    launch(kernels.powers, (1,), a, out, steps, N=32, setting=setting)
    base, result = a.double(), torch.eye(32).double()
    for step in range(steps):
        result = result @ base
        base = base.T @ result if step % 2 == 1 else base
    assert_equal(out, result)


def test_nearest_centers(setting: Setting, rng: np.random.Generator) -> None:
    x, centers = integers(rng, 32, 32), integers(rng, 50, 32)
    best = poisoned(32, dtype=torch.int32)
    launch(
        kernels.nearest_centers, (2,), x, centers, best, 50, D=32, BT=16, BC=16, setting=setting
    )
    distances = torch.cdist(x.double(), centers.double()).square().round()
    np.testing.assert_array_equal(best.numpy(), distances.numpy().argmin(1))


def test_gradients_of_a_linear_layer(setting: Setting, rng: np.random.Generator) -> None:
    T, D, H = 70, 32, 64
    x, w, g = integers(rng, T, D), integers(rng, D, H, size=2), integers(rng, T, H, size=2)
    dx, dw = poisoned(T, D, dtype=torch.float16), poisoned(D, H)
    launch(kernels.linear_gradients, (1,), x, w, g, dx, dw, T, D=D, H=H, BT=32, setting=setting)
    assert_equal(dx, g.double() @ w.double().T)
    assert_equal(dw, x.double().T @ g.double())


def test_rows_of_any_length(setting: Setting, rng: np.random.Generator) -> None:
    M, N, K = 32, 32, 100
    a, b, out = integers(rng, M, K), integers(rng, K, N), poisoned(M, N)
    lengths = torch.from_numpy(rng.integers(0, K, M)).int()
    launch(kernels.ragged_matmul, (1,), a, b, out, lengths, K, M=M, N=N, BK=32, setting=setting)
    k, n = torch.arange(K), torch.arange(N)
    left = torch.where(k < lengths[:, None], a.double(), 0.0)
    right = torch.where((n + k[:, None]) % 3 != 0, b.double(), 1.0)
    assert_equal(out, left @ right)


@pytest.mark.one_machine
@pytest.mark.parametrize("arch", ["nvidia:sm_80", *ARCHS])
def test_products_of_8_bit_floats_do_not_spill(arch: str, rng: np.random.Generator) -> None:
    """ptxas takes mma.sync of them for GPUs that widen them, and then converts them every time."""
    a, b = (integers(rng, 128, 128, dtype=torch.float8_e5m2) for _ in "ab")
    c = poisoned(128, 128, dtype=torch.float16)
    compiled = matmul.launch(
        kernels.wrapped_matmul, (1,), a, b, c, 128, 128, 128, *a.stride(), *b.stride(),
        *c.stride(), BM=128, BN=128, BK=64, GROUP=1, LEAKY=False, setting=(4, 3, "late"),
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    other = compile_request(compiled.request._replace(device=arch))
    assert other.resources["spill_bytes"] == 0, other.resources
    assert ("e5m2.e5m2" in other.asm["ptx"]) == (arch == "nvidia:sm_120")
