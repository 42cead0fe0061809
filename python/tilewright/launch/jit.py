"""`@tw.jit`: makes a Python function a kernel that is compiled when it is launched."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Generic, overload

from ..capture import SourceNotFound, SourceTooDeep, ValueNotCaptured, capture, keep_text
from ..compile import CompiledKernel, Options, Request, Source, compile_request, find_request
from ..compile.facts import Facts
from ..native import knobs, native
from ..native.above import above
from ..native.errors import CompileError, LaunchError, raise_report
from ..native.lazy import lazy_attribute
from . import hooks
from .arguments import ArgumentProblem, Parts, make_reader, mark_written
from .arguments.tracing import hide_launches_from_torch, is_traced, untraced
from .devices import CHOICE, chosen_device, device_choice, device_of_launch
from .from_signature import FromSignature
from .inspection import Inspection
from .interface import KernelInterface, Launcher, P
from .loaded_kernels import LoadedKernels
from .options import Chosen, check_clusters, check_option, chosen_of
from .overlap import mark_overlaps
from .parameters import Binder, Parameter, parameters_of
from .parts import part_names, spread_parts
from .ranges import OPENED, is_profiled, range_of
from .references import ByReference
from .refusals import not_prepared, of_arguments, too_deep
from .run import GridArguments, check_stores, launch, resolve_grid
from .stand_ins import stand_in

_SPECIALIZE = ("auto", "shape", "none", "tiered")
# A warm launch looks at these two lists, and at those of ranges and diversions, and at nothing else of
# the hooks.
_ENTER, _EXIT = hooks.launch_enter, hooks.launch_exit
_NOTHING: dict[str, Any] = {}
# Types of options that native code compares.
_PLAIN = (int, bool, str, type(None))
# Attributes of a kernel that follow from its parameters.
_FROM_SIGNATURE = (
    "parameters", "_binder", "_readers", "_read_warm", "_num_plain_arguments", "_has_its_signature",
    "_launch_again",
)  # fmt: skip


class JITFunction(FromSignature, Inspection, KernelInterface, ByReference, Generic[P]):
    """A kernel, or a function that kernels call. `kernel[grid](*arguments)` runs it.

    Made by `@tw.jit`. Nothing is read or compiled before the first launch.
    """

    __tilewright_jit__ = True

    def __init__(
        self,
        fn: types.FunctionType,
        *,
        version: Any = None,
        repr: Callable[..., str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        specialize: str = "auto",
        hot_launches: int = 8,
        most_exact: int = 16,
    ) -> None:
        if specialize not in _SPECIALIZE:
            raise ValueError(f"specialize={specialize!r} is not one of {', '.join(_SPECIALIZE)}")
        self.fn = fn
        self.version = version
        self.repr = repr
        self.launch_metadata = launch_metadata
        self.do_not_specialize: tuple[int | str, ...] = tuple(do_not_specialize or ())
        unaligned = tuple(do_not_specialize_on_alignment or ())
        self.do_not_specialize_on_alignment: tuple[int | str, ...] = unaligned
        self.debug = debug
        self.noinline = noinline
        self.specialize = specialize
        is_tiered = specialize == "tiered"
        self._tiers: Any = above("tiers")(self, hot_launches, most_exact) if is_tiered else None
        self._loaded = LoadedKernels()
        self._sources: dict[int, Source] = {}
        # Called with the arguments of each launch, before anything is read.
        self.pre_run_hooks: list[Callable[..., Any]] = []
        functools.update_wrapper(self, fn, updated=())
        self._signature = _Signature(self)
        hide_launches_from_torch()

    @lazy_attribute
    def parameters(self) -> tuple[Parameter, ...]:
        """The kernel's parameters in the order of its signature."""
        return parameters_of(
            self.fn, self.do_not_specialize, self.do_not_specialize_on_alignment, self.specialize
        )

    @property
    def __globals__(self) -> dict[str, Any]:
        """The variables of the kernel's module, which generators of code run beside it copy."""
        return self.fn.__globals__

    @property
    def arg_names(self) -> list[str]:
        """The parameters' names."""
        return [parameter.name for parameter in self.parameters]

    @lazy_attribute
    def _binder(self) -> Binder:
        return Binder(self.fn.__name__, self.parameters)

    @lazy_attribute
    def _readers(self) -> tuple[Callable[[Any], Any], ...]:
        return tuple(parameter.reader() for parameter in self.parameters)

    @lazy_attribute
    def _read_warm(self) -> Callable[[tuple[Any, ...]], Any]:
        """Reads numbers, constants and tensors as `_read` does; None where there is more."""
        return make_reader(self._readers)

    @lazy_attribute
    def _num_plain_arguments(self) -> int:
        """With so many positional arguments there is nothing to bind."""
        return len(self.parameters) if all(p.is_positional for p in self.parameters) else -1

    @lazy_attribute
    def _has_its_signature(self) -> Callable[[], bool]:
        """Whether the parameters are those that `_signature` was read with: launches ask it first."""
        signature = self._signature
        return native().make_check([signature.body], [], signature.is_current)

    @lazy_attribute
    def _options(self) -> Options:
        knobs.tell_of_resets(self)
        settings = knobs.settings()
        is_debug = bool(self.debug) or settings.is_debug
        return Options(debug=is_debug, enable_fp_fusion=settings.fuses_products)

    def forget_settings(self) -> None:
        """Read the settings anew at the next launch."""
        for name in ("_options", "_launch_again"):
            self.__dict__.pop(name, None)

    def __repr__(self) -> str:
        return f"<kernel {self.fn.__module__}.{self.fn.__qualname__}>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise LaunchError(
            f"the kernel {self.fn.__name__} was called like a function",
            code="TW0404",
            hint=f"launch it over a grid: {self.fn.__name__}[grid](...)",
        )

    def __getitem__(self, grid: Any) -> Launcher[P]:
        """The kernel over a grid: one to three integers, or a function of the arguments' dict."""
        return functools.partial(self._launch_again, grid)

    @untraced
    def run(
        self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any
    ) -> CompiledKernel | None:
        """`kernel[grid](*args, **kwargs)` as one call."""
        if warmup:
            return self.warmup(*args, grid=grid, **kwargs)
        return self._launch_again(grid, *args, **kwargs)

    @lazy_attribute
    def _launch_again(self) -> Callable[..., CompiledKernel | None]:
        """`_launch`, without code of Python where a launch is like an earlier one."""
        if not self._has_its_signature():
            self._read_signature_again()
        defaults = [p.default if p.steps is None else p.NO_DEFAULT for p in self.parameters]
        return native().make_launcher(
            self, _LAUNCH, None if self._tiers else self._signature.body, self._read_warm,
            self._binder.names, tuple(defaults), Parameter.NO_DEFAULT, self._binder.num_positional,
            self._loaded.again, (_ENTER.calls, _EXIT.calls, OPENED, hooks.DIVERSIONS), self._options,
            *CHOICE, self._resolve, mark_written, raise_report,
        )  # fmt: skip

    @untraced
    def _resolve(
        self, grid: Any, values: tuple[Any, ...], given: Mapping[str, Any]
    ) -> tuple[int, int, int]:
        return resolve_grid(grid, self._grid_arguments(values, self._options, given))

    @untraced
    def _launch(self, grid: Any, /, *args: Any, **kwargs: Any) -> CompiledKernel | None:
        if not self._has_its_signature():
            self._read_signature_again()
        if is_traced((*args, *kwargs.values())):
            return above("launch_traced")(self, grid, args, kwargs)
        if self.pre_run_hooks:
            for hook in self.pre_run_hooks:
                hook(*args, **kwargs)
        extra: Mapping[str, Any] = _NOTHING
        if kwargs or len(args) != self._num_plain_arguments:
            args, options, extra = self._binder.bind(args, kwargs, self._options)
        else:
            options = self._options
        read = self._read_warm(args)
        facts, bits, values = read or self._read_all(args)
        if type(grid) is not tuple and callable(grid):
            programs = resolve_grid(grid, self._grid_arguments(args, options, kwargs))
        else:
            programs = resolve_grid(grid, None)
        if 0 in programs:
            return None
        choice, device = device_choice(), chosen_device()
        kernel = self._get_loaded((device, options, facts), values)
        if kernel is None:
            return None
        if self._tiers:
            kernel = self._tiers.chosen(kernel, bits)
        chosen = self._checked(extra, kernel) if extra else None
        is_told = _ENTER.calls or _EXIT.calls or OPENED or is_profiled()
        ran = (self._launch_compiled if is_told else launch)(kernel, programs, values, bits, chosen)
        if read and not kernel.needs_memory and not extra:
            given = {name: value for name, value in kwargs.items() if name not in self._binder.names}
            if all(type(value) in _PLAIN for value in given.values()):
                self._loaded.remember(choice, self._options, given or None, facts, kernel, ran)
        return ran

    def _get_loaded(
        self, key: tuple[Any, ...], values: tuple[Any, ...]
    ) -> CompiledKernel | None:
        """The kernel of a launch, loaded now where it was not."""
        kernel = self._loaded.get(key)
        if kernel is None:
            kernel = self._find(key, values)
            # No later launch has the key of one whose objects cannot be compared.
            if kernel is not None and not kernel.is_opaque:
                self._loaded.add(key, kernel)
        return kernel

    def _checked(self, extra: Mapping[str, Any], kernel: CompiledKernel) -> Chosen:
        """What the options of a launch choose; all of them are checked."""
        device = kernel.request.device
        for name, value in extra.items():
            check_option(name, value, device, self.fn.__name__)
        return chosen_of(extra, device, self.fn.__name__)

    def _read_signature_again(self) -> None:
        """The function's code or defaults were replaced: its parameters may be others now."""
        self._signature = _Signature(self)
        for name in _FROM_SIGNATURE:
            self.__dict__.pop(name, None)

    def _launch_compiled(
        self, kernel: CompiledKernel, programs: Any, values: tuple[Any, ...], bits: list[Any],
        chosen: Chosen | None = None,
    ) -> CompiledKernel:  # fmt: skip
        """Launch between the hooks and within the ranges that there may be. Gives the kernel that ran."""
        named = dict(zip(self._binder.names, values))
        metadata = hooks.LaunchMetadata(
            {"name": kernel.name, "function": None, "stream": (chosen and chosen.stream) or 0},
            self.launch_metadata,
            (programs, kernel.metadata, named),
            kernel,
        )
        _ENTER(metadata)
        with range_of(kernel.name, programs):
            ran = launch(kernel, programs, values, bits, chosen)
        _EXIT(metadata)
        return ran

    def _grid_arguments(
        self, values: tuple[Any, ...], options: Options, kwargs: Mapping[str, Any]
    ) -> GridArguments:
        named = dict(zip(self._binder.names, values))
        return GridArguments({**options._asdict(), **kwargs, **named})

    def _read(
        self, values: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], list[Any], tuple[Any, ...]]:
        """Facts, bits and values of the arguments, and behind them of the parts of tuples."""
        return self._read_warm(values) or self._read_all(values)

    def _read_all(
        self, values: tuple[Any, ...]
    ) -> tuple[tuple[Any, ...], list[Any], tuple[Any, ...]]:
        facts: list[Any] = []
        bits: list[Any] = []
        try:
            for read, value in zip(self._readers, values):
                fact, bit = read(value)
                facts.append(fact)
                bits.append(bit)
            if Parts in map(type, bits):
                values = spread_parts(self._binder.names, values, facts, bits)
            mark_overlaps(facts, values, bits)
        except ArgumentProblem as problem:
            index = len(bits) if problem.index < 0 else problem.index
            raise problem.of_parameter(self._names(values)[index], self.fn.__name__) from None
        return tuple(facts), bits, values

    def _names(self, values: tuple[Any, ...]) -> tuple[str, ...]:
        """What is passed at run time or compiled in: the parameters, and the parts of tuples."""
        names = self._binder.names
        return names if len(values) == len(names) else (*names, *part_names(values[: len(names)]))

    def _find(self, key: tuple[Any, ...], values: tuple[Any, ...]) -> CompiledKernel | None:
        """The kernel of a launch, on the device that its arguments decide if none was chosen."""
        chosen, options, facts = key
        device = device_of_launch(chosen, self._names(values), facts, self.fn.__name__)
        key = (device, options, facts)
        for known in (device, ""):
            kernel = self._loaded.get((known, options, facts)) if known != chosen else None
            if kernel is not None and kernel.request.device == device:
                return kernel
        if knobs.settings().is_jit_denied:
            return self.find_on_disk(key, values)
        return self.compile_for(key, values)

    def find_on_disk(self, key: tuple[Any, ...], values: tuple[Any, ...]) -> CompiledKernel:
        """The kernel of a launch that may not compile, as an earlier process left it."""
        request = self._request(key, values)
        kernel = find_request(request)
        if kernel is None:
            raise not_prepared(request)
        kernel.kernel_function = self
        kernel.name = self._name_of(request)
        check_stores(kernel, key[2], values)
        return kernel

    def compile_for(
        self, key: tuple[Any, ...], values: tuple[Any, ...], is_warmup: bool = False
    ) -> CompiledKernel | None:
        """The kernel of a launch key, compiled or found; None where a hook forbids it."""
        hide_launches_from_torch()  # it may have been loaded since the kernel was made
        request = self._request(key, values)
        if plan := hooks.plan.get():
            plan(request)
            return None
        if (forbids := hooks.compilation.before) and forbids(self, request, is_warmup):
            return None
        try:
            kernel = compile_request(request)
        except CompileError as error:
            raise of_arguments(error, request) from error.__cause__
        kernel.kernel_function = self
        kernel.name = self._name_of(request)
        hooks.load_start(None, None, kernel.name, {}, kernel.key)
        check_stores(kernel, key[2], values)
        hooks.load_end(None, None, kernel.name, {}, kernel.key)
        if tell := hooks.compilation.after:
            tell(self, kernel, is_warmup)
        return kernel

    def _request(self, key: tuple[Any, ...], values: tuple[Any, ...]) -> Request:
        device, options, facts = key
        check_clusters(options, device, self.fn.__name__)
        constants = tuple(
            None if isinstance(fact, Facts) else value for fact, value in zip(facts, values)
        )
        source = self._source(constants)
        return Request(
            self.fn.__name__, source, self._names(values), facts, constants, options, device
        )

    def _source(self, constants: tuple[Any, ...]) -> Source:
        try:
            captured = capture(self).including(constants)
        except SourceNotFound as error:
            raise CompileError(str(error), code="TW0412") from None
        except ValueNotCaptured as error:
            raise CompileError(str(error), code="TW0450") from None
        except SourceTooDeep as error:
            raise too_deep(error) from None
        source = self._sources.get(id(captured))
        if source is None:
            # A capture that is out of date is never asked for again. Another thread may do the same.
            known = {k: s for k, s in [*self._sources.items()] if s.is_current()}
            source = known[id(captured)] = Source(captured)
            self._sources = known
        return source

    @untraced
    def warmup(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> CompiledKernel | None:
        """Compile for arguments without running. A torch dtype, a tensor on the meta device or a
        `triton.MockTensor` stands for an aligned array. None where a hook forbids the compilation."""
        del grid
        if postpone := hooks.postpone.get():
            return postpone(lambda: self._warm(args, kwargs))
        return self._warm(args, kwargs)

    def _warm(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], makes_tiers: bool = False
    ) -> CompiledKernel | None:
        """The kernel for arguments or what stands for them, and the one for their integers, too."""
        values, options, extra = self._binder.bind(args, kwargs, self._options)
        values = tuple(map(stand_in, values, self.parameters))
        facts, bits, values = self._read(values)
        chosen = chosen_device()
        key = (chosen, options, facts)
        kernel = self._loaded.get(key)
        if kernel is None:
            device = device_of_launch(chosen, self._names(values), facts, self.fn.__name__)
            kernel = self.compile_for((device, options, facts), values, is_warmup=True)
            if kernel is None:
                return None
            self._loaded.add(key, kernel)
        if makes_tiers and self._tiers:
            self._tiers.make_now(kernel, bits)
        return kernel.chosen_for(self._checked(extra, kernel)._asdict())

    @untraced
    def prepare(self, *args: Any, grid: Any = (1,), **kwargs: Any) -> CompiledKernel | None:
        """Compile for arguments, or what stands for them, so that launches with such find the kernel
        after `tw.freeze()` and where TILEWRIGHT_JIT=deny is set: `warmup`, and with specialize="tiered"
        the binary for the very integers, too."""
        del grid
        return self._warm(args, kwargs, makes_tiers=True)

    def settle(self) -> None:
        """Wait until nothing is compiled in the background: for measurements and tests."""
        if self._tiers:
            self._tiers.settle()

    def source_buffer(self) -> str:
        """What the compiler gets of the kernel: its syntax tree and all that it refers to, as JSON."""
        return self._source(()).capture.buffer


