"""What a kernel may ask of the machine that it is compiled for, and of the one that runs it."""

from __future__ import annotations

import numpy as np
import pytest

import tilewright as tw
import tilewright.triton.language as tl


@tw.jit
def machine(out, clocks):
    tl.extra.cuda.gdc_wait()
    if tl.target_info.is_cuda():
        tw.store(out, tl.extra.cuda.smid() + 1)
    else:
        tw.store(out, -1)
    tw.store(out + 1, tl.extra.cuda.num_threads())
    tw.store(out + 2, tl.extra.cuda.num_warps())
    tw.store(out + 3, tl.target_info.cuda_capability_geq(8) + 2 * tl.target_info.is_hip())
    tw.store(clocks, tl.extra.cuda.globaltimer())
    tl.extra.cuda.gdc_launch_dependents()
    tw.store(clocks + 1, tl.extra.cuda.globaltimer())
    target: tw.constexpr = tl.target_info.current_target()
    is_gpu: tw.constexpr = tl.target_info.is_cuda() or tl.target_info.is_hip()
    tw.static_assert(is_gpu == (target.backend in ("cuda", "hip")))


def test_questions_about_the_machine(device: str) -> None:
    out, clocks = np.full(4, -9, np.int32), np.zeros(2, np.int64)
    compiled = machine[(1,)](out, clocks, num_warps=8)
    is_cuda, is_hip = device.startswith(("sim:sm", "cuda:")), "gfx" in device or device.startswith("hip:")
    assert (out[0] >= 1) if is_cuda else out[0] == -1
    threads = 8 * (64 if "gfx9" in device else compiled.resources.get("warp_size", 32))
    assert out[1:].tolist() == [threads, 8, is_cuda + 2 * is_hip]
    assert clocks[1] >= clocks[0]


@tw.jit
def machine_of_a_maker(out):
    tw.store(out, tl.target_info.is_cuda() + 2 * tl.target_info.is_hip())
    tw.store(out + 1, tl.target_info.is_hip_cdna3() + 2 * tl.target_info.is_hip_cdna4())
    tw.store(out + 2, tl.extra.cuda.num_threads())


@pytest.mark.parametrize(
    ("name", "answers"),
    [
        ("sim:sm_80", [1, 0, 128]), ("sim:gfx942", [2, 1, 256]), ("sim:gfx950", [2, 2, 256]),
        ("sim:gfx1100", [2, 0, 128]), ("cpu", [0, 0, 128]),
    ],
)  # fmt: skip
def test_a_kernel_may_ask_whose_gpu_it_is_for(
    compiler: None, name: str, answers: list[int]
) -> None:
    out = np.full(3, -9, np.int32)
    with tw.device(name):
        machine_of_a_maker[(1,)](out, num_warps=4)
        asked = tl.target_info.is_cuda() + 2 * tl.target_info.is_hip()
    assert out.tolist() == answers and asked == answers[0]


@tw.jit
def number_of_processor(out):
    tw.store(out, tl.extra.cuda.smid())


def test_smid_is_refused_in_words_where_there_are_no_multiprocessors(compiler: None) -> None:
    with pytest.raises(tw.CompileError) as caught:
        number_of_processor[(1,)](np.zeros(1, np.int32))
    assert caught.value.code == "TW0113" and "-->" in caught.value.rendered
