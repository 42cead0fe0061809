"""Every name of tw.libdevice against exact arithmetic, on random and special values."""

from __future__ import annotations

import math
import os
from fractions import Fraction
from itertools import groupby
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest
from libdevice_reference import ROWS, TYPES, Row, directed, elementwise_rows, page

import tilewright as tw
import tilewright.triton.language as tl
from tilewright.language import libdevice

# The names of triton.language.extra.cuda.libdevice.
UPSTREAM = """
clz popc byte_perm mulhi mul24 brev sad abs floor rcp64h rsqrt ceil trunc exp2 saturatef fma_rn fma_rz fma_rd fma_ru
fast_dividef div_rn div_rz div_rd div_ru rcp_rn rcp_rz rcp_rd rcp_ru sqrt_rn sqrt_rz sqrt_rd sqrt_ru sqrt add_rn add_rz
add_rd add_ru mul_rn mul_rz mul_rd mul_ru double2float_rn double2float_rz double2float_rd double2float_ru double2int_rn
double2int_rz double2int_rd double2int_ru double2uint_rn double2uint_rz double2uint_rd double2uint_ru int2double_rn
uint2double_rn float2int_rn float2int_rz float2int_rd float2int_ru float2uint_rn float2uint_rz float2uint_rd
float2uint_ru int2float_rn int2float_rz int2float_rd int2float_ru uint2float_rn uint2float_rz uint2float_rd
uint2float_ru hiloint2double double2loint double2hiint float2ll_rn float2ll_rz float2ll_rd float2ll_ru float2ull_rn
float2ull_rz float2ull_rd float2ull_ru double2ll_rn double2ll_rz double2ll_rd double2ll_ru double2ull_rn double2ull_rz
double2ull_rd double2ull_ru ll2float_rn ll2float_rz ll2float_rd ll2float_ru ull2float_rn ull2float_rz ull2float_rd
ull2float_ru ll2double_rn ll2double_rz ll2double_rd ll2double_ru ull2double_rn ull2double_rz ull2double_rd
ull2double_ru int_as_float float_as_int uint_as_float float_as_uint longlong_as_double double_as_longlong fast_sinf
fast_cosf fast_log2f fast_logf fast_expf fast_tanf fast_exp10f fast_log10f fast_powf hadd rhadd sub_rn sub_rz sub_rd
sub_ru rsqrt_rn ffs rint llrint nearbyint isnan signbit copysign finitef isinf nextafter sin cos sinpi cospi tan log2
exp exp10 cosh sinh tanh atan2 atan asin acos log log10 log1p acosh asinh atanh expm1 hypot rhypot norm3d rnorm3d
norm4d rnorm4d cbrt rcbrt j0 j1 y0 y1 yn jn cyl_bessel_i0 cyl_bessel_i1 erf erfinv erfc erfcx erfcinv normcdfinv
normcdf lgamma ldexp scalbn fmod remainder fma pow tgamma round llround fdim ilogb logb isfinited
""".split()
COUNT = 32  # random arguments of each function and device
DEVICES = ["cpu", "reference", "sim:sm_80"]


def test_every_upstream_name_is_there_and_in_the_table() -> None:
    assert not [name for name in UPSTREAM if not hasattr(libdevice, name)]
    assert not [name for name in UPSTREAM if name not in ROWS and name not in elementwise_rows()]
    assert set(ROWS) <= set(libdevice.__all__)


def test_functions_of_the_language_are_its_own() -> None:
    assert all(getattr(libdevice, name) is getattr(tl, name) for name in elementwise_rows())


def test_the_page_is_the_table() -> None:
    file = Path(libdevice.__file__).with_name("LIBDEVICE.md")
    if os.environ.get("GOLDEN") == "accept":
        file.write_text(page())
    assert file.read_text() == page(), "run this test with GOLDEN=accept"


def make_kernel(functions: tuple[Any, ...], arity: int) -> Any:
    count = len(functions)

    @tw.jit
    def evaluate(out, a, b, c, d, SIZE: tl.constexpr):
        i = tl.arange(0, SIZE)
        for k in tl.static_range(count):
            if arity == 1:
                y = functions[k](tl.load(a + i))
            elif arity == 2:
                y = functions[k](tl.load(a + i), tl.load(b + i))
            elif arity == 3:
                y = functions[k](tl.load(a + i), tl.load(b + i), tl.load(c + i))
            else:
                args = (tl.load(a + i), tl.load(b + i), tl.load(c + i), tl.load(d + i))
                y = functions[k](*args)
            tl.store(out + k * SIZE + i, y)

    return evaluate


