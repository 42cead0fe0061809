"""When a capture is old, what its digest covers, and values on their way through the buffer."""

from __future__ import annotations

import collections
import fractions
import functools
import json
import math
import os
import subprocess
import sys
import textwrap
import threading
import types
from typing import Any

import pytest
from tilewright import language as tw
from tilewright.capture import Capture, capture, decode_value, encode_value
from test_capture import (
    CONFIG, Config, Jit, Mode, define, even, fib, function_of, host_size, names_of, plain_add,
)  # fmt: skip


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
