"""What debug builds check: accesses outside of arrays, and what is true of all their checks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from test_debug_builds import adds
from tilewright import DeviceError

CHECKING = ("cpu", "cpu:x86-64-v3")


@pytest.fixture(params=CHECKING)
def cpu(request: pytest.FixtureRequest, compiler: None) -> str:
    if request.param not in tw.list_devices():
        pytest.skip(f"this processor does not reach {request.param}")
    return request.param


def verdict(device: str, kernel: Any, grid: tuple[int, ...], *arguments: Any, **options: Any) -> str:
    """Launch, and return the report of an access in the words that all devices share; else ""."""
    with tw.device(device):
        try:
            kernel[grid](*arguments, debug=True, sanitize_overflow=False, **options)
        except DeviceError as error:
            assert error.code == "TW0601", error
            text = error.message.replace(f"kernel {kernel.fn.__name__}, ", "")
            return text
    return ""


@tw.jit
def window(x, y, start, s0, s1, ys, rows, cols, M: tw.constexpr, N: tw.constexpr):
    i, j = tw.arange(0, M)[:, None], tw.arange(0, N)[None, :]
    inside = (i < rows) & (j < cols)
    v = tw.load(x + start + i * s0 + j * s1, mask=inside, other=0)
    tw.store(y + i * ys + j, v, mask=inside)


@tw.jit
def gathers(x, index, y, n, N: tw.constexpr):
    i = tw.arange(0, N)
    at = tw.load(index + i, mask=i < n, other=7)
    tw.store(y + i, tw.load(x + at, mask=i < n, other=0), mask=i < n)


@tw.jit
def walks(x, y, n, step, N: tw.constexpr):
    p = x + tw.arange(0, N)
    total = tw.zeros((N,), tw.float32)
    for _ in range(n):
        total += tw.load(p)
        p += step
    tw.store(y + tw.arange(0, N), total)


@tw.jit
def wraps_around(x, y, start, n, width, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(y + i, tw.load(x + (start + i) % width, mask=i < n, other=0))


@tw.jit
def chooses(x, y, out, n, first, N: tw.constexpr):
    i = tw.arange(0, N)
    p = tw.where(i < n, x + i, y + i)
    if first > 0:
        p = x + i * first
    tw.store(out + i, tw.load(p))


@tw.jit
def counts(x, y, start, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.atomic_add(x + start + i * 2, 1, mask=i % 3 == 0)
    tw.atomic_cas(y + start, 0, 1)


def random_window(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    M, N = (int(2 ** rng.integers(0, 6)) for _ in range(2))
    rows, cols = int(rng.integers(0, M + 2)), int(rng.integers(0, N + 2))
    s0, s1 = (int(v) for v in rng.choice([-N, -1, 0, 1, 2, N, N + 1], 2))
    corners = [i * s0 + j * s1 for i in (0, max(rows - 1, 0)) for j in (0, max(cols - 1, 0))]
    size = max(corners) - min(corners) + 1 + int(rng.integers(-2, 3))
    start = -min(corners) + int(rng.integers(-1, 2))
    x = np.zeros(max(size, 1), rng.choice(["int8", "int16", "float32", "float64"]))
    y = np.zeros((M + 1) * (N + 1), x.dtype)
    return window, (x, y, start, s0, s1, N + 1, rows, cols), {"M": M, "N": N}


def random_gather(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    n, size = int(rng.integers(0, 100)), int(rng.integers(8, 40))
    index = rng.integers(0, size, 128).astype(rng.choice(["int32", "int64"]))
    if rng.integers(2):
        index[rng.integers(128)] = rng.choice([-1, -5, size, size + 3])
    return gathers, (np.zeros(size, np.float32), index, np.zeros(128, np.float32), n), {"N": 128}


def random_walk(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    n, step = int(rng.integers(1, 6)), int(rng.integers(0, 40))
    size = 32 + (n - 1) * step + int(rng.integers(-1, 2))
    return walks, (np.zeros(size, np.float32), np.zeros(32, np.float32), n, step), {"N": 32}


def random_wrap(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    width, start = int(rng.integers(1, 90)), int(rng.integers(0, 200))
    n, size = int(rng.integers(0, 65)), width - int(rng.integers(0, 2))
    x, y = np.zeros(max(size, 1), np.float32), np.zeros(64, np.float32)
    return wraps_around, (x, y, start, n, width), {"N": 64}


def random_count(rng: np.random.Generator) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    start = int(rng.integers(-1, 4))
    x, y = np.zeros(31 + int(rng.integers(-2, 4)), np.int32), np.zeros(3, np.int32)
    return counts, (x, y, start), {"N": 16}


CASES = [random_window, random_gather, random_walk, random_wrap, random_count]


@pytest.mark.parametrize("case", CASES)
def test_cpu_and_reference_agree_about_accesses(
    case: Any, cpu: str, rng: np.random.Generator
) -> None:
    found = 0
    for _ in range(40):
        kernel, arguments, options = case(rng)
        expected = verdict("reference", kernel, (1,), *arguments, **options)
        said = verdict(cpu, kernel, (1,), *arguments, **options)
        assert said == expected, (arguments, options)
        found += expected != ""
    assert 0 < found < 40


def test_the_report_names_kernel_argument_element_and_line(cpu: str) -> None:
    x, y = np.zeros(60, np.float32), np.zeros((2, 64), np.float32)
    with tw.device(cpu), pytest.raises(DeviceError) as caught:
        walks[(1,)](x[10:], y, 2, 20, N=32, debug=True)
    line = walks.fn.__code__.co_firstlineno + 5
    text = caught.value.message
    assert "out-of-bounds load: element 50 of argument 'x', which holds elements -10 to 49" in text
    assert "[kernel walks, program (0, 0, 0), tile index (30)]" in text
    assert re.search(rf"\n  at .*test_debug_accesses\.py:{line}:", text), text
    with tw.device(cpu), pytest.raises(DeviceError, match="out-of-bounds store: element 31"):
        walks[(1,)](x, np.zeros(31, np.float32), 1, 0, N=32, debug=True)


@tw.jit
def takes(index, y, AXIS: tw.constexpr):
    i = tw.arange(0, 16)[:, None] * 8 + tw.arange(0, 8)[None, :]
    at = tw.load(index + i)
    tw.store(y + i, tw.gather(i, at, AXIS))


@pytest.mark.parametrize("dtype", ["int8", "int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1])
def test_indices_of_gather(axis: int, dtype: str, cpu: str, rng: np.random.Generator) -> None:
    extent = (16, 8)[axis]
    index, y = rng.integers(0, extent, (16, 8)).astype(dtype), np.zeros((16, 8), np.int32)
    i = np.arange(128, dtype=np.int32).reshape(16, 8)
    for wrong in (None, -1, extent, -128, 127):
        if wrong is not None:
            index[rng.integers(16), rng.integers(8)] = wrong
        said = []
        for device in (cpu, "reference"):
            with tw.device(device):
                try:
                    takes[(1,)](index, y, AXIS=axis, debug=True)
                    assert wrong is None
                    np.testing.assert_array_equal(y, np.take_along_axis(i, index.astype(int), axis))
                except DeviceError as error:
                    assert error.code == "TW0608" and "test_debug_accesses.py" in error.message
                    said.append(error.message.replace("kernel takes, ", ""))
        assert len(said) in (0, 2) and len(set(said)) <= 1


def test_a_pointer_of_two_arrays_may_be_in_either(cpu: str) -> None:
    x, y, out = (np.zeros(n, np.float32) for n in (8, 32, 32))
    with tw.device(cpu):
        chooses[(1,)](x, y, out, 8, 0, N=32, debug=True)
        with pytest.raises(DeviceError, match="out-of-bounds load"):
            chooses[(1,)](x, y, out, 8, 10_000_000, N=32, debug=True)


@tw.jit(debug=True)
def guarded(x, out, n):
    i = tw.program_id(0)
    tw.device_assert(i < n, "no such element")
    tw.store(out + i, tw.load(x + i * 1000000) + 1)


def test_a_program_stops_where_it_fails_and_no_later_one_begins(cpu: str) -> None:
    x, out = np.zeros(1, np.float32), np.zeros(100000, np.float32)
    with tw.device(cpu):
        for _ in range(5):
            with pytest.raises(DeviceError, match=r"no such element.*pid \(1, 0, 0\)"):
                guarded[(100000,)](x, out, 1)
            with pytest.raises(DeviceError, match=r"element 1000000 of .*program \(1, 0, 0\)"):
                guarded[(100000,)](x, out, 100000)
    assert out[0] == 1 and (out[1:] == 0).all()


@tw.jit(debug=True)
def waits_for_a_failed_one(flag, x, n):
    if tw.program_id(0) == 0:
        tw.store(x + n, 1)
        tw.atomic_xchg(flag, 1)
    else:
        while tw.atomic_add(flag, 0) == 0:
            pass


def test_programs_that_wait_for_a_failed_one_end(cpu: str) -> None:
    with tw.device(cpu), pytest.raises(DeviceError, match="element 9 of argument 'x'"):
        waits_for_a_failed_one[(64,)](np.zeros(1, np.int32), np.zeros(8, np.int32), 9)


@pytest.mark.parametrize("library", ["torch", "numpy"])
def test_empty_arrays_have_no_elements(library: str, cpu: str) -> None:
    """Those of torch have a null address, NumPy's one like any other."""
    module = pytest.importorskip(library)
    empty, y = module.zeros(0, dtype=module.float32), np.zeros(16, np.float32)
    for device in (cpu, "reference"):
        with tw.device(device), pytest.raises(DeviceError) as caught:
            walks[(1,)](empty, y, 1, 0, N=16, debug=True)
        assert caught.value.code == "TW0601"
        assert "element 0 of argument 'x'" in caught.value.message
        assert library == "torch" or "holds no element" in caught.value.message


