"""A wait for copies that is too weak is refused when the kernel is compiled; copies end before their memory
is used again."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import tilewright as tw
from tilewright.native import knobs

from .amd_code import compile_for, product_lines

EARLY = "may be reached while a copy into its shared memory is in flight"


@pytest.mark.parametrize("num_stages", [2, 3])
@pytest.mark.parametrize("name", ["matmul", "attention"])
@pytest.mark.parametrize(
    ("device", "arch", "nonneg"),
    [("nvidia", "sm_80", False), ("amd", "gfx950", False), ("amd", "gfx1250", False), ("amd", "gfx1250", True)],
)  # fmt: skip
def test_a_wait_for_one_group_less_is_refused(
    device: str, arch: str, nonneg: bool, name: str, num_stages: int, compiler: None, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    text = compile_for(arch, name, device=device, num_stages=num_stages, nonneg=nonneg).asm["scheduled"]
    assert ("simt.array_copy" in text) == nonneg
    waits = list(re.finditer(r"simt\.async_wait (\d+)", text))
    assert waits
    file = tmp_path / f"{name}.scheduled"
    monkeypatch.setenv("TILEWRIGHT_OVERRIDE", str(tmp_path))
    knobs.reset()
    for wait in waits:
        file.write_text(f"{text[: wait.start(1)]}{int(wait[1]) + 1}{text[wait.end(1) :]}")
        refused = pytest.raises(tw.UnsupportedError, match=EARLY)
        with pytest.warns(tw.TilewrightWarning, match="TW0502"), refused as error:
            compile_for(arch, name, device=device, num_stages=num_stages, nonneg=nonneg)
        assert error.value.code == "TW0318"


def ages_of_awaited_copies(loop: list[str]) -> list[int]:
    """Of each wait for copies in a loop, how many matrix instructions stand between it and the newest copy
    that it waits for, over the loop's end if need be."""
    often, ages = loop * 5, []
    for place, line in enumerate(often):
        wait = re.search(r"s_waitcnt.*vmcnt\((\d+)\)|s_wait_asynccnt (0x\w+)", line)
        if not wait or place < 4 * len(loop):
            continue
        copies = [at for at in range(place) if re.search(r" lds$|^global_load_async_to_lds", often[at])]
        newest = copies[-1 - int(wait[1] or wait[2], 0)]
        ages.append(sum("mfma" in each or "wmma" in each for each in often[newest:place]))
    return ages


@pytest.mark.parametrize(
    ("settings", "num_stages", "age"),
    [
        ({"BK": 32}, 2, 8), ({"BK": 64}, 2, 16), ({"BK": 32}, 3, 8), ({"BK": 64}, 3, 16), ({"BK": 64}, 4, 32),
        # Half a step of a wave that takes turns with another one, whose products run meanwhile.
        ({"BM": 256, "BN": 256, "BK": 64, "num_warps": 8}, 2, 16),
    ],
    ids=str,
)  # fmt: skip
def test_copies_have_a_step_of_products_at_least(
    settings: dict[str, int], num_stages: int, age: int, compiler: None
) -> None:
    """The fences of barriers do not wait for copies that go on beyond them."""
    compiled = compile_for("gfx950", "matmul", num_stages=num_stages, **settings)
    ages = ages_of_awaited_copies(product_lines(compiled.asm["asm"]))
    assert ages and min(ages) >= age, ages
    assert compiled.resources["scratch_bytes"] == 0


@pytest.mark.parametrize(("depth", "num_stages"), [(32, 2), (64, 2), (32, 3), (32, 4)])
def test_asynchronous_copies_of_gfx1250(depth: int, num_stages: int, compiler: None) -> None:
    """Copies have a step of products at least, take a scalar base, and stand in one branch; operands whose
    other dimension is the consecutive one are turned by their reads."""
    compiled = compile_for("gfx1250", "matmul", num_stages=num_stages, BK=depth)
    assert compiled.resources["scratch_bytes"] == 0
    lines = product_lines(compiled.asm["asm"])
    ages = ages_of_awaited_copies(lines)
    assert ages and min(ages) >= depth // 2, ages
    copies = [line for line in lines if line.startswith("global_load_async_to_lds_b128")]
    assert copies and all(re.search(r", s\[\d+:\d+\]", line) for line in copies)
    wmma = sum("v_wmma_f32_16x16x32_f16" in line for line in lines)
    assert len(copies) == wmma // 2 == sum(line.startswith("ds_load_tr16_b128") for line in lines)
    assert not [line for line in lines if "v_perm" in line]
    assert sum("cbranch" in line for line in lines) <= 4
    waits = [int(line.split()[-1], 0) for line in lines if line.startswith("s_wait_asynccnt")]
    steps = wmma * 32 // (16 * depth)
    assert max(waits) == (num_stages - 2) * len(copies) // steps


