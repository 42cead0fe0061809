"""Kernels under `autotune` and `heuristics`, whose choices a package does not make."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..launch.autotune import Autotuner, Heuristics
from ..launch.jit import JITFunction
from .specializations import undecided


def unwrapped(kernel: Any) -> JITFunction:
    """The kernel under its wrappers. Raises TypeError where there is none."""
    while not isinstance(kernel, JITFunction):
        if not hasattr(kernel, "fn"):
            raise TypeError(f"{kernel!r} is not a kernel (a function under @tw.jit)")
        kernel = kernel.fn
    return kernel


def refuse_choices(kernel: Any, constexpr: Mapping[str, Any] | None) -> None:
    """Refuse a wrapper whose parameters have no value. Raises UnsupportedError TW0801."""
    while not isinstance(kernel, JITFunction):
        how, names = _chosen_by(kernel)
        if missing := [name for name in names if name not in (constexpr or {})]:
            listed = ", ".join(f"`{name}`" for name in missing)
            raise undecided(
                kernel.__name__,
                f"{listed} {'is' if len(missing) == 1 else 'are'} chosen by {how} at each launch, and "
                "a package has what constexpr gives",
                "give values in constexpr"
                + (", or export what was chosen: package.add_tuned" if how == "autotune" else ""),
            )
        kernel = kernel.fn


def _chosen_by(wrapper: Any) -> tuple[str, list[str]]:
    """Who chooses, and the names of the parameters."""
    if isinstance(wrapper, Autotuner):
        return "autotune", list(dict.fromkeys(name for c in wrapper.configs for name in c.kwargs))
    if isinstance(wrapper, Heuristics):
        return "heuristics", list(wrapper.values)
    return type(wrapper).__name__, []
