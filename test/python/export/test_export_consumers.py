"""Programs in C and C++ that use an exported package: they compile without a warning, compute the
right values on the processor and on GPUs (the double of libcuda), and are told what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import exported
import pytest

pytestmark = pytest.mark.usefixtures("compiler")

ON_CPU = [
    "scale", "matmul", "mixed", "transpose", "center", "parallel_for", "threads", "refusals",
]  # fmt: skip


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package as an archive."""
    pytest.importorskip("tilewright._native", reason="the native module is not built")
    folder = tmp_path_factory.mktemp("archive") / "kernels"
    done = exported.export(folder, f"nvidia:sm_80,{exported.CPU_TARGETS}")
    assert done.returncode == 0, done.stderr
    assert [Path(line).name for line in done.stdout.split()] == [
        "kernels.h", "kernels.a", "kernels.json",
    ]  # fmt: skip
    return folder


Building = Callable[..., Path]


@pytest.fixture(scope="module")
def consumer(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Building:
    """Builds the consumer with a compiler, once each."""
    built: dict[str, Path] = {}

    def build(name: str = "gcc", flags: tuple[str, ...] = ("-std=c11",)) -> Path:
        if name not in built:
            program = tmp_path_factory.mktemp("consumer") / "consumer"
            source, ending = exported.HERE / "consumer.c", ["-x", "none"]
            command = [exported.compiler(name), *exported.STRICT, *flags, f"-I{archive}", source]
            exported.compiled(
                [*command, *ending, archive / "kernels.a", *exported.LIBRARIES, "-o", program],
                archive,
            )
            built[name] = program
        return built[name]

    return build


@pytest.mark.parametrize("name, flags", exported.COMPILERS, ids=[n for n, _ in exported.COMPILERS])
def test_a_consumer_builds_and_runs(name: str, flags: list[str], consumer: Building) -> None:
    program = consumer(name, tuple(flags))
    exported.passed(program, "scale")


@pytest.mark.parametrize("test", ON_CPU)
def test_kernels_on_the_processor(test: str, consumer: Building, tmp_path: Path) -> None:
    exported.passed(consumer(), test, LD_LIBRARY_PATH=str(tmp_path))


def test_temporaries_last_for_all_threads_that_were_started(archive: Path, tmp_path: Path) -> None:
    """Threads that were started when more cores were allowed go on to take part."""
    kernels = json.loads((archive / "kernels.json").read_text())["kernels"]
    (center,) = [kernel for kernel in kernels if kernel["name"] == "center"]
    assert all(code.get("scratch_bytes", 1) for code in center["variants"][0]["codes"])
    program = tmp_path / "pinned"
    wrapped = [f"-Wl,--wrap={name}" for name in ("posix_memalign", "free")]
    command = [exported.compiler("gcc"), *exported.STRICT, "-std=c11", f"-I{archive}"]
    source = exported.HERE / "pinned.c"
    libraries = [archive / "kernels.a", *exported.LIBRARIES]
    exported.compiled([*command, source, *libraries, *wrapped, "-o", program], tmp_path)
    exported.passed(program, "")


def test_prints_as_launches_from_python_do(consumer: Building) -> None:
    lines = exported.passed(consumer(), "print").splitlines()[:-1]
    assert lines == [
        f"pid ({program}, 0, 0) idx ({i}) x =: {value}"
        for program in range(2)
        for i, value in enumerate([3, -1, 4, 1])
    ]


@pytest.mark.parametrize(
    "test, words",
    [("gpu", "execute=sm_80"), ("gpu_numbers", "devices=2"), ("gpu_threads", ""), ("scale", "")],
)
def test_kernels_on_gpus(test: str, words: str, consumer: Building, tmp_path: Path) -> None:
    exported.passed(consumer(), test, **exported.with_double(tmp_path / "lib", words))


def test_two_packages_in_one_program(archive: Path, tmp_path: Path) -> None:
    """They share the types of the headers and nothing else."""
    other = tmp_path / "other"
    words = ["--signature", "*fp32, *fp32, i32", "--grid", "cdiv(n, BLOCK)", "--name", "times"]
    kernel = f"{exported.KERNELS}:scale"
    done = exported.export(other, exported.CPU_TARGETS, *words, kernel=kernel)
    assert done.returncode == 0, done.stderr
    (tmp_path / "both.cpp").write_text(
        '#include "kernels.h"\n#include "times.h"\n#include <cstdio>\n'
        "int main() {\n"
        "  float x[3] = {1, 2, 3}, y[3], z[3];\n"
        "  tilewright_launch here{};\n"
        "  here.device = TILEWRIGHT_CPU;\n"
        "  if (scale(x, y, 3, 2.0f, &here, nullptr) || times(y, z, 3, 5.0f, &here, nullptr))\n"
        "    return 1;\n"
        "  kernels_unload();\n"
        "  times_unload();\n"
        '  std::puts(z[2] == 30 ? "passed" : "wrong");\n'
        "}\n"
    )
    program = tmp_path / "both"
    archives = [archive / "kernels.a", other / "times.a"]
    command = [exported.compiler("g++"), *exported.STRICT, "-std=c++17", "both.cpp"]
    command += [f"-I{archive}", f"-I{other}", *map(str, archives), *exported.LIBRARIES]
    exported.compiled([*command, "-o", program], tmp_path)
    exported.passed(program, "")


def test_a_shared_library_with_a_package(archive: Path, tmp_path: Path) -> None:
    gcc = exported.compiler("gcc")
    library = tmp_path / "libkernels.so"
    whole = ["-Wl,--whole-archive", archive / "kernels.a", "-Wl,--no-whole-archive"]
    exported.compiled([gcc, "-shared", *whole, *exported.LIBRARIES, "-o", library], tmp_path)
    source, program = exported.HERE / "consumer.c", tmp_path / "consumer"
    rest = [library, f"-Wl,-rpath,{tmp_path}", *exported.LIBRARIES, "-o", program]
    exported.compiled(
        [gcc, *exported.STRICT, "-std=c11", f"-I{archive}", source, *rest], tmp_path
    )
    exported.passed(program, "matmul")


@pytest.mark.parametrize(
    "name, flags", [("gcc", ["-flto=2", "-flto-partition=max"]), ("clang-22", ["-flto", "-fuse-ld=lld"])]
)
def test_the_c_form_with_link_time_optimization(
    name: str, flags: list[str], tmp_path: Path
) -> None:
    """Kernels are assembly, whose calls such optimization does not see."""
    folder = tmp_path / "kernels"
    done = exported.export(folder, exported.CPU_TARGETS, "--form", "c")
    assert done.returncode == 0, done.stderr
    program = tmp_path / "consumer"
    sources = [exported.HERE / "consumer.c", folder / "kernels.c", f"-I{folder}"]
    command = [exported.compiler(name), *exported.STRICT, "-std=c11", "-O2", *flags, *sources]
    exported.compiled([*command, *exported.LIBRARIES, "-o", program], tmp_path)
    for test in ("matmul", "mixed", "print"):
        exported.passed(program, test, LD_LIBRARY_PATH=str(tmp_path))


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_the_c_form_under_sanitizers(sanitizer: str, tmp_path: Path) -> None:
    folder = tmp_path / "kernels"
    done = exported.export(folder, f"nvidia:sm_80,{exported.CPU_TARGETS}", "--form", "c")
    assert done.returncode == 0, done.stderr
    program = tmp_path / "consumer"
    flags = [*exported.STRICT, "-std=c11", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    sources = [exported.HERE / "consumer.c", folder / "kernels.c", f"-I{folder}"]
    clang = exported.compiler("clang-22")
    exported.compiled([clang, *flags, *sources, *exported.LIBRARIES, "-o", program], tmp_path)
    # Code of the kernels is assembly, which no sanitizer looks into: what is checked is the launcher.
    tests = ["scale", "mixed", "parallel_for", "refusals", "center"]
    for test in ["threads", "center"] if sanitizer == "thread" else tests:
        exported.passed(program, test, LD_LIBRARY_PATH=str(tmp_path), TSAN_OPTIONS="die_after_fork=0")