# What launchers were made for: a test or a program may replace the method.
_LAUNCH = JITFunction.__dict__["_launch"]


class _Signature:
    """What a kernel's parameters were read from; Python lets each part be replaced."""

    def __init__(self, kernel: JITFunction) -> None:
        self.kernel, self.fn = kernel, kernel.fn
        fn = self.fn
        self.code, self.defaults, self.named = fn.__code__, fn.__defaults__, _named_defaults(fn)
        # As Body of a capture.
        self.body = (kernel, fn, self.code, self.defaults, self.named or None)

    def is_current(self) -> bool:
        fn = self.fn
        if self.kernel.fn is not fn or fn.__code__ is not self.code:
            return False
        if fn.__defaults__ is not self.defaults:
            return False
        if not fn.__kwdefaults__ and not self.named:
            return True
        now = _named_defaults(fn)
        return len(now) == len(self.named) and all(map(operator.is_, now, self.named))


def _named_defaults(fn: types.FunctionType) -> tuple[Any, ...]:
    return tuple((fn.__kwdefaults__ or {}).values())


@overload
def jit(fn: Callable[P, Any]) -> JITFunction[P]: ...


@overload
def jit(
    fn: None = None,
    *,
    version: Any = ...,
    repr: Callable[..., str] | None = ...,
    launch_metadata: Callable[..., Any] | None = ...,
    do_not_specialize: Iterable[int | str] | None = ...,
    do_not_specialize_on_alignment: Iterable[int | str] | None = ...,
    debug: bool | None = ...,
    noinline: bool | None = ...,
    specialize: str = ...,
    hot_launches: int = ...,
    most_exact: int = ...,
) -> Callable[[Callable[P, Any]], JITFunction[P]]: ...


def jit(fn: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function a kernel: `@tw.jit` or `@tw.jit(specialize="none")`.

    `specialize="auto"` compiles variants for integers equal to 1, divisible by 16 or negative and for
    aligned arrays, "shape" one for each value of the integers, which it knows then and gives the same results with (those
    without an annotated type that no `do_not_specialize` names), "none" one binary for all; "tiered"
    launches as "auto" does, and makes binaries as of "shape" in the background for integers that came `hot_launches`
    times, at most `most_exact` of them (`tuning.tiered.Tiers`); `do_not_specialize` and
    `do_not_specialize_on_alignment` name single parameters (or their indices); `debug` compiles
    device assertions. `repr` names a compiled kernel by what it is compiled for (`inspection.
    Specialization`). `version`, `launch_metadata` and `noinline` are kept as attributes and change no launch (`tilewright.launch.options.DECORATOR_OPTIONS`).
    """

    def decorate(function: Any) -> JITFunction:
        if isinstance(function, JITFunction):
            function = function.fn
        if not isinstance(function, types.FunctionType):
            raise TypeError(f"@tw.jit decorates functions, not {type(function).__name__}")
        keep_text(function)
        return JITFunction(function, **options)

    return decorate if fn is None else decorate(fn)
