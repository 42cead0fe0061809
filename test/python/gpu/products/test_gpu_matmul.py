"""Products by matrix instructions and pipelined loops are right, and race-free, on the simulator.

Inputs are small integers: every product and sum is exact, whatever the order of additions.
"""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest
import matrix_kernels as kernels
from gpu.launching import ARCHS, is_nvidia, launch_options, launch_that_fits, simulator

import tilewright as tw
from tilewright.compile import CompiledKernel, compile_request

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler")

COMPLETIONS = ("late", "random")
# (num_warps, num_stages, completion): every pair of the first two, each completion with each.
SETTINGS = [
    (warps, stages, COMPLETIONS[(warps // 4 + stages) % 2])
    for warps, stages in itertools.product((4, 8), (1, 2, 3, 4))
]


@pytest.fixture(params=SETTINGS, ids=lambda s: f"{s[0]}w{s[1]}s-{s[2]}")
def setting(request: pytest.FixtureRequest) -> tuple[int, int, str]:
    return request.param


def integers(rng: np.random.Generator, *shape: int, dtype: Any = None, size: int = 4) -> Any:
    values = torch.from_numpy(rng.integers(-size, size + 1, shape))
    return values.to(dtype or torch.float16)


def poisoned(*shape: int, dtype: Any = None) -> Any:
    """An output that nobody can mistake for a result."""
    dtype = dtype or torch.float32
    return torch.full(shape, float("nan") if dtype.is_floating_point else -(10**9), dtype=dtype)


def launch(
    kernel: Any, grid: Any, *arguments: Any, setting: tuple[int, int, str], **constants: Any
) -> CompiledKernel:
    """The launched kernel; it ran without findings, and matrix reads without bank conflicts."""
    warps, stages, completion = setting
    sim = simulator()
    with tw.device(sim), tw.simulation.simulate(sim, completion=completion, seed=stages):
        options = {"num_warps": warps, "num_stages": stages, **launch_options(), **constants}
        compiled = launch_that_fits(kernel[grid], *arguments, **options)
    report = tw.simulation.last_report(sim)
    assert not report.findings
    if is_nvidia():
        assert report.statistics["matrix_wavefronts"] == report.statistics["matrix_row_groups"]
    return compiled


class Counts(NamedTuple):
    """How many mma.sync, ldmatrix and asynchronous copies the code has."""

    instructions: int
    reads: int
    copies: int


def counts(compiled: CompiledKernel) -> Counts | None:
    """Nothing of code that is not PTX."""
    if not is_nvidia():
        return None
    ptx = compiled.asm["ptx"]
    copies = ptx.count("cp.async.ca") + ptx.count("cp.async.cg")
    return Counts(ptx.count("mma.sync"), ptx.count("ldmatrix"), copies)


def loop_of(compiled: CompiledKernel) -> str:
    """The kernel's only loop, after the passes on tiles."""
    _, _, loop = compiled.asm["scheduled"].partition("scf.for")
    return loop.partition("scf.yield")[0]


def copies_of_loop(compiled: CompiledKernel) -> int:
    """How many tiles the kernel's only loop copies ahead."""
    return loop_of(compiled).count("simt.async_copy ")


def assert_equal(actual: Any, expected: Any) -> None:
    np.testing.assert_array_equal(actual.double().numpy(), expected.double().numpy())


TYPES = {
    "f16": (torch.float16, None),
    "bf16": (torch.bfloat16, None),
    "tf32": (torch.float32, "tf32"),
    "tf32x3": (torch.float32, "tf32x3"),
    "ieee": (torch.float32, "ieee"),  # by multiply-adds of scalars
    "f64": (torch.float64, None),
    "i8": (torch.int8, None),
    "e4m3": (torch.float8_e4m3fn, None),
    "e5m2": (torch.float8_e5m2, None),
}
ACCUMULATORS = {
    torch.int8: (tw.int32, torch.int32),
    torch.float64: (tw.float64, torch.float64),
}


def multiply(
    rng: np.random.Generator, name: str, orders: tuple[bool, bool], sizes: tuple[int, int, int],
    setting: tuple[int, int, str], whole: bool, tiles: tuple[int, int, int] = (32, 32, 32),
) -> CompiledKernel:  # fmt: skip
    dtype, precision = TYPES[name]
    (M, N, K), (BM, BN, BK) = sizes, tiles
    a = integers(rng, *((K, M) if orders[0] else (M, K)), dtype=dtype)
    b = integers(rng, *((N, K) if orders[1] else (K, N)), dtype=dtype)
    a, b = a.T if orders[0] else a, b.T if orders[1] else b
    acc, out = ACCUMULATORS.get(dtype, (tw.float32, torch.float32))
    c = poisoned(M, N, dtype=out)
    compiled = launch(
        kernels.matmul_whole if whole else kernels.matmul, (-(-M // BM), -(-N // BN)), a, b, c,
        *((N, K) if whole else (M, N, K)), *a.stride(), *b.stride(), BM=BM, BN=BN, BK=BK,
        PRECISION=precision, ACC=acc, setting=setting,
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    return compiled


@pytest.mark.parametrize("name", TYPES)
@pytest.mark.parametrize("orders", list(itertools.product((False, True), repeat=2)))
def test_every_type_in_every_order(
    name: str, orders: tuple[bool, bool], rng: np.random.Generator
) -> None:
    for setting in SETTINGS[2], SETTINGS[5]:
        compiled = multiply(rng, name, orders, (64, 64, 128), setting, True, (64, 64, 32))
        if not (code := counts(compiled)):
            continue
        assert (code.instructions > 0) == (name != "ieee") and code.copies > 0
        assert loop_of(compiled).count("simt.store_shared") == 0
        if name in ("f16", "bf16"):
            assert code.reads > 0 and code.copies > 0
        elif name in ("tf32", "tf32x3"):
            assert code.copies > 0 and (code.reads > 0 or orders == (True, False))


@pytest.mark.parametrize("sizes", [(80, 48, 112), (72, 56, 104), (37, 41, 50)])
@pytest.mark.parametrize("name", ["f16", "tf32", "ieee", "f64", "i8"])
def test_sizes_that_tiles_do_not_divide(
    name: str, sizes: tuple[int, int, int], rng: np.random.Generator
) -> None:
    for orders in (False, False), (True, True):
        compiled = multiply(rng, name, orders, sizes, SETTINGS[3], whole=False)
        if not (code := counts(compiled)):
            continue
        assert (code.instructions > 0) == (name != "ieee")
        if sizes[0] % 16 == 0:  # rows are known to start at 16 bytes
            assert code.copies > 0


@pytest.mark.parametrize("K", [0, 32, 64, 160])
def test_trip_counts(setting: tuple[int, int, str], K: int, rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 64, 160), integers(rng, 160, 64), poisoned(64, 64)
    compiled = launch(
        kernels.matmul_whole, (1, 1), a, b, c, 64, K, 160, 1, 64, 1, BM=64, BN=64, BK=32,
        PRECISION=None, ACC=tw.float32, setting=setting,
    )  # fmt: skip
    assert_equal(c, a[:, :K].double() @ b[:K].double())
    if code := counts(compiled):
        assert code.instructions > 0 and code.reads > 0
        assert (code.copies > 0) == (setting[1] > 1)


@pytest.mark.parametrize("warps", [1, 2, 4, 8])
@pytest.mark.parametrize("tiles", [(16, 16, 16), (16, 64, 32), (64, 16, 64)])
def test_small_and_long_tiles(
    warps: int, tiles: tuple[int, int, int], rng: np.random.Generator
) -> None:
    compiled = multiply(
        rng, "f16", (False, False), (64, 64, 128), (warps, 3, "late"), True, tiles=tiles
    )
    if code := counts(compiled):
        assert code.instructions > 0


@pytest.mark.one_machine
@pytest.mark.parametrize("name", ["f16", "bf16", "tf32", "i8"])
def test_nothing_spills_at_usual_sizes(name: str, rng: np.random.Generator) -> None:
    tiles = (128, 128, 32)
    compiled = multiply(rng, name, (False, True), (128, 128, 64), (4, 3, "late"), True, tiles)
    for arch in ("nvidia:sm_80", *ARCHS):
        resources = compile_request(compiled.request._replace(device=arch)).resources
        assert resources["registers"] > 0, f"{arch}: not assembled"
        assert resources["spill_bytes"] == 0, f"{arch}: {resources}"


def test_batches(setting: tuple[int, int, str], rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 4, 16, 64), integers(rng, 4, 64, 32), poisoned(4, 16, 32)
    launch(
        kernels.batched_matmul, (1,), a, b, c, 64, B=4, M=16, N=32, BK=32, setting=setting
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())


def test_split_inner_dimension(setting: tuple[int, int, str], rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 40, 200), integers(rng, 200, 40), torch.zeros(40, 40)
    launch(
        kernels.split_k_matmul, (2, 2, 3), a, b, c, 40, 40, 200, BM=32, BN=32, BK=32, SPLIT=3,
        setting=setting,
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())


def test_groups(setting: tuple[int, int, str], rng: np.random.Generator) -> None:
    sizes = torch.tensor([5, 0, 40, 17], dtype=torch.int32)
    starts = torch.tensor([0, 5, 5, 45], dtype=torch.int32)
    a, b, c = integers(rng, 62, 48), integers(rng, 4, 48, 40), poisoned(62, 40)
    launch(
        kernels.grouped_matmul, (3,), a, b, c, sizes, starts, 40, 48, 4, BM=32, BN=32, BK=32,
        setting=setting,
    )  # fmt: skip
    pairs = zip(a.double().split(sizes.tolist()), b.double())
    assert_equal(c, torch.cat([rows @ matrix for rows, matrix in pairs]))


def test_bias_and_activation(setting: tuple[int, int, str], rng: np.random.Generator) -> None:
    x, w, bias = integers(rng, 64, 96), integers(rng, 64, 96), integers(rng, 64)
    out = poisoned(64, 64, dtype=torch.float16)
    compiled = launch(
        kernels.linear_relu, (2,), x, w, bias, out, 96, N=64, BM=32, BK=32, setting=setting
    )
    if code := counts(compiled):
        assert code.instructions > 0 and code.reads > 0
    assert_equal(out, (x.double() @ w.double().T + bias.double()).clamp(min=0))


def test_int8_weights(setting: tuple[int, int, str], rng: np.random.Generator) -> None:
    x, w = integers(rng, 32, 128), integers(rng, 128, 64, dtype=torch.int8, size=100)
    scales, out = 2.0 ** integers(rng, 64, dtype=torch.float32), poisoned(32, 64)
    compiled = launch(
        kernels.dequantized_int8, (1, 2), x, w, scales, out, 128, 64, BM=32, BN=32, BK=32,
        setting=setting,
    )  # fmt: skip
    if code := counts(compiled):
        assert code.instructions > 0
    assert_equal(out, x.double() @ w.double() * scales.double())


def test_packed_int4_weights(setting: tuple[int, int, str], rng: np.random.Generator) -> None:
    K, N, group = 128, 64, 32
    x, weights = integers(rng, 32, K), rng.integers(0, 16, (K, N)).astype(np.uint32)
    shifts = (4 * np.arange(8, dtype=np.uint32))[None, :, None]
    words = np.bitwise_or.reduce(weights.reshape(K // 8, 8, N) << shifts, 1).astype(np.uint32)
    packed = torch.from_numpy(words.view(np.int32))
    scales = 2.0 ** integers(rng, K // group, N, size=2)
    out = poisoned(32, N)
    compiled = launch(
        kernels.dequantized_int4, (1, 2), x, packed, scales, out, K, N, GROUP=group, BM=32, BN=32,
        BK=64, setting=setting,
    )  # fmt: skip
    if code := counts(compiled):
        assert code.instructions > 0
    shifted = torch.from_numpy(weights.astype(np.float64) - 8)
    assert_equal(out, x.double() @ (shifted * scales.double().repeat_interleave(group, 0)))


def test_two_layers(setting: tuple[int, int, str], rng: np.random.Generator) -> None:
    x, w1 = integers(rng, 64, 64, size=2), integers(rng, 64, 96, size=2)
    w2, out = integers(rng, 96, 32, size=2), poisoned(64, 32)
    launch(
        kernels.two_layers, (2,), x, w1, w2, out, 64, 96, N=32, BM=32, BK=32, BH=32,
        setting=setting,
    )  # fmt: skip
    assert_equal(out, (x.double() @ w1.double()).clamp(min=0) @ w2.double())


def test_linear_and_softmax(setting: tuple[int, int, str], rng: np.random.Generator) -> None:
    x, w = (torch.from_numpy(0.2 * rng.standard_normal((64, 64))).half() for _ in range(2))
    out = poisoned(64, 64)
    launch(kernels.linear_softmax, (2,), x, w, out, 64, N=64, BM=32, BK=32, setting=setting)
    expected = (x.double() @ w.double()).softmax(1)
    np.testing.assert_allclose(out.numpy(), expected.numpy(), rtol=1e-5)


def test_several_loads_and_products(
    setting: tuple[int, int, str], rng: np.random.Generator
) -> None:
    a, c = integers(rng, 32, 96), integers(rng, 32, 96)
    b, d, out = integers(rng, 96, 64), integers(rng, 96, 64), poisoned(32, 64)
    launch(kernels.sum_of_products, (1,), a, b, c, d, out, 96, M=32, N=64, BK=32, setting=setting)
    a, b, c, d = (tensor.double() for tensor in (a, b, c, d))
    assert_equal(out, a @ b + c @ d + a.sum(1, keepdim=True))


@pytest.mark.parametrize("count", [0, 1, 4])
def test_loads_that_feed_loads(
    setting: tuple[int, int, str], count: int, rng: np.random.Generator
) -> None:
    a, b = integers(rng, 32, 128), integers(rng, 6, 32, 64)
    pages = torch.from_numpy(rng.permutation(6)[:count].astype(np.int32)).contiguous()
    pages = pages if count else torch.zeros(1, dtype=torch.int32)
    out = poisoned(32, 64)
    compiled = launch(
        kernels.gathered_matmul, (1,), a, pages, b, out, 32 * count, 128, M=32, N=64, BK=32,
        setting=setting,
    )  # fmt: skip
    if code := counts(compiled):
        assert (code.copies > 0) == (setting[1] > 1)
    chosen = b[pages[:count].long()].reshape(-1, 64).double()
    assert_equal(out, a[:, : 32 * count].double() @ chosen)


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_chain_of_loads(
    setting: tuple[int, int, str], count: int, rng: np.random.Generator
) -> None:
    a, b = integers(rng, 32, 128), integers(rng, 6, 32, 64)
    links = torch.from_numpy(rng.permutation(6).astype(np.int32))
    out = poisoned(32, 64)
    launch(
        kernels.chased_matmul, (1,), a, links, b, out, 32 * count, 128, M=32, N=64, BK=32,
        setting=setting,
    )  # fmt: skip
    expected, page = torch.zeros(32, 64).double(), int(links[0])
    for step in range(count):
        expected += a[:, 32 * step : 32 * step + 32].double() @ b[page].double()
        page = int(links[page])
    assert_equal(out, expected)


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_a_table_of_tables(
    setting: tuple[int, int, str], count: int, rng: np.random.Generator
) -> None:
    a, b = integers(rng, 32, 192), integers(rng, 192, 64)
    order, pages = (torch.from_numpy(rng.permutation(6).astype(np.int32)) for _ in range(2))
    rows = torch.from_numpy(rng.permutation(192).astype(np.int32))
    out = poisoned(32, 64)
    compiled = launch(
        kernels.tables_matmul, (1,), a, order, pages, rows, b, out, 32 * count, 192, M=32, N=64, BK=32,
        setting=setting,
    )  # fmt: skip
    if is_nvidia():  # both operands are copied: none of the three tables keeps a copy waiting
        assert copies_of_loop(compiled) == (2 if setting[1] > 1 else 0)
    expected = torch.zeros(32, 64).double()
    for place in order[:count].tolist():
        chosen = rows.view(6, 32)[pages[place]].long()
        expected += a.view(32, 6, 32)[:, place].double() @ b[chosen].double()
    assert_equal(out, expected)


@pytest.mark.parametrize("kinds", [[1, 0, -3, 2, 1], [3, 3, 0, 2, 4], [0, 0, 0, 0, 0], [1]])
def test_loads_in_branches(
    setting: tuple[int, int, str], kinds: list[int], rng: np.random.Generator
) -> None:
    a, b, c, out = integers(rng, 32, 160), integers(rng, 160, 64), integers(rng, 160, 64), poisoned(32, 64)
    table, count = torch.tensor(kinds + [0] * 5, dtype=torch.int32), len(kinds)
    table[2:5].clamp_(min=0)
    compiled = launch(
        kernels.branching_matmul, (1,), a, table, b, c, out, 32 * count, 160, M=32, N=64, BK=32,
        setting=setting,
    )  # fmt: skip
    if is_nvidia():
        assert copies_of_loop(compiled) == (3 if setting[1] > 1 else 0)
    expected = torch.zeros(32, 64).double()
    for step, kind in enumerate(table[:count].tolist()):
        x = a.view(32, 5, 32)[:, step].double()
        if kind > 1:
            expected += x[:, :16] @ c[32 * table[kind] :][:16].double()
        elif kind == 1:
            expected = (expected + x @ b[32 * step :][:32].double()) * 2
        else:
            expected += kind
    assert_equal(out, expected)


def test_products_under_a_condition(
    setting: tuple[int, int, str], rng: np.random.Generator
) -> None:
    a, b, out = integers(rng, 32, 160), integers(rng, 160, 64), poisoned(32, 64)
    wanted = torch.tensor([1, 0, 0, 1, 1], dtype=torch.int32)
    launch(kernels.chosen_matmul, (1,), a, wanted, b, out, 160, M=32, N=64, BK=32, setting=setting)
    chosen = wanted.bool().repeat_interleave(32)
    left, rest = a[:, chosen].double(), a[:, ~chosen].double()
    assert_equal(out, left @ b[chosen].double() + rest.sum(1, keepdim=True))


def test_a_loop_that_writes_what_it_loads(
    setting: tuple[int, int, str], rng: np.random.Generator
) -> None:
    a, b, out = integers(rng, 32, 32), integers(rng, 96, 64), poisoned(32, 64)
    first = a.double()
    launch(kernels.fed_back, (1,), a, a, b, out, 96, M=32, N=64, BK=32, setting=setting)
    blocks = b.double().split(32)
    assert_equal(out, sum((first + step) @ block for step, block in enumerate(blocks)))
    assert_equal(a, first + 3)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize(
    ("first", "last", "step"),
    [(0, 160, 32), (0, 160, 64), (128, 160, 32), (96, 96, 32), (96, 32, 32), (128, 0, -32), (0, 1, "largest")],
)
@pytest.mark.parametrize("end", [False, True])
def test_loops_of_any_bounds(
    first: int, last: int, step: int | str, end: bool, dtype: str, rng: np.random.Generator
) -> None:  # fmt: skip
    """Also near the end of the integers, where iterations after the last have no number."""
    largest = int(np.iinfo(dtype).max)
    origin = largest - 192 if end and not isinstance(step, str) else 0
    step = largest // 2 + 2 if isinstance(step, str) else step
    bounds = [origin + first, origin + last, step, origin]
    bounds = torch.tensor(bounds, dtype=getattr(torch, dtype))
    a, b = integers(rng, 32, 192), integers(rng, 192, 64)
    expected = torch.zeros(32, 64).double()
    for place in range(first, last, step):
        expected += a[:, place : place + 32].double() @ b[place : place + 32].double()
    for setting, known in itertools.product(SETTINGS[1:4], (0, step)):
        out = poisoned(32, 64)
        launch(
            kernels.matmul_between, (1,), a, b, out, bounds, 192, M=32, N=64, BK=32, STEP=known,
            setting=setting,
        )  # fmt: skip
        assert_equal(out, expected)


@pytest.mark.parametrize("K", [32, 64, 160])
def test_loads_carried_to_the_next_iteration(
    setting: tuple[int, int, str], K: int, rng: np.random.Generator
) -> None:
    a, b, out = integers(rng, 32, K), integers(rng, K, 64), poisoned(32, 64)
    launch(kernels.prefetching_matmul, (1,), a, b, out, K, M=32, N=64, BK=32, setting=setting)
    a, b = a.double(), b.double()
    assert_equal(out, a @ b + a[:, -32:] @ b[-32:])


def test_loops_after_each_other_in_a_loop(
    setting: tuple[int, int, str], rng: np.random.Generator
) -> None:
    a, b, out = integers(rng, 32, 96), integers(rng, 96, 64), poisoned(32, 64)
    launch(kernels.two_loops, (1,), a, b, out, 96, M=32, N=64, BK=32, setting=setting)
    a, b = a.double(), b.double()
    assert_equal(out, 2 * (a @ b + (a @ a.T).sum(1, keepdim=True)))
