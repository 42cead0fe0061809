"""Capturing kernels: their source, the names and the values that they use."""

from __future__ import annotations

import dataclasses
import enum
import json
import linecache
import math
import textwrap
from pathlib import Path
from typing import Any

import pytest
from tilewright import language as tl
from tilewright import language as tw
from tilewright.capture import (
    Capture,
    SourceNotFound,
    capture,
    decode_value,
    find_source,
)


class Jit:
    """The protocol of jit functions, and nothing more."""

    __tilewright_jit__ = True

    def __init__(self, fn: Any) -> None:
        self.fn = fn


def function_of(captured: Capture, name: str) -> dict[str, Any]:
    functions = json.loads(captured.buffer)["functions"].values()
    (found,) = [f for f in functions if f["name"] == name]
    return found


def names_of(function: Any) -> dict[str, Any]:
    captured = capture(function)
    return function_of(captured, captured.function_by_id("f0").fn.__name__)["names"]


def nodes(tree: Any) -> list[dict[str, Any]]:
    if isinstance(tree, list):
        return [n for item in tree for n in nodes(item)]
    if not isinstance(tree, dict):
        return []
    below = [n for v in tree.values() for n in nodes(v)]
    return [tree, *below] if "_" in tree else below


def define(text: str, name: str, **namespace: Any) -> Any:
    """A function compiled from a string whose lines are registered, as notebooks do."""
    text = textwrap.dedent(text)
    file = f"<cell {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"__name__": "cell", "tw": tw, **namespace}
    exec(compile(text, file, "exec"), scope)
    return scope[name]


# Source.


def identity(fn: Any) -> Any:
    return fn


@Jit
@identity
def decorated(
    x,
    BLOCK: tw.constexpr = 4,
):
    """Not part of the tree."""
    # A comment.
    y = """
less indented"""
    return x + BLOCK


def test_decorated_function_keeps_the_lines_of_its_file():
    captured = capture(decorated)
    function = function_of(captured, "decorated")
    assert function["source"].startswith("@Jit\n@identity\ndef decorated(\n")
    lines = Path(__file__).read_text().splitlines()
    assert lines[function["line"] - 1] == "@Jit"
    assert function["ast"]["decorator_list"] == [] and function["ast"]["returns"] is None
    assert [n["_"] for n in function["ast"]["body"]] == ["Assign", "Return"]
    for node in nodes(function["ast"]):
        if node["_"] == "Name":
            line, start, end_line, end = node["@"]
            assert line == end_line and lines[line - 1][start - 1 : end - 1] == node["id"]


def test_nested_definitions_are_read_in_place():
    def make():
        @Jit
        def inner(x):
            return (x +
  1)  # fmt: skip

        return inner

    function = function_of(capture(make()), "inner")
    (name,) = [n for n in nodes(function["ast"]) if n["_"] == "Name"]
    line, start, _, end = name["@"]
    assert Path(__file__).read_text().splitlines()[line - 1][start - 1 : end - 1] == "x"


def test_columns_count_characters():
    kernel = define("def kernel(x):\n    return 'é→𝄞' + x\n", "kernel")
    (name,) = [n for n in nodes(function_of(Capture(kernel), "kernel")["ast"]) if n["_"] == "Name"]
    assert name["@"] == [2, 20, 2, 21]


def test_cell_source_is_found_through_linecache():
    kernel = define("x = 1\ndef kernel(a):\n    return a\n", "kernel")
    source = find_source(kernel)
    assert source.file.startswith("<cell") and (source.line, source.text) == (
        2,
        "def kernel(a):\n    return a\n",
    )


def test_string_without_source_says_how_to_register_it():
    scope: dict[str, Any] = {}
    exec("def lost(a):\n    return a\n", scope)
    with pytest.raises(SourceNotFound, match=r"lost is not available.*linecache"):
        Capture(scope["lost"])


def test_changed_file_is_noticed(tmp_path: Path):
    path = tmp_path / "changing.py"
    path.write_text("def kernel(a):\n    return a\n")
    scope: dict[str, Any] = {}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    path.write_text("# now a comment\n\ndef kernel(a):\n    return a\n")
    with pytest.raises(SourceNotFound, match="changed after it was imported"):
        Capture(scope["kernel"])


