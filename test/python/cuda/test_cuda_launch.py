"""Arrays on GPUs choose the device of a launch, and its stream. Without a compiler or a driver."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy
import pytest
import tilewright as tw
from fake_native import FakeNative
from tilewright import knobs
from tilewright.launch.arguments import read_argument

torch = pytest.importorskip("torch")

from gpu_tensor import GpuTensor  # noqa: E402


@pytest.fixture
def module(fake: FakeNative, monkeypatch: pytest.MonkeyPatch) -> FakeNative:
    refused = fake.check_target
    known = ("cuda:0", "cuda:1", "hip:0", "sim:sm_80")
    monkeypatch.setattr(fake, "check_target", lambda name: None if name in known else refused(name))
    return fake


@pytest.fixture
def kernel() -> Any:
    def copy(out, x, n):
        tw.store(out, tw.load(x) + n)

    return tw.jit(copy)


def code_of(error: pytest.ExceptionInfo[tw.TilewrightError]) -> str:
    return error.value.code


def targets(module: FakeNative) -> list[str]:
    return [target for _, _, target, _, _ in module.compilations]


def test_tensors_on_a_gpu_are_launched_there(module: FakeNative, kernel: Any) -> None:
    out, x = GpuTensor(64, device="cuda:1"), GpuTensor(64, device="cuda:1", address=0x20004)
    compiled = kernel[1](out, x, 5)
    assert compiled.request.device == "cuda:1" and targets(module) == ["cuda:1"]
    _, _, values, memory = module.launches[-1]
    assert values == (0x10000, 0x20004, 5) and memory is None
    assert module.last["out"].facts["divisibility"] == 16
    assert module.last["x"].facts["divisibility"] == 1
    kernel[1](out, x, 5)
    assert len(module.compilations) == 1


def test_each_gpu_has_its_own_kernel(module: FakeNative, kernel: Any) -> None:
    for device in ("cuda:0", "cuda:1", "cuda:0"):
        kernel[1](GpuTensor(4, device=device), GpuTensor(4, device=device, address=0x20000), 5)
    kernel[1](torch.zeros(4), torch.zeros(4), 5)
    assert targets(module) == ["cuda:0", "cuda:1", "cpu"]


def test_large_tensors_on_a_gpu_need_no_kernel_of_their_own(module: FakeNative) -> None:
    facts = [read_argument(GpuTensor(size))[0] for size in (4, 1 << 40)]
    assert facts[0] is facts[1] and not facts[0].is_streaming


def test_overlap_alignment_and_dtype_keep_the_place(module: FakeNative) -> None:
    facts = read_argument(GpuTensor(4, torch.int8))[0]
    overlapping = facts.but(is_disjoint=False)
    variants = [overlapping, facts.unaligned, facts.general, facts.unaligned.but(is_disjoint=False)]
    assert {variant.place for variant in variants} == {"cuda:0"}
    assert overlapping is not facts and facts.on("cuda:0") is facts
    taken = tw.reinterpret(GpuTensor(4, torch.int8), tw.uint8)
    assert read_argument(taken)[0].place == "cuda:0"


def test_overlapping_tensors_on_a_gpu_are_found(module: FakeNative, kernel: Any) -> None:
    kernel[1](GpuTensor(64), GpuTensor(64, address=0x10010), 5)
    assert not module.last["out"].facts["is_disjoint"]


def test_tensors_on_different_devices_are_refused(module: FakeNative, kernel: Any) -> None:
    on_gpu = GpuTensor(4)
    for other in (torch.zeros(4), numpy.zeros(4, numpy.float32), GpuTensor(4, device="cuda:1")):
        with pytest.raises(tw.LaunchError, match="`out` on cuda:0, `x` on") as error:
            kernel[1](on_gpu, other, 5)
        assert code_of(error) == "TW0414"
    assert not module.launches and not module.compilations


@pytest.mark.parametrize("chosen", ["cpu", "reference", "sim:sm_80", "cuda:1"])
def test_tensors_on_a_gpu_are_refused_elsewhere(module: FakeNative, kernel: Any, chosen: str) -> None:
    with tw.device(chosen), pytest.raises(tw.LaunchError, match="are on cuda:0") as error:
        kernel[1](GpuTensor(4), GpuTensor(4, address=0x20000), 5)
    assert code_of(error) == "TW0409"
    way = "x.to('cuda:1')" if chosen == "cuda:1" else "x.cpu()"
    assert way in error.value.hint
    assert not module.launches


def test_the_device_of_the_environment_is_a_choice(
    module: FakeNative, kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_DEVICE", "cpu")
    knobs.reset()
    with pytest.raises(tw.LaunchError, match="device chosen for it is cpu"):
        kernel[1](GpuTensor(4), GpuTensor(4, address=0x20000), 5)


def test_host_arrays_are_refused_on_a_gpu(module: FakeNative, kernel: Any) -> None:
    for array in (torch.zeros(4), numpy.zeros(4, numpy.float32)):
        with tw.device("cuda:0"), pytest.raises(tw.LaunchError, match="on the host") as error:
            kernel[1](array, array, 5)
        assert code_of(error) == "TW0409" and "x.to('cuda:0')" in error.value.hint


def test_a_chosen_gpu_and_the_arrays_own_share_a_kernel(module: FakeNative, kernel: Any) -> None:
    arrays = GpuTensor(4), GpuTensor(4, address=0x20000)
    with tw.device("cuda:0"):
        kernel[1](*arrays, 5)
    kernel[1](*arrays, 5)
    assert len(module.compilations) == 1 and len(module.launches) == 2


def test_a_warm_up_serves_launches_that_may_not_compile(
    module: FakeNative, kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TILEWRIGHT_JIT", "deny")
    knobs.reset()
    with tw.device("cuda:0"):
        kernel.warmup(torch.float32, torch.float32, 5, grid=(1,))
    kernel.warmup(torch.float32, torch.float32, 5, grid=(1,))
    assert targets(module) == ["cuda:0", "cpu"]
    kernel[1](GpuTensor(4), GpuTensor(4, address=0x20000), 5)
    kernel[1](torch.zeros(4096), torch.zeros(4096), 5)
    with pytest.raises(tw.LaunchError) as error:
        kernel[1](GpuTensor(4, device="cuda:1"), GpuTensor(4, device="cuda:1", address=16), 5)
    assert code_of(error) == "TW0408" and "on cuda:1" in str(error.value)


def test_launches_go_to_torchs_current_stream(
    module: FakeNative, kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrays = GpuTensor(4, device="cuda:1"), GpuTensor(4, device="cuda:1", address=0x20000)
    kernel[1](*arrays, 5)
    assert module.streams == [0]  # torch has not used the GPU yet
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    stream_of = {0: 0, 1: 0x7700}
    current = lambda index: SimpleNamespace(cuda_stream=stream_of[index])  # noqa: E731
    monkeypatch.setattr(torch.cuda, "current_stream", current)
    kernel[1](*arrays, 5)
    kernel[1](torch.zeros(4), torch.zeros(4), 5)
    assert module.streams == [0, 0x7700, 0]


def test_devices_without_kernels_are_refused(module: FakeNative, kernel: Any) -> None:
    with pytest.raises(tw.LaunchError, match="device xpu:0, where no kernel runs") as error:
        kernel[1](GpuTensor(4, device="xpu:0"), torch.zeros(4), 5)
    assert code_of(error) == "TW0409"


def test_amds_gpus_are_not_nvidias(
    module: FakeNative, kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.version, "hip", "6.0")
    kernel[1](GpuTensor(4, torch.int16), GpuTensor(4, torch.int16, address=0x20000), 5)
    assert targets(module) == ["hip:0"]


def test_triton_scripts_find_amds_gpus(module: FakeNative, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.triton import _internal_testing as internal
    from tilewright.triton.backends.compiler import GPUTarget
    from tilewright.triton.runtime import driver

    # What torch for ROCm tells; it has no `shared_memory_per_block_optin`.
    facts = SimpleNamespace(
        gcnArchName="gfx1100:xnack-", warp_size=32, multi_processor_count=96,
        shared_memory_per_block=65536, regs_per_multiprocessor=65536,
    )  # fmt: skip
    monkeypatch.setattr(torch.version, "hip", "6.4")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 0)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda device: facts)
    assert driver.active.get_current_target() == GPUTarget("hip", "gfx1100", 32)
    assert driver.active.get_device_properties()["max_shared_mem"] == 65536
    assert internal.is_hip() and internal.is_hip_rdna() and internal.is_hip_rdna3()
    others = (internal.is_hip_cdna, internal.is_hip_rdna4, internal.is_cuda, internal.is_cpu)
    assert not any(is_such() for is_such in others) and internal.get_hip_lds_size() == 65536
    with tw.device("hip:0"):
        assert driver.active.get_active_torch_device() == torch.device("cuda:0")


class OnGpu:
    """An array of a library that speaks DLPack."""

    def __init__(self, kind: int = 2) -> None:
        self.kind, self.stream = kind, None

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.kind, 1

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None) -> object:
        self.stream = stream
        return object()


def test_dlpack_arrays_on_a_gpu_are_ordered_after_their_stream(
    module: FakeNative, kernel: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    description = (0x30000, 0x30000, 64, (2, 32, 1, 2, 1), False)
    monkeypatch.setattr(FakeNative, "describe_dlpack", lambda *_: description, raising=False)
    array = OnGpu()
    facts, bits = read_argument(array)
    assert facts.place == "cuda:1" and bits == 0x30000
    assert array.stream == 1  # DLPack's number of CUDA's default stream
    amds = OnGpu(kind=10)  # kDLROCM
    assert read_argument(amds)[0].place == "hip:1" and amds.stream == 0
    kernel[1](array, OnGpu(), 5)
    assert targets(module) == ["cuda:1"]


def test_gpus_are_listed_on_request(module: FakeNative) -> None:
    assert tw.list_devices() == ["cpu", "reference"]
    assert tw.list_devices(probe=True) == ["cpu", "reference", "cuda:0"]


def test_waiting_is_for_the_chosen_device_or_every_gpu(
    module: FakeNative, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeNative, "gpus", lambda *_: ["cuda:0", "cuda:1"])
    tw.synchronize()
    assert module.waits == ["cuda:0", "cuda:1"]
    with tw.device("cpu"):
        tw.synchronize()
    tw.synchronize("cuda:1")
    assert module.waits[2:] == ["cpu", "cuda:1"]
    module.launch_report = {"kind": "device", "severity": "error", "code": "TW0629", "message": "m"}
    with pytest.raises(tw.DeviceError):
        tw.synchronize()


def test_triton_scripts_find_the_gpu(module: FakeNative, monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright.triton.backends.compiler import GPUTarget
    from tilewright.triton.runtime import driver

    assert driver.active.get_active_torch_device() == torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "current_device", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, device.index))
    assert driver.active.get_active_torch_device() == torch.device("cuda:1")
    assert driver.active.get_current_target() == GPUTarget("cuda", 91, 32)
    with tw.device("cuda:0"):
        assert driver.active.get_current_target().arch == 90
    for chosen in ("cpu", "sim:sm_80"):
        with tw.device(chosen):
            assert driver.active.get_active_torch_device() == torch.device("cpu")
            assert driver.active.get_current_target().backend == chosen
