"""Changes to the source text of kernels: tokens, names, numbers, operators, arguments, statements, indentation."""

from __future__ import annotations

import ast
import copy
import io
import keyword
import random
import tokenize
from collections.abc import Callable

NUMBERS = [
    "0", "1", "2", "3", "7", "8", "16", "17", "31", "32", "33", "64", "127", "128", "255", "-1", "-2", "1024", "65536",
    "2147483647", "2147483648", "-2147483648", "4294967296", "9223372036854775807", "9223372036854775808", "1 << 70",
    "0.0", "0.5", "-1.5", "1e30", "1e400", "float('nan')", "-float('inf')", "True", "False", "None", "'x'", "''", "()",
    "(1, 2)", "[]", "{}", "1j", "...", "b'x'", "range(3)", "lambda v: v", "int", "print",
]  # fmt: skip
OPERATORS = [
    "+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^", "<", ">", "<=", ">=", "==", "!=", "and", "or",
    "is", "is not", "in", "not in",
]  # fmt: skip
DTYPES = [
    "int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
    "float64", "float8e4nv", "float8e5", "void", "float8e4b8", "float8e4b15",
]  # fmt: skip


def is_language(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id in ("tl", "tw")


class Names:
    """What a changed name may become: the kernel's own names and the language's."""

    def __init__(self, language: list[str]) -> None:
        self.language = language

    def of(self, tree: ast.AST) -> list[str]:
        found = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)}
        found |= {a.arg for a in ast.walk(tree) if isinstance(a, ast.arg)}
        return sorted(found - {"tl", "tw"})


def expressions(tree: ast.AST, wanted: type | tuple[type, ...]) -> list[ast.AST]:
    return [node for node in ast.walk(tree) if isinstance(node, wanted)]


def parse_expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def replace_node(tree: ast.AST, old: ast.AST, new: ast.AST) -> None:
    """Puts `new` where `old` stands."""
    for node in ast.walk(tree):
        for name, value in ast.iter_fields(node):
            if value is old:
                setattr(node, name, new)
            elif isinstance(value, list) and any(v is old for v in value):
                setattr(node, name, [new if v is old else v for v in value])


def bodies(tree: ast.AST) -> list[list[ast.stmt]]:
    """All lists of statements, innermost included."""
    found = []
    for node in ast.walk(tree):
        for name in ("body", "orelse"):
            value = getattr(node, name, None)
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                found.append(value)
    return found


# Each takes the tree, which it changes, the draws and the names, and says whether it could.


def change_number(tree: ast.AST, rng: random.Random, names: Names) -> bool:
    constants = expressions(tree, ast.Constant)
    if constants:
        replace_node(tree, rng.choice(constants), parse_expression(rng.choice(NUMBERS)))
    return bool(constants)


def change_operator(tree: ast.AST, rng: random.Random, names: Names) -> bool:
    found = expressions(tree, (ast.BinOp, ast.Compare, ast.BoolOp, ast.UnaryOp))
    if not found:
        return False
    node, other = rng.choice(found), parse_expression(f"a {rng.choice(OPERATORS)} b")
    if isinstance(node, ast.UnaryOp):
        node.op = rng.choice([ast.Not(), ast.USub(), ast.Invert(), ast.UAdd()])
        return True
    parts = {ast.BinOp: ("left", "right"), ast.Compare: ("left", "comparators"), ast.BoolOp: ("values", "values")}
    first, second = (getattr(node, name) for name in parts[type(node)])
    left = first if isinstance(first, ast.expr) else first[0]
    right = second if isinstance(second, ast.expr) else second[-1]
    if isinstance(other, ast.BinOp):
        other.left, other.right = left, right
    elif isinstance(other, ast.Compare):
        other.left, other.comparators = left, [right]
    elif isinstance(other, ast.BoolOp):
        other.values = [left, right]
    replace_node(tree, node, other)
    return True


def change_name(tree: ast.AST, rng: random.Random, names: Names) -> bool:
    found = [n for n in expressions(tree, ast.Name) if not is_language(n)]
    if found:
        rng.choice(found).id = rng.choice([*names.of(tree), "undefined"])  # type: ignore[attr-defined]
    return bool(found)


def change_attribute(tree: ast.AST, rng: random.Random, names: Names) -> bool:
    found = expressions(tree, ast.Attribute)
    if not found:
        return False
    node = rng.choice(found)
    assert isinstance(node, ast.Attribute)
    node.attr = rng.choice(DTYPES if node.attr in DTYPES and rng.random() < 0.7 else names.language)
    return True


def change_arguments(tree: ast.AST, rng: random.Random, names: Names) -> bool:
    """Drops, repeats, swaps or renames what a call is given."""
    calls = [c for c in expressions(tree, ast.Call) if c.args or c.keywords]  # type: ignore[attr-defined]
    if not calls:
        return False
    call = rng.choice(calls)
    assert isinstance(call, ast.Call)
    style = rng.randrange(6)
    if style == 0 and call.args:
        del call.args[rng.randrange(len(call.args))]
    elif style == 1 and call.keywords:
        del call.keywords[rng.randrange(len(call.keywords))]
    elif style == 2 and call.args:
        call.args.insert(rng.randrange(len(call.args) + 1), copy.deepcopy(rng.choice(call.args)))
    elif style == 3 and call.args:
        rng.shuffle(call.args)
    elif style == 4 and call.keywords:
        rng.choice(call.keywords).arg = rng.choice(["mask", "other", "axis", "dtype", "keep_dims", "x", None])
    elif call.args:
        call.args[rng.randrange(len(call.args))] = parse_expression(rng.choice([*NUMBERS, *names.of(tree)]))
    return True