def test_numbers_that_fit_nowhere_are_overflow_errors(device: str) -> None:
    with pytest.raises(OverflowError) as caught:
        guarded[(1,)](np.zeros(1, np.float32), np.zeros(1, np.float32), 2**64)
    assert isinstance(caught.value, tw.LaunchError) and caught.value.code == "TW0407"


def test_checks_are_part_of_the_key(compiler: None) -> None:
    signature = {"x": "*i32", "y": "*i32", "out": "*i32"}
    keys = {
        adds.compile(signature, {"N": 4}, device="cpu", **options).key
        for options in ({}, {"debug": True}, {"debug": True, "sanitize_overflow": False})
    }
    assert len(keys) == 3
    plain = adds.compile(signature, {"N": 4}, device="cpu", sanitize_overflow=False)
    assert plain.key in keys  # there is nothing to leave out


def test_a_moved_kernel_is_blamed_at_its_new_line(tmp_path: Path) -> None:
    """Checks name lines, so a debug build from the cache is one of the same lines."""
    text = "import tilewright as tw\n\n@tw.jit\ndef kernel(x, n):\n    tw.store(x + n, 1)\n"
    for number, above in enumerate(["", "\n\n\n"]):
        path = tmp_path / f"moved_{number}.py"
        path.write_text(above + text)
        scope: dict[str, Any] = {"__name__": "moved"}
        exec(compile(path.read_text(), str(path), "exec"), scope)
        with pytest.raises(DeviceError) as failure:
            scope["kernel"][(1,)](np.zeros(4, np.int32), 4, debug=True)
        assert f"{path}:{5 + len(above)}:" in str(failure.value)


