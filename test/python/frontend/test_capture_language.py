"""The names of the language as Python objects, and their agreement with the compiler's tables."""

from __future__ import annotations

import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from table_rows import records
from tilewright import language as tw
from tilewright.language import dtypes, elementwise, libdevice
from tilewright.language.element_types import ELEMENT_TYPES
from tilewright.libdevice import floats, functions, integers
from tilewright.language.marks import METHODS, LibraryFunction


def test_element_types_are_the_rows_of_the_compiler():
    columns = ("Name", "ShortName", "Kind", "Bits", "IrType")
    rows = [tuple(row[c] for c in columns) for row in records("ElementTypes.td", "ElementType")]
    assert rows and sorted(rows) == sorted(row[:5] for row in ELEMENT_TYPES)


@pytest.mark.parametrize("module", [
    tw.library, tw.memory, tw.sorting, tw.random, tw.scaled, floats, functions, integers,
])  # fmt: skip
def test_functions_of_the_library_are_exported(module: Any):
    only_methods = {"logical_and", "logical_or"}  # as in Triton
    made = {name: value for name, value in vars(module).items() if isinstance(value, LibraryFunction)}
    defined = {n for n, f in made.items() if f.fn.__module__ == module.__name__ and n[0] != "_"} - only_methods
    assert defined and not defined - set(module.__all__)


def test_every_public_name_has_a_docstring_and_a_mark():
    for name in tw.__all__:
        value = getattr(tw, name)
        if callable(value) and not isinstance(value, (dtypes.dtype, type)):
            assert value.__doc__, name
            marked = hasattr(value, "__tilewright_builtin__") or hasattr(value, "fn")
            is_host = name in ("aggregate", "builtin", "constexpr_function", "library_function", "str_to_ty")
            assert marked or is_host or hasattr(value, "__tilewright_constexpr_function__"), name


def test_builtins_have_annotations():
    for module in (tw.tile, tw.memory, elementwise, tw.library, tw.sorting, tw.random):
        for name in module.__all__:
            value = getattr(module, name)
            function = getattr(value, "fn", value)
            if inspect.isfunction(function):
                parameters = inspect.signature(function).parameters
                missing = [p for p, q in parameters.items() if q.annotation is q.empty]
                assert not missing and function.__annotations__["return"], name


@pytest.mark.parametrize("call", [
    lambda: tw.load(None), lambda: tw.sum(None), lambda: tw.exp(1.0), lambda: tw.range(3),
    lambda: tw.where(1, 2, 3), lambda: tw.tensor(), lambda: tw.float32(1),
])  # fmt: skip
def test_calling_the_language_on_the_host_is_explained(call: Any):
    with pytest.raises(RuntimeError, match="inside a kernel"):
        call()


def test_cdiv_works_on_the_host():
    assert (tw.cdiv(7, 2), tw.cdiv(8, 2), tw.cdiv(0, 5)) == (4, 4, 0)


def test_dtype_predicates_and_names():
    assert tw.dtype("fp32") == tw.float32 == tw.dtype("float32") and tw.float32 != tw.float64
    assert str(tw.bfloat16) == "bf16" and repr(tw.bfloat16) == "tilewright.bfloat16"
    assert tw.float16.is_fp16() and tw.float16.is_floating() and not tw.float16.is_int()
    assert tw.int1.is_int() and tw.int1.is_bool() and tw.int1.is_int_unsigned()
    assert tw.int8.is_int_signed() and tw.uint8.is_int_unsigned() and not tw.uint8.is_int_signed()
    assert (tw.int1.itemsize, tw.float64.itemsize, tw.int16.primitive_bitwidth) == (1, 8, 16)
    assert tw.float8e5.is_fp8() and not tw.float8e5.is_standard_floating()
    pointer = tw.pointer_type(tw.int8)
    assert pointer.is_ptr() and pointer.element_ty == tw.int8 and str(pointer) == "*i8"
    assert tw.str_to_ty("**fp16") == tw.pointer_type(tw.pointer_type(tw.float16))
    assert tw.str_to_ty("*kfp32").is_const() and tw.get_int_dtype(16, False) == tw.uint16
    assert len({tw.float32, tw.dtype("fp32"), tw.float64}) == 2
    with pytest.raises(ValueError, match="unknown dtype 'fp23'"):
        tw.dtype("fp23")


