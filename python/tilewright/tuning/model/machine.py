"""What the model knows of the machine that a kernel is to run on."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from ...compile import Request, inspect
from ...native import native


class Cache(NamedTuple):
    """A level of a core's caches."""

    size: int  # bytes, of a shared one the core's share
    ways: int  # how many lines there are whose addresses differ by multiples of `way_bytes`
    way_bytes: int


class Processor(NamedTuple):
    """A processor as code for it sees it. Rates are per core and cycle."""

    threads: int
    vector_bytes: int
    registers: int
    products: dict[str, float]  # multiplications and additions of a matrix product by element type
    caches: tuple[Cache, ...]  # the smallest first
    rates: tuple[float, ...]  # bytes from the level behind each of them


# Bytes per cycle from the second level, the third, and memory. The first two are half of what vendors state
# for sequential reads (64 and 32 on Zen 4 and 5, 64 and 16 on Golden Cove), as loops reach; a core reads
# 21 to 25 GB/s from memory, 6 bytes of a cycle at 4 GHz.
_RATES = (32.0, 12.0, 6.0)
# Where the system does not say: as many server processors have.
_CACHES = (Cache(32 << 10, 8, 4 << 10), Cache(1 << 20, 8, 128 << 10), Cache(4 << 20, 16, 2 << 20))
# Cycles are only counted against each other; times that are told take this clock.
CYCLES_PER_MS = 4.0e6
_PRODUCT = re.compile(r"<mma = #(\w+), per_cycle = (\d+)")
_ELEMENT = re.compile(r"#(\w+) = #tile\.mma<[^,]+, (\w+) in")


@lru_cache(maxsize=None)
def caches() -> tuple[Cache, ...]:
    """The caches of data of the first core."""
    found: dict[int, Cache] = {}
    names = ("level", "type", "size", "ways_of_associativity", "shared_cpu_list")
    for index in Path("/sys/devices/system/cpu/cpu0/cache").glob("index*"):
        try:
            level, kind, text, ways, shared = ((index / name).read_text().strip() for name in names)
        except OSError:
            continue
        if kind != "Instruction":
            size = int(text.rstrip("KM")) * {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1)
            sharers = max(1, min(_count(shared), native().num_threads()))
            count = int(ways) or 1
            found[int(level)] = Cache(size // sharers, count, size // count)
    return tuple(found.get(level, other) for level, other in zip((1, 2, 3), _CACHES))


def _count(processors: str) -> int:
    """How many numbers a list like "0-3,8" names."""
    count = 0
    for part in processors.split(","):
        first, _, last = part.partition("-")
        count += int(last or first) - int(first) + 1 if first.isdigit() else 1
    return count


_known: dict[str, Processor] = {}


def processor_of(request: Request) -> Processor:
    """The processor that a request's device compiles for, as the compiler describes it."""
    if request.device not in _known:
        text = inspect(request, "lowered")
        elements = dict(_ELEMENT.findall(text))
        products: dict[str, float] = {}
        for mma, rate in _PRODUCT.findall(text):
            products.setdefault(elements.get(mma, "f32"), float(rate))
        _known[request.device] = Processor(
            native().num_threads(), _number(text, "vector_bytes", 32), _number(text, "registers", 16),
            products, caches(), _RATES,
        )  # fmt: skip
    return _known[request.device]


def _number(text: str, name: str, otherwise: int) -> int:
    match = re.search(rf"\b{name} = (\d+)", text)
    return int(match[1]) if match else otherwise