def replace_expression(tree: ast.AST, rng: random.Random, names: Names) -> bool:
    """Puts one of the kernel's expressions in the place of another."""
    found = [e for e in ast.walk(tree) if isinstance(e, ast.expr) and not is_language(e)]
    old, new = rng.choice(found), copy.deepcopy(rng.choice(found))
    if rng.random() < 0.3:
        text = rng.choice(["-{}", "~{}", "not {}", "{}.T", "{}[None]", "{}[0]", "{}[:, None]", "({}, 1)", "{}.to(tw.int8)"])
        try:
            new = parse_expression(text.format(f"({ast.unparse(new)})"))
        except (SyntaxError, ValueError):
            return False
    if isinstance(getattr(old, "ctx", None), ast.Store):
        return False
    replace_node(tree, old, new)
    return True


def change_statements(tree: ast.AST, rng: random.Random, names: Names) -> bool:
    """Drops, repeats, swaps, moves or unwraps statements."""
    body = rng.choice(bodies(tree)[1:] or bodies(tree))
    at, other = rng.randrange(len(body)), rng.choice(bodies(tree)[1:] or bodies(tree))
    style = rng.randrange(5)
    if style == 0 and len(body) > 1:
        del body[at]
    elif style == 1:
        body.insert(rng.randrange(len(body) + 1), copy.deepcopy(body[at]))
    elif style == 2:
        where = rng.randrange(len(body))
        body[at], body[where] = body[where], body[at]
    elif style == 3:
        other.insert(rng.randrange(len(other) + 1), copy.deepcopy(body[at]))
    elif isinstance(inner := getattr(body[at], "body", None), list):
        body[at : at + 1] = inner
    return True


WRAPPERS = [
    "for w_ in range({}):\n    pass", "for w_ in tw.static_range({}):\n    pass", "if {} > 0:\n    pass",
    "while {} > 9:\n    pass", "if {}:\n    pass\nelse:\n    pass", "def inner_():\n    pass\ninner_()",
]  # fmt: skip


def wrap_statements(tree: ast.AST, rng: random.Random, names: Names) -> bool:
    """Puts a statement into a loop, a branch or a function."""
    body = rng.choice(bodies(tree)[1:] or bodies(tree))
    at = rng.randrange(len(body))
    wrapped = ast.parse(rng.choice(WRAPPERS).format(rng.choice([*names.of(tree), "2", "3"]))).body
    wrapped[0].body = [body[at]]  # type: ignore[attr-defined]
    if rng.random() < 0.2:
        wrapped[0].body.append(ast.parse(rng.choice(["break", "continue", "return"])).body[0])  # type: ignore[attr-defined]
    body[at : at + 1] = wrapped
    return True


def change_tokens(text: str, rng: random.Random, names: Names) -> str:
    """The text with one token dropped, repeated, exchanged or replaced: mostly no Python any longer."""
    try:
        tokens = [t.string for t in tokenize.generate_tokens(io.StringIO(text).readline) if t.string.strip()]
    except (tokenize.TokenError, SyntaxError):
        tokens = text.split()
    lines = text.splitlines()
    at = rng.randrange(1, len(lines)) if len(lines) > 1 else 0
    style = rng.randrange(4)
    if style == 0:
        lines[at] = rng.choice(["    ", "  ", "\t", ""]) + lines[at].lstrip() if rng.random() < 0.5 else "    " + lines[at]
    elif style == 1:
        token = rng.choice(tokens)
        lines[at] = lines[at].replace(token, rng.choice([*tokens, *OPERATORS, *keyword.kwlist]), 1)
    elif style == 2:
        where = rng.randrange(len(lines[at]) + 1)
        lines[at] = lines[at][:where] + rng.choice([*tokens, "(", ")", "\\", "#", ";", "é", "\0", "λ"]) + lines[at][where:]
    else:
        del lines[at]
    return "\n".join(lines) + "\n"


Change = Callable[[ast.AST, random.Random, Names], bool]
CHANGES: list[Change] = [
    change_number, change_number, change_operator, change_name, change_name, change_attribute, change_attribute,
    change_arguments, change_arguments, replace_expression, replace_expression, change_statements, change_statements,
    wrap_statements,
]  # fmt: skip


def mutate(text: str, rng: random.Random, names: Names) -> str:
    """The text of one function with one to three changes."""
    if rng.random() < 0.12:
        return change_tokens(text, rng, names)
    tree = ast.parse(text)
    count = rng.choice([1, 1, 1, 2, 3])
    for _ in range(20):
        count -= rng.choice(CHANGES)(tree, rng, names)
        if count <= 0:
            break
    try:
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (ValueError, RecursionError):  # such as a number within an f-string
        return change_tokens(text, rng, names)
