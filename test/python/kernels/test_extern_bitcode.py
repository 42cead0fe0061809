"""`tl.extern_elementwise` of the user's own bitcode, given as `extern_libs`."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.triton.language as tl
from tilewright.errors import CompileError, LaunchError, UnsupportedError

CLANG = shutil.which("clang-22")
pytestmark = [
    pytest.mark.usefixtures("compiler"),
    pytest.mark.skipif(CLANG is None, reason="needs clang-22 to make bitcode"),
]
TRIPLES = {"sim:sm_80": "nvptx64-nvidia-cuda", "cpu": "x86_64-linux-gnu", "cpu:x86-64-v3": "x86_64-linux-gnu"}
SOURCE = """
static const int table[2] = {3, 5};
static int helper(int x) { return x * table[x & 1]; }
float scaled(float x, int n) { return x * 2.0f + helper(n); }
double scaled_double(double x, long n) { return x * 4.0 + n; }
__attribute__((noinline)) long twice(long n) { return n + n; }
short negated(short n) { return -n; }
int counted(int n) { static int calls; return n + 0 * ++calls; }
int collatz(int n) { return n <= 1 ? 0 : 1 + collatz(n % 2 ? 3 * n + 1 : n / 2); }
"""


def library(folder: Path, device: str, text: str = SOURCE, name: str = "mine") -> dict[str, str]:
    assert CLANG
    path = folder / f"{name}, 100%.bc"
    command = [CLANG, "-x", "c", "-O1", "-emit-llvm", "-c", f"--target={TRIPLES[device]}", "-", "-o", path]
    subprocess.run(command, input=text, text=True, check=True, capture_output=True)
    return {name: str(path)}


@tw.jit
def scale(x, n, out, COUNT: tl.constexpr):
    i = tl.arange(0, COUNT)
    value = tl.extern_elementwise("", "", [tl.load(x + i), tl.load(n + i)], {
        (tl.float32, tl.int32): ("scaled", tl.float32),
        (tl.float64, tl.int64): ("scaled_double", tl.float64),
    }, is_pure=True)  # fmt: skip
    tl.store(out + i, value)


@pytest.mark.parametrize("device", TRIPLES)
@pytest.mark.parametrize("count", [1, 7, 64, 1000])
def test_functions_of_a_library(device: str, count: int, tmp_path: Path, rng: np.random.Generator) -> None:
    libraries = library(tmp_path, device)
    for real, integer, factor in ((np.float32, np.int32, 2), (np.float64, np.int64, 4)):
        x, n = rng.normal(size=count).astype(real), rng.integers(-50, 50, count, dtype=integer)
        out = np.full(count, np.nan, real)
        with tw.device(device):
            scale[(1,)](x, n, out, COUNT=count, extern_libs=libraries)
        added = n * np.where(n & 1, 5, 3) if real is np.float32 else n
        np.testing.assert_allclose(out, x * real(factor) + added, rtol=1e-5)


@tw.jit
def calls(n, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    value = tl.load(n + at)
    doubled = tl.extern_elementwise("", "", [value.to(tl.int64)], {(tl.int64,): ("twice", tl.int64)}, True)
    total = 0
    for _ in range(3):
        negated = tl.extern_elementwise("", "", [value.to(tl.int16)], {(tl.int16,): ("negated", tl.int16)}, True)
        total += tl.sum(tl.sum(negated.to(tl.int32), 1), 0)
    first = tl.extern_elementwise("", "", [tl.load(n)], {(tl.int32,): ("collatz", tl.int32)}, is_pure=True)
    tl.store(out + at, doubled + total + first)


@pytest.mark.parametrize("device", TRIPLES)
def test_tiles_loops_scalars_and_functions_that_are_not_inlined(device: str, tmp_path: Path) -> None:
    n = np.arange(6, 6 + 48, dtype=np.int32)
    out = np.zeros(48, np.int64)
    with tw.device(device):
        calls[(1,)](n, out, ROWS=3, COLUMNS=16, extern_libs=library(tmp_path, device))
    np.testing.assert_array_equal(out, 2 * n - 3 * n.sum() + 8)


def refusal(device: str, libraries: Any, kernel: Any = scale) -> Any:
    x, n, out = np.zeros(8, np.float32), np.zeros(8, np.int32), np.zeros(8, np.float32)
    with tw.device(device), pytest.raises((CompileError, LaunchError, UnsupportedError)) as caught:
        if kernel is scale:
            scale[(1,)](x, n, out, COUNT=8, extern_libs=libraries)
        else:
            kernel[(1,)](n, out, N=8, extern_libs=libraries)
    return caught.value


def test_what_does_not_fit_is_refused_at_the_line(tmp_path: Path) -> None:
    gpu, cpu = "sim:sm_80", "cpu"
    other = library(tmp_path, cpu, name="other")
    error = refusal(gpu, other)
    assert error.code == "TW0360" and "x86_64" in error.message and "test_extern_bitcode.py" in error.rendered
    assert "has `scaled`" in refusal(cpu, None).message
    wrong = library(tmp_path, cpu, "double scaled(double x) { return x; }", "wrong")
    assert "is double (double), and the kernel calls float (float, i32)" in refusal(cpu, wrong).message
    without = library(tmp_path, cpu, "float another(float x) { return x; }", "without")
    assert refusal(cpu, without).message.endswith("no library of bitcode defines `scaled`")
    (tmp_path / "text.bc").write_text("not bitcode")
    assert "is not bitcode" in refusal(cpu, {"a": str(tmp_path / "text.bc")}).message
    assert refusal("reference", other).code == "TW0301"
    assert refusal(cpu, {"a": str(tmp_path / "missing.bc")}).code == "TW0416"
    assert refusal(cpu, {"a": 3}).code == "TW0416"


@tw.jit
def count(n, out, N: tl.constexpr):
    i = tl.arange(0, N)
    value = tl.extern_elementwise("", "", [tl.load(n + i)], {(tl.int32,): ("counted", tl.int32)}, is_pure=False)
    tl.store(out + i, value)


def test_functions_with_effects_are_for_gpus(tmp_path: Path) -> None:
    error = refusal("cpu", library(tmp_path, "cpu"), count)
    assert error.code == "TW0301" and "not pure" in error.message
    n, out = np.arange(32, dtype=np.int32), np.zeros(32, np.int32)
    with tw.device("sim:sm_80"):
        count[(1,)](n, out, N=32, extern_libs=library(tmp_path, "sim:sm_80", "int counted(int n) { return n + 1; }"))
    np.testing.assert_array_equal(out, n + 1)


@pytest.mark.parametrize("device", ["cpu", "sim:sm_80"])
def test_a_changed_library_is_another_kernel(device: str, tmp_path: Path) -> None:
    n = np.arange(16, dtype=np.int32)
    for step in (1, 2, 1):
        text = f"int counted(int n) {{ return n + {step}; }} float scaled(float x, int n) {{ return n + {step}; }}"
        libraries = library(tmp_path, device, text)
        out = np.zeros(16, np.float32)
        with tw.device(device):
            scale[(1,)](out, n, out, COUNT=16, extern_libs=libraries)
        np.testing.assert_array_equal(out, n + step)


def test_a_library_changed_in_place_is_seen_whatever_its_time_says(tmp_path: Path) -> None:
    path = tmp_path / "library.bc"
    contents = [Path(library(tmp_path, "cpu", f"float scaled(float x, int n) {{ return n + {step}; }}")["mine"]).read_bytes()
                for step in (1, 2)]  # fmt: skip
    assert len({len(content) for content in contents}) == 1
    path.write_bytes(contents[0])
    n = np.arange(16, dtype=np.int32)
    for step, content in enumerate(contents, 1):
        with path.open("r+b") as file:
            file.write(content)
        os.utime(path, (1, 1))
        out = np.zeros(16, np.float32)
        with tw.device("cpu"):
            scale[(1,)](out, n, out, COUNT=16, extern_libs={"mine": str(path)})
        np.testing.assert_array_equal(out, n + step)


def test_the_device_library_needs_no_file() -> None:
    @tw.jit
    def cosine(x, out, N: tl.constexpr):
        i = tl.arange(0, N)
        row: tl.constexpr = {(tl.float32,): ("__nv_acosf", tl.float32)}
        tl.store(out + i, tl.extern_elementwise("libdevice", "/nowhere/libdevice.10.bc", [tl.load(x + i)], row, True))

    x, out = np.linspace(-1, 1, 16, dtype=np.float32), np.zeros(16, np.float32)
    with tw.device("cpu"):
        cosine[(1,)](x, out, N=16, extern_libs={"libdevice": "/nowhere/libdevice.10.bc"})
    np.testing.assert_allclose(out, np.arccos(x), rtol=1e-5)


@tw.jit
def called(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    row: tl.constexpr = {(tl.float32,): ("f", tl.float32)}
    tl.store(out + i, tl.extern_elementwise("", "", [tl.load(x + i)], row, True))


@tw.jit
def f(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    row: tl.constexpr = {(tl.float32,): ("f", tl.float32)}
    tl.store(out + i, tl.extern_elementwise("", "", [tl.load(x + i)], row, True))


NAMES = {
    "a suffix": "__attribute__((noinline)) float f2(float x) { return x * 3; } float f(float x) { return f2(x) + 1; }",
    "a table": "const float f2[4] = {3, 3, 3, 3}; float f(float x) { return f2[((int)x) & 3] * x + 1; }",
    "the kernel": "__attribute__((noinline)) float called(float x) { return x * 3; } float f(float x) { return called(x) + 1; }",
}


@pytest.mark.parametrize("device", TRIPLES)
@pytest.mark.parametrize("kind", NAMES)
@pytest.mark.parametrize("kernel", [called, f], ids=["called", "f"])
def test_names_of_a_library_meet_none_of_the_kernels(kernel: Any, kind: str, device: str, tmp_path: Path) -> None:
    x, out = np.arange(32, dtype=np.float32), np.full(32, -9, np.float32)
    with tw.device(device):
        kernel[(1,)](x, out, N=32, extern_libs=library(tmp_path, device, NAMES[kind]))
    np.testing.assert_array_equal(out, x * 3 + 1)


@pytest.mark.parametrize("device", TRIPLES)
@pytest.mark.parametrize("order", [("one", "two"), ("two", "one")])
def test_libraries_call_one_another_in_any_order(order: tuple[str, str], device: str, tmp_path: Path) -> None:
    texts = {"one": "float g(float); float f(float x) { return g(x) + 1; }", "two": "float g(float x) { return x * 3; }"}
    libraries = {name: library(tmp_path, device, texts[name], name)[name] for name in order}
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    with tw.device(device):
        called[(1,)](x, out, N=32, extern_libs=libraries)
    np.testing.assert_array_equal(out, x * 3 + 1)


@tw.jit
def two_types(n, out, N: tl.constexpr):
    i = tl.arange(0, N)
    rows: tl.constexpr = {(tl.int32,): ("f", tl.float32), (tl.float32,): ("f", tl.float32)}
    v = tl.load(n + i)
    w = tl.extern_elementwise("", "", [v], rows, True) + tl.extern_elementwise("", "", [v.to(tl.float32)], rows, True)
    tl.store(out + i, w.to(tl.int32))


@pytest.mark.parametrize("device", ["cpu", "sim:sm_80"])
def test_what_a_library_lacks_is_refused_at_the_call(device: str, tmp_path: Path) -> None:
    x = np.arange(8, dtype=np.float32)

    def refused(kernel: Any, text: str, *arrays: Any) -> str:
        with tw.device(device), pytest.raises(UnsupportedError) as caught:
            kernel[(1,)](*arrays, N=8, extern_libs=library(tmp_path, device, text))
        assert caught.value.code == "TW0360" and "test_extern_bitcode.py" in caught.value.rendered
        return caught.value.message

    missing = "float g(float); static float h(float x) { return g(x); } float (*p)(float) = h; float f(float x) { return p(x); }"
    assert "`f` needs `g`, which no library defines" in refused(called, missing, x, x)
    if device == "cpu":  # clang makes none for GPUs
        text = "_Thread_local float t; float f(float x) { return t++ + x; }"
        assert "needs the variable of threads" in refused(called, text, x, x)
    assert "no library of bitcode defines `f`" in refused(called, "float g(float x) { return x; }", x, x)
    n = np.arange(8, dtype=np.int32)
    assert "has two types" in refused(two_types, "float f(float x) { return x; }", n, n)


RECURSION = "static __attribute__((noinline)) float h(float x, int n) { return n < 1 ? x : h(x, n - 1) + h(x, n - 2); }"
POINTERS = "static __attribute__((noinline)) float {0}(float x) {{ return x + {1}; }} "
NOT_SIMULATED = {
    "calls itself": RECURSION + "float f(float x) { return h(x, (int)x); }",
    "does not run": POINTERS.format("a", 1) + POINTERS.format("b", 2)
    + "float f(float x) { float (*p)(float) = (int)x & 1 ? a : b; return p(x); }",
}  # fmt: skip


@pytest.mark.parametrize("words", NOT_SIMULATED)
def test_what_the_simulator_does_not_run_is_refused(words: str, tmp_path: Path) -> None:
    x = np.arange(8, dtype=np.float32)
    libraries = library(tmp_path, "sim:sm_80", NOT_SIMULATED[words])
    with tw.device("sim:sm_80"), pytest.raises(UnsupportedError, match=words) as caught:
        called[(1,)](x, x.copy(), N=8, extern_libs=libraries)
    assert caught.value.code == "TW0362" and "launch on a GPU" in caught.value.hint


BEYOND = {
    "an intrinsic": "typedef float v16 __attribute__((vector_size(64))); __attribute__((target(\"avx512f\"))) float f(float x)"
    " { v16 v = {x}; v = __builtin_ia32_scalefps512_mask(v, v, v, -1, 4); return v[0]; }",
    "assembly": 'float f(float x) { __asm__ volatile("nothing"); return x; }',
}  # fmt: skip


@pytest.mark.parametrize("kind", BEYOND)
def test_what_the_machine_lacks_is_refused_at_the_call(kind: str, tmp_path: Path) -> None:
    x = np.arange(8, dtype=np.float32)
    libraries = library(tmp_path, "cpu", BEYOND[kind])
    with tw.device("cpu:x86-64-v2"), pytest.raises(UnsupportedError) as caught:
        called[(1,)](x, x.copy(), N=8, extern_libs=libraries)
    error = caught.value
    assert error.code == "TW0363" and "cannot be compiled for x86-64-v2" in error.message
    assert "\n" not in error.message and "in this line of the library" in error.rendered


def test_the_command_takes_libraries(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    from tilewright.tools.cli import main

    text = "float f(float x) { return x * 3.0f; }"
    path = library(tmp_path, "sim:sm_80", text, "mine")["mine"]
    plain = tmp_path / "plain.bc"
    os.rename(path, plain)
    given = ["--signature", "*fp32,*fp32", "--constexpr", "N=32", "--target", "nvidia:sm_80"]
    command = ["compile", f"{__file__}:called", *given]
    assert main([*command, "--extern-libs", f"mine={plain}"]) == 0
    assert b"0f40400000" in capfdbinary.readouterr().out  # 3
    assert main(command) == 1
    assert b"TW0360" in capfdbinary.readouterr().err


def test_an_empty_symbol_is_refused(tmp_path: Path) -> None:
    @tw.jit
    def empty(x, out, N: tl.constexpr):
        row: tl.constexpr = {(tl.float32,): ("", tl.float32)}
        tl.store(out, tl.extern_elementwise("", "", [tl.load(x)], row, True))

    x = np.zeros(1, np.float32)
    with tw.device("cpu"), pytest.raises(CompileError, match="has an empty symbol") as caught:
        empty[(1,)](x, x, N=1)
    assert caught.value.code == "TW0113"


def test_libraries_for_the_cpu_call_the_math_library(tmp_path: Path) -> None:
    x, out = np.linspace(0, 1, 32, dtype=np.float32), np.zeros(32, np.float32)
    text = "float erfcf(float); float f(float x) { return erfcf(x); }"
    with tw.device("cpu"):
        called[(1,)](x, out, N=32, extern_libs=library(tmp_path, "cpu", text))
    np.testing.assert_allclose(out, 1 - np.array([math.erf(v) for v in x]), rtol=1e-4)


def test_configurations_may_differ_in_their_libraries(tmp_path: Path) -> None:
    texts = {"one": "float f(float x) { return x * 3 + 1; }", "two": "float f(float x) { return 1 + x * 3; }"}
    configs = [
        tw.Config({"extern_libs": library(tmp_path, "cpu", text, name)}) for name, text in texts.items()
    ]
    assert len({*configs}) == 2
    x, out = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    with tw.device("cpu"):
        tw.autotune(configs, key=["N"])(called)[(1,)](x, out, N=32)
    np.testing.assert_array_equal(out, x * 3 + 1)
