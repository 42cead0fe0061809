"""`tw.jax.call`: a kernel as a function of JAX's arrays, by XLA's interface for foreign functions.

While JAX traces the function, the kernel is compiled for the shapes and dtypes, and the launch gets a
key; the program of XLA has the key as an attribute, by which the native module finds the launch without
code of Python (`python/bindings/XlaCalls.cpp`). Buffers are what they are at each run: for addresses that
are not multiples of 16 another binary is made by then.
"""

from __future__ import annotations

import contextvars
import hashlib
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from ..compile import CompiledKernel
from ..compile.facts import Facts
from ..launch.arguments import ArgumentProblem, constexpr_key
from ..launch.devices import chosen_device, device_choice, device_of_launch
from ..launch.options import Chosen
from ..launch.run import Programs, resolve_grid
from ..native import native
from ..native.errors import LaunchError
from .binding import Bound, Names, bind, chosen_way, inside_of, unclear
from .buffers import Buffer, Circumstances, Spec, check_width, is_pair, spec_of

_TARGET = "tilewright_call"
_registered: list[Any] = []
_ARRAYS: dict[type, bool] = {}  # what `_is_array` says of a type
# Launch options that XLA decides.
_OF_XLA = Chosen._fields


def call(
    kernel: Any, *, grid: Any, out_shapes: Any = (), in_out: str | Sequence[str] = (), **given: Any
) -> Callable[..., Any]:
    """A function of JAX's arrays that launches a kernel: within `jax.jit`, `vmap` (one launch after
    another), `shard_map`, `custom_vjp` or as it is.

    `grid` is one to three integers, or a function of the arguments by name. `out_shapes` says of each
    array that the kernel writes and the caller does not pass its shape and dtype: one
    jax.ShapeDtypeStruct or pair (shape, dtype), a sequence of them in the order of the parameters, or a
    mapping by parameter. `in_out` names arrays that the kernel reads and writes: the function returns
    them as the kernel leaves them. `given` are numbers, constants and launch options by name.

    The function takes the other arguments by position: arrays, which are row-major to the kernel, and
    numbers of Python. It returns an array, or where `out_shapes` is a sequence or `in_out` names some a
    tuple, results before those; of a mapping, a dictionary. An array of shape () is a pointer to its
    element, as in launches.

    Raises LaunchError TW0444 where the kernel stores to something else, for an autotuned kernel that has
    chosen no configuration, and for shapes without values; the function raises what compiling the
    kernel raises, and within XLA's errors what a run reports.
    """
    _register()
    name = inside_of(kernel).fn.__name__
    updated: Names = (in_out,) if isinstance(in_out, str) else tuple(in_out)
    for argument, value in given.items():
        if _is_array(value):
            raise unclear(
                name,
                f"`{argument}` is an array, and is given by name",
                "pass arrays to the function that tw.jax.call makes; numbers by name are numbers of Python: "
                "a kernel loads one that JAX computes from an array of shape ()",
            )
    for option in _OF_XLA:
        if given.get(option):
            message = f"the launch option {option}={given[option]!r} is not for programs of XLA"
            raise unclear(name, message, "leave it out: XLA says on which stream a launch runs, and when")
    results, form = _specs_of(out_shapes, name)
    prepared: dict[Any, _Prepared] = {}

    def run(*args: Any) -> Any:
        is_array = [*map(_is_array, args)]
        key = device_choice(), *(_key_of(name, i, *item) for i, item in enumerate(zip(is_array, args)))
        ready = prepared.get(key)
        if ready is None or not ready.kernel.is_current():
            described = [
                (is_one, spec_of(value, f"argument {i} of {name}") if is_one else value)
                for i, (is_one, value) in enumerate(zip(is_array, args))
            ]
            bound = bind(kernel, given, described, results, updated)
            ready = prepared[key] = _prepare(kernel, grid, bound)
        returned = ready.function(*itertools.compress(args, is_array))
        return form(ready.bound, returned)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = inside_of(kernel).fn.__doc__
    return run


