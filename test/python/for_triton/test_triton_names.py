"""Names and checks of Triton's language that only some kernels use: each a small program."""

from __future__ import annotations

import ctypes
import sys
import types
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np
import pytest

import tilewright as tw
import tilewright.triton.language as tl
from tilewright import knobs
from tilewright.errors import CompileError


def refusal(kernel: tw.JITFunction, *arguments: Any) -> CompileError:
    with pytest.raises(CompileError) as caught:
        kernel[(1,)](*arguments)
    return caught.value


# Messages whose words Triton's tests and its users' tests look for; `__cause__` has them bare.


@tw.jit
def remainder(a, b):
    tl.store(a, tl.load(a) % tl.load(b))


@tw.jit
def conjunction(a, b):
    tl.store(a, tl.load(a) & tl.load(b))


@tw.jit
def out_of_range(a, b):
    huge: tl.constexpr = 0xFFFFFFFFFFFFFF
    tl.store(a, tl.full((), 32, tl.int32) + huge)


@tw.jit
def sliced_pointer(a, b):
    tl.store(a[10:], 1)


@tw.jit
def fourth_axis(a, b):
    tl.store(a, tl.program_id(3))


@tw.jit
def axis_beyond(a, b):
    tl.store(a, tl.sum(tl.expand_dims(tl.arange(0, 8), -3)))


@tw.jit
def axis_twice(a, b):
    tl.store(a, tl.sum(tl.expand_dims(tl.arange(0, 8), (0, -3))))


@tw.jit
def to_constant(a: tl.const, b):
    tl.store(a, 1)


@tw.jit
def two_kinds_of_pointer(a, b: tl.const):
    tl.store(b if tl.load(a) != 0 else a, 1)


@pytest.mark.parametrize(("kernel", "code", "words"), [
    (remainder, "TW0204", "Cannot use `%` with int8 and uint8 because they have different signedness"),
    (conjunction, "TW0201", "invalid operands of type float32 and uint8"),
    (out_of_range, "TW0203", "72057594037927935 is out of range for int32"),
    (sliced_pointer, "TW0117", "unsupported tensor index"),
    (fourth_axis, "TW0120", "program_id axis must be 0, 1, or 2 but got 3"),
    (axis_beyond, "TW0207", "invalid axis -3"),
    (axis_twice, "TW0246", "duplicate axes, normalized axes = [0, 0]"),
    (to_constant, "TW0225", "Cannot store to a constant pointer"),
    (two_kinds_of_pointer, "TW0106", "Ternary expression with dynamic condition has inconsistent type"),
])  # fmt: skip
def test_the_words_of_refusals(
    kernel: tw.JITFunction, code: str, words: str, compiler: None
) -> None:
    first = np.zeros(16, "float32" if kernel is conjunction else "int8")
    error = refusal(kernel, first, np.zeros(16, "uint8"))
    assert error.code == code and words in str(error) and words in str(error.__cause__)


# Tables of addresses.


@tw.jit
def choose_addresses(condition, a, b, out, N: tw.constexpr):
    i = tl.arange(0, N)
    left = tl.load(a + i).to(tl.pi32_t)
    right = tl.load(b + i).to(tl.pi32_t)
    tl.store(out + i, tl.where(tl.load(condition + i) != 0, left, right))


@tw.jit
def store_address(out, array):
    tl.store(out, array)


def test_tiles_of_pointers_are_stored_as_addresses(
    device: str, rng: np.random.Generator
) -> None:
    condition = rng.integers(0, 2, 32, dtype=np.int8)
    a, b = rng.integers(0, 1 << 40, (2, 32))
    for kind in ("int64", "uint64"):
        out = np.zeros(32, kind)
        choose_addresses[(1,)](condition, a, b, out, N=32)
        np.testing.assert_array_equal(out, np.where(condition != 0, a, b))
    with pytest.raises(CompileError, match="cannot become an element"):
        choose_addresses[(1,)](condition, a, b, np.zeros(32, "int32"), N=32)


def test_an_array_is_not_stored_as_its_address(compiler: None) -> None:
    assert refusal(store_address, np.zeros(1, "int64"), np.zeros(1, "float32")).code == "TW0206"


# 8-bit floats.


@tw.jit
def magnitudes(x, out, DTYPE: tw.constexpr, N: tw.constexpr):
    i = tl.arange(0, N)
    codes = tl.load(x + i).to(DTYPE, bitcast=True)
    tl.store(out + i, tl.abs(codes).to(tl.uint8, bitcast=True))


