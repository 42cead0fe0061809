"""The messages for kernels that the compiler refuses are those of test/golden/errors.

GOLDEN=accept in the environment rewrites them.
"""

from __future__ import annotations

import importlib.util
import os
import pdb
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from pdb import set_trace as stop
from types import ModuleType

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import TilewrightError

GOLDEN = Path(__file__).resolve().parents[2] / "golden"


def load_kernels() -> ModuleType:
    spec = importlib.util.spec_from_file_location("error_kernels", GOLDEN / "error_kernels.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


KERNELS: list[Callable[..., None]] = load_kernels().KERNELS


def message_for(function: Callable[..., None]) -> str:
    """The rendered report, with file names that do not depend on the checkout."""
    with pytest.raises(TilewrightError) as caught:
        tw.jit(function)[(1,)](np.zeros(128, np.float32), 5)
    assert re.fullmatch(r"TW0[12]\d\d", caught.value.code)
    return caught.value.rendered.replace(str(GOLDEN) + os.sep, "").rstrip() + "\n"


@pytest.mark.parametrize("function", KERNELS, ids=lambda f: f.__name__)
def test_a_refused_kernel_has_its_message(function: Callable[..., None]) -> None:
    message = message_for(function)
    golden = GOLDEN / "errors" / f"{function.__name__}.txt"
    if os.environ.get("GOLDEN") == "accept":
        golden.write_text(message)
    assert golden.exists(), "no golden message: run with GOLDEN=accept and read what it writes"
    assert message == golden.read_text()


def shifted(x, n):
    i = tw.arange(0, 8)
    tw.store(x + i, i + n)


@pytest.mark.parametrize(
    ("value", "what"),
    [("8", "the string '8'"), (None, "None"), ([8], "a tuple of 1"), ((1, 2), "a tuple of 2")],
)
def test_arguments_that_are_no_numbers_are_named(value: object, what: str) -> None:
    with pytest.raises(tw.CompileError) as caught:
        tw.jit(shifted)[(1,)](np.zeros(8, np.float32), value)
    note = f"`n` is an argument of the launch: {what}; kernels compute with arrays and numbers"
    assert caught.value.code == "TW0103" and note in str(caught.value)
    assert note in caught.value.report["rendered"]


def test_constants_that_no_line_of_an_error_names_are_left_out() -> None:
    def wrong(x, n, mode):
        if mode == "add":
            tw.store(x, tw.arange(0, 8) < "8")

    with pytest.raises(tw.CompileError) as caught:
        tw.jit(wrong)[(1,)](np.zeros(8, np.float32), 5, "add")
    assert caught.value.code == "TW0103" and "note:" not in str(caught.value)


def test_a_misspelt_name_of_a_module_is_told_the_nearest() -> None:
    with pytest.raises(AttributeError, match="no attribute 'laod'; did you mean `tw.load`?"):
        tw.laod  # noqa: B018
    assert not hasattr(tw, "laod") and not hasattr(tw, "nothing_is_like_this")
    with pytest.raises(AttributeError, match="no attribute 'qqqqqq'$"):
        tw.qqqqqq  # noqa: B018


def test_no_golden_message_is_left_over() -> None:
    names = {path.stem for path in (GOLDEN / "errors").iterdir()}
    assert names == {function.__name__ for function in KERNELS}


def test_codes_of_all_golden_messages_are_in_the_catalogue() -> None:
    from tilewright.tools import explain

    for path in (GOLDEN / "errors").iterdir():
        code = re.search(r"TW\d{4}", path.read_text())
        assert code and code.group() in explain.pages(), path.name


@pytest.mark.parametrize(
    "call",
    [
        "tw.sum(tw.arange(0, 8), axis=n)",
        "tw.sum(tw.arange(0, 8), axis=1)",
        "tw.zeros((n,), tw.float32)",
        "tw.zeros((2**11, 2**11), tw.float32)",
        "tw.arange(0, 6).sort()",
        "tw.squeeze(tw.arange(0, 8), 0)",
    ],
)
def test_an_error_inside_of_the_library_is_reported_at_its_call(call: str) -> None:
    text = f"@tw.jit\ndef kernel(x, n):\n    y = {call}\n"
    scope = {"tw": tw}
    exec(text, scope)
    with pytest.raises(tw.CompileError) as caught:
        scope["kernel"][(1,)](np.zeros(8, np.float32), 5)
    lines = caught.value.rendered.splitlines()
    assert re.match(r" *--> <exec \w+>:3:", lines[1])
    assert lines[2] == f"  3 |     y = {call}" or lines[2].endswith(f"3 |     y = {call}")
    assert "^" in lines[3]


def test_static_print_reports_once_for_each_time_it_is_reached(
    capfd: pytest.CaptureFixture[str],
) -> None:
    def prints(x, n):
        total = 0
        for _ in range(n):
            total += 0.5  # the body is emitted again once the type of total is known
            tw.static_print("reached", 64)
        tw.store(x, total)

    out = np.zeros(1, np.float32)
    tw.jit(prints)[(1,)](out, 5)
    captured = capfd.readouterr()
    assert out[0] == 2.5
    assert (captured.out + captured.err).count("reached 64") == 1


@tw.aggregate
class Couple:
    first: tw.tensor
    second: tw.tensor


@pytest.mark.parametrize(
    ("call", "message", "hint"),
    [
        ("tw.program_id(0, 1)", "`program_id` takes 1 positional argument, but 2 or more are given", "program_id(axis)"),
        ("abs(1, 2)", "`abs` takes 1 positional argument, but 2 or more are given", "abs(x, /)"),
        ("Couple(1, 2, 3)", "`Couple` takes 2 positional arguments, but 3 or more are given", "Couple(first, second)"),
        ("Couple(1, first=2)", "`Couple` is given `first` twice", "Couple(first, second)"),
        ("Couple(1)", "`Couple` needs a value for `second`", "Couple(first, second)"),
        ("(lambda a, b=1: a)()", "`<lambda>` needs an argument for `a`", "<lambda>(a, b=...)"),
        ("(lambda *a, b: b)(1)", "`<lambda>` needs an argument for `b`", "<lambda>(*a, b)"),
        ("(lambda *a: a)(a=1)", "`<lambda>` has no parameter `a`", "<lambda>(*a)"),
    ],
)  # fmt: skip
def test_arguments_of_every_kind_of_function_are_bound_alike(
    call: str, message: str, hint: str
) -> None:
    text = f"def kernel(x):\n    y = {call}\n"
    scope = {"tw": tw, "Couple": Couple}
    exec(text, scope)
    with pytest.raises(tw.CompileError) as caught:
        tw.jit(scope["kernel"])[(1,)](np.zeros(1, np.float32))
    assert (caught.value.code, caught.value.message) == ("TW0109", message)
    assert f"hint: it is {hint}" in caught.value.rendered


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("1 + 'a'", "`+` does not take int and str"),
        ("1.5 << 1", "`<<` does not take float and int"),
        ("-'a'", "`-` does not take str"),
    ],
)
def test_operators_are_called_as_they_are_written(expression: str, message: str) -> None:
    text = f"def kernel(x):\n    y = {expression}\n"
    scope = {"tw": tw}
    exec(text, scope)
    with pytest.raises(tw.CompileError) as caught:
        tw.jit(scope["kernel"])[(1,)](np.zeros(1, np.float32))
    assert caught.value.message == f"this compile-time expression fails: {message}"


@tw.jit
def stops_by_pdb(x, n):
    pdb.set_trace()
    tw.store(x, n)


@tw.jit
def stops_by_name(x, n):
    stop(header="here")
    tw.store(x, n)


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("kernel", [stops_by_pdb, stops_by_name], ids=lambda k: k.__name__)
def test_debuggers_point_to_the_device_that_prints_in_order(kernel: tw.JITFunction, device: str) -> None:
    with tw.device(device), pytest.raises(tw.CompileError, match="no debugger stops") as caught:
        kernel[(1,)](np.zeros(128, np.float32), 5)
    assert caught.value.code == "TW0116" and 'tw.device("reference")' in caught.value.rendered


def test_the_advice_for_debuggers_prints_programs_in_order(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import numpy as np\nimport tilewright as tw\n@tw.jit\ndef show(x):\n"
        "    tw.device_print('value', tw.load(x + tw.program_id(0)))\n"
        "with tw.device('reference'):\n    show[(4,)](np.arange(4))\n"
    )
    done = subprocess.run([sys.executable, program], capture_output=True, text=True, check=True)
    assert re.findall(r"value: (\d)", done.stdout) == ["0", "1", "2", "3"]
