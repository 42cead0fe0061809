"""Compiling without a launch, by Triton's names: text in the tile dialect, files of C, FileCheck; and the
host's names beside them."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tilewright as tw
import tilewright.triton as triton
import tilewright.triton.language as tl
from tilewright.errors import CompileError, LaunchError, UnsupportedError
from tilewright.triton._filecheck import (
    MatchError,
    filecheck_test,
    run_filecheck,
    run_filecheck_test,
    run_parser,
)
from tilewright.triton.backends.compiler import GPUTarget
from tilewright.triton.compiler.compiler import IRSource
from tilewright.triton.runtime.cache import RemoteCacheBackend, RemoteCacheManager
from tilewright.triton.tools.compile import CompileArgs, compile_kernel

SIGNATURE = {"x": "*fp32:16", "out": "*fp32", "n": "i32", "a": "fp32"}


@tw.jit
def scaled(x, out, n, a, B: tw.constexpr):
    i = tw.program_id(0) * B + tw.arange(0, B)
    tw.store(out + i, tw.load(x + i, mask=i < n) * a, mask=i < n)


def text_of(kernel: Any = scaled, signature: Any = SIGNATURE, constants: Any = None) -> str:
    return kernel.compile(signature, {"B": 64} if constants is None else constants, device="cpu").asm["tile"]


def written(tmp_path: Path, text: str, name: str = "kernel.mlir") -> Path:
    path = tmp_path / name
    path.write_text(text)
    return path


# Text in the tile dialect.


def test_a_text_of_the_tile_dialect_is_compiled_and_launched(tmp_path: Path, device: str) -> None:
    path = written(tmp_path, text_of().replace("arith.mulf", "arith.addf"))
    with tw.device(device):
        kernel = triton.compile(str(path))
        x, out = np.arange(112, dtype=np.float32), np.zeros(112, np.float32)
        kernel[(2,)](x, out, 100, 2.5)
        np.testing.assert_array_equal(out, np.where(np.arange(112) < 100, x + np.float32(2.5), 0))
        assert kernel.src.hash() == IRSource(path).hash() and kernel.name == "scaled"
        with pytest.raises(LaunchError) as caught:  # what the text says of an argument counts
            kernel[(2,)](np.zeros(113, np.float32)[1:], out, 100, 2.5)
        assert caught.value.code == "TW0435"
    # The text counts for what is made of it later, too.
    assert "addf" in kernel.asm["lowered"] if "lowered" in kernel.asm else True
    other = triton.compile(written(tmp_path, text_of()))
    other[(2,)](x, out, 100, 2.0)
    np.testing.assert_array_equal(out[:100], 2 * x[:100])


def test_a_text_is_compiled_for_a_gpu_that_is_not_there(tmp_path: Path) -> None:
    kernel = triton.compile(IRSource(written(tmp_path, text_of())), GPUTarget("cuda", 90, 32))
    assert ".target sm_90" in kernel.asm["ptx"] and "scaled" in kernel.asm["ptx"]


def test_what_a_text_assumes_of_arguments_is_read(tmp_path: Path) -> None:
    signature = {"x": "*fp16:16:stream", "out": "*fp32:overlap", "n": "i64:16:nonneg", "a": "fp64"}
    source = IRSource(written(tmp_path, text_of(scaled, signature)))
    assert source.signature == {**signature, "x": "*fp16:16:stream"}
    plain = text_of().replace(' {tile.name = "n"}', "").replace(', tile.name = "x"', "")
    assert list(IRSource(written(tmp_path, plain)).signature) == ["arg0", "out", "arg2", "a"]


@pytest.mark.parametrize(("change", "error", "words"), [
    (lambda t: "module { tt.func @k() { tt.return } }", UnsupportedError, "Triton's text"),
    (lambda t: "define void @k() { ret void }", LaunchError, "no public func.func"),
    (lambda t: t.replace("%arg3: f32", "%arg3: tensor<4xf32>"), LaunchError, "no launch passes"),
    (lambda t: t.replace('name = "out"', 'name = "x"'), LaunchError, "same tile.name"),
    (lambda t: t.replace("arith.mulf", "arith.none"), CompileError, "arith.none"),
    (lambda t: t.replace("arith.mulf %11, %12", "arith.mulf %10, %12"), CompileError, "different type"),
    (lambda t: t.replace("func.func @", "func.func private @"), LaunchError, "no public func.func"),
])  # fmt: skip
def test_other_texts_are_refused(tmp_path: Path, change: Any, error: Any, words: str) -> None:
    path = written(tmp_path, change(text_of()))
    with pytest.raises(error) as caught:
        triton.compile(path)
    assert words in str(caught.value), str(caught.value)
    assert caught.value.code in ("TW0434", "TW0503")
    assert str(path) in str(caught.value) and "tilewright-" not in str(caught.value)


# Files of C.

KERNEL = """
import tilewright.triton as triton, tilewright.triton.language as tl

