"""Shapes around the boundaries of a kernel's tiles, and how a case that fails becomes smaller."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator
from dataclasses import replace

from .examples import Example, Grid, grid_of, names_in, sizes_of

_LARGEST_TILE = 4096


def with_followers(example: Example) -> Example:
    """The example in which an array that has as many elements as one number says follows it."""
    varied = {name: example.entries[name] for name in example.numbers}
    follows: dict[str, str] = {}
    for name in example.arrays:
        entry = example.entries[name]
        equal = [number for number, value in varied.items() if value == entry and not _is_fixed(example, number)]
        if isinstance(entry, int) and len(equal) == 1:
            follows[name] = equal[0]
    return example.with_entries(follows)


def _is_fixed(example: Example, name: str) -> bool:
    value, type = example.entries[name], example.numbers[name]
    is_whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return not is_whole or type[0] not in "iu" or type == "i1" or "stride" in name.lower()


def varied_numbers(example: Example, fixed: Collection[str]) -> list[str]:
    """The integer parameters that cases vary: those with a number of their own, and no strides."""
    return [name for name in example.numbers if name not in fixed and not _is_fixed(example, name)]


def cases_of(example: Example, names: list[str], count: int, seed: int) -> list[Example]:
    """At most `count` cases, smallest first: numbers around multiples of the constants, one alone and all
    together, and no program or one where the grid has numbers. The example itself is among them. Raises
    ValueError for a count below 1."""
    if count < 1:
        raise ValueError(f"cases is 1 or more, not {count}")
    rng = random.Random(seed)
    sizes = {name: _sizes(example, name, rng) for name in names}
    longest = max((len(values) for values in sizes.values()), default=0)
    chosen: list[Example] = [example]
    for k in range(longest):
        together = {name: values[k % len(values)] for name, values in sizes.items()}
        chosen.append(example.with_entries(together))
    alone = [example.with_entries({name: value}) for name, values in sizes.items() for value in values]
    alone += [
        example.with_entries({name: rng.choice(values) for name, values in sizes.items()}) for _ in alone
    ]
    chosen += [with_programs(example, axis, programs) for axis, programs in _programs(example)]
    rng.shuffle(alone)
    unique: dict[str, Example] = {}
    for case in chosen + alone:
        if len(unique) < count and is_possible(case):
            unique.setdefault(describe(case), case)
    return sorted(unique.values(), key=weight)


def _sizes(example: Example, name: str, rng: random.Random) -> list[int]:
    value = example.entries[name]
    assert isinstance(value, int)
    tiles = {
        tile
        for tile in example.constants.values()
        if isinstance(tile, int) and not isinstance(tile, bool) and 2 <= tile <= _LARGEST_TILE
    }
    sizes = {0, 1, value}
    for tile in tiles or {max(2, value // 4)}:
        sizes |= {tile - 1, tile, tile + 1, 3 * tile + rng.randrange(1, tile)}
    if not any(name in names_in(example.entries[array]) for array in example.arrays):
        sizes = {size for size in sizes if size <= value}
    return sorted(sizes)


def _programs(example: Example) -> Iterator[tuple[int, int]]:
    """Axes of the grid whose programs are a number, each with fewer programs."""
    if not callable(example.grid):
        for axis, programs in enumerate(example.grid):
            if isinstance(programs, int):
                yield from ((axis, fewer) for fewer in (0, 1, programs // 2) if fewer < programs)


def with_programs(example: Example, axis: int, programs: int) -> Example:
    """The example with another number of programs along an axis."""
    assert not callable(example.grid)
    grid: Grid = (*example.grid[:axis], programs, *example.grid[axis + 1 :])
    return replace(example, grid=grid)


def is_possible(case: Example) -> bool:
    """Returns true if sizes and the grid are numbers that are not negative, as `n - 1` is for n = 0."""
    try:
        return len(grid_of(case)) > 0
    except (ValueError, ArithmeticError):
        return False


def weight(case: Example) -> tuple[int, int]:
    """The order of cases: by programs times sizes, then by the sum of sizes."""
    programs, sizes = 1, [size for size in sizes_of(case).values() if isinstance(size, int)]
    for part in grid_of(case):
        programs *= part + 1
    return programs * (1 + sum(sizes)), sum(sizes)


def describe(case: Example) -> str:
    """The values of numbers and constants, elements of arrays and the grid, in one line."""
    sizes = sizes_of(case)
    parts = [f"{name}={sizes[name]}" for name in case.numbers]
    parts += [f"{name}: {sizes[name]} x {type}" for name, type in case.arrays.items()]
    parts += [f"{name}={value!r}" for name, value in case.constants.items()]
    return f"{', '.join(parts)}; grid {grid_of(case)}"


def shrink(case: Example, names: list[str], shows: Callable[[Example], bool], tries: int) -> Example:
    """The smallest case that still shows what this one does, as far as so many tries find it."""
    is_smaller = True
    while is_smaller and tries > 0:
        is_smaller = False
        for smaller in _smaller(case, names):
            if tries <= 0 or not is_possible(smaller):
                continue
            tries -= 1
            if shows(smaller):
                case, is_smaller = smaller, True
                break
    return case


def _smaller(case: Example, names: list[str]) -> Iterator[Example]:
    """Cases one step below: fewer programs, then smaller numbers, large steps first; then half of a constant where
    that takes no more programs."""
    for axis, programs in enumerate(() if callable(case.grid) else case.grid):
        if isinstance(programs, int):
            yield from (with_programs(case, axis, fewer) for fewer in _below(programs))
    for name in names:
        value = case.entries[name]
        assert isinstance(value, int)
        yield from (case.with_entries({name: fewer}) for fewer in _below(value))
    for name, value in case.constants.items():
        if isinstance(value, int) and value > 1 and value % 2 == 0:
            smaller = replace(case, constants={**case.constants, name: value // 2})
            if is_possible(smaller) and weight(smaller) <= weight(case):
                yield smaller


def _below(value: int) -> list[int]:
    return sorted({fewer for fewer in (1, value // 2, 3 * value // 4, value - 1) if 0 <= fewer < value})
