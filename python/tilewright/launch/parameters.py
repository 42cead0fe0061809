"""A kernel's parameters: which are constants, how arguments are bound, what is specialized."""

from __future__ import annotations

import inspect
import operator
import struct
import types
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Any, NamedTuple

from . import annotated
from .arguments import ArgumentProblem, Parts, Reading, read_argument, read_constant
from ..compile.facts import Facts, integer_facts, made_exact, scalar_facts
from ..capture.record import namespace_of
from ..compile import Options
from ..compile.options import COMPILED
from ..native.errors import LaunchError, UnsupportedError, nearest
from ..language import dtypes, static
from .parts import ARRAY_CLASS, ArrayClass
from ..language.sizes import bucket
from .options import OPTIONS, check_option

_MISSING: Any = inspect.Parameter.empty


class Parameter(NamedTuple):
    """One parameter of a kernel."""

    name: str
    num: int  # its index
    is_constant: bool
    default: Any
    is_positional: bool
    annotated_type: dtypes.dtype | None  # of a number: it is passed as this type
    drops_facts: bool  # do_not_specialize
    drops_alignment: bool  # do_not_specialize_on_alignment
    is_exact: bool = False  # specialize="shape": the binary knows the values of integers
    is_exact_when_hot: bool = False  # specialize="tiered": so do binaries for integers that come often
    array_class: ArrayClass | None = None  # annotated tw.Tensor: passed with its shape and strides
    steps: bucket | None = None  # where a launch gives none: the size for another argument

    NO_DEFAULT = inspect.Parameter.empty

    @property
    def is_constexpr(self) -> bool:
        """Whether it is a compile-time constant, as Triton calls it."""
        return self.is_constant

    # What follows is read by launchers of other libraries, under Triton's names.

    @property
    def has_default(self) -> bool:
        """Whether a launch may leave it out."""
        return self.default is not self.NO_DEFAULT or self.steps is not None

    @property
    def do_not_specialize(self) -> bool:
        """Whether no fact about its values makes another binary."""
        return self.drops_facts

    @property
    def do_not_specialize_on_alignment(self) -> bool:
        """Whether its divisibility by 16 makes no other binary."""
        return self.drops_alignment

    @property
    def annotation_type(self) -> str:
        """The short name of the type that a number is passed as, else an empty text."""
        return self.annotated_type.short_name if self.annotated_type else ""

    @property
    def annotation(self) -> str:
        """Either `constexpr` or the annotated type."""
        return "constexpr" if self.is_constant else self.annotation_type

    def reader(self) -> Callable[[Any], Reading]:
        """The quickest function that reads an argument for this parameter."""
        if self.is_constant:
            return read_constant
        is_plain = not (self.annotated_type or self.drops_facts or self.drops_alignment)
        is_plain = is_plain and not (self.is_exact or self.array_class)
        return read_argument if is_plain else self._read

    def _read(self, value: Any) -> Reading:
        if self.array_class and value is not None:
            facts, bits = self.array_class.read(value)
        else:
            facts, bits = read_argument(value)
        if isinstance(bits, Parts):
            if self.drops_facts:
                return facts, bits.generalized(lambda fact: fact.general)
            if self.is_exact:
                return facts, bits.exact()
            return facts, bits.generalized(lambda fact: fact.unaligned) if self.drops_alignment else bits
        if not isinstance(facts, Facts):
            return facts, bits
        if self.is_exact:
            return made_exact(facts, bits), bits
        if self.annotated_type and not facts.is_pointer:
            facts, bits = _convert(facts, bits, self.annotated_type)
        if self.drops_facts:
            return facts.general, bits
        return (facts.unaligned if self.drops_alignment else facts), bits


def _convert(facts: Facts, value: Any, element_type: dtypes.dtype) -> Reading:
    """A number as a parameter's annotated type."""
    name = element_type.short_name
    if facts.type == name:
        return facts, value
    if element_type.is_floating():
        if element_type.primitive_bitwidth < 32:
            return scalar_facts(name), _half_bits(float(value), element_type)
        return scalar_facts(name), float(value)
    if facts.type == "fp32":
        raise ArgumentProblem("TW0407", f"the float {value} is given for one of type {name}")
    if name == "i1":
        return scalar_facts(name), bool(value)
    bits = element_type.primitive_bitwidth
    is_signed = element_type.is_int_signed()
    low, high = (-(1 << (bits - 1)), 1 << (bits - 1)) if is_signed else (0, 1 << bits)
    if not low <= value < high:
        raise ArgumentProblem("TW0407", f"the integer {int(value)} does not fit in {name}")
    return integer_facts(name, int(value)), int(value)


