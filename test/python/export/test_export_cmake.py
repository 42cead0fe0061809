"""Tilewright as projects find it: installed, with find_package and pkg-config, and by FetchContent."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import assemblers
import export_kernels
import exported
import numpy as np
import pytest
import tilewright as tw
from tilewright import knobs
from tilewright.native import native
from tilewright.tools import cache_files

pytestmark = pytest.mark.usefixtures("compiler")
PROJECT = exported.HERE / "project"


def run(command: Sequence[str | Path], folder: Path, **changed: str) -> str:
    """Run a command; its output."""
    done = subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        env=exported.outside(**changed),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def prefix(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where Tilewright is installed."""
    build = exported.ROOT / "build"
    if not (build / "lib/libtilewright.so").exists():
        pytest.skip("libtilewright is not built")
    folder = tmp_path_factory.mktemp("prefix")
    run(["cmake", "--install", build, "--prefix", folder], folder)
    return folder


def configure(source: Path, build: Path, cache: Path, *arguments: str) -> None:
    run(["cmake", "-S", source, "-B", build, "-G", "Ninja", *arguments], source)
    run(["cmake", "--build", build], source, TILEWRIGHT_CACHE_DIR=str(cache))
    # Without a driver that the program could find.
    run(["ctest", "--test-dir", build, "--output-on-failure"], source)


@pytest.mark.parametrize("compilers", [("gcc", "g++"), ("clang-22", "clang++-22")])
def test_a_project_finds_what_is_installed(
    compilers: tuple[str, str], prefix: Path, tmp_path: Path
) -> None:
    c, cxx = map(exported.compiler, compilers)
    source, build = tmp_path / "source", tmp_path / "build"
    shutil.copytree(PROJECT, source)
    names = [f"-DCMAKE_C_COMPILER={c}", f"-DCMAKE_CXX_COMPILER={cxx}"]
    configure(source, build, tmp_path / "cache", f"-DCMAKE_PREFIX_PATH={prefix}", *names)
    # The kernels are made again when any Python file that they are made of changes, and only then.
    header = build / "tilewright/program/scale.h"
    before = header.stat().st_mtime_ns
    run(["cmake", "--build", build], source, TILEWRIGHT_CACHE_DIR=str(tmp_path / "cache"))
    assert header.stat().st_mtime_ns == before
    helper = source / "scaled.py"
    helper.write_text(helper.read_text().replace("x * factor", "x * factor + 1.0"))
    run(["cmake", "--build", build], source, TILEWRIGHT_CACHE_DIR=str(tmp_path / "cache"))
    done = subprocess.run(
        [build / "program"], env=exported.outside(), capture_output=True, text=True
    )
    assert done.stdout == "1997 0\n"


