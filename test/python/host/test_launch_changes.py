"""The native check of what a kernel was made of: it sees every change or leaves it to Python's."""

from __future__ import annotations

import gc
import types
import weakref
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright.capture import MISSING, capture
from tilewright.native import native

pytestmark = pytest.mark.usefixtures("compiler")

SCALE = 2
TABLE = {"scale": 3}


def multiply(x: Any) -> Any:
    return x * SCALE


@tw.jit
def helper(x):
    return multiply(x)


@tw.jit
def kernel(x):
    tw.store(x, helper(tw.load(x)))


@tw.jit
def kernel_of_table(x):
    tw.store(x, tw.load(x) * TABLE["scale"])


class Sizes:
    scale = 4


@tw.jit
def kernel_of_class(x):
    tw.store(x, tw.load(x) * Sizes.scale)


@tw.jit
def kernel_with_named(x, *, n=1):
    tw.store(x, n)


class Check:
    """The check of a capture, and how often it asked Python's."""

    def __init__(self, of: Any) -> None:
        self.capture, self.num_asked = capture(of), 0
        captured = self.capture
        self.is_current = native().make_check(
            captured.bodies, captured.dependencies, self._ask, MISSING
        )

    def _ask(self) -> bool:
        self.num_asked += 1
        return self.capture.is_current()


def other(x: Any) -> Any:
    return x


@pytest.mark.parametrize(
    "owner, name, value",
    [
        (globals(), "SCALE", 3),
        (globals(), "multiply", other),
        (globals(), "helper", tw.jit(other)),
        (multiply, "__code__", other.__code__),
        (multiply, "__defaults__", (1,)),
        (multiply, "__kwdefaults__", {"y": 1}),
        (helper, "fn", other),
    ],
)
def test_a_change_of_what_was_captured(
    owner: Any, name: str, value: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    check = Check(kernel)
    assert check.is_current() and check.num_asked == 0
    with monkeypatch.context() as patch:
        if isinstance(owner, dict):
            patch.setitem(owner, name, value)
        else:
            patch.setattr(owner, name, value)
        assert not check.is_current()
    # Defaults that are back are equal, not the same object.
    assert check.is_current()
    monkeypatch.delitem(globals(), "SCALE")
    assert not check.is_current()


def test_a_changed_attribute_of_a_class(monkeypatch: pytest.MonkeyPatch) -> None:
    check = Check(kernel_of_class)
    assert check.is_current() and check.num_asked == 0
    with monkeypatch.context() as patch:
        patch.setattr(Sizes, "scale", 5)
        assert not check.is_current()
    assert check.is_current()
    monkeypatch.delattr(Sizes, "scale")
    assert not check.is_current()


def test_an_equal_value_in_place_of_the_captured_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(globals(), "SCALE", 1 << 20)
    check = Check(kernel)
    monkeypatch.setitem(globals(), "SCALE", int("1048576"))
    assert check.is_current() and check.num_asked == 1
    monkeypatch.setitem(globals(), "SCALE", float(1 << 20))
    assert not check.is_current()


def test_a_module_that_names_a_variable_like_a_builtin(monkeypatch: pytest.MonkeyPatch) -> None:
    @tw.jit
    def smallest(x):
        tw.store(x, min(3, 5))

    check = Check(smallest)
    assert check.is_current() and check.num_asked == 0
    x = np.zeros(1, np.int32)
    for expected in (3, 5, 3):
        with monkeypatch.context() as patch:
            if expected == 5:
                patch.setitem(globals(), "min", max)
                assert not check.is_current()
            for _ in range(2):
                x[0] = 0
                smallest[1](x)
                assert x[0] == expected
    assert check.is_current() and check.num_asked == 1


def test_warm_launches_see_a_function_with_other_parameters() -> None:
    @tw.jit
    def replaced(x):
        tw.store(x, 1)

    def with_number(x, n):
        tw.store(x, n)

    x = np.zeros(1, np.int32)
    first = replaced.fn
    for function, more, expected in ((first, (), 1), (with_number, (7,), 7), (first, (), 1)):
        replaced.fn = function
        for _ in range(2):
            x[0] = 0
            replaced[1](x, *more)
            assert x[0] == expected


@pytest.mark.parametrize("of", [kernel_of_table, kernel_with_named])
def test_what_only_python_can_tell(of: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check = Check(of)
    assert check.is_current() and check.num_asked == 1
    monkeypatch.setitem(TABLE if of is kernel_of_table else of.fn.__kwdefaults__, "n", 2)
    monkeypatch.setitem(TABLE, "scale", 5)
    assert not check.is_current()


def test_an_exception_of_pythons_check_is_raised() -> None:
    def fail() -> bool:
        raise RuntimeError("while looking")

    with pytest.raises(RuntimeError, match="while looking"):
        native().make_check([()], [], fail)()


def test_a_key_that_changes_the_dependencies_when_it_is_compared() -> None:
    dependencies: list[Any] = []

    class Key:
        def __hash__(self) -> int:
            return hash("name")

        def __eq__(self, other: object) -> bool:
            dependencies.clear()
            gc.collect()
            return False

    names = {Key(): 1}
    dependencies += [(names, "name", 1, None), (names, "name", 1, None)]
    assert native().make_check([], dependencies, lambda: False)() is False


def test_warm_launches_see_replaced_parameters_and_values(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.ones(1, np.int32)
    for _ in range(2):
        kernel[1](x)
    assert x[0] == 4
    monkeypatch.setitem(globals(), "SCALE", 5)
    kernel[1](x)
    assert x[0] == 20

    @tw.jit
    def with_default(x, n=3):
        tw.store(x, n)

    for default in (3, 4):
        with_default.fn.__defaults__ = (default,)
        for _ in range(2):
            with_default[1](x)
            assert x[0] == default


def test_a_kernel_that_nobody_holds_is_freed_after_launches() -> None:
    def make() -> tuple[weakref.ref[Any], weakref.ref[types.FunctionType]]:
        @tw.jit
        def local(x):
            tw.store(x, 7)

        x = np.zeros(1, np.int32)
        for _ in range(2):
            local[1](x)
        assert x[0] == 7
        return weakref.ref(local), weakref.ref(local.fn)

    references = make()
    gc.collect()
    assert [reference() for reference in references] == [None, None]