def run(names: list[str], args: list[np.ndarray], result: str, device: str) -> np.ndarray:
    """One row of results for each function."""
    size = args[0].size
    padded = [*args, *[args[0]] * (4 - len(args))]
    out = np.full((len(names), size), 77, TYPES[result])
    functions = tuple(getattr(libdevice, name) for name in names)
    with tw.device(device):
        make_kernel(functions, len(args))[(1,)](out, *padded, size)
    return out


def special_values(code: str) -> np.ndarray:
    kind = TYPES[code]
    if code in "fd":
        limits = np.finfo(kind)
        edges = [0, -0.0, 1, -1, 0.5, -2.5, np.inf, -np.inf, np.nan, limits.max, -limits.max,
                 limits.tiny, -limits.smallest_subnormal, 1 + limits.eps, 2**31, 3e9]  # fmt: skip
        return np.array(edges, kind)
    limits = np.iinfo(kind)
    edges = [0, 1, limits.max, limits.min, limits.max - 1, 2, 3, 255, 2**24 + 1, 2**31 - 1]
    return np.array(edges, kind)


def draw_exact(rng: np.random.Generator, code: str, count: int) -> np.ndarray:
    """Any bits; half of the floats near 1, so that they cancel and round."""
    kind = TYPES[code]
    bits = rng.integers(0, 2**63, count, np.uint64) * np.uint64(2) + rng.integers(0, 2, count)
    if code in "iulm":
        return bits.astype(np.uint64).view(np.int64).astype(kind)
    word = bits.view(np.float64) if code == "d" else bits.astype(np.uint32).view(np.float32)
    word = np.where(np.isfinite(word), word, kind(1))
    near = (rng.uniform(-4, 4, count)).astype(kind)
    small = (rng.integers(-99, 99, count) * np.finfo(kind).smallest_subnormal).astype(kind)
    pick = rng.integers(0, 4, count)
    return np.where(pick == 0, word, np.where(pick == 1, small, near))


def draw(rng: np.random.Generator, row: Row, sources: str, size: int) -> list[np.ndarray]:
    args = []
    for position, code in enumerate(sources):
        if row.is_exact:
            values = draw_exact(rng, code, size)
            if code == "i" and row.name in ("ldexp", "scalbn"):
                values = rng.integers(-2200, 2200, size).astype(np.int32)
            edges = special_values(code)
            values[: edges.size] = edges if position == 0 else rng.permutation(edges)
        elif code == "i":
            values = rng.integers(0, 25, size).astype(np.int32)
        else:
            values = rng.uniform(row.low, row.high, size).astype(TYPES[code])
        args.append(values)
    return args


def error_of(row: Row, got: Any, wanted: mp.mpf) -> float:
    """In units in the last place of the wanted number."""
    limits = np.finfo(type(got))
    nearest = type(got)(float(wanted))
    if not np.isfinite(nearest) or not np.isfinite(got):
        return 0.0 if got == nearest else np.inf
    size = max(abs(float(nearest)), row.absolute if type(got) is np.float64 else 0.0)
    unit = max(float(np.spacing(type(got)(size))), float(limits.smallest_subnormal))
    return float(abs(mp.mpf(float(got)) - wanted) / mp.mpf(unit))


def check(row: Row, args: list[np.ndarray], got: np.ndarray) -> None:
    for values in zip(*args, got, strict=True):
        *given, answer = values
        if row.is_exact:
            with np.errstate(all="ignore"):
                wanted = got.dtype.type(row.meaning(*given))
            is_same = answer == wanted or (answer != answer and wanted != wanted)
            if got.dtype.kind == "f" and wanted == wanted:
                is_same &= bool(np.signbit(answer) == np.signbit(wanted))
            assert is_same, f"{row.name}{tuple(given)} = {answer!r}, not {wanted!r}"
        else:
            numbers = [int(v) if isinstance(v, np.integer) else mp.mpf(float(v)) for v in given]
            error = error_of(row, answer, row.meaning(*numbers))
            limit = row.ulp[got.dtype.itemsize == 8]
            assert error <= limit, f"{row.name}{tuple(given)} = {answer!r}: {error} ulp"


