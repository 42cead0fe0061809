"""Objects given for constants and read at compile time: a launch runs the kernel of what they hold now,
and a later process that of what they hold there."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")

MODULE = """
import collections, dataclasses, enum, functools, math, operator, sys, types
import numpy as np
import tilewright as tw

V = {value}

{definition}

@tw.jit
def kernel(out, c: tw.constexpr):
    tw.store(out, {read})
"""

# What `c` is, how it becomes that of another `V`, and what a kernel reads of it.
KINDS: dict[str, tuple[str, str, str]] = {
    "plain": ("class C: pass\nc = C(); c.n = V", "c.n = V", "c.n"),
    "slots": (
        "class C:\n    __slots__ = ('n',)\nc = C(); c.n = V", "c.n = V", "c.n"),
    "slots and attributes": (
        "class B:\n    __slots__ = ('n',)\nclass C(B): pass\nc = C(); c.m = 0; c.n = V", "c.n = V", "c.n"),
    "property": (
        "class C:\n    @property\n    def n(self): return self._n + 1\nc = C(); c._n = V - 1", "c._n = V - 1",
        "c.n"),
    "property of a global": (
        "class C:\n    @property\n    def n(self): return V\nc = C()", "", "c.n"),
    "property replaced": (
        "class C:\n    n = property(lambda self, v=V: v)\nc = C()", "C.n = property(lambda self, v=V: v)",
        "c.n"),
    "nested": (
        "class C: pass\nc = C(); c.d = C(); c.d.e = C(); c.d.e.n = V", "c.d.e.n = V", "c.d.e.n"),
    "deeply nested": (
        "class C: pass\nc = C(); d = c\nfor _ in range(7):\n    d.d = C(); d = d.d\nd.n = V", "d.n = V",
        "c.d.d.d.d.d.d.d.n"),
    "class": ("class c:\n    n = V", "c.n = V", "c.n"),
    "class attribute": ("class C:\n    n = V\nc = C()", "C.n = V", "c.n"),
    "base class": ("class B:\n    n = V\nclass C(B): pass\nc = C()", "B.n = V", "c.n"),
    "metaclass": (
        "class M(type):\n    @property\n    def n(self): return V\nclass c(metaclass=M): pass", "", "c.n"),
    "method": ("class C:\n    def n(self): return self.v\nc = C(); c.v = V", "c.v = V", "c.n()"),
    "bound method": ("class C:\n    def n(self): return self.v\nd = C(); d.v = V; c = d.n", "d.v = V", "c()"),
    "getattr": (
        "class C:\n    def __getattr__(self, name): return V if name == 'n' else object.__getattribute__(self, name)\nc = C()",
        "", "c.n"),
    "callable": ("class C:\n    def __call__(self): return self.v\nc = C(); c.v = V", "c.v = V", "c()"),
    "operator": (
        "class C:\n    def __add__(self, other): return self.v + other\nc = C(); c.v = V - 1", "c.v = V - 1",
        "c + 1"),
    "length": ("class C:\n    def __len__(self): return self.v\nc = C(); c.v = V", "c.v = V", "len(c)"),
    "dataclass of unsafe hash": (
        "@dataclasses.dataclass(unsafe_hash=True)\nclass C:\n    n: int\nc = C(V)", "c.n = V", "c.n"),
    "dataclass by identity": ("@dataclasses.dataclass(eq=False)\nclass C:\n    n: int\nc = C(V)", "c.n = V", "c.n"),
    "frozen dataclass": (
        "@dataclasses.dataclass(frozen=True)\nclass C:\n    n: int\nc = C(V)", "object.__setattr__(c, 'n', V)",
        "c.n"),
    "frozen dataclass of another field": (
        "@dataclasses.dataclass(frozen=True)\nclass C:\n    m: int\n    n: int = dataclasses.field(compare=False, default=0)\nc = C(1, V)",
        "c = C(1, V)", "c.n"),
    "list in an object": ("class C: pass\nc = C(); c.n = [1, V]", "c.n[1] = V", "c.n[1]"),
    "list in a tuple in an object": ("class C: pass\nc = C(); c.n = ([V],)", "c.n[0][0] = V", "c.n[0][0]"),
    "dict in an object": ("class C: pass\nc = C(); c.n = {'a': V}", "c.n['a'] = V", "c.n['a']"),
    "set in an object": ("class C: pass\nc = C(); c.n = {V}", "c.n.clear(); c.n.add(V)", "max(c.n)"),
    "list": ("c = [V]", "c[0] = V", "c[0]"),
    "object in a tuple": ("class C: pass\nc = (1, C()); c[1].n = V", "c[1].n = V", "c[1].n"),
    "object in a list": ("class C: pass\nc = [C()]; c[0].n = V", "c[0].n = V", "c[0].n"),
    "namedtuple of a list": (
        "P = collections.namedtuple('P', 'a b')\nc = P(1, [V])", "c.b[0] = V", "c.b[0]"),
    "namedtuple of an object": (
        "P = collections.namedtuple('P', 'a b')\nclass C: pass\nc = P(1, C()); c.b.n = V", "c.b.n = V", "c.b.n"),
    "namedtuple with a method": (
        "class P(collections.namedtuple('P', 'a')):\n    def n(self): return V\nc = P(1)", "", "c.n()"),
    "tuple with an attribute": ("class C(tuple): pass\nc = C((1,)); c.n = V", "c.n = V", "c.n"),
    "int with an attribute": ("class C(int): pass\nc = C(1); c.n = V", "c.n = V", "c.n"),
    "float with an attribute": ("class C(float): pass\nc = C(1); c.n = V", "c.n = V", "c.n"),
    "str with an attribute": ("class C(str): pass\nc = C('a'); c.n = V", "c.n = V", "c.n"),
    "dict with an attribute": (
        "class C(dict):\n    __hash__ = object.__hash__\nc = C(); c.n = V", "c.n = V", "c.n"),
    "int with an operator": (
        "class C(int):\n    def __add__(self, other): return V + other\nc = C(1)", "", "c + 0"),
    "int with an operator on the right": (
        "class C(int):\n    def __radd__(self, other): return V + other\nc = C(1)", "", "0 + c"),
    "float with an operator": (
        "class C(float):\n    def __mul__(self, other): return V * other\nc = C(1)", "", "int(c * 1)"),
    "int that compares": (
        "class C(int):\n    __hash__ = int.__hash__\n    def __eq__(self, other): return V == 3\nc = C(1)", "",
        "(3 if c == 7 else 4)"),
    "int with a truth value": (
        "class C(int):\n    def __bool__(self): return V == 3\nc = C(1)", "", "(3 if c else 4)"),
    "text that compares": (
        "class C(str):\n    __hash__ = str.__hash__\n    def __eq__(self, other): return V == 3\nc = C('a')", "",
        "(3 if c == 'b' else 4)"),
    "tuple with an operator": (
        "class C(tuple):\n    def __getitem__(self, index): return V\nc = C((1, 2))", "", "c[0]"),
    "enum with a property": (
        "class E(enum.Enum):\n    A = 1\n    @property\n    def n(self): return V\nc = E.A", "", "c.n"),
    "enum with an attribute": ("class E(enum.Enum):\n    A = 1\nc = E.A; c.n = V", "c.n = V", "c.n"),
    "enum of a list": ("class E(enum.Enum):\n    A = [V]\nc = E.A", "c.value[0] = V", "c.value[0]"),
    "partial": ("def f(n): return n\nc = functools.partial(f, V)", "c = functools.partial(f, V)", "c()"),
    "partial of an object": (
        "class C: pass\ndef f(o): return o.n\no = C(); o.n = V; c = functools.partial(f, o)", "o.n = V", "c()"),
    "function with an attribute": ("@tw.constexpr_function\ndef c(): return c.n\nc.n = V", "c.n = V", "c()"),
    "attribute of a function": ("def c(): pass\nc.n = V", "c.n = V", "c.n"),
    "function of a global": ("@tw.constexpr_function\ndef c(): return V", "", "c()"),
    "function with a closure": (
        "def make():\n    n = V\n    def put(m):\n        nonlocal n\n        n = m\n"
        "    return tw.constexpr_function(lambda: n), put\nc, put = make()", "put(V)", "c()"),
    "function with a default": (
        "@tw.constexpr_function\ndef c(n=V): return n", "c.__wrapped__.__defaults__ = (V,)", "c()"),
    "function with a list for a default": (
        "@tw.constexpr_function\ndef c(n=[V]): return n[0]", "c.__wrapped__.__defaults__[0][0] = V", "c()"),
    "function by name": (
        "@tw.constexpr_function\ndef c(*, n=V): return n", "c.__wrapped__.__kwdefaults__['n'] = V", "c()"),
    "inlined function": ("def c(): return V", "", "c()"),
    "jit function": ("@tw.jit\ndef c(): return V", "", "c()"),
    "jit function in a tuple": ("@tw.jit\ndef f(): return V\nc = (f,)", "", "c[0]()"),
    "jit function in an object": (
        "@tw.jit\ndef f(): return V\nclass C: pass\nc = C(); c.f = f", "", "c.f()"),
    "wrapped function": (
        "@functools.wraps(math.floor)\ndef c(x): return V\nc = tw.constexpr_function(c)", "", "c(1)"),
    "equal to everything": (
        "class C:\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\nc = C(); c.n = V",
        "c = C(); c.n = V", "c.n"),
    "state that pickling leaves out": (
        "class C:\n    __slots__ = ('n',)\n    def __getstate__(self): return None\n    def __setstate__(self, s): pass\nc = C(); c.n = V",
        "c.n = V", "c.n"),
    "state that copying leaves out": (
        "class C:\n    def __reduce__(self): return C, ()\nc = C(); c.n = V", "c.n = V", "c.n"),
    "object that cannot be copied": (
        "class C:\n    def __reduce__(self): raise TypeError\nc = C(); c.n = V", "c.n = V", "c.n"),
    "cached property": (
        "class C:\n    @functools.cached_property\n    def n(self): return self.v\nc = C(); c.v = V",
        "c = C(); c.v = V", "c.n"),
    "descriptor": (
        "class D:\n    def __init__(self, v): self.v = v\n    def __get__(self, o, k): return self.v\n"
        "class C:\n    n = D(V)\nc = C()", "vars(C)['n'].v = V", "c.n"),
    "simple namespace": (
        "class C(types.SimpleNamespace):\n    __hash__ = object.__hash__\nc = C(n=V)", "c.n = V", "c.n"),
    "module": ("c = sys.modules['some'] = types.ModuleType('some'); c.n = V", "c.n = V", "c.n"),
    "module in an object": (
        "class C: pass\nc = C(); c.m = sys.modules['some'] = types.ModuleType('some'); c.m.n = V", "c.m.n = V", "c.m.n"),
    "array in an object": ("class C: pass\nc = C(); c.n = np.array([V])", "c.n[0] = V", "int(c.n[0])"),
    "array of objects": (
        "class C: pass\nc = C(); c.n = np.array([[V], None], object)", "c.n[0][0] = V", "c.n[0][0]"),
    "width of a NumPy number": (
        "class C:\n    def width(self): return self.n.itemsize + 2\nc = C(); c.n = (np.int8, np.int16)[V - 3](1)",
        "c.n = (np.int8, np.int16)[V - 3](1)", "c.width()"),
    "sign of zero": ("c = (0.0, -0.0)[V - 3]", "c = (0.0, -0.0)[V - 3]", "(3 if math.copysign(1, c) > 0 else 4)"),
    "type of a number": ("c = (1, True)[V - 3]", "c = (1, True)[V - 3]", "(4 if isinstance(c, bool) else 3)"),
    "complex zero": (
        "c = (complex(0, 0.0), complex(0, -0.0))[V - 3]", "c = (complex(0, 0.0), complex(0, -0.0))[V - 3]",
        "(3 if math.copysign(1, c.imag) > 0 else 4)"),
    "equal ranges": ("c = (range(0), range(3, 3))[V - 3]", "c = (range(0), range(3, 3))[V - 3]", "c.start // 3 + 3"),
    "list or tuple": (
        "class C: pass\nc = C(); c.n = ([1], (1,))[V - 3]", "c.n = ([1], (1,))[V - 3]",
        "(3 if type(c.n) is list else 4)"),
    # What is captured counts alike.
    "captured module": (
        "c = me = sys.modules[__name__]\n@tw.constexpr_function\ndef f(m): return m.V", "", "f(me)"),
    "captured module by getattr": ("c = me = sys.modules[__name__]", "", "getattr(me, 'V')"),
    "captured module by attrgetter": (
        "c = me = sys.modules[__name__]; f = operator.attrgetter('V')", "", "f(me)"),
    "captured class": (
        "class C: n = V\nc = None\n@tw.constexpr_function\ndef f(k): return getattr(k, 'n')", "C.n = V", "f(C)"),
    "captured number with an attribute": (
        "class C(int): pass\nc = None; g = C(1); g.n = V\n@tw.constexpr_function\ndef f(o): return o.n", "g.n = V",
        "f(g)"),
    "captured function with an attribute": ("c = None\ndef g(): pass\ng.n = V", "g.n = V", "g.n"),
    "captured enum with a property": (
        "class E(enum.Enum):\n    A = 1\n    @property\n    def n(self): return V\nc = None\n"
        "@tw.constexpr_function\ndef f(e): return e.n", "", "f(E.A)"),
    "captured number with an operator": (
        "class C(int):\n    def __add__(self, other): return V\nc = None; g = C(1)", "", "g + 1"),
    "captured number with an operator in a tuple": (
        "class C(float):\n    def __radd__(self, other): return V\nc = None; g = (C(1),)", "", "1 + g[0]"),
    "default with an operator": (
        "class C(int):\n    def __mul__(self, other): return V\nc = None\n"
        "@tw.constexpr_function\ndef f(g=C(1)): return g * 1", "", "f()"),
    "method of an aggregate": (
        "@tw.aggregate\nclass A:\n    x: tw.constexpr\n    def get(self): return 3\n"
        "def three(self): return 3\ndef four(self): return 4\nc = None\nA.get = (three, four)[V - 3]",
        "A.get = (three, four)[V - 3]", "A(1).get()"),
    "factory of a field": (
        "@dataclasses.dataclass\nclass C:\n    n: int = dataclasses.field(default_factory=lambda: V)\nc = None\n"
        "@tw.constexpr_function\ndef f(): return C().n", "", "f()"),
}  # fmt: skip
# To kernels these are numbers, texts, tuples and functions: what else they have is refused.
REFUSED = {
    "namedtuple with a method", "tuple with an attribute", "int with an attribute", "float with an attribute",
    "str with an attribute", "enum with a property", "enum with an attribute", "attribute of a function",
}  # fmt: skip
# Nobody can tell what these hold, so that no kernel of theirs is kept.
UNKNOWN = {
    "module", "module in an object", "array of objects", "captured module", "captured module by getattr",
    "captured module by attrgetter",
}  # fmt: skip

SCRIPT = """
import json, sys
from pathlib import Path
from test_constant_objects import KINDS, launched, write_module