def _key_of(kernel: str, number: int, is_array: bool, value: Any) -> Any:
    """The facts of an argument for which a call is prepared. Raises LaunchError TW0444 for one that is not an array and
    has arrays within."""
    if is_array:
        return value.shape, value.dtype
    try:
        return constexpr_key(value)
    except ArgumentProblem as problem:
        hint = "pass arrays by position, each as an argument of its own, and make descriptors in the kernel"
        raise unclear(kernel, f"argument {number}: {problem.message}", hint) from None


def _register() -> None:
    """Tell JAX of the handlers. Raises LaunchError TW0444 where there is no JAX."""
    try:
        import jax
        import jax.ffi
    except ImportError as error:
        raise LaunchError(
            f"tw.jax.call needs JAX, which is not there: {error}", code="TW0444", hint="pip install jax"
        ) from None
    if not _registered:
        on_host, on_gpu = native().xla_handlers()
        for platform, handler in (("cpu", on_host), ("CUDA", on_gpu), ("ROCM", on_gpu)):
            jax.ffi.register_ffi_target(_TARGET, handler, platform=platform)
        _registered.append((on_host, on_gpu))


def _is_array(value: Any) -> bool:
    """Returns true for what JAX takes as an array; a scalar of NumPy is a number."""
    kind = type(value)
    if kind not in _ARRAYS:
        has_shape = hasattr(value, "shape") and hasattr(value, "dtype") and hasattr(value, "ndim")
        _ARRAYS[kind] = has_shape and (kind.__module__ != "numpy" or hasattr(value, "ctypes"))
    return _ARRAYS[kind]


def _specs_of(
    given: Any, kernel: str
) -> tuple[Mapping[str, Spec] | Sequence[Spec], Callable[[Bound, Any], Any]]:
    """The specs of results, and what makes what is returned of a tuple of arrays."""
    if isinstance(given, Mapping):
        named = {str(k): spec_of(v, f"the result `{k}` of {kernel}") for k, v in given.items()}
        return named, lambda bound, arrays: dict(zip((*bound.results, *bound.updated), arrays))
    if isinstance(given, (tuple, list)) and not is_pair(given):
        specs = [spec_of(v, f"result {i} of {kernel}") for i, v in enumerate(given)]
        is_one = not specs
        return specs, lambda _, arrays: arrays[0] if is_one and len(arrays) == 1 else tuple(arrays)
    spec = spec_of(given, f"the result of {kernel}")
    return [spec], lambda _, arrays: arrays[0] if len(arrays) == 1 else tuple(arrays)


class _Prepared(NamedTuple):
    """A call for arrays of some shapes and dtypes."""

    bound: Bound
    kernel: CompiledKernel
    function: Callable[..., Any]


def _prepare(kernel: Any, grid: Any, bound: Bound) -> _Prepared:
    """Compile for a call, make it known to the native module, and make the function of JAX."""
    import jax

    inside = inside_of(kernel)
    if not bound.num_results:
        raise unclear(inside.fn.__name__, "it has no result", "say what it writes by out_shapes")
    launch = _Launch(kernel, bound)
    programs = launch.programs(grid)
    where = Circumstances(_default_place())
    compiled, values, bits = launch.compiled(where)
    stored = {index for _, _, is_stored, index in compiled.parameters if is_stored}
    sources = [
        (value.number, value.nbytes, index in stored, None)
        if isinstance(value, Buffer)
        else (-1, 0, False, bit if isinstance(bit, (int, float)) else None)
        for index, (value, bit) in enumerate(zip(values, bits))
    ]
    texts = [compiled.key, compiled.request.device, str(chosen_device()), repr(programs), repr(sources)]
    if compiled.is_opaque:
        texts.append(str(id(compiled)))
    key = hashlib.blake2b("\0".join(texts).encode(), digest_size=16).hexdigest()
    num_inputs, num_results = len(bound.inputs), bound.num_results
    native().add_xla_call(key, sources, num_inputs, num_results, programs, launch.make)
    order = [*bound.inputs]
    specs = [*bound.results.values(), *(bound.inputs[name] for name in bound.updated)]
    foreign = jax.ffi.ffi_call(
        _TARGET,
        [jax.ShapeDtypeStruct(spec.shape, spec.dtype) for spec in specs],
        vmap_method="sequential",
        input_output_aliases={
            order.index(name): len(bound.results) + k for k, name in enumerate(bound.updated)
        },
    )

    def run(*arrays: Any) -> Any:
        # Traced anew where jax_enable_x64 is another than when the call was prepared.
        for spec in (*bound.inputs.values(), *specs):
            check_width(spec.dtype, f"an array of {inside.fn.__name__}")
        return foreign(*arrays, key=key)

    run.__name__ = inside.fn.__name__
    return _Prepared(bound, compiled, jax.jit(_without_derivative(run, specs), inline=True))