@pytest.mark.parametrize(("depth", "num_stages"), [(32, 2), (64, 2), (32, 3), (32, 4)])
def test_copies_of_arrays_of_gfx1250(depth: int, num_stages: int, compiler: None) -> None:
    """A wave copies its rows of both operands by an instruction each, with a descriptor in scalar registers; no
    address and no mask of a lane is left. Copies have a step of products at least."""
    compiled = compile_for("gfx1250", "matmul", num_stages=num_stages, BK=depth, nonneg=True)
    assert compiled.resources["scratch_bytes"] == 0
    lines = product_lines(compiled.asm["asm"])
    wmma = sum("v_wmma_f32_16x16x32_f16" in line for line in lines)
    steps = wmma * 32 // (16 * depth)
    copies = [line for line in lines if line.startswith("tensor_load_to_lds")]
    assert len(copies) == 2 * steps
    assert not [line for line in lines if line.startswith(("global_load", "v_readfirstlane", "v_cndmask", "v_cmp"))]
    waits = [int(line.split()[-1], 0) for line in lines if line.startswith("s_wait_tensorcnt")]
    assert len(waits) == steps and set(waits) == {2 * (num_stages - 2)}
    often = lines * 5
    for place in range(4 * len(lines), len(often)):
        if often[place].startswith("s_wait_tensorcnt"):
            started = [at for at in range(place) if often[at].startswith("tensor_load_to_lds")]
            newest = started[-1 - 2 * (num_stages - 2)]
            assert sum("wmma" in each for each in often[newest:place]) >= depth // 2


@pytest.mark.parametrize("num_stages", [2, 3])
@pytest.mark.parametrize("name", ["matmul", "attention"])
def test_boxes_that_are_not_awaited_are_refused(
    name: str, num_stages: int, compiler: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither products in front of the copies of their operands, nor copies in front of a release."""
    text = compile_for("sm_90a", name, device="nvidia", num_stages=num_stages).asm["scheduled"]
    waits = re.findall(r"\n *simt\.phase_await [^\n]*", text)
    copies = re.findall(r"simt\.box_copy maps \[(\d+)", text)
    assert waits and copies
    file = tmp_path / f"{name}.scheduled"
    monkeypatch.setenv("TILEWRIGHT_OVERRIDE", str(tmp_path))
    knobs.reset()
    for wait in waits:
        file.write_text(text.replace(wait, ""))
        refused = pytest.raises(tw.UnsupportedError, match=EARLY)
        with pytest.warns(tw.TilewrightWarning, match="TW0502"), refused as error:
            compile_for("sm_90a", name, device="nvidia", num_stages=num_stages)
        assert error.value.code == "TW0318"
    # A map that the module does not have.
    file.write_text(text.replace(f"simt.box_copy maps [{copies[0]}", "simt.box_copy maps [9"))
    with pytest.warns(tw.TilewrightWarning, match="TW0502"), pytest.raises(tw.CompileError, match="tensor map"):
        compile_for("sm_90a", name, device="nvidia", num_stages=num_stages)


@tw.jit
def two_products(a, b, c, out, TRIPS: tw.constexpr, N: tw.constexpr, K: tw.constexpr):
    """Stores the sum of `(A_i B_i) C_i` over the trips: matrices of N x K, K x N and N x N halves."""
    i, k = tw.arange(0, N), tw.arange(0, K)
    total = tw.zeros((N, N), tw.float32)
    for trip in range(0, TRIPS):
        x = tw.load(a + trip * N * K + i[:, None] * K + k[None, :])
        y = tw.load(b + trip * N * K + k[:, None] * N + i[None, :])
        z = tw.load(c + trip * N * N + i[:, None] * N + i[None, :])
        total = tw.dot(tw.dot(x, y).to(tw.float16), z, total)
    tw.store(out + i[:, None] * N + i[None, :], total)


@pytest.mark.parametrize("k", [32, 64])
@pytest.mark.parametrize("trips", [1, 2, 3])
@pytest.mark.parametrize("device", ["sim:sm_80", "sim:gfx950", "sim:gfx1250"])
def test_a_buffer_is_not_used_again_before_its_copies_are_done(
    device: str, trips: int, k: int, compiler: None, rng: np.random.Generator
) -> None:
    """Copies of iterations that do not exist write zeros, also where the loop was unrolled."""
    a, b, c = (rng.integers(-2, 3, (trips, *shape)).astype(np.float16) for shape in ((64, k), (k, 64), (64, 64)))
    out = np.zeros((64, 64), np.float32)
    with tw.device(device), tw.simulation.simulate(device, completion="late"):
        two_products[(1,)](a, b, c, out, TRIPS=trips, N=64, K=k, num_warps=4, num_stages=2)
    np.testing.assert_array_equal(out, ((a.astype(np.float32) @ b).astype(np.float16) @ c.astype(np.float32)).sum(0))
