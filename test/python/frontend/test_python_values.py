"""Tuples, builtins and compile-time calls of Python keep their meaning when parts of their values
are known only at run time."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np
import pytest

import tilewright as tw


def run(body: str, n: int = 5, pre: str = "", device: str = "cpu", debug: bool = False) -> list[Any]:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    text = f"{pre}\ndef kernel(out, n):\n{lines}"
    scope: dict[str, Any] = {"tw": tw, "math": math}
    exec(text, scope)
    out = np.full(8, -9.0, np.float64)
    with tw.device(device):
        tw.jit(scope["kernel"], debug=debug)[(1,)](out, np.int32(n))
    return out.tolist()


def code_of(body: str, pre: str = "", debug: bool = False) -> str:
    with pytest.raises(tw.TilewrightError) as caught:
        run(body, pre=pre, debug=debug)
    assert "-->" in caught.value.rendered
    return caught.value.code


@pytest.mark.parametrize("on", ["cpu", "reference", "sim:sm_80"])
def test_tuples_with_run_time_elements_are_compared_element_by_element(on: str) -> None:
    body = """if (n, 0) == (5, 0):
    tw.store(out, 1)
if (n, 0) != (5, 0):
    tw.store(out + 1, 1)
if (n, 1) == (n, 1, 2):
    tw.store(out + 2, 1)
tw.store(out + 3, (n, 3) < (5, 4))
tw.store(out + 4, (n, 3) >= (n, 4))
tw.store(out + 5, ((n, 1), 2) in (((5, 1), 2), 3))
tw.store(out + 6, n not in (1, 5))
i, steps = 0, 0
while (i, 0) != (n, 0):
    i += 1
    steps += 1
tw.store(out + 7, steps)"""
    assert run(body, device=on) == [1, -9, -9, 1, 0, 1, 0, 5]
    assert run(body, n=6, device=on)[:2] == [-9, 1]


def test_questions_of_tuples_of_tiles_are_refused() -> None:
    assert code_of("x = tw.arange(0, 8)\nif (x, 1) == (x + 1, 1): tw.store(out, 1)") == "TW0119"
    assert code_of("x = tw.arange(0, 8)\ny = x == (1, 2)") == "TW0103"
    assert code_of("y = n in range(4)") == "TW0104"


@pytest.mark.parametrize("question", ["n is 5", "n is n + 0", "(n > 3) is True", "5 is not n"])
def test_identity_of_run_time_numbers_is_refused(question: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Python's own, of `is` with a literal
        assert code_of(f"if {question}: tw.store(out, 1)") == "TW0103"


def test_enumerate_counts_from_a_run_time_number() -> None:
    body = "for i, v in enumerate((10, 20), n):\n    tw.store(out + v // 10, i)"
    assert run(body)[1:3] == [5, 6]
    assert code_of("for i, v in enumerate((1, 2), n * 0.5): pass") == "TW0103"


@pytest.mark.parametrize("on", ["cpu", "reference", "sim:sm_80"])
def test_print_writes_everything_in_order(on: str, capfd: pytest.CaptureFixture[str]) -> None:
    run('print("x", n, "y", 7, n + 1, (1, "t"), tw.int32, None)', device=on)
    text = re.sub(r"pid \(0, 0, 0\)( idx \(\))? ", "", capfd.readouterr().out)
    assert text.split("\n") == ["x: 5", "y 7: 6", "(1, 't') i32 None", ""]


def test_any_and_all_of_run_time_values() -> None:
    body = """tw.store(out, any((n > 9, n == 5)))
tw.store(out + 1, all((n > 9, n == 5)))
tw.store(out + 2, all((n > 3, True, n)))
tw.store(out + 3, any((n < 3, 0)))"""
    assert run(body)[:4] == [1, 0, 1, 0]


FUNCTIONS = """
def twice(value):
    try:
        return 2 * value
    finally:
        pass
def width_of(dtype):
    return {"int32": 32, "float32": 64}[dtype.name.replace("fp", "float").replace("i3", "int3")]
@tw.constexpr_function
def get_int_dtype(bitwidth, signed):
    return getattr(tw, f"{'' if signed else 'u'}int{bitwidth}")
"""


def test_compile_time_calls_take_parts_of_run_time_values() -> None:
    body = """x = tw.arange(0, 8) + n
