"""Packages for TVM-FFI and as operators of torch."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import export_kernels
import exported
import numpy as np
import pytest
import tilewright as tw
from tilewright.export.package import Package

pytestmark = pytest.mark.usefixtures("compiler")
CPU = ["cpu:x86-64-v2"]


@tw.jit
def launch(place, error, give, factor: tw.bfloat16, flag: tw.int1, small: tw.uint8, n: tw.int64, launch):
    """Parameters that are called as the files' own names are."""
    tw.store(launch, tw.load(place) * factor.to(tw.float32) + small)
    tw.store(error, tw.where(flag, n, tw.load(give).to(tw.int64)))


def package() -> Package:
    made = Package("ffi_kernels")
    made.add(export_kernels.scale, "*fp32, *fp32, i32", grid="cdiv(n, BLOCK)")
    made.add(export_kernels.scale, "*fp32, *fp32, i32", name="scale_by_grid")
    anywhere = "*fp32:overlap, *fp32:overlap, i32"
    made.add(export_kernels.scale, anywhere, name="scale_anywhere", grid="cdiv(n, BLOCK)")
    made.as_operator("scale_anywhere", strides={"x": "any", "out": "any"})
    made.add(export_kernels.scale, "*fp32:large, *fp32, i32", name="scale_large", grid="cdiv(n, BLOCK)")
    return made.add(launch, "place=*fp32, error=*i64, give=*fp16, launch=*fp32", name="spread", grid=1)


def shared(tmp_path: Path, **options: Any) -> Path:
    written = package().write(tmp_path, CPU, form="c", **options)
    library = tmp_path / "ffi_kernels.so"
    command = [exported.compiler("gcc"), "-std=c11", *exported.STRICT, "-shared", "-fPIC", "-fvisibility=hidden"]
    source = written["ffi_kernels.c"]
    exported.compiled([*command, source, "-o", library, *exported.LIBRARIES], tmp_path)
    return library


@pytest.fixture(scope="module")
def module(tmp_path_factory: pytest.TempPathFactory) -> Any:
    tvm_ffi = pytest.importorskip("tvm_ffi", reason="apache-tvm-ffi is not installed")
    return tvm_ffi.load_module(str(shared(tmp_path_factory.mktemp("ffi"), tvm_ffi=True)))


def test_tvm_ffi_calls_kernels(module: Any) -> None:
    import tvm_ffi

    x, out = np.arange(1000, dtype=np.float32), np.zeros(1000, np.float32)
    module.scale(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(out), 1000, 2.5)
    assert (out == x * np.float32(2.5)).all()
    module.scale(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(out), 1000, 2, 1)
    assert (out[:64] == x[:64] * 2).all() and (out[64:] == x[64:] * 2.5).all(), "a grid of one program"
    module.scale_by_grid(tvm_ffi.from_dlpack(x), tvm_ffi.from_dlpack(out), 1000, 3.0, 16, 1, 1)
    assert (out == x * 3).all()


def test_tvm_ffi_converts_every_kind_of_number(module: Any) -> None:
    import tvm_ffi

    place, error = np.full(1, 3, np.float32), np.zeros(1, np.int64)
    give, out = np.full(1, 9, np.float16), np.zeros(1, np.float32)
    arrays = [tvm_ffi.from_dlpack(a) for a in (place, error, give, out)]
    for flag, small, n in ((True, 255, 1 << 40), (False, 0, -(1 << 63))):
        module.spread(*arrays[:3], 1.0 + 2.0**-9, flag, small, n, arrays[3])
        assert out[0] == 3 + small, "the factor is rounded to bfloat16"
        assert error[0] == (n if flag else 9)


def other_tensor() -> Any:
    import tvm_ffi

    return tvm_ffi.from_dlpack(np.zeros(4, np.float32))


def large_array() -> np.ndarray:
    """2^31 floats, of which a file that is gone already holds none."""
    with TemporaryFile() as file:
        return np.memmap(file, np.float32, "w+", shape=1 << 31)


WRONG: list[tuple[Callable[[Any, Any], Any], str, str]] = [
    (lambda m, t: m.scale(t, t, 1), "TypeError", "takes 4 arguments"),
    (lambda m, t: m.scale(t, t, 1, 2.0, 1, 1, 1, 1), "TypeError", "8 are given"),
    (lambda m, t: m.scale(t, 3, 1, 2.0), "TypeError", "`out` of scale is not a tensor"),
    (lambda m, t: m.scale(t, t, 1.5, 2.0), "TypeError", "`n` of scale is not such a number"),
    (lambda m, t: m.scale(t, t, 1 << 31, 2.0), "TypeError", "`n` of scale is a number that its type"),
    (lambda m, t: m.scale(t, t, 1, "2"), "TypeError", "`factor` of scale is not such a number"),
    (lambda m, t: m.scale(t, t, 1, 2.0, 1.0), "TypeError", "an extent of the grid"),
    (lambda m, t: m.scale(None, t, 1, 2.0), "RuntimeError", "TW0814.*null pointer"),
    (lambda m, t: m.scale_by_grid(t, other_tensor(), 1, 2.0), "RuntimeError", "TW0818.*no grid"),
]


