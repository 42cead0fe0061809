"""Which assembler makes machine code of PTX, and what a user is told of it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import pytest

import assemblers
import tilewright as tw
from tilewright import native

pytestmark = pytest.mark.usefixtures("compiler")
HERE = Path(__file__).resolve()
LIBRARY = next(
    (path for path in native.assemblers_of_packages() if "libnvJitLink.so.13" in path), ""
)
ARCHS = ("sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a", "sm_120")
NEWEST = ("sm_120",)


@tw.jit
def sums(out, x, BLOCK: tw.constexpr):
    tw.store(out, tw.sum(tw.sqrt(tw.load(x + tw.arange(0, BLOCK))), axis=0))


@tw.jit
def square(out, x, SIZE: tw.constexpr):
    at = tw.arange(0, SIZE)[:, None] * SIZE + tw.arange(0, SIZE)[None, :]
    a = tw.load(x + at)
    tw.store(out + at, tw.dot(a, a).to(tw.float16))


def run(script: str, **environment: str) -> str:
    """Return the output of a new process whose environment has these knobs."""
    paths = os.pathsep.join([str(HERE.parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", script], env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def needs_pinned() -> None:
    if not assemblers.pin():
        pytest.skip("the tests' assemblers are not installed")


@pytest.mark.parametrize("arch", ARCHS)
def test_each_architecture_gets_its_best_pinned_release(arch: str) -> None:
    needs_pinned()
    signature = {"out": "*fp32", "x": "*fp32:16"}
    kernel = sums.compile(signature, {"BLOCK": 256}, device=f"nvidia:{arch}")
    release = assemblers.releases()[-1 if arch in NEWEST else 0]
    assert kernel.assembler == f"ptxas {release}"
    text = kernel.asm["resources"]
    assert f'"assembler": "ptxas {release}"' in text, text


def test_other_assemblers_of_the_machine_are_not_asked(tmp_path: Path) -> None:
    needs_pinned()
    program = tmp_path / "ptxas"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/asked\nexit 1\n")
    program.chmod(0o700)
    script = (
        "from test_gpu_assemblers import sums\n"
        "for arch in ('sm_80', 'sm_120'):\n"
        "    kernel = sums.compile({'out': '*fp32', 'x': '*fp32'}, {'BLOCK': 256}, device='nvidia:' + arch)\n"
        "    print(kernel.assembler)"
    )
    first, second = assemblers.releases()
    path = f"{tmp_path}:{os.environ['PATH']}"
    assert run(script, PATH=path).split("\n")[:2] == [f"ptxas {first}", f"ptxas {second}"]
    assert not (tmp_path / "asked").exists()


@pytest.mark.skipif(not LIBRARY, reason="nvidia-nvjitlink is not installed")
@pytest.mark.parametrize("device", ["nvidia:sm_80", "nvidia:sm_90a", "sim:sm_80"])
def test_where_only_the_library_is_installed_remarks_are_the_same(device: str) -> None:
    """One more remark names the functions that its code calls."""
    script = (
        "import test_gpu_assemblers as kernels\n"
        f"square = kernels.square.compile({{'out': '*fp16:16', 'x': '*fp16:16'}}, {{'SIZE': 128}}, {device!r},\n"
        "    num_warps=4, maxnreg=64)\n"
        f"sums = kernels.sums.compile({{'out': '*fp32', 'x': '*fp32:16'}}, {{'BLOCK': 256}}, {device!r})\n"
        "for kernel in (square, sums):\n"
        "    texts = [r['rendered'] for r in kernel.remarks if r['code'] in ('TW0358', 'TW0364')]\n"
        "    print(' '.join(' '.join(texts).split()))\n"
        "print(square.asm['resources'])"
    )
    spills, calls, resources = run(script, **{assemblers.KNOB: LIBRARY}).split("\n", 2)
    assert "TW0358" in spills and "maxnreg=64" in spills
    assert '"registers": 64' in resources and '"spill_bytes": 0' not in resources
    assert '"assembler": "nvJitLink ' in resources
    assert "TW0364" in calls and "__cuda_sm" in calls and "nvidia-cuda-nvcc" in calls
    needs_pinned()
    spills, calls, resources = run(script).split("\n", 2)
    assert "TW0358" in spills and calls == "" and '"assembler": "ptxas ' in resources


def test_the_command_names_the_assembler_of_each_architecture(tmp_path: Path) -> None:
    needs_pinned()
    first, second = map(assemblers.path_of, assemblers.releases())
    lines = command_lines({})
    assert [*lines] == [f"nvidia:{arch}" for arch in ARCHS]
    assert lines["nvidia:sm_80"] == f"ptxas {assemblers.releases()[0]}, {first}"
    assert lines["nvidia:sm_120"] == f"ptxas {assemblers.releases()[1]}, {second}"
    # One that does not know an architecture leaves it to the next.
    old = tmp_path / "ptxas"
    old.write_text("#!/bin/sh\necho \"ptxas fatal   : Value 'sm_120' is not defined for option 'gpu-name'\"\nexit 1\n")
    old.chmod(0o700)
    assert command_lines({assemblers.KNOB: f"{old}:{second}"}) == dict.fromkeys(
        lines, f"ptxas {assemblers.releases()[1]}, {second}"
    )
    nothing = command_lines({assemblers.KNOB: "/no/such/ptxas"})
    assert all(text.startswith("none, ") for text in nothing.values()), nothing
    broken = command_lines({assemblers.KNOB: "/bin/false"})["nvidia:sm_80"]
    assert broken.startswith("none that works: /bin/false failed (status 1)")
    if LIBRARY:
        library = command_lines({assemblers.KNOB: LIBRARY})["nvidia:sm_90a"]
        assert library.startswith("nvJitLink 13.") and "calls functions" in library


def command_lines(environment: dict[str, str]) -> dict[str, str]:
    script = "import sys; from tilewright.tools.cli import main; sys.exit(main(['targets']))"
    head, *rows = run(script, **environment).splitlines()
    at = head.index("assembler")
    return {row.split()[0]: row[at:] for row in rows if row.startswith("nvidia:")}


def test_a_missing_file_is_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(assemblers.KNOB, "/no/such/ptxas")
    tw.knobs.reset()
    with pytest.warns(UserWarning, match="TILEWRIGHT_ASSEMBLERS names /no/such/ptxas, which is not a file"):
        assert tw.knobs.settings().assemblers == ("/no/such/ptxas",)
    tw.knobs.reset()


@pytest.mark.parametrize("content", [b"", b"not a library", Path("/proc/self/exe").read_bytes()])
def test_a_library_that_is_another_one_is_warned_of(
    content: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = tmp_path / "libother.so.1"
    library.write_bytes(content)
    monkeypatch.setenv(assemblers.KNOB, str(library))
    tw.knobs.reset()
    with pytest.warns(UserWarning, match=f"names {library}, which is not libnvJitLink"):
        tw.knobs.settings()
    tw.knobs.reset()


def test_the_library_itself_is_not_warned_of(monkeypatch: pytest.MonkeyPatch) -> None:
    if not LIBRARY:
        pytest.skip("nvidia-nvjitlink is not installed")
    monkeypatch.setenv(assemblers.KNOB, LIBRARY)
    tw.knobs.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tw.knobs.settings().assemblers == (LIBRARY,)
    tw.knobs.reset()


@pytest.mark.parametrize("program", ["exit 0", "echo usage; exit 2", "kill -9 $$", 'echo text > "$6"'])
@pytest.mark.parametrize("stage", ["cubin", "resources"])
def test_a_program_that_is_another_one_is_named(program: str, stage: str, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_text(f"#!/bin/sh\n{program}\n")
    other.chmod(0o700)
    kernel = tmp_path / "kernel.py"
    kernel.write_text("import tilewright as tw\n@tw.jit\ndef put(x):\n    tw.store(x, 1.0)\n")
    done = subprocess.run(
        [sys.executable, "-m", "tilewright", "compile", f"{kernel}:put", "--signature", "*fp32",
         "--target", "nvidia:sm_80", "--emit", stage, "-o", str(tmp_path / "out")],
        env={**os.environ, assemblers.KNOB: str(other), "TILEWRIGHT_CACHE": "0"},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and not (tmp_path / "out").exists()
    assert done.stderr.startswith("error[TW0365]: no assembler of PTX works here: "), done.stderr
    assert f"{other} failed (status" in done.stderr and "kernel.py:3" in done.stderr
    assert "TILEWRIGHT_ASSEMBLERS" in done.stderr


def test_packages_bring_assemblers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Programs before libraries, wherever they lie on sys.path."""
    files = [
        "first/nvidia/nvjitlink/lib/libnvJitLink.so.12", "second/nvidia/cu13/bin/ptxas",
        "second/triton/backends/nvidia/bin/ptxas", "second/triton/__init__.py",
    ]  # fmt: skip
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second")])
    found = native.assemblers_of_packages()
    assert [Path(path).relative_to(tmp_path).as_posix() for path in found] == [files[1], files[2], files[0]]
    assert "triton" not in sys.modules or not str(tmp_path) in str(sys.modules["triton"].__file__)


@pytest.mark.parametrize("error", [OSError("stale"), ValueError("no spec"), ImportError("gone")])
def test_packages_that_cannot_be_looked_for_fail_nothing(
    error: Exception, monkeypatch: pytest.MonkeyPatch
) -> None:
    def find_spec(*_: Any) -> None:
        raise error

    monkeypatch.setattr(PathFinder, "find_spec", find_spec)
    assert native.assemblers_of_packages() == []
