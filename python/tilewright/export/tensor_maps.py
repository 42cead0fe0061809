"""The tensor maps of compiled kernels, as tables of a package's C file: `struct tw_map`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..compile import CompiledKernel


class Factor(NamedTuple):
    """An integer argument that a launch multiplies by."""

    argument: str
    bits: int  # negative: without a sign


class Product(NamedTuple):
    """A number times the values of arguments."""

    factor: int
    arguments: tuple[Factor, ...]


class TensorMap(NamedTuple):
    """How a launch describes an array to copies of boxes: TensorMapRecipe of runtime/TensorMaps.h.
    Dimensions are innermost first, extents and strides in elements. Without a box, the code loads blocks."""

    array: str
    element: int  # CUtensorMapDataType
    element_bytes: int
    extents: tuple[Product, ...]
    strides: tuple[Product, ...]
    box: tuple[int, ...]
    span_bytes: int


def tensor_maps_of(compiled: CompiledKernel) -> tuple[TensorMap, ...]:
    """The maps that the kernel is passed behind its parameters, and the arrays that it loads blocks of."""
    names = [name for name, *_ in compiled.parameters]
    bits = [_bits(kind) for _, kind, *_ in compiled.parameters]

    def products(found: Sequence[tuple[int, Sequence[int]]]) -> tuple[Product, ...]:
        return tuple(
            Product(factor, tuple(Factor(names[number], bits[number]) for number in numbers))
            for factor, numbers in found
        )

    return tuple(
        TensorMap(
            array=names[recipe["parameter"]],
            element=recipe["element"],
            element_bytes=recipe["element_bytes"],
            extents=products(recipe["extents"]),
            strides=products(recipe["strides"]),
            box=tuple(recipe["box"]),
            span_bytes=recipe["span_bytes"],
        )
        for recipe in compiled.native.tensor_maps
    )


def _bits(kind: str) -> int:
    """The bits of a type such as "i32", negative without a sign; 0 of others than integers."""
    if kind[0] not in "iu" or not kind[1:].isdigit():
        return 0
    return int(kind[1:]) * (1 if kind[0] == "i" else -1)


def map_table(name: str, maps: Sequence[TensorMap], number: Callable[[str], int]) -> Iterator[str]:
    """The lines of a table of that name; `number` is that of an argument in the package."""
    factors: list[str] = []

    def row(products: Sequence[Product]) -> str:
        texts: list[str] = []
        for product in products:
            count, start = len(product.arguments), len(factors)
            factors.extend(f"{{{number(f.argument)}, {f.bits}}}" for f in product.arguments)
            place = f"&{name}_factors[{start}]" if count else "NULL"
            texts.append(f"{{INT64_C({product.factor}), {place}, {count}}}")
        return f"{{{', '.join(texts) or '{0, NULL, 0}'}}}"

    rows = [
        f"  {{{number(m.array)}, {m.element}, {m.element_bytes}, {m.span_bytes}, {len(m.extents)},\n   "
        f"{row(m.extents)},\n   {row(m.strides)},\n   {{{', '.join(map(str, m.box)) or 0}}}}},"
        for m in maps
    ]
    if factors:
        yield f"static const struct tw_factor {name}_factors[] = {{{', '.join(factors)}}};"
    yield f"static const struct tw_map {name}[] = {{"
    yield from rows
    yield "};"