@tw.jit
def add_row_of_table(out, table, row, N: tw.constexpr):
    first = tw.load(table + row).to(tw.pointer_type(tw.float32))
    i = tw.arange(0, N)
    tw.store(out + i, tw.load(first + i))


def test_addresses_in_no_array_are_out_of_bounds_on_the_reference_device(compiler: None) -> None:
    rows = [np.arange(8, dtype=np.float32), np.ones(8, np.float32)]
    table = np.array([*(row.ctypes.data for row in rows), 1 << 40], np.int64)
    out = np.zeros(8, np.float32)
    with tw.device("reference"):
        with tw.simulation.simulate("reference", arrays=rows):
            add_row_of_table[(1,)](out, table, 0, N=8)
            np.testing.assert_array_equal(out, rows[0])
            for row, count in ((2, 8), (1, 16)):
                with pytest.raises(DeviceError, match="out-of-bounds load.*\n.*test_debug_accesses.py:") as error:
                    add_row_of_table[(1,)](out, table, row, N=count)
                assert error.value.code == "TW0601"
        with pytest.raises(DeviceError, match="is in no argument's memory"):
            add_row_of_table[(1,)](out, table, 0, N=8)


def test_the_reference_device_has_two_options_of_simulations(compiler: None) -> None:
    others: list[dict[str, Any]] = [{"seed": 1}, {"schedule": "reverse"}, {"programs": [0]},
                                    {"completion": "early"}, {"max_steps_per_launch": 7}]  # fmt: skip
    for options in others:
        with pytest.raises(ValueError, match="max_steps, arrays and bounds only"):
            with tw.simulation.simulate("reference", **options):
                pass


@tw.jit
def load_at_multiple(out, x, n, N: tw.constexpr):
    i = tw.arange(0, N)
    scalar = tw.multiple_of(n, 16)
    tile = tw.multiple_of(n + i, 16)
    both = tw.multiple_of(n + i[:, None] * 16 + tw.arange(0, 4)[None, :], (1, 16))
    pointers = tw.multiple_of(x + n + i, 16)
    tw.store(out + i, tw.load(x + scalar + i) + tw.load(x + tile) + tw.load(pointers) + tw.sum(both, axis=1))


@pytest.mark.parametrize("n", [0, 16, 48, 8, -8, 1, 20])
def test_a_false_multiple_is_a_false_assumption(n: int, compiler: None) -> None:
    x = np.zeros(128, np.float32)
    x = x[(-x.ctypes.data // 4) % 16 :]
    with tw.device("reference"):
        if n % 16 == 0:
            load_at_multiple[(1,)](np.zeros(16, np.float32), x, n, N=16)
            return
        message = f"a multiple_of does not hold: {n} is not a multiple of 16.*\n.*test_debug_accesses.py:"
        with pytest.raises(DeviceError, match=message) as error:
            load_at_multiple[(1,)](np.zeros(16, np.float32), x, n, N=16)
    assert error.value.code == "TW0603"
