"""Attention by matrix instructions and pipelined loops is right on the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import matrix_kernels as kernels
from gpu.launching import ARCHS
from gpu.products.test_gpu_matmul import counts, launch, poisoned, setting  # noqa: F401

from tilewright.compile import compile_request

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler")

Setting = tuple[int, int, str]


def normal(rng: np.random.Generator, *shape: int, dtype: Any = None) -> Any:
    return torch.from_numpy(rng.standard_normal(shape)).to(dtype or torch.float16)


def attend(
    rng: np.random.Generator, setting: Setting, D: int, *, heads: int = 2, shared_by: int = 1,
    queries: int = 96, keys: int = 96, causal: bool = False, bias: bool = False, dtype: Any = None,
    tiles: tuple[int, int] = (64, 32),
) -> Any:  # fmt: skip
    q = normal(rng, heads, queries, D, dtype=dtype)
    k, v = (normal(rng, heads // shared_by, keys, D, dtype=dtype) for _ in range(2))
    added = normal(rng, heads, queries, keys)
    out, sums = poisoned(heads, queries, D), poisoned(heads, queries)
    compiled = launch(
        kernels.attention, (-(-queries // tiles[0]), heads), q, k, v, added, out, sums, queries,
        keys, heads, shared_by, D**-0.5, D=D, BM=tiles[0], BN=tiles[1], CAUSAL=causal, BIAS=bias,
        setting=setting,
    )  # fmt: skip
    k, v = (x.double().repeat_interleave(shared_by, 0) for x in (k, v))
    score = q.double() @ k.transpose(1, 2) * D**-0.5
    if bias:
        score = score + added.double()
    if causal:
        score = score.masked_fill(torch.ones(queries, keys).triu(1).bool(), float("-inf"))
    # The weights are rounded to the operands' type, values lie around 1: 8 bits of bf16's mantissa.
    rounding = 2e-2 if dtype == torch.bfloat16 else 3e-3
    np.testing.assert_allclose(out, score.softmax(2) @ v, rtol=rounding, atol=rounding)
    logarithms = score.logsumexp(2) / np.log(2)
    np.testing.assert_allclose(sums, logarithms, rtol=1e-4, atol=1e-4)
    return compiled


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("D", [32, 64, 128])
def test_forward(
    setting: Setting, D: int, causal: bool, rng: np.random.Generator  # noqa: F811
) -> None:  # fmt: skip
    compiled = attend(rng, setting, D, causal=causal)
    if code := counts(compiled):
        assert code.instructions > 0 and code.reads > 0
        assert (code.copies > 0) == (setting[1] > 1)


def test_heads_of_256(rng: np.random.Generator) -> None:
    attend(rng, (8, 2, "late"), 256, heads=1, causal=True)


@pytest.mark.parametrize("causal", [False, True])
def test_lengths_that_tiles_do_not_divide(
    setting: Setting, causal: bool, rng: np.random.Generator  # noqa: F811
) -> None:  # fmt: skip
    attend(rng, setting, 64, queries=77, keys=77, causal=causal)
    attend(rng, setting, 64, queries=5, keys=101)


def test_bias(setting: Setting, rng: np.random.Generator) -> None:  # noqa: F811
    attend(rng, setting, 32, bias=True, causal=True, queries=90, keys=90)


def test_grouped_queries(setting: Setting, rng: np.random.Generator) -> None:  # noqa: F811
    attend(rng, setting, 64, heads=4, shared_by=4, queries=40)


@pytest.mark.parametrize("warps", [1, 2])
def test_small_tiles(warps: int, rng: np.random.Generator) -> None:
    attend(rng, (warps, 3, "random"), 32, tiles=(16, 32), queries=32)


def test_bfloat16(setting: Setting, rng: np.random.Generator) -> None:  # noqa: F811
    attend(rng, setting, 64, dtype=torch.bfloat16, causal=True)


# At 256 columns, the queries do not fit in registers beside the accumulator.
SIZES = [(64, 4, (128, 64)), (128, 8, (128, 32)), (256, 4, (64, 32))]


@pytest.mark.one_machine
@pytest.mark.parametrize(("D", "warps", "tiles"), SIZES)
def test_nothing_spills_at_usual_sizes(
    D: int, warps: int, tiles: tuple[int, int], rng: np.random.Generator
) -> None:
    compiled = attend(rng, (warps, 2, "late"), D, heads=1, queries=128, keys=128, tiles=tiles)
    for arch in ("nvidia:sm_80", *ARCHS):
        resources = compile_request(compiled.request._replace(device=arch)).resources
        assert resources["registers"] > 0, f"{arch}: not assembled"
        assert resources["spill_bytes"] == 0, f"{arch}: {resources}"


def test_pages_found_through_a_table(
    setting: Setting, rng: np.random.Generator  # noqa: F811
) -> None:  # fmt: skip
    lengths, page, D = [0, 20, 32, 101], 32, 64
    q = normal(rng, 4, 16, D)
    k, v = normal(rng, 10, page, D), normal(rng, 10, page, D)
    table = torch.from_numpy(np.stack([rng.permutation(10)[:4] for _ in lengths])).int()
    out = poisoned(4, 16, D)
    compiled = launch(
        kernels.paged_attention, (4,), q, k, v, table, torch.tensor(lengths, dtype=torch.int32),
        out, 4, D**-0.5, ROWS=16, D=D, PAGE=page, setting=setting,
    )  # fmt: skip
    if code := counts(compiled):
        assert (code.copies > 0) == (setting[1] > 1)
    for i, length in enumerate(lengths):
        pages = table[i].long()
        keys, values = (x[pages].reshape(-1, D)[:length].double() for x in (k, v))
        expected = (q[i].double() @ keys.T * D**-0.5).softmax(1) @ values
        np.testing.assert_allclose(out[i], expected, rtol=3e-3, atol=3e-3)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("length", "D"), [(64, 32), (70, 64)])
def test_backward(
    setting: Setting, length: int, D: int, causal: bool, rng: np.random.Generator  # noqa: F811
) -> None:  # fmt: skip
    scale, heads = D**-0.5, 2
    q, k, v, gradient = (normal(rng, heads, length, D) for _ in range(4))
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    score = exact[0] @ exact[1].transpose(1, 2) * scale
    if causal:
        score = score.masked_fill(torch.ones(length, length).triu(1).bool(), float("-inf"))
    out = score.softmax(2) @ exact[2]
    out.backward(gradient.double())
    sums = (score.detach().logsumexp(2) / np.log(2)).float()
    deltas = (out.detach() * gradient.double()).sum(2).float()
    dq = torch.zeros(heads, length, D)
    dk, dv = poisoned(heads, length, D), poisoned(heads, length, D)
    compiled = launch(
        kernels.attention_gradients, (-(-length // 32), heads), q, k, v, gradient, sums, deltas,
        dq, dk, dv, length, scale, D=D, BM=32, BN=32, CAUSAL=causal, setting=setting,
    )  # fmt: skip
    if code := counts(compiled):
        assert code.instructions > 0
    for actual, leaf in zip((dq, dk, dv), exact):
        np.testing.assert_allclose(actual, leaf.grad, rtol=2e-2, atol=2e-2)
