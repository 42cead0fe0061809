"""The names of `triton.profiler.language`: marks in kernels of what an instrumenting profiler would time.

Such a profiler is not here (`triton.profiler.start` refuses it), and without one the marks mean nothing,
as in Triton: a kernel with them is the kernel without them.
"""

from __future__ import annotations

from tilewright.language import constexpr_function
from tilewright.language.marks import scope as _scope

from ..absent import names_of

__all__ = ["disable_semantic", "enable_semantic", "enter_scope", "exit_scope", "scope"]

_SEMANTICS = ("triton", "gluon")

scope = _scope("scope", "`with pl.scope(name)`: the statements inside.")


@constexpr_function
def enter_scope(name: str) -> None:
    """The beginning of a part of the kernel."""
    _check_name(name)


@constexpr_function
def exit_scope(name: str) -> None:
    """The end of a part of the kernel."""
    _check_name(name)


def _check_name(name: object) -> None:
    if not isinstance(name, str):
        raise TypeError(f"a scope is named by a text, not by {name!r}")


def enable_semantic(semantic_name: str) -> None:
    """Choose whose kernels would be marked: "triton" or "gluon". Raises ValueError for others."""
    if semantic_name not in _SEMANTICS:
        raise ValueError(f"there is no language {semantic_name!r}; there are {', '.join(_SEMANTICS)}")


def disable_semantic(semantic_name: str) -> None:
    """Choose whose kernels would not be marked."""
    enable_semantic(semantic_name)


__path__: list[str] = []
__getattr__ = names_of(__name__)
