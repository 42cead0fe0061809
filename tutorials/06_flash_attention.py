"""Flash attention, forward: softmax(Q K^T / sqrt(d)) V without ever storing the matrix of scores.

For n keys the scores are an n x n matrix per head, and writing it to memory and reading it back
costs more than computing it. The trick (Milakov and Gimelshein 2018; Dao et al. 2022) is that a
softmax can be computed piece by piece: keep the maximum so far, the sum of exponentials relative to
it, and the weighted sum of V; when a later piece has a larger maximum, scale what was summed before
by exp(old - new).
"""

from __future__ import annotations

import compare
import torch

import tilewright as tw

LOG2_E = 1.4426950408889634


# Walks over the keys first ... last-1 for one tile of queries. MASKED is a constexpr: the loop over
# keys that all queries of the tile may see has no masks at all, and only the tiles at the diagonal
# and at the end of the keys pay for theirs.
@tw.jit
def attend(
    queries,
    k,
    v,
    row_stride,
    first,
    last,
    rows,
    n,
    total,
    sums,
    maxima,
    HEAD: tw.constexpr,
    BLOCK_N: tw.constexpr,
    CAUSAL: tw.constexpr,
    MASKED: tw.constexpr,
):
    dims = tw.arange(0, HEAD)
    for start in range(first, last, BLOCK_N):
        cols = start + tw.arange(0, BLOCK_N)
        pointers = cols[:, None] * row_stride + dims[None, :]
        if MASKED:
            exists = cols[:, None] < n
            keys = tw.load(k + pointers, mask=exists, other=0.0)
            values = tw.load(v + pointers, mask=exists, other=0.0)
        else:
            keys = tw.load(k + pointers)
            values = tw.load(v + pointers)
        scores = tw.dot(queries, tw.trans(keys))
        if MASKED:
            seen = cols[None, :] < n
            if CAUSAL:
                seen = seen & (cols[None, :] <= rows[:, None])
            scores = tw.where(seen, scores, -float("inf"))
        new_maxima = tw.maximum(maxima, tw.max(scores, axis=1))
        # exp2 is one step cheaper than exp; the factor log2(e) is part of the scale of the queries.
        weights = tw.exp2(scores - new_maxima[:, None])
        rescale = tw.exp2(maxima - new_maxima)
        sums = sums * rescale + tw.sum(weights, axis=1)
        # The weights are at most 1: in bf16 or fp16 they lose little, and the product runs at its
        # rate.
        total = tw.dot(weights.to(values.dtype), values, total * rescale[:, None])
        maxima = new_maxima
    return total, sums, maxima


@tw.jit
def attention_kernel(
    q,
    k,
    v,
    out,
    head_stride,
    row_stride,
    n,
    scale,
    HEAD: tw.constexpr,
    BLOCK_M: tw.constexpr,
    BLOCK_N: tw.constexpr,
    CAUSAL: tw.constexpr,
):
    # Axis 0: tiles of queries; axis 1: heads of all sequences, which do not know of each other.
    first_row = tw.program_id(0) * BLOCK_M
    head = tw.program_id(1) * head_stride
    rows = first_row + tw.arange(0, BLOCK_M)
    dims = tw.arange(0, HEAD)
    places = head + rows[:, None] * row_stride + dims[None, :]
    exists = rows[:, None] < n
    # Scaling the queries once is cheaper than scaling every score. The product is rounded to the
    # queries' type again, so that `dot` gets two operands of one type.
    queries = tw.load(q + places, mask=exists, other=0.0)
    queries = (queries.to(tw.float32) * scale).to(queries.dtype)
    total = tw.zeros((BLOCK_M, HEAD), dtype=tw.float32)
    sums = tw.zeros((BLOCK_M,), dtype=tw.float32)
    maxima = tw.full((BLOCK_M,), -float("inf"), dtype=tw.float32)
    # Keys before `whole` are seen by all queries of this tile; from there to `end`, by some.
    if CAUSAL:
        whole = first_row // BLOCK_N * BLOCK_N
        end = tw.minimum(first_row + BLOCK_M, n)
    else:
        whole = n // BLOCK_N * BLOCK_N
        end = n
    total, sums, maxima = attend(
        queries,
        k + head,
        v + head,
        row_stride,
        0,
        whole,
        rows,
        n,
        total,
        sums,
        maxima,
        HEAD,
        BLOCK_N,
        CAUSAL,
        False,
    )
    total, sums, maxima = attend(
        queries,
        k + head,
        v + head,
        row_stride,
        whole,
        end,
        rows,
        n,
        total,
        sums,
        maxima,
        HEAD,
        BLOCK_N,
        CAUSAL,
        True,
    )
    tw.store(out + places, total / sums[:, None], mask=exists)