def _half_bits(value: float, element_type: dtypes.dtype) -> int:
    if element_type.is_fp16():
        try:
            return int.from_bytes(struct.pack("<e", value), "little")
        except OverflowError:
            return 0x7C00 if value > 0 else 0xFC00
    if not element_type.is_bf16():
        raise ArgumentProblem(
            "TW0406",
            f"numbers of type {element_type} cannot be passed",
            f"pass a float and convert it in the kernel: x.to(tw.{element_type.name})",
        )
    try:
        (single,) = struct.unpack("<I", struct.pack("<f", value))
    except OverflowError:
        return 0x7F80 if value > 0 else 0xFF80
    if value != value:
        return 0x7FC0
    # Round to nearest even at bit 16. Going through fp32 first can round twice; torch does so, too.
    return (single + 0x7FFF + (single >> 16 & 1)) >> 16


def parameters_of(
    function: types.FunctionType,
    do_not_specialize: Iterable[int | str],
    do_not_specialize_on_alignment: Iterable[int | str],
    specialize: str,
) -> tuple[Parameter, ...]:
    """The parameters of a kernel's function, in order."""
    general, unaligned = set(do_not_specialize), set(do_not_specialize_on_alignment)
    parameters: list[Parameter] = []
    for index, entry in enumerate(inspect.signature(function).parameters.values()):
        if entry.kind in (entry.VAR_POSITIONAL, entry.VAR_KEYWORD):
            raise UnsupportedError(
                f"the kernel {function.__name__} has the parameter `{entry}`",
                code="TW0413",
                hint="name every parameter of a kernel; tuples can be passed as one argument",
            )
        annotation = _annotation(function, entry)
        if isinstance(entry.default, bucket):
            _check_bucket(function, entry, _is_constexpr(annotation), {p.name for p in parameters})
        # An annotated type is what a number is to have in the kernel, whatever its value.
        may_be_exact = (
            annotation is not annotated.dynamic
            and not (general | unaligned) & {index, entry.name}
            and _number_type(annotation) is None
        )
        parameters.append(
            Parameter(
                name=entry.name,
                num=index,
                is_constant=_is_constexpr(annotation),
                array_class=getattr(annotation, ARRAY_CLASS, None),
                default=_MISSING if isinstance(entry.default, bucket) else entry.default,
                steps=entry.default if isinstance(entry.default, bucket) else None,
                is_positional=entry.kind is not entry.KEYWORD_ONLY,
                annotated_type=_number_type(annotation),
                drops_facts=annotation is annotated.dynamic
                or (specialize == "none" and annotation is not annotated.static)
                or bool(general & {index, entry.name}),
                drops_alignment=bool(unaligned & {index, entry.name}),
                is_exact=annotation is annotated.static or (specialize == "shape" and may_be_exact),
                is_exact_when_hot=specialize == "tiered" and may_be_exact,
            )
        )
    return tuple(parameters)


def _check_bucket(
    function: types.FunctionType, entry: inspect.Parameter, is_constant: bool, earlier: Set[str]
) -> None:
    """A bucket is the default of a constant, and follows a parameter that stands before it."""
    rule: bucket = entry.default
    reason = "" if is_constant else "is not a tw.constexpr"
    if is_constant and rule.follows not in earlier:
        reason = f"has no parameter `{rule.follows}` before it"
    if reason:
        raise LaunchError(
            f"{rule!r} is the default of `{entry.name}` of the kernel {function.__name__}, which {reason}",
            code="TW0405",
            hint='write `BLOCK: tw.constexpr = tw.bucket("n")` behind the parameter `n`',
        )


def _annotation(function: types.FunctionType, entry: inspect.Parameter) -> object:
    annotation: object = entry.annotation
    # A quoted annotation is text within text under `from __future__ import annotations`.
    for _ in range(2):
        if not isinstance(annotation, str):
            break
        try:
            annotation = eval(annotation, namespace_of(function))
        except Exception:  # an annotation may name anything
            break
    return annotation


