"""Looking into a compilation: dumps, overrides, reproducers, remarks and the stages of `compile`."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest
import tilewright as tw
from tilewright.errors import SignatureError
from tilewright.tools import cli
from tilewright import knobs
from tilewright.native import native

pytestmark = pytest.mark.usefixtures("compiler")

Choose = Callable[..., None]


@tw.jit
def fill(out, n, VALUE: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, VALUE, mask=i < n)


@tw.jit
def turn(out, x, N: tw.constexpr):
    i = tw.arange(0, N)
    at = i[:, None] * N + i[None, :]
    tw.store(out + at, tw.trans(tw.load(x + at)))


@tw.jit
def shift(out, x):
    i = tw.arange(0, 1024)
    tw.store(out + i, tw.load(x + 1 + i))


@tw.jit
def total(out, x, N: tw.constexpr):
    tw.store(out, tw.sum(tw.load(x + tw.arange(0, N)), axis=0))


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Choose:
    """Sets knobs by their names."""

    def set_knobs(**values: object) -> None:
        for name, value in values.items():
            monkeypatch.setenv(f"TILEWRIGHT_{name}", str(value))
        knobs.reset()

    return set_knobs


def filled(device: str, value: float = 3.0) -> numpy.ndarray:
    """What the kernel `fill` leaves in 100 elements; nothing is taken over from earlier launches."""
    out = numpy.full(100, -1.0, numpy.float32)
    with tw.device(device), warnings.catch_warnings():
        warnings.simplefilter("ignore", tw.TilewrightWarning)
        tw.jit(fill.fn)[2](out, 100, value, 64)
    return out


def stage_of_fill(device: str, stage: str) -> str:
    signature = {"out": "*fp32:16", "n": "i32"}
    return tw.jit(fill.fn).compile(signature, {"VALUE": 3.0, "BLOCK": 64}, device).asm[stage]


def cached_kernels() -> list[Path]:
    directory = Path(knobs.settings().cache_directory)
    return [file for file in directory.glob("**/*") if file.is_file() and "records" not in str(file)]


@pytest.mark.parametrize(
    ("device", "some", "code"),
    [("cpu", {"lower-simd", "lower-to-llvm"}, ".s"), ("sim:sm_80", {"lower-simt"}, ".ptx")],
)
def test_dumps_have_a_file_for_each_pass_that_changed_the_ir(
    choose: Choose, tmp_path: Path, device: str, some: set[str], code: str
) -> None:
    filled(device)
    choose(DUMP=tmp_path / "dumps")
    filled(device)  # this process and its cache have the kernel already
    (directory,) = (path for path in (tmp_path / "dumps").iterdir() if path.is_dir())
    assert re.fullmatch("fill-[0-9a-f]{12}", directory.name)
    files = sorted(directory.iterdir())
    assert files[0].name == "00-input.mlir" and files[-1].suffix == code
    numbers = [int(file.name[:2]) for file in files]
    assert len(set(numbers)) == len(numbers)
    assert some <= {file.stem[3:] for file in files}
    texts = [file.read_text() for file in files]
    assert all(text != before for before, text in zip(texts, texts[1:]))
    assert directory.with_suffix(".lowered").read_text()


def test_dumps_end_where_a_kernel_is_refused(choose: Choose, tmp_path: Path) -> None:
    choose(DUMP=tmp_path / "dumps")
    with pytest.raises(tw.UnsupportedError, match="TW0312"):
        turn.compile({"out": "*fp32", "x": "*fp32"}, {"N": 512}, "sim:sm_80")
    (directory,) = (tmp_path / "dumps").iterdir()
    passes = [file.stem[3:] for file in sorted(directory.iterdir())]
    assert "assign-layouts" in passes and "lower-simt" not in passes


def test_dumps_that_cannot_be_written_are_a_warning(choose: Choose, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    choose(DUMP=tmp_path / "file")
    with pytest.warns(tw.TilewrightWarning, match="TW0504"):
        stage_of_fill("cpu", "tile")


@pytest.mark.parametrize(
    ("device", "stage", "old", "new"),
    [
        ("cpu", "tile", "3.000000e+00", "4.000000e+00"),
        ("reference", "tile", "3.000000e+00", "4.000000e+00"),
        ("cpu", "llvm-dialect", "3.000000e+00", "4.000000e+00"),
        ("cpu", "asm", "0x40400000", "0x40800000"),
        ("sim:sm_80", "laid-out", "3.000000e+00", "4.000000e+00"),
        ("sim:sm_80", "scheduled", "3.000000e+00", "4.000000e+00"),
        ("sim:sm_80", "lowered", "3.000000e+00", "4.000000e+00"),
        ("sim:sm_80", "ptx", "1077936128", "1082130432"),
    ],
)
def test_a_stage_is_taken_from_a_file(
    choose: Choose, tmp_path: Path, device: str, stage: str, old: str, new: str
) -> None:
    own = stage_of_fill(device, stage)
    assert old in own
    assert (filled(device) == 3).all()
    stored = cached_kernels()
    (tmp_path / f"fill.{stage}").write_text(own.replace(old, new))
    choose(OVERRIDE=tmp_path)
    with pytest.warns(tw.TilewrightWarning, match=f"TW0502.*{stage}"):
        assert new in stage_of_fill(device, stage)
    assert (filled(device) == 4).all()
    assert cached_kernels() == stored
    choose(OVERRIDE="")
    assert (filled(device) == 3).all()


@pytest.mark.parametrize("device", ["sim:sm_80", "sim:gfx942"])
def test_reductions_are_taken_from_the_text_of_a_stage(choose: Choose, tmp_path: Path, device: str) -> None:
    x = numpy.arange(256, dtype=numpy.float32)
    out = numpy.full(1, -1.0, numpy.float32)
    with tw.device(device):
        text = total[(1,)](out, x, 256).asm["scheduled"]
        assert "simt.yield" in text and "arith.addf" in text
        (tmp_path / "total.scheduled").write_text(text.replace("arith.addf", "arith.maxnumf"))
        choose(OVERRIDE=tmp_path)
        with pytest.warns(tw.TilewrightWarning, match="TW0502.*scheduled"):
            tw.jit(total.fn)[(1,)](out, x, 256)
    assert out[0] == 255


def test_a_file_that_is_no_ir_is_named_with_its_line(choose: Choose, tmp_path: Path) -> None:
    (tmp_path / "fill.lowered").write_text("module {\n  mistake\n}\n")
    choose(OVERRIDE=tmp_path)
    with pytest.raises(tw.CompileError, match=r"fill\.lowered:2") as error:
        filled("cpu")
    assert error.value.code == "TW0503"


@pytest.mark.parametrize("device", ["cpu", "reference", "sim:sm_80"])
def test_a_directory_of_stages_that_is_not_there(choose: Choose, tmp_path: Path, device: str) -> None:
    (tmp_path / "file").write_text("")
    for missing in (tmp_path / "overides", tmp_path / "file"):
        choose(OVERRIDE=missing)
        with pytest.raises(tw.CompileError, match=f"there is no directory {missing}") as error:
            filled(device)
        assert error.value.code == "TW0503"


def test_an_internal_error_names_a_file_that_repeats_it(choose: Choose, tmp_path: Path) -> None:
    own = stage_of_fill("cpu", "lowered")
    # Lowered kernels may have this operation, but on CPUs nothing lowers it: the pass after the
    # override fails, which counts as our own fault.
    broken = own.replace("llvm.return", "%id = simt.thread_id\n llvm.return")
    assert broken != own
    (tmp_path / "fill.lowered").write_text(broken)
    choose(OVERRIDE=tmp_path, DUMP=tmp_path / "dumps")
    with pytest.raises(tw.InternalError) as error:
        filled("cpu")
    found = re.search(r"report it with (\S+\.mlir), which reproduces it: (.*?);", error.value.hint)
    assert found, error.value.hint
    file, command = Path(found[1]), shlex.split(found[2])
    assert file.parent == tmp_path / "dumps"
    assert f"// build {native().build_id()}" in file.read_text()
    tool = Path(native().__file__ or "").resolve().parents[2] / "backend" / "tools" / command[0]
    if not tool.exists():
        pytest.skip("the command-line tools are not built")
    again = subprocess.run([tool, *command[1:]], capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "TW0901" in again.stderr and error.value.message in again.stderr


def test_remarks_are_listed_and_shown_where_they_are_asked_for(
    choose: Choose, capsys: pytest.CaptureFixture[str]
) -> None:
    signature = {"out": "*fp32:16", "x": "*fp32:16"}
    compiled = tw.jit(shift.fn).compile(signature, device="sim:sm_80")
    assert capsys.readouterr().err == ""
    (remark,) = (r for r in compiled.remarks if r["code"] == "TW0350")
    assert "accesses of 4 bytes instead of 16" in remark["message"]
    assert "tw.load(x + 1 + i)" in remark["rendered"] and remark["severity"] == "remark"
    choose(REMARKS=1)
    with tw.device("sim:sm_80"):
        tw.jit(shift.fn).compile(signature)
    assert remark["rendered"].rstrip() in capsys.readouterr().err
    assert tw.jit(shift.fn).compile(signature, device="reference").remarks == []
    assert tw.jit(shift.fn).compile(signature, device="cpu").remarks == []


def test_tiles_that_move_through_shared_memory_are_a_remark() -> None:
    compiled = turn.compile({"out": "*fp32:16", "x": "*fp32:16"}, {"N": 64}, "sim:sm_80")
    codes = [remark["code"] for remark in compiled.remarks]
    assert {"TW0351", "TW0353", "TW0354"} <= set(codes)


def run_compile(*arguments: str) -> int:
    return cli.main(["compile", *arguments])


PLACE = f"{__file__}:fill"
SIGNATURE = ["--signature", "*fp32:16,i32,3.0,64"]


def test_resources_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--target", "sim:sm_90a", "--num-warps", "2", "--emit", "resources"]
    assert run_compile(PLACE, *SIGNATURE, *options) == 0
    resources = json.loads(capsys.readouterr().out)
    assert resources["num_warps"] == 2 and resources["threads"] == 64 and resources["arch"] == 90
    assert resources["shared_buffers"] == [] and resources["shared_bytes"] == 0


def test_machine_code_is_written_as_bytes(tmp_path: Path) -> None:
    out = tmp_path / "k.cubin"
    options = ["--target", "nvidia:sm_80", "--num-stages", "2", "-o", str(out)]
    if not fill.compile({"out": "*fp32", "n": "i32"}, {"VALUE": 1.0, "BLOCK": 64}, "nvidia:sm_80").asm:
        pytest.skip("no assembler")
    status = run_compile(PLACE, *SIGNATURE, *options, "--emit", "cubin")
    assert status == 0 and out.read_bytes()[:4] == b"\x7fELF"
    options[1] = "cpu"
    assert run_compile(PLACE, *SIGNATURE, *options, "--emit", "object") == 0
    assert out.read_bytes()[:4] == b"\x7fELF"


def test_no_pass_runs_after_the_stage_that_is_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    kernel = [f"{__file__}:turn", "--signature", "*fp32,*fp32,512", "--target", "nvidia:sm_80"]
    assert run_compile(*kernel, "--emit", "laid-out") == 0
    assert "#tile.layout" in capsys.readouterr().out
    assert run_compile(*kernel, "--emit", "ptx") == 1
    assert "TW0312" in capsys.readouterr().err


def test_remarks_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = [f"{__file__}:shift", "--signature", "*fp32:16,*fp32:16", "--target", "sim:sm_80"]
    for stage in ("ptx", "laid-out"):
        assert run_compile(*kernel, "--emit", stage, "--remarks") == 0
        assert "remark[TW0350]" in capsys.readouterr().err
        assert run_compile(*kernel, "--emit", stage) == 0
        assert capsys.readouterr().err == ""


def test_guards_on_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    kernel = [f"{__file__}:shift", "--signature", "*fp32:16,*fp32", "--target", "sim:sm_80"]
    assert run_compile(*kernel, "--emit", "guards") == 0
    lines = capsys.readouterr().out.splitlines()
    names = [parameter.name for parameter in shift.parameters]
    assert f"{names[0]}.address: {names[0]} is a multiple of 16" in lines
    assert not any(line.startswith(f"{names[1]}.address") for line in lines)


@pytest.mark.parametrize("entry", ["*fp31", "i32:x", "i32:=a", "1", "", 1, None, tw.float32, (1,)])
def test_an_entry_of_a_signature_that_is_no_type_is_named(entry: Any) -> None:
    for ask in (fill.compile, fill.explain, fill.request):
        with pytest.raises(SignatureError, match="parameter `n` of fill: ") as error:
            ask({"out": "*fp32:16", "n": entry}, {"VALUE": 3.0, "BLOCK": 64}, device="cpu")
        assert error.value.code == "TW0406" and "constants" in error.value.hint
        assert isinstance(error.value, ValueError)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ([*SIGNATURE, "--emit", "lowred"], "did you mean lowered?"),
        ([*SIGNATURE, "--emit", "ptx"], "cpu has no stage ptx"),
        ([*SIGNATURE, "--target", "sim:sm_80", "--emit", "cubin"], "compile for nvidia:sm_80"),
        ([*SIGNATURE, "--target", "nvida:sm_80"], "did you mean 'nvidia:sm_80'?"),
        ([*SIGNATURE, "--target", "nvidia:sm_81"], "did you mean nvidia:sm_8"),
        ([*SIGNATURE, "--num-warps", "3"], "num_warps=3"),
        (["--signature", "*fp31,i32,1.0,64"], "did you mean fp"),
        (["--signature", "*fp32:x,i32,1.0,64"], "'*fp32:x' is not a signature entry"),
        (["--signature", "*fp32,i32", "--constexpr", "VALUE=1.0,BLOK=64"], "did you mean BLOCK?"),
    ],
)
def test_what_is_wrong_on_the_command_line_is_said(
    capsys: pytest.CaptureFixture[str], arguments: list[str], text: str
) -> None:
    assert run_compile(PLACE, *arguments) == 1
    error = capsys.readouterr().err
    assert text in error and "Traceback" not in error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\ny = x.missing\n", ["line 2", "y = x.missing", "AttributeError: 'int' object"]),
        ("def kernel(:\n    pass\n", ["line 1", "def kernel(:", "SyntaxError"]),
        ("\nimport no_such_module\n", ["line 2", "import no_such_module", "ModuleNotFoundError"]),
        ("import tilewright as tw\ntw.jit(3)\n", ["line 2", "tw.jit(3)", "TypeError"]),
    ],
)
def test_a_file_that_cannot_be_imported_is_said_with_its_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, text: str, said: list[str]
) -> None:
    file = tmp_path / "broken.py"
    file.write_text(text)
    assert run_compile(f"{file}:kernel") == 1
    error = capsys.readouterr().err
    assert error.startswith(f"tilewright: {file} cannot be imported:")
    for part in (str(file), *said):
        assert part in error
    assert "Traceback" not in error and "importlib" not in error and "tilewright/" not in error


def test_a_file_that_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_compile("missing.py:kernel") == 1
    assert capsys.readouterr().err == "tilewright: there is no file missing.py\n"
