"""What debug builds check: integers that leave their type, and accesses outside of arrays."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from numpy.typing import NDArray
from tilewright import DeviceError

Array = NDArray[Any]


@tw.jit
def adds(x, y, out, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.load(x + i) + tw.load(y + i))


@tw.jit
def subtracts(x, y, out, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.load(x + i) - tw.load(y + i))


@tw.jit
def multiplies(x, y, out, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.load(x + i) * tw.load(y + i))


EXACT = {adds: lambda a, b: a + b, subtracts: lambda a, b: a - b, multiplies: lambda a, b: a * b}
NAMES = {adds: "add", subtracts: "sub", multiplies: "mul"}
SIGNS = {adds: "+", subtracts: "-", multiplies: "*"}


def on_gpu(device: str) -> bool:
    return device.startswith("cuda:")  # a failure there ends the process's use of the GPU


def interesting(dtype: np.dtype[Any], rng: np.random.Generator, count: int) -> list[int]:
    bounds = np.iinfo(dtype)
    root = 1 << (dtype.itemsize * 4)
    edges = [bounds.min, bounds.min + 1, -1, 0, 1, 2, root - 1, root, bounds.max - 1, bounds.max]
    values = [*edges, *(int(v) for v in rng.integers(bounds.min, bounds.max, count, dtype))]
    return [value for value in values if bounds.min <= value <= bounds.max]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32"])
@pytest.mark.parametrize("kernel", list(EXACT), ids=list(NAMES.values()))
def test_results_that_leave_the_type_are_found(
    kernel: Any, dtype: str, device: str, rng: np.random.Generator
) -> None:
    if on_gpu(device):
        pytest.skip("a failed assertion ends the process's use of the GPU")
    kind = np.dtype(dtype)
    bounds = np.iinfo(kind)
    values = interesting(kind, rng, 4)
    pairs = [(a, b) for a in values for b in values]
    fits = [bounds.min <= EXACT[kernel](a, b) <= bounds.max for a, b in pairs]
    good = [pair for pair, fit in zip(pairs, fits) if fit]
    good += [(0, 0)] * (256 - len(good))
    x, y = (np.array(side, kind) for side in zip(*good))
    out = np.zeros(256, kind)
    kernel[(1,)](x, y, out, N=256, debug=True)
    np.testing.assert_array_equal(out, [EXACT[kernel](a, b) for a, b in good])
    bad = [pair for pair, fit in zip(pairs, fits) if not fit]
    for a, b in rng.permutation(np.array(bad, object), axis=0)[:6]:
        place = int(rng.integers(256))
        wrong_x, wrong_y = x.copy(), y.copy()
        wrong_x[place], wrong_y[place] = a, b
        text = f"int{kind.itemsize * 8} overflow detected for operation {NAMES[kernel]}"
        with pytest.raises(DeviceError, match=rf"{text}.*\({place}\)") as caught:
            kernel[(1,)](wrong_x, wrong_y, out, N=256, debug=True)
        assert "test_debug_builds.py" in str(caught.value)
        assert f"{text}: {int(a)} {SIGNS[kernel]} {int(b)} " in str(caught.value)


@tw.jit(debug=True)
def table(x, out, n, M: tw.constexpr, N: tw.constexpr):
    i, j = tw.arange(0, M)[:, None], tw.arange(0, N)[None, :]
    v = tw.load(x + i * N + j)
    tw.store(out + i * N + j, (v * n).to(tw.int32) - tw.sum(v, axis=1)[:, None])


@pytest.mark.parametrize("shape", [(4, 8), (6, 40), (1, 1), (128, 64)])
def test_the_operands_shown_are_those_of_the_first_element_that_fails(
    shape: tuple[int, int], device: str, rng: np.random.Generator
) -> None:
    if on_gpu(device):
        pytest.skip("a failed assertion ends the process's use of the GPU")
    x = rng.integers(-100, 100, shape, np.int16)
    out = np.zeros(shape, np.int32)
    table[(1,)](x, out, 1 << 20, *shape)
    np.testing.assert_array_equal(out, (x.astype(np.int64) << 20) - x.sum(1, dtype=np.int64)[:, None])
    if shape == (1, 1):
        wrong = [(0, 0)]
    else:
        places = rng.choice(x.size, 3, replace=False)
        wrong = sorted((int(k // shape[1]), int(k % shape[1])) for k in places)
    values = [int(v) for v in rng.choice([-30001, 2999, 31000], len(wrong), replace=False)]
    for place, value in zip(wrong, values):
        x[place] = value
    with pytest.raises(DeviceError) as caught:
        table[(1,)](x, out, 1 << 20, *shape)
    text = "int32 overflow detected for operation mul: "
    shown = [f"{text}{value} * {1 << 20} " in str(caught.value) for value in values]
    # Threads of a GPU look at their own elements: which of several comes first is theirs to decide.
    assert shown[0] or (device.startswith("sim:") and any(shown)), str(caught.value)
    place = wrong[shown.index(True)]
    assert f"({place[0]}, {place[1]})" in str(caught.value)


def test_unsigned_operands_are_shown_without_a_sign(device: str) -> None:
    if on_gpu(device):
        pytest.skip("a failed assertion ends the process's use of the GPU")
    x, out = np.array([1, 2, 3, 4], np.uint32), np.zeros(4, np.uint32)
    with pytest.raises(DeviceError, match=r"int32 overflow detected for operation add: 4294967294 \+ 3 .*\(2\)"):
        adds[(1,)](np.full(4, 2**32 - 2, np.uint32) - np.array([9, 9, 0, 0], np.uint32), x, out, N=4, debug=True)


def test_without_debug_and_where_it_is_meant_integers_wrap(device: str) -> None:
    x, out = np.full(4, 2**31 - 1, np.int32), np.zeros(4, np.int32)
    adds[(1,)](x, x, out, N=4)
    assert (out == -2).all()
    out[:] = 0
    adds[(1,)](x, x, out, N=4, debug=True, sanitize_overflow=False)
    assert (out == -2).all()

    @tw.jit
    def meant(x, out):
        i = tw.arange(0, 4)
        v = tw.load(x + i)
        total = tw.add(v, v, sanitize_overflow=False)
        total = tw.mul(total, 3, sanitize_overflow=False)
        tw.store(out + i, tw.sub(-2147483647, total, sanitize_overflow=False))

    meant[(1,)](x, out, debug=True)
    assert (out == -2147483641).all()


def test_64_bits_floats_and_pointers_are_not_looked_at(device: str) -> None:
    x, out = np.full(4, 2**63 - 1, np.int64), np.zeros(4, np.int64)
    adds[(1,)](x, x, out, N=4, debug=True)
    assert (out == -2).all()
    f, g = np.full(4, 3e38, np.float32), np.zeros(4, np.float32)
    adds[(1,)](f, f, g, N=4, debug=True)
    assert np.isinf(g).all()


OTHERS = {
    "-v": ("sub", -(2**31)),
    "v ** 3": ("mul", 1291),
    "v + 1": ("add", 2**31 - 1),
    "v * n": ("mul", 2**30),
    "tw.cdiv(v, 64)": ("add", 2**31 - 63),
}


@pytest.mark.parametrize("text", list(OTHERS))
def test_other_operations_that_overflow(text: str, device: str) -> None:
    if on_gpu(device):
        pytest.skip("a failed assertion ends the process's use of the GPU")
    name, worst = OTHERS[text]
    scope: dict[str, Any] = {"tw": tw}
    source = f"def kernel(x, out, n):\n    v = tw.load(x)\n    tw.store(out, {text})\n"
    exec(source, scope)
    kernel = tw.jit(scope["kernel"], debug=True)
    out = np.zeros(1, np.int32)
    step = 1 if worst > 0 else -1
    kernel[(1,)](np.array([worst - step], np.int32), out, 2)
    expected = eval(text, {"tw": tw, "v": worst - step, "n": 2})
    assert out[0] == expected
    with pytest.raises(DeviceError, match=f"int32 overflow detected for operation {name}"):
        kernel[(1,)](np.array([worst], np.int32), out, 2)


@tw.jit(debug=True)
def library(out, n, N: tw.constexpr):
    i = tw.arange(0, N)
    total = tw.sum(i * n, axis=0) + tw.max(i, axis=0)
    noise = tw.rand(total, i) + tw.randn(2**31 - 1, i)
    tw.store(out + i, tw.sort(noise) + tw.cumsum(i, axis=0))


def test_the_librarys_own_arithmetic_may_wrap(device: str) -> None:
    out = np.zeros(64, np.float32)
    library[(1,)](out, 5, N=64)
    assert np.isfinite(out).all()


@tw.jit(debug=True)
def sums(x, out, running, N: tw.constexpr):
    i = tw.arange(0, N)
    v = tw.load(x + i)
    tw.store(out, tw.sum(v, axis=0))
    tw.store(running + i, tw.cumsum(v, axis=0))


@pytest.mark.parametrize("dtype", ["int32", "uint32", "int16"])
def test_sums_that_leave_the_type_are_found(dtype: str, device: str) -> None:
    kind = np.dtype(dtype)
    wide = np.dtype("uint32" if dtype == "uint32" else "int32")
    x = np.full(64, np.iinfo(wide).max // 64 if kind.itemsize == 4 else 32767, kind)
    out, running = np.zeros(1, wide), np.zeros(64, wide)
    sums[(1,)](x, out, running, N=64)
    assert out[0] == x.sum(dtype=np.int64)
    np.testing.assert_array_equal(running, np.cumsum(x, dtype=np.int64))
    if on_gpu(device) or kind.itemsize < 4:
        return  # 64 of 16 bits fit
    x[7] += 64
    with pytest.raises(DeviceError, match="int32 overflow detected for operation add"):
        sums[(1,)](x, out, running, N=64)


@tw.jit
def added(a, b):
    return a + b


@tw.jit
def largest_with_sum(a, a_sum, b, b_sum):
    return tw.maximum(a, b), a_sum * b_sum


@tw.jit
def tripled_or_less(a):
    if a > 0:
        result = a * 3
    else:
        result = a - 10
    return result


@tw.jit(debug=True)
def folded(x, out, running, KIND: tw.constexpr, N: tw.constexpr):
    i = tw.arange(0, N)
    v = tw.load(x + i)
    if KIND == "reduce":
        tw.store(out, tw.reduce(v, 0, added))
    elif KIND == "kept":
        tw.store(out + i[:1], tw.reduce(v, 0, added, keep_dims=True))
    elif KIND == "pairs":
        tw.store(out, tw.reduce((v, v), 0, largest_with_sum)[1])
    elif KIND == "scan":
        tw.store(running + i, tw.associative_scan(v, 0, added))
    else:
        tw.store(running + i, tw.map_elementwise(tripled_or_less, v))


FOLDS = {
    # kind: numbers that fit, a change of element 5 that does not, the operation
    "reduce": (1, 2**31 - 1, "add"), "kept": (1, 2**31 - 1, "add"), "scan": (1, 2**31 - 1, "add"), "pairs": (1, 2**31 - 1, "mul"),
    "map": (2**29, 2**30, "mul"), "map below": (2**29, -(2**31), "sub"),
}  # fmt: skip


@pytest.mark.parametrize("count", [32, 24])
@pytest.mark.parametrize("kind", FOLDS)
def test_overflow_inside_of_combining_functions(kind: str, count: int, device: str) -> None:
    value, changed, operation = FOLDS[kind]
    x, out, running = np.full(count, value, np.int32), np.zeros(1, np.int32), np.zeros(count, np.int32)
    folded[(1,)](x, out, running, KIND=kind.split()[0], N=count)
    if kind in ("reduce", "kept"):
        assert out[0] == count
    elif kind == "scan":
        np.testing.assert_array_equal(running, np.arange(1, count + 1))
    elif kind != "pairs":
        np.testing.assert_array_equal(running, x * 3)
    if on_gpu(device):
        return
    x[5] = changed
    x[6] = 2 if kind == "pairs" else x[6]
    with pytest.raises(DeviceError, match=f"int32 overflow detected for operation {operation}"):
        folded[(1,)](x, out, running, KIND=kind.split()[0], N=count)
    folded[(1,)](x, out, running, KIND=kind.split()[0], N=count, sanitize_overflow=False)


def test_plain_builds_fold_no_checks(compiler: None) -> None:
    signature = {"x": "*i32", "out": "*i32", "running": "*i32"}
    for kind in ("reduce", "scan", "map"):
        constants = {"KIND": kind, "N": 32}
        checked = folded.compile(signature, constants, device="cpu").asm["tile"]
        plain = folded.compile(signature, constants, device="cpu", sanitize_overflow=False).asm["tile"]
        assert "overflow detected" in checked and "overflow" not in plain
        assert "i1" not in plain.partition("tile.reduce" if kind != "scan" else "tile.scan")[2].partition("->")[0]


@tw.jit(debug=True)
def in_loops_and_branches(x, out, n):
    total = tw.load(x)
    for i in range(n):
        if total > 100:
            total = total * 2
    k = 0
    while k < n:
        k += 1
    tw.store(out, total + k)


def test_overflow_inside_of_loops_and_branches(device: str) -> None:
    if on_gpu(device):
        pytest.skip("a failed assertion ends the process's use of the GPU")
    x, out = np.array([101], np.int32), np.zeros(1, np.int32)
    in_loops_and_branches[(1,)](x, out, 20)
    assert out[0] == 101 * 2**20 + 20
    with pytest.raises(DeviceError, match="operation mul"):
        in_loops_and_branches[(1,)](x, out, 25)


def test_the_environment_turns_checks_on(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if on_gpu(device):
        pytest.skip("a failed assertion ends the process's use of the GPU")
    from tilewright import knobs

    monkeypatch.setenv("TILEWRIGHT_DEBUG", "1")
    knobs.reset()
    x, out = np.full(4, 2**31 - 1, np.int32), np.zeros(4, np.int32)
    with pytest.raises(DeviceError, match="overflow"):
        tw.jit(adds.fn)[(1,)](x, x, out, N=4)


# Accesses.

CHECKING = ("cpu", "cpu:x86-64-v3")


@pytest.fixture(params=CHECKING)
def cpu(request: pytest.FixtureRequest, compiler: None) -> str:
    if request.param not in tw.list_devices():
        pytest.skip(f"this processor does not reach {request.param}")
    return request.param


def verdict(device: str, kernel: Any, grid: tuple[int, ...], *arguments: Any, **options: Any) -> str:
    """What a launch reports of an access, in the words that all devices share; else ""."""
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
    assert re.search(rf"\n  at .*test_debug_builds\.py:{line}:", text), text
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
                    assert error.code == "TW0608" and "test_debug_builds.py" in error.message
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
                with pytest.raises(DeviceError, match="out-of-bounds load.*\n.*test_debug_builds.py:") as error:
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
        message = f"a multiple_of does not hold: {n} is not a multiple of 16.*\n.*test_debug_builds.py:"
        with pytest.raises(DeviceError, match=message) as error:
            load_at_multiple[(1,)](np.zeros(16, np.float32), x, n, N=16)
    assert error.value.code == "TW0603"
