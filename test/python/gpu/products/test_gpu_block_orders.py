"""Loads of blocks and what else a kernel does with their arrays: stores behind them, other forms of addresses, and
numbers that no launch can have."""

from __future__ import annotations

import re

import numpy as np
import pytest
from gpu.launching import launching_on
from gpu.products.test_gpu_block_loads import SETTING, blocks, product, reasons
from gpu.products.test_gpu_boxes import described, mapped
from gpu.products.test_gpu_matmul import assert_equal, integers, launch, poisoned

import tilewright as tw

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.one_machine]
WARPS = (1, 2, 4, 8)


@tw.jit
def stored_behind(a, b, c, flag, FORM: tw.constexpr, S: tw.constexpr, BK: tw.constexpr):
    """A product of S x S elements that takes the place of an operand."""
    m, n, k = tw.arange(0, S)[:, None], tw.arange(0, S)[None, :], tw.arange(0, BK)
    total = tw.zeros((S, S), tw.float32)
    for start in range(0, S, BK):
        x = tw.load(a + m * S + start + k[None, :])
        total = tw.dot(x, tw.load(b + (start + k[:, None]) * S + n), total)
    if FORM == "left":
        tw.store(a + m * S + n, total.to(tw.float16))
    elif FORM == "right":
        tw.store(b + m * S + n, total.to(tw.float16))
    elif FORM == "branch":
        if flag > 0:
            tw.store(a + m * S + n, total.to(tw.float16))
    elif FORM == "added":
        tw.atomic_add(a + m * S + n, total.to(tw.float16))
    else:
        tw.store(c + m * S + n, total.to(tw.float16))


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("form", ["left", "right", "branch", "added", "same"])
@pytest.mark.parametrize("row", ["xe2", "xe-hpc"])
def test_stores_wait_for_what_other_warps_load(row: str, form: str, warps: int, rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 64, 64, size=2), integers(rng, 64, 64, size=2), poisoned(64, 64, dtype=torch.float16)
    before, expected = a.double(), a.double() @ b.double()
    with launching_on(f"sim:{row}"):
        compiled = launch(
            stored_behind, (1,), a, b, a if form == "same" else c, 1, FORM=form, S=64, BK=32, setting=(warps, 2, "late")
        )
    assert_equal(b if form == "right" else a, expected + before if form == "added" else expected)
    assert mapped(compiled) == {"0", "1"}


def test_barriers_order_global_memory_only_where_arrays_may_meet() -> None:
    signature = {"a": "*fp16:16", "b": "*fp16:16", "c": "*fp16:16", "flag": "i32"}
    orders = {}
    for form in ("left", "other"):
        compiled = stored_behind.compile(signature, {"FORM": form, "S": 64, "BK": 32}, device="spirv:xe2", num_warps=4)
        barriers = re.findall(r"ControlBarrieriii\(i32 \d, i32 \d, i32 (\d+)\)", compiled.asm["llvm"])
        orders[form] = {bool(int(semantics) & 0x200) for semantics in barriers}
    assert orders == {"left": {True}, "other": {False}}


@tw.jit
def attention_in_place(q, k, v, S: tw.constexpr):
    m, n = tw.arange(0, S)[:, None], tw.arange(0, S)[None, :]
    score = tw.dot(tw.load(q + m * S + n), tw.load(k + m * S + n).T)
    tw.store(q + m * S + n, tw.dot(score.to(tw.float16), tw.load(v + m * S + n)).to(tw.float16))


@tw.jit
def loaded_again(a, b, c, S: tw.constexpr):
    """The next product reads what was stored, and is stored in its place."""
    m, n = tw.arange(0, S)[:, None], tw.arange(0, S)[None, :]
    y = tw.load(b + m * S + n)
    tw.store(c + m * S + n, tw.dot(tw.load(a + m * S + n), y).to(tw.float16))
    z = tw.dot(tw.load(c + m * S + n), y)
    tw.store(c + m * S + n, z.to(tw.float16))


@pytest.mark.parametrize("warps", WARPS)
def test_results_in_place_of_operands(warps: int, rng: np.random.Generator) -> None:
    q, k, v, c = (integers(rng, 32, 32, size=1) for _ in range(4))
    attended, again = (q.double() @ k.double().T).half().double() @ v.double(), q.double() @ k.double() @ k.double()
    with launching_on("sim:xe2"):
        launch(loaded_again, (1,), q, k, c, S=32, setting=(warps, 2, "late"))
        launch(attention_in_place, (1,), q, k, v, S=32, setting=(warps, 2, "late"))
    assert_equal(c, again)
    assert_equal(q, attended)


