"""Checks a grid and runs a compiled kernel over it."""

from __future__ import annotations

import operator
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from . import hooks
from .arguments import Reinterpreted, current_stream, is_of_jax, mark_written
from .arguments.leaves import keeps_gradients, leaf_error
from ..compile.facts import Facts
from .options import Chosen
from .simulated import options_of_launch
from ..compile import CompiledKernel
from ..compile.options import COMPILED
from ..native.errors import GridNameError, LaunchError, nearest, raise_report
from ..native import knobs, native
from ..native.above import above
from ..native.targets import device_named

Programs = tuple[int, int, int]
_LARGEST = 0x7FFFFFFF
_MAP_REFUSED = "TW0420"


def resolve_grid(grid: Any, arguments: Mapping[str, Any] | None) -> Programs:
    """The grid as three numbers of programs. Raises LaunchError TW0402 for anything else."""
    if type(grid) is tuple and len(grid) == 1 and type(grid[0]) is int and 0 <= grid[0] <= _LARGEST:
        return grid[0], 1, 1
    if callable(grid):
        if type(arguments) is not GridArguments:
            arguments = GridArguments(arguments or {})
        grid = grid(arguments)
    try:
        extents = tuple(map(operator.index, grid))
    except TypeError:
        extents = (_single_extent(grid),)
    if not 1 <= len(extents) <= 3:
        raise _grid_error(f"a grid has one to three numbers, not {len(extents)}: {grid!r}")
    for axis, extent in enumerate(extents):
        if not 0 <= extent <= _LARGEST:
            problem = "negative" if extent < 0 else "too large"
            raise _grid_error(f"the grid {extents} is {problem} in dimension {axis}")
    x, y, z = (*extents, 1, 1)[:3]
    return x, y, z


class GridArguments(dict[str, Any]):
    """The arguments and options of a launch by name, as the function of its grid gets them."""

    def __missing__(self, name: object) -> NoReturn:
        close = nearest(str(name), self)
        there = ", ".join(f"`{known}`" for known in self if known not in COMPILED)
        raise GridNameError(
            f"the grid's function asks for `{name}`, but the launch has no such argument",
            code="TW0402",
            hint=f"did you mean `{close}`?" if close else f"it may ask for {there}",
        )


def _single_extent(grid: Any) -> int:
    try:
        return operator.index(grid)
    except TypeError:
        raise _grid_error(
            f"a grid is one to three integers or a function that gives them, not {grid!r}"
        ) from None


def _grid_error(message: str) -> LaunchError:
    return LaunchError(message, code="TW0402", hint="tw.cdiv(n, BLOCK) is the usual extent")


def check_stores(kernel: CompiledKernel, facts: Sequence[Any], values: Sequence[Any]) -> None:
    """Refuse a kernel that stores to an argument whose memory is read-only."""
    for name, _, is_stored, index in kernel.parameters:
        argument = facts[index]
        if is_stored and isinstance(argument, Facts) and argument.is_read_only:
            raise LaunchError(
                f"the kernel {kernel.name} stores to `{name}`, but the array passed is read-only",
                code="TW0403",
                hint="JAX's arrays do not change: tw.jax.call makes a function of the kernel"
                if is_of_jax(type(values[index]))
                else "pass a writable array, for example array.copy()",
            )


def _check_leaves(kernel: CompiledKernel, values: Sequence[Any]) -> None:
    """Refuse to store where torch's in-place operators would not."""
    if "torch" not in sys.modules:
        return
    for name, _, is_stored, index in kernel.parameters:
        tensor = values[index] if is_stored else None
        while isinstance(tensor, Reinterpreted):
            tensor = tensor.base
        if keeps_gradients(tensor):
            raise leaf_error(f"the kernel {kernel.name}", name)


def _check_order(kernel: CompiledKernel) -> None:
    """Refuse programs that wait for each other where they do not begin in the order of the grid."""
    request, order = kernel.request, kernel.request.options.swizzle_programs
    device = device_named(request.device)
    is_moved = device.backend == "hip" if order == "xcd" else "swizzle_programs" in device.options
    if order and is_moved:
        raise LaunchError(
            f"the launch of {kernel.name}: swizzle_programs={order!r} changes the order "
            "of the programs, which those of a cooperative grid may wait for",
            code="TW0332",
            hint="leave out swizzle_programs or launch_cooperative_grid",
        )


def launch(
    kernel: CompiledKernel, programs: Programs, values: tuple[Any, ...], bits: list[Any],
    chosen: Chosen | None = None,
) -> CompiledKernel:  # fmt: skip
    """Run a kernel; `values` are the arguments as given, `bits` as read. Gives the kernel that ran: one
    without tensor maps where none describes an array. Raises what it reports."""
    _check_leaves(kernel, values)
    if divert := hooks.divert.get():
        divert(kernel, programs, values, bits)
        return kernel
    chosen = chosen or Chosen()
    if chosen.launch_cooperative_grid:
        _check_order(kernel)
    memory = simulation = None
    if kernel.needs_memory:
        name = kernel.request.device
        memory = above("memories_of")(name, values, bits)
        simulation = options_of_launch(name, kernel.device)
    stream = current_stream(kernel.device) if chosen.stream is None else chosen.stream
    report = native().launch(
        kernel.native, programs, bits, values, mark_written, memory, stream,
        chosen.flags, simulation,
    )  # fmt: skip
    if report is None:
        return kernel
    suited = _without_maps(kernel, values) if report["code"] == _MAP_REFUSED else None
    if suited is None:
        raise_report(report)
    if knobs.settings().shows_remarks:
        print(f"remark[{_MAP_REFUSED}]: {report['message']}: threads copy it", file=sys.stderr)
    return launch(suited, programs, values, bits, chosen)


def _without_maps(kernel: CompiledKernel, values: tuple[Any, ...]) -> CompiledKernel | None:
    """The same kernel without tensor maps; None where it has no source to be compiled from again."""
    request = kernel.request
    if kernel.kernel_function is None or request.stage_files or not request.options.tensor_maps:
        return None
    options = request.options._replace(tensor_maps=False)
    found: CompiledKernel | None = kernel.kernel_function._get_loaded(
        (request.device, options, request.facts), values
    )
    return found
