"""A promise that does not hold is reported before the launch, by every device that checks promises."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import DeviceError

SIMULATORS = ["sim:sm_80", "sim:gfx942"]


@pytest.fixture(params=["reference", *SIMULATORS, "cpu"])
def checked(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """Sends launches to a device that checks promises; gives the options that they need for it."""
    with tw.device(request.param):
        yield {"debug": True} if request.param == "cpu" else {}


@pytest.fixture(params=SIMULATORS)
def simulated(request: pytest.FixtureRequest) -> Iterator[str]:
    with tw.device(request.param):
        yield request.param


def is_reported(launch: Any, text: str = "") -> bool:
    """Whether a launch reports a false promise, at a line of this file."""
    try:
        launch()
    except DeviceError as error:
        assert error.code == "TW0603", error
        assert "test_promises.py:" in str(error)
        assert text in str(error)
        return True
    return False


@tw.jit
def of_scalar(out, x, n):
    tw.assume(n > 5)
    tw.store(out, tw.load(x) + n)


@tw.jit
def of_number(out, x, n):
    n = tw.multiple_of(n, 8)
    tw.store(out, tw.load(x) + n)


@tw.jit
def of_tile(out, x, n):
    i = tw.multiple_of(n + tw.arange(0, 8) * 8, 8)
    tw.store(out, tw.load(x) + tw.sum(i, axis=0))


@tw.jit
def of_pointer(out, x, n):
    tw.store(out, tw.load(tw.multiple_of(x + n, 32)))


@tw.jit
def in_loop(out, x, n):
    total = tw.load(x)
    for k in range(8, n + 24, 8):
        total += tw.load(x + tw.multiple_of(k + n % 8, 8))
    tw.store(out, total)


@tw.jit
def in_while(out, x, n):
    total, k = tw.load(x), n
    while k > 0:
        k -= 8
        tw.assume(k >= 0)
        total += 1
    tw.store(out, total)


@tw.jit
def in_branch(out, x, n):
    if n % 8 != 0:
        tw.assume(n < 0)
    tw.store(out, tw.load(x) + n)


@tw.jit
def of_data(out, x, n):
    v = tw.load(x + n)
    tw.store(out, tw.multiple_of(v, 8))


@tw.jit
def of_own_stores(out, x, n):
    tw.store(out + 1, tw.load(x + n) * 2)
    tw.assume(tw.load(out + 1) % 16 == 0)
    tw.store(out, 1)


@tw.jit
def unused(out, x, n):
    tw.multiple_of(n, 8)
    tw.store(out, tw.load(x))


KERNELS = [
    of_scalar, of_number, of_tile, of_pointer, in_loop, in_while, in_branch, of_data, of_own_stores, unused
]  # fmt: skip


def aligned(values: Any, dtype: Any = np.int32) -> Any:
    """A copy of the values at an address that is a multiple of 64."""
    memory = np.zeros(len(values) * np.dtype(dtype).itemsize + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + len(values) * np.dtype(dtype).itemsize].view(dtype)
    array[:] = values
    return array


@pytest.mark.parametrize("kernel", KERNELS, ids=[kernel.__name__ for kernel in KERNELS])
def test_false_promises_are_reported(kernel: Any, checked: dict[str, Any]) -> None:
    for n, is_kept in [(16, True), (3, False), (8, True), (5, False), (16, True)]:
        out, x = np.full(2, -7, np.int32), aligned(range(64))
        given = x.copy()
        assert is_reported(lambda: kernel[(1,)](out, x, n, **checked)) != is_kept, n
        np.testing.assert_array_equal(x, given)
        if is_kept:
            assert out[0] != -7
        elif tw.current_device() != "reference":
            assert (out == -7).all()


@tw.jit
def of_rows(out, x, ROW: tw.constexpr, COLUMN: tw.constexpr, n):
    offsets = tw.arange(0, 8)[:, None] * ROW + tw.arange(0, 8)[None, :] * COLUMN + n
    offsets = tw.multiple_of(offsets, [8, 8])
    tw.store(out, tw.sum(tw.load(x + offsets)))


@pytest.mark.parametrize(
    ("row", "column", "n", "is_kept"),
    [
        (8, 1, 0, True), (1, 8, 0, True), (8, 16, 8, True), (8, 1, 4, False), (1, 8, 4, False),
        (4, 1, 0, False), (8, 2, 0, False), (1, 1, 0, False),
    ],
)  # fmt: skip
def test_promises_of_both_dimensions(
    row: int, column: int, n: int, is_kept: bool, checked: dict[str, Any]
) -> None:
    """Rows of a row-major matrix begin at multiples; where runs go both ways, every run must."""
    out, x = np.zeros(1, np.int32), aligned(range(256))
    assert is_reported(lambda: of_rows[(1,)](out, x, row, column, n, **checked)) != is_kept


@tw.jit
def of_float_sum(out, x, expected):
    total = tw.sum(tw.load(x + tw.arange(0, 256)), axis=0)
    tw.assume(total == expected)
    tw.store(out, total)


def test_promises_of_what_differs_between_machines_are_not_judged(simulated: str) -> None:
    x = aligned(np.linspace(0.1, 0.7, 256) ** 3, np.float32)
    first, again = np.zeros(1, np.float32), np.zeros(1, np.float32)
    with tw.device("cpu"):
        of_float_sum[(1,)](first, x, 0.0)
    for expected in (float(first[0]), float(np.nextafter(first[0], np.float32(9)))):
        of_float_sum[(1,)](again, x, expected)
    assert again[0] == pytest.approx(first[0])


def test_no_device_but_those_looks_at_promises() -> None:
    with tw.device("cpu"):
        out = np.zeros(2, np.int32)
        of_scalar[(1,)](out, aligned(range(64)), 3)
        assert out[0] == 3


@tw.jit
def of_programs(out, n):
    p = tw.program_id(0) + 10 * tw.program_id(1)
    tw.assume(p != n)
    tw.store(out + p, 1)


def test_the_program_is_named(checked: dict[str, Any]) -> None:
    out = np.zeros(30, np.int32)
    assert not is_reported(lambda: of_programs[(10, 3)](out, 30, **checked))
    assert is_reported(lambda: of_programs[(10, 3)](out, 27, **checked), "program (7, 2, 0)")


def test_only_programs_that_run_keep_promises(simulated: str) -> None:
    out = np.zeros(30, np.int32)
    with tw.simulation.simulate(simulated, programs=[3, 20], schedule="random", seed=5):
        assert not is_reported(lambda: of_programs[(10, 3)](out, 27))
        assert is_reported(lambda: of_programs[(10, 3)](out, 20), "program (0, 2, 0)")
    assert np.flatnonzero(out).tolist() == [3, 20]


@tw.jit
def in_place(x, N: tw.constexpr):
    i = tw.arange(0, N)
    v = tw.load(x + i)
    tw.device_print("first", tw.load(x))
    tw.store(x + i, v + 1)
    tw.assume(tw.load(x) < 3)


def test_a_launch_that_keeps_its_promises_happens_once(
    simulated: str, capfd: pytest.CaptureFixture[str]
) -> None:
    x = np.zeros(64, np.int32)
    for last in (1, 2):
        in_place[(1,)](x, N=64)
        assert (x == last).all()
        assert capfd.readouterr().out.count("first") == 1
    assert is_reported(lambda: in_place[(1,)](x, N=64))
    assert (x == 2).all()
    assert capfd.readouterr().out == ""


@tw.jit
def under_lock(lock, count, most):
    while tw.atomic_cas(lock, 0, 1) == 1:
        pass
    v = tw.load(count)
    tw.assume(v < most)
    tw.store(count, v + 1)
    tw.debug_barrier()
    tw.atomic_xchg(lock, 0)


def test_promises_under_a_lock_between_programs(simulated: str) -> None:
    lock, count = np.zeros(1, np.int32), np.zeros(1, np.int32)
    assert not is_reported(lambda: under_lock[(20,)](lock, count, 20))
    assert is_reported(lambda: under_lock[(20,)](lock, count, 39), "program (19, 0, 0)")
    assert (lock[0], count[0]) == (0, 20)


@tw.jit
def waits_for_later(flag, out):
    if tw.program_id(0) == 0:
        while tw.atomic_add(flag, 0) < 3:
            pass
        tw.store(out, tw.multiple_of(tw.load(out + 1, volatile=True), 4))
    elif tw.program_id(0) == 1:
        v = tw.load(out + 2)
        tw.store(out + 1, v)
        tw.atomic_add(flag, 1)
    else:
        tw.atomic_add(flag, 1)


@pytest.mark.parametrize("together", [False, True])
def test_promises_of_programs_that_wait_for_later_ones(simulated: str, together: bool) -> None:
    for v in (4, 6):
        flag, out = np.zeros(1, np.int32), np.array([0, 0, v], np.int32)
        launch = lambda: waits_for_later[(4,)](flag, out, launch_cooperative_grid=together)  # noqa: E731
        assert is_reported(launch) == (v == 6)
        assert out.tolist() == ([4, 4, 4] if v == 4 else [0, 0, 6])


@tw.jit
def last_sums(x, parts, done, out, n):
    p = tw.program_id(0)
    tw.store(parts + p, tw.load(x + p) * 2)
    if tw.atomic_add(done, 1) == n - 1:
        total = 0
        for k in range(n):
            total += tw.load(parts + k, volatile=True)
        tw.store(out, tw.multiple_of(total, 4))


def test_promises_of_what_other_programs_stored(simulated: str) -> None:
    for v in (2, 3):
        x, parts, done, out = (np.zeros(n, np.int32) for n in (16, 16, 1, 1))
        x[5] = v
        launch = lambda: last_sums[(16,)](x, parts, done, out, 16)  # noqa: E731
        assert is_reported(launch, "6 is not a multiple of 4" if v == 3 else "") == (v == 3)
        assert out[0] == (4 if v == 2 else 0)
        assert parts.any() == done.any() == (v == 2)


@tw.jit
def of_table(table, n, N: tw.constexpr):
    y = tw.load(table).to(tw.pointer_type(tw.int32))
    i = tw.arange(0, N)
    tw.store(y + i, tw.load(y + i) + 1)
    tw.assume(tw.load(y + N - 1) == n)


def test_memory_that_is_reached_by_addresses_stays(simulated: str) -> None:
    y = np.zeros(16, np.int32)
    table = np.array([y.ctypes.data], np.int64)
    with tw.simulation.simulate(simulated, arrays=[y]):
        of_table[(1,)](table, 1, N=16)
        assert is_reported(lambda: of_table[(1,)](table, 1, N=16))
    assert (y == 1).all()


@tw.jit
def asserts_first(out, n):
    tw.device_assert(n % 8 == 0, "n is wrong")
    tw.store(out, tw.multiple_of(n, 8))


def test_an_assertion_in_front_of_a_promise_comes_first(checked: dict[str, Any]) -> None:
    out = np.zeros(1, np.int32)
    with pytest.raises(DeviceError, match="n is wrong") as caught:
        asserts_first[(1,)](out, 9, debug=True)
    assert caught.value.code == "TW0602"
    asserts_first[(1,)](out, 16, debug=True)
    assert out[0] == 16


@tw.jit
def overruns(out, n, N: tw.constexpr):
    tw.store(out + tw.arange(0, N) + n, n)
    tw.assume(tw.load(out + n) == n)


def test_what_else_is_wrong_is_the_simulators_to_report(simulated: str) -> None:
    with pytest.raises(DeviceError) as caught:
        overruns[(1,)](np.zeros(16, np.int32), 8, N=16)
    assert caught.value.code == "TW0612"


def test_compiled_kernels_keep_promises(checked: dict[str, Any]) -> None:
    out, x = np.zeros(2, np.int32), aligned(range(64))
    launched = of_number[(1,)](out, x, 8, **checked)
    warmed = of_number.warmup(out, x, 24, grid=(1,), **checked)
    for kernel in (launched, warmed):
        assert not is_reported(lambda: kernel[(1,)](out, x, 40))
        assert out[0] == 40
        assert is_reported(lambda: kernel[(1,)](out, x, 41))


def test_tuned_kernels_keep_promises(simulated: str) -> None:
    @tw.autotune([tw.Config({"N": 16}), tw.Config({"N": 32})], key=[])
    @tw.jit
    def tuned(out, n, N: tw.constexpr):
        n = tw.multiple_of(n, 8)
        i = tw.arange(0, N)
        tw.store(out + i, n, mask=i < 16)

    out = np.zeros(16, np.int32)
    tuned[(1,)](out, 8)
    assert (out == 8).all()
    assert is_reported(lambda: tuned[(1,)](out, 9))
    assert (out == 8).all()


@tw.jit
def beside_assembly(out, x, n, N: tw.constexpr):
    i = tw.arange(0, N)
    v = tw.load(x + i)
    v = tw.inline_asm_elementwise("add.s32 $0, $1, 1;", "=r,r", [v], dtype=tw.int32, is_pure=True, pack=1)
    tw.assume(tw.sum(v, axis=0) == n)
    tw.store(out + i, v, mask=i < tw.multiple_of(n, 8))


def test_promises_beside_assembly_are_checked_unless_they_depend_on_it() -> None:
    out, x = np.zeros(64, np.int32), np.zeros(64, np.int32)
    with tw.device("sim:sm_80"):
        assert not is_reported(lambda: beside_assembly[(1,)](out, x, 64, N=64))
        assert is_reported(lambda: beside_assembly[(1,)](out, x, 65, N=64), "multiple_of")
    assert (out == 1).all()


@tw.jit
def even_between_launches(x, n):
    tw.assume(tw.load(x) % 2 == 0)
    tw.store(x, tw.load(x) + 1)
    total = 0
    for k in range(n):
        total += tw.load(x + 1 + k % 8, volatile=True)
    tw.store(x + 9, total)
    tw.store(x, tw.load(x) + 1)


def test_other_launches_of_the_device_wait_while_promises_are_checked() -> None:
    x = np.zeros(16, np.int32)

    def launch(_: int) -> None:
        with tw.device("cpu"):
            even_between_launches[(1,)](x, 300_000, debug=True)

    launch(0)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(launch, range(40)))
    assert x[0] == 82