def test_a_project_fetches_the_sources(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(PROJECT, source)
    where = [f"-DTILEWRIGHT_SOURCE={exported.ROOT}", f"-DTILEWRIGHT_PYTHON={sys.executable}"]
    configure(source, tmp_path / "build", tmp_path / "cache", *where)


def sources(folder: Path) -> Path:
    """A directory with the source buffer of a kernel."""
    folder.mkdir()
    command = [sys.executable, "-m", "tilewright", "compile", f"{exported.KERNELS}:scale"]
    rest = ["--signature", "*fp32, *fp32, i32, fp32", "--emit", "source", "-o", folder / "scale.json"]
    run([*command, *rest], folder, **exported.environment())
    boxes = exported.HERE / "box_kernels.py"
    command = [sys.executable, "-m", "tilewright", "compile", f"{boxes}:product"]
    rest = ["--signature", "a=*fp16, b=*fp16, c=*fp32, M=i32, a_row=i32, b_row=i64"]
    rest += ["--constexpr", "K=128, BM=64, BN=64, BK=64"]
    run([*command, *rest, "--emit", "source", "-o", folder / "product.json"], folder, **exported.environment())
    return folder


def test_the_library_by_pkg_config(
    prefix: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = {"PKG_CONFIG_PATH": str(next(prefix.glob("lib*/pkgconfig")))}
    if shutil.which("pkg-config") is None:
        pytest.skip("there is no pkg-config")
    flags = run(["pkg-config", "--cflags", "--libs", "tilewright"], tmp_path, **found).split()
    program, library = tmp_path / "consumer", next(prefix.glob("lib*/libtilewright.so")).parent
    strict = ["-std=c++17", "-fno-rtti", "-fno-exceptions", "-Wall", "-Wextra", "-Werror", "-Wpedantic"]
    source = exported.HERE / "library_consumer.cpp"
    compiler = exported.compiler("g++")
    run([compiler, *strict, source, *flags, f"-Wl,-rpath,{library}", "-pthread", "-o", program], tmp_path)
    folder = sources(tmp_path / "sources")
    assert run([program, folder], tmp_path).endswith("passed\n")
    assert list((folder / "cache").glob("v*/??/*")), "nothing was kept for later processes"
    assert run([program, folder], tmp_path).endswith("passed\n")
    double = exported.with_double(tmp_path / "lib", "execute=sm_80")
    pinned = map(assemblers.path_of, assemblers.releases())
    assert run([program, folder, "gpu", *pinned], tmp_path, **double).endswith("passed\n")
    amd = exported.with_hip(tmp_path / "hip", "devices=2")
    assert run([program, folder, "hip"], tmp_path, **amd).endswith("passed\n")
    kept = told_by(folder / "cache")
    launched = told_from_python(monkeypatch, tmp_path / "from-python")
    assert launched <= kept
    only_facts = sources(tmp_path / "facts")
    assert run([program, only_facts, "facts"], tmp_path).endswith("passed\n")
    # This process has what it launched.
    prepared = facts_from_python(monkeypatch, tmp_path / "facts-from-python")
    assert told_by(only_facts / "cache") == launched | prepared
    assert "x: *fp32:16:overlap, out: *fp32:16:overlap, n: i32:nonneg, factor: fp32, BLOCK=64" in kept


def told_by(cache: Path) -> set[str]:
    """The specializations that a cache has, in words."""
    entries = cache_files.list_entries(cache)
    texts = [native().describe_stored(entry.key, entry.path.read_bytes()) for entry in entries]
    return {json.loads(text)["arguments"] for text in texts}


def told_from_python(monkeypatch: pytest.MonkeyPatch, cache: Path) -> set[str]:
    """Those of the library's launches when Python makes them."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
    knobs.reset()
    with tw.device("reference"):
        for n in (1, 1000, 1024):
            x, out = np.zeros(n, np.float32), np.zeros(n, np.float32)
            export_kernels.scale[(1,)](x, out, n, 2.5)
    found = told_by(cache)
    assert len(found) == 3
    return found


def facts_from_python(monkeypatch: pytest.MonkeyPatch, cache: Path) -> set[str]:
    """Those that the library's consumer prepares, when Python does."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
    knobs.reset()
    x, y = np.zeros(8, np.float32), np.zeros(8, np.float32)
    assert x.ctypes.data % 16 == y.ctypes.data % 16 == 0
    values = [0, 1, 3, 16, -1, -16, 2**31 - 1, -(2**31), 2**31, -(2**31) - 1, 2**63 - 1, -(2**63)]
    with tw.device("reference"):
        for n in [*values, 2**63, 2**64 - 1]:
            export_kernels.scale.prepare(x[:4], y[:4], n, 1.0)
        for first in (x[1:5], y[:4], y[2:6]):
            export_kernels.scale.prepare(first, y[:4], 3, 1.0)
    return told_by(cache)


def test_the_library_shows_its_own_names_only(prefix: Path) -> None:
    library = next(prefix.glob("lib*/libtilewright.so.1"))
    names = run(["nm", "-DC", "--with-symbol-versions", "--defined-only", library], prefix)
    shown = [line.split(" ", 2)[2] for line in names.splitlines()]
    ours = [name for name in shown if not name.endswith(f"@@TILEWRIGHT_PRIVATE_{tw.__version__}")]
    assert any(name.startswith("tilewright::Kernel::name") for name in ours)
    assert [name for name in ours if "tilewright::" not in name or not name.endswith("@@TILEWRIGHT_1")] == []
    # The rest is for Python's module of the same version.
    assert [name for name in shown if name not in ours and "tw::" not in name] == []


@pytest.mark.parametrize(
    "call, words",
    [
        ("tilewright_add_source(program k.py:k OTHER x)", "unknown arguments OTHER;x"),
        ("tilewright_add_source(program k.py:k NAME)", "no value for NAME"),
        ("tilewright_add_kernels(program k.py:k GIRD 1 TARGETS cpu:x86-64-v3)", "unknown arguments"),
        ("tilewright_add_kernels(program k.py:k TARGETS)", "no value for TARGETS"),
    ],
)
def test_arguments_that_the_cmake_functions_do_not_know(
    call: str, words: str, tmp_path: Path
) -> None:
    functions = exported.ROOT / "backend/cmake/package/TilewrightKernels.cmake"
    lines = ["cmake_minimum_required(VERSION 3.20)", "project(p LANGUAGES NONE)"]
    text = "\n".join([*lines, f'include("{functions}")', call, ""])
    (tmp_path / "CMakeLists.txt").write_text(text)
    command = ["cmake", "-S", tmp_path, "-B", tmp_path / "build"]
    done = subprocess.run(
        list(map(str, command)), env=exported.outside(), capture_output=True, text=True
    )
    assert done.returncode != 0 and words in " ".join(done.stderr.split())
