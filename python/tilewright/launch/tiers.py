"""What launches ask of the binaries that follow a general one: `jit(specialize="tiered")`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from ..compile import CompiledKernel


class Tiers(Protocol):
    """The binaries of one kernel for the very integers of launches that came often."""

    def chosen(self, kernel: CompiledKernel, bits: Sequence[Any]) -> CompiledKernel:
        """The binary for a launch that the general one fits."""
        ...

    def make_now(self, kernel: CompiledKernel, bits: Sequence[Any]) -> None:
        """Make the binary for a launch's integers, and wait for it."""
        ...

    def settle(self) -> None:
        """Wait until nothing is compiled in the background."""
        ...


# (kernel, launches that make integers hot, most binaries) -> its tiers. `import tilewright` registers it.
Maker = Callable[[Any, int, int], Tiers]
_maker: Maker | None = None


def register(maker: Maker) -> None:
    """Take the maker of tiers."""
    global _maker
    _maker = maker


def make_tiers(function: Any, hot_launches: int, most_exact: int) -> Tiers:
    """The tiers of a kernel. Raises ValueError for numbers that are not positive."""
    assert _maker is not None  # `import tilewright` brings it
    return _maker(function, hot_launches, most_exact)