def test_constexpr_computes_on_the_host():
    n = tw.constexpr(6)
    assert isinstance(n + 1, tw.constexpr) and (n + 1).value == 7 and (1 - n).value == -5
    assert (n // 4, n % 4, 2**n, -n, n < 7, n == 6) == (1, 2, 64, -6, True, True)
    assert list(range(tw.constexpr(3))) == [0, 1, 2]
    assert int(n) == 6 and bool(tw.constexpr(0)) is False
    assert tw.constexpr(tw.constexpr(2)).value == 2 and tw.constexpr[int] is tw.constexpr
    assert hash(n) == hash(6) and repr(n) == "constexpr[6]"

    @tw.constexpr_function
    def double(x: int, *, by: int = 2) -> int:
        assert type(x) is int and type(by) is int
        return x * by

    assert double(n) == 12 and double(n, by=tw.constexpr(3)) == 18


def test_methods_take_a_tile_first():
    assert all(METHODS[name].fn.__name__ == name for name in METHODS)
    first = {next(iter(inspect.signature(f.fn).parameters)) for f in METHODS.values()}
    assert first == {"input", "x", "pointer"}


def test_libdevice_names_lead_to_the_language():
    assert libdevice.fast_expf.__tilewright_builtin__ == "exp"
    assert libdevice.fast_dividef.__tilewright_builtin__ == "fdiv"
    assert libdevice.hypot.__tilewright_jit__
    assert tw.math.rsqrt is tw.rsqrt


def run(program: str, *arguments: str) -> str:
    prefix = f"import sys; sys.path[:0] = {sys.path!r}\n"
    done = subprocess.run(
        [sys.executable, "-c", prefix + program, *arguments], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_the_language_imports_no_framework():
    loaded = run("import tilewright.language, tilewright.capture\nprint(*sys.modules)").split()
    assert not {"torch", "numpy", "tilewright._native"} & set(loaded)


def test_importing_the_package_imports_nothing_slow_that_few_programs_use():
    loaded = set(run("import tilewright\nprint(*sys.modules)").split())
    slow = {"difflib", "hashlib", "mmap", "pathlib", "pickle", "platform", "shlex", "sysconfig", "uuid"}
    begun = set(run("print(*sys.modules)").split())  # a virtual environment may bring some itself
    assert not slow & (loaded - begun)
    assert not {"tilewright._native", "tilewright.libdevice", "tilewright.explain.gather"} & loaded


def test_names_that_come_later_are_the_same_in_the_language():
    import tilewright.language

    later = run(
        "import tilewright as tw\n"
        "print(tw.language.libdevice is tw.libdevice, 'libdevice' in dir(tw), tw.libdevice.erf.__name__)\n"
        "print(tw.language.extern_elementwise is tw.extern_elementwise)\n"
    )
    assert later.split() == ["True", "True", "erf", "True"]
    assert "libdevice" in tilewright.language.__all__


def test_unmodified_script_runs_with_triton_names(tmp_path: Path):
    script = tmp_path / "script.py"
    script.write_text(
        "import sys\nimport triton, triton.language as tl\n"
        "from triton.language.extra import libdevice\n"
        "from triton.language.extra.cuda import libdevice as same\n"
        "from triton.language.math import rsqrt\nfrom triton.runtime import driver\n"
        "import triton.testing\n"
        "@triton.jit\ndef kernel(x, BLOCK: tl.constexpr):\n"
        "    tl.store(x, libdevice.tanh(tl.load(x + tl.arange(0, BLOCK))).sum())\n"
        "assert same.tanh is libdevice.tanh is tl.math.tanh and rsqrt is tl.rsqrt\n"
        "from tilewright.capture import capture\n"
        "assert '\"tanh\"' in capture(kernel).buffer\n"
        "print(__name__, sys.argv[1:], triton.cdiv(7, 4), triton.next_power_of_2(5))\n"
    )
    program = "import runpy\nrunpy.run_module('tilewright.triton', run_name='__main__')"
    assert run(program, str(script), "a", "b") == "__main__ ['a', 'b'] 2 8\n"


def test_triton_runner_without_a_script_shows_its_usage():
    from tilewright.triton.__main__ import main

    with pytest.raises(SystemExit, match="usage: python -m tilewright.triton"):
        main([])
