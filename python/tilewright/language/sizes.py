"""Arithmetic on sizes for the host; kernels may call it on compile-time values."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from .marks import constexpr_function


@constexpr_function
def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least n; 1 for n below 2."""
    return 1 << max(n - 1, 0).bit_length()


class bucket:
    """The default of a compile-time constant that follows another argument, in steps:
    `def kernel(x, n, BLOCK: tw.constexpr = tw.bucket("n"))` is compiled once for each power of two, and
    BLOCK is the smallest one that is at least n.

    `sizes` gives the steps: a function of the number, or the sizes themselves, as in
    `tw.bucket("n", (64, 256, 1024))`, which refuses larger numbers. A launch may give the constant.
    """

    def __init__(
        self, follows: str, sizes: Callable[[int], int] | Iterable[int] = next_power_of_2
    ) -> None:
        if not isinstance(follows, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"tw.bucket takes the name of a parameter, not {follows!r}")
        self.follows = follows
        self._function = sizes if callable(sizes) else None
        given = () if callable(sizes) else tuple(sizes)
        if not all(isinstance(size, int) and size > 0 for size in given):
            raise TypeError(f"the sizes of tw.bucket({follows!r}) are positive integers, not {sizes!r}")
        self.sizes: tuple[int, ...] = tuple(sorted(given))
        if not callable(sizes) and not self.sizes:
            raise ValueError(f"tw.bucket({follows!r}) has no sizes")

    def size_of(self, number: int) -> int:
        """The size for a number. Raises ValueError where none is large enough, or the function gives
        none."""
        if self._function is not None:
            return self._checked(self._function, number)
        for size in self.sizes:
            if number <= size:
                return size
        raise ValueError(f"{number} is more than the largest size, {self.sizes[-1]}")

    @staticmethod
    def _checked(function: Callable[[int], int], number: int) -> int:
        try:
            size = function(max(number, 1))
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            raise ValueError(f"its sizes have none for {number}: {what}") from error
        if not isinstance(size, int):
            raise ValueError(f"its sizes give {size!r} for {number}, which is not an integer")
        if size < max(number, 1):
            raise ValueError(f"{size} is less than {max(number, 1)}")
        return size

    def __repr__(self) -> str:
        return f"tw.bucket({self.follows!r})"