@pytest.mark.parametrize("dtype", [tl.float8e4b15, tl.float8e4nv, tl.float8e5])
def test_abs_of_8_bit_floats_drops_the_sign(dtype: tl.dtype, device: str) -> None:
    codes = np.arange(256, dtype=np.uint8)
    if dtype is not tl.float8e4b15:
        kind = ml_dtypes.float8_e5m2 if dtype is tl.float8e5 else ml_dtypes.float8_e4m3fn
        codes[np.isnan(codes.view(kind).astype(np.float32))] = 0
    out = np.zeros_like(codes)
    magnitudes[(1,)](codes, out, DTYPE=dtype, N=256)
    np.testing.assert_array_equal(out, codes & 0x7F)


# Types.


@tw.jit
def ask_types(x, out, N: tw.constexpr):
    tile = tl.load(x + tl.arange(0, N)[:, None] + tl.arange(0, 2)[None, :])
    tl.static_assert(tile.type.get_block_shapes() == (N, 2))
    wider: tl.constexpr = tile.type.with_element_ty(tl.float64)
    tl.static_assert(wider.element_ty == tl.float64 and wider.shape == [N, 2])
    tl.static_assert(tl.uint64.get_int_max_value() == 2**64 - 1)
    tl.static_assert(tl.int8.get_int_min_value() == -128)
    tl.static_assert(tl.int1.get_int_max_value() == 1)
    tl.store(out, tl.full((), tile.dtype.get_int_min_value(), tl.int64))


@tw.jit
def type_with_too_much(x):
    tl.static_assert(tl.arange(0, 4).type.get_block_shapes(1) == (4,))


@tw.jit
def float_without_largest(x):
    tl.static_assert(tl.float32.get_int_max_value() == 1)


def test_types_answer_in_kernels(compiler: None) -> None:
    out = np.zeros(1, np.int64)
    ask_types[(1,)](np.zeros(16, np.int16), out, N=4)
    assert out[0] == -(1 << 15)
    assert refusal(type_with_too_much, out).code == "TW0109"
    assert refusal(float_without_largest, out).code == "TW0102"


def test_types_answer_on_the_host() -> None:
    ints = tl.dtype.SINT_TYPES + tl.dtype.UINT_TYPES
    kinds = [tl.dtype(name) for name in ints + tl.dtype.FP_TYPES + tl.dtype.OTHER_TYPES]
    assert all(kind.is_int() for kind in kinds[: len(ints)]) and len(set(kinds)) == len(kinds)
    assert tl.int16.get_int_max_value() == 2**15 - 1 and tl.uint8.get_int_min_value() == 0
    assert tl.dtype.is_dtype("fp8e4b15") and not tl.dtype.is_dtype("fp7")
    pair = tl.tuple_type([tl.int32, tl.float32], ["x", "y"])
    assert pair == tl.tuple_type([tl.int32, tl.float32], ["x", "y"]) and pair[1] == tl.float32
    assert pair != tl.tuple_type([tl.int32, tl.float32]) and len({pair, pair}) == 1
    assert str(pair) == "[x:i32,y:fp32]"


# Functions.


@tw.jit
def methods(x, out, N: tw.constexpr):
    v = tl.load(x + tl.arange(0, N))
    i = tl.arange(0, N)
    tl.store(out + i, v.sqrt_rn())
    tl.store(out + N + i, v.logical_and(i > 2))
    tl.store(out + 2 * N + i, (i > 2).logical_or(i == 0))
    tl.store(out + 3 * N + i, v.cdiv(tl.full((N,), 2.0, tl.float32)) if False else v.exp2())


def test_functions_that_are_methods(device: str) -> None:
    x = np.array([0, 1, 2, 3, 4, 5, 6, 7], np.float32)
    out = np.zeros((4, 8), np.float32)
    methods[(1,)](x, out, N=8)
    i = np.arange(8)
    np.testing.assert_array_equal(out[0], np.sqrt(x))
    np.testing.assert_array_equal(out[1], (x != 0) & (i > 2))
    np.testing.assert_array_equal(out[2], (i > 2) | (i == 0))
    np.testing.assert_array_equal(out[3], np.exp2(x))


def test_an_address_reads_back_as_the_array(compiler: None) -> None:
    """The number that `.to(tl.int64)` gives is the array's address."""
    out, array = np.zeros(1, np.int64), np.array([42], np.int32)

    @tw.jit
    def address(out, array):
        tl.store(out, array.to(tl.int64))

    with tw.device("cpu"):
        address[(1,)](out, array)
    assert ctypes.c_int32.from_address(int(out[0])).value == 42


