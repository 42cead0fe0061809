"""What was asked for of one kernel: its arguments in C, and the specializations in the order in which
launches try them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, cast

from ..language.element_types import BY_SHORT_NAME, ELEMENT_TYPES
from ..native.errors import UnsupportedError
from ..compile.facts import Facts, integer_facts, integer_rules, parse_facts

# C's types of the numbers that can be passed; narrow floats are passed as `float`.
C_NUMBERS = {
    row.short_name: row.c_number
    for row in ELEMENT_TYPES
    if row.kind != "float" or row.bits >= 16
}
# C's types of what pointers point to; any pointer converts to `void *`.
_C_ELEMENTS = {**C_NUMBERS, "i1": "uint8_t", "fp16": "void", "bf16": "void"}
_ALIGNMENT = 16


@dataclass(frozen=True)
class Argument:
    """A run-time parameter as C sees it."""

    name: str
    type: str  # "i32", "fp32", ...; of a pointer the pointee
    is_pointer: bool
    is_stored: bool = False

    @property
    def is_integer(self) -> bool:
        """Whether it is a number that specializations may assume something of."""
        return not self.is_pointer and self.type[0] in "iu" and self.type != "i1"

    @property
    def c_type(self) -> str:
        """Its type in C, with the space or star before a name."""
        if not self.is_pointer:
            return f"{C_NUMBERS[self.type]} "
        element = _C_ELEMENTS.get(self.type.removeprefix("k"), "void")
        return f"{'' if self.is_stored else 'const '}{element} *"

    @property
    def bits(self) -> int:
        """The bits of an integer."""
        return int(self.type.lstrip("iu")) if self.is_integer else 64

    @property
    def element_bytes(self) -> int:
        """The bytes of an array's element."""
        row = BY_SHORT_NAME.get(self.type.removeprefix("k"))
        return max(1, (row.bits if row else 8) // 8)


class Assumption(NamedTuple):
    """What a specialization takes for granted of an argument: a row of runtime/aot/Tables.h."""

    kind: str  # "equals", "at_least", "at_most", "divisible", "disjoint", or of `integer_rules`
    argument: int
    value: int = 0


Range = tuple["int | None", "int | None"]


@dataclass
class Specialization:
    """One binary for each target: types and facts of some parameters, values of the others. `ranges` are the
    least and the greatest integer, None for no bound, that launches take it for; any would do."""

    types: dict[str, str]
    constants: dict[str, Any]
    options: dict[str, Any]
    grid: tuple[str, ...]
    assumptions: list[Assumption] = field(default_factory=list[Assumption])
    ranges: Mapping[str, Range] = field(default_factory=dict[str, Range])

    def facts(self) -> dict[str, Facts]:
        """The facts of the parameters that have a type."""
        return {name: parse_facts(text) for name, text in self.types.items()}

    def describe(self, arguments: Sequence[Argument]) -> str:
        """The arguments as messages name the specialization: `x: *fp32:16, n=4096`."""
        return ", ".join(
            f"{a.name}: {self.types[a.name]}".replace(": " + a.type + ":=", "=") + self._bounds(a.name)
            if a.name in self.types
            else f"{a.name}={self.constants[a.name]}"
            for a in arguments
        )

    def _bounds(self, name: str) -> str:
        low, high = self.ranges.get(name, (None, None))
        from_low, to_high = f" from {low}" if low is not None else "", f" to {high}" if high is not None else ""
        return from_low + to_high

    def made_exact(self, arguments: Sequence[Argument], constants: Container[str]) -> Specialization:
        """The same, where integers that others pass are ones of the argument's type whose values are
        known: they compute as in the others. Not what the kernel declares as `constants`."""
        types, values = dict(self.types), dict(self.constants)
        for argument in arguments:
            name, value = argument.name, values.get(argument.name)
            if argument.is_integer and isinstance(value, int) and name not in constants:
                types[name] = f"{argument.type}:={int(values.pop(name))}"
        return Specialization(types, values, self.options, self.grid, ranges=self.ranges)


def undecided(kernel: str, message: str, hint: str = "") -> UnsupportedError:
    """The refusal of an export that says too little."""
    return UnsupportedError(f"the export of {kernel}: {message}", code="TW0801", hint=hint)


def arguments_of(
    kernel: str, parameters: Sequence[str], asked: Sequence[Specialization], shapes: set[str]
) -> tuple[Argument, ...]:
    """The run-time parameters of all specializations of a kernel, which agree on their types."""
    found: dict[str, Argument] = {}
    for specialization in asked:
        for name, facts in specialization.facts().items():
            if not facts.is_pointer and facts.type not in C_NUMBERS:
                raise undecided(kernel, f"numbers of type {facts.type} cannot be passed from C")
            argument = Argument(name, facts.type, facts.is_pointer)
            if found.setdefault(name, argument) != argument:
                other = found[name]
                raise undecided(
                    kernel,
                    f"`{name}` is {_shown(other)} in one specialization and {_shown(argument)} in "
                    "another",
                    "export the second under a name of its own",
                )
    for name in shapes:
        values = [int(s.constants.get(name, 0)) for s in asked]
        is_narrow = -(1 << 31) <= min(values) and max(values) < 1 << 31
        found.setdefault(name, Argument(name, "i32" if is_narrow else "i64", False))
    _refuse_unreachable(kernel, found, asked)
    return tuple(found[name] for name in parameters if name in found)


def _refuse_unreachable(
    kernel: str, arguments: Mapping[str, Argument], asked: Sequence[Specialization]
) -> None:
    """Refuse constants that no value of the argument's type in C is equal to."""
    for specialization in asked:
        for name, value in specialization.constants.items():
            argument = arguments.get(name)
            if argument is None or not argument.is_integer or not isinstance(value, int):
                continue
            least = 0 if argument.type[0] == "u" else -(1 << (argument.bits - 1))
            if not least <= value < least + (1 << argument.bits):
                raise undecided(
                    kernel,
                    f"`{name}` is {argument.type}, which {value} does not fit",
                    "give it a wider type in the signature",
                )


def _shown(argument: Argument) -> str:
    return ("*" if argument.is_pointer else "") + argument.type


def assume(specialization: Specialization, kernel: str, arguments: Sequence[Argument]) -> None:
    """Write down what a specialization assumes; of arrays that it stores to, that no other is equal."""
    rows: list[Assumption] = []
    facts = specialization.facts()
    num_pointers = sum(argument.is_pointer for argument in arguments)
    for index, argument in enumerate(arguments):
        fact = facts.get(argument.name)
        if fact is None:
            value = specialization.constants.get(argument.name)
            if not argument.is_integer or not isinstance(value, int):
                raise undecided(
                    kernel,
                    f"`{argument.name}` has a type in one specialization and is the constant "
                    f"{value!r} in another, and only integers can be compared when it is launched",
                )
            rows.append(Assumption("equals", index, int(value)))
            continue
        if fact.known is not None:
            rows.append(Assumption("equals", index, fact.known))
            continue
        low, high = specialization.ranges.get(argument.name, (None, None))
        rows += [Assumption("at_least", index, low)] if low is not None else []
        rows += [Assumption("at_most", index, high)] if high is not None else []
        if fact.divisibility > 1:
            rows.append(Assumption("divisible", index, fact.divisibility))
        rows += [Assumption(rule, index) for rule in integer_rules() if getattr(fact, rule)]
        if argument.is_pointer and argument.is_stored and fact.is_disjoint and num_pointers > 1:
            rows.append(Assumption("disjoint", index))
    specialization.assumptions = rows


def _implied(rows: Sequence[Assumption], arguments: Sequence[Argument]) -> set[tuple[str, int]]:
    """Everything that holds where these do."""
    held = {(row.kind, row.argument) for row in rows}
    for kind, argument, value in rows:
        if kind == "equals" and value % _ALIGNMENT == 0:
            held.add(("divisible", argument))
        if kind == "equals":
            facts = integer_facts(arguments[argument].type, value)
            held |= {(rule, argument) for rule in integer_rules() if getattr(facts, rule)}
    return held


def specificity(
    specialization: Specialization, arguments: Sequence[Argument]
) -> tuple[int, ...]:
    """How much is assumed: exact values first, then ranges, divisibility, signs, arrays that are apart. What
    takes fewer arguments than another specialization has the greater one."""
    held = [kind for kind, _ in _implied(specialization.assumptions, arguments)]
    counted = tuple(map(held.count, ("equals", "divisible", *integer_rules(), "disjoint")))
    return counted[:1] + (len(specialization.ranges),) + counted[1:]


def in_order(
    kernel: str, asked: Sequence[Specialization], arguments: Sequence[Argument]
) -> list[Specialization]:
    """The most specific first. Raises UnsupportedError TW0802 for two that assume the same."""
    known: dict[tuple[Assumption, ...], Specialization] = {}
    for specialization in asked:
        key = tuple(sorted(specialization.assumptions))
        if key in known:
            raise UnsupportedError(
                f"the export of {kernel}: two specializations assume the same of all arguments, so "
                "that no launch could choose between them",
                code="TW0802",
                hint="leave one out, or export it under a name of its own",
            )
        known[key] = specialization
    return sorted(asked, key=lambda s: specificity(s, arguments), reverse=True)


def checked_shapes(kernel: str, shapes: Any) -> list[dict[str, int]]:
    """Exact values of integers, by parameter."""
    if isinstance(shapes, (str, Mapping)) or not isinstance(shapes, Iterable):
        hint = 'for example shapes=[{"M": 4096}]'
        raise undecided(kernel, f"shapes={shapes!r} is not a list of shapes", hint)
    found: list[Any] = list(cast("Iterable[Any]", shapes))
    for shape in found:
        if not isinstance(shape, Mapping):
            raise undecided(kernel, f"{shape!r} is not a shape such as {{'M': 4096}}")
        for name, value in cast("Mapping[Any, Any]", shape).items():
            if not isinstance(value, int) or isinstance(value, bool):
                raise undecided(kernel, f"the shape {name}={value!r} is not an integer")
            if not -(1 << 63) <= value < 1 << 64:
                raise undecided(kernel, f"the shape {name}={value} does not fit 64 bits")
    return [{name: int(value) for name, value in shape.items()} for shape in found]


def several_signatures(kernel: str, signature: Any) -> list[str | Mapping[str, str]]:
    """One signature or a list of them as a list. Raises UnsupportedError TW0801 for anything else."""
    several: list[Any] = [signature]
    if isinstance(signature, Sequence) and not isinstance(signature, (str, bytes)):
        several = list(cast("Sequence[Any]", signature))
    for one in several:
        if not isinstance(one, (str, Mapping)):
            hint = "for example \"x=*fp32:16, n=i32\" or {'x': '*fp32:16'}"
            raise undecided(kernel, f"{one!r} is not a signature", hint)
    return several
