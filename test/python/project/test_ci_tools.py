"""The programs that tests may use on the machine that runs them for `.ci/run`."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / ".ci" / "tools.py"
if not SCRIPT.exists():
    pytest.skip("this is not a source tree", allow_module_level=True)


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("ci_tools", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["ci_tools"] = module
    spec.loader.exec_module(module)
    return module


tools = load()


def test_a_package_brings_what_it_depends_on() -> None:
    packages = {
        "app": tools.Package(False, [], tools.names_in("lib (>= 1), shell | other, editor:any, gone")),
        "lib": tools.Package(False, [], []),
        "other": tools.Package(False, [], []),
        "vim": tools.Package(False, ["editor"], []),
        "debugger": tools.Package(False, [], tools.names_in("lib")),
    }
    assert tools.closure(["app", "missing"], packages) == {"app", "lib", "other", "vim"}
    # The one that is needed anyway comes before another that would do.
    packages["shell"] = tools.Package(False, [], [])
    assert tools.closure(["other", "app"], packages) == {"app", "lib", "other", "vim"}
    assert tools.closure(["app"], packages) == {"app", "lib", "shell", "vim"}


@pytest.mark.skipif(not shutil.which("dpkg-query"), reason="this is not Debian")
def test_programs_of_other_packages_are_not_found(tmp_path: Path) -> None:
    subprocess.run([sys.executable, SCRIPT, tmp_path], check=True, capture_output=True)
    found = {path.name for path in tmp_path.iterdir()}
    assert {"sh", "sed", "dpkg-query", "clang-22", "cmake", "g++", "cc", "awk", "python3"} <= found
    assert not {"gdb", "ptxas", "nvcc", "valgrind", "strace"} & found