@pytest.mark.parametrize("call, kind, words", WRONG)
def test_tvm_ffi_is_told_what_does_not_fit(call: Any, kind: str, words: str, module: Any) -> None:
    import tvm_ffi

    tensor = other_tensor()
    with pytest.raises(Exception, match=words) as caught:
        call(module, tensor)
    assert type(caught.value).__name__ == kind and "TW08" in str(caught.value)
    wide = tvm_ffi.from_dlpack(np.zeros(4))
    with pytest.raises(TypeError, match="`x` of scale is a tensor of another element type"):
        module.scale(wide, tensor, 1, 2.0)


def test_tvm_ffi_refuses_arrays_that_code_does_not_reach(module: Any) -> None:
    import tvm_ffi

    large, out = tvm_ffi.from_dlpack(large_array()), np.ones(64, np.float32)
    with pytest.raises(ValueError, match="TW0822.*`x` of scale has 8589934592 bytes.*reaches 8589934588.*:large"):
        module.scale(large, tvm_ffi.from_dlpack(out), 64, 2.0)
    module.scale_large(large, tvm_ffi.from_dlpack(out), 64, 2.0)
    assert not out.any()
    with pytest.raises(ValueError, match="TW0822.*`out` of scale_large"):
        module.scale_large(large, large, 64, 2.0)


def test_the_functions_are_weak_and_only_there_when_asked_for(tmp_path: Path) -> None:
    for asked in (True, False):
        folder = tmp_path / str(asked)
        folder.mkdir()
        library = shared(folder, tvm_ffi=asked)
        symbols = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
        found = [line.split()[-2:] for line in symbols.splitlines() if "__tvm_ffi_" in line]
        names = ["scale", "scale_anywhere", "scale_by_grid", "scale_large", "spread"] if asked else []
        assert sorted(found) == [["W", f"__tvm_ffi_{name}"] for name in names]
        assert "TVMFFI" not in symbols, "nothing of the library is needed"
    for name, flags in exported.COMPILERS[:1] + exported.COMPILERS[2:3]:
        command = [exported.compiler(name), *exported.STRICT, *flags, "-c", "ffi_kernels.c"]
        exported.compiled([*command, "-o", "again.o"], tmp_path / "True")


def load_operators(folder: Path) -> Any:
    """The operators, compiled against torch's own headers."""
    torch = pytest.importorskip("torch")
    library = exported.operators(package(), folder)
    assert sorted(p.name for p in folder.iterdir() if p.stem.startswith("ffi")) == [
        f"ffi_kernels{end}" for end in (".a", ".h", ".json", "_torch.cpp")
    ]
    torch.ops.load_library(library)
    return torch.ops.ffi_kernels


def test_operators_of_torch(tmp_path: Path) -> None:
    """One test, so that one process compiles the file."""
    operators = load_operators(tmp_path)
    launch_operators(operators)
    trace_operators(operators)
    refuse_operators(operators)
    refuse_overlaps(operators)


def launch_operators(operators: Any) -> None:
    import torch

    x, out = torch.randn(1000), torch.zeros(1000)
    version = out._version
    operators.scale(x, out, 1000, 2.5)
    assert torch.equal(out, x * 2.5) and out._version > version
    operators.scale_by_grid(x, out, 1000, 3.0, [16])
    assert torch.equal(out, x * 3)
    source = torch.zeros(1000)
    copy = torch._lazy_clone(source)  # shares its memory until one of them is written
    operators.scale(x, copy, 1000, 2.0)
    assert torch.equal(copy, x * 2) and not source.any()
    place, error = torch.full((1,), 3.0), torch.zeros(1, dtype=torch.int64)
    give = torch.full((1,), 9.0, dtype=torch.float16)
    operators.spread(place, error, give, 1.0 + 2.0**-9, True, 255, 1 << 40, out[:1])
    assert out[0] == 258 and error[0] == 1 << 40


