"""Capturing kernels: their source, the values they use, and the buffer made of both."""

from __future__ import annotations

import collections
import dataclasses
import enum
import fractions
import functools
import json
import linecache
import math
import os
import subprocess
import sys
import textwrap
import threading
import types
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
    encode_value,
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


# Being current.


def test_buffer_is_the_same_in_every_process():
    program = textwrap.dedent(f"""
        import sys
        sys.path[:0] = {sys.path!r}
        import test_capture as t
        sys.stdout.write(t.capture(t.fib).buffer + t.capture(t.decorated).buffer)
    """)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1 and '"fib"' in outputs.pop()


@pytest.mark.parametrize(
    ("before", "after"),
    [(4, 5), (1, True), (0.0, -0.0), ("a", "b"), ((1, 2), (1, 3)), ((1, 2), (1, 2, 3)),
     ([1], [2]), ({"a": 1}, {"a": 2}), (tw.constexpr(4), tw.constexpr(5)), (Mode.FAST, Mode.SLOW),
     (plain_add, even), (math.sin, math.cos), (Config(1), Config(2))],
)  # fmt: skip
def test_changed_global_makes_a_capture_old(before: Any, after: Any):
    kernel = Jit(define("def kernel(x):\n    return x, G\n", "kernel", G=before))
    captured = capture(kernel)
    assert captured.is_current() and capture(kernel) is captured
    kernel.fn.__globals__["G"] = after
    assert not captured.is_current()
    assert capture(kernel).buffer != captured.buffer
    kernel.fn.__globals__["G"] = before
    assert captured.is_current()


def test_equal_values_keep_a_capture_current():
    kernel = define("def kernel(x):\n    return x, G, H\n", "kernel", G=(1, "a"), H=10**20)
    captured = capture(kernel)
    kernel.__globals__.update(G=(1, "".join(["a"])), H=10**19 * 10)
    assert captured.is_current()


def test_values_changed_in_place_make_a_capture_old():
    table, config = [1, 2], Config(8)
    kernel = define("def kernel(x):\n    return x, T[0], C.block\n", "kernel", T=table, C=config)
    captured = capture(kernel)
    table[0] = 5
    assert not captured.is_current()
    table[0] = 1
    assert captured.is_current()
    config.name = "not used"
    assert captured.is_current()
    config.block = 9
    assert not captured.is_current()


def test_changes_in_callees_closures_and_modules_are_seen():
    module = types.ModuleType("settings")
    module.value = 1
    count = 3
    helper = Jit(define("def helper(x):\n    return x + K\n", "helper", K=1))

    @Jit
    def kernel(x):
        return helper(x) + count + module.value

    captured = capture(kernel)
    helper.fn.__globals__["K"] = 2
    assert not captured.is_current()
    captured = capture(kernel)
    module.value = 2
    assert not captured.is_current()
    captured = capture(kernel)
    count = 4
    assert not captured.is_current() and capture(kernel).is_current()


def test_wrapper_of_a_captured_kernel_is_another_kernel():
    def kernel(x):
        return x

    capture(kernel)

    @functools.wraps(kernel)
    def wrapper(x):
        return x + 1

    assert function_of(capture(wrapper), "kernel")["source"].count("x + 1") == 1


def test_name_defined_later_makes_a_capture_old():
    kernel = define("def kernel(x):\n    return later\n", "kernel")
    captured = capture(kernel)
    assert "later" not in function_of(captured, "kernel")["names"]
    kernel.__globals__["later"] = 1
    assert not captured.is_current()


def test_local_variables_not_assigned_yet_are_left_out():
    @Jit
    def kernel(x):
        return x + unassigned

    assert "unassigned" not in names_of(kernel)
    unassigned = 1
    assert names_of(kernel)["unassigned"] == {"k": "int", "v": "1"}


def test_digest_covers_host_functions_and_marks_what_it_cannot():
    def digest(text: str, **namespace: Any) -> str:
        kernel = define(text + "\ndef kernel(x):\n    return x.at(f)\n", "kernel", **namespace)
        captured = Capture(kernel)
        return function_of(captured, "kernel")["names"]["f"]["digest"]

    host = "@tw.constexpr_function\ndef f():\n    return {}\n"
    assert digest(host.format(1)) == digest(host.format(1)) != digest(host.format(2))
    assert digest(host.format("Z"), Z=1) != digest(host.format("Z"), Z=2)
    assert digest("f = {'a': [1, 2]}") != digest("f = {'a': [1, 3]}")
    kernel = define("def kernel(x):\n    return x, f\n", "kernel", f=iter([1]))
    assert Capture(kernel).is_opaque
    assert not capture(fib).is_opaque


# Values.

Point = collections.namedtuple("Point", "x y")


@pytest.mark.parametrize(
    "value",
    [None, True, False, 0, -(10**30), 0.1, -0.0, math.inf, -math.inf, "", "a\n\"é", (), (1, (2.5,)),
     Ellipsis, len, range, tw.float32, tw.int1, tw.pointer_type(tw.bfloat16), tw.load, tw.cdiv,
     math],
)  # fmt: skip
def test_values_survive_the_way_to_json_and_back(value: Any):
    back = decode_value(json.loads(json.dumps(encode_value(value))))
    assert back == value and type(back) is type(value) and repr(back) == repr(value)


