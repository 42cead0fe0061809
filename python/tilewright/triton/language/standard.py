"""The names of `triton.language.standard`, the half-private ones that kernels import as well."""

from __future__ import annotations

from tilewright import language
from tilewright.language import *  # noqa: F403 (the same names)
from tilewright.language import constexpr_function
from tilewright.library.tiles import _add as _sum_combine
from tilewright.library.tiles import _exclusive_or as _xor_combine
from tilewright.library.tiles import _larger as _elementwise_max
from tilewright.library.tiles import _larger_at as _argmax_combine
from tilewright.library.tiles import _larger_at_any as _argmax_combine_tie_break_fast
from tilewright.library.tiles import _larger_at_left as _argmax_combine_tie_break_left
from tilewright.library.tiles import _larger_or_nan as _elementwise_max_propagate_nan
from tilewright.library.tiles import _multiply as _prod_combine
from tilewright.library.tiles import _or as _or_combine
from tilewright.library.tiles import _smaller as _elementwise_min
from tilewright.library.tiles import _smaller_at as _argmin_combine
from tilewright.library.tiles import _smaller_at_any as _argmin_combine_tie_break_fast
from tilewright.library.tiles import _smaller_at_left as _argmin_combine_tie_break_left
from tilewright.library.tiles import _smaller_or_nan as _elementwise_min_propagate_nan

from ..absent import names_of

__path__: list[str] = []
__getattr__ = names_of(__name__)


@constexpr_function
def _log2(i: int) -> int:
    """The logarithm of a power of two, rounded down for other numbers; also on the host."""
    return i.bit_length() - 1 if i > 0 else 0


@constexpr_function
def _is_power_of_two(i: int) -> bool:
    """Whether a number is 1, 2, 4, 8, ...; also on the host."""
    return i > 0 and i & (i - 1) == 0


__all__ = [
    "_argmax_combine", "_argmax_combine_tie_break_fast", "_argmax_combine_tie_break_left",
    "_argmin_combine", "_argmin_combine_tie_break_fast", "_argmin_combine_tie_break_left",
    "_elementwise_max", "_elementwise_max_propagate_nan", "_elementwise_min",
    "_elementwise_min_propagate_nan", "_is_power_of_two", "_log2", "_or_combine", "_prod_combine",
    "_sum_combine", "_xor_combine",
]  # fmt: skip
__all__ += language.__all__
