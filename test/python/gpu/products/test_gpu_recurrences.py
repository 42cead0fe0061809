"""Gradients of attention and chunked recurrences by matrix instructions, on the simulator."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import recurrent_kernels as kernels
from gpu.products.test_gpu_attention_forms import SETTINGS, Setting, close, lower
from gpu.products.test_gpu_flash_attention import normal
from gpu.products.test_gpu_matmul import launch, poisoned

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(params=SETTINGS, ids=lambda s: f"{s[0]}w{s[1]}s-{s[2]}")
def setting(request: pytest.FixtureRequest) -> Setting:
    return request.param


def attention_gradients(
    rng: np.random.Generator, queries: int, keys: int, D: int, heads: int, shared_by: int = 1
) -> tuple[Any, ...]:
    """q, k, v, the gradient of the output; log2 sums and deltas of rows; the exact gradients."""
    q, above = normal(rng, heads, queries, D), normal(rng, heads, queries, D)
    k, v = (normal(rng, heads // shared_by, keys, D) for _ in range(2))
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    key, value = (x.repeat_interleave(shared_by, 0) for x in exact[1:])
    score = exact[0] @ key.transpose(1, 2) * D**-0.5
    score = score.masked_fill(~lower(queries, keys), float("-inf"))
    out = score.softmax(2) @ value
    out.backward(above.double())
    sums = (score.detach().logsumexp(2) / np.log(2)).float()
    deltas = (out.detach() * above.double()).sum(2).float()
    return q, k, v, above, sums, deltas, [x.grad for x in exact]


def test_gradients_in_four_loops(setting: Setting, rng: np.random.Generator) -> None:
    length, D, heads, scale = 128, 32, 2, 32**-0.5
    q, k, v, above, sums, deltas, exact = attention_gradients(rng, length, length, D, heads)
    results = [poisoned(heads, length, D) for _ in range(3)]
    scaled = (k.double() * scale / np.log(2)).half()
    launch(
        kernels.causal_gradients, (length // 64, heads), q, scaled, v, above, *results, sums,
        deltas, length, scale, D=D, BLOCK=64, STEP=32, setting=setting,
    )  # fmt: skip
    for actual, expected in zip(results, exact):
        close(actual, expected, 3e-2)


def test_gradients_of_shared_keys(setting: Setting, rng: np.random.Generator) -> None:
    queries, keys, D, heads, group = 70, 64, 64, 4, 2
    *inputs, exact = attention_gradients(rng, queries, keys, D, heads, group)
    dq = poisoned(heads, queries, D)
    dk, dv = (poisoned(heads // group, keys, D) for _ in range(2))
    constants = dict(GROUP=group, D=D, BM=32, BN=32, setting=setting)
    launch(
        kernels.shared_key_gradients, (2, heads // group), *inputs, dk, dv, queries, keys,
        D**-0.5, **constants,
    )  # fmt: skip
    launch(
        kernels.query_gradients_backwards, (3, heads), *inputs, dq, queries, keys, D**-0.5,
        **constants,
    )  # fmt: skip
    for actual, expected in zip((dq, dk, dv), exact):
        close(actual, expected, 3e-2)


@pytest.mark.parametrize(("length", "T", "BK"), [(75, 32, 32), (64, 16, 16), (50, 64, 32)])
def test_gated_linear_attention(
    setting: Setting, length: int, T: int, BK: int, rng: np.random.Generator
) -> None:
    K, V, chunks = 64, 64, -(-length // T)
    q, k, v = 0.3 * normal(rng, length, K), 0.3 * normal(rng, length, K), normal(rng, length, V)
    steps = -0.3 * torch.from_numpy(rng.random(length)).float()
    gates, states, last = poisoned(length), poisoned(chunks, K, V).half(), poisoned(K, V)
    out = poisoned(length, V)
    launch(kernels.chunk_cumsum, (chunks,), steps, gates, length, T=T, setting=setting)
    launch(
        kernels.chunk_states, (2,), k, v, gates, states, last, length, K=K, V=V, T=T, BV=32,
        setting=setting,
    )  # fmt: skip
    launch(
        kernels.chunk_outputs, (2, chunks), q, k, v, gates, states, out, length, 0.25, K=K, V=V,
        T=T, BK=BK, BV=32, setting=setting,
    )  # fmt: skip
    state, expected = torch.zeros(K, V).double(), torch.zeros(length, V).double()
    for t in range(length):
        state = state * steps[t].double().exp() + torch.outer(k[t].double(), v[t].double())
        expected[t] = 0.25 * q[t].double() @ state
    close(last, state, 2e-2)
    close(out, expected, 2e-2)


@pytest.mark.parametrize("precision", ["ieee", "tf32", "tf32x3"])
def test_delta_rule(setting: Setting, precision: str, rng: np.random.Generator) -> None:
    length, K, V, T = 45, 32, 32, 16
    q, k, v = (normal(rng, length, width, dtype=torch.float32) for width in (K, K, V))
    k = torch.nn.functional.normalize(k, dim=1)
    beta = torch.from_numpy(rng.random(length)).float()
    below, inverse = torch.zeros(length, T), poisoned(length, T)
    for first in range(0, length, T):
        rows = slice(first, min(first + T, length))
        below[rows, : k[rows].shape[0]] = k[rows] @ k[rows].T * beta[rows, None]
    out, last = poisoned(length, V), poisoned(K, V)
    launch(kernels.invert_lower, (3,), below, inverse, length, T=T, setting=setting)
    # One tile of keys is read as three operands: `launch` asserts that its buffer suits them all.
    launch(
        kernels.delta_rule, (2,), q, k, v, beta, inverse, out, last, length, 0.5, K=K, V=V, T=T, BV=16,
        PRECISION=precision, setting=setting,
    )  # fmt: skip
    state, expected = torch.zeros(K, V).double(), torch.zeros(length, V).double()
    for t in range(length):
        key = k[t].double()
        state = state + beta[t].double() * torch.outer(key, v[t].double() - key @ state)
        expected[t] = 0.5 * q[t].double() @ state
    rounding = 2e-2 if precision == "tf32" else 1e-3
    close(out, expected, rounding)
    close(last, state, rounding)


def test_gradients_of_linear_attention(setting: Setting, rng: np.random.Generator) -> None:
    length, K, V = 50, 32, 64
    q, k, v, above = (0.4 * normal(rng, length, width) for width in (K, K, V, V))
    exact = [x.double().requires_grad_() for x in (q, k, v)]
    (((exact[0] @ exact[1].T) * lower(length)) @ exact[2]).backward(above.double())
    results = poisoned(length, K), poisoned(length, K), poisoned(length, V)
    launch(
        kernels.linear_gradients, (1,), q, k, v, above, *results, length, K=K, V=V, T=16,
        setting=setting,
    )  # fmt: skip
    for actual, leaf in zip(results, exact):
        close(actual, leaf.grad, 2e-2)