def test_lambdas_on_one_line_are_told_apart():
    first, second = (lambda a, b: a + b), (lambda a, b: a * b)
    assert [find_source(f).node.body.op.__class__.__name__ for f in (first, second)] == [
        "Add",
        "Mult",
    ]


def test_coroutines_and_classes_are_refused():
    async def kernel():
        pass

    with pytest.raises(SourceNotFound, match="coroutine"):
        Capture(kernel)
    with pytest.raises(TypeError, match="must be a Python function"):
        Capture(int)


def test_equal_functions_on_equal_lines_are_not_confused():
    texts = ["def kernel(a):\n    return a + G\n"] * 2
    first, second = (define(text, "kernel", G=g) for text, g in zip(texts, (1, 2)))
    assert first.__code__ is not second.__code__
    files = [function_of(Capture(f), "kernel")["file"] for f in (first, second)]
    assert files[0] != files[1]


# Names.

WIDTH = 4
SCALE: Any = 0.5
NESTED = (1, (2.0, "three"), [None, True])


class Mode(enum.Enum):
    FAST = "fast"
    SLOW = "slow"


class Level(enum.IntEnum):
    LOW = 3


class Settings:
    stages = 2


@dataclasses.dataclass
class Config:
    block: int
    name: str = "c"

    @property
    def twice(self) -> int:
        return 2 * self.block


CONFIG = Config(8)


def test_names_hold_what_the_body_uses_and_nothing_else():
    @Jit
    def kernel(x, tl_local, n: tw.constexpr = WIDTH):
        math_local = x
        for i in range(n):
            x = tw.exp(x) + tl.math.exp2(math_local) + i * WIDTH
        return [WIDTH for SCALE in (1, 2)], (lambda NESTED: NESTED)(x), missing  # noqa: F821

    names = names_of(kernel)
    assert list(names) == [
        "range", "tw", "tw.exp", "tl", "tl.math", "tl.math.exp2", "WIDTH",
    ]  # fmt: skip
    assert names["tl.math.exp2"] == {"k": "builtin", "v": "exp2"}
    assert names["range"] == {"k": "pybuiltin", "v": "range"}
    assert names["tw"] == {"k": "module", "v": "tilewright.language"}
    assert names["WIDTH"] == {"k": "int", "v": "4"}


def test_chains_resolve_modules_classes_enums_and_objects():
    closed = Config(16)

    @Jit
    def kernel(x):
        return Mode.FAST, Mode.FAST.value, Level.LOW, Settings.stages, CONFIG.block, closed.block, \
            CONFIG.twice, math.pi, tw.float32.primitive_bitwidth  # fmt: skip

    names = names_of(kernel)
    assert names["Mode.FAST"] == names["Mode.FAST.value"] == {"k": "str", "v": "fast"}
    assert names["Level.LOW"] == {"k": "int", "v": "3"}
    assert names["Settings.stages"] == {"k": "int", "v": "2"}
    assert names["CONFIG.block"] == {"k": "int", "v": "8"}
    assert names["closed.block"] == {"k": "int", "v": "16"}
    assert names["math.pi"] == {"k": "float", "v": math.pi.hex()}
    assert names["tw.float32"] == {"k": "dtype", "v": "float32"}
    # A property runs user code: it is left to be asked for.
    assert "CONFIG.twice" not in names and names["CONFIG"]["digest"]
    # Where only attributes are used the rest of an object does not matter.
    assert "digest" not in names["closed"] and "digest" not in names["Level"]
    assert not capture(kernel).is_opaque


def test_parameters_have_types_defaults_and_kinds():
    @Jit
    def kernel(a, /, b: tl.int64, c: tw.constexpr, d: "tw.constexpr" = NESTED, *rest,
               e: tw.pointer_type(tw.float16) = None,
               f: "*bf16" = 1.5, g: "tw.constexpr[int]" = 1):  # noqa: F722  # fmt: skip
        return a

    params = function_of(capture(kernel), "kernel")["params"]
    by_name = {p["name"]: p for p in params}
    assert [p["name"] for p in params] == ["a", "b", "c", "d", "rest", "e", "f", "g"]
    assert [n for n, p in by_name.items() if p["constexpr"]] == ["c", "d", "g"]
    assert [by_name[n]["annotation"] for n in "abef"] == [None, "i64", "*fp16", "*bf16"]
    assert [by_name[n].get("kind") for n in ("a", "b", "rest", "e")] == [
        "positional_only", None, "var_positional", "keyword_only",
    ]  # fmt: skip
    assert "default" not in by_name["b"]
    assert decode_value(by_name["d"]["default"]) == (1, (2.0, "three"), (None, True))
    assert by_name["f"]["default"] == {"k": "float", "v": "0x1.8000000000000p+0"}