answers = {}
for name in KINDS:
    module = write_module(Path(sys.argv[1]), name, int(sys.argv[2]))
    for on in ("cpu", "reference"):
        answers[name + on] = launched(module, on)
print(json.dumps(answers))
"""


def write_module(folder: Path, name: str, value: int) -> types.ModuleType:
    """A module of its own with the kernel of a kind."""
    definition, _, read = KINDS[name]
    path = folder / f"kind_of_{name.replace(' ', '_')}.py"
    path.write_text(MODULE.format(value=value, definition=definition, read=read))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = sys.modules[path.stem] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def launched(module: Any, on: str) -> list[Any]:
    """What the kernel stores, and where it was taken from; or the code of the error."""
    out = np.full(1, -1, np.int64)
    try:
        with tw.device(on):
            compiled = module.kernel[1](out, module.c)
    except tw.CompileError as error:
        return [error.code, ""]
    return [int(out[0]), compiled.origin]


@pytest.mark.parametrize("on", ["cpu", "reference"])
@pytest.mark.parametrize("name", KINDS)
def test_a_change_counts_at_the_next_launch(tmp_path: Path, name: str, on: str) -> None:
    module = write_module(tmp_path, name, 3)
    values: list[Any] = []
    for value in (3, 4, 3):
        exec(f"V = {value}\n{KINDS[name][1]}", vars(module))
        values += [launched(module, on)[0] for _ in range(2)]
    assert values == (["TW0102"] * 6 if name in REFUSED else [3, 3, 4, 4, 3, 3])


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, list[Any]]]:
    """What three processes with one cache launch, in the second of which each value differs."""
    answers: list[dict[str, list[Any]]] = []
    cache = tmp_path_factory.mktemp("cache")
    for value in (3, 4, 3):
        folder = tmp_path_factory.mktemp("modules")
        process = subprocess.run(
            [sys.executable, "-c", SCRIPT, str(folder), str(value)],
            capture_output=True, text=True, timeout=240, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *sys.path]),
                 "TILEWRIGHT_CACHE_DIR": str(cache)},
        )  # fmt: skip
        assert process.returncode == 0, process.stderr
        answers.append(json.loads(process.stdout))
    return answers


@pytest.mark.parametrize("on", ["cpu", "reference"])
@pytest.mark.parametrize("name", KINDS)
def test_a_later_process_does_not_run_the_kernel_of_an_earlier_one(
    processes: list[dict[str, list[Any]]], name: str, on: str
) -> None:
    first, other, again = (answers[name + on] for answers in processes)
    if name in REFUSED:
        assert first == other == again == ["TW0102", ""]
        return
    is_kept = on == "cpu" and name not in UNKNOWN
    assert first == [3, "compiled"] and other == [4, "compiled"]
    assert again == [3, "disk" if is_kept else "compiled"]


DERIVED = """
class I(int):
    def __add__(self, other): return 40
    __radd__ = __sub__ = __rsub__ = __neg__ = __invert__ = __abs__ = __lshift__ = lambda self, *other: 41
    def __divmod__(self, other): return 42, 43
    def __lt__(self, other): return True
    __gt__ = __eq__ = __lt__
    def __hash__(self): return 1
    def __bool__(self): return False
    def __int__(self): return 45
    def __pow__(self, other): return 47
    def __format__(self, spec): return "x"
