"""Arithmetic on sizes for the host; kernels may call it on compile-time values."""

from __future__ import annotations

from .language.marks import constexpr_function


@constexpr_function
def next_power_of_2(n: int) -> int:
    """The smallest power of two that is at least n; 1 for n below 2."""
    return 1 << max(n - 1, 0).bit_length()
