"""The functions of tw.libdevice: argument and result types, exact meaning, allowed error.

Those of the language under the same names have their rows in ir/tile/Elementwise.td. `page` is
LIBDEVICE.md, the table for users.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import mpmath as mp
import numpy as np
from table_rows import records

mp.mp.dps = 40
INF, NAN = float("inf"), float("nan")
TYPES = {
    "f": np.float32, "d": np.float64, "i": np.int32, "u": np.uint32, "l": np.int64, "m": np.uint64,
    "b": np.bool_,
}  # fmt: skip
NAMES = {"f": "float32", "d": "float64", "i": "int32", "u": "uint32", "l": "int64", "m": "uint64",
         "b": "int1"}  # fmt: skip


@dataclass(frozen=True)
class Row:
    """One function: overloads such as "ff>f dd>d", and what it yields for exact arguments."""

    name: str
    overloads: tuple[str, ...]
    meaning: Callable[..., Any]  # of mpf or int; of the NumPy scalars where `is_exact`
    ulp: tuple[float, float] = (0, 0)  # float32, float64
    low: float = -10.0  # the range of random arguments
    high: float = 10.0
    absolute: float = 0.0  # where the result is smaller than this counts as near zero
    is_exact: bool = False


ROWS: dict[str, Row] = {}


def add(names: str, overloads: str, meaning: Callable[..., Any], *ulp: float, **rest: Any) -> None:
    for name in names.split():
        errors = (ulp * 2)[:2] if ulp else (0, 0)
        is_exact = rest.pop("is_exact", not ulp)
        ROWS[name] = Row(name, tuple(overloads.split()), meaning, errors, is_exact=is_exact, **rest)


# Functions under names of libdevice's own. What the language has under the same name, its rows say.
UNARY = "f>f d>d"
for _name, _meaning, _low, _high in (
    ("fast_expf", mp.exp, -80, 80), ("exp10 fast_exp10f", lambda x: mp.mpf(10) ** x, -37, 37),
    ("fast_logf", mp.log, 1e-3, 1e3), ("fast_log2f", lambda x: mp.log(x, 2), 1e-3, 1e3),
    ("fast_log10f", mp.log10, 1e-3, 1e3),
    ("rcbrt", lambda x: mp.sign(x) / mp.cbrt(abs(x)), -9, 9), ("fast_sinf", mp.sin, -40, 40),
    ("fast_cosf", mp.cos, -40, 40), ("fast_tanf", mp.tan, -40, 40),
    ("fast_tanhf", mp.tanh, -9, 9),
):  # fmt: skip
    add(_name, UNARY, _meaning, 4, 6, low=_low, high=_high)
add("pow fast_powf", "ff>f dd>d", mp.power, 4, 4, low=0.01, high=9)
add("fast_dividef", "ff>f dd>d", lambda x, y: x / y, 2, 0.5, low=0.1)


# Special functions.
def inverse_erfc(y: mp.mpf) -> mp.mpf:
    """By the logarithm of erfc, so that it holds for every y."""
    if y > 1:
        return -inverse_erfc(2 - y)
    guess = mp.sqrt(-mp.log(y)) if y < mp.mpf("0.1") else (1 - y) * mp.sqrt(mp.pi) / 2
    return mp.findroot(lambda z: mp.log(mp.erfc(z)) - mp.log(y), guess)


def inverse_erf(x: mp.mpf) -> mp.mpf:
    return x if x == 0 else mp.sign(x) * inverse_erfc(1 - abs(x))


add("erfinv", UNARY, inverse_erf, 0.51, 5, low=-1, high=1)
add("erfcinv", UNARY, inverse_erfc, 0.51, 5, low=1e-3, high=2)
add("erfcx", UNARY, lambda x: mp.exp(x * x) * mp.erfc(x), 0.51, 5, low=-5, high=30)
add("normcdf", UNARY, lambda x: mp.erfc(-x / mp.sqrt(2)) / 2, 0.51, 6, low=-12, high=8)
add("normcdfinv", UNARY, lambda p: -mp.sqrt(2) * inverse_erfc(2 * p), 0.51, 6, low=1e-6, high=1)
add("lgamma", UNARY, lambda x: mp.re(mp.loggamma(x)), 0.51, 6, low=-2.2, high=30)
add("tgamma", UNARY, mp.gamma, 0.51, 12, low=-25, high=33)
add("j0", UNARY, lambda x: mp.besselj(0, x), 0.51, 12, low=-8, high=50, absolute=0.05)
add("j1", UNARY, lambda x: mp.besselj(1, x), 0.51, 12, low=-8, high=50, absolute=0.05)
add("y0", UNARY, lambda x: mp.bessely(0, x), 0.51, 12, low=0.01, high=50, absolute=0.5)
add("y1", UNARY, lambda x: mp.bessely(1, x), 0.51, 8, low=0.01, high=50, absolute=0.5)
add("jn", "if>f id>d", lambda n, x: mp.besselj(int(n), x), 0.51, 64, low=-30, high=30,
    absolute=0.05)  # fmt: skip
add("yn", "if>f id>d", lambda n, x: mp.bessely(int(n), x), 0.51, 64, low=0.5, high=30,
    absolute=0.5)  # fmt: skip
add("cyl_bessel_i0", UNARY, lambda x: mp.besseli(0, x), 0.51, 8, low=-30, high=60)
add("cyl_bessel_i1", UNARY, lambda x: mp.besseli(1, x), 0.51, 8, low=-30, high=60)
add("sinpi", UNARY, mp.sinpi, 2, 4, low=-9, high=9)
add("cospi", UNARY, mp.cospi, 2, 4, low=-9, high=9)


def norm(*parts: mp.mpf) -> mp.mpf:
    return mp.sqrt(mp.fsum(part * part for part in parts))


for _name, _count in (("hypot rhypot", 2), ("norm3d rnorm3d", 3), ("norm4d rnorm4d", 4)):
    _plain, _inverse = _name.split()
    _types = f"{'f' * _count}>f {'d' * _count}>d"
    add(_plain, _types, norm, 0.51, 1.1)
    add(_inverse, _types, lambda *parts: 1 / norm(*parts), 2.0)


# Exact: to nearest and in a direction.
def exact(value: Any) -> Fraction:
    return Fraction(float(value))


def directed(value: Fraction, kind: type, mode: str) -> Any:
    """A number that is not 0 in a float type, rounded to the even nearest, to 0, down or up."""
    limits = np.finfo(kind)
    sign = -1 if value < 0 else 1
    size, unit = abs(value), Fraction(2)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    exponent -= unit**exponent > size
    last = max(exponent, int(limits.minexp)) - int(limits.nmant)
    scaled = value / unit**last
    if mode == "n":
        whole = round(scaled)
    elif mode == "d" or (mode == "z" and value > 0):
        whole = math.floor(scaled)
    else:
        whole = math.ceil(scaled)
    if abs(whole) * unit**last <= Fraction(float(limits.max)):
        return kind(sign * math.ldexp(abs(whole), last))
    is_kept = mode == "z" or (mode == "d" and value > 0) or (mode == "u" and value < 0)
    return kind(sign * (float(limits.max) if is_kept else INF))


def zero_of_sum(signs: tuple[bool, bool], mode: str) -> float:
    if signs[0] == signs[1]:
        return -0.0 if signs[0] else 0.0
    return -0.0 if mode == "d" else 0.0


def rounded_sum(x: Any, y: Any, mode: str) -> Any:
    if not (np.isfinite(x) and np.isfinite(y)):
        return x + y
    total = exact(x) + exact(y)
    if total == 0:
        return type(x)(zero_of_sum((bool(np.signbit(x)), bool(np.signbit(y))), mode))
    return directed(total, type(x), mode)


def rounded_product(x: Any, y: Any, mode: str) -> Any:
    if not (np.isfinite(x) and np.isfinite(y)) or x == 0 or y == 0:
        return x * y
    return directed(exact(x) * exact(y), type(x), mode)


def rounded_quotient(x: Any, y: Any, mode: str) -> Any:
    if not (np.isfinite(x) and np.isfinite(y)) or x == 0 or y == 0:
        return x / y
    return directed(exact(x) / exact(y), type(x), mode)


def rounded_root(x: Any, mode: str) -> Any:
    if not np.isfinite(x) or x <= 0:
        return np.sqrt(x)
    # 160 bits of the root, and one more that says whether it goes on.
    shift = 2 * (160 + int(np.finfo(type(x)).nmant) + 1100)
    scaled = exact(x) * Fraction(2) ** shift
    root = math.isqrt(scaled.numerator // scaled.denominator)
    is_whole = root * root == scaled
    return directed(Fraction(2 * root + (not is_whole), 2 * 2 ** (shift // 2)), type(x), mode)


def rounded_inverse_root(x: Any, mode: str) -> Any:
    if not np.isfinite(x) or x <= 0:
        return type(x)(1) / np.sqrt(x)
    return type(x)(float(1 / mp.sqrt(mp.mpf(float(x)))))  # 40 digits: no float is so near to a tie


def rounded_fma(x: Any, y: Any, z: Any, mode: str) -> Any:
    if not (np.isfinite(x) and np.isfinite(y)):
        return x * y + z
    if not np.isfinite(z):
        return z
    total = exact(x) * exact(y) + exact(z)
    if total == 0:
        sign = bool(np.signbit(x)) != bool(np.signbit(y))
        return type(x)(zero_of_sum((sign, bool(np.signbit(z))), mode))
    return directed(total, type(x), mode)


FLOAT_2 = "ff>f dd>d"
for _mode in "nzdu":
    add(f"add_r{_mode}", FLOAT_2, lambda x, y, m=_mode: rounded_sum(x, y, m))
    add(f"sub_r{_mode}", FLOAT_2, lambda x, y, m=_mode: rounded_sum(x, -y, m))
    add(f"mul_r{_mode}", FLOAT_2, lambda x, y, m=_mode: rounded_product(x, y, m))
    add(f"div_r{_mode}", FLOAT_2, lambda x, y, m=_mode: rounded_quotient(x, y, m))
    add(f"rcp_r{_mode}", UNARY, lambda x, m=_mode: rounded_quotient(type(x)(1), x, m))
    add(f"sqrt_r{_mode}", UNARY, lambda x, m=_mode: rounded_root(x, m))
    add(f"fma_r{_mode}", "fff>f ddd>d", lambda x, y, z, m=_mode: rounded_fma(x, y, z, m))
add("rsqrt_rn", "f>f", lambda x: rounded_inverse_root(x, "n"))


# Conversions.
def to_integer(x: Any, mode: str, code: str) -> int:
    limits = np.iinfo(TYPES[code])
    if np.isnan(x):
        return 0
    if np.isinf(x):
        return int(limits.max if x > 0 else limits.min)
    rounding = {"n": round, "z": math.trunc, "d": math.floor, "u": math.ceil}[mode]
    return min(max(int(rounding(exact(x))), int(limits.min)), int(limits.max))


def to_float(x: Any, mode: str, code: str) -> Any:
    kind = TYPES[code]
    is_integer = isinstance(x, np.integer)
    if not is_integer and (not np.isfinite(x) or x == 0):
        return kind(x)
    if x == 0:
        return kind(0)
    return directed(Fraction(int(x)) if is_integer else exact(x), kind, mode)


INTEGERS = {"int": "i", "uint": "u", "ll": "l", "ull": "m"}
for _mode in "nzdu":
    for _word, _code in INTEGERS.items():
        for _float, _kind in (("float", "f"), ("double", "d")):
            add(f"{_float}2{_word}_r{_mode}", f"{_kind}>{_code}",
                lambda x, m=_mode, c=_code: to_integer(x, m, c))  # fmt: skip
            if _mode == "n" or _kind == "f" or _code in "lm":
                add(f"{_word}2{_float}_r{_mode}", f"{_code}>{_kind}",
                    lambda x, m=_mode, c=_kind: to_float(x, m, c))  # fmt: skip
    add(f"double2float_r{_mode}", "d>f", lambda x, m=_mode: to_float(x, m, "f"))
add("llrint", "f>l d>l", lambda x: to_integer(x, "n", "l"))


def half_away(x: Any) -> float:
    return math.copysign(math.floor(abs(exact(x)) + Fraction(1, 2)), x)


def whole(function: Callable[[Fraction], Any]) -> Callable[[Any], Any]:
    """A rounding of finite numbers; others and the sign of 0 stay."""
    return lambda x: (
        x if not np.isfinite(x) else type(x)(math.copysign(float(function(exact(x))), x))
    )


add("llround", "f>l d>l", lambda x: to_integer(x if not np.isfinite(x) else half_away(x), "n", "l"))
add("nearbyint", UNARY, whole(round))


def reinterpret(source: str, target: str) -> Callable[[Any], Any]:
    return lambda x: TYPES[source](x).view(TYPES[target])


add("int_as_float", "i>f", reinterpret("i", "f"))
add("uint_as_float", "u>f", reinterpret("u", "f"))
add("float_as_int", "f>i", reinterpret("f", "i"))
add("float_as_uint", "f>u", reinterpret("f", "u"))
add("longlong_as_double", "l>d", reinterpret("l", "d"))
add("double_as_longlong", "d>l", reinterpret("d", "l"))
add("hiloint2double", "ii>d", lambda h, l: struct.unpack("<d", struct.pack("<ii", l, h))[0])
add("double2loint", "d>i", lambda x: struct.unpack("<ii", struct.pack("<d", x))[0])
add("double2hiint", "d>i", lambda x: struct.unpack("<ii", struct.pack("<d", x))[1])

# Parts and questions.
add("signbit", "f>i d>i", np.signbit)
add("isnan", "f>b d>b", np.isnan)
add("isinf", "f>b d>b", np.isinf)
add("finitef isfinited", "f>b d>b", np.isfinite)
add("nextafter", FLOAT_2, np.nextafter)
add("fdim", FLOAT_2, lambda x, y: x - y if not x <= y else type(x)(0))
add("fmod", FLOAT_2, np.fmod)
add("saturatef", UNARY, lambda x: min(x, type(x)(1)) if x > 0 else type(x)(0))


def remainder(x: Any, y: Any) -> Any:
    if np.isnan(x) or np.isnan(y) or np.isinf(x) or y == 0:
        return type(x)(NAN)
    if np.isinf(y):
        return x
    return type(x)(math.remainder(float(x), float(y)))


def scale(x: Any, n: Any) -> Any:
    if not np.isfinite(x) or x == 0:
        return x
    return directed(exact(x) * Fraction(2) ** min(max(int(n), -5000), 5000), type(x), "n")


def exponent(x: Any) -> int:
    if np.isnan(x) or x == 0:
        return -(2**31)
    return 2**31 - 1 if np.isinf(x) else math.frexp(float(x))[1] - 1


add("remainder", FLOAT_2, remainder)
add("ldexp scalbn", "fi>f di>d", scale)
add("ilogb", "f>i d>i", exponent)
add("logb", UNARY, lambda x: abs(x) if not np.isfinite(x) else -INF if x == 0 else exponent(x))


def upper_half_of_inverse(x: Any) -> Any:
    tiny = float(np.finfo(np.float64).tiny)
    inverse = np.float64(1) / (x if not abs(x) < tiny else np.copysign(0.0, x))
    inverse = inverse if not abs(inverse) < tiny else np.copysign(0.0, inverse)
    return (np.float64(inverse).view(np.int64) & -(2**32)).view(np.float64)


add("rcp64h", "d>d", upper_half_of_inverse)


# Integers.
def bits(x: Any) -> int:
    return int(x) % 2 ** (8 * x.itemsize)


def wrap(value: int, x: Any) -> int:
    size = 8 * x.itemsize
    value %= 2**size
    return value - 2**size if isinstance(x, np.signedinteger) and value >= 2 ** (size - 1) else value


def low_24(x: Any) -> int:
    value = bits(x) % 2**24
    return value - 2**24 if isinstance(x, np.signedinteger) and value >= 2**23 else value


def permuted(x: Any, y: Any, selector: Any) -> int:
    source = (bits(x) | bits(y) << 32).to_bytes(8, "little")
    chosen = bytes(source[bits(selector) >> 4 * i & 7] for i in range(4))
    return wrap(int.from_bytes(chosen, "little"), x)


add("clz", "i>i l>i", lambda x: 8 * x.itemsize - bits(x).bit_length())
add("popc", "i>i l>i", lambda x: bits(x).bit_count())
add("ffs", "i>i l>i", lambda x: (bits(x) & -bits(x)).bit_length())
add("brev", "i>i l>l", lambda x: wrap(int(f"{bits(x):0{8 * x.itemsize}b}"[::-1], 2), x))
add("byte_perm", "iii>i", permuted)
add("mulhi", "ii>i uu>u ll>l mm>m", lambda x, y: wrap(int(x) * int(y) >> 8 * x.itemsize, x))
add("mul24", "ii>i uu>u", lambda x, y: wrap(low_24(x) * low_24(y), x))
add("sad", "iiu>i uuu>u", lambda x, y, z: wrap(abs(int(x) - int(y)) + int(z), x))
add("hadd", "ii>i uu>u", lambda x, y: (int(x) + int(y)) >> 1)
add("rhadd", "ii>i uu>u", lambda x, y: (int(x) + int(y) + 1) >> 1)


def elementwise_rows() -> dict[str, dict[str, Any]]:
    """The functions that the language has under the same names, by the compiler's table."""
    rows = {row["Name"]: row for row in records("Elementwise.td", "Elementwise")}
    return {name: row for name, row in rows.items() if name not in ROWS}


