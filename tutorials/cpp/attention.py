"""Attention of one head: each query's mean of the values, weighted by how well its key fits."""

import tilewright as tw


@tw.jit
def attention(
    out, q, k, v, length, scale: tw.float32,
    DEPTH: tw.constexpr, ROWS: tw.constexpr = 16, KEYS: tw.constexpr = 32,
):  # fmt: skip
    """out = softmax(scale * q @ k.T) @ v; all are [length, DEPTH], row-major."""
    rows = tw.program_id(0) * ROWS + tw.arange(0, ROWS)
    depth = tw.arange(0, DEPTH)
    is_row = rows[:, None] < length
    query = tw.load(q + rows[:, None] * DEPTH + depth[None, :], mask=is_row, other=0.0)
    # The largest score so far, and the sums of weights and of weighted values relative to it.
    largest = tw.full((ROWS,), -float("inf"), tw.float32)
    weights = tw.zeros((ROWS,), tw.float32)
    total = tw.zeros((ROWS, DEPTH), tw.float32)
    for start in range(0, length, KEYS):
        keys = start + tw.arange(0, KEYS)
        is_key = keys[:, None] < length
        key = tw.load(k + keys[:, None] * DEPTH + depth[None, :], mask=is_key, other=0.0)
        value = tw.load(v + keys[:, None] * DEPTH + depth[None, :], mask=is_key, other=0.0)
        score = scale * tw.dot(query, tw.trans(key), input_precision="ieee")
        score = tw.where(keys[None, :] < length, score, -float("inf"))
        now = tw.maximum(largest, tw.max(score, axis=1))
        weight = tw.exp(score - now[:, None])
        shrunk = tw.exp(largest - now)
        weights = weights * shrunk + tw.sum(weight, axis=1)
        total = total * shrunk[:, None] + tw.dot(weight, value, input_precision="ieee")
        largest = now
    tw.store(out + rows[:, None] * DEPTH + depth[None, :], total / weights[:, None], mask=is_row)
