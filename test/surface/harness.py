"""Programs that exercise one feature each, and how one is made of an expression."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tilewright as tw
import tilewright.triton as triton
import tilewright.triton.language as tl

Program = Callable[[np.random.Generator], None]
BLOCK = 64

# Feature -> program; a program raises AssertionError for wrong numbers.
PROGRAMS: dict[str, Program] = {}
# Features of the host, whose answer does not depend on the device.
HOST: set[str] = set()
# Features of GPUs that are newer than the simulated one of the table, and the oldest that has them.
SIMULATED_BY: dict[str, str] = {}
# Feature -> why the row is not a feature of the language.
NOT_FEATURES: dict[str, str] = {}

HEAD = """
import math
import tilewright.triton as triton
import tilewright.triton.language as tl
from tilewright.triton.language.extra import libdevice
"""
KERNEL = """
{head}

@triton.jit
def kernel(X, Y, Z, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(X + i)
    y = tl.load(Y + i)
{body}
    tl.store(Z + i, z)
"""


def feature(*names: str, is_host: bool = False) -> Callable[[Program], Program]:
    """Make a function the program of features."""

    def register(program: Program) -> Program:
        for name in names:
            assert name not in PROGRAMS, name
            PROGRAMS[name] = program
            if is_host:
                HOST.add(name)
        return program

    return register


def define(text: str) -> Mapping[str, Any]:
    """The names that the text of a module defines; its kernels find their source in `text`."""
    names: dict[str, Any] = {"__name__": "surface_kernels"}
    exec(compile(text, "<surface>", "exec"), names)
    return names


def inputs(kind: str, rng: np.random.Generator, dtype: str) -> np.ndarray[Any, Any]:
    """BLOCK numbers: "any" of both signs, "positive", "unit" below 1, "small" counts from 0 to 7."""
    wanted = np.dtype("float32" if dtype in ("bfloat16",) else dtype)
    if wanted.kind == "b":
        return rng.integers(0, 2, BLOCK).astype(wanted)
    if wanted.kind in "iu":
        low = 1 if kind == "positive" or wanted.kind == "u" else -50
        low, high = (0, 8) if kind == "small" else (low, 100)
        return rng.integers(low, high, BLOCK).astype(wanted)
    values = rng.uniform(-0.95, 0.95, BLOCK) if kind == "unit" else rng.normal(0, 2, BLOCK)
    if kind == "positive":
        values = np.abs(values) + 0.1
    return values.astype(wanted)


def expression(
    name: str,
    body: str,
    expect: Callable[..., Any],
    dtype: str = "float32",
    out: str | None = None,
    kind: str = "any",
    head: str = "",
    rtol: float = 2e-5,
    atol: float = 2e-6,
    **options: Any,
) -> None:
    """Register the program of `z = ...` for `x` and `y` of a dtype; `expect` gets them as float64 or
    integers. A body of one expression is the value of z."""
    if "z =" not in body and "z:" not in body and "z +=" not in body:
        body = f"z = {body}"
    text = HEAD + KERNEL.format(
        head=textwrap.dedent(head), body=textwrap.indent(textwrap.dedent(body).strip(), "    ")
    )

    @feature(name)
    def program(rng: np.random.Generator) -> None:
        kernel = define(text)["kernel"]
        x, y = inputs(kind, rng, dtype), inputs(kind, rng, dtype)
        result = poisoned(BLOCK, out or dtype)
        kernel[(1,)](x, y, result, 50, BLOCK=BLOCK, **options)
        wide = [v.astype(np.float64) if v.dtype.kind == "f" else v for v in (x, y)]
        check(result, expect(*wide), rtol, atol)


TILE = """
{head}

@triton.jit
def kernel(X, Y, Z, n, BLOCK: tl.constexpr):
    r = tl.arange(0, 32)
    at = r[:, None] * 32 + r[None, :]
    t = tl.load(X + at)
    u = tl.load(Y + at)
{body}
"""


def tile(
    names: str | tuple[str, ...],
    body: str,
    expect: Callable[..., Any],
    dtype: str = "float32",
    out: str | None = None,
    kind: str = "any",
    head: str = "",
    rtol: float = 2e-5,
    atol: float = 2e-5,
    grid: tuple[int, ...] = (1,),
    zeroed: bool = False,
    **options: Any,
) -> None:
    """Register a program on tiles `t` and `u` of 32 x 32 at X and Y, whose body stores to Z: either as
    `z = ...` (a tile, a vector of 32 or a scalar by what `expect` gives) or by itself."""
    names = (names,) if isinstance(names, str) else names
    body = textwrap.dedent(body).strip()

    @feature(*names)
    def program(rng: np.random.Generator) -> None:
        x = np.concatenate([inputs(kind, rng, dtype) for _ in range(16)]).reshape(32, 32)
        y = np.concatenate([inputs(kind, rng, dtype) for _ in range(16)]).reshape(32, 32)
        wide = [v.astype(np.float64) if v.dtype.kind == "f" else v for v in (x, y)]
        expected = np.asarray(expect(*wide))
        places = {0: "0", 1: "tl.arange(0, {})", 2: "tl.arange(0, {})[:, None] * {} + tl.arange(0, {})"}
        lines = body
        if "tl.store(" not in body and "Z" not in body:
            lines = body if "z =" in body else f"z = {body}"
            place = places[expected.ndim]
            if expected.ndim == 1:
                place = place.format(expected.shape[0])
            elif expected.ndim == 2:
                place = place.format(expected.shape[0], expected.shape[1], expected.shape[1])
            lines += f"\ntl.store(Z + {place}, z)"
        text = HEAD + TILE.format(head=textwrap.dedent(head), body=textwrap.indent(lines, "    "))
        kernel = define(text)["kernel"]
        result = poisoned(expected.shape, out or dtype)
        if zeroed:
            result[...] = 0
        kernel[grid](x, y, result, 50, BLOCK=32, **options)
        check(result, expected, rtol, atol)


def poisoned(shape: Any, dtype: str) -> np.ndarray[Any, Any]:
    """An array full of what no program gives."""
    wanted = np.dtype(dtype)
    if wanted.kind == "f":
        return np.full(shape, np.nan, wanted)
    return np.full(shape, True if wanted.kind == "b" else np.iinfo(wanted).max - 5, wanted)


def check(found: Any, expected: Any, rtol: float = 2e-5, atol: float = 2e-6) -> None:
    """Raise AssertionError where numbers differ; integers must be equal."""
    found = np.asarray(found)
    expected = np.broadcast_to(np.asarray(expected), found.shape)
    if found.dtype.kind == "f":
        np.testing.assert_allclose(found.astype(np.float64), expected, rtol=rtol, atol=atol)
    else:
        np.testing.assert_array_equal(found, expected.astype(found.dtype))


def run(name: str, device: str, seed: int) -> str:
    """ "works", "refused: ..." with the first line of the refusal, or "wrong: ..."."""
    rng = np.random.default_rng([seed, *name.encode()])
    try:
        with tw.device(device):
            PROGRAMS[name](rng)
    except AssertionError as error:
        return f"wrong: {_line(str(error))}"
    except tw.InternalError as error:
        return f"wrong: {error.code} {_line(error.message)}"
    except tw.TilewrightError as error:
        return f"refused: {error.code} {_line(error.message)}"
    except Exception as error:
        return f"wrong: {type(error).__name__} {_line(str(error))}"
    return "works"


def _line(text: str) -> str:
    return " ".join(text.split())[:160]


__all__ = [
    "NOT_FEATURES", "PROGRAMS", "check", "define", "expression", "feature", "np", "poisoned", "tile", "tl",
    "triton",
]  # fmt: skip
