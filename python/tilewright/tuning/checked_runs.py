"""Runs a candidate where every access is checked: `autotune(check="sim")`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from ..compile import CompiledKernel
from ..launch.arguments import Reinterpreted
from ..launch.run import resolve_grid
from ..testing.simulated import running_programs
from ..native.errors import CompilationError
from .arrays import target_of
from .configurations import Arguments, Config

# Programs of a grid that are simulated: races and wrong addresses are those of the first, the last, and
# some between.
_MOST_PROGRAMS = 16
_SIMULATOR_FOR_CPUS = "sim:sm_80"


def check_accesses(
    kernel: Any, config: Config, arguments: Arguments, grid: Any, call: Callable[..., Any]
) -> None:
    """Run a candidate on copies of its arrays: GPU code on its simulator; CPU code as a debug build, whose
    accesses are checked, and the kernel on a GPU's simulator, which finds races of programs. Raises
    DeviceError for what they find."""
    if not isinstance(kernel, CompiledKernel) or kernel.device.checks == "always":
        return  # each launch is checked
    copies = {name: _on_host(value) for name, value in arguments.items() if _is_array(value)}
    named = {**arguments, **copies, **config.all_kwargs()}
    if config.pre_hook:
        config.pre_hook(named)
    programs = resolve_grid(grid, {**kernel.request.options._asdict(), **named})
    if kernel.device.is_gpu:
        _simulate("sim:" + str(kernel.native.target).partition(":")[2], programs, call, config, copies)
        return
    call(config, False, {**copies, "debug": True, "sanitize_overflow": False})
    copies = {name: _on_host(arguments[name]) for name in copies}
    with suppress(CompilationError):  # a tile that a GPU's shared memory does not hold, for example
        _simulate(_SIMULATOR_FOR_CPUS, programs, call, config, copies)


def _simulate(
    device: str, programs: tuple[int, int, int], call: Callable[..., Any], config: Config,
    copies: Arguments,
) -> None:  # fmt: skip
    with running_programs(device, _sample(programs)):
        call(config, False, copies)


def _sample(programs: tuple[int, int, int]) -> list[int]:
    """The linear numbers of the programs to run; none for all of a small grid."""
    count = programs[0] * programs[1] * programs[2]
    if count <= _MOST_PROGRAMS:
        return []
    return sorted({i * (count - 1) // (_MOST_PROGRAMS - 1) for i in range(_MOST_PROGRAMS)})


def _is_array(value: Any) -> bool:
    return hasattr(value, "dtype") and hasattr(value, "shape") and not isinstance(value, Reinterpreted)


def _on_host(value: Any) -> Any:
    target = target_of(value)
    if hasattr(target, "cpu"):  # a tensor of torch
        copy = target.cpu()
        return copy.clone() if copy is target or copy.data_ptr() == target.data_ptr() else copy
    return target.numpy() if hasattr(target, "numpy") else target.copy()