def groups() -> list[Any]:
    """Overloads of one form, a few functions at a time: a kernel for each."""
    entries = [(overload, row.name) for row in ROWS.values() for overload in row.overloads]
    found = []
    for overload, members in groupby(sorted(entries), key=lambda entry: entry[0]):
        names = [name for _, name in members]
        for start in range(0, len(names), 12):
            part = names[start : start + 12]
            found.append(pytest.param(overload, part, id=f"{overload}-{part[0]}"))
    return found


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("overload", "names"), groups())
@pytest.mark.usefixtures("compiler")
def test_results_are_within_the_stated_error(
    rng: np.random.Generator, device: str, overload: str, names: list[str]
) -> None:
    sources, result = overload.split(">")
    # Functions that take the same kind of arguments share a kernel.
    for _, part in groupby(names, key=lambda n: (ROWS[n].is_exact, ROWS[n].low, ROWS[n].high)):
        members = list(part)
        args = draw(rng, ROWS[members[0]], sources, COUNT)
        out = run(members, args, result, device)
        for name, got in zip(members, out, strict=True):
            check(ROWS[name], args, got)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.usefixtures("compiler")
def test_a_product_rounded_by_itself_does_not_merge_with_a_sum(
    rng: np.random.Generator, device: str
) -> None:
    @tw.jit
    def kernel(x, y, z, out, SIZE: tl.constexpr):
        i = tl.arange(0, SIZE)
        a, b, c = tl.load(x + i), tl.load(y + i), tl.load(z + i)
        tl.store(out + i, libdevice.mul_rn(a, b) + c)
        tl.store(out + SIZE + i, libdevice.add_rn(a * b, c))
        tl.store(out + 2 * SIZE + i, libdevice.sub_rn(a * b, -c))

    x, y = (rng.standard_normal(128).astype(np.float32) for _ in range(2))
    z = -(x * y) * np.float32(1 + 2**-20)
    out = np.full((3, 128), np.nan, np.float32)
    with tw.device(device):
        kernel[(1,)](x, y, z, out, 128)
    assert np.array_equal(out, np.broadcast_to(x * y + z, (3, 128)))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.usefixtures("compiler")
def test_small_floats_are_computed_in_float32(rng: np.random.Generator, device: str) -> None:
    x = rng.uniform(0.1, 0.9, 32).astype(np.float16)
    names = ["erfinv", "tgamma", "sinpi", "cyl_bessel_i0", "rcbrt", "j1"]
    out = np.full((len(names), 32), 77, np.float16)
    functions = tuple(getattr(libdevice, name) for name in names)
    with tw.device(device):
        make_kernel(functions, 1)[(1,)](out, x, x, x, x, 32)
    for name, got in zip(names, out, strict=True):
        for value, answer in zip(x, got, strict=True):
            wanted = np.float16(float(ROWS[name].meaning(mp.mpf(float(value)))))
            assert abs(answer - wanted) <= np.spacing(np.abs(wanted)), name


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("erfinv", np.int32, "takes floats"),
        ("sqrt_rz", np.float16, "takes float32 and float64"),
        ("float2int_rn", np.float64, "fewer bits"),
        ("int2float_rz", np.float32, "kind of number"),
        ("brev", np.int8, "int32 and int64"),
        ("rcp64h", np.float32, "takes float64"),
    ],
)
@pytest.mark.usefixtures("compiler")
def test_types_that_a_function_does_not_take_are_refused(name: str, kind: Any, words: str) -> None:
    x = np.ones(32, kind)
    with tw.device("cpu"), pytest.raises(tw.CompileError, match=words):
        make_kernel((getattr(libdevice, name),), 1)[(1,)](x.copy(), x, x, x, x, 32)