def test_values_that_change_form():
    import numpy as np

    assert math.isnan(decode_value(encode_value(math.nan)))
    assert decode_value(encode_value([1, [2]])) == (1, (2,))
    point = encode_value(Point(1, 2.0))
    assert point["fields"] == ["x", "y"] and decode_value(point).y == 2.0
    wrapped = decode_value(encode_value(tw.constexpr(7)))
    assert isinstance(wrapped, tw.constexpr) and wrapped.value == 7
    assert encode_value(np.int16(5)) == {"k": "int", "v": "5"}
    assert encode_value(np.dtype("bool")) == encode_value(tw.int1)
    assert encode_value(np.dtype("float16")) == encode_value(tw.float16)
    assert encode_value(object())["v"] == "builtins.object object"


def test_torch_dtypes_are_dtypes():
    torch = pytest.importorskip("torch")
    for name in ("float32", "bfloat16", "int8", "float64"):
        assert encode_value(getattr(torch, name)) == {"k": "dtype", "v": name}
    assert encode_value(torch.bool) == {"k": "dtype", "v": "int1"}
    assert encode_value(torch.float8_e4m3fn) == {"k": "dtype", "v": "float8e4nv"}


# Evaluating static expressions.

TABLE = {"small": 16, "large": (128, 64)}


@Jit
def asks(x, KEY: tw.constexpr):
    bias = 2
    tw.static_assert(KEY.startswith("s") and host_size(bias) > 0)
    return x + TABLE[KEY][0], CONFIG.twice, [i * bias for i in range(3)], 1 < bias <= 2


def ask(node: Any, **names: Any) -> Any:
    captured = capture(asks)
    encoded = {name: captured.encode(value) for name, value in names.items()}
    request = {"function": "f0", "node": node, "names": encoded}
    answer = json.loads(captured.evaluate(json.dumps(request)))
    return decode_value(answer["value"], captured) if "value" in answer else answer["error"]


def test_evaluator_answers_expressions_of_the_kernel():
    tree = function_of(capture(asks), "asks")["ast"]
    test = tree["body"][1]["value"]["args"][0]
    first, twice, comprehension, chain = tree["body"][2]["value"]["elts"]
    assert ask(test, KEY="small", bias=2) is True
    assert ask(test, KEY="large", bias=2) is False
    assert ask(first["right"], KEY="large") == 128
    assert ask(twice) == 16
    assert ask(comprehension, bias=5) == (0, 5, 10)
    assert ask(chain, bias=tw.constexpr(2)) is True


def test_evaluator_reports_errors_and_passes_objects_on():
    tree = function_of(capture(asks), "asks")["ast"]
    lookup = tree["body"][2]["value"]["elts"][0]["right"]
    assert ask(lookup, KEY="none") == "KeyError: 'none'"
    assert ask({"_": "Nonsense"}) == "ValueError: unknown node 'Nonsense'"
    table = {"_": "Name", "id": "TABLE"}
    assert ask(table) is TABLE
    local = {"_": "Name", "id": "local"}
    assert ask(local, local=TABLE) is TABLE and ask(local, local=even) is even
    assert json.loads(capture(asks).evaluate("not json"))["error"]


CLASS = """
class Scale:
    factor = 2
    def __init__(self): self.base = 3
    @property
    def value(self): return self.base * self.factor
    def plus(self, n): return self.value + n
    def __len__(self): return 4
G = Scale()
def kernel(x):
    return G.value + G.plus(1) + len(G)
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [("* self.factor", "+ self.factor"), ("factor = 2", "factor = 5"), ("+ n", "- n"),
     ("return 4", "return 5"), ("base = 3", "base = 4")],
)  # fmt: skip
def test_what_a_class_does_is_part_of_the_meaning_of_its_objects(old: str, new: str):
    assert old in CLASS
    first, same, other = (
        capture(Jit(define(text, "kernel"))) for text in (CLASS, CLASS, CLASS.replace(old, new))
    )
    assert not first.is_opaque
    assert first.meaning == same.meaning != other.meaning


def test_a_changed_class_makes_a_capture_old():
    kernel = Jit(define(CLASS, "kernel"))
    kind = type(kernel.fn.__globals__["G"])
    captured = capture(kernel)
    kind.factor = 7
    assert not captured.is_current()
    captured = capture(kernel)
    kind.value = property(lambda self: 1)
    assert not captured.is_current()


def test_state_outside_of_attributes_is_part_of_the_digest():
    class Slots:
        __slots__ = ("value",)

        def __init__(self, value: int) -> None:
            self.value = value

    def meaning(value: object) -> str:
        captured = capture(Jit(define("def kernel(x):\n    return x, G\n", "kernel", G=value)))
        assert not captured.is_opaque
        return captured.meaning

    for make in (Slots, lambda n: functools.partial(math.pow, n), lambda n: {"a": n}.get,
                 lambda n: fractions.Fraction(1, n)):  # fmt: skip
        assert meaning(make(2)) == meaning(make(2)) != meaning(make(3))


def test_what_cannot_be_compared_is_captured_anew():
    kernel = Jit(define("def kernel(x):\n    return x, G\n", "kernel", G=threading.Lock()))
    captured = capture(kernel)
    assert captured.is_opaque and not captured.is_current()


def test_globals_of_host_functions_are_seen():
    text = (
        "WIDTH = 2\n@tw.constexpr_function\ndef width():\n    return WIDTH\n"
        "def kernel(x):\n    return width()\n"
    )
    kernel = Jit(define(text, "kernel"))
    captured = capture(kernel)
    assert captured.is_current()
    kernel.fn.__globals__["WIDTH"] = 3
    assert not captured.is_current()