tw.store(out, twice(x.shape[0]))
tw.store(out + 1, math.log2(x.shape[0]))
tw.store(out + 2, sorted((x.shape[0], 3))[0])
kind = get_int_dtype(bitwidth=x.dtype.primitive_bitwidth, signed=True)
tw.static_assert(kind == tw.int32)
tw.store(out + 3, "abcdefgh".find("abcdefgh"[x.shape[0] - 1]))
tw.store(out + 4, len(f"{x.shape[0]:>5}"))
tw.store(out + 5, max(x.shape, default=0))
tw.store(out + 6, "a{}b".format(x.shape[0]).count("8"))"""
    assert run(body, pre=FUNCTIONS)[:7] == [16, 3, 3, 7, 5, 8, 1]
    assert code_of("y = twice(n)", FUNCTIONS.replace("def twice", "@tw.constexpr_function\ndef twice"))
    assert code_of("y = math.log2(n)") == "TW0104"


@pytest.mark.parametrize(
    "text", ["f'{n}'", "f'{n:5}'", "f'{(n, 1)}'", "str(n)", "repr(n)", "'%d' % n", "'{}'.format(n)"]
)
def test_texts_of_run_time_values_are_refused(text: str) -> None:
    assert code_of(f"tw.static_print({text})") in ("TW0103", "TW0104", "TW0116")


def test_a_constexpr_that_differs_on_two_paths_is_refused_where_it_is_read() -> None:
    body = "k: tw.constexpr = 1\nif n > 3:\n    k = 2\n"
    assert run(body + "tw.store(out, 3)")[0] == 3
    assert code_of(body + "tw.store(out, k)") == "TW0122"


def test_a_range_keeps_its_meaning_through_a_branch() -> None:
    body = "r = range(n)\nif n > 0:\n    k = 1\nelse:\n    k = 2\nfor i in r:\n    k += i\ntw.store(out, k)"
    assert run(body)[0] == 11


def test_numbers_that_float32_would_round_are_not_joined_with_floats() -> None:
    body = "if n > 3:\n    k = 16777217\nelse:\n    k = 0.5\ntw.store(out, k)"
    assert code_of(body) == "TW0106"
    assert run(body.replace("16777217", "16777216"))[0] == 16777216


def test_recursion_ends_where_a_compile_time_condition_ends_it() -> None:
    factorial = "@tw.jit\ndef f(n, K: tw.constexpr):\n    if K == 0:\n        return n\n    return f(n + K, K - 1)"
    assert run("tw.store(out, f(n, 4))", pre=factorial)[0] == 15
    body = "apply = lambda f, x: f(x)\ntw.store(out, apply(lambda y: apply(lambda z: z + 1, y), n))"
    assert run(body)[0] == 6
    assert code_of("tw.store(out, f(n))", "@tw.jit\ndef f(n):\n    return f(n - 1)") == "TW0110"


def test_the_else_of_a_loop_runs_unless_it_is_left() -> None:
    body = """for i in range(n):
    if i == 3:
        break
else:
    tw.store(out, 1)
for v in (1, n, 9):
    if v == 5:
        break
else:
    tw.store(out + 1, 1)
i = 0
while i < n:
    i += 1
