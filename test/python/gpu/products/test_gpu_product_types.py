"""Products of every pair of types and of the smallest tiles are right or refused everywhere."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pytest

import tilewright as tw

pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.one_machine]

DEVICES = ("cpu", "reference", "sim:sm_80", "sim:sm_90a", "sim:sm_120", "sim:xe-hpg", "sim:xe-hpc")
TYPES = (
    "int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float8e5",
    "float8e4nv", "float16", "bfloat16", "float32", "float64",
)  # fmt: skip
# The types of the sum by the type of both operands; floats of 8 bits mix, and bytes do.
SUMS = {
    "int8": ("int32",), "uint8": ("int32",), "float8e5": ("float32", "float16"),
    "float8e4nv": ("float32", "float16"), "float16": ("float32", "float16"),
    "bfloat16": ("float32",), "float32": ("float32",), "float64": ("float64",),
}  # fmt: skip
FLOAT8 = ("float8e5", "float8e4nv")
BYTES = ("int8", "uint8")
PAIRS = [*((name, name) for name in SUMS), FLOAT8, FLOAT8[::-1], BYTES, BYTES[::-1]]
PRECISIONS = ("tf32", "tf32x3", "ieee", "bf16x3", "bf16x6")


@tw.jit
def product(
    a, b, c, out, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr, A: tw.constexpr,
    B: tw.constexpr, SUM: tw.constexpr, FORM: tw.constexpr, PRECISION: tw.constexpr,
):  # fmt: skip
    """out = a b, or c + a b, with operands converted to A and B before they are multiplied."""
    m = tw.arange(0, M)[:, None]
    n = tw.arange(0, N)[None, :]
    x = tw.load(a + m * K + tw.arange(0, K)[None, :]).to(A)
    y = tw.load(b + tw.arange(0, K)[:, None] * N + n).to(B)
    acc = tw.load(c + m * N + n).to(SUM)
    if FORM == "acc":
        result = tw.dot(x, y, acc, input_precision=PRECISION)
    elif FORM == "added":
        result = acc + tw.dot(x, y, input_precision=PRECISION, out_dtype=SUM)
    else:
        result = tw.dot(x, y, acc, input_precision=PRECISION, out_dtype=SUM)
    tw.store(out + m * N + n, result.to(tw.float64))


@tw.jit
def batched(
    a, b, c, out, Z: tw.constexpr, M: tw.constexpr, N: tw.constexpr, K: tw.constexpr,
    A: tw.constexpr, B: tw.constexpr, SUM: tw.constexpr,
):  # fmt: skip
    z = tw.arange(0, Z)[:, None, None]
    m = tw.arange(0, M)[None, :, None]
    n = tw.arange(0, N)[None, None, :]
    x = tw.load(a + (z * M + m) * K + tw.arange(0, K)[None, None, :]).to(A)
    y = tw.load(b + (z * K + tw.arange(0, K)[None, :, None]) * N + n).to(B)
    acc = tw.load(c + (z * M + m) * N + n).to(SUM)
    tw.store(out + (z * M + m) * N + n, tw.dot(x, y, acc).to(tw.float64))


def whole_numbers(rng: np.random.Generator, dtype: str, *shape: int) -> np.ndarray:
    """Numbers of a type whose sums of 32 products the type of the sum holds."""
    low, high = {"int8": (-128, 128), "uint8": (0, 256), "int32": (-(1 << 24), 1 << 24)}.get(
        dtype, (-3, 4)
    )
    return rng.integers(low, high, shape).astype(np.float32)


def check(
    device: str, kernel: Any, rng: np.random.Generator, types: Any, *shape: int, **constants: Any
) -> Any:
    """Run a kernel on whole numbers; its result is exact. Gives the compiled kernel."""
    *batch, m, n, k = shape
    left, right, accumulator = types
    a = whole_numbers(rng, left, *batch, m, k)
    b = whole_numbers(rng, right, *batch, k, n)
    c = whole_numbers(rng, accumulator, *batch, m, n)
    out = np.full((*batch, m, n), np.nan)
    names = dict(zip(("Z", "M", "N", "K") if batch else ("M", "N", "K"), shape))
    dtypes = {key: tw.dtype(name) for key, name in zip(("A", "B", "SUM"), types)}
    with tw.device(device):
        compiled = kernel[(1,)](a, b, c, out, **names, **dtypes, **constants)
    np.testing.assert_array_equal(out, c.astype(np.float64) + a.astype(np.float64) @ b)
    return compiled


def combinations() -> list[tuple[str, str, str]]:
    return [(a, b, accumulator) for a, b in PAIRS for accumulator in SUMS[a]]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("types", combinations(), ids="-".join)
def test_every_pair_of_types_that_is_taken(
    types: tuple[str, str, str], device: str, rng: np.random.Generator
) -> None:
    for form in ("acc", "added", "both"):
        check(device, product, rng, types, 16, 16, 32, FORM=form, PRECISION=None)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_every_precision_is_exact_for_whole_numbers(
    precision: str, device: str, rng: np.random.Generator
) -> None:
    for name in ("float32", "float16", "int8"):
        types = name, name, SUMS[name][0]
        check(device, product, rng, types, 16, 8, 16, FORM="acc", PRECISION=precision)


def line_of(kernel: Any, text: str) -> int:
    import inspect

    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(i for i, line in enumerate(lines) if text in line)


def refusal(**changes: Any) -> tw.CompileError:
    """How `product` is refused with these constants in place of those of a plain product."""
    constants: dict[str, Any] = {
        "M": 16, "N": 16, "K": 16, "A": tw.float16, "B": tw.float16, "SUM": tw.float32,
        "FORM": "acc", "PRECISION": None,
    }  # fmt: skip
    types = {"a": "*fp32", "b": "*fp32", "c": "*fp32", "out": "*fp64"}
    with pytest.raises(tw.CompileError) as caught:
        product.compile(types, {**constants, **changes}, device="nvidia:sm_80")
    return caught.value


@pytest.mark.parametrize("left", TYPES)
def test_every_other_pair_of_types_is_refused_by_name(left: str) -> None:
    dot = f"{__file__}:{line_of(product, 'result = tw.dot(x, y, acc, input')}"
    for right in TYPES:
        if (left, right) in PAIRS:
            continue
        error = refusal(A=tw.dtype(left), B=tw.dtype(right))
        assert error.code == "TW0218", (left, right)
        assert dot in str(error)
        for name in (left, right):
            assert re.search(rf"\b{name}\b", error.message), error.message
        assert ".to(" in error.hint
        refused = [name for name in (left, right) if name not in SUMS]
        if refused:
            assert f"does not take {refused[0]}" in error.message
            named = [name for name in SUMS if name not in FLOAT8]
            assert all(name in error.hint for name in (*named, "8-bit floats"))


@pytest.mark.parametrize("accumulator", TYPES)
def test_every_other_type_of_the_sum_is_refused_by_name(accumulator: str) -> None:
    for operand, taken in SUMS.items():
        if accumulator in taken:
            continue
        types = {"A": tw.dtype(operand), "B": tw.dtype(operand), "SUM": tw.dtype(accumulator)}
        # Where there is one type of the sum only, `out_dtype` chooses nothing, as in Triton.
        has_choice = len(taken) > 1 or accumulator == "bfloat16"
        for form in ("acc", "added") if has_choice else ("acc",):
            error = refusal(**types, FORM=form)
            assert error.code == "TW0218", (operand, form)
            assert operand in error.message and accumulator in error.message
            assert f"accumulate in {taken[0]}" in error.hint


@tw.jit
def called_with(x, out, A: tw.constexpr, B: tw.constexpr, GIVEN: tw.constexpr):
    """A product of the tile, its pointers or a part of it, with one more argument."""
    i = tw.arange(0, 16)
    pointers = x + i[:, None] * 16 + i[None, :]
    tile = tw.load(pointers)
    if A == "pointers":
        left = pointers
    elif A == "batch":
        left = tile[None, :, :]
    else:
        left = tile
    if B == "short":
        right = tw.zeros((8, 16), tile.dtype)
    else:
        right = tile
    if GIVEN == "sum of another shape":
        result = tw.dot(left, right, tw.zeros((16, 32), tw.float32))
    elif GIVEN == "scalar sum":
        result = tw.dot(left, right, 0.0)
    elif GIVEN == "two types of the sum":
        result = tw.dot(left, right, tw.zeros((16, 16), tw.float16), out_dtype=tw.float32)
    elif GIVEN == "unknown precision":
        result = tw.dot(left, right, input_precision="fp32")
    elif GIVEN == "empty precision":
        result = tw.dot(left, right, input_precision="")
    elif GIVEN == "two precisions":
        result = tw.dot(left, right, input_precision="tf32", allow_tf32=True)
    elif GIVEN == "text in place of a number":
        result = tw.dot(left, right, max_num_imprecise_acc="no")
    elif GIVEN == "negative number":
        result = tw.dot(left, right, max_num_imprecise_acc=-1)
    else:
        result = tw.dot(left, right, max_num_imprecise_acc=16)
    tw.store(out + i[:, None] * 16 + i[None, :], result)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(
    ("left", "right", "given", "code", "said"),
    [
        ("pointers", "tile", "", "TW0218", "load the tile that is multiplied"),
        ("batch", "tile", "", "TW0218", "of one rank: 2, or more with leading batch dimensions"),
        ("tile", "short", "", "TW0218", "a has K = 16 and b has K = 8"),
        ("tile", "tile", "sum of another shape", "TW0218", "accumulator must be [16, 16]"),
        ("tile", "tile", "scalar sum", "TW0218", "accumulator must be [16, 16]"),
        ("tile", "tile", "two types of the sum", "TW0218", "float16, but out_dtype is float32"),
        ("tile", "tile", "unknown precision", "TW0120", '"tf32x3"'),
        ("tile", "tile", "empty precision", "TW0120", '"tf32x3"'),
        ("tile", "tile", "two precisions", "TW0120", "leave out allow_tf32"),
        ("tile", "tile", "negative number", "TW0216", "max_num_imprecise_acc is -1"),
        ("tile", "tile", "text in place of a number", "TW0103", "needs an integer, not str"),
        ("tile", "tile", "", "", ""),
    ],
)
def test_arguments_of_dot_that_do_not_fit(
    left: str, right: str, given: str, code: str, said: str, device: str
) -> None:
    types, constants = {"x": "*fp16", "out": "*fp32"}, {"A": left, "B": right, "GIVEN": given}
    if not code:
        called_with.compile(types, constants, device=device)
        return
    with pytest.raises(tw.CompileError) as caught:
        called_with.compile(types, constants, device=device)
    assert caught.value.code == code
    assert said in str(caught.value)
    line = line_of(called_with, f'"{given}"') + 1 if given else line_of(called_with, "acc=16")
    assert f"{__file__}:{line}" in str(caught.value)


EXTENTS = (1, 2, 4, 8, 16)
SMALL = [shape for shape in itertools.product(EXTENTS, EXTENTS, (1, 2, 4, 8, 16, 32))]


def says_how_it_multiplies(compiled: Any) -> None:
    """Either matrix instructions multiply, or a remark says that none do, and why."""
    slow = [r for r in compiled.remarks if r["code"] == "TW0355"]
    is_nvidia = "ptx" in compiled.asm
    text, instruction = ("ptx", "mma.sync") if is_nvidia else ("llvm", "SubgroupMatrixMultiplyAccumulate")
    assert len(slow) == (instruction not in compiled.asm[text]), compiled.request
    reason = r"the smallest takes M = \d+, N = \d+ and K = \d+$|u8\[\d"
    if not is_nvidia:  # Intel's GPUs multiply no float64, and xe-hpg no tf32
        reason += r"|into f64\[[\d, ]+\]$|without rounding$"
    for remark in slow:
        assert "no matrix instruction multiplies" in remark["message"]
        assert re.search(reason, remark["message"]), remark["message"]


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("types", combinations(), ids="-".join)
def test_the_smallest_tiles(
    types: tuple[str, str, str], device: str, rng: np.random.Generator
) -> None:
    """Some shapes of many, drawn anew in every run."""
    for shape in rng.choice(SMALL, 3, replace=False).tolist():
        constants = {"FORM": "acc", "PRECISION": "tf32", "num_warps": int(rng.choice([1, 2, 4, 8]))}
        compiled = check(device, product, rng, types, *shape, **constants)
        if device.startswith("sim:"):
            says_how_it_multiplies(compiled)
    shape = [int(rng.choice([1, 2, 4])), *rng.choice(SMALL)]
    check(device, batched, rng, types, *map(int, shape), num_warps=int(rng.choice([1, 4])))
