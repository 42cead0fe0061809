"""Programs in C that launch an exported package on an OpenCL device, by a driver that nobody here wrote."""

from __future__ import annotations

import json
import re
from pathlib import Path

import exported
import pytest
from sampled import OPENCL

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")
needs_driver = pytest.mark.skipif(not OPENCL, reason="no OpenCL driver of processors is installed")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("opencl") / "kernels"
    targets = "spirv:generic16,spirv:generic32,spirv:xe2,spirv:xe-hpg"
    done = exported.export(folder, targets, kernel=f"{exported.KERNELS}:large")
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
    assert {code["target"] for code in codes} == {"spirv:generic16", "spirv:generic32", "spirv:xe2", "spirv:xe-hpg"}
    assert all(code["bytes"] > 0 and code["bytes"] % 4 == 0 for code in codes)


def on_double(consumer: Path, folder: Path, *words: str) -> str:
    """Runs the program; returns what it prints, with the record of the driver's calls."""
    double = exported.ROOT / "build/test/libopencl_double.so"
    if not double.exists():
        pytest.skip("the double of libOpenCL is not built")
    (folder / "libOpenCL.so.1").symlink_to(double)
    return exported.passed(consumer, "double", *words, LD_LIBRARY_PATH=str(folder))


XE2, XE_HPG, NEWER = (f"gpu=1 ip={major << 22 | minor << 14:#x}" for major, minor in ((20, 1), (12, 55), (30, 0)))
ROUNDED, LARGE = "-cl-fp32-correctly-rounded-divide-sqrt", "-cl-intel-256-GRF-per-thread"
USM = "svm=0 usm=3 extensions=cl_intel_unified_shared_memory"


@pytest.mark.parametrize(
    ("words", "call"),
    [
        (XE2, f"clBuildProgram {ROUNDED} {LARGE}\n"),
        (XE2, "clEnqueueNDRangeKernel 1024,1,1 of 64,1,1\n"),
        (XE_HPG, "clEnqueueNDRangeKernel 512,1,1 of 32,1,1\n"),
        (NEWER, "clBuildProgram \n"),
        (XE2.replace("gpu=1", "gpu=0"), "clBuildProgram \n"),
        (f"{XE2} subgroups=32", "clEnqueueNDRangeKernel 2048,1,1 of 128,1,1\n"),
        (USM, "clSetKernelArgMemPointerINTEL 0\n"),
    ],
)
def test_the_code_of_a_device_is_built_as_it_was_compiled(
    words: str, call: str, consumer: Path, tmp_path: Path
) -> None:
    """Code for the device's own generation before that for any; many registers for Intel's GPUs only."""
    on_double(consumer, tmp_path, words, "0", call, "scale")


BLOCK_IO = ",cl_intel_subgroup_2d_block_io"


@pytest.mark.parametrize(
    ("kernel", "extension", "module"),
    [("product", BLOCK_IO, r"\d+ blocks\n"), ("shifted", BLOCK_IO, r"\d+\n"), ("product", "", r"\d+\n")],
)
def test_a_launch_takes_the_code_that_can_load_its_arrays(
    kernel: str, extension: str, module: str, consumer: Path, tmp_path: Path
) -> None:
    extensions = "cl_khr_fp16,cl_intel_subgroup_matrix_multiply_accumulate,cl_intel_split_work_group_barrier"
    words = f"{XE2} extensions={extensions}{extension}"
    said = on_double(consumer, tmp_path, words, "0", "clEnqueueNDRangeKernel 64,1,1 of 64,1,1", kernel)
    assert re.search(f"clCreateProgramWithIL {module}", said)
    assert said.count("clCreateProgramWithIL") == 1


@pytest.mark.parametrize("words", ["svm=1", USM])
def test_a_queue_takes_pointers_of_its_context(words: str, consumer: Path, tmp_path: Path) -> None:
    setter = "clSetKernelArgSVMPointer 1" if words == "svm=1" else "clSetKernelArgMemPointerINTEL 1"
    on_double(consumer, tmp_path, words, "0", setter, "scale", "queue")


@pytest.mark.parametrize(
    ("words", "kernel", "code", "message"),
    [
        ("svm=0", "scale", 817, "do not reach memory of the host"),
        ("svm=1", "scale", 817, "pass a cl_command_queue"),
        ("svm=0 usm=1 extensions=cl_intel_unified_shared_memory", "scale", 817, "do not reach memory of the host"),
        ("subgroups=8", "scale", 812, "no subgroups of the code's lanes"),
        ("max_threads=32", "scale", 817, "has 64 threads, and a program on this device may have 32"),
        ("address=32", "far", 818, "numbers 4294967295 threads"),
        ("extensions=cl_khr_fp16", "mixed", 812, "uses floats of 64 bits (fp64)"),
        ("extensions=cl_khr_fp64,cl_khr_fp16_more", "mixed", 812, "(cl_khr_fp16): use fp32"),
        ("fail=clBuildProgram:-11 log=bad", "scale", 817, "refuses the code: bad"),
        ("fail=clGetKernelWorkGroupInfo:-5", "scale", 817, "clGetKernelWorkGroupInfo"),
    ],
)
def test_what_a_device_lacks_is_refused_before_a_launch(
    words: str, kernel: str, code: int, message: str, consumer: Path, tmp_path: Path
) -> None:
    on_double(consumer, tmp_path, words, str(code), message, kernel)


def test_a_queue_of_a_device_with_buffers_only_is_refused(consumer: Path, tmp_path: Path) -> None:
    on_double(consumer, tmp_path, "svm=0", "817", "neither shared virtual memory nor unified", "scale", "queue")


@tw.jit
def refuse_zeros(x):
    tw.device_assert(tw.load(x + tw.arange(0, 16)) != 0, "a zero")


def test_assertions_are_not_packed(tmp_path: Path) -> None:
    package = tw.Package("kernels").add(refuse_zeros, "*i32", debug=True)
    with pytest.raises(tw.UnsupportedError, match="checks assertions"):
        package.write(tmp_path / "kernels", ["spirv:xe2"])