def _is_constexpr(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.split("[")[0].split(".")[-1].strip() == "constexpr"
    kind = static.constexpr
    return annotation is kind or getattr(annotation, "__origin__", None) is kind


def _number_type(annotation: object) -> dtypes.dtype | None:
    if isinstance(annotation, str):
        try:
            annotation = dtypes.str_to_ty(annotation.strip())
        except ValueError:
            return None
    is_number = isinstance(annotation, dtypes.dtype) and not annotation.is_ptr()
    return annotation if is_number and isinstance(annotation, dtypes.dtype) else None


class Binder:
    """Binds the arguments of a call to parameters and splits off the launch options."""

    def __init__(self, kernel: str, parameters: tuple[Parameter, ...]) -> None:
        self.kernel = kernel
        self.parameters = parameters
        self.names = tuple(p.name for p in parameters)
        self.num_positional = sum(p.is_positional for p in parameters)
        self.has_buckets = any(p.steps for p in parameters)

    def bind(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], defaults: Options
    ) -> tuple[tuple[Any, ...], Options, Mapping[str, Any]]:
        """The value of each parameter, the options that the code depends on, and the others that
        were given. Raises LaunchError TW0404."""
        if len(args) > self.num_positional:
            limit = self.num_positional
            raise self._error(f"takes {limit} positional arguments, {len(args)} given")
        rest = dict(kwargs)
        values = list(args)
        for parameter in self.parameters[len(args) :]:
            value = rest.pop(parameter.name, parameter.default)
            if value is _MISSING:
                if parameter.steps is None:
                    raise self._missing(rest, len(values))
                value = parameter.steps
            values.append(value)
        if self.has_buckets:
            self._fill(values)
        if not rest:
            return tuple(values), defaults, rest
        return tuple(values), *self.read_options(rest, defaults)

    def _fill(self, values: list[Any]) -> None:
        """Put sizes in the place of the buckets that were not given. Raises LaunchError TW0404 or
        TW0405."""
        for index, parameter in enumerate(self.parameters):
            rule = parameter.steps
            if rule is None or values[index] is not rule:
                continue
            values[index] = self._size_of(parameter, rule, values[self.names.index(rule.follows)])

    def _size_of(self, parameter: Parameter, rule: bucket, followed: Any) -> int:
        """The size for the value of the parameter that a bucket follows. Raises LaunchError TW0405."""
        reason: Exception | None = None
        try:
            return rule.size_of(operator.index(followed))
        except TypeError:
            what = f"{followed!r} is not an integer"
        except ValueError as error:
            what, reason = str(error), error.__cause__
        problem = ArgumentProblem(
            "TW0405", f"it follows `{rule.follows}`, and {what}", "give it to the launch"
        )
        raise problem.of_parameter(parameter.name, self.kernel) from reason

    def check_complete(self, given: Set[str]) -> None:
        """Refuse a signature with constants that leaves parameters out."""
        if any(p.default is _MISSING and p.name not in given for p in self.parameters):
            raise self._missing(dict.fromkeys(given), 0)

    def _missing(self, rest: Mapping[str, Any], index: int) -> LaunchError:
        missing = [
            p.name
            for p in self.parameters[index:]
            if p.default is _MISSING and p.steps is None and p.name not in rest
        ]
        unknown = [n for n in rest if n not in self.names and n not in OPTIONS]
        hint = f"{unknown[0]!r} is not a parameter" if unknown else ""
        if self.names[0] == "self" and not unknown:
            hint = "`self` is a parameter like others: put @staticmethod above @tw.jit, and leave it out"
        return self._error(f"lacks the arguments {', '.join(f'`{n}`' for n in missing)}", hint)

    def read_options(
        self, given: dict[str, Any], defaults: Options
    ) -> tuple[Options, Mapping[str, Any]]:
        """The options that the code depends on, and the others. Raises LaunchError TW0404."""
        for name in given:
            if name in self.names:
                raise self._error(f"is given `{name}` twice, by position and by name")
            if name not in OPTIONS:
                raise self._unknown("has no parameter or launch option", name, (*OPTIONS,))
        chosen = {name: value for name, value in given.items() if name in COMPILED}
        extra = {name: value for name, value in given.items() if name not in COMPILED}
        if not chosen:
            return defaults, extra
        return checked_options(defaults, chosen, self.kernel), extra

    def check_names(self, names: Iterable[str]) -> None:
        """Refuse names of a signature that are not parameters' names."""
        for name in names:
            if name not in self.names:
                raise self._unknown("has no parameter", name, ())

    def _unknown(self, message: str, name: str, others: tuple[str, ...]) -> LaunchError:
        close = nearest(name, (*self.names, *others))
        hint = f"did you mean `{close}`?" if close else f"parameters: {self._list()}"
        return self._error(f"{message} `{name}`", hint)

    def _list(self) -> str:
        return ", ".join(self.names) or "none"

    def _error(self, message: str, hint: str = "") -> LaunchError:
        return LaunchError(f"the launch of {self.kernel} {message}", code="TW0404", hint=hint)


def checked_options(defaults: Options, given: Mapping[str, Any], kernel: str) -> Options:
    """The defaults with what a launch gives as plain values. Raises LaunchError TW0410 or TW0416 for
    impossible ones."""
    chosen = dict[str, Any]()
    for name, value in given.items():
        check_option(name, value, "cpu", kernel)  # what a device cannot do is known where it is
        chosen[name] = COMPILED[name].read(static.unwrap(value), kernel)
    options = defaults._replace(**chosen)
    x, y, z = options.cluster_dims
    if 1 not in (options.num_ctas, x * y * z) and options.num_ctas != x * y * z:
        raise LaunchError(
            f"num_ctas={options.num_ctas} and cluster_dims={(x, y, z)} of the launch of {kernel} are "
            "clusters of different sizes",
            code="TW0416",
            hint="write one of the two: num_ctas=2 means cluster_dims=(2, 1, 1)",
        )
    return options._replace(sanitize_overflow=not options.debug or options.sanitize_overflow)
