"""Which parameters of a kernel are inputs of a call and which are results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..launch.jit import JITFunction
from ..native.errors import CompileError, LaunchError
from .buffers import Buffer, Circumstances, Spec

Names = tuple[str, ...]


def unclear(kernel: str, message: str, hint: str = "") -> LaunchError:
    """The refusal of a call of which no function of JAX can be made."""
    return LaunchError(f"tw.jax.call of {kernel}: {message}", code="TW0444", hint=hint)


class Bound(NamedTuple):
    """The parameters of a call, by name."""

    inputs: dict[str, Spec]  # in the order in which JAX passes them
    results: dict[str, Spec]  # that the kernel only writes
    updated: Names  # of the inputs: returned with what the kernel leaves in them
    values: dict[str, Any]  # numbers, constants and options

    @property
    def num_results(self) -> int:
        """Arrays that are returned."""
        return len(self.results) + len(self.updated)

    def arguments(self, where: Circumstances = Circumstances()) -> dict[str, Any]:
        """The arguments of a launch, with stand-ins for buffers. Updated ones are the results' buffers."""
        returned = [*self.results, *self.updated]
        specs = {**self.inputs, **self.results}
        numbers = {name: number for number, name in enumerate(self.inputs)}
        numbers.update({name: len(self.inputs) + k for k, name in enumerate(returned)})
        buffers = {name: Buffer(numbers[name], *spec, where) for name, spec in specs.items()}
        return {**buffers, **self.values}


def inside_of(kernel: Any) -> JITFunction:
    """The function of Python that a kernel or what wraps it launches. Raises LaunchError TW0444."""
    inside: Any = kernel
    while not isinstance(inside, JITFunction):
        if not hasattr(inside, "fn"):
            raise unclear(repr(kernel), "it is not a kernel", "decorate the function with tw.jit")
        inside = inside.fn
    return inside


def bind(
    kernel: Any, given: Mapping[str, Any], args: Sequence[tuple[bool, Any]],
    results: Mapping[str, Spec] | Sequence[Spec], updated: Names,
) -> Bound:  # fmt: skip
    """Find the inputs and results of a call. `args` are (is an array, its spec or the value) of the
    positional arguments, which fill the parameters that are neither given by name nor results.

    Results without names are the parameters that the kernel stores to. Raises LaunchError TW0444 where
    they do not fit, and what compiling the kernel raises.
    """
    inside = inside_of(kernel)
    names = [parameter.name for parameter in inside.parameters]
    _check_names(inside, names, updated, results)
    if isinstance(results, Mapping):
        return _checked(kernel, _fill(inside, names, given, args, dict(results), updated))
    free = [name for name in names if name not in given][: len(args) + len(results)]
    free = [name for name in free if name not in updated]
    count = len(results)
    guess = free[len(free) - count :]
    try:
        bound = _fill(inside, names, given, args, dict(zip(guess, results)), updated)
        stored = _stored(kernel, bound)
    except CompileError:
        # The types of inputs and results may be exchanged: results may be the first parameters.
        if guess == free[:count]:
            raise
        guess = free[:count]
        bound = _fill(inside, names, given, args, dict(zip(guess, results)), updated)
        stored = _stored(kernel, bound)
    others = [name for name in names if name in stored and name not in updated]
    if len(others) == count and {*others} != {*guess} and {*others} <= {*free}:
        bound = _fill(inside, names, given, args, dict(zip(others, results)), updated)
    return _checked(kernel, bound)


def _check_names(inside: JITFunction, names: Sequence[str], updated: Names, results: Any) -> None:
    for name in (*updated, *(results if isinstance(results, Mapping) else ())):
        if name not in names:
            hint = f"its parameters: {', '.join(names)}"
            raise unclear(inside.fn.__name__, f"there is no parameter `{name}`", hint)
        if isinstance(results, Mapping) and name in updated and name in results:
            message = f"`{name}` is in out_shapes and in in_out"
            raise unclear(inside.fn.__name__, message, "leave it out of out_shapes: it has a shape")


def _fill(
    inside: JITFunction, names: Sequence[str], given: Mapping[str, Any],
    args: Sequence[tuple[bool, Any]], results: dict[str, Spec], updated: Names,
) -> Bound:  # fmt: skip
    free = [name for name in names if name not in given and name not in results]
    if len(args) > len(free):
        message = f"{len(args)} arguments are given for the parameters {', '.join(free) or 'none'}"
        raise unclear(inside.fn.__name__, message)
    filled = dict(zip(free, args))
    inputs = {name: value for name, (is_array, value) in filled.items() if is_array}
    values = {name: value for name, (is_array, value) in filled.items() if not is_array}
    for name in updated:
        if name not in inputs:
            raise unclear(inside.fn.__name__, f"no array is given for `{name}` of in_out")
    return Bound(inputs, results, updated, {**values, **given})


def chosen_way(kernel: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with the constants and options of the one way in which the kernel is launched: of an
    autotuned kernel the configuration that it has chosen. Raises LaunchError TW0444 without one."""
    name = inside_of(kernel).fn.__name__
    if kernel.touched_arguments() is None:
        message = "it has hooks, which would be given arrays without values"
        raise unclear(name, message, "call the kernel without its configurations")
    ways: list[dict[str, Any]] = kernel.ways(arguments)
    if len(ways) == 1:
        return ways[0]
    tuner = kernel
    while not hasattr(tuner, "configs_timings"):
        tuner = tuner.fn
    best = tuner.known_choice(arguments)
    fitting = [way for way in ways if best and best.all_kwargs().items() <= way.items()]
    if not fitting:
        raise unclear(
            name,
            f"it has {len(ways)} configurations, none was chosen for these arguments, and nothing can be "
            "measured while JAX traces",
            "launch it for NumPy arrays of these types before, in this process or with cache_results=True "
            "in an earlier one, or give the constants of one: "
            "tw.jax.call(kernel.fn, ..., BLOCK=128)",
        )
    return fitting[0]


def _stored(kernel: Any, bound: Bound) -> set[str]:
    inside = inside_of(kernel)
    stored = inside.stored_arguments(chosen_way(kernel, bound.arguments()))
    if stored is None:
        raise unclear(
            inside.fn.__name__,
            "nothing may be compiled (tw.freeze() or TILEWRIGHT_JIT=deny), so that it is not known what it "
            "stores to",
        )
    return stored


def _checked(kernel: Any, bound: Bound) -> Bound:
    """Refuse a kernel that stores elsewhere than the call says."""
    name = inside_of(kernel).fn.__name__
    stored, returned = _stored(kernel, bound), {*bound.results, *bound.updated}
    if extra := sorted(stored - returned):
        raise unclear(
            name,
            f"the kernel stores to `{extra[0]}`, which is not a result, and arrays of JAX do not change",
            f'name it in out_shapes={{"{extra[0]}": ...}}, or in in_out=("{extra[0]}",) where it reads it, too',
        )
    if missing := sorted(returned - stored):
        raise unclear(
            name,
            f"`{missing[0]}` would be a result, and the kernel does not store to it",
            f"it stores to {', '.join(sorted(stored)) or 'nothing'}",
        )
    return bound