else:
    tw.store(out + 2, i)"""
    assert run(body)[:3] == [-9, -9, 5]
    assert run(body, n=2)[:3] == [1, 1, 2]


def test_names_of_a_comprehension_end_with_it_but_walruses_stay() -> None:
    assert run("i = 7\ny = 0\nt = [(y := i) for i in range(3)]\ntw.store(out, y * 10 + i)")[0] == 27
    assert code_of("y = 0\nif n > 9 and (y := n) > 3: pass\ntw.store(out, y)") == "TW0111"


def test_a_local_name_of_a_nested_function_hides_the_one_around_it() -> None:
    pre, body = "", "q = 5\ndef f():\n    k = q\n    q = 1\n    return k\ntw.store(out, f())"
    assert code_of(body, pre) == "TW0101"


@pytest.mark.parametrize("line", ["tw.device_print('a', a)", "print(a)", "tw.store(out, a)",
                                  "tw.device_assert(a > 0)", "assert a > 0"])  # fmt: skip
def test_an_effect_in_a_combining_function_is_refused_at_its_line(line: str) -> None:
    for call in ("tw.reduce(tw.arange(0, 8), 0, f)", "tw.associative_scan(tw.arange(0, 8), 0, f)"):
        body = f"def f(a, b):\n    {line}\n    return a + b\nv = {call}\ntw.store(out, tw.max(v + tw.arange(0, 8)))"
        assert code_of(body, debug=True) == "TW0125"
    if "assert" in line:  # which does nothing without debug
        assert run(body)[0] == 35


@pytest.mark.parametrize("line", ["tw.sum(tw.arange(0, 8))", "tw.load(out).to(tw.int32)"])
def test_tiles_and_loads_in_a_combining_function_are_refused(line: str) -> None:
    body = f"tw.store(out, tw.reduce(tw.arange(0, 8), 0, lambda a, b: a + {line}))"
    assert code_of(body) in ("TW0223", "TW0125")


@pytest.mark.parametrize("option", ["'small'", "'ALL of it'", "3", "n"])
def test_an_unknown_treatment_of_nan_is_refused(option: str) -> None:
    assert code_of(f"y = tw.maximum(n * 1.0, 2.0, propagate_nan={option})") in ("TW0120", "TW0104")
    assert code_of(f"y = tw.maximum(1.0, 2.0, propagate_nan={option})") in ("TW0120", "TW0104")
    assert code_of(f"y = tw.max(tw.arange(0, 8) * 1.0, 0, propagate_nan={option})") in ("TW0113", "TW0104")


@pytest.mark.parametrize("name", ["float16", "int8", "uint64", "bfloat16", "float8e4nv", "int1"])
def test_texts_of_types_are_those_of_python(name: str) -> None:
    kind = getattr(tw, name)
    body = f"t: tw.constexpr = tw.zeros((4,), tw.{name}).dtype\n"
    for form, text in (("str(t)", str(kind)), ("f'{t}'", f"{kind}"), ("f'{t!r}'", repr(kind)),
                       ("repr(t)", repr(kind)), ("str((t, 1))", str((kind, 1)))):  # fmt: skip
        assert run(body + f"tw.store(out, {form} == {text!r})")[0] == 1, text


def test_keywords_of_atan2_are_its_own() -> None:
    assert run("tw.store(out, tw.atan2(y=n * 1.0, x=-1.0))")[0] == pytest.approx(math.atan2(5, -1))


@pytest.mark.parametrize("call", ["tw.rsqrt(0)", "tw.fma(1, 'a', 2)", "tw.atan2(1, 2)", "tw.clz(0.5)"])
def test_an_error_of_an_elementwise_function_names_its_own_operands(call: str) -> None:
    assert code_of(f"y = {call}") in ("TW0201", "TW0103")


def test_sums_of_a_thousand_terms_and_hundreds_of_elifs_compile() -> None:
    terms = " + ".join(["n"] * 1000)
    assert run(f"tw.store(out, {terms})")[0] == 5000
    arms = "".join(f"elif K == {i}:\n    tw.store(out, {i})\n" for i in range(500))
    body = f"K: tw.constexpr = 444\nif False:\n    pass\n{arms}else:\n    tw.store(out, 7)"
    assert run(body)[0] == 444
    run_time = body.replace("K: tw.constexpr = 444", "K = n * 20")
    assert code_of(run_time) == "TW0121"
    short = "".join(f"elif n == {i}:\n    tw.store(out, {i})\n" for i in range(150))
    assert run(f"if n < 0:\n    pass\n{short}")[0] == 5


def test_deep_expressions_are_refused_at_their_line() -> None:
    for deep in ("-" * 600 + "n", "n" + ".to(tw.int32)" * 400, "not " * 500 + "n", "x".join(["("] * 0) + "n"):
        try:
            run(f"y = {deep}")
        except tw.CompileError as error:
            assert error.code == "TW0121" and ":3" in error.rendered


def test_nested_loops_are_not_emitted_again_and_again() -> None:
    depth = 13  # each level is emitted twice, as it turns out to have a break
    pre = "@tw.jit\ndef f(x):\n    return x + 1"
    body = "acc = 0\n"
    for i in range(depth):
        body += "    " * i + f"for i{i} in range(1):\n"
        body += "    " * (i + 1) + f"if n > {100 + i}:\n" + "    " * (i + 2) + "break\n"
    body += ("    " * depth + "acc = f(acc)\n") * 8
    assert run(body + "tw.store(out, acc)", pre=pre)[0] == 8


def test_elements_that_share_an_address_are_read_before_they_are_written() -> None:
    def kernel(out):
        p = out + tw.arange(0, 128) // 64
        tw.store(p, tw.load(p) * 2)

    for on in ("reference", "cpu"):
        out = np.array([3.0, 5.0], np.float32)
        with tw.device(on):
            tw.jit(kernel)[(1,)](out)
        assert out.tolist() == [6, 10], on


def test_carets_stand_below_wide_characters_and_tabs() -> None:
    scope: dict[str, Any] = {"tw": tw}
    text = 'def kernel(x):\n    y = ("日本", nope)\n'
    exec(text, scope)
    with pytest.raises(tw.CompileError) as caught:
        tw.jit(scope["kernel"])[(1,)](np.zeros(1))
    lines = caught.value.rendered.splitlines()
    before = lines[2].split("nope")[0]
    assert lines[3].index("^") == len(before) + 2  # two characters are two columns wide


def test_a_pass_blames_the_call_of_a_function_of_the_library() -> None:
    with pytest.raises(tw.UnsupportedError) as caught:
        run("tw.store(out, tw.sum(tw.zeros([1024, 1024], tw.float32)))", device="sim:sm_80")
    places = re.findall(r"(?:-->|:::) (\S+?):\d+", caught.value.rendered)
    assert "<exec" in caught.value.rendered.splitlines()[1]
    assert any(place.endswith("tiles.py") for place in places)
