"""Random functions with branches, loops and jumps, whose numbers mean the same in Python and in a
kernel: small integers, and floats that float32 holds exactly."""

from __future__ import annotations

import random

INT_NAMES, FLOAT_NAMES = ("x", "y", "z"), ("r", "s")


class Program:
    """The text of one function of the integers a and b; it returns all its variables."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.lines: list[str] = []
        self.numLoops = 0
        self.counters: list[str] = []

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def text(self, name: str) -> str:
        self.lines = [f"def {name}(a, b):"]
        for variable in INT_NAMES:
            self.add(1, f"{variable} = {self.pick('a', 'b', '0', '1', '-2', '5')}")
        for variable in FLOAT_NAMES:
            self.add(1, f"{variable} = {self.pick('0.5', '0.0', '-1.25')}")
        self.add(1, "t = (a, 3)")
        self.block(1, 3, False)
        self.block(1, 2, False)
        self.add(1, f"return {', '.join(INT_NAMES + FLOAT_NAMES)}, t[0], t[1]")
        return "\n".join(self.lines) + "\n"

    def add(self, indent: int, line: str) -> None:
        self.lines.append("    " * indent + line)

    def integer(self, depth: int = 1) -> str:
        if depth == 0:
            names = [*INT_NAMES, "a", "b", "t[0]", "t[1]", *self.counters]
            return self.pick(*names, str(self.random.randrange(-4, 8)))
        left, right = self.integer(depth - 1), self.integer(0)
        return self.pick(
            f"{left} + {right}",
            f"{left} - {right}",
            f"({left}) * {self.random.randrange(-2, 3)}",
            f"max({left}, {right})",
            f"min({left}, {right})",
            f"({left} if {self.condition()} else {right})",
            f"abs({left})",
            f"({left}) & 15",
            f"sum([i * 2 for i in ({left}, {right})])",
        )

    def real(self) -> str:
        name = self.pick(*FLOAT_NAMES)
        return self.pick(
            f"{name} + 0.5", f"{name} - {self.integer(0)}", f"-{name}", "2.25",
            f"({name} if {self.condition()} else 1.5)", f"max({name}, 0.25)",
        )  # fmt: skip

    def condition(self, depth: int = 1) -> str:
        order = self.pick("<", "<=", ">", ">=", "==", "!=")
        if depth == 0:
            return f"{self.integer(0)} {order} {self.integer(0)}"
        return self.pick(
            self.condition(0),
            f"{self.integer(0)} < {self.integer(0)} {order} {self.integer(0)}",
            f"({self.condition(0)} and {self.condition(0)})",
            f"({self.condition(0)} or {self.condition(0)})",
            f"not {self.condition(0)}",
            f"({self.integer(0)}, {self.integer(0)}) {order} ({self.integer(0)}, 2)",
            f"{self.integer(0)} in (1, {self.integer(0)}, 3)",
            f"{self.integer(0)}",
            self.pick("True", "False", "1 < 2", "3 == 4"),
            f"{self.pick(*FLOAT_NAMES)} > 0.5",
        )

    def block(self, indent: int, depth: int, is_in_loop: bool) -> None:
        for _ in range(self.random.randrange(1, 4)):
            self.statement(indent, depth, is_in_loop)

    def statement(self, indent: int, depth: int, is_in_loop: bool) -> None:
        kinds = ["assign", "assign", "real", "tuple", "unpack"]
        if depth > 0:
            kinds += ["if", "if", "for", "while", "items"]
        if is_in_loop:
            kinds += ["break", "continue"]
        if indent > 1:
            kinds.append("return")
        kind = self.random.choice(kinds)
        if kind == "assign":
            operator = self.pick("=", "=", "+=", "-=")
            self.add(indent, f"{self.pick(*INT_NAMES)} {operator} {self.integer(2)}")
        elif kind == "real":
            self.add(indent, f"{self.pick(*FLOAT_NAMES)} = {self.real()}")
        elif kind == "tuple":
            self.add(indent, f"t = ({self.integer()}, {self.integer()})")
        elif kind == "unpack":
            self.add(indent, f"{self.pick('x, y', 'y, z', 'z, x')} = {self.pick('y, x', 't', 't[::-1]')}")
        elif kind in ("break", "continue"):
            self.add(indent, f"if {self.condition()}:")
            self.add(indent + 1, kind)
        elif kind == "return":
            self.add(indent, f"if {self.condition()}:")
            self.add(indent + 1, f"return {', '.join(INT_NAMES + FLOAT_NAMES)}, {self.integer(0)}, 7")
        elif kind == "if":
            self.branch(indent, depth, is_in_loop)
        else:
            self.loop(indent, depth, kind)

    def branch(self, indent: int, depth: int, is_in_loop: bool) -> None:
        self.add(indent, f"if {self.condition()}:")
        self.block(indent + 1, depth - 1, is_in_loop)
        if self.random.random() < 0.4:
            self.add(indent, f"elif {self.condition()}:")
            self.block(indent + 1, depth - 1, is_in_loop)
        if self.random.random() < 0.5:
            self.add(indent, "else:")
            self.block(indent + 1, depth - 1, is_in_loop)

    def loop(self, indent: int, depth: int, kind: str) -> None:
        counter = f"i{self.numLoops}"
        self.numLoops += 1
        if kind == "while":
            self.add(indent, f"{counter} = {self.pick('0', 'a - a')}")
            self.add(indent, f"while {counter} < {self.random.randrange(0, 5)} and {self.condition()}:")
            self.add(indent + 1, f"{counter} += 1")
        elif kind == "items":
            items = self.pick("(1, 2)", "(3, x)", "t", "()", "enumerate(t, start=2)", "zip(t, (5, 6))")
            if items[0] in "ez":
                self.add(indent, f"for {counter}, j in {items}:")
                self.add(indent + 1, "y += j")
            else:
                self.add(indent, f"for {counter} in {items}:")
        else:
            bounds = self.pick("3", "0, 4", "a & 3", "1, (b & 3) + 2", "4, 0, -1", "0, 6, 2", "b & 1, 3")
            self.add(indent, f"for {counter} in range({bounds}):")
        self.counters.append(counter)
        self.block(indent + 1, depth - 1, True)
        self.counters.pop()
        if self.random.random() < 0.25:
            self.add(indent, "else:")
            self.block(indent + 1, depth - 1, False)
