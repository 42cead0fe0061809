"""The wheel of `make wheel`: pip takes it for each Python it has a module for, and for no other."""

from __future__ import annotations

import base64
import csv
import hashlib
import importlib.metadata
import io
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
WHEELS = ROOT / "build" / "wheel"
PYTHONS = ("310", "311", "312", "313")


@pytest.fixture
def pack(monkeypatch: pytest.MonkeyPatch) -> Any:
    if not (ROOT / "python" / "portable").is_dir():
        pytest.skip("nothing can be packed here")
    pytest.importorskip("tomllib")
    monkeypatch.syspath_prepend(ROOT / "python" / "portable")
    import pack as module

    return module


def staged(folder: Path) -> Path:
    """A package without a compiler in it, with modules for two Pythons."""
    package = folder / "python" / "tilewright"
    (package / "native").mkdir(parents=True)
    (package / "__init__.py").write_text("answer = 42\n")
    (package / "py.typed").write_text("")
    (package / "native" / "odd, name.py").write_text("")
    (package / "native" / "left.pyc").write_text("")
    for version in ("310", "311"):
        (package / f"_native.cpython-{version}-x86_64-linux-gnu.so").write_bytes(b"\x7fELF" * 99)
    return folder


def install(wheel: Path, folder: Path, version: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pip", "install", "--no-index", "--no-deps", "--quiet"]
    command += ["--only-binary=:all:", "--implementation", "cp", "--platform", "manylinux_2_35_x86_64"]
    command += ["--python-version", version, "--target", str(folder), str(wheel)]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_wheel_is_what_pip_and_importlib_read(pack: Any, tmp_path: Path) -> None:
    wheel = pack.make_wheel(staged(tmp_path), tmp_path / "out")
    assert wheel.name == "tilewright-0.1.0-cp310.cp311-none-manylinux_2_35_x86_64.whl"
    done = install(wheel, tmp_path / "here", "3.11")
    assert done.returncode == 0, done.stderr
    assert install(wheel, tmp_path / "other", "3.12").returncode != 0
    [found] = importlib.metadata.distributions(path=[str(tmp_path / "here")])
    data = found.metadata
    assert (data["Name"], data["Version"], data["Requires-Python"]) == ("tilewright", "0.1.0", ">=3.10")
    assert data["License-Expression"] == "Apache-2.0 WITH LLVM-exception"
    assert "LICENSE.txt" in data.get_all("License-File")
    classifiers = data.get_all("Classifier")
    for version in ("3.10", "3.11", "3.12", "3.13"):
        assert f"Programming Language :: Python :: {version}" in classifiers
    assert found.entry_points["tilewright"].value == "tilewright.tools.cli:main"
    assert 'torch; extra == "test"' in (found.requires or [])
    assert not [line for line in found.requires or [] if "extra" not in line]  # nothing is required
    assert data.get_payload().startswith("# Tilewright")


def test_the_record_of_a_wheel_is_right(pack: Any, tmp_path: Path) -> None:
    wheel = pack.make_wheel(staged(tmp_path), tmp_path / "out")
    first = wheel.read_bytes()
    assert pack.make_wheel(tmp_path, tmp_path / "out").read_bytes() == first
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        rows = csv.reader(io.StringIO(archive.read("tilewright-0.1.0.dist-info/RECORD").decode()))
        for name, digest, size in rows:
            names.remove(name)
            if not name.endswith("/RECORD"):
                content = archive.read(name)
                right = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
                assert (digest, size) == (f"sha256={right.decode()}", str(len(content)))
    assert not names and not [name for name in archive.namelist() if name.endswith(".pyc")]


def test_a_folder_without_modules_makes_no_wheel(pack: Any, tmp_path: Path) -> None:
    folder = staged(tmp_path)
    for module in (folder / "python" / "tilewright").glob("*.so"):
        module.unlink()
    with pytest.raises(ValueError, match="no module"):
        pack.make_wheel(folder, tmp_path / "out")


@pytest.mark.parametrize("version", PYTHONS)
def test_the_wheel_adds_in_a_bare_interpreter(pack: Any, tmp_path: Path, version: str) -> None:
    wheels = [*WHEELS.glob(f"*cp{version}*.whl")]
    dotted = f"{version[0]}.{version[1:]}"
    pythons = [path for path in pack.interpreters() if Path(path).name == f"python{dotted}"]
    pythons += [sys.executable] * ("%d%d" % sys.version_info[:2] == version)
    if not wheels or not pythons:
        pytest.skip(f"`make wheel` was not run, or there is no Python {dotted}")
    assert install(wheels[0], tmp_path / "here", dotted).returncode == 0
    session = shutil.copy(HERE / "portable_session.py", tmp_path)
    clean = {"HOME": os.environ.get("HOME", "/"), "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [pythons[0], "-S", str(session)], cwd=tmp_path, capture_output=True, text=True,
        env={**clean, "PYTHONPATH": str(tmp_path / "here")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "here") in done.stdout
