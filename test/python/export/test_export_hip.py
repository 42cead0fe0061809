"""Programs in C and C++ that launch an exported package on AMD's GPUs: the double of libamdhip64, whose
launches execute on the simulator, alone and beside that of libcuda."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import exported
import pytest

pytestmark = pytest.mark.usefixtures("compiler")

ARCHS = ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"]
EVERYWHERE = ["nvidia:sm_80", *(f"amd:{arch}" for arch in ARCHS), "cpu:x86-64-v2"]
WRAPPED = ("-DWRAPS_ACCESS", "-Wl,--wrap=access")
# Code objects get their LLVM IR, which the double executes.
EXPORT = """
import sys
from tilewright.native import native
from tilewright.tools.cli import main
native().set_target_setting("embed-ir", ["1"])
sys.exit(main(sys.argv[1:]))
"""


def export(folder: Path, targets: list[str], *words: str, kernel: str = "silent") -> Path:
    """A package whose code objects can be executed."""
    pytest.importorskip("tilewright._native", reason="the native module is not built")
    command = [sys.executable, "-c", EXPORT, "export", f"{exported.KERNELS}:{kernel}", *words]
    done = subprocess.run(
        [*command, "--targets", ",".join(targets), "-o", str(folder)],
        env=exported.environment(TILEWRIGHT_CACHE_DIR=str(folder.parent / "cache")),
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder


def build(folder: Path, program: Path, *flags: str, name: str = "gcc", code: str = "kernels.a") -> Path:
    source = exported.HERE / "hip_consumer.c"
    language = flags or ("-std=c11",)
    command = [exported.compiler(name), *exported.STRICT, *language, f"-I{folder}", source]
    rest = ["-x", "none", folder / code, *exported.LIBRARIES, "-o", program]
    exported.compiled([*command, *rest], folder)
    return program


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return export(tmp_path_factory.mktemp("hip") / "kernels", EVERYWHERE)


@pytest.fixture(scope="module")
def consumer(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(package, tmp_path_factory.mktemp("program") / "consumer")


@pytest.mark.parametrize("arch", ARCHS)
def test_kernels_on_each_architecture(arch: str, consumer: Path, tmp_path: Path) -> None:
    words = f"arch={arch} execute={arch}"
    exported.passed(consumer, "values", **exported.with_hip(tmp_path / "lib", words))


@pytest.mark.parametrize("test", ["numbers", "failures", "threads"])
def test_devices_and_failures(test: str, consumer: Path, tmp_path: Path) -> None:
    exported.passed(consumer, test, **exported.with_hip(tmp_path / "lib"))


@pytest.mark.parametrize("name, flags", exported.COMPILERS, ids=[n for n, _ in exported.COMPILERS])
def test_consumers_of_all_compilers(name: str, flags: list[str], package: Path, tmp_path: Path) -> None:
    program = build(package, tmp_path / "program", *flags, name=name)
    exported.passed(program, "numbers", **exported.with_hip(tmp_path / "lib"))


def test_both_makers_and_the_processor(consumer: Path, tmp_path: Path) -> None:
    environment = exported.with_hip(tmp_path / "lib", "arch=gfx942 execute=gfx942")
    exported.passed(consumer, "both", **{**exported.with_double(tmp_path / "lib"), **environment})


def test_a_package_without_code_for_processors(tmp_path: Path) -> None:
    folder = export(tmp_path / "kernels", ["amd:gfx942"])
    program = build(folder, tmp_path / "consumer")
    exported.passed(program, "anywhere", **exported.with_hip(tmp_path / "lib"))


def test_machines_without_a_driver(consumer: Path, tmp_path: Path) -> None:
    exported.passed(consumer, "no_driver", LD_LIBRARY_PATH=str(tmp_path))
    old = exported.with_hip(tmp_path / "lib", double="libamdhip64_double_old.so")
    exported.passed(consumer, "old_driver", **old)
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "libamdhip64.so.5").write_bytes(b"no library" * 100)
    exported.passed(consumer, "broken_driver", LD_LIBRARY_PATH=str(broken))


def test_the_files_of_gpus_tell_why_there_is_none(package: Path, tmp_path: Path) -> None:
    program = build(package, tmp_path / "consumer", "-std=c11", *WRAPPED)
    exported.passed(program, "opening", **exported.with_hip(tmp_path / "lib"))


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_the_c_form_under_sanitizers(sanitizer: str, tmp_path: Path) -> None:
    folder = export(tmp_path / "kernels", EVERYWHERE, "--form", "c")
    flags = ["-std=c11", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    program = build(folder, tmp_path / "consumer", *flags, name="clang-22", code="kernels.c")
    environment = exported.with_hip(tmp_path / "lib")
    for test in ["threads"] if sanitizer == "thread" else ["numbers", "failures", "threads"]:
        exported.passed(program, test, **environment, TSAN_OPTIONS="die_after_fork=0")


def test_functions_of_tvm_ffi(tmp_path: Path) -> None:
    folder = export(tmp_path / "kernels", ["amd:gfx942", "nvidia:sm_80", "cpu:x86-64-v2"], "--tvm-ffi")
    program = build(folder, tmp_path / "program", "-std=c11", "-DHAS_FFI")
    exported.passed(program, "ffi", **exported.with_hip(tmp_path / "lib"))


def test_what_the_manifest_says(package: Path) -> None:
    manifest = json.loads((package / "kernels.json").read_text())
    assert manifest["targets"] == EVERYWHERE
    codes = manifest["kernels"][0]["variants"][0]["codes"]
    assert [code["target"] for code in codes if "hsaco_sha256" in code] == EVERYWHERE[1:-1]
    waves = {code["target"]: code["resources"]["warp_size"] for code in codes[1 : 1 + len(ARCHS)]}
    assert waves == {f"amd:{arch}": 64 if arch.startswith("gfx9") else 32 for arch in ARCHS}
    assert "amd:gfx942" in (package / "kernels.h").read_text()
