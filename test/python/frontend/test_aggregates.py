"""Objects of users' classes in kernels: construction, fields, methods, branches, loops and calls."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tilewright as tw
from tilewright.errors import TilewrightError


@tw.aggregate
class Pair:
    x: tw.tensor
    y: tw.tensor
    scale: tw.constexpr

    def __init__(self, x, y, scale=2):
        self.x = x
        self.y = y
        self.scale = scale

    @tw.jit
    def total(self):
        return (self.x + self.y) * self.scale

    @tw.jit
    def swapped(self):
        return Pair(self.y, self.x, self.scale)

    @staticmethod
    @tw.jit
    def zero(n: tw.constexpr):
        return Pair(tw.zeros((n,), tw.float32), tw.zeros((n,), tw.float32))

    @tw.constexpr_function
    def doubled(self):
        return self.scale * 2

    @property
    def difference(self):
        return self.x - self.y


@tw.aggregate
class Plain:
    value: tw.tensor
    step: tw.tensor
    block: tw.constexpr = 16


@tw.aggregate
class Nested:
    pair: Pair
    parts: tw.tuple
    name: str


@tw.jit
def make(a, b):
    return Pair(a, b)


@tw.jit
def methods(a, b, out, N: tw.constexpr):
    i = tw.arange(0, N)
    pair = make(tw.load(a + i), tw.load(b + i))
    tw.store(out + i, pair.swapped().total() + pair.difference * pair.doubled())
    tw.static_assert(isinstance(pair, Pair) and not isinstance(pair, Plain))
    tw.static_assert(not isinstance(pair, tuple))


def data(rng: np.random.Generator, n: int = 64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    a, b = rng.standard_normal((2, n)).astype(np.float32)
    return a, b, np.full(n, np.nan, np.float32)


def test_methods_properties_and_compile_time_methods(device: str, rng: np.random.Generator) -> None:
    a, b, out = data(rng)
    methods[(1,)](a, b, out, N=64)
    np.testing.assert_allclose(out, (a + b) * 2 + (a - b) * 4, rtol=1e-5, atol=1e-5)


@tw.jit
def loops(a, out, n, N: tw.constexpr):
    i = tw.arange(0, N)
    state = Pair.zero(N)
    for k in range(n):
        state = Pair(state.x + tw.load(a + i), state.y + k, 3)
        state = tw.aggregate_replace(state, scale=2)
    j = 0
    while j < n:
        if j % 2 == 0:
            state = Pair(state.x + 1, state.y)
        else:
            state = Pair(state.x, state.y - 1)
        j += 1
    tw.static_assert(state.scale == 2)
    tw.store(out + tw.arange(0, N * state.scale // 2), state.total())


def test_objects_go_through_loops_and_branches(device: str, rng: np.random.Generator) -> None:
    a, _, out = data(rng)
    loops[(1,)](a, out, 5, N=64)
    np.testing.assert_allclose(out, (5 * a + 10 + 3 - 2) * 2, rtol=1e-4, atol=1e-4)


@tw.jit
def loops_emitted_again(out, n):
    total = 0
    for _ in range(n):
        state = Plain(0, 1)
        for _ in range(n):
            state = Plain(state.value + 0.5, state.step + 1)
        total += state.value * state.step  # an int before the first iteration, a float behind it
    tw.store(out, total)


def test_a_loop_that_is_emitted_again_knows_the_types_of_fields(device: str) -> None:
    out = np.zeros(1, np.float32)
    loops_emitted_again[(1,)](out, 4)
    assert out[0] == 4 * (4 * 0.5) * 5


@tw.jit
def nested(a, b, out, n, N: tw.constexpr):
    i = tw.arange(0, N)
    thing = Nested(Pair(tw.load(a + i), tw.load(b + i)), (n, 7), name="sum")
    plain = Plain(thing.pair.x, step=n)
    if n > 3:
        thing = tw.aggregate_replace(thing, pair=thing.pair.swapped(), parts=(n + 1, 7))
    tw.static_assert(thing.name == "sum" and plain.block == 16)
    tw.store(out + i, thing.pair.x * thing.parts[0] + thing.parts[1] + plain.step)


@pytest.mark.parametrize("n", [2, 5])
def test_nested_objects_and_tuples(n: int, device: str, rng: np.random.Generator) -> None:
    a, b, out = data(rng)
    nested[(1,)](a, b, out, n, N=64)
    expected = b * (n + 1) + 7 + n if n > 3 else a * n + 7 + n
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)


@tw.aggregate
class Forgetful:
    x: tw.tensor
    y: tw.tensor

    def __init__(self, x):
        self.x = x


@tw.aggregate
class Strange:
    x: tw.tensor

    def __init__(self, x):
        self.x = x
        self.z = x


@tw.jit
def forgets(p):
    Forgetful(p)


@tw.jit
def undeclared(p):
    Strange(p)


@tw.jit
def assigns(p):
    pair = Pair(p, p)
    pair.x = p + 1


@tw.jit
def runtime_scale(p, n):
    Pair(p, p, n)


@tw.jit
def compares(p):
    if Pair(p, p) == Pair(p, p):
        tw.store(p, 1)


@tw.jit
def adds(p):
    Pair(p, p) + 1


@tw.jit
def iterates(p):
    x, y, s = Pair(p, p)


@tw.jit
def misspells(p):
    Pair(p, p).totl()


@tw.jit
def changes_class(p, n):
    x = Pair(p, p)
    if n > 0:
        x = Plain(p, p)
    x.x


@pytest.mark.parametrize(
    ("kernel", "code", "part"),
    [
        (forgets, "TW0135", "`y`"), (undeclared, "TW0135", "`z`"),
        (assigns, "TW0111", "aggregate_replace"), (runtime_scale, "TW0104", "`scale`"),
        (compares, "TW0103", "compared"), (adds, "TW0116", "Pair"),
        (iterates, "TW0114", "Pair"), (misspells, "TW0102", "total"),
        (changes_class, "TW0106", "Plain"),
    ],
)  # fmt: skip
def test_misuse_is_refused_with_its_code(kernel: tw.JITFunction, code: str, part: str) -> None:
    arguments = [np.zeros(4, np.float32), 5][: len(kernel.arg_names)]
    with pytest.raises(TilewrightError) as caught:
        kernel[(1,)](*arguments)
    assert caught.value.code == code and part in str(caught.value)


def test_a_class_without_fields_is_refused() -> None:
    with pytest.raises(TypeError, match="no fields"):
        tw.aggregate(type("Empty", (), {}))


def test_the_host_makes_objects_too() -> None:
    assert Plain(1, 2).block == 16 and Plain(1, step=2, block=8).block == 8
    with pytest.raises(TypeError, match="step"):
        Plain(1)


EXECUTED = """
@tw.aggregate
class Scaled:
    value: tw.tensor
    factor: tw.constexpr

    def __init__(self, value, factor):
        self.value = value
        self.factor = factor

    @staticmethod
    @tw.jit
    def create(value, factor: tw.constexpr):
        return Scaled(value, factor)

