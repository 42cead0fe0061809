"""Host functions that kernels run at compile time: what they read is part of the key, and what may
give another answer the next time is refused. Functions and files that are changed are noticed."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright.capture.host_code import read_code
from tilewright.capture.purity import ImpureCall, is_pure, refuse_impure

SCRIPT = """
import functools, math, os, sys
import numpy, tilewright as tw
import settings

{host}

@tw.jit
def kernel(out):
    tw.store(out, {call})

out = numpy.zeros(1, numpy.int64)
compiled = kernel[1](out)
print(compiled.origin, out[0])
"""


def run(folder: Path, host: str, call: str, settings: str, **environment: str) -> list[str]:
    (folder / "settings.py").write_text(settings)
    (folder / "script.py").write_text(SCRIPT.format(host=textwrap.dedent(host), call=call))
    process = subprocess.run(
        [sys.executable, "script.py"], cwd=folder, capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
             "PYTHONDONTWRITEBYTECODE": "1", **environment},
        check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return process.stdout.split()


# What the host function looks like, and how the kernel calls it.
READERS = {
    "module attribute": ("@tw.constexpr_function\ndef f(): return settings.V", "f()"),
    "in a comprehension": ("@tw.constexpr_function\ndef f(): return max(settings.V for _ in '1')", "f()"),
    "in a nested function": (
        "@tw.constexpr_function\ndef f():\n    def g(): return settings.V\n    return g()", "f()"),
    "in a lambda": ("@tw.constexpr_function\ndef f(): return (lambda: settings.V)()", "f()"),
    "imported inside": (
        "@tw.constexpr_function\ndef f():\n    from settings import V\n    return V", "f()"),
    "module imported inside": (
        "@tw.constexpr_function\ndef f():\n    import settings as s\n    return s.V", "f()"),
    "through another function": (
        "def g(): return settings.V\n@tw.constexpr_function\ndef f(): return g()", "f()"),
    "by getattr": ("@tw.constexpr_function\ndef f(): return getattr(settings, 'V')", "f()"),
    "of the other module": ("", "settings.read()"),
    "method of an object": (
        "class C:\n    def get(self): return settings.V\nc = C()", "c.get()"),
    "property of an object": (
        "class C:\n    @property\n    def get(self): return settings.V\nc = C()", "c.get"),
    "partial": (
        "def g(n): return settings.V\nf = functools.partial(g, 1)", "f()"),
    "cached": ("@functools.lru_cache\ndef f(): return settings.V", "f()"),
    "imported under another name": (
        "@tw.constexpr_function\ndef f():\n    import settings as s\n    def g(): return s.V\n    return g()", "f()"),
    "a module that is loaded later": (
        "del sys.modules['settings']\n@tw.constexpr_function\ndef f():\n    from settings import V\n    return V", "f()"),
    "a default": ("@tw.constexpr_function\ndef f(n=settings.V): return n", "f()"),
}  # fmt: skip


@pytest.mark.parametrize("name", READERS)
def test_a_kernel_from_disk_is_never_stale(compiler: None, tmp_path: Path, name: str):
    host, call = READERS[name]
    settings = "V = {}\ndef read(): return V\n"
    assert run(tmp_path, host, call, settings.format(3)) == ["compiled", "3"]
    assert run(tmp_path, host, call, settings.format(4)) == ["compiled", "4"]
    assert run(tmp_path, host, call, settings.format(3))[1] == "3"


def test_an_environment_variable_is_part_of_the_key(compiler: None, tmp_path: Path):
    for value in "56":
        answer = run(tmp_path, "", "int(os.getenv('TW_T'))", "", TW_T=value)
        assert answer == ["compiled", value]
    for read in ("os.environ.get('TW_T', '1')", "os.getenv('TW_T')", "os.environ['TW_T']"):
        host = f"@tw.constexpr_function\ndef f(): return int({read})"
        assert run(tmp_path, host, "f()", "", TW_T="5") == ["compiled", "5"]
        assert run(tmp_path, host, "f()", "", TW_T="6") == ["compiled", "6"]
        # Others do not count.
        assert run(tmp_path, host, "f()", "", TW_T="6", TW_OTHER="1") == ["disk", "6"]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(tmp_path))
    text = """
    import tilewright as tw
    V = 3
    @tw.constexpr_function
    def read():
        return V
    @tw.jit
    def kernel(out, n: tw.constexpr = 1):
        tw.store(out, read() * 100 + n)
    """
    (tmp_path / "host_settings.py").write_text(textwrap.dedent(text))
    yield importlib.import_module("host_settings")
    del sys.modules["host_settings"]


def launched(kernel: Any) -> int:
    out = np.full(1, -1, np.int64)
    kernel[(1,)](out)
    return int(out[0])


def test_what_a_host_function_reads_is_looked_at_before_each_launch(compiler: None, settings: Any):
    assert launched(settings.kernel) == 301
    settings.V = 4
    assert launched(settings.kernel) == 401


def test_replaced_code_and_defaults_count_at_the_next_launch(compiler: None, settings: Any):
    def other(out: Any, n: tw.constexpr = 1):
        tw.store(out, n + 7)

    function = settings.kernel.fn
    assert launched(settings.kernel) == 301
    function.__defaults__ = (2,)
    assert launched(settings.kernel) == 302
    function.__code__ = other.__code__
    assert launched(settings.kernel) == 9

    @tw.jit
    def named(out: Any, *, n: tw.constexpr = 1):
        tw.store(out, n)

    assert launched(named) == 1
    named.fn.__kwdefaults__["n"] = True
    named.fn.__kwdefaults__["n"] = 5
    assert launched(named) == 5


def test_replaced_code_of_a_callee_counts_at_the_next_launch(compiler: None):
    def callee(x: Any):
        return x + 1

    def other(x: Any):
        return x + 2

    @tw.jit
    def kernel(out: Any):
        tw.store(out, callee(40))

    assert launched(kernel) == 41
    callee.__code__ = other.__code__
    assert launched(kernel) == 42


def test_a_default_changed_in_place_counts_at_the_next_launch(compiler: None):
    @tw.jit
    def callee(sizes: Any = [1, 2]):  # noqa: B006
        return sizes[0]

    @tw.jit
    def kernel(out: Any):
        tw.store(out, callee())

    assert launched(kernel) == 1
    callee.fn.__defaults__[0][0] = 8
    assert launched(kernel) == 8


def test_an_edited_file_runs_as_it_was_imported(compiler: None, settings: Any):
    path = Path(settings.__file__)
    path.write_text(path.read_text().replace("* 100", "* 1000"))
    assert launched(settings.kernel) == 301
    importlib.invalidate_caches()
    # A reload within the file system's tick would find the old byte code.
    Path(importlib.util.cache_from_source(str(path))).unlink(missing_ok=True)  # type: ignore[attr-defined]
    assert launched(importlib.reload(settings).kernel) == 3001


IMPURE = {
    "time.time_ns() % 5": "time.time_ns",
    "clock()": "time.monotonic",
    "random.randint(1, 3)": "random.randint",
    "len(open('/etc/hostname').read())": "open",
    "read_file()": "open",
    "datetime.datetime.now().day": "now",
    "id(os)": "id",
    "count()": "global name",
    "variable('HOME')": "computed name",
    "imports_inside()": "time",
    "made().value": "random.random",
    "numpy_random()": "random",
    "sys.modules[__name__].calls": "sys.modules",
    "of_module()": "sys.modules",
    "of_imported_module()": "sys.modules",
    "function_globals()": "__globals__",
    "threads()": "get_num_threads",
    "torch.get_num_threads()": "get_num_threads",
    "imported_threads()": "get_num_threads",
    "default_type()": "get_default_dtype",
    "by_default()": "time_ns",
    "from_table()": "time_ns",
    "around()": "time_ns",
    "uses.now": "time_ns",
    "uses.described": "time_ns",
    "uses.method()": "time_ns",
    "uses.held()": "time_ns",
    "uses + 1": "time_ns",
    "-uses": "time_ns",
    "number + 1": "time_ns",
    "1.5 * real": "time_ns",
    "member + 1": "time_ns",
    "through_object()": "time_ns",
    "through_made()": "time_ns",
    "getattr(uses, 'now')": "time_ns",
    "operator.attrgetter('now')(uses)": "time_ns",
    "path.read_text()": "read_text",
    "held_weakly().method()": "weakref",
}

HOST = """
import datetime, enum, functools, operator, os, pathlib, random, sys, time, weakref
import numpy as np
import torch
import tilewright as tw

