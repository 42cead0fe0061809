"""Arithmetic on sizes for the host; kernels may call it on compile-time values."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .language.marks import constexpr_function


@constexpr_function
def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least n; 1 for n below 2."""
    return 1 << max(n - 1, 0).bit_length()


powers_of_two = next_power_of_2


class bucket:
    """The default of a compile-time constant that follows another argument, in steps:
    `def kernel(x, n, BLOCK: tw.constexpr = tw.bucket("n"))` is compiled once for each power of two, and
    BLOCK is the smallest one that is at least n.

    `sizes` gives the steps: a function of the number, or the sizes themselves, as in
    `tw.bucket("n", (64, 256, 1024))`, which refuses larger numbers. A launch may give the constant.
    """

    def __init__(
        self, follows: str, sizes: Callable[[int], int] | Iterable[int] = powers_of_two
    ) -> None:
        if not isinstance(follows, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"tw.bucket takes the name of a parameter, not {follows!r}")
        self.follows = follows
        self._function = sizes if callable(sizes) else None
        self.sizes = () if callable(sizes) else tuple(sorted(sizes))
        if not callable(sizes) and not self.sizes:
            raise ValueError(f"tw.bucket({follows!r}) has no sizes")

    def size_of(self, number: int) -> int:
        """The size for a number. Raises ValueError where none is large enough."""
        if self._function is not None:
            return self._function(max(number, 1))
        for size in self.sizes:
            if number <= size:
                return size
        raise ValueError(f"{number} is more than the largest size, {self.sizes[-1]}")

    def __repr__(self) -> str:
        return f"tw.bucket({self.follows!r})"
