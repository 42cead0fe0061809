"""Sums of products of names, for sizes that a kernel learns when it is launched."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# The names that are multiplied with each other, in order.
Monomial = tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Formula:
    """A polynomial with integer coefficients, which computes with integers, too. A name is an argument,
    a counter, or a piece that is not a polynomial, such as `cdiv(K, 32)`."""

    terms: Mapping[Monomial, int] = field(default_factory=dict[Monomial, int])

    @classmethod
    def of(cls, value: Formula | int | str) -> Formula:
        """The formula of a number or of a name."""
        if isinstance(value, Formula):
            return value
        if isinstance(value, str):
            return cls({(value,): 1})
        return cls({(): value} if value else {})

    @property
    def number(self) -> int | None:
        """The value of a formula without names."""
        if not self.terms:
            return 0
        return self.terms.get(()) if set(self.terms) == {()} else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (Formula, int)) and self.terms == Formula.of(other).terms

    def __add__(self, other: Formula | int) -> Formula:
        terms = dict(self.terms)
        for names, factor in Formula.of(other).terms.items():
            terms[names] = terms.get(names, 0) + factor
        return Formula({names: factor for names, factor in terms.items() if factor})

    def __mul__(self, other: Formula | int) -> Formula:
        terms: dict[Monomial, int] = {}
        for names, factor in self.terms.items():
            for others, times in Formula.of(other).terms.items():
                product = tuple(sorted((*names, *others)))
                terms[product] = terms.get(product, 0) + factor * times
        return Formula({names: factor for names, factor in terms.items() if factor})

    def __sub__(self, other: Formula | int) -> Formula:
        return self + Formula.of(other) * -1

    def __rsub__(self, other: int) -> Formula:
        return Formula.of(other) - self

    __radd__, __rmul__ = __add__, __mul__

    def __str__(self) -> str:
        parts = [_term(names, factor) for names, factor in sorted(self.terms.items(), key=_order)]
        return " + ".join(parts).replace("+ -", "- ") or "0"

    def leading(self) -> Formula:
        """The part with the most factors, which decides where all of them are large."""
        most = max((len(names) for names in self.terms), default=0)
        return Formula({names: f for names, f in self.terms.items() if len(names) == most})


def _order(term: tuple[Monomial, int]) -> tuple[int, Monomial]:
    return -len(term[0]), term[0]


def _term(names: Monomial, factor: int) -> str:
    factors = [name if name.isidentifier() or name.endswith(")") else f"({name})" for name in names]
    if factor != 1 or not names:
        factors.insert(0, str(factor))
    return " * ".join(factors)


def quotient_up(a: Formula, b: Formula) -> Formula:
    """The quotient that is rounded up: a number where both are."""
    if a.number is not None and b.number:
        return Formula.of(-(-a.number // b.number))
    return a if b.number == 1 else Formula.of(f"cdiv({a}, {b})")


def applied(operator: str, a: Formula, b: Formula) -> Formula:
    """An operation on two formulas that gives no polynomial: its text is a name."""
    return Formula.of(f"({a}) {operator} ({b})")
