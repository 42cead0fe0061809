"""What Python knows of devices by their names, and how frameworks' names for GPUs become ours."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from tilewright.errors import LaunchError
from tilewright.launch.devices import check_device
from tilewright.native.targets import (
    TargetName,
    device_named,
    first_gpus,
    gpu_of_dlpack,
    gpu_of_torch,
)


@pytest.mark.parametrize(
    ("name", "is_gpu", "has_memory", "in_any_build", "in_debug_builds"),
    [
        ("cpu", False, False, False, True),
        ("reference", False, False, True, True),
        ("sim:sm_80", True, False, True, True),
        ("nvidia:sm_90a", True, False, False, False),
        ("cuda:3", True, True, False, False),
    ],
)
def test_each_kind_of_device_has_its_facts(
    compiler: None, name: str, is_gpu: bool, has_memory: bool, in_any_build: bool,
    in_debug_builds: bool,
) -> None:  # fmt: skip
    device = device_named(name)
    assert (device.kind, device.is_gpu, device.has_memory) == (
        name.partition(":")[0], is_gpu, has_memory
    )  # fmt: skip
    assert device.checks_accesses(is_debug=False) is in_any_build
    assert device.checks_accesses(is_debug=True) is in_debug_builds


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("toaster:7", "there are cpu, "),
        ("refrence", "did you mean 'reference'?"),
        ("sim:sm_81", "did you mean sim:sm_80? there are sim:sm_80, sim:sm_86, "),
        ("nvidia", "there are nvidia:sm_80, nvidia:sm_86, "),
    ],
)
def test_an_unknown_name_is_answered_with_what_there_is(
    compiler: None, name: str, hint: str
) -> None:
    with pytest.raises(LaunchError) as caught:
        device_named(name)
    assert caught.value.code == "TW0401" and hint in caught.value.hint
    with pytest.raises(LaunchError) as checked:
        check_device(name)
    assert checked.value.hint == caught.value.hint


def test_a_simulated_gpu_has_the_memory_of_its_architecture(compiler: None) -> None:
    assert device_named("sim:sm_90a").shared_bytes == 227 << 10
    assert device_named("sim:sm_86").shared_bytes == 99 << 10
    name = TargetName("nvidia:sm_90a")
    assert (name.arch, name.backend, name.warp_size) == (90, "cuda", 32)
    assert TargetName("sim:sm_80").backend == "sim:sm_80"


def test_gpus_are_numbered_in_frameworks_as_here(compiler: None) -> None:
    assert [gpu.torch_name for gpu in first_gpus() if gpu.has_memory] == ["cuda:0", "cuda:0"]
    assert gpu_of_dlpack(2, 1) == gpu_of_dlpack(13, 1) == "cuda:1"
    assert gpu_of_dlpack(10, 0) == "hip:0"  # kDLROCM
    assert gpu_of_dlpack(7, 0) == ""  # kDLVulkan


@pytest.mark.parametrize(
    ("versions", "place"),
    [({"cuda": "13.0"}, "cuda:1"), ({}, "cuda:1"), ({"cuda": None, "hip": "6.0"}, "hip:1")],
)
def test_torch_decides_whose_gpus_it_calls_cuda(
    compiler: None, monkeypatch: pytest.MonkeyPatch, versions: dict[str, Any], place: str
) -> None:
    torch = SimpleNamespace(version=SimpleNamespace(**versions))
    monkeypatch.setitem(sys.modules, "torch", torch)  # pyright: ignore[reportArgumentType]
    assert gpu_of_torch("cuda", 1) == place
    assert gpu_of_torch("meta", None) == ""