class S(str):
    def __len__(self): return 7
    def __contains__(self, other): return True
class T(tuple):
    def __len__(self): return 9
    def __getitem__(self, index): return 8
    def __iter__(self): return iter((5, 6, 7))
class Bare(int): pass
i, s, t, b = I(3), S("a"), T((1, 2)), Bare(8)
"""
EXPRESSIONS = [
    "i + 1", "1 + i", "i - 1", "1 - i", "-i", "~i", "abs(i)", "i << 1", "i * 2", "divmod(i, 1)[0]", "i ** 2",
    "min(i, 1) + 0", "max(1, i) + 0", "int(i < 0)", "int(0 > i)", "int(i == 99)", "int(1 in (i,))", "int(bool(i))",
    "1 if i else 2", "int(not i)", "int(i)", "len(f'{i}')", "sum([i, i])", "int(any([i]))", "int(isinstance(i, int))",
    "len(s)", "int('z' in s)", "len(t)", "t[0]", "sum(t)", "sum([x for x in t])", "b + 1", "len([0] * b)", "1 << b",
]  # fmt: skip


@pytest.mark.parametrize("read", EXPRESSIONS)
def test_operators_of_derived_numbers_texts_and_tuples_are_those_of_python(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, read: str
) -> None:
    monkeypatch.setitem(KINDS, "derived", (f"{DERIVED}\nc = i, s, t, b", "", read))
    module = write_module(tmp_path, "derived", 3)
    assert launched(module, "cpu")[0] == eval(read, vars(module)), read


def test_a_compiled_kernel_keeps_the_constants_that_are_left_out(tmp_path: Path) -> None:
    module: Any = write_module(tmp_path, "plain", 3)
    out = np.zeros(1, np.int64)
    compiled = module.kernel[1](out, module.c)
    module.c.n = 4
    compiled[1](out)
    assert out[0] == 3
    with pytest.raises(tw.LaunchError, match="with other contents") as caught:
        compiled[1](out, module.c)
    assert caught.value.code == "TW0435"


def test_objects_that_cannot_be_compared_do_not_pile_up(tmp_path: Path) -> None:
    module = write_module(tmp_path, "module", 3)
    for _ in range(3):
        assert launched(module, "cpu") == [3, "compiled"]
    assert len(module.kernel._loaded) == 0


def test_binaries_for_integers_do_not_follow_a_changed_object() -> None:
    @tw.jit(specialize="tiered", hot_launches=1)
    def kernel(out: Any, n: Any, c: tw.constexpr):
        tw.store(out, n + c.n)

    class C:
        n = 3

    c, out, values = C(), np.zeros(1, np.int64), list[int]()
    for n in (3, 4, 3):
        c.n = n
        for _ in range(3):
            kernel[1](out, 10, c)
            kernel.settle()
            values.append(int(out[0]))
    assert values == [13] * 3 + [14] * 3 + [13] * 3
