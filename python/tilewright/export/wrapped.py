"""Kernels under `autotune` and `heuristics`, whose choices a package does not make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..compile import Options
from ..native.errors import UnsupportedError
from ..tuning.autotune import Autotuner
from ..tuning.heuristics import Heuristics
from ..launch.jit import JITFunction
from .specializations import undecided


_DEFAULTS = Options._field_defaults


def unwrapped(kernel: Any) -> JITFunction:
    """The kernel under its wrappers. Raises TypeError where there is none."""
    while not isinstance(kernel, JITFunction):
        if not hasattr(kernel, "fn"):
            raise TypeError(f"{kernel!r} is not a kernel (a function under @tw.jit)")
        kernel = kernel.fn
    return kernel


def refuse_choices(
    kernel: Any, constexpr: Mapping[str, Any] | None, options: Mapping[str, Any]
) -> None:
    """Refuse a wrapper whose parameters have no value, or whose configurations ask for options that are
    not given. Raises UnsupportedError TW0801."""
    constants = constexpr or {}
    while not isinstance(kernel, JITFunction):
        how, names = _chosen_by(kernel)
        missing = [name for name in names if name not in constants]
        if not missing and isinstance(kernel, Autotuner):
            missing = _missing_options(kernel, constants, options)
        if missing:
            raise _chosen_at_launches(kernel.__name__, how, missing)
        kernel = kernel.fn


def _chosen_at_launches(kernel: str, how: str, missing: Sequence[str]) -> UnsupportedError:
    listed = ", ".join(f"`{name}`" for name in missing)
    return undecided(
        kernel,
        f"{listed} {'is' if len(missing) == 1 else 'are'} chosen by {how} at each launch, and "
        "a package has what it is given",
        "give values in constexpr, and num_warps and the like as options"
        + (", or export what was chosen: package.add_tuned, or --tuned STORE" if how == "autotune" else ""),
    )


def _missing_options(
    tuned: Autotuner, constants: Mapping[str, Any], options: Mapping[str, Any]
) -> list[str]:
    """Options that are not given, and are another number than the default in a configuration that has the
    constants."""
    fitting = [
        config.all_kwargs()
        for config in tuned.configs
        if all(constants[name] == value for name, value in config.kwargs.items())
    ]
    asked = {
        name
        for config in fitting
        for name, value in config.items()
        if name in Options._fields and value != _DEFAULTS.get(name)
    }
    return sorted(asked - {*options})


def _chosen_by(wrapper: Any) -> tuple[str, list[str]]:
    """Who chooses, and the names of the parameters."""
    if isinstance(wrapper, Autotuner):
        return "autotune", list(dict.fromkeys(name for c in wrapper.configs for name in c.kwargs))
    if isinstance(wrapper, Heuristics):
        return "heuristics", list(wrapper.values)
    return type(wrapper).__name__, []
