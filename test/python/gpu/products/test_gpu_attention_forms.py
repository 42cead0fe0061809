"""Attention in its many forms, over matrix instructions and pipelined loops, on the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import attention_kernels as kernels
from gpu.products.test_gpu_flash_attention import normal
from gpu.products.test_gpu_matmul import counts, launch, poisoned

import tilewright as tw

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler")

Setting = tuple[int, int, str]
SETTINGS = [(1, 3, "random"), (2, 5, "late"), (4, 1, "early"), (4, 3, "late"), (8, 2, "random")]


@pytest.fixture(params=SETTINGS, ids=lambda s: f"{s[0]}w{s[1]}s-{s[2]}")
def setting(request: pytest.FixtureRequest) -> Setting:
    return request.param


def weights(scores: Any) -> Any:
    return scores.softmax(-1).nan_to_num()


def close(actual: Any, expected: Any, rounding: float = 5e-3) -> None:
    np.testing.assert_allclose(actual.double(), expected, rtol=rounding, atol=rounding)


def lower(rows: int, columns: int | None = None) -> Any:
    return torch.ones(rows, columns or rows).tril().bool()


FORMS = {
    "causal": dict(causal=True),
    "window": dict(causal=True, window=20, D=32),
    "slopes of grouped heads": dict(causal=True, slopes=True, heads=4, shared_by=2),
    "capped scores of 80 columns": dict(cap=3.0, D=80),
    "bf16 of 72 columns": dict(causal=True, D=72, dtype="bfloat16"),
    "all": dict(causal=True, window=33, slopes=True, cap=3.0, D=48, shared_by=2),
}


@pytest.mark.parametrize("form", FORMS)
def test_sequences_of_any_lengths(setting: Setting, form: str, rng: np.random.Generator) -> None:
    check_ragged(setting, rng, **FORMS[form])


def check_ragged(
    setting: Setting, rng: np.random.Generator, *, causal: bool = False, window: int = 0,
    slopes: bool = False, cap: float = 0.0, D: int = 64, heads: int = 2, shared_by: int = 1,
    dtype: str = "float16",
) -> None:  # fmt: skip
    lengths, kind = [40, 0, 1, 75], getattr(torch, dtype)
    starts = torch.tensor(np.cumsum([0, *lengths]), dtype=torch.int32)
    tokens, shared = int(starts[-1]), heads // shared_by
    q = normal(rng, tokens, heads, D, dtype=kind)
    k, v = (normal(rng, tokens, shared, D, dtype=kind) for _ in range(2))
    out = poisoned(tokens, heads, D)
    slope = torch.tensor([2.0**-i for i in range(1, heads + 1)])
    launch(
        kernels.ragged_attention, (3, len(lengths), heads), q, k, v, out, starts, slope, D**-0.5,
        window, cap, shared_by, heads * D, shared * D, D=D, WIDTH=tw.next_power_of_2(D), BM=32,
        BN=32, CAUSAL=causal, WINDOW=window > 0, SLOPES=slopes, CAP=cap > 0, setting=setting,
    )  # fmt: skip
    for i, length in enumerate(lengths):
        rows = slice(int(starts[i]), int(starts[i + 1]))
        query, key, value = (x[rows].double().transpose(0, 1) for x in (q, k, v))
        key, value = (x.repeat_interleave(shared_by, 0) for x in (key, value))
        score = query @ key.transpose(1, 2) * D**-0.5
        score = cap * torch.tanh(score / cap) if cap else score
        apart = torch.arange(length)[:, None] - torch.arange(length)[None, :]
        score = score - slope[:, None, None] * apart if slopes else score
        if causal:
            score = score.masked_fill(apart < 0, float("-inf"))
        if window:
            score = score.masked_fill(apart >= window, float("-inf"))
        rounding = 2e-2 if dtype == "bfloat16" else 5e-3
        close(out[rows].transpose(0, 1), weights(score) @ value, rounding)


def test_phases_with_a_sink(setting: Setting, rng: np.random.Generator) -> None:
    length, D, window = 112, 32, 40
    q, k, v = (normal(rng, 2, length, D) for _ in range(3))
    sinks, out = normal(rng, 2, dtype=torch.float32), poisoned(2, length, D)
    launch(
        kernels.attention_in_phases, (4, 2), q, k, v, sinks, out, length, D**-0.5, WINDOW=window,
        D=D, BM=32, BN=16, setting=setting,
    )  # fmt: skip
    apart = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    score = q.double() @ k.double().transpose(1, 2) * D**-0.5
    score = score.masked_fill((apart < 0) | (apart >= window), float("-inf"))
    sink = sinks.double()[:, None, None].expand(2, length, 1)
    close(out, weights(torch.cat([score, sink], 2))[..., :-1] @ v.double())


def test_dropout_and_bias_by_distance(setting: Setting, rng: np.random.Generator) -> None:
    length, D, distances, seed = 50, 32, 32, 123
    q, k, v = (normal(rng, 2, length, D) for _ in range(3))
    bias, out = normal(rng, 2, distances, dtype=torch.float32), poisoned(2, length, D)
    chance = poisoned(2, length, length)
    with tw.device("reference"):
        kernels.chances[(5,)](chance, seed, chance.numel(), BLOCK=1024)
    launch(
        kernels.dropped_out_attention, (2, 2), q, k, v, bias, out, length, D**-0.5, 0.25, seed, D=D,
        BM=32, BN=32, DISTANCES=distances, setting=setting,
    )  # fmt: skip
    apart = torch.arange(length)[:, None] - torch.arange(length)[None, :]
    added = bias.double()[:, (apart + distances // 2).clamp(0, distances - 1)]
    kept = weights(q.double() @ k.double().transpose(1, 2) * D**-0.5 + added) / 0.75
    close(out, torch.where(chance > 0.25, kept, 0.0) @ v.double())


CACHES = {
    "f16": ("float16", 64, False),
    "i8": ("int8", 64, True),
    "e4m3": ("float8_e4m3fn", 32, True),
    "e5m2": ("float8_e5m2", 64, True),
}


@pytest.mark.parametrize("cache", CACHES)
def test_decoding_in_parts(setting: Setting, cache: str, rng: np.random.Generator) -> None:
    kind, D, scaled = CACHES[cache]
    lengths, page, heads, group, parts = [1, 33, 150], 16, 2, 4, 3
    q = normal(rng, len(lengths), heads * group, D)
    pages = rng.permutation(30).reshape(len(lengths), 10)
    k, v = (torch.from_numpy(rng.uniform(-2, 2, (30, page, heads, D))) for _ in range(2))
    k, v = (((50 * x) if kind == "int8" else x).to(getattr(torch, kind)) for x in (k, v))
    unit = 0.01 if kind == "int8" else 1.0
    scales = [torch.from_numpy(rng.uniform(unit, 2 * unit, (30, page))).float() for _ in range(2)]
    rows = len(lengths) * heads * group
    partial, sums, out = poisoned(rows, parts, D), poisoned(rows, parts), poisoned(*q.shape)
    launch(
        kernels.split_decoding, (len(lengths), heads, parts), q, k, v, *scales, partial, sums,
        torch.tensor(lengths, dtype=torch.int32), torch.from_numpy(pages).int(), D**-0.5, 10,
        HEADS=heads, GROUP=group, ROWS=16, D=D, PAGE=page, BN=32, SCALED=scaled, setting=setting,
    )  # fmt: skip
    launch(kernels.merge_parts, (rows,), partial, sums, out, D=D, PARTS=parts, setting=setting)
    k, v = k.double(), v.double()
    if scaled:
        k, v = (x * s.double()[..., None, None] for x, s in zip((k, v), scales))
    for i, length in enumerate(lengths):
        key, value = (
            x[pages[i]].reshape(-1, heads, D)[:length].repeat_interleave(group, 1) for x in (k, v)
        )
        score = torch.einsum("hd,nhd->hn", q[i].double(), key) * D**-0.5
        close(out[i], torch.einsum("hn,nhd->hd", weights(score), value))


@pytest.mark.parametrize(("L", "R", "rows", "BN"), [(128, 32, 16, 32), (512, 64, 16, 16)])
def test_latent_attention(
    setting: Setting, L: int, R: int, rows: int, BN: int, rng: np.random.Generator
) -> None:
    length, scale = 50, (L + R) ** -0.5
    q, q_rotary = normal(rng, 2, rows, L), normal(rng, 2, rows, R)
    latents, k_rotary = normal(rng, 2, length, L), normal(rng, 2, length, R)
    out = poisoned(2, rows, L)
    launch(
        kernels.latent_attention, (2,), q, q_rotary, latents, k_rotary, out, length, scale, L=L,
        R=R, ROWS=rows, BN=BN, setting=setting,
    )  # fmt: skip
    score = q.double() @ latents.double().mT + q_rotary.double() @ k_rotary.double().mT
    close(out, weights(score * scale) @ latents.double())


@pytest.mark.parametrize("tree", [False, True])
def test_listed_blocks(setting: Setting, tree: bool, rng: np.random.Generator) -> None:
    length, D, BM, BN = 120, 32, 32, 16
    allowed = torch.from_numpy(rng.random((length, length)) < 0.4)
    allowed |= torch.eye(length).bool()
    seen, blocks, most = torch.zeros(length, length).bool(), [], 10
    for i in range(4):
        others = [j for j in range(8) if j // 2 != i and rng.random() < 0.4]
        listed = rng.permutation([2 * i, 2 * i + 1, *others, -1])
        blocks.append(list(listed) + [-1] * (most - len(listed)))
        for j in listed[listed >= 0]:
            seen[i * BM : (i + 1) * BM, j * BN : (j + 1) * BN] = True
    counted = torch.tensor([most - i for i in range(4)], dtype=torch.int32).clamp(min=9)
    q, k, v = (normal(rng, length, D) for _ in range(3))
    out = poisoned(length, D)
    launch(
        kernels.attention_to_blocks, (4,), q, k, v, counted,
        torch.tensor(np.array(blocks), dtype=torch.int32), allowed.to(torch.int8), out, length,
        most, D**-0.5, D=D, BM=BM, BN=BN, TREE=tree, setting=setting,
    )  # fmt: skip
    score = q.double() @ k.double().T * D**-0.5
    score = score.masked_fill(~(seen & allowed if tree else seen), float("-inf"))
    close(out, weights(score) @ v.double())


@pytest.mark.one_machine
def test_copies_run_ahead(rng: np.random.Generator) -> None:
    """Loads of whole rows are copied in pieces of 16 bytes, without a register in between."""
    q, k, v = (normal(rng, 64, 1, 64) for _ in range(3))
    starts = torch.tensor([0, 64], dtype=torch.int32)
    compiled = launch(
        kernels.ragged_attention, (2, 1, 1), q, k, v, poisoned(64, 1, 64), starts,
        torch.zeros(1), 0.125, 0, 0.0, 1, 64, 64, D=64, WIDTH=64, BM=32, BN=32, CAUSAL=True,
        WINDOW=False, SLOPES=False, CAP=False, setting=(4, 3, "late"),
    )  # fmt: skip
    ptx = compiled.asm["ptx"]
    code = counts(compiled)
    assert code and code.copies > 0
    assert ptx.count("cp.async.cg.shared.global") == code.copies
