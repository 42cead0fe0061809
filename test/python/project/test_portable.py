"""The archive of `make portable` works in a clean environment; where none was made, that is not
tested."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
ARCHIVE = ROOT / "build" / "portable" / "tilewright-portable.tar.xz"


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not ARCHIVE.is_file():
        pytest.skip("`make portable` was not run")
    folder = tmp_path_factory.mktemp("portable")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder)
    (root,) = folder.iterdir()
    return root


def run(command: list[str], root: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    clean["TILEWRIGHT_CACHE_DIR"] = str(root / "cache")
    return subprocess.run(command, env=clean | environment, capture_output=True, text=True)


def test_it_adds_in_a_clean_environment(unpacked: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "clean", with_pip=False)
    session = shutil.copy(HERE / "portable_session.py", tmp_path)
    command = [str(tmp_path / "clean" / "bin" / "python"), str(session)]
    done = run(command, unpacked, PYTHONPATH=str(unpacked / "python"))
    assert done.returncode == 0, done.stderr
    assert str(unpacked) in done.stdout


@pytest.mark.skipif(not shutil.which("g++"), reason="there is no g++ here")
def test_the_bindings_can_be_built_again(unpacked: Path, tmp_path: Path) -> None:
    for module in (unpacked / "python" / "tilewright").glob("_native*.so"):
        module.unlink()
    built = run([sys.executable, str(unpacked / "setup_portable.py")], unpacked, CXX="g++")
    assert built.returncode == 0, built.stderr
    session = shutil.copy(HERE / "portable_session.py", tmp_path)
    command = [sys.executable, "-S", str(session)]
    done = run(command, unpacked, PYTHONPATH=str(unpacked / "python"))
    assert done.returncode == 0, done.stderr


def test_what_an_older_system_lacks_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    native = pytest.importorskip("tilewright._native")
    monkeypatch.syspath_prepend(ROOT / "python" / "portable")
    if not (ROOT / "python" / "portable").is_dir() or not shutil.which("objdump"):
        pytest.skip("nothing can be packed here")
    import pack

    library = Path(native.__file__)
    assert pack.foreign_needs(library) == []
    monkeypatch.setitem(pack.NEWEST, "GLIBC", (2, 1))
    needs = pack.foreign_needs(library)
    assert needs and all(need.startswith("GLIBC_") for need in needs)


def test_every_header_of_the_bindings_travels_along(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(ROOT / "python" / "portable")
    if not (ROOT / "python" / "portable").is_dir():
        pytest.skip("nothing can be packed here")
    import pack

    seen: set[str] = set()
    coming = {str(path.relative_to(ROOT)) for path in (ROOT / "python/bindings").iterdir()}
    while coming := {file for file in coming - seen if (ROOT / file).is_file()}:
        seen |= coming
        texts = [(ROOT / file).read_text() for file in coming]
        coming = {name for text in texts for name in re.findall(r'#include "([^"]+)"', text)}
    needed = {file for file in seen if not file.startswith(pack.TREES)}
    assert "runtime/Device.h" in needed and needed <= {*pack.FILES}


def test_the_tables_of_operations_travel_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(ROOT / "python" / "portable")
    if not (ROOT / "python" / "portable").is_dir() or not shutil.which("llvm-config-22"):
        pytest.skip("nothing can be packed here")
    import pack
    import table_rows

    pack.stage_tables(tmp_path)
    table_rows.records.cache_clear()
    expected = table_rows.records("Elementwise.td", "Elementwise")
    monkeypatch.setattr(table_rows, "ROOT", tmp_path)
    monkeypatch.setattr(table_rows, "dump_of", None)  # there is no TableGen
    table_rows.records.cache_clear()
    try:
        assert table_rows.records("Elementwise.td", "Elementwise") == expected != []
    finally:
        table_rows.records.cache_clear()


def test_a_python_without_headers_is_told_so(unpacked: Path, tmp_path: Path) -> None:
    fake = tmp_path / "python"
    fake.write_text('#!/bin/sh\necho \'["/nowhere", "/nowhere", ".so"]\'\n')
    fake.chmod(0o755)
    command = [sys.executable, str(unpacked / "setup_portable.py"), "--python", str(fake)]
    done = run(command, unpacked)
    assert done.returncode == 1 and "has no Python.h in /nowhere" in done.stderr
