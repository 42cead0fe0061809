"""Programs in C that launch an exported package on an OpenCL device, by a driver that nobody here wrote."""

from __future__ import annotations

import json
from pathlib import Path

import exported
import pytest
from sampled import OPENCL

pytestmark = pytest.mark.usefixtures("compiler")
needs_driver = pytest.mark.skipif(not OPENCL, reason="no OpenCL driver of processors is installed")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("opencl") / "kernels"
    done = exported.export(folder, "spirv:generic16,spirv:generic32", kernel=f"{exported.KERNELS}:silent")
    assert done.returncode == 0, done.stderr
    return folder


def built(package: Path, program: Path, name: str, flags: list[str]) -> Path:
    command = [exported.compiler(name), *exported.STRICT, *flags, f"-I{package}", exported.HERE / "opencl_consumer.c"]
    exported.compiled([*command, "-x", "none", package / "kernels.a", *exported.LIBRARIES, "-o", program], program.parent)
    return program


@pytest.fixture(scope="module")
def consumer(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(package, tmp_path_factory.mktemp("program") / "consumer", "gcc", ["-std=c11"])


@needs_driver
@pytest.mark.parametrize("test", ["values", "failures", "threads", "queue"])
def test_a_program_launches_on_the_device(test: str, consumer: Path) -> None:
    from tilewright.native import opencl_libraries

    exported.passed(consumer, test, LD_LIBRARY_PATH=str(Path(opencl_libraries()[-1]).parent))


def test_a_machine_without_a_driver_is_told(consumer: Path) -> None:
    exported.passed(consumer, "absent", LD_LIBRARY_PATH="", OCL_ICD_VENDORS="/nowhere", OCL_ICD_FILENAMES="")


def test_the_program_in_cpp(package: Path, tmp_path: Path) -> None:
    built(package, tmp_path / "program", "g++", ["-x", "c++", "-std=c++17", "-fno-exceptions"])


def test_the_manifest_names_the_modules(package: Path) -> None:
    manifest = json.loads((package / "kernels.json").read_text())
    codes = [code for kernel in manifest["kernels"] for variant in kernel["variants"] for code in variant["codes"]]
    assert {code["target"] for code in codes} == {"spirv:generic16", "spirv:generic32"}
    assert all(code["bytes"] > 0 and code["bytes"] % 4 == 0 for code in codes)


def test_targets_that_the_launcher_cannot_choose_are_refused(tmp_path: Path) -> None:
    done = exported.export(tmp_path / "kernels", "spirv:xe2", kernel=f"{exported.KERNELS}:silent")
    assert done.returncode != 0 and "TW0803" in done.stderr and "spirv:generic16" in done.stderr