TILES = {"BLOCK_M": 64, "BLOCK_N": 64}
NUM_STAGES = 3  # how many tiles of K and of V a GPU keeps on chip while it loads ahead


def tiles_that_fit(head_size: int, element_bytes: int) -> dict[str, int]:
    """As many keys at a time as the device's memory on chip has room for: beside the tiles of K and
    V, the tile of queries and the weights of the scores."""
    room = tw.targets.properties_of(tw.current_device())["max_shared_mem"]
    rows, columns = TILES["BLOCK_M"], TILES["BLOCK_N"]
    while columns > 16 and element_bytes * (
        2 * NUM_STAGES * columns * head_size + rows * (head_size + columns)
    ) > room:
        columns //= 2
    return {"BLOCK_M": rows, "BLOCK_N": columns}


def attention(q, k, v, out, causal: bool, tiles: dict[str, int] | None = None) -> None:
    """Attention of contiguous tensors [sequences, heads, n, head size]."""
    sequences, heads, n, head_size = q.shape
    tiles = tiles or tiles_that_fit(head_size, q.element_size())
    grid = (tw.cdiv(n, tiles["BLOCK_M"]), sequences * heads)
    attention_kernel[grid](
        q,
        k,
        v,
        out,
        q.stride(1),
        q.stride(2),
        n,
        LOG2_E / head_size**0.5,
        HEAD=head_size,
        CAUSAL=causal,
        num_stages=NUM_STAGES,
        **tiles,
    )


def tensors(shape: tuple[int, ...], dtype: torch.dtype, generator: torch.Generator):
    """Random q, k, v and a poisoned output."""
    q, k, v = (torch.randn(shape, generator=generator).to(dtype) for _ in range(3))
    return q, k, v, compare.poisoned(q)


def run(size: str) -> list[compare.Race]:
    generator = torch.Generator().manual_seed(6)
    expected_of = torch.nn.functional.scaled_dot_product_attention
    # Narrow types: the queries are rounded once more after scaling and the weights once, each by
    # half of the last bit, 2**-9 or 2**-12 of the value.
    bounds = {torch.float32: 1e-5, torch.float16: 4e-3, torch.bfloat16: 3e-2}
    for dtype, atol in bounds.items():
        for shape in ((1, 2, 64, 32), (2, 1, 100, 64), (1, 1, 1, 16)):
            for causal in (False, True):
                q, k, v, out = tensors(shape, dtype, generator)
                attention(q, k, v, out, causal)
                expected = expected_of(q.double(), k.double(), v.double(), is_causal=causal)
                name = f"{str(dtype).removeprefix('torch.')} {list(shape)}"
                compare.check(f"{name} {'causal' if causal else 'full'}", out, expected, atol)

    shape = (1, 8, 1024, 64) if size == "full" else (1, 2, 128, 32)
    q, k, v, out = tensors(shape, torch.float32, generator)
    return [
        compare.race(
            f"attention {shape[1]} x {shape[2]} x {shape[3]} fp32 {'causal' if causal else 'full'}",
            lambda causal=causal: attention(q, k, v, out, causal),
            lambda causal=causal: expected_of(q, k, v, is_causal=causal),
            size,
        )
        for causal in (False, True)
    ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
