"""Compiles kernels from the types of their arguments, without a launch."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import TYPE_CHECKING, Any, cast

from ..compile import CompiledKernel, Options, Request
from ..compile.facts import Facts, parse_facts
from ..native import knobs
from ..native.errors import LaunchError, SignatureError
from .arguments import ArgumentProblem, Parts, read_constant
from .devices import check_device, chosen_device, current_device, device_of_launch, place_of
from .loaded_kernels import LoadedKernels
from .options import check_option, chosen_of
from .parameters import Binder, Parameter
from .parts import spread_parts


class FromSignature:
    """The part of a kernel that compiles from signatures."""

    if TYPE_CHECKING:
        fn: FunctionType
        _loaded: LoadedKernels

        @property
        def parameters(self) -> tuple[Parameter, ...]: ...
        @property
        def _binder(self) -> Binder: ...
        @property
        def _options(self) -> Options: ...
        def _names(self, values: tuple[Any, ...]) -> tuple[str, ...]: ...
        def _read_all(
            self, values: tuple[Any, ...]
        ) -> tuple[tuple[Any, ...], list[Any], tuple[Any, ...]]: ...
        def _request(self, key: tuple[Any, ...], values: tuple[Any, ...]) -> Request: ...
        def compile_for(
            self, key: tuple[Any, ...], values: tuple[Any, ...], is_warmup: bool = False
        ) -> CompiledKernel | None: ...

    def compile(
        self,
        signature: Mapping[str, Any],
        constants: Mapping[str, Any] | None = None,
        device: str | None = None,
        **options: Any,
    ) -> CompiledKernel:
        """Compile from a signature: `{"x": "*fp32:16", "n": "i32"}` with the constants' values.

        `:16` says divisible by 16 (of an array: its address), `:1` equal to 1, `:nonneg` not negative,
        `:=48` an integer of that value, which computes as one that is passed.
        A tuple has an entry for each of its parts. A parameter whose value is given is a compile-time
        constant, whether declared so or not. Raises LaunchError TW0404 when a parameter has neither, TW0405
        for a value that cannot be a constant, ValueError for an entry that is not a type.
        """
        key, values = self._of_signature(signature, constants, device, options)
        kernel = self.compile_for(key, values, is_warmup=True)
        if kernel is None:
            raise LaunchError(
                f"a hook forbids to compile {self.fn.__name__}",
                code="TW0408",
                hint="see triton.knobs.runtime.jit_cache_hook",
            )
        self._loaded.add(key, kernel)
        return kernel.chosen_for(chosen_of(options, key[0], self.fn.__name__)._asdict())

    def stored_arguments(self, given: Mapping[str, Any]) -> set[str] | None:
        """The names of the arrays that a launch may store to, whatever the values of its numbers:
        parameters, and parts of tuples as in `pair[0]`. None where nothing may be compiled and no
        kernel is loaded that tells. Raises what a launch with such arguments raises."""
        values, options, _ = self._binder.bind((), dict(given), self._options)
        facts, _, values = self._read_all(values)
        # A fact about a number may take a branch away, and the store in it.
        facts = tuple(f if not isinstance(f, Facts) or f.is_pointer else f.general for f in facts)
        if knobs.settings().is_jit_denied:
            loaded = [*self._loaded.recent.values(), *self._loaded.older.values()]
            return set[str]().union(*(kernel.stored_arrays() for kernel in loaded)) if loaded else None
        names, name = self._names(values), self.fn.__name__
        device = device_of_launch(chosen_device(), names, facts, name)
        kernel = self.compile_for((device, options, facts), values, is_warmup=True)
        return None if kernel is None else kernel.stored_arrays()

    def request(
        self,
        signature: Mapping[str, Any],
        constants: Mapping[str, Any] | None = None,
        device: str | None = None,
        **options: Any,
    ) -> Request:
        """What `compile` with these arguments would compile, for `tilewright.compile.inspect`."""
        return self._request(*self._of_signature(signature, constants, device, options))

    def _of_signature(
        self,
        signature: Mapping[str, Any],
        constants: Mapping[str, Any] | None,
        device: str | None,
        options: Mapping[str, Any],
    ) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """The launch key and the constants' values."""
        if device is not None:
            check_device(device)
        facts: list[Any] = []
        values: list[Any] = []
        bits: list[Any] = []
        given = dict(constants or {})
        self._binder.check_names([*signature, *given])
        chosen, extra = self._binder.read_options(dict(options), self._options)
        for name, value in extra.items():
            check_option(name, value, device or current_device(), self.fn.__name__)
        place = place_of(device or current_device())
        entries = {name: self._entry(name, entry, place) for name, entry in signature.items()}
        self._binder.check_complete({*signature, *given})
        for parameter in self.parameters:
            if parameter.name in signature:
                entry = entries[parameter.name]
                if parameter.array_class and isinstance(entry[1], Parts):
                    parameter.array_class.described(entry[1], entry[1].constant)
                facts.append(entry[0])
                bits.append(entry[1])
                values.append(None)
                continue
            fact, bit, value = self._of_constant(parameter, given)
            facts.append(fact)
            values.append(value)
            bits.append(bit)
        every = spread_parts(self._binder.names, tuple(values), facts, bits)
        return (device or current_device(), chosen, tuple(facts)), every

    def _of_constant(self, parameter: Parameter, given: Mapping[str, Any]) -> tuple[Any, Any, Any]:
        """What a parameter outside of the signature is: facts, bits and value."""
        (value,), *_ = Binder(self.fn.__name__, (parameter,)).bind(
            (), {k: v for k, v in given.items() if k == parameter.name}, self._options
        )
        reader = read_constant if parameter.name in given else parameter.reader()
        fact, bit = self._reading(parameter.name, reader, value)
        return fact, bit, value

    def _entry(self, name: str, entry: Any, place: str) -> tuple[Any, Any]:
        """Read what a signature says of a parameter: facts, or of a tuple its parts."""
        try:
            if not isinstance(entry, (tuple, list)):
                return parse_facts(entry).on(place), None
            parts = Parts()
            key, parts.constant = parts.add_entries(cast("Sequence[Any]", entry), "", place)
            return key, parts
        except ValueError as error:
            raise SignatureError(
                f"parameter `{name}` of {self.fn.__name__}: {error}",
                code="TW0406",
                hint="an entry is a type and its facts, such as '*fp32:16'; values are given as constants",
            ) from None

    def _reading(self, name: str, read: Callable[..., tuple[Any, Any]], *given: Any) -> tuple[Any, Any]:
        """What is read of something given for a parameter, which a refusal names."""
        try:
            return read(*given)
        except ArgumentProblem as problem:
            raise problem.of_parameter(name, self.fn.__name__) from None
