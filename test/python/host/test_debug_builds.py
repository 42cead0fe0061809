"""What debug builds check: integers that leave their type."""

from __future__ import annotations

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
    # A failure there ends the process's use of the GPU; OpenCL's is printed, and not in the error.
    return device.startswith(("cuda:", "opencl:"))


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
        pytest.skip("a failed assertion's line is not in the error, or it ends the use of the GPU")
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
        pytest.skip("a failed assertion's line is not in the error, or it ends the use of the GPU")
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
        pytest.skip("a failed assertion's line is not in the error, or it ends the use of the GPU")
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
        pytest.skip("a failed assertion's line is not in the error, or it ends the use of the GPU")
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
        pytest.skip("a failed assertion's line is not in the error, or it ends the use of the GPU")
    x, out = np.array([101], np.int32), np.zeros(1, np.int32)
    in_loops_and_branches[(1,)](x, out, 20)
    assert out[0] == 101 * 2**20 + 20
    with pytest.raises(DeviceError, match="operation mul"):
        in_loops_and_branches[(1,)](x, out, 25)


def test_the_environment_turns_checks_on(device: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if on_gpu(device):
        pytest.skip("a failed assertion's line is not in the error, or it ends the use of the GPU")
    from tilewright import knobs

    monkeypatch.setenv("TILEWRIGHT_DEBUG", "1")
    knobs.reset()
    x, out = np.full(4, 2**31 - 1, np.int32), np.zeros(4, np.int32)
    with pytest.raises(DeviceError, match="overflow"):
        tw.jit(adds.fn)[(1,)](x, x, out, N=4)
