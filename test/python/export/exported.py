"""Exports, C compilers and programs, for the tests of packages."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
KERNELS = HERE / "export_kernels.py"
CPU_TARGETS = "cpu:x86-64-v2,cpu:x86-64-v3"
STRICT = ["-D_GNU_SOURCE", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-Wpedantic"]
LIBRARIES = ["-lm", "-lpthread", "-ldl"]
# Name, and what makes C++17 of the consumer.
COMPILERS = [
    ("gcc", ["-std=c11"]),
    ("g++", ["-x", "c++", "-std=c++17", "-fno-exceptions", "-fno-rtti"]),
    ("clang-22", ["-std=c11"]),
    ("clang++-22", ["-x", "c++", "-std=c++17", "-fno-exceptions", "-fno-rtti"]),
]


def environment(**changed: str) -> dict[str, str]:
    """This process's environment for a tilewright of this tree, with a cache that nobody has."""
    paths = [str(Path(sys.modules["tilewright"].__path__[0]).parent)]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **changed}


def outside(**changed: str) -> dict[str, str]:
    """The environment of compilers and of what they make. What the run of a sanitizer loads into Python
    is not for them, nor the package that was built for it."""
    plain = dict(os.environ)
    if plain.pop("LD_PRELOAD", None):
        plain["PYTHONPATH"] = str(ROOT / "python")
    return {**plain, **changed}


def export(
    output: Path, targets: str, *arguments: str, kernel: str = f"{KERNELS}:package", **changed: str
) -> subprocess.CompletedProcess[str]:
    """Run `tilewright export`."""
    command = [sys.executable, "-m", "tilewright", "export", kernel, "--targets", targets]
    cache = str(output.parent / "export-cache")
    return subprocess.run(
        [*command, "-o", str(output), *arguments],
        env=environment(TILEWRIGHT_CACHE_DIR=cache, **changed),
        capture_output=True,
        text=True,
    )


def compiler(name: str) -> str:
    """The path of a compiler; skips the test where there is none."""
    path = shutil.which(name)
    if path is None:
        pytest.skip(f"there is no {name}")
    return path


def compiled(command: Sequence[str | Path], folder: Path) -> None:
    """Run a compiler."""
    words = [str(word) for word in command]
    done = subprocess.run(words, cwd=folder, env=outside(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def operators(package: Any, folder: Path) -> Path:
    """The library of a package's operators, compiled against torch's own headers: ten seconds."""
    import torch

    written = package.write(folder, ["cpu:x86-64-v2"], form="torch")
    headers = Path(torch.__file__).parent / "include"
    library = folder / "operators.so"
    command = [
        compiler("g++"), "-std=c++20", "-O0", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared",
        f"-isystem{headers}", f"-isystem{headers}/torch/csrc/api/include",
        f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
    ]  # fmt: skip
    source, archive = written[f"{package.name}_torch.cpp"], written[f"{package.name}.a"]
    torchs = [f"-L{headers.parent}/lib", "-lc10", "-ltorch_cpu"]
    compiled([*command, source, archive, "-o", library, *torchs, *LIBRARIES], folder)
    return library


def passed(program: Path, test: str, *words: str, **changed: str) -> str:
    """What a consumer printed, which passed its test."""
    done = subprocess.run(
        [str(program), test, *words], env=outside(**changed), capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and done.stdout.endswith("passed\n"), done.stdout + done.stderr
    return done.stdout


def with_double(folder: Path, words: str = "") -> dict[str, str]:
    """The environment in which programs find the double of libcuda."""
    double = ROOT / "build/test/libcuda_double.so"
    if not double.exists():
        pytest.skip("the double of libcuda is not built")
    folder.mkdir(exist_ok=True)
    link = folder / "libcuda.so.1"
    if not link.is_symlink():
        link.symlink_to(double)
    return {"LD_LIBRARY_PATH": str(folder), "CUDA_DOUBLE": words}


def with_hip(folder: Path, words: str = "", double: str = "libamdhip64_double.so") -> dict[str, str]:
    """The environment in which programs find a double of libamdhip64."""
    built = ROOT / "build/test" / double
    if not built.exists():
        pytest.skip(f"{double} is not built")
    folder.mkdir(exist_ok=True)
    (folder / "libamdhip64.so.6").symlink_to(built)
    return {"LD_LIBRARY_PATH": str(folder), "HIP_DOUBLE": words}