def _without_derivative(run: Callable[..., Any], specs: Sequence[Spec]) -> Callable[..., Any]:
    """The function with a refusal in the place of JAX's, where results have derivatives at all."""
    import jax
    import numpy

    function = jax.custom_jvp(run)

    @function.defjvp
    def refuse(primals: Any, tangents: Any) -> Any:
        if any(jax.numpy.issubdtype(spec.dtype, jax.numpy.inexact) for spec in specs):
            raise LaunchError(
                f"the derivative of the launch of {run.__name__} has no rule",
                code="TW0445",
                hint="give it one: jax.custom_vjp around the function, with the kernels of its backward pass",
            )
        return run(*primals), [numpy.zeros(spec.shape, jax.dtypes.float0) for spec in specs]

    return function


def _default_place() -> str:
    """Where the arrays of a program are that says nothing else."""
    import jax.extend.backend

    backend: Any = jax.extend.backend.get_backend()
    if backend.platform not in ("gpu", "cuda", "rocm"):
        return ""
    return "hip:0" if "rocm" in f"{backend.platform} {backend.platform_version}".lower() else "cuda:0"


class _Launch:
    """A launch of which the kernels are made as the buffers of a run ask for them."""

    def __init__(self, kernel: Any, bound: Bound) -> None:
        self.kernel, self.inside, self.bound = kernel, inside_of(kernel), bound
        self.way = chosen_way(kernel, bound.arguments())
        # Which device was chosen, and what else decides how the kernel is compiled.
        self.context = contextvars.copy_context()

    def programs(self, grid: Any) -> Programs:
        """The grid as numbers."""
        arguments = {**self.inside._options._asdict(), **self.way} if callable(grid) else None
        return resolve_grid(grid, arguments)

    def compiled(self, where: Circumstances) -> tuple[CompiledKernel, tuple[Any, ...], list[Any]]:
        """The kernel for such buffers, with values and bits of all that it is given."""
        inside, name = self.inside, self.inside.fn.__name__
        buffers = self.bound.arguments(where)
        way = {k: buffers[k] if isinstance(v, Buffer) else v for k, v in self.way.items()}
        values, options, extra = inside._binder.bind((), way, inside._options)
        if not where.has_maps:
            options = options._replace(tensor_maps=False)
        facts, bits, values = inside._read(values)
        for fact, value in zip(facts, values):
            if isinstance(fact, Facts) and fact.is_pointer and not isinstance(value, Buffer):
                hint = "pass the array to the function by position, and make descriptors in the kernel"
                raise unclear(name, f"an argument has the memory of a {type(value).__name__}", hint)
        chosen = chosen_device()
        device = device_of_launch(chosen, inside._names(values), facts, name)
        if extra:
            inside._checked(extra, inside.compile_for((device, options, facts), values))
        compiled = inside._get_loaded((device, options, facts), values)
        if compiled is None:
            raise unclear(name, "a hook forbids to compile it")
        return compiled, values, bits

    def make(self, ordinal: int, is_aligned: bool, is_apart: bool, has_maps: bool) -> Any:
        """The native kernel for the buffers of a run on a GPU, or where `ordinal` is -1 on the host."""
        maker = _default_place().partition(":")[0] or "cuda"
        place = "" if ordinal < 0 else f"{maker}:{ordinal}"
        where = Circumstances(place, is_aligned, is_apart, has_maps)
        compiled, _, _ = self.context.copy().run(self.compiled, where)
        return compiled.native