@triton.autotune([triton.Config({})], key=[])
@triton.jit
def shifted(x, out, n, step, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + i, tl.load(x + i, mask=i < n) + step, mask=i < n)
"""


def test_a_kernel_is_compiled_to_c_and_called(tmp_path: Path) -> None:
    path = written(tmp_path, KERNEL, "kernels.py")
    arguments = CompileArgs(
        str(path), "shifted", "*fp32:16, *fp32:16, i32, 3, 32", "(n + 31) / 32, 1, 1",
        "cpu:x86-64-v2:1", out_path=tmp_path / "made",
    )  # fmt: skip
    name, files = compile_kernel(arguments)
    assert name.startswith("shifted_") and {file.suffix for file in files} >= {".h", ".c"}
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    main = written(tmp_path, f"""
        #include "{name}.h"
        #include <stdio.h>
        int main(void) {{
          _Alignas(16) float x[40], out[40];
          for (int i = 0; i < 40; ++i) {{ x[i] = i; out[i] = -1; }}
          int code = {name}(x, out, 37, 0, 0);
          for (int i = 0; i < 40; ++i)
            if (out[i] != (i < 37 ? i + 3 : -1)) return 100 + i;
          return code;
        }}""", "main.c")  # fmt: skip
    code = str(tmp_path / f"{name}.c")
    subprocess.run(["cc", "-o", tmp_path / "main", main, code, "-lm", "-ldl", "-lpthread"], check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 0


def test_a_kernel_is_compiled_to_c_for_gpus_by_the_command(tmp_path: Path) -> None:
    path = written(tmp_path, KERNEL, "kernels.py")
    result = subprocess.run(
        [sys.executable, "-m", "tilewright.triton.tools.compile", path, "-n", "shifted", "-s",
         "*fp32:16, *fp32, i32:16, i32:1, 32", "-g", "n/32,1,1", "-t", "cuda:80:32", "-o",
         tmp_path / "made", "-on", "other", "-w", "2"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert result.returncode == 0, result.stderr
    name, *files = result.stdout.split()
    assert name.startswith("other_") and name.endswith("_0d2d")
    header, code = (next(f for f in files if f.endswith(end)) for end in (".h", ".c"))
    assert f"static inline int {name}(" in Path(header).read_text()
    assert "sm_80" in Path(code).read_text()


@pytest.mark.parametrize(("change", "words"), [
    ({"kernel_name": "nothing"}, "no kernel 'nothing'"),
    ({"signature": "*fp32, i32"}, "2 entries"),
    ({"grid": "1, 1"}, "three expressions"),
    ({"target": "cuda:80"}, "BACKEND:ARCH:WARP_SIZE"),
    ({"target": "xpu:pvc:32"}, "no compiler for the backend"),
])  # fmt: skip
def test_what_cannot_be_compiled_to_c_is_refused(
    tmp_path: Path, change: dict[str, Any], words: str
) -> None:
    path = written(tmp_path, KERNEL, "kernels.py")
    given = {"path": str(path), "kernel_name": "shifted", "signature": "*fp32, *fp32, i32, 3, 32",
             "grid": "1, 1, 1", "target": "cpu:x86-64-v2:1", "out_path": tmp_path / "x"}  # fmt: skip
    with pytest.raises(tw.TilewrightError, match=words):
        compile_kernel(CompileArgs(**{**given, **change}))


# FileCheck.


@filecheck_test
@triton.jit
def test_a_kernel_is_matched_with_its_own_text():
    # CHECK-LABEL: @test_a_kernel_is_matched_with_its_own_text
    # CHECK: %[[PID:.*]] = tile.program_id 0
    # CHECK: %[[ELEVEN:c11.*]] = arith.constant 11 : i32
    # CHECK: arith.addi %[[PID]], %{{c11.*}} : i32
    tl.device_print("", tl.program_id(0) + 11)


@triton.jit
def stored(x, B: tl.constexpr):
    # CHECK: tile.store {{.*}} : tensor<8x!tile.ptr<f16>>
    tl.store(x + tl.arange(0, B), 1.0)


@triton.jit
def unlike():
    # CHECK: arith.constant 12 : i32
    tl.device_print("", tl.program_id(0) + 11)


@triton.jit
def theirs():
    # CHECK: tt.get_program_id
    tl.device_print("", tl.program_id(0))


def test_directives_that_do_not_match_fail() -> None:
    run_filecheck_test(stored, (triton.MockTensor(tl.float16), 8))
    with pytest.raises(MatchError, match="tensor<8x"):
        run_filecheck_test(stored, (triton.MockTensor(tl.float32), 8))
    with pytest.raises(MatchError, match=r"expected string not found(.|\n)*tile.program_id"):
        filecheck_test(unlike)()
    with pytest.raises(MatchError):
        run_filecheck("name", "one\ntwo\n", "CHECK: two\nCHECK: one\n")
    with pytest.raises(UnsupportedError, match="tt.get_program_id"):
        filecheck_test(theirs)()
    with pytest.raises(TypeError):
        run_filecheck_test(print)  # type: ignore[arg-type]
    assert "tile.store" in run_parser(stored, (triton.MockTensor(tl.float32), 8)).str_nodebug()


# Products, and files kept elsewhere.


def test_products_for_comparison_are_those_of_the_transpose(rng: np.random.Generator) -> None:
    torch = pytest.importorskip("torch")
    blas = triton.testing.cublas()
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.float16, 1e-2), (torch.float8_e4m3fn, 0.13)):
        a, b = (torch.from_numpy(rng.random((n, 7), np.float32)).to(dtype) for n in (3, 4))
        c = torch.full((3, 4), float("nan"), dtype=torch.float32).to(dtype)
        exact = a.double() @ b.double().T
        blas.matmul(a, b, c)
        torch.testing.assert_close(c.double(), exact, rtol=tolerance, atol=0)
        d = torch.empty_like(c)
        blas.gemm(a, b, c, d, 0.5, 2.0)
        torch.testing.assert_close(d.double(), 0.5 * exact + 2 * c.double(), rtol=tolerance, atol=0)
    for wrong in ((a, b.T, c), (a, b, c.T), (a, b.float(), c)):
        with pytest.raises(ValueError, match=r"\[M, K\] and \[N, K\]"):
            blas.matmul(*wrong)


class Elsewhere(RemoteCacheBackend):
    """Files of all keys, in memory."""

    files: dict[tuple[str, str], bytes] = {}

    def __init__(self, key: str) -> None:
        self.key = key

    def get(self, filenames: list[str]) -> dict[str, bytes]:
        return {n: self.files[self.key, n] for n in filenames if (self.key, n) in self.files}

    def put(self, filename: str, data: bytes) -> None:
        self.files[self.key, filename] = data


def test_files_are_kept_by_a_class_of_the_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RuntimeError, match="remote_manager_class"):
        RemoteCacheManager("key")
    monkeypatch.setenv("TRITON_REMOTE_CACHE_BACKEND", f"{__name__}:Elsewhere")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[Elsewhere.__module__])
    monkeypatch.setattr(Elsewhere, "files", {})
    first = RemoteCacheManager("key")
    first.put("text", "a.txt")
    first.put_group("both", {"a.txt": "/not/here/a.txt", "b": "/not/here/b"})
    assert Elsewhere.files["key", "a.txt"] == b"text"
    assert RemoteCacheManager("key").get_group("both") is None  # a file of it is missing
    first.put(b"\0b", "b")
    group = RemoteCacheManager("key").get_group("both")
    assert group and Path(group["b"]).read_bytes() == b"\0b" and set(group) == {"a.txt", "b"}
    assert RemoteCacheManager("other").get_file("a.txt") is None
    Elsewhere.files.clear()  # what the cache forgot is not found in the directory
    assert first.get_file("a.txt") is None
    with pytest.raises(UnsupportedError):
        RemoteCacheManager("key", dump=True)
    triton.knobs.cache.remote_manager_class = Elsewhere
    try:
        monkeypatch.delenv("TRITON_REMOTE_CACHE_BACKEND")
        assert triton.knobs.cache.remote_manager_class is Elsewhere
        with pytest.raises(TypeError):
            triton.knobs.cache.remote_manager_class = 3
    finally:
        triton.knobs.cache.remote_manager_class = None
