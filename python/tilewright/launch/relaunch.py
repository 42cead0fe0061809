"""Launches a kernel that is compiled already, with other arguments of the same kinds."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..compile.facts import Facts
from .arguments.tracing import hide_launches_from_torch, is_traced, untraced
from .parts import part_names
from ..native.errors import LaunchError
from .run import resolve_grid
from .options import Chosen, check_option, chosen_of

if TYPE_CHECKING:
    from ..compile import CompiledKernel


def runner(kernel: CompiledKernel, grid: Any) -> Callable[..., CompiledKernel | None]:
    """`kernel[grid]`: takes the arguments in the order of the signature, with or without the
    compile-time constants. Gives the kernel that ran: one that assumes less where arrays overlap or are
    larger than those that this one was compiled for."""

    @untraced
    def run(*args: Any, **options: Any) -> CompiledKernel | None:
        if is_traced(args):
            raise _traced_error(kernel)
        arguments, left_out = _all_values(kernel, args)
        function = kernel.kernel_function
        facts, bits, values = function._read(arguments)
        needed: list[Any] = []
        every = zip(kernel.request.facts, facts, bits)
        for index, (compiled, given, bit) in enumerate(every):
            needed.append(compiled if kernel.request.stage_files else _as_memory_lies(compiled, given))
            # A constant that is left out is the one compiled in, whatever its object holds by now.
            if index not in left_out and not fits(needed[-1], given, bit):
                raise _misfit(kernel, index, given, values[index])
        device = kernel.request.device
        given = {name: value for name, value in options.items() if value is not None}
        extra = {**kernel.launch_options, **given}
        for option, value in extra.items():
            if option not in Chosen._fields:
                raise TypeError(f"a launch of a compiled kernel has no option {option!r}")
            check_option(option, value, device, kernel.name)
        chosen = chosen_of(extra, device, kernel.name)
        names = kernel.request.parameters
        programs = resolve_grid(grid, dict(zip(names, arguments)) if callable(grid) else None)
        suited: CompiledKernel | None = kernel
        if all(programs):
            if tuple(needed) != kernel.request.facts:
                suited = function._get_loaded((device, kernel.request.options, tuple(needed)), values)
            if suited is not None:
                suited = function._launch_compiled(suited, programs, values, bits, chosen)
        return suited

    hide_launches_from_torch()
    return run


def _traced_error(kernel: CompiledKernel) -> LaunchError:
    return LaunchError(
        f"torch traces a launch of one compiled kernel of {kernel.name}, which no operator stands for",
        code="TW0443",
        hint=f"launch the kernel itself, {kernel.request.name}[grid](...)",
    )


def _all_values(
    kernel: CompiledKernel, args: tuple[Any, ...]
) -> tuple[tuple[Any, ...], set[int]]:
    """The values of all parameters, and which of them are left out."""
    # Behind the parameters come the parts of tuples, which are given with their tuple.
    names = kernel.kernel_function.arg_names
    if len(args) == len(names):
        return args, set()
    pairs = list(zip(kernel.request.facts[: len(names)], kernel.request.constants))
    known = [fact.equals if isinstance(fact, Facts) else value for fact, value in pairs]
    is_run_time = [
        fact.equals is None if isinstance(fact, Facts) else any(part_names([value]))
        for fact, value in pairs
    ]
    # An optional array that is None is a constant, too, and may be given with the others.
    is_undeclared = [not parameter.is_constant for parameter in kernel.kernel_function.parameters]
    for is_given in (is_run_time, is_undeclared):
        if len(args) == sum(is_given):
            given = iter(args)
            values = [next(given) if is_next else value for is_next, value in zip(is_given, known)]
            return tuple(values), {i for i, is_next in enumerate(is_given) if not is_next}
    raise LaunchError(
        f"the compiled kernel {kernel.name} takes {len(names)} arguments, {len(args)} given",
        code="TW0404",
        hint=f"its parameters are {', '.join(names)}",
    )


def _as_memory_lies(compiled: Any, given: Any) -> Any:
    """What a kernel for the given argument's memory may assume of what was assumed of an argument."""
    if not (isinstance(compiled, Facts) and isinstance(given, Facts) and given.is_pointer):
        return compiled
    return compiled.with_memory_of(given)


def fits(compiled: Any, given: Any, value: Any) -> bool:
    """Whether all that a kernel was compiled to assume of an argument holds for another one, `value`."""
    if not (isinstance(compiled, Facts) and isinstance(given, Facts)):
        return compiled == given
    if compiled.equals is not None:
        return not given.is_pointer and given.type == compiled.type and value == compiled.equals
    return compiled.admits(given)


def _misfit(
    kernel: CompiledKernel, index: int, given: Any, value: Any
) -> LaunchError:
    request = kernel.request
    name, compiled = request.parameters[index], request.facts[index]
    expected = compiled if isinstance(compiled, Facts) else request.constants[index]
    found = given if isinstance(given, Facts) else value
    if found is expected:
        found = f"{found} with other contents"
    return LaunchError(
        f"`{name}` of the compiled kernel {kernel.name} is {found}, and it was compiled for {expected}",
        code="TW0435",
        hint="launch the kernel itself: it compiles what a launch needs",
    )
