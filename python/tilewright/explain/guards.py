"""What launches of a compiled kernel have to pass, by name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..compile import CompiledKernel
from ..compile.facts import Facts, fact_rows


class Guard(NamedTuple):
    """A condition on a launch. Where one of a tensor map, or of an array that is loaded in blocks, fails, the launch runs code without, and
    a remark (TILEWRIGHT_REMARKS=1) has the guard's name; where another one fails, it runs the code
    for other facts."""

    name: str  # "a.stride[1]": of the array `a`; dimensions count from the innermost one, 0
    value: str  # what is looked at, in the words of the kernel's parameters: "2 * a_row"
    needs: str

    def __str__(self) -> str:
        return f"{self.name}: {self.value} is {self.needs}"


def guards_of(kernel: CompiledKernel) -> tuple[Guard, ...]:
    """The guards of a compiled kernel."""
    request, names = kernel.request, [name for name, *_ in kernel.parameters]
    of_facts = guards_of_facts(request.parameters, request.facts)
    # Loops may describe an array by maps of their own.
    return tuple(dict.fromkeys((*of_facts, *guards_of_maps(names, kernel.native.tensor_maps))))


def guards_of_facts(names: Sequence[str], facts: Sequence[Any]) -> Iterator[Guard]:
    """The guards of a specialization."""
    for name, assumed in zip(names, facts):
        if not isinstance(assumed, Facts):
            continue
        if assumed.known is not None:
            yield Guard(f"{name}.value", name, str(assumed.known))
            continue
        if assumed.divisibility > 1:
            what = "address" if assumed.is_pointer else "value"
            yield Guard(f"{name}.{what}", name, f"a multiple of {assumed.divisibility}")
        for fact in fact_rows():
            if fact.of_pointers == assumed.is_pointer and fact.part:
                # A binary that does not provide for a fact, as for large arrays, relies on its absence.
                if getattr(assumed, fact.name) == (fact.use == "assumed"):
                    yield Guard(f"{name}.{fact.part}", name, fact.needs)


def guards_of_maps(
    names: Sequence[str], recipes: Sequence[Mapping[str, Any]]
) -> Iterator[Guard]:
    """The guards of tensor maps: those that runtime/TensorMaps.cpp asks, by the same names. `names` are
    the parameters of the code."""
    for recipe in recipes:
        array, is_of_blocks = names[recipe["parameter"]], not recipe["box"]
        yield Guard(f"{array}.address", array, f"a multiple of {64 if is_of_blocks else 16}, not 0")
        bytes_of_element = recipe["element_bytes"]
        for dim, extent in enumerate(recipe["extents"]):
            if extent[1]:
                needs, scale = "from 1 to 2^32", 1
                if is_of_blocks and dim == 0:
                    needs, scale = "a multiple of 4, from 64 to below 2^24 bytes", bytes_of_element
                elif is_of_blocks:
                    needs = "from 1 to below 2^24"
                yield Guard(f"{array}.extent[{dim}]", _product(extent, scale, names), needs)
        for dim, stride in enumerate(recipe["strides"], 1):
            if stride[1]:
                needs = "a multiple of 16, from 16 to below 2^40"
                if is_of_blocks:
                    needs = "a multiple of 64, from 0 to below 2^40"
                if is_of_blocks and dim == 1:
                    span = recipe["span_bytes"]
                    needs = f"a multiple of {span}, from its bytes of a row to below 2^24"
                yield Guard(
                    f"{array}.stride[{dim}]", _product(stride, bytes_of_element, names), needs
                )


def _product(product: tuple[int, Sequence[int]], scale: int, names: Sequence[str]) -> str:
    factor, numbers = product
    factors = [str(factor * scale)] if factor * scale != 1 else []
    return " * ".join([*factors, *(names[number] for number in numbers)])