def trace_operators(operators: Any) -> None:
    import torch

    meta = torch.empty(1000, device="meta")
    operators.scale(meta, meta, 1000, 2.0)
    schema = torch.ops.ffi_kernels.scale.default._schema
    assert str(schema).startswith("ffi_kernels::scale(Tensor x, Tensor(a!) out, SymInt n, float factor")

    def twice(x: Any) -> Any:
        out = torch.zeros_like(x)
        operators.scale(x, out, x.numel(), 2.0)
        return out + 1

    x = torch.randn(70)
    assert torch.equal(torch.compile(twice, backend="aot_eager", fullgraph=True)(x), 2 * x + 1)
    frames = torch._dynamo.testing.CompileCounterWithBackend("aot_eager")
    symbolic = torch.compile(twice, backend=frames, fullgraph=True, dynamic=True)
    for n in (70, 33, 128):
        x = torch.randn(n)
        assert torch.equal(symbolic(x), 2 * x + 1)
    assert frames.frame_count == 1, "the number stays symbolic"


def refuse_operators(operators: Any) -> None:
    import torch

    x, out = torch.randn(64), torch.zeros(64)
    for arguments, words in (
        ((x.double(), out, 64, 2.0), "TW0822.*`x` of scale is of Double"),
        ((x.to_sparse(), out, 64, 2.0), "TW0822.*not a dense tensor"),
        ((x, out.to("meta"), 64, 2.0), "TW0822.*others are on cpu"),
        ((x, out, 1 << 31, 2.0), "TW0822.*`n` of scale is 2147483648"),
        ((x, out, 64, 2.0, [1, 1, 1, 1]), "TW0822.*has 4 extents"),
        ((x, out, 64, 2.0, [-1]), "TW0818"),
    ):
        with pytest.raises(RuntimeError, match=words):
            operators.scale(*arguments)
    with pytest.raises(RuntimeError, match="TW0818.*no grid"):
        operators.scale_by_grid(x, out, 64, 2.0)
    large = torch.from_numpy(large_array())
    for view in (large, large[:64]):
        with pytest.raises(RuntimeError, match="TW0822.*`x` of scale has 8589934592 bytes of memory.*:large"):
            operators.scale(view, out, 64, 2.0)
    operators.scale_large(large, x, 64, 2.0)
    assert not x.any()


def refuse_overlaps(operators: Any) -> None:
    """What is written has memory of its own: each element, and from what else is passed."""
    import torch

    base = torch.randn(128)
    for x, out, words in (
        (base[:64], torch.zeros(1).expand(64), r"TW0822.*`out` of scale is written, and several"),
        (base[:64], torch.zeros(8, 1).expand(8, 8), r"TW0822.*strides \[1, 0\] of sizes \[8, 8\]"),
        (base[:64].to("meta"), torch.zeros(1, device="meta").expand(64), "TW0822.*share memory"),
        (base[:64], base[16:80], "TW0822.*`out` and `x` of scale overlap"),
        (base[16:80], base[:64], "TW0822.*`out` and `x` of scale overlap"),
        (base[:64], base[:64], "TW0820"),
    ):
        with pytest.raises(RuntimeError, match=words):
            operators.scale(x, out, 64, 2.0)
    operators.scale(base[:64], base[64:], 64, 2.0)
    assert torch.equal(base[64:], 2 * base[:64]), "neighbours in one storage"
    rows, out = torch.ones(64, 1).expand(64, 64), torch.zeros(64)
    operators.scale_anywhere(rows, out, 64, 2.0)  # reads the 64 elements that there are
    assert torch.equal(out, torch.full((64,), 2.0)), "an argument that is read may be expanded"
    mixed = torch.randn(64)
    expected = 2 * mixed
    operators.scale_anywhere(mixed, mixed, 64, 2.0)
    assert torch.equal(mixed, expected), "a kernel whose arrays may overlap"


@tw.jit
def gridded(out, grid):
    tw.store(out, grid)


def test_names_that_no_operator_can_have(tmp_path: Path) -> None:
    with pytest.raises(tw.UnsupportedError, match="has a parameter `grid`") as caught:
        Package("p").add(gridded, "*i32, i32").write(tmp_path, CPU, form="torch")
    assert caught.value.code == "TW0803" and not (tmp_path / "p.a").exists()
    with pytest.raises(ValueError, match="form='so' is not one of a, c, torch"):
        Package("p").add(gridded, "*i32, i32").write(tmp_path, CPU, form="so")


def test_the_command_writes_them(tmp_path: Path) -> None:
    done = exported.export(
        tmp_path / "k", CPU[0], "--signature", "*fp32, *fp32, i32", "--form", "torch", "--tvm-ffi",
        kernel=f"{exported.KERNELS}:scale",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sorted(p.name for p in (tmp_path / "k").iterdir()) == ["scale.a", "scale.h", "scale.json", "scale_torch.cpp"]
