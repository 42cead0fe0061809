"""Records of the language's own functions that are made with the package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import tilewright
from tilewright.capture import prebuild, prebuilt, record
from tilewright.language import library, marks
from tilewright.libdevice import special

PACKAGE = Path(tilewright.__file__).parent
DIGESTS = """
import tilewright as tw
from tilewright.capture import capture, prebuilt

@tw.jit
def kernel(x):
    return tw.sum(x)

captured = capture(kernel)
print(captured.meaning, captured.exact, len(prebuilt._sections), sum(len(s[1]) for s in prebuilt._sections.values()))
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package without what was built."""
    target = tmp_path_factory.mktemp("site") / "tilewright"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("*.so", "*.records", "*.pyc"))
    return target


def run(package: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(package.parent), "TILEWRIGHT_CACHE": "0"}
    command = [sys.executable, *words]
    return subprocess.check_output(command, env=environment, text=True, cwd=package.parent)


def digests(package: Path) -> tuple[list[str], int]:
    """Both digests of a kernel, and how many records were found."""
    script = package.parent / "kernel.py"
    script.write_text(DIGESTS)
    *both, _, found = run(package, str(script)).split()
    return both, int(found)


def test_records_are_those_that_are_made_of_the_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "library.records"
    prebuild.write(file)
    monkeypatch.setattr(prebuilt, "FILE", file)
    monkeypatch.setattr(prebuilt, "_sections", {})
    functions = [
        value.fn
        for module in (library, special)
        for value in vars(module).values()
        if isinstance(value, marks.LibraryFunction) and value.fn.__module__ == module.__name__
    ]
    assert len(functions) > 50
    for function in functions:
        found, made = record._find_prebuilt(function), record._find_or_make(function)
        assert found is not None, function
        assert (found.facts, found.arguments) == (made.facts, made.arguments)
        assert found.opening == made.opening


def test_edited_library_is_captured_from_its_text(package: Path):
    from_text, found = digests(package)
    assert not found
    run(package, "-m", "tilewright.capture.prebuild", str(package / Path(prebuilt.FILE).name))
    from_records, found = digests(package)
    assert found and from_records == from_text
    source = package / "library" / "tiles.py"
    text = source.read_text()
    changed = text.replace("def _add(a, b):\n    return a + b", "def _add(a, b):\n    return b + a")
    assert changed != text
    source.write_text(changed)
    after_edit, found = digests(package)
    assert not found and after_edit[0] != from_text[0]
    source.write_text(text)
    maker = package / "capture" / "nodes.py"
    maker.write_text(maker.read_text() + "\n# another\n")
    assert digests(package) == (from_text, 0)


def test_file_of_another_python_or_cut_off_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    file = tmp_path / "library.records"
    prebuild.write(file)
    monkeypatch.setattr(prebuilt, "FILE", file)
    whole = file.read_bytes()
    code = library.sum.fn.__code__

    def is_found() -> bool:
        monkeypatch.setattr(prebuilt, "_sections", {})
        return prebuilt.find(code) is not None

    assert is_found()
    for size in (0, 1, 40, whole.index(b"\n") + 100):  # the last in the first section
        file.write_bytes(whole[:size])
        assert not is_found()
    file.write_bytes(whole)
    assert is_found()
    monkeypatch.setattr(sys, "version", "another Python")
    assert not is_found()