# Callees.


@Jit
def fib(n):
    return fib(n - 1) + even(n)


@Jit
def even(n):
    return fib(n)


def plain_add(a, b):
    return a + b


@tw.constexpr_function
def host_size(n: int) -> int:
    return n * WIDTH


def test_recursion_refers_to_the_same_function():
    captured = capture(fib)
    functions = json.loads(captured.buffer)["functions"]
    assert [(i, f["name"]) for i, f in functions.items()] == [("f0", "fib"), ("f1", "even")]
    assert functions["f1"]["names"]["fib"] == {"k": "jit", "v": "f0"}
    assert captured.function_by_id("f1") is even


def test_plain_host_and_library_functions():
    @Jit
    def kernel(x):
        size: tw.constexpr = host_size(2) + math.ceil(2.5) + textwrap.dedent("")
        return tw.reduce(x, 0, plain_add), tw.sum(x, 0), tw.cdiv(size, 2)

    names = names_of(kernel)
    assert names["plain_add"] == {"k": "jit", "v": "f1", "plain": True}
    assert names["tw.sum"]["k"] == "jit" and "plain" not in names["tw.sum"]
    assert names["tw.cdiv"] == {"k": "builtin", "v": "cdiv"}
    assert names["host_size"]["k"] == "constexpr_function"
    assert names["math.ceil"]["k"] == names["textwrap.dedent"]["k"] == "constexpr_function"
    assert names["math.ceil"]["v"] == "math.ceil"


def test_methods_are_in_the_buffer_only_when_called_on_values():
    @Jit
    def uses_method(x):
        return x.sum(axis=0).to(tw.float16)

    @Jit
    def uses_function(x):
        return tw.max(x, axis=0)

    methods = json.loads(capture(uses_method).buffer)["methods"]
    assert list(methods) == ["sum"]
    assert function_of(capture(uses_method), "sum")["params"][1]["name"] == "axis"
    assert json.loads(capture(uses_function).buffer)["methods"] == {}


def test_method_reached_through_a_library_function():
    @Jit
    def kernel(x):
        return x.topk(4)

    functions = json.loads(capture(kernel).buffer)["functions"].values()
    assert {"topk", "_compare_exchange"} <= {f["name"] for f in functions}


def test_functions_as_constexpr_arguments_join_the_capture():
    @Jit
    def kernel(x, ACT: tw.constexpr):
        return ACT(x)

    base = capture(kernel)
    assert base.including([3, "relu", None]) is base
    joined = base.including([even])
    assert base.including([even]) is joined and joined is not base
    assert {"kernel", "even", "fib"} == {
        f["name"] for f in json.loads(joined.buffer)["functions"].values()
    }
    assert joined.encode(even)["k"] == "jit"
    relu = lambda v: tw.maximum(v, 0)  # noqa: E731
    assert base.including([relu]).encode(relu)["plain"] is True


def test_table_of_functions_is_captured_with_its_members():
    table = {"even": even, "add": plain_add}

    @Jit
    def kernel(x, NAME: tw.constexpr):
        return table[NAME](x)

    captured = capture(kernel)
    names = [f["name"] for f in json.loads(captured.buffer)["functions"].values()]
    assert names == ["kernel", "even", "plain_add", "fib"]


def test_unsupported_names_carry_their_hint():
    @Jit
    def kernel(x):
        return tw.extract_slice(x)

    encoded = names_of(kernel)["tw.extract_slice"]
    assert encoded["v"] == "unsupported:extract_slice" and "tw.reshape" in encoded["hint"]


def test_parts_of_tritons_language_say_where_they_are():
    @Jit
    def kernel(x):
        return tw.core.full([4], x, tw.float32) + tw.extra.libdevice.exp(x)  # pyright: ignore

    names = names_of(kernel)
    for name in ("tw.core.full", "tw.extra.libdevice.exp"):
        assert "tilewright.triton.language" in names[name]["hint"]
    with pytest.raises(AttributeError, match="tilewright.triton.language"):
        tw.standard  # pyright: ignore
    assert not hasattr(tw, "core")