calls = 0

@tw.constexpr_function
def clock(): return int(time.monotonic())
@tw.constexpr_function
def read_file(): return [len(open(name).read()) for name in ("/etc/hostname",)][0]
@tw.constexpr_function
def count():
    global calls
    calls += 1
    return calls
@tw.constexpr_function
def variable(name): return int(os.environ.get(name) is None)
@tw.constexpr_function
def imports_inside():
    import time
    return time.time_ns()
class made:
    def __init__(self): self.value = random.random()
@tw.constexpr_function
def numpy_random(): return int(np.random.rand() < 2)
@tw.constexpr_function
def of_module(): return getattr(sys.modules[__name__], "calls")
@tw.constexpr_function
def of_imported_module():
    import sys as system
    return system.modules[__name__].calls
@tw.constexpr_function
def function_globals(): return HOST_FUNCTION.__globals__["calls"]
def HOST_FUNCTION(): pass
@tw.constexpr_function
def threads(): return torch.get_num_threads()
@tw.constexpr_function
def imported_threads():
    import torch as t
    return t.get_num_threads()
@tw.constexpr_function
def default_type(): return 1 if torch.get_default_dtype() == torch.float32 else 2
@tw.constexpr_function
def by_default(now=time.time_ns): return now()
TABLE = {"now": time.time_ns}
@tw.constexpr_function
def from_table(): return TABLE["now"]()
def wrapping(function):
    @functools.wraps(function)
    def wrapper(): return time.time_ns() + function()
    return wrapper
