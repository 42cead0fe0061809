"""Launches a kernel that is compiled already, with other arguments of the same kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .facts import Facts
from .parts import part_names
from ..errors import LaunchError
from .run import launch, resolve_grid
from .options import check_option, chosen_of

if TYPE_CHECKING:
    from ..compile import CompiledKernel


def runner(kernel: CompiledKernel, grid: Any) -> Callable[..., CompiledKernel]:
    """`kernel[grid]`: takes the arguments in the order of the signature, with or without the
    compile-time constants."""

    def run(
        *args: Any, stream: Any = None, launch_cooperative_grid: Any = None
    ) -> CompiledKernel:
        arguments = _all_values(kernel, args)
        function = kernel.kernel_function
        facts, bits, values = function._read(arguments)
        every = zip(kernel.request.parameters, kernel.request.facts, facts, bits)
        for name, compiled, given, value in every:
            if not fits(compiled, given, value):
                raise _misfit(kernel, name, compiled, given)
        device = kernel.request.device
        if launch_cooperative_grid is None:
            launch_cooperative_grid = kernel.is_cooperative
        extra = {"stream": stream, "launch_cooperative_grid": launch_cooperative_grid}
        for option, value in extra.items():
            check_option(option, value, device, kernel.name)
        chosen = chosen_of(extra, device, kernel.name)
        names = kernel.request.parameters
        programs = resolve_grid(grid, dict(zip(names, arguments)) if callable(grid) else None)
        if all(programs):
            function._launch_compiled(kernel, programs, values, bits, chosen)
        return kernel

    return run


def _all_values(kernel: CompiledKernel, args: tuple[Any, ...]) -> tuple[Any, ...]:
    # Behind the parameters come the parts of tuples, which are given with their tuple.
    names = kernel.kernel_function.arg_names
    facts, constants = kernel.request.facts[: len(names)], kernel.request.constants
    if len(args) == len(names):
        return args
    pairs = list(zip(facts, constants))
    known = [fact.equals if isinstance(fact, Facts) else value for fact, value in pairs]
    is_given = [
        fact.equals is None if isinstance(fact, Facts) else any(part_names([value]))
        for fact, value in pairs
    ]
    if len(args) == sum(is_given):
        given = iter(args)
        return tuple(next(given) if is_run_time else value for is_run_time, value in zip(is_given, known))
    raise LaunchError(
        f"the compiled kernel {kernel.name} takes {len(names)} arguments, {len(args)} given",
        code="TW0404",
        hint=f"its parameters are {', '.join(names)}",
    )


def fits(compiled: Any, given: Any, value: Any) -> bool:
    """Whether all that a kernel was compiled to assume of an argument holds for another one, `value`."""
    if not (isinstance(compiled, Facts) and isinstance(given, Facts)):
        return compiled == given
    if compiled.equals is not None:
        return not given.is_pointer and given.type == compiled.type and value == compiled.equals
    same = (compiled.is_pointer, compiled.type, compiled.place)
    return (
        same == (given.is_pointer, given.type, given.place)
        and given.divisibility % compiled.divisibility == 0
        and given.is_one >= compiled.is_one
        and given.is_disjoint >= compiled.is_disjoint
        and given.is_non_negative >= compiled.is_non_negative
        and given.is_large <= compiled.is_large
        and (given.is_read_only <= compiled.is_read_only)
    )


def _misfit(kernel: CompiledKernel, name: str, compiled: Any, given: Any) -> LaunchError:
    expected, found = (fact if isinstance(fact, Facts) else fact[-1] for fact in (compiled, given))
    return LaunchError(
        f"`{name}` of the compiled kernel {kernel.name} is {found}, and it was compiled for {expected}",
        code="TW0435",
        hint="launch the kernel itself: it compiles what a launch needs",
    )
