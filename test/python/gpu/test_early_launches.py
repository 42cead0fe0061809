"""Launches that may begin before those that they depend on have ended (launch_pdl): where the code of
a kernel waits, and that the simulator finds code that does not."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.triton.language as tl
from tilewright.compile import CompiledKernel

pytestmark = pytest.mark.usefixtures("compiler")

WAIT, PERMIT = "griddepcontrol.wait;", "griddepcontrol.launch_dependents;"


@tw.jit
def scale(out, x, weights, n, FORM: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    w = tw.load(weights + i, mask=i < n)
    if FORM == "stores first":
        tw.store(out + i, w, mask=i < n)
    if FORM == "straight" or FORM == "stores first":
        tl.extra.cuda.gdc_wait()
    if FORM == "in a branch":
        if n > 100:
            tl.extra.cuda.gdc_wait()
    if FORM == "behind a return":
        if n < 100:
            return
        tl.extra.cuda.gdc_wait()
    y = tw.load(x + i, mask=i < n)
    tl.extra.cuda.gdc_launch_dependents()
    tw.store(out + i, y * w, mask=i < n)


def scaled(form: str, device: str, **options: Any) -> CompiledKernel:
    rng = np.random.default_rng(7)
    x, weights = (rng.standard_normal(200).astype(np.float32) for _ in range(2))
    out = np.full(200, np.nan, np.float32)
    with tw.device(device):
        compiled = scale[(2,)](out, x, weights, 200, FORM=form, BLOCK=128, **options)
    np.testing.assert_array_equal(out, x * weights)
    return compiled


def steps(compiled: CompiledKernel) -> list[str]:
    """The accesses of global memory and the waits, in order."""
    found = re.findall(rf"(ld\.global|st\.global|{WAIT}|{PERMIT})", compiled.asm["ptx"])
    return ["wait" if word == WAIT else "permit" if word == PERMIT else word[:2] for word in found]


def remarks(compiled: CompiledKernel) -> list[str]:
    return [remark["message"] for remark in compiled.remarks if remark["code"] == "TW0370"]


@pytest.mark.parametrize("device", ["sim:sm_90a", "sim:sm_100a", "sim:sm_120"])
def test_no_access_crosses_a_wait(device: str) -> None:
    for options in ({}, {"launch_pdl": True}):
        compiled = scaled("straight", device, **options)
        assert steps(compiled) == ["ld", "wait", "ld", "permit", "st"]
        assert compiled.resources.get("early_launch", 0) == len(options)
        assert not remarks(compiled)


def test_a_kernel_that_never_waits_does_so_at_its_start() -> None:
    compiled = scaled("", "sim:sm_90a", launch_pdl=True)
    assert steps(compiled) == ["wait", "ld", "ld", "permit", "st"]
    assert "wait" not in steps(scaled("", "sim:sm_90a")) and not remarks(compiled)


@pytest.mark.parametrize("form", ["stores first", "in a branch", "behind a return"])
def test_a_wait_that_may_come_too_late_is_made_up_for(form: str) -> None:
    compiled = scaled(form, "sim:sm_90a", launch_pdl=True)
    assert steps(compiled)[0] == "wait" and steps(compiled).count("wait") == 2
    (told,) = remarks(compiled)
    assert "all of its programs wait at their start" in told
    assert steps(scaled(form, "sim:sm_90a")).count("wait") == 1


@pytest.mark.parametrize("device", ["sim:sm_80", "sim:gfx942", "cpu", "reference"])
def test_other_devices_have_nothing_to_wait_for(device: str) -> None:
    plain, early = (scaled("straight", device, launch_pdl=pdl) for pdl in (False, True))
    assert plain.key == early.key
    for text in plain.asm.values():
        assert "griddepcontrol" not in str(text)


@tw.jit
def multiply(
    a, b, c, first, M, N: tw.constexpr, K, WAITS: tw.constexpr,
    BM: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    m, n, k = tw.arange(0, BM), tw.arange(0, N), tw.arange(0, BK)
    if WAITS == "before":
        tl.extra.cuda.gdc_wait()
    m += tw.program_id(0) * BM
    total = tw.zeros((BM, N), tw.float32)
    for start in range(0, K, BK):
        if WAITS == "inside":
            tl.extra.cuda.gdc_wait()
        x = tw.load(a + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
        total = tw.dot(x, tw.load(b + (start + k)[:, None] * N + n[None, :]), total)
    if WAITS == "behind":
        tl.extra.cuda.gdc_wait()
    tw.store(c + m[:, None] * N + n[None, :], total, mask=m[:, None] < M)


def product(waits: str, device: str = "sim:sm_90a", **options: Any) -> CompiledKernel:
    rng = np.random.default_rng(3)
    a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((100, 256), (256, 64)))
    c, first = np.full((100, 64), np.nan, np.float32), np.zeros(1, np.int32)
    with tw.device(device):
        compiled = multiply[(2,)](
            a, b, c, first, 100, 64, 256, WAITS=waits, BM=64, BK=64, num_stages=3, **options
        )
    np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    return compiled


@pytest.mark.parametrize("waits", ["", "before", "behind"])
def test_a_loader_waits_too(waits: str) -> None:
    """The simulator reports any warp that uses global memory and never waits."""
    ptx = product(waits, launch_pdl=True).asm["ptx"]
    assert ptx.count(WAIT) == 2 and "cp.async.bulk.tensor" in ptx
    if waits != "behind":  # what the loop copies is the author's there
        assert "st.global" not in ptx
        copies = [found.start() for found in re.finditer("cp.async.bulk.tensor", ptx)]
        assert all(WAIT in ptx[:at] for at in copies)


@pytest.mark.parametrize("device", ["sim:sm_90a", "sim:sm_100a"])
def test_nothing_is_copied_ahead_across_a_wait(device: str) -> None:
    compiled = product("inside", device, launch_pdl=True)
    outside, inside, behind = compiled.asm["ptx"].split(WAIT)
    assert not re.search(r"cp\.async|ld\.global", outside + inside)
    assert re.search(r"cp\.async|ld\.global", behind)
    told = [remark["message"] for remark in compiled.remarks if remark["code"] == "TW0356"]
    assert told and all("waits for the launches before" in message for message in told)


@tw.jit
def copied_by_text(out, x, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i))


def test_the_simulator_finds_code_that_does_not_wait(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of stages that a person replaces: a store before the wait, and none at all."""
    from tilewright.native import knobs

    x, out = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with tw.device("sim:sm_90a"):
        made = copied_by_text[(1,)](out, x, 64, launch_pdl=True, num_warps=1)
    ptx = made.asm["ptx"]
    late = ptx.replace(WAIT, "").replace("\tret;", f"\t{WAIT}\n\tret;")
    for text, words in ((late, "written before"), (ptx.replace(WAIT, ""), "never executes")):
        folder = tmp_path / words.split()[0]
        folder.mkdir()
        (folder / "copied_by_text.ptx").write_text(text)
        monkeypatch.setenv("TILEWRIGHT_OVERRIDE", str(folder))
        knobs.reset()
        copied_by_text._loaded.clear()  # pyright: ignore[reportPrivateUsage]
        replaced = pytest.warns(tw.TilewrightWarning, match="TW0502")
        with tw.device("sim:sm_90a"), replaced, pytest.raises(tw.DeviceError, match=words):
            copied_by_text[(1,)](out, x, 64, launch_pdl=True, num_warps=1)
    monkeypatch.delenv("TILEWRIGHT_OVERRIDE")
    knobs.reset()