@tw.jit
def by_itself(x, out, FORM: tw.constexpr, S: tw.constexpr):
    m, n = tw.arange(0, S)[:, None], tw.arange(0, S)[None, :]
    tile = tw.load(x + m * S + n)
    if FORM == "transposed":
        tw.store(out + m * S + n, tw.dot(tile, tile.T))
    elif FORM == "transposed twice":
        tw.store(out + m * S + n, tw.dot(tile.T.T, tile))
    else:
        tw.store(out + m * S + n, tw.dot(tile, tile))


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("form", ["plain", "transposed", "transposed twice"])
def test_one_tile_as_both_operands(form: str, warps: int, rng: np.random.Generator) -> None:
    x, out = integers(rng, 64, 64), poisoned(64, 64)
    with launching_on("sim:xe2"):
        compiled = launch(by_itself, (1,), x, out, FORM=form, S=64, setting=(warps, 2, "late"))
    assert_equal(out, x.double() @ (x.T if form == "transposed" else x).double())
    assert mapped(compiled) == {"0"}


@pytest.mark.parametrize("form", ["descriptors", "constant stride", "block pointers"])
def test_descriptors_and_block_pointers(form: str, rng: np.random.Generator) -> None:
    M, N, K = 80, 48, 112
    a, b, c = integers(rng, M, K), integers(rng, K, N), poisoned(M, N)
    with launching_on("sim:xe2"):
        compiled = launch(
            described, (2, 2), a, b, c, M, N, K, FORM=form, ROW=K, BM=64, BN=32, BK=32, setting=SETTING
        )
    assert_equal(c, a.double() @ b.double())
    assert mapped(compiled) == {"0", "1"}


@tw.jit
def of_bytes(a, b, c, M: tw.int8, N: tw.int16, S: tw.constexpr):
    m, n = tw.arange(0, S)[:, None], tw.arange(0, S)[None, :]
    x = tw.load(a + m * S + n, m < M, other=0)
    tw.store(c + m * S + n, tw.dot(x, tw.load(b + m * S + n, n < N, other=0)))


@pytest.mark.parametrize("device", ["sim:xe2", "sim:sm_90a"])
def test_extents_of_few_bits(device: str, rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 64, 64), integers(rng, 64, 64), poisoned(64, 64)
    with launching_on(device):
        launch(of_bytes, (1,), a, b, c, 40, 36, S=64, setting=SETTING)
    inside = torch.arange(64)
    left, right = (inside[:, None] < 40) * a.double(), b.double() * (inside[None, :] < 36)
    assert_equal(c, left @ right)


@tw.jit
def mixed(a, b, c, S: tw.constexpr):
    m, n = tw.arange(0, S)[:, None], tw.arange(0, S)[None, :]
    tw.store(c + m * S + n, tw.dot(tw.load(a + m * S + n), tw.load(b + m * S + n)))


@pytest.mark.parametrize("types", ["int8 uint8", "uint8 int8", "uint8 uint8"])
def test_bytes_with_and_without_signs(types: str, rng: np.random.Generator) -> None:
    a, b = (
        torch.from_numpy(rng.integers(np.iinfo(name).min, np.iinfo(name).max + 1, (64, 64)).astype(name)).clone()
        for name in types.split()
    )
    c = poisoned(64, 64, dtype=torch.int32)
    with launching_on("sim:xe2"):
        compiled = launch(mixed, (1,), a, b, c, S=64, setting=SETTING)
    assert_equal(c, a.double() @ b.double())
    assert mapped(compiled) == {"0", "1"}


@tw.jit
def constant(a, b, c, PITCH: tw.constexpr, LIMIT: tw.constexpr, S: tw.constexpr):
    m, n = tw.arange(0, S)[:, None], tw.arange(0, S)[None, :]
    x = tw.load(a + m * PITCH + n, (n < LIMIT) & (m < S), other=0.0)
    tw.store(c + m * S + n, tw.dot(x, tw.load(b + m * S + n)))


@pytest.mark.parametrize(
    ("pitch", "limit", "reason"),
    [
        (64, 64, None), (72, 64, None), (64, 33, "fewer than 64 bytes, or not a multiple of 4"),
        (64, 16, "fewer than 64 bytes, or not a multiple of 4"), (48, 64, "rows of its array overlap"),
    ],
)  # fmt: skip
def test_constants_are_judged_before_a_launch(
    pitch: int, limit: int, reason: str | None, rng: np.random.Generator
) -> None:
    a, b, c = integers(rng, 64 * 80), integers(rng, 64, 64), poisoned(64, 64)
    with launching_on("sim:xe2"):
        compiled = launch(constant, (1,), a, b, c, PITCH=pitch, LIMIT=limit, S=64, setting=SETTING)
    left = a.double().as_strided((64, 64), (pitch, 1)) * (torch.arange(64)[None, :] < limit)
    assert_equal(c, left @ b.double())
    assert mapped(compiled) == ({"1"} if reason else {"0", "1"})
    assert compiled.request.options.tensor_maps
    assert any(reason in text for text in reasons(compiled)) if reason else not reasons(compiled)


@pytest.mark.parametrize("warps", WARPS)
@pytest.mark.parametrize("stages", [1, 3, 4])
def test_warps_and_stages(warps: int, stages: int, rng: np.random.Generator) -> None:
    compiled = product(rng, "xe2", torch.float16, (80, 48, 112), warps=warps, num_stages=stages)
    assert blocks(compiled)["plain"] > 0