@tw.jit
def kernel(out):
    made = Scaled.create(tw.program_id(0) + 5, 3)
    tw.store(out, made.value * made.factor)
"""


def test_a_class_from_exec_of_a_string_keeps_the_text_of_its_constructor(compiler: None):
    namespace: dict[str, Any] = {"tw": tw, "__name__": "executed"}
    exec(EXECUTED, namespace)
    out = np.zeros(1, np.int32)
    namespace["kernel"][(1,)](out)
    assert out[0] == 15


def test_a_constructor_whose_text_is_lost_is_refused_in_words(compiler: None):
    namespace: dict[str, Any] = {"tw": tw, "__name__": "executed"}
    code = compile(EXECUTED, "<a string that nobody holds>", "exec")
    with pytest.raises(tw.CompileError, match="TW0412"):
        exec_without_text(code, namespace)
        namespace["kernel"][(1,)](np.zeros(1, np.int32))


def exec_without_text(code: Any, namespace: dict[str, Any]) -> None:
    """In a thread of its own, whose frames hold no text."""
    worker = threading.Thread(target=exec, args=(code, namespace))
    worker.start()
    worker.join()


@tw.aggregate
class Scaled:
    values: tw.tensor
    factor: tw.constexpr

    def __init__(self, values, factor):
        self.values = values
        self.factor = factor


@tw.jit
def scaled_bytes(out, x, n):
    i = tw.arange(0, 8)
    pair = Scaled(tw.load(x + i), 3)
    for _ in range(n):
        pair = Scaled(pair.values * pair.factor, pair.factor)
    tw.store(out + i, pair.values)


def test_constants_of_fields_give_way_to_the_type_of_tiles(device: str) -> None:
    """As constexprs do; numbers of variables do not."""
    x = np.arange(8, dtype=np.int8)
    out = np.zeros_like(x)
    scaled_bytes[(1,)](out, x, 2)
    np.testing.assert_array_equal(out, x * np.int8(9))


@tw.aggregate
class OfMarked:
    """The constructor is kernel code, however it is marked."""

    value: tw.tensor
    scale: tw.constexpr

    @tw.constexpr_function
    def __init__(self, value, scale):
        self.value = value
        self.scale = tw.constexpr(scale * 2)


@tw.aggregate
class OfCompiled:
    inner: OfMarked
    count: tw.tensor

    @tw.jit
    def __init__(self, value, scale):
        self.inner = OfMarked(value + 1, scale)
        self.count = value * 0 + scale


@tw.jit
def makes_marked(out, N: tw.constexpr):
    i = tw.arange(0, N)
    made = OfCompiled(i, 3)
    tw.store(out + i, made.inner.value * made.inner.scale + made.count)


def test_constructors_may_be_marked_as_functions(device: str) -> None:
    out = np.zeros(16, np.int32)
    makes_marked[(1,)](out, N=16)
    np.testing.assert_array_equal(out, (np.arange(16) + 1) * 6 + 3)
