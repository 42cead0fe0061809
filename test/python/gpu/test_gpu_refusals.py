"""Mistakes in kernels and launches on GPUs are refused with a code, at the user's line, by name."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from gpu.launching import poisoned

import tilewright as tw

SIM = "sim:sm_80"


@pytest.fixture(autouse=True)
def simulator(compiler: None) -> Iterator[None]:
    with tw.device(SIM):
        yield


def line_of(kernel: Any, text: str) -> int:
    """The line of this file where a kernel's source has the text."""
    import inspect

    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def finding(kernel: Any, text: str, *said: str) -> None:
    """The last launch was found wrong, and nothing else: here, in these words."""
    reported = tw.simulation.last_report().findings
    assert len(reported) == 1
    assert reported[0]["source_line"] == line_of(kernel, text), reported
    for words in said:
        assert words in str(reported[0]), reported


@tw.jit
def copy(x, y, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(y + i, tw.load(x + i, mask=i < n), mask=i < n)


def zeros(n: int, dtype: Any = np.float32) -> np.ndarray:
    return np.zeros(n, dtype)


@tw.jit
def picked(x, y, N: tw.constexpr):
    """The source of a gather lies in shared memory whole."""
    i = tw.arange(0, N)
    tile = tw.load(x + i[:, None] * N + i[None, :])
    rows = tw.broadcast_to(N - 1 - i[:, None], (N, N))
    tw.store(y + i[:, None] * N + i[None, :], tw.gather(tile, rows, 0))


@pytest.mark.parametrize(("arch", "limit"), [("sm_80", 166912), ("sm_86", 101376)])
def test_shared_memory_over_the_limit_names_what_fits(arch: str, limit: int) -> None:
    with pytest.raises(tw.UnsupportedError) as caught:
        picked.compile({"x": "*fp32", "y": "*fp32"}, {"N": 512}, device=f"nvidia:{arch}")
    text = str(caught.value)
    assert caught.value.code == "TW0311"
    assert "1048576 bytes" in text and str(limit) in text and "f32[512, 512]" in text
    assert f"{__file__}:{line_of(picked, 'tw.gather')}" in text
    # The setting that it names does fit.
    fits = int(re.search(r"gives f32\[(\d+), \d+\]", text)[1])
    assert picked.compile(
        {"x": "*fp32", "y": "*fp32"}, {"N": fits}, device=f"nvidia:{arch}"
    ).shared <= limit  # fmt: skip


@pytest.mark.parametrize(
    ("grid", "said"),
    [
        ((-1,), "negative"),
        ((1, -4), "negative"),
        ((2**31,), "too large"),
        ((1, 70000), "65535"),
        ((1, 1, 65536), "65535"),
        ((1, 2, 3, 4), "one to three"),
        ((), "one to three"),
        (1.5, "integers"),
        (("a",), "integers"),
        ("xyz", "integers"),
        (None, "integers"),
        (lambda meta: meta["n"] / 2, "integers"),
    ],
)
def test_illegal_grids(grid: Any, said: str) -> None:
    with pytest.raises(tw.LaunchError, match=said) as caught:
        copy[grid](zeros(4), zeros(4), 4, BLOCK=4)
    assert caught.value.code == "TW0402"


@pytest.mark.parametrize("grid", [(0,), (4, 0), (2, 3, 0), lambda meta: (meta["n"] // 5,)])
def test_an_empty_grid_does_nothing(grid: Any) -> None:
    y = poisoned(4)
    copy[grid](zeros(4), y, 4, BLOCK=4)
    assert np.isnan(y).all()


@pytest.mark.parametrize("num_warps", [3, 0, -1, 2.5, "4", None])
def test_impossible_numbers_of_warps(num_warps: Any) -> None:
    with pytest.raises(tw.LaunchError, match="num_warps") as caught:
        copy[(1,)](zeros(4), zeros(4), 4, BLOCK=4, num_warps=num_warps)
    assert caught.value.code == "TW0410"


def test_more_warps_than_the_machine_has() -> None:
    """A power of two, which only the machine can refuse; autotuners take it for out of resources."""
    with pytest.raises(tw.TilewrightError, match="cannot have 64 warps") as caught:
        copy[(1,)](zeros(4), zeros(4), 4, BLOCK=4, num_warps=64)
    assert caught.value.code == "TW0313"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("sim:sm_81", "sim:sm_8"), ("nvidia:sm90", "nvidia:sm_90a"), ("sim:sm_90", "sim:sm_90a"),
        ("nvidia:sm_100", "nvidia:sm_100a"), ("CPU", "'cpu'"), ("SIM:SM_80", "sim:sm_80"),
        ("metal", "there are"), ("opencl", "opencl:0"), ("hip:00", "hip:0"),
    ],
)  # fmt: skip
def test_unknown_architectures(name: str, hint: str) -> None:
    with pytest.raises(tw.LaunchError) as caught:
        with tw.device(name):
            pass
    assert caught.value.code == "TW0401"
    assert hint in str(caught.value) and repr(name) in str(caught.value)


def test_a_target_that_runs_nothing() -> None:
    with tw.device("nvidia:sm_80"), pytest.raises(tw.DeviceError, match="sim:sm_80") as caught:
        copy[(1,)](zeros(4), zeros(4), 4, BLOCK=4)
    assert caught.value.code == "TW0613"


@tw.jit
def unmasked_load(first, second, y, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    value = tw.load(second + i)
    tw.store(y + i, value + tw.load(first + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("num_warps", [1, 4])
def test_reading_past_the_end_names_the_argument(num_warps: int) -> None:
    with pytest.raises(tw.DeviceError, match="`second`") as caught:
        unmasked_load[(1,)](
            zeros(60), zeros(60), zeros(60), 60, BLOCK=64, num_warps=num_warps
        )  # fmt: skip
    assert caught.value.code == "TW0612"
    finding(unmasked_load, "second + i", "out-of-bounds-global", "second")


@tw.jit
def before_the_start(y, BLOCK: tw.constexpr):
    tw.store(y + tw.arange(0, BLOCK) - 1, 1.0)


def test_writing_before_the_start() -> None:
    with pytest.raises(tw.DeviceError, match="`y`"):
        before_the_start[(1,)](zeros(64), BLOCK=64)
    finding(before_the_start, "tw.store", "out-of-bounds-global")


@tw.jit
def pairs_collide(x, y, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(y + i // 2, tw.load(x + i))


@tw.jit
def warps_collide(x, y, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(y + i % 32, tw.load(x + i))


@pytest.mark.parametrize("kernel", [pairs_collide, warps_collide])
def test_two_elements_stored_to_one_place(kernel: Any, rng: np.random.Generator) -> None:
    with pytest.raises(tw.DeviceError, match="race"):
        kernel[(1,)](rng.random(128, np.float32), zeros(128), BLOCK=128)
    finding(kernel, "tw.store", "race-waw", "y")


@tw.jit
def programs_collide(total):
    tw.store(total, tw.load(total) + tw.program_id(0))


@tw.jit
def neighbours(x, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(x + i, tw.load(x + i + 1) + 1)


def test_programs_that_race_with_each_other() -> None:
    with pytest.raises(tw.DeviceError, match="race"):
        programs_collide[(4,)](zeros(1))
    with pytest.raises(tw.DeviceError, match="race"):
        neighbours[(2,)](zeros(257), BLOCK=128)


@tw.jit
def reversed_in_place(x, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(x + (BLOCK - 1 - i), tw.load(x + i))
    again = tw.load(x + i)
    tw.store(x + i, again + 1)


@pytest.mark.parametrize("num_warps", [1, 2, 4, 8])
def test_a_program_sees_what_its_other_lanes_stored(
    num_warps: int, rng: np.random.Generator
) -> None:
    x = rng.random(128, np.float32)
    expected = x[::-1] + 1
    reversed_in_place[(1,)](x, BLOCK=128, num_warps=num_warps)
    np.testing.assert_array_equal(x, expected)


@tw.jit
def publish(x, flag):
    if tw.program_id(0) == 0:
        tw.store(x, 5.0)
        tw.atomic_xchg(flag, 1, sem="release")
    else:
        while tw.load(flag, volatile=True) == 0:
            pass
        tw.store(x + 1, 1.0)


@tw.jit
def wait_for(flag):
    while tw.load(flag, volatile=True) == 0:
        pass


def test_waiting_for_a_volatile_load_is_not_left_out() -> None:
    x = zeros(2)
    publish[(2,)](x, zeros(1, np.int32))
    assert x.tolist() == [5, 1]
    signature, wait = {"flag": "*i32"}, r"ld\.volatile|ld\.relaxed|ld\.mmio"
    for arch in ("sm_80", "sm_90a"):
        text = wait_for.compile(signature, device=f"nvidia:{arch}").asm["ptx"]
        assert re.search(wait, text) and re.search(r"@%p\d+ bra", text)


@tw.jit(debug=True)
def checked(x, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.device_assert(i < n, "index too large")
    tw.store(x + i, 1.0)


def test_failed_assertions_say_where() -> None:
    with pytest.raises(tw.DeviceError, match="index too large") as caught:
        checked[(1,)](zeros(64), 60, BLOCK=64)
    assert caught.value.code == "TW0602"
    assert f"{__file__}:{line_of(checked, 'device_assert')}" in str(caught.value)
    checked[(1,)](zeros(64), 64, BLOCK=64)


@tw.jit
def atomic(x, value, OP: tw.constexpr):
    OP(x, value)


@pytest.mark.parametrize(
    ("op", "dtype"),
    [
        (tw.atomic_add, np.int8), (tw.atomic_add, bool), (tw.atomic_and, np.float32),
        (tw.atomic_max, np.float16), (tw.atomic_xchg, np.int16),
    ],
)  # fmt: skip
def test_atomics_that_do_not_exist(op: Any, dtype: Any) -> None:
    with pytest.raises(tw.CompileError, match="it takes") as caught:
        atomic[(1,)](zeros(4, dtype), 1, OP=op)
    assert caught.value.code == "TW0215"


def test_arrays_that_cannot_be_written_or_read() -> None:
    fixed = zeros(4)
    fixed.flags.writeable = False
    copy[(1,)](fixed, zeros(4), 4, BLOCK=4)
    with pytest.raises(tw.LaunchError, match="read-only") as caught:
        copy[(1,)](zeros(4), fixed, 4, BLOCK=4)
    assert caught.value.code == "TW0403"
    with pytest.raises(tw.LaunchError, match="complex64") as caught:
        copy[(1,)](zeros(4, np.complex64), zeros(4), 4, BLOCK=4)
    assert caught.value.code == "TW0406"


def test_arrays_without_elements() -> None:
    copy[(1,)](zeros(0), zeros(0), 0, BLOCK=16)
    with pytest.raises(tw.DeviceError, match="out-of-bounds"):
        copy[(1,)](zeros(0), zeros(0), 1, BLOCK=16)


def test_overlapping_arrays_keep_their_meaning(rng: np.random.Generator) -> None:
    memory = rng.random(300, np.float32)
    expected = memory[:200].copy()
    copy[(1,)](memory[:200], memory[100:], 200, BLOCK=256)
    np.testing.assert_array_equal(memory[100:], expected)


@pytest.mark.parametrize("value", [2**64, -(2**63) - 1])
def test_integers_of_more_than_64_bits(value: int) -> None:
    with pytest.raises(tw.LaunchError, match="64 bits") as caught:
        copy[(1,)](zeros(4), zeros(4), value, BLOCK=4)
    assert caught.value.code == "TW0407"


@tw.jit
def number(out):
    tw.store(out + tw.program_id(0), tw.program_id(0))


def test_some_programs_of_a_large_grid() -> None:
    out = np.full(1 << 20, -1, np.int32)
    with tw.simulation.simulate(SIM, programs=[0, 5, (1 << 20) - 1]):
        number[(1 << 20,)](out)
    assert np.flatnonzero(out >= 0).tolist() == [0, 5, (1 << 20) - 1]
    with pytest.raises(ValueError, match="-1"):
        with tw.simulation.simulate(SIM, programs=[-1]):
            pass
    with pytest.raises(ValueError, match="round-robin"):
        with tw.simulation.simulate(SIM, schedule="fast"):
            pass


def test_nan_reaches_the_result_and_integers_take_it_as_zero() -> None:
    x, y = np.array([np.nan, 1, np.inf, -np.inf], np.float32), poisoned(4)
    copy[(1,)](x, y, 4, BLOCK=4)
    np.testing.assert_array_equal(x, y)
    whole = poisoned(4, dtype=np.int32)
    copy[(1,)](x, whole, 4, BLOCK=4)
    assert whole.tolist() == [0, 1, 2**31 - 1, -(2**31)]


@pytest.mark.parametrize("size", [1 << 17, 1 << 20])
def test_a_tile_beyond_all_registers_is_refused_at_once(size: int) -> None:
    with pytest.raises(tw.UnsupportedError, match=f"a tile of {size} elements") as caught:
        copy[(1,)](zeros(4), zeros(4), 4, BLOCK=size)
    assert caught.value.code == "TW0312"
    assert "the largest is of 65536" in str(caught.value)
    assert f"{__file__}:{line_of(copy, 'tw.arange')}" in str(caught.value)


@tw.jit
def folded(n, N: tw.constexpr):
    total = tw.zeros((N,), tw.int32)
    for _ in range(n):
        total += tw.zeros((N,), tw.int32) + 1 + tw.full((N,), 3, tw.int32)
    tw.device_print("total", tw.sum(total))


@pytest.mark.parametrize("extent", [300_000, 1 << 19])
def test_constants_made_by_folding_have_a_place(extent: int) -> None:
    with pytest.raises(tw.UnsupportedError) as caught:
        folded.compile({"n": "i32"}, {"N": extent}, device="nvidia:sm_80")
    assert caught.value.code == "TW0312"
    first = folded.fn.__code__.co_firstlineno
    lines = [f"test_gpu_refusals.py:{line}:" for line in range(first + 2, first + 6)]
    assert any(line in caught.value.rendered for line in lines), caught.value.rendered
