"""Scripts with the calls that Triton's tutorials make, each run unmodified as its author would; and
every public name of Triton 3.9, which is there or says why it is not."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import tilewright.triton
from tilewright import UnsupportedError
from tilewright.triton.testing import Benchmark, perf_report

FOLDER = Path(__file__).resolve().parent / "triton_scripts"
NAMES = Path(__file__).resolve().parent / "triton_names.tsv"


@pytest.mark.parametrize("name", sorted(path.stem for path in FOLDER.glob("*.py")))
def test_scripts_like_the_tutorials_run(compiler: None, name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    result = subprocess.run(
        [sys.executable, "-m", "tilewright.triton", str(FOLDER / f"{name}.py"), str(tmp_path)],
        env={**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache"), "TILEWRIGHT_DEVICE": "cpu"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr


def public_names() -> list[tuple[str, str]]:
    """(module, name) of Triton 3.9's public names, from the sources of its release; no name: the
    module itself."""
    lines = NAMES.read_text().splitlines()
    return [(module.strip("."), name) for module, name in (line.split("\t") for line in lines)]


def test_every_public_name_is_there_or_says_why_not() -> None:
    names = public_names()
    unknown: list[str] = []
    found = 0
    for module, name in names:
        try:
            imported = importlib.import_module(".".join(("tilewright.triton", *module.split("."))).rstrip("."))
            if name:
                getattr(imported, name)
            found += 1
        except (AttributeError, ImportError) as error:
            if not isinstance(error, UnsupportedError) or error.code != "TW0430" or not error.hint:
                unknown.append(f"{module}.{name}: {error}")
    assert not unknown, "\n".join(unknown)
    assert len(names) > 1100 and found > len(names) / 2


@pytest.mark.parametrize(
    ("statement", "code", "words"),
    [
        ("import tilewright.triton.ops", "TW0430", "older Triton"),
        ("import tilewright.triton.runtime.build", "TW0430", "C compiler"),
        ("from tilewright.triton.runtime.cache import RedisRemoteCacheBackend", "TW0430", "managers"),
        ("from tilewright.triton.runtime.jit import DependenciesFinder", "TW0430", "own compiler"),
        ("from tilewright.triton.language.extra import hip", "TW0430", "kind of GPU"),
        ("from tilewright.triton.tools.disasm import parseCtrl", "TW0430", "get_sass"),
        ("from tilewright.triton.runtime.jit import nothing", "TW0431", "nothing"),
        ("from tilewright.triton import nothing", "TW0431", "nothing"),
        ("import tilewright.triton.nothing.at_all", "TW0431", "nothing"),
        ("from tilewright.triton import next_power_of_two", "TW0431", "next_power_of_2"),
    ],
)
def test_imports_of_absent_names_say_why(statement: str, code: str, words: str) -> None:
    with pytest.raises(ImportError) as error:
        exec(statement, {})
    assert isinstance(error.value, UnsupportedError) and error.value.code == code
    assert words in error.value.rendered and "triton" in error.value.message


MISSING_MODULES = """
import importlib
for name in ("triton.language.extra.nothing", "triton.nothing", "triton.runtime.build"):
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        assert error.name == name and "[TW043" in str(error), (error.name, error)
try:
    from triton import nothing
except ImportError as error:
    assert "[TW0431]" in str(error), error
"""


def test_an_absent_module_is_named_as_it_was_imported(tmp_path: Path) -> None:
    """Libraries compare `error.name` to tell a missing module from one that fails."""
    script = tmp_path / "missing.py"
    script.write_text(MISSING_MODULES)
    result = subprocess.run(
        [sys.executable, "-m", "tilewright.triton", str(script)], capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def test_probing_for_absent_names_works() -> None:
    triton: Any = tilewright.triton
    import importlib.util

    assert not hasattr(triton.runtime.cache, "get_dump_manager") and getattr(triton, "nothing", 3) == 3
    assert not hasattr(triton.language, "nothing") and not hasattr(triton.language.extra, "hip")
    for name in ("ops", "tools.experimental_descriptor", "runtime.nothing", "experimental.gluon"):
        assert importlib.util.find_spec(f"tilewright.triton.{name}") is None
    assert importlib.util.find_spec("tilewright.triton.knobs") is not None
    with pytest.raises(AttributeError, match="get_dump_manager is not in Tilewright"):
        triton.runtime.cache.get_dump_manager
    proton = importlib.import_module("tilewright.triton.profiler")
    assert not hasattr(proton, "specs")


def test_kernels_that_use_absent_names_say_why_at_the_line(compiler: None) -> None:
    tl = tilewright.triton.language

    @tilewright.triton.jit
    def kernel(x):
        tl.store(x, tl.extra.hip.memrealtime())

    with pytest.raises(UnsupportedError, match=r"hip.memrealtime(.|\n)*x, tl.extra.hip") as error:
        kernel.compile({"x": "*i64"})
    assert "kind of GPU" in error.value.hint or "kind of GPU" in error.value.rendered


def table(**options: Any) -> Any:
    fields: dict[str, Any] = {
        "x_names": ["n", "m"], "x_vals": [2, (3, 5)], "line_arg": "how", "line_vals": [1, 10],
        "line_names": ["one", "ten"], "plot_name": "plot", "args": {"extra": 100}, "ylabel": "ms",
    }  # fmt: skip
    return Benchmark(**{**fields, **options})


def test_reports_print_and_write_their_table(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    @perf_report([table(), table(plot_name="other", line_vals=[2], line_names=["two"])])
    def measure(n: int, m: int, how: int, extra: int, more: int) -> Any:
        value = float(how * n * m + extra + more)
        return (value, value - 1, value + 1) if how == 1 else value

    folder = tmp_path / "made" / "here"
    assert measure.run(print_data=True, save_path=str(folder), more=1000, save_precision=2) is None
    assert (folder / "plot.csv").read_text() == (
        "n,m,one (ms),ten (ms)\n2,2,1104.00,1140.00\n3,5,1115.00,1250.00\n"
    )
    assert (folder / "other.csv").read_text().splitlines()[0] == "n,m,two (ms)"
    output = capsys.readouterr().out
    assert "plot:\n" in output and "one (ms)" in output and "1115.000000" in output
    # Called by hand it is the function.
    assert measure.fn(1, 2, 10, 0, 0) == 20.0


def test_reports_refuse_what_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    report = perf_report(table(x_vals=[(1, 2, 3)]))(lambda **given: 1.0)
    with pytest.raises(ValueError, match="has 3 values for n, m"):
        report.run()
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(UnsupportedError, match="pandas is not installed"):
        perf_report(table())(lambda **given: 1.0).run(return_df=True)


def test_the_difference_of_two_columns_is_added(capsys: pytest.CaptureFixture[str]) -> None:
    report = perf_report(table(ylabel=""))(lambda how, **given: how)
    report.run(print_data=True, diff_col=True)
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[1] == ["n", "m", "one", "ten", "Diff"] and lines[2] == ["0", "2", "2", "1", "10", "9"]
