"""Exceptions, the catalogue of codes, knobs and the command line. Nothing is compiled."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest
import tilewright as tw
from fake_native import FakeNative
from tilewright import knobs
from tilewright.native import errors
from tilewright.tools import cli, explain

ROOT = Path(__file__).resolve().parents[3]


@tw.jit
def copy(out, x, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i))


def report(kind: str, severity: str = "error", code: str = "TW0101") -> dict[str, str]:
    text = f"{severity}[{code}]: what is wrong\n --> k.py:3:5\n"
    return {
        "kind": kind, "severity": severity, "code": code, "message": "what is wrong",
        "rendered": text, "json": "{}",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "cls"),
    [("compile", tw.CompileError), ("unsupported", tw.UnsupportedError),
     ("launch", tw.LaunchError), ("device", tw.DeviceError), ("internal", tw.InternalError)],
)  # fmt: skip
def test_reports_become_their_exception(
    fake: FakeNative, kind: str, cls: type[tw.TilewrightError]
) -> None:
    fake.reports = [report(kind)]
    with pytest.raises(tw.TilewrightError) as error:
        tw.jit(copy.fn)[1](1, 2, 64)
    assert type(error.value) is cls
    assert (error.value.code, error.value.message) == ("TW0101", "what is wrong")
    assert error.value.rendered == str(error.value) == fake.reports[0]["rendered"]
    assert error.value.report["json"] == "{}"


def test_a_failed_compilation_is_tried_again(fake: FakeNative) -> None:
    kernel = tw.jit(copy.fn)
    fake.reports = [report("compile")]
    for _ in range(2):
        with pytest.raises(tw.CompileError):
            kernel[1](1, 2, 64)
    fake.reports = []
    kernel[1](1, 2, 64)
    assert len(fake.compilations) == 3 and len(fake.launches) == 1


def test_warnings_of_a_compilation_are_warnings(fake: FakeNative) -> None:
    fake.reports = [report("compile", "warning", "TW0501")]
    with pytest.warns(tw.TilewrightWarning, match="TW0501") as caught:
        tw.jit(copy.fn)[1](1, 2, 64)
    assert caught[0].filename == __file__
    assert len(fake.launches) == 1


def test_static_prints_are_printed(fake: FakeNative, capsys: pytest.CaptureFixture[str]) -> None:
    fake.reports = [report("compile", "remark", "TW0123")]
    tw.jit(copy.fn)[1](1, 2, 64)
    assert capsys.readouterr().out == "what is wrong\n"


def test_failures_at_run_time_are_raised(fake: FakeNative) -> None:
    fake.launch_report = {
        "kind": "device", "severity": "error", "code": "TW0602", "message": "assertion failed",
        "hint": "look",
    }  # fmt: skip
    with pytest.raises(tw.DeviceError) as error:
        tw.jit(copy.fn)[1](1, 2, 64)
    assert str(error.value) == "error[TW0602]: assertion failed\n  = hint: look\n"


def test_exceptions_can_be_pickled() -> None:
    error = tw.LaunchError("too few", code="TW0404", hint="give more")
    copied = pickle.loads(pickle.dumps(error))
    assert (type(copied), copied.code, str(copied)) == (tw.LaunchError, "TW0404", str(error))


def test_every_code_in_the_sources_has_a_page() -> None:
    folders = ("frontend", "ir", "passes", "backend", "runtime", "python")
    used: dict[str, str] = {}
    for folder in folders:
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".cpp", ".h", ".td", ".py"):
                for code in re.findall(r"\bTW\d{4}\b", path.read_text()):
                    used.setdefault(code, str(path.relative_to(ROOT)))
    assert len(used) > 30
    missing = {code: place for code, place in used.items() if code not in explain.pages()}
    assert not missing, "add rows to runtime/codes/Codes.def"


def test_every_code_is_used() -> None:
    rows = re.findall(r"^TW_CODE\((\d+), (\w+)", (ROOT / "runtime/codes/Codes.def").read_text(), re.M)
    assert [f"TW{int(number):04d}" for number, _ in rows] == list(explain.pages())
    used: set[str] = set()
    for folder in ("frontend", "ir", "passes", "backend", "runtime", "python"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in (".cpp", ".h", ".py"):
                used.update(re.findall(r"\b(?:Code::|TW0*)(\w+)", path.read_text()))
    assert not [name for number, name in rows if name not in used and number not in used]


def test_pages_are_complete() -> None:
    for code, page in explain.pages().items():
        assert re.fullmatch(r"TW\d{4}", code)
        assert page.title and page.title[0].islower() and not page.title.endswith("."), code
        assert page.meaning.endswith(".") and page.fix.endswith("."), code
        text = explain.explain(code)
        assert text.startswith(f"{code}: {page.title}\n")
        assert all(len(line) <= 100 for line in text.splitlines()), code


def test_codes_are_found_in_any_usual_form() -> None:
    expected = explain.explain("TW0402")
    for form in ("tw0402", "402", "[TW0402]", "TW402", " TW0402 "):
        assert explain.explain(form) == expected
    with pytest.raises(KeyError, match="TW0999"):
        explain.explain("TW0999")


def test_unknown_knobs_are_warned_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_DEVCE", "cpu")
    with pytest.warns(tw.TilewrightWarning, match="did you mean TILEWRIGHT_DEVICE") as caught:
        knobs.read_settings()
    assert caught[0].filename == __file__


@pytest.mark.parametrize(
    ("name", "value"), [("JIT", "denied"), ("NUM_THREADS", "many"), ("CACHE", "2")]
)
def test_meaningless_values_are_warned_about_and_ignored(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    plain = knobs.read_settings()
    monkeypatch.setenv(f"TILEWRIGHT_{name}", value)
    with pytest.warns(tw.TilewrightWarning, match=f"TILEWRIGHT_{name}={value} is ignored"):
        assert knobs.read_settings() == plain


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "DEVICE": "reference", "CACHE": "off", "NUM_THREADS": "3", "DUMP": "/d", "DEBUG": "1",
        "JIT": "DENY", "CACHE_DIR": "/c", "CUDA_LIBRARY": "/l", "HIP_LIBRARY": "/h", "OVERRIDE": "/o", "REMARKS": "1",
        "CACHE_RO": "/r:/s:", "ASSEMBLERS": f"{sys.executable}:",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"TILEWRIGHT_{name}", value)
    expected = knobs.Settings(
        device="reference", cuda_library="/l", hip_library="/h", cache_directory="/c",
        is_cache_enabled=False, num_threads=3, dump_directory="/d", override_directory="/o", shows_remarks=True,
        is_debug=True, is_jit_denied=True, cache_layers=("/r", "/s"),
        assemblers=(sys.executable,),
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert knobs.read_settings() == expected


def test_the_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("TILEWRIGHT_CACHE_DIR")
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert knobs.cache_directory() == str(tmp_path / ".cache" / "tilewright")
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert knobs.cache_directory() == str(tmp_path / ".cache" / "tilewright")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert knobs.cache_directory() == str(tmp_path / "xdg" / "tilewright")


def test_settings_reach_the_compiler(fake: FakeNative, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE", "0")
    monkeypatch.setenv("TILEWRIGHT_DEBUG", "1")
    knobs.reset()
    tw.jit(copy.fn)[1](1, 2, 64)
    *_, is_enabled = fake.compilations[-1]
    assert not is_enabled and fake.compilations[-1][1].options[2] is True


def run(*arguments: str) -> tuple[int, str, str]:
    process = subprocess.run(
        [sys.executable, "-m", "tilewright", *arguments],
        capture_output=True, text=True, cwd=ROOT / "python", check=False,
    )  # fmt: skip
    return process.returncode, process.stdout, process.stderr


def test_explain_on_the_command_line() -> None:
    status, out, _ = run("explain", "TW0403")
    assert status == 0 and out == explain.explain("TW0403")
    status, out, _ = run("explain")
    assert status == 0 and len(out.splitlines()) == len(explain.pages())
    status, _, err = run("explain", "TW0999")
    assert status == 1 and "TW0999" in err and "Traceback" not in err


def test_wrong_usage_of_the_command() -> None:
    status, _, err = run("frobnicate")
    assert status == 2 and "usage" in err


KERNEL_FILE = '''
import tilewright as tw
from neighbour import VALUE

@tw.jit
def scale(out, x, FACTOR: tw.constexpr, n):
    tw.store(out + n, tw.load(x) * FACTOR)

NOT_A_KERNEL = 3
'''


@pytest.fixture
def kernel_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "kernels.py"
    path.write_text(KERNEL_FILE)
    (tmp_path / "neighbour.py").write_text("VALUE = 3\n")
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.delitem(sys.modules, "neighbour", raising=False)
    return path


def test_compile_on_the_command_line(
    fake: FakeNative, kernel_file: Path, capfdbinary: pytest.CaptureFixture[bytes], tmp_path: Path
) -> None:
    place = f"{kernel_file}:scale"
    signature = ["--signature", "out=*fp32:16, x=*fp32,n=i32:16"]
    signature += ["--constexpr", "FACTOR=(2, 'a,b')"]
    options = ["--num-warps", "8", "--num-stages", "5"]
    assert cli.main(["compile", place, *signature, "--emit", "llvm", *options]) == 0
    assert capfdbinary.readouterr().out.startswith(b"llvm of ")
    specialization, stage, _ = fake.inspections[-1]
    given = {argument.name: argument.facts for argument in specialization.arguments}
    assert stage == "llvm" and not fake.compilations
    assert given["out"]["type"] == "*fp32" and given["out"]["divisibility"] == 16
    assert '"v":"a,b"' in given["FACTOR"]["json"]
    assert specialization.options[:2] == (4, 3)  # of no use on CPUs, and so in no key
    out = tmp_path / "kernel.o"
    assert cli.main(["compile", place, *signature, "--emit", "object", "-o", str(out)]) == 0
    assert out.read_bytes() == b"binary"


@pytest.mark.parametrize(
    ("place", "extra", "text"),
    [
        ("{}:missing", [], "defines no missing"),
        ("{}:NOT_A_KERNEL", [], "is not a kernel"),
        ("{}", [], "FILE.py:NAME"),
        ("{}x:scale", [], "x"),
        ("{}:scale", ["--signature", "out=*fp32,x=*fp32"], "TW0404"),
        ("{}:scale", ["--signature", "out"], "unknown dtype 'out'"),
        ("{}:scale", ["--signature", "out=*f,x=*fp32,n=i32"], "unknown dtype 'f'"),
        ("{}:scale", ["--target", "gpu"], "TW0401"),
    ],
)
def test_mistakes_on_the_command_line(
    fake: FakeNative, kernel_file: Path, capsys: pytest.CaptureFixture[str],
    place: str, extra: list[str], text: str,
) -> None:  # fmt: skip
    assert cli.main(["compile", place.format(kernel_file), *extra]) == 1
    assert text in capsys.readouterr().err


def test_import_loads_neither_compiler_nor_libraries() -> None:
    code = (
        "import sys, tilewright as tw\n"
        "@tw.jit\n"
        "def kernel(x, BLOCK: tw.constexpr): pass\n"
        "print([n for n in ('tilewright._native', 'numpy', 'torch') if n in sys.modules])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT / "python",
        check=True,
    )  # fmt: skip
    assert process.stdout == "[]\n"


def test_a_missing_native_module_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright import native

    monkeypatch.setattr(native, "_module", None)
    monkeypatch.setitem(sys.modules, "tilewright._native", None)
    monkeypatch.delattr(tw, "_native", raising=False)
    with pytest.raises(ImportError, match="make setup"):
        tw.jit(copy.fn)[1](1, 2, 64)


def test_interrupts_leave_a_usable_kernel(
    fake: FakeNative, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> Any:
        raise KeyboardInterrupt

    kernel = tw.jit(copy.fn)
    with monkeypatch.context() as patch:
        patch.setattr(fake, "compile", interrupt)
        with pytest.raises(KeyboardInterrupt):
            kernel[1](1, 2, 64)
    kernel[1](1, 2, 64)
    assert len(fake.launches) == 1


def test_render_is_the_form_of_the_compiler() -> None:
    assert errors.render("TW0404", "m") == "error[TW0404]: m\n"


def test_no_module_of_the_package_hides_a_name_of_the_language() -> None:
    modules = {path.stem for path in (ROOT / "python" / "tilewright").iterdir()}
    assert "errors" in modules
    assert not modules & set(tw.language.__all__) - {"math", "language", "libdevice"}