@tw.jit
def named_by_a_text(x, out, NAME: tw.constexpr):
    tl.store(out, getattr(tl.extra.libdevice, NAME)(tl.load(x)))


def test_functions_of_the_library_are_found_by_constant_names(device: str) -> None:
    """`acos` is the compiler's own, `erfinv` and `j0` are written in the language."""
    x, out = np.full(1, 0.5, np.float32), np.zeros(1, np.float32)
    for name, expected in (("acos", 1.0471976), ("erfinv", 0.47693628), ("j0", 0.93846981)):
        compiled = named_by_a_text[(1,)](x, out, NAME=name)
        np.testing.assert_allclose(out, expected, rtol=1e-6)
        assert compiled is not None and "tile" in compiled.asm and compiled.asm["tile"]


factors: Any = types.ModuleType("factors")
sys.modules["factors"] = factors


@tw.jit
def named_by_texts(x, out, NAME: tw.constexpr):
    function = getattr(tl.extra.libdevice, f"erf{NAME}")
    tl.store(out, getattr(tl.extra.libdevice, "j0")(function(tl.load(x))) * getattr(factors, "FACTOR"))


def test_what_constant_names_lead_to_is_part_of_the_kernel(
    compiler: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A number of a module that is replaced is not answered from before, and a kernel that names functions
    of the library is found where nothing may be compiled."""
    x, out = np.full(1, 0.5, np.float32), np.zeros(1, np.float32)
    for factor in (1.0, 2.0, 1.0):
        factors.FACTOR = factor
        named_by_texts[(1,)](x, out, NAME="inv")
        np.testing.assert_allclose(out, factor * 0.94393796, rtol=1e-5)
    named_by_a_text[(1,)](x, out, NAME="j0")
    with pytest.raises(CompileError, match="nothing"):
        named_by_a_text[(1,)](x, out, NAME="nothing")
    monkeypatch.setenv("TILEWRIGHT_JIT", "deny")
    knobs.reset()
    tw.jit(named_by_a_text.fn)[(1,)](x, out, NAME="j0")
    np.testing.assert_allclose(out, 0.93846981, rtol=1e-6)


@tw.jit
def typed(strides, pair, NAME: tw.constexpr, N: tw.constexpr):
    tl.static_assert(isinstance(strides[1].type, tl.constexpr_type) and strides[0].type == tl.int32)
    tl.static_assert(strides.type == tl.tuple_type([tl.int32, tl.constexpr_type(1)]))
    tl.static_assert(NAME.type == tl.constexpr_type("a") and N.type == tl.constexpr_type(None))
    y: tl.constexpr
    x, y = 0, 0
    tl.static_assert(x.dtype == tl.int32 and x.type == tl.int32 and y.type == tl.constexpr_type(0))
    a: tl.constexpr
    a, b = (0, 1), 2
    assigned: tl.constexpr = (0, 1)
    tl.static_assert(a == assigned and a.type == ((0, 1)).type and assigned.type == ((0, 1)).type)
    tl.static_assert(b.dtype == tl.int32 and isinstance(a.type, tl.tuple_type))
    tl.static_assert(isinstance(pair.second.type, tl.constexpr_type))
    z: tl.constexpr
    if (z := len(pair)) == 2:
        tl.static_assert(isinstance(z.type, tl.constexpr_type))
    tiles = (tl.arange(0, 4), y)
    tl.static_assert(tiles.type[0] == tl.arange(0, 4).type)


@tw.jit
def sign_of(x):
    if x < 0:
        return 1, x
    else:
        return 0, x


@tw.jit
def typed_results(out):
    tl.static_assert(isinstance(sign_of(-1)[0].type, tl.constexpr_type))
    a: tl.constexpr = sign_of(-1)
    tl.static_assert(a[0] == 1 and a[1] == -1 and isinstance(a[0].type, tl.constexpr_type))
    variable = -1
    results = sign_of(variable)
    tl.static_assert(sign_of(variable)[0].type == tl.int32)
    tl.static_assert(results.type == tl.tuple_type([tl.int32, tl.int32]))


def test_results_for_variables_have_types_of_run_time(compiler: None) -> None:
    typed_results[(1,)](np.zeros(1, np.float32))


class Pair(NamedTuple):
    first: Any
    second: Any


def test_constants_in_tuples_have_types(compiler: None) -> None:
    typed[(1,)]((8, 1), Pair(3, tl.constexpr(1)), NAME="a", N=None)
