"""`tilewright compile` for GPUs: every stage on several architectures, and wrong options."""

from __future__ import annotations

from pathlib import Path

import pytest
from tilewright.tools.cli import main

pytestmark = pytest.mark.usefixtures("compiler")

KERNEL = """
import tilewright as tw

@tw.jit
def kernel(x, n, one, alpha, BM: tw.constexpr, ACT: tw.constexpr):
    i = tw.program_id(0) * BM + tw.arange(0, BM)
    value = tw.load(x + i, mask=i < n * one) * alpha
    if ACT is not None:
        value = tw.exp(value)
    tw.store(x + i, value, mask=i < n)

not_a_kernel = 3
"""
SIGNATURE = "*fp16:16,i32:16,1,fp32"
CONSTANTS = "BM=128,ACT=None"
SIGNS = {
    "tile": b"tile.load", "laid-out": b"#tile.layout", "scheduled": b"#tile.layout",
    "lowered": b"simt.global_load", "llvm": b"define ptx_kernel", "ptx": b".visible .entry kernel",
    "cubin": b"\x7fELF", "resources": b"registers",
}  # fmt: skip


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "user.py"
    path.write_text(KERNEL)
    return path


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_120"])
@pytest.mark.parametrize("stage", SIGNS)
def test_every_stage(file: Path, stage: str, arch: str) -> None:
    out = file.with_name("out")
    arguments = ["compile", f"{file}:kernel", "--signature", SIGNATURE, "--constexpr", CONSTANTS]
    arguments += ["--num-warps", "4", "--num-stages", "3", "--target", f"nvidia:{arch}"]
    assert main([*arguments, "--emit", stage, "-o", str(out)]) == 0
    data = out.read_bytes()
    assert SIGNS[stage] in data
    if stage == "ptx":
        assert f".target {arch}".encode() in data and b".reqntid 128" in data


def test_options_that_amd_s_gpus_have(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = file.with_name("out")
    kernel = [f"{file}:kernel", "--signature", SIGNATURE, "--constexpr", CONSTANTS, "--target", "amd:gfx942"]

    def text_of(*options: str) -> str:
        assert main(["compile", *kernel, "--emit", "llvm", "-o", str(out), *options]) == 0
        return out.read_text()

    assert '"amdgpu-waves-per-eu"="4,4"' in text_of("--waves-per-eu", "4")
    assert "amdgpu-waves-per-eu" not in text_of()
    # The number of a program depends on how many there are.
    assert "implicitarg.ptr()" in text_of("--swizzle-programs", "xcd")
    assert "implicitarg.ptr()" not in text_of()
    assert main(["compile", *kernel, "--matrix-instr-nonkdim", "17"]) == 1
    assert "matrix_instr_nonkdim=17" in capsys.readouterr().err
    assert main(["explain", *kernel, "--diff", "waves_per_eu=2"]) == 0


def test_a_signature_by_name_may_hold_numbers(file: Path) -> None:
    out = file.with_name("out")
    named = "x=*fp16:16, n=i32, one=1, alpha=fp32"
    arguments = ["compile", f"{file}:kernel", "--signature", named, "--constexpr", CONSTANTS]
    assert main([*arguments, "--target", "nvidia:sm_80", "-o", str(out)]) == 0
    assert b"mul" in out.read_bytes()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"--signature": "*fp17,i32,1,fp32"}, "fp17"),
        ({"--signature": "*fp16:3,i32,1,fp32"}, "*fp16:3"),
        ({"--signature": "*fp16,i32,1"}, "`alpha`"),
        ({"--signature": "*fp16"}, "lacks the arguments `n`, `one`, `alpha`"),
        ({"--extern-libs": "mine=/nowhere.bc"}, "/nowhere.bc"),
        ({"--extern-libs": "/nowhere.bc"}, "'/nowhere.bc' is not NAME=VALUE"),
        ({"--signature": SIGNATURE + ",i32"}, "5 entries"),
        ({"--signature": "x=*fp16,q=i32"}, "q"),
        ({"--constexpr": "BM=128"}, "`ACT`"),
        ({"--constexpr": "BM=abc,ACT=None"}, "BM=abc is not a Python value"),
        ({"--constexpr": "BM"}, "'BM' is not NAME=VALUE"),
        ({"--constexpr": CONSTANTS + ",BN=3"}, "BN"),
        ({"--constexpr": "BM=0,ACT=None"}, "arange"),
        ({"--target": "nvidia:sm_81"}, "did you mean"),
        ({"--num-warps": "3"}, "num_warps=3"),
        ({"--num-warps": "64"}, "64 warps"),
        ({"--num-stages": "-2"}, "num_stages=-2"),
        ({"--emit": "cubin", "--target": "cpu"}, "cpu has no stage cubin"),
        ({"-o": "/nonexistent/folder/out"}, "/nonexistent/folder/out"),
    ],
)
def test_wrong_options_are_named(
    file: Path, options: dict[str, str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen = {"--signature": SIGNATURE, "--constexpr": CONSTANTS, "--target": "nvidia:sm_80"}
    chosen |= options
    assert main(["compile", f"{file}:kernel", *sum(chosen.items(), ())]) == 1
    text = capsys.readouterr().err
    assert said in text and "Traceback" not in text


@pytest.mark.parametrize("name", ["nothing", "not_a_kernel", "tw", "1"])
def test_names_that_are_no_kernels(
    file: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compile", f"{file}:{name}"]) == 1
    assert "tilewright: " in capsys.readouterr().err
