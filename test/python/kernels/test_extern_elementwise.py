"""`tl.extern_elementwise`: functions of CUDA's device library by their symbols."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.triton.language as tl
from tilewright.errors import CompileError, UnsupportedError
from tilewright.libdevice.extern import function_of_symbol

POWERS = {
    (tl.float32, tl.float32): ("__nv_powf", tl.float32),
    (tl.dtype("fp64"), tl.dtype("fp64")): ("__nv_pow", tl.dtype("fp64")),
}


@tw.jit
def by_symbols(x, n, out, N: tw.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    angles = tl.extern_elementwise("libdevice", "", [v], {
        (tl.float32,): ("__nv_acosf", tl.float32), (tl.float64,): ("__nv_acos", tl.float64),
    }, is_pure=True)  # fmt: skip
    tl.store(out + i, angles)
    # A table of the module; the integers become what the floats are.
    tl.store(out + N + i, tl.extern_elementwise("", "", [v, tl.load(n + i)], POWERS, is_pure=True))
    is_nan = tl.extern_elementwise("", "", [v], {
        (tl.float32,): ("__nv_isnanf", tl.int32), (tl.float64,): ("__nv_isnand", tl.int32),
    }, is_pure=True)  # fmt: skip
    tl.static_assert(is_nan.dtype == tl.int32)
    tl.store(out + 2 * N + i, is_nan)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_symbols_of_the_device_library(dtype: Any, device: str, rng: np.random.Generator) -> None:
    x, n = rng.uniform(0.1, 1, 64).astype(dtype), rng.integers(0, 5, 64, dtype=np.int32)
    x[5] = np.nan
    out = np.zeros((3, 64), dtype)
    by_symbols[(1,)](x, n, out, N=64)
    tolerance = 16 * np.finfo(dtype).eps
    np.testing.assert_allclose(out[0], np.arccos(x), rtol=tolerance)
    np.testing.assert_allclose(out[1], x**n, rtol=tolerance)
    np.testing.assert_array_equal(out[2], np.isnan(x))


@pytest.mark.parametrize(("symbol", "name"), [
    ("__nv_acosf", "acos"), ("__nv_erf", "erf"), ("__nv_erff", "erf"), ("__nv_isnand", "isnan"),
    ("__nv_fadd_rz", "add_rz"), ("__nv_dmul_ru", "mul_ru"), ("__nv_fmaf_rd", "fma_rd"),
    ("__nv_fma_rd", "fma_rd"), ("__nv_popcll", "popc"), ("__nv_llabs", "abs"), ("__nv_powif", "pow"),
    ("__nv_fast_fdividef", "fast_dividef"), ("__nv_fast_sinf", "fast_sinf"), ("__nv_umulhi", "umulhi"),
    ("__nv_float2int_rn", "float2int_rn"), ("__nv_rcbrtf", "rcbrt"), ("__nv_nothing", ""), ("acosf", ""),
])  # fmt: skip
def test_what_symbols_mean(symbol: str, name: str) -> None:
    assert function_of_symbol(symbol) == name


def of_table(table: Any) -> tw.JITFunction:
    @tw.jit
    def kernel(x):
        tl.store(x, tl.extern_elementwise("", "", [tl.load(x)], table, True))

    return kernel


@pytest.mark.parametrize(("table", "words"), [
    (None, "is None, not a dict"), ((1, 2), r"is \(1, 2\) \(a tuple\), not a dict"),
    ({}, "has rows for no arguments, and 1 are passed"),
    ({tl.float32: ("__nv_sinf", tl.float32)}, "has the key tilewright.float32, not a tuple of types"),
    ({("float",): ("__nv_sinf", tl.float32)}, r"has the key \('float',\) \(a tuple\), not"),
    ({(tl.float32,): "__nv_sinf"}, "has '__nv_sinf' where a symbol and a type should be"),
    ({(tl.float32,): ("__nv_sinf",)}, r"\('__nv_sinf',\) .* where a symbol and a type"),
    ({(tl.float32,): (3, tl.float32)}, "has 3 as a symbol, not a text"),
    ({(tl.float32,): ("__nv_sinf", None)}, "has None as the type of a result"),
    ({(tl.float32,): ("f", tl.pointer_type(tl.float32))}, "as the type of a result"),
    (POWERS, "has rows for 2 arguments, and 1 are passed"),
])  # fmt: skip
def test_tables_that_map_no_types_to_symbols(table: Any, words: str, compiler: None) -> None:
    with pytest.raises(CompileError, match=words) as caught:
        of_table(table)[(1,)](np.zeros(1, np.float32))
    assert caught.value.code == "TW0361" and "write {(tl.float32,)" in caught.value.hint
    # The user's line is the place; the library's is told under it as what it is.
    lines = caught.value.rendered.splitlines()
    assert "test_extern_elementwise.py" in lines[1] and "tl.extern_elementwise(" in lines[2]
    assert any("in this line of the library" in line for line in lines[4:])


@tw.jit
def unknown_symbol(x, out):
    row: tw.constexpr = {(tl.float32,): ("fancy_sine", tl.float32)}
    tl.store(out, tl.extern_elementwise("fancy", "/fancy.bc", [tl.load(x)], row, True))


@tw.jit
def no_row(x, out):
    row: tw.constexpr = {(tl.float64,): ("__nv_acos", tl.float64)}
    tl.store(out, tl.extern_elementwise("", "", [tl.load(x)], row, True))


@pytest.mark.parametrize(("kernel", "code", "words"), [
    (unknown_symbol, "TW0360", "given that has `fancy_sine`"),
    (no_row, "TW0113", r"of \(fp32\), but for \(fp64\)"),
])  # fmt: skip
def test_other_symbols_and_types_are_refused(
    kernel: tw.JITFunction, code: str, words: str, compiler: None
) -> None:
    x = np.zeros(1, np.float32)
    with pytest.raises((CompileError, UnsupportedError), match=words) as caught:
        kernel[(1,)](x, x.copy())
    assert caught.value.code == code