def elementwise_line(row: dict[str, Any]) -> str:
    kinds = ("fd" if row["FloatOp"] else "") + ("il" if row["SIntOp"] else "")
    overloads = [f"{kind * row['NumOperands']}>{kind}" for kind in kinds]
    error = row["UlpF32"]
    return line(row["Name"], overloads, f"{error} | {max(error, 4)}" if error else EXACT)


def library_line(row: Row) -> str:
    near = f" (\\|y\\| < {row.absolute:g})" if row.absolute else ""
    errors = f"{row.ulp[0]:g}{near} | {row.ulp[1]:g}{near}"
    return line(row.name, row.overloads, EXACT if row.is_exact else errors)


EXACT = "exact | exact"


def line(name: str, overloads: Sequence[str], errors: str) -> str:
    types = ", ".join(
        f"({', '.join(NAMES[c] for c in o.split('>')[0])}) -> {NAMES[o[-1]]}" for o in overloads
    )
    return f"| `{name}` | {types} | {errors} |\n"


HEAD = """# tw.libdevice

The names of CUDA's device math library, on every target. `test/python/kernels/test_libdevice.py`
writes this table (`GOLDEN=accept`) and holds every row of it, `test_op_elementwise.py` those of the
language's own functions. Errors are in units in the last place of the result, for float32 and
float64; near a zero that no formula cancels (`|y| <` the number), in units of that number.

The special functions of float32 (`erfinv`, `lgamma`, `j0`, ...) are computed in float64, which
costs GPUs with few units for it time. `tw.extern_elementwise` finds a function by its symbol,
`__nv_acosf` for `acos` of float32.

| name | types | error, float32 | float64 |
|---|---|---|---|
"""


def page() -> str:
    """The text of LIBDEVICE.md."""
    lines = {name: library_line(row) for name, row in ROWS.items()}
    lines |= {name: elementwise_line(row) for name, row in elementwise_rows().items()}
    return HEAD + "".join(lines[name] for name in sorted(lines))