# What no formula gives by itself: zeros, infinities, poles, numbers outside of the domain.
SPECIAL = {
    "erfinv": {1: np.inf, -1: -np.inf, 2: np.nan, 0: 0},
    "erfcinv": {0: np.inf, 2: -np.inf, 1: 0, -1: np.nan, 3: np.nan},
    "erfcx": {np.inf: 0, -np.inf: np.inf},
    "normcdf": {np.inf: 1, -np.inf: 0, 0: 0.5},
    "normcdfinv": {0: -np.inf, 1: np.inf, 0.5: 0, 2: np.nan},
    "lgamma": {0: np.inf, -3: np.inf, 1: 0, 2: 0, np.inf: np.inf, -np.inf: np.inf},
    "tgamma": {0: np.inf, -3: np.nan, 5: 24, np.inf: np.inf, -np.inf: np.nan, 180: np.inf},
    "j0": {0: 1, np.inf: 0, -np.inf: 0},
    "j1": {0: 0, np.inf: 0},
    "y0": {0: -np.inf, np.inf: 0, -1: np.nan},
    "y1": {0: -np.inf, np.inf: 0, -1: np.nan},
    "cyl_bessel_i0": {0: 1, np.inf: np.inf, -np.inf: np.inf},
    "cyl_bessel_i1": {0: 0, np.inf: np.inf, -np.inf: -np.inf},
    "sinpi": {0.5: 1, 7: 0, 1e300: 0, np.inf: np.nan},
    "cospi": {0.5: 0, 7: -1, 1e300: 1, np.inf: np.nan},
    "rcbrt": {0: np.inf, np.inf: 0, 8: 0.5},
    "exp10": {2: 100, np.inf: np.inf, -np.inf: 0, 400: np.inf},
    "rsqrt_rn": {0: np.inf, 4: 0.5, np.inf: 0, -1: np.nan},
}


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.usefixtures("compiler")
def test_special_values_of_special_functions(device: str) -> None:
    values = np.resize(np.array(sorted({v for row in SPECIAL.values() for v in row})), 32)
    values[-1] = np.nan
    out = run([*SPECIAL], [values], "d", device)
    for (name, wanted), got in zip(SPECIAL.items(), out, strict=True):
        assert np.isnan(got[-1]), name
        for value, answer in zip(values, got, strict=True):
            if value in wanted:
                expected = wanted[value]
                is_same = answer == expected or (np.isnan(answer) and np.isnan(expected))
                assert is_same, f"{name}({value}) = {answer}, not {expected}"


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.usefixtures("compiler")
def test_norms_neither_overflow_nor_underflow(device: str) -> None:
    for code, scale in (("f", 2.0**100), ("f", 2.0**-120), ("d", 2.0**900), ("d", 2.0**-1000)):
        x, y = (np.full(16, side * scale, TYPES[code]) for side in (3, 4))
        assert np.all(run(["hypot"], [x, y], code, device) == 5 * scale)
        inverse = TYPES[code](1) / TYPES[code](5 * scale)
        assert np.all(run(["rhypot"], [x, y], code, device) == inverse)
    x, y = np.full(16, np.inf), np.full(16, np.nan)
    assert np.all(run(["hypot"], [x, y], "d", device) == np.inf)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.usefixtures("compiler")
def test_powers_with_integer_exponents(rng: np.random.Generator, device: str) -> None:
    x = rng.uniform(-2, 2, 32).astype(np.float32)
    n = rng.integers(-9, 10, 32).astype(np.int32)
    (got,) = run(["pow"], [x, n], "f", device)
    np.testing.assert_allclose(got, x.astype(np.float64) ** n, rtol=5e-7)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.usefixtures("compiler")
def test_numbers_are_arguments_too(device: str) -> None:
    @tw.jit
    def kernel(x, out, SIZE: tl.constexpr):
        i = tl.arange(0, SIZE)
        a = tl.load(x + i)
        tl.store(out + i, libdevice.hypot(a, 4))
        tl.store(out + SIZE + i, libdevice.div_rz(1.0, a))
        tl.store(out + 2 * SIZE + i, libdevice.sqrt_ru(2.0) + libdevice.ldexp(a, 3))
        tl.store(out + 3 * SIZE + i, libdevice.erfinv(0.5) * libdevice.mulhi(1 << 20, 1 << 15))

    x, out = np.full(16, 3, np.float32), np.full((4, 16), np.nan, np.float32)
    with tw.device(device):
        kernel[(1,)](x, out, 16)
    down = directed(Fraction(1, 3), np.float32, "d")
    up = directed(Fraction(math.sqrt(2.0)), np.float32, "u")
    assert np.array_equal(out[:, 0], np.float32([5, down, up + np.float32(24), 0.47693628 * 8]))
