"""Random expressions of Python: of compile-time values, and with run-time scalars among them."""

from __future__ import annotations

import random

INTEGERS = [0, 1, 2, 3, 5, 7, -1, -2, -7, 16, 31, 100, -128, 255, 4096, 2**31 - 1, -(2**31), 2**40,
            2**53 + 1, 10**20]  # fmt: skip
SMALL = [0, 1, 2, 3, 4, 5, -1, -2, -3]
FLOATS = ["0.0", "-0.0", "0.5", "1.5", "-2.25", "3.0", "0.1", "1e16", "1e-7", "4503599627370497.0",
          "7.75", "-1e300", "123456.789"]  # fmt: skip
EXACT_FLOATS = ["0.0", "0.5", "1.5", "-2.25", "3.0", "7.75", "-0.125"]
STRINGS = ["''", "'a'", "'abc'", "'Hello, World'", "'é'", "'日本語'", "\"it's\"", "'a\\nb'", "'%d'",
           "'x' * 3", "'😀b'", "'tab\\t'"]  # fmt: skip
INT_NAMES, FLOAT_NAMES = ("a", "b", "c"), ("u", "v")


class Generator:
    """`mixed` is the share of leaves that are run-time scalars."""

    def __init__(self, seed: int, mixed: float) -> None:
        self.random = random.Random(seed)
        self.mixed = mixed

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def is_mixed(self) -> bool:
        return self.random.random() < self.mixed

    def any_value(self, depth: int) -> str:
        kind = self.random.choices(
            [self.integer, self.real, self.boolean, self.string, self.tuple], [4, 3, 4, 3, 3]
        )[0]
        return kind(depth)

    def integer(self, depth: int) -> str:
        if depth <= 0:
            if self.is_mixed():
                return self.pick(*INT_NAMES)
            numbers = INTEGERS if self.mixed == 0 else SMALL + [16, 100]
            return f"({self.random.choice(numbers)})"
        d = depth - 1
        i, j = (lambda: self.integer(d)), (lambda: self.integer(d))
        makers = [
            lambda: f"({i()} {self.pick('+', '-', '*', '//', '%', '&', '|', '^')} {j()})",
            lambda: f"({i()} {self.pick('+', '-', '*')} {j()})",
            lambda: f"({self.pick('-', '+', '~')}{i()})",
            lambda: f"({i()} {self.pick('<<', '>>')} {self.random.randrange(0, 9)})",
            lambda: f"({i()} ** {self.random.randrange(0, 5)})",
            lambda: f"({i()} if {self.boolean(d)} else {j()})",
            lambda: f"{self.pick('min', 'max')}({i()}, {j()})",
            lambda: f"{self.pick('min', 'max')}({i()}, {j()}, {i()})",
            lambda: f"abs({i()})",
            lambda: f"len({self.pick(self.string(d), self.tuple(d))})",
            lambda: f"sum({self.integers(d)})",
            lambda: f"sum({self.integers(d)}, start={i()})",
            lambda: f"int({self.pick(i(), self.boolean(d), self.real(d))})",
            lambda: f"{self.integers(d)}[{self.pick('0', '-1', '1')}]",
            lambda: f"divmod({i()}, {j()})[{self.pick('0', '1')}]",
            lambda: f"({i()} {self.pick('and', 'or')} {j()})",
            lambda: f"max({self.integers(d)}, default={i()})",
            lambda: f"pow({i()}, {self.random.randrange(1, 4)})",
        ]
        if not self.is_mixed():
            makers += [
                lambda: f"int('{self.pick('ff', '101', '7')}', base=16)",
                lambda: f"pow({i()}, 3, mod=7)",
                lambda: f"round({self.real(d)})",
                lambda: f"min({self.integers(d)}, key=lambda x: -x)",
                lambda: f"{self.string(d)}.find({self.string(d)})",
                lambda: f"{self.integers(d)}.count({i()})",
            ]
        return self.random.choice(makers)()

    def real(self, depth: int) -> str:
        if depth <= 0:
            if self.is_mixed():
                return self.pick(*FLOAT_NAMES)
            return f"({self.pick(*(FLOATS if self.mixed == 0 else EXACT_FLOATS))})"
        d = depth - 1
        x, y = (lambda: self.real(d)), (lambda: self.pick(self.real(d), self.integer(d)))
        makers = [
            lambda: f"({x()} {self.pick('+', '-', '*', '/', '%', '//')} {y()})",
            lambda: f"({y()} {self.pick('+', '-', '*', '/', '%', '//')} {x()})",
            lambda: f"({self.integer(d)} / {y()})",
            lambda: f"(-{x()})",
            lambda: f"abs({x()})",
            lambda: f"({x()} ** {self.pick('2', '3', '-1', '0.5', '0')})",
            lambda: f"({x()} if {self.boolean(d)} else {x()})",
            lambda: f"float({y()})",
            lambda: f"{self.pick('min', 'max')}({x()}, {y()})",
            lambda: f"sum(({x()}, {y()}), {x()})",
        ]
        if not self.is_mixed():
            makers.append(lambda: f"round({x()}, ndigits={self.random.randrange(0, 4)})")
        return self.random.choice(makers)()

    def boolean(self, depth: int) -> str:
        if depth <= 0:
            if self.is_mixed():
                return f"({self.pick(*INT_NAMES)} {self.pick('<', '>', '==')} {self.pick(*INT_NAMES)})"
            return self.pick("True", "False")
        d = depth - 1
        number = lambda: self.pick(self.integer(d), self.integer(d), self.real(d))  # noqa: E731
        order = lambda: self.pick("<", "<=", ">", ">=", "==", "!=")  # noqa: E731
        makers = [
            lambda: f"({number()} {order()} {number()})",
            lambda: f"({number()} {order()} {number()} {order()} {number()})",
            lambda: f"({number()} {order()} {number()} {order()} {number()} {order()} {number()})",
            lambda: f"(not {self.pick(self.boolean(d), self.integer(d), self.tuple(d))})",
            lambda: f"({self.boolean(d)} {self.pick('and', 'or')} {self.boolean(d)})",
            lambda: f"({self.boolean(d)} {self.pick('&', '|', '^')} {self.boolean(d)})",
            lambda: f"({self.tuple(d)} {order()} {self.tuple(d)})",
            lambda: f"({self.integers(d)} {order()} {self.integers(d)})",
            lambda: f"({self.integer(d)} {self.pick('in', 'not in')} {self.integers(d)})",
            lambda: f"({self.integers(0)} in ({self.integers(0)}, {self.integers(d)}))",
            lambda: f"bool({self.any_value(d)})",
            lambda: f"{self.pick('any', 'all')}(({self.boolean(d)}, {self.boolean(d)}))",
            lambda: f"({self.string(d)} {self.pick('<', '==', '!=', 'in')} {self.string(d)})",
            lambda: f"({self.any_value(d)} {self.pick('==', '!=')} {self.any_value(d)})",
        ]
        return self.random.choice(makers)()

    def string(self, depth: int) -> str:
        """Texts are known at compile time, and so is what they are made of."""
        mixed, self.mixed = self.mixed, 0.0
        try:
            return self._string(depth)
        finally:
            self.mixed = mixed

    def _string(self, depth: int) -> str:
        if depth <= 0:
            return f"({self.pick(*STRINGS)})"
        d = depth - 1
        s = lambda: self.string(d)  # noqa: E731
        spec = self.pick("", ":>8", ":<6", ":^7", "!r", "!s", "!a", "!r:>12")
        number = self.pick("", ":5", ":+d", ":x", ":08b", ":,")
        real = self.pick("", ":.3f", ":e", ":10.2g")
        makers = [
            lambda: f"({s()} + {s()})",
            lambda: f"({s()} * {self.random.randrange(0, 4)})",
            lambda: f"{s()}[{self.slice()}]",
            lambda: f"{s()}.{self.pick('upper()', 'title()', 'strip()', 'swapcase()')}",
            lambda: f"{s()}.replace({s()}, {s()})",
            lambda: f"'-'.join(({s()}, {s()}))",
            lambda: f"f'<{{{self.unquoted()}{spec}}}>'",
            lambda: f"f'{{{self.integer(0)}{number}}}|{{{self.real(0)}{real}}}'",
            lambda: f"('%d-%s' % ({self.integer(0)}, {s()}))",
            lambda: f"{self.pick('str', 'repr')}({self.any_value(d)})",
            lambda: f"format({self.integer(0)}, '>6')",
            lambda: f"({s()} if {self.boolean(d)} else {s()})",
        ]
        text = self.random.choice(makers)()
        return text if "\\" not in text or "f'" not in text else f"({self.pick(*STRINGS)})"

    def unquoted(self) -> str:
        """A text that may stand within the quotation marks of an f-string."""
        return self.pick(*(s.replace("'", '"') for s in STRINGS if "it's" not in s and "\\" not in s))

    def integers(self, depth: int) -> str:
        """A tuple of one to four integers."""
        count = self.random.randrange(1, 5)
        items = ", ".join(self.integer(depth - 1) for _ in range(count))
        return f"({items},)"

    def tuple(self, depth: int) -> str:
        if depth <= 0:
            return self.integers(0)
        d = depth - 1
        t = lambda: self.tuple(d)  # noqa: E731
        makers = [
            lambda: f"({self.any_value(d)}, {self.any_value(d)})",
            lambda: f"({t()} + {t()})",
            lambda: f"({t()} * {self.random.randrange(0, 3)})",
            lambda: f"{t()}[{self.slice()}]",
            lambda: f"tuple([x {self.pick('+', '*', '-')} {self.integer(0)} for x in {self.integers(d)}])",
            lambda: f"tuple([x for x in range({self.random.randrange(-3, 9)}) if x % 2 == 0])",
            lambda: f"tuple([(x, y) for x in {self.integers(0)} for y in (1, 2)])",
            lambda: f"tuple(enumerate({t()}, start={self.integer(0)}))",
            lambda: f"tuple(enumerate({t()}))",
            lambda: f"tuple(zip({t()}, {t()}))",
            lambda: f"tuple(reversed({t()}))",
            lambda: f"({t()} if {self.boolean(d)} else {t()})",
            lambda: f"(*{t()}, {self.any_value(d)})",
            lambda: f"divmod({self.integer(d)}, {self.integer(d)})",
            lambda: f"tuple({self.string(d)})",
        ]
        if not self.is_mixed():
            makers += [
                lambda: f"tuple(sorted({self.integers(d)}, reverse={self.pick('True', 'False')}))",
                lambda: f"tuple(sorted({self.integers(d)}, key=lambda x: -x))",
            ]
        return self.random.choice(makers)()

    def slice(self) -> str:
        def bound() -> str:
            return self.pick("", "", str(self.random.randrange(-5, 6)))

        return f"{bound()}:{bound()}" + self.pick("", ":", ":2", ":-1", ":-2")