@tw.constexpr_function
@wrapping
def around(): return 1
class Descriptor:
    def __get__(self, owner, kind): return time.time_ns()
class Uses:
    described = Descriptor()
    def __init__(self): self.held = time.time_ns
    @property
    def now(self): return time.time_ns()
    def method(self): return time.time_ns()
    def __add__(self, other): return time.time_ns()
    def __neg__(self): return time.time_ns()
uses = Uses()
class Quiet:
    def save(self): open("file", "w")
    steady = 3
quiet = Quiet()
class Number(int):
    def __add__(self, other): return time.time_ns()
number = Number(1)
class Real(float):
    def __rmul__(self, other): return time.time_ns()
real = Real(1)
class Member(enum.IntEnum):
    ONE = 1
    def __add__(self, other): return time.time_ns()
member = Member.ONE
@tw.constexpr_function
def through_object(): return uses.now
@tw.constexpr_function
def through_made(): return Uses().method()
path = pathlib.Path("/etc/hostname")
held_weakly = weakref.ref(uses)

@tw.jit
def kernel(out):
    tw.store(out, EXPRESSION)
"""


@pytest.mark.parametrize("expression", IMPURE)
def test_a_call_that_may_answer_otherwise_is_refused(
    compiler: None, tmp_path: Path, expression: str
):
    path = tmp_path / "impure.py"
    text = HOST.replace("EXPRESSION", expression)
    path.write_text(text)
    namespace: dict[str, Any] = {"__name__": "impure"}
    exec(compile(text, str(path), "exec"), namespace)
    with pytest.raises(tw.CompileError) as caught:
        launched(namespace["kernel"])
    message = str(caught.value)
    assert IMPURE[expression] in message and "ImpureCall" in message
    assert f"impure.py:{text.count(chr(10))}" in message


def test_what_is_not_called_is_not_judged(compiler: None, tmp_path: Path):
    path = tmp_path / "unused.py"
    path.write_text(HOST.replace("EXPRESSION", "quiet.steady + len(path.name) + Member.ONE.value"))
    namespace: dict[str, Any] = {"__name__": "unused"}
    exec(compile(path.read_text(), str(path), "exec"), namespace)
    assert launched(namespace["kernel"]) == 3 + len("hostname") + 1


def refuse(function: Any) -> None:
    refuse_impure(ast.parse("function()", mode="eval").body, {"function": function})


def test_functions_that_only_compute_are_pure():
    import functools
    import math
    import operator

    import torch

    def uses_many(n: int) -> int:
        sizes = sorted({math.ceil(n / 2), *range(3)})
        text = f"{n:>4}".strip().split(",")
        table = {str(k): functools.reduce(operator.add, sizes) for k in sizes}
        return len(text) + table["1"] + int(np.log2(8)) + torch.iinfo(torch.int8).bits + tw.cdiv(n, 2)

    for function in (uses_many, math.log2, len, max, int, "a,b".split, {}.get, np.float32, np.exp,
                     torch.finfo, functools.partial(uses_many, 1), os.path.join, np.prod):  # fmt: skip
        refuse(function)
    assert is_pure("re", "compile") and not is_pure("builtins", "compile")
    with pytest.raises(ImpureCall):
        refuse(os.getpid)


def test_references_name_what_code_reads():
    def function(local: Any) -> Any:
        return [os.environ.get("A"), (lambda: sys.maxsize)(), local.x, os.path.join("b", "c")]

    names = {reference.names: reference.constant for reference in read_code(function.__code__).references}
    assert names[("os", "environ", "get")] == "A"
    assert ("sys", "maxsize") in names and ("os", "path", "join") in names
    assert not any(chain[0] == "local" for chain in names)


def test_a_value_that_contains_itself_is_refused_by_name(compiler: None):
    endless: list[Any] = [1]
    endless.append(endless)

    @tw.jit
    def kernel(out: Any):
        tw.store(out, endless[0])

    with pytest.raises(tw.CompileError, match="`endless` contains itself"):
        launched(kernel)


def test_a_kernel_that_finds_itself_in_a_table_is_refused(compiler: None):
    table: list[Any] = []

    @tw.jit
    def kernel(out: Any):
        tw.store(out, 1)
        table[0](out)

    table.append(kernel)
    with pytest.raises(tw.CompileError, match="calls itself"):
        launched(kernel)
