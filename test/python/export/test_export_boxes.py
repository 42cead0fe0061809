"""Packages make tensor maps for code that copies boxes by them, and launches whose arrays no map
describes run code without: programs on the double of libcuda."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import box_kernels
import exported
import pytest
from tilewright.export import compiled

pytestmark = pytest.mark.usefixtures("compiler")

KERNELS = exported.HERE / "box_kernels.py"
CONSUMER = exported.HERE / "box_consumer.c"
TARGETS = "nvidia:sm_80,nvidia:sm_90a"
HOPPER = "capability=90 execute=sm_90a"


def package(folder: Path, targets: str = TARGETS, *words: str, name: str = "package") -> Path:
    """A package of the product."""
    done = exported.export(folder, targets, *words, kernel=f"{KERNELS}:{name}")
    assert done.returncode == 0, done.stderr
    return folder


def codes(folder: Path) -> list[dict[str, Any]]:
    """The manifest's entries of the codes for aligned arrays."""
    (kernel,) = json.loads((folder / "boxes.json").read_text())["kernels"]
    return kernel["variants"][0]["codes"]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return package(tmp_path_factory.mktemp("boxes") / "boxes")


def built(archive: Path, program: Path, name: str, *flags: str) -> Path:
    """The consumer with the package, by a compiler."""
    command = [exported.compiler(name), *exported.STRICT, *flags, f"-I{archive}", CONSUMER]
    rest = ["-x", "none", archive / "boxes.a", *exported.LIBRARIES, "-o", program]
    exported.compiled([*command, *rest], archive)
    return program


@pytest.fixture(scope="module")
def consumer(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(archive, tmp_path_factory.mktemp("consumer") / "consumer", "gcc", "-std=c11")


@pytest.mark.parametrize("test", ["maps", "without", "load", "threads"])
def test_launches_with_tensor_maps(test: str, consumer: Path, tmp_path: Path) -> None:
    exported.passed(consumer, test, **exported.with_double(tmp_path / "lib", HOPPER))


def test_earlier_gpus_run_their_own_code(consumer: Path, tmp_path: Path) -> None:
    words = "capability=80 execute=sm_80"
    exported.passed(consumer, "earlier_gpu", **exported.with_double(tmp_path / "lib", words))


@pytest.mark.parametrize("name, flags", exported.COMPILERS, ids=[n for n, _ in exported.COMPILERS])
def test_consumers_in_c_and_cpp(name: str, flags: list[str], archive: Path, tmp_path: Path) -> None:
    program = built(archive, tmp_path / "consumer", name, *flags)
    exported.passed(program, "maps", **exported.with_double(tmp_path / "lib", HOPPER))


def test_a_driver_that_knows_no_tensor_maps(archive: Path, tmp_path: Path) -> None:
    flags = ["-std=c11", "-DWITHOUT_ENCODER", "-Wl,--wrap=dlsym"]
    program = built(archive, tmp_path / "consumer", "gcc", *flags)
    exported.passed(program, "old_driver", **exported.with_double(tmp_path / "lib", HOPPER))


def test_code_with_maps_is_followed_by_code_without(archive: Path) -> None:
    found = [(code["target"], code.get("tensor_maps")) for code in codes(archive)]
    assert found == [("nvidia:sm_80", None), ("nvidia:sm_90a", 3), ("nvidia:sm_90a", None)]


def test_a_package_may_be_exported_without_maps(tmp_path: Path) -> None:
    folder = package(tmp_path / "plain", "nvidia:sm_90a", "--form", "c", name="plain")
    (code,) = codes(folder)
    assert "tensor_maps" not in code
    assert "struct tw_map tw_" not in (folder / "boxes.c").read_text()


def test_a_package_of_early_launches(tmp_path: Path) -> None:
    folder = package(tmp_path / "early", TARGETS, name="early")
    early = [code["resources"].get("early_launch", 0) for code in codes(folder)]
    assert early == [0, 1, 1]
    program = built(folder, tmp_path / "consumer", "gcc", "-std=c11")
    exported.passed(program, "early", **exported.with_double(tmp_path / "lib", HOPPER))
    words = "capability=80 execute=sm_80"
    exported.passed(program, "earlier_gpu", **exported.with_double(tmp_path / "old", words))


def test_a_package_of_clusters(tmp_path: Path) -> None:
    folder = package(tmp_path / "clustered", "nvidia:sm_90a", name="clustered")
    assert [code["resources"]["cluster_x"] for code in codes(folder)] == [2, 2]
    program = built(folder, tmp_path / "consumer", "gcc", "-std=c11")
    exported.passed(program, "clustered", **exported.with_double(tmp_path / "lib", HOPPER))


def test_more_maps_than_a_launch_passes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only the code without is exported."""
    monkeypatch.setattr(compiled, "_MOST_MAPS", 1)
    box_kernels.package.write(tmp_path, ["nvidia:sm_90a"], form="c")
    (code,) = codes(tmp_path)
    assert "tensor_maps" not in code


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_tensor_maps_under_sanitizers(sanitizer: str, tmp_path: Path) -> None:
    folder = package(tmp_path / "boxes", TARGETS, "--form", "c")
    program = tmp_path / "consumer"
    flags = [*exported.STRICT, "-std=c11", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all"]
    sources = [CONSUMER, folder / "boxes.c", f"-I{folder}"]
    clang = exported.compiler("clang-22")
    exported.compiled([clang, *flags, *sources, *exported.LIBRARIES, "-o", program], tmp_path)
    double = exported.with_double(tmp_path / "lib", HOPPER)
    # The double keeps its state until the process ends, and is not built for sanitizers.
    options = {"ASAN_OPTIONS": "detect_leaks=0", "TSAN_OPTIONS": "ignore_noninstrumented_modules=1"}
    for test in ["threads"] if sanitizer == "thread" else ["maps", "without", "threads"]:
        exported.passed(program, test, **double, **options)
