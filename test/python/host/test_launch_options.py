"""Every option of a launch does what it says on every kind of device, is refused, or cannot change a
result: the table that launches read is walked."""

from __future__ import annotations

import argparse
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from fake_native import FakeNative
from tilewright.launch import options as launch_options
from tilewright.compile import Options
from tilewright.compile.options import COMPILED, OF_COMMANDS, Effect
from tilewright.launch.options import OPTIONS
from tilewright.native.targets import device_named
from tilewright.tools.request_options import add_settings

DEVICES = {
    "cpu": "cpu", "reference": "reference", "sim": "sim:sm_80", "nvidia": "nvidia:sm_90a",
    "amd": "amd:gfx942", "cuda": "cuda:0",
}  # fmt: skip

# For each option a value that asks for something.
ASKING: dict[str, Any] = {
    "num_warps": 2, "num_stages": 4, "maxnreg": 64, "debug": True, "enable_fp_fusion": False,
    "tensor_maps": False,
    "stream": 0x51, "num_ctas": 2, "cluster_dims": (2, 1, 1), "launch_cooperative_grid": True,
    "launch_pdl": True, "extern_libs": {"mine": __file__},
    "ir_override": "k.ttgir", "warp_size": 16, "launch_metadata": print,
    "sanitize_overflow": False, "allow_fp8e4nv": True, "num_buffers_warp_spec": 2,
    "num_consumer_groups": 2, "reg_dec_producer": 40, "reg_inc_consumer": 232, "minRegAutoWS": 24,
    "maxRegAutoWS": 152, "pingpongAutoWS": True, "waves_per_eu": 2, "matrix_instr_nonkdim": 16,
    "pass_limit": 3, "kpack": 2, "swizzle_programs": "xcd", "device": "cuda:7", "device_type": "xpu",
}  # fmt: skip


@pytest.fixture
def module(fake: FakeNative, monkeypatch: pytest.MonkeyPatch) -> FakeNative:
    refused = fake.check_target
    known = DEVICES.values()
    monkeypatch.setattr(fake, "check_target", lambda name: None if name in known else refused(name))
    return fake


@tw.jit
def copy(out, x, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i))


def arrays(kind: str) -> tuple[Any, Any]:
    if kind == "cuda":
        from gpu_tensor import GpuTensor

        return GpuTensor(64, address=0x10000), GpuTensor(64, address=0x20000)
    return np.zeros(64, np.float32), np.ones(64, np.float32)


def test_the_rows_are_those_that_are_tried() -> None:
    assert set(ASKING) == set(OPTIONS)
    for name, option in OPTIONS.items():
        effects = {option.effects(device_named(device)) for device in DEVICES.values()}
        assert option.why or effects == {Effect.DONE}, name


@pytest.mark.parametrize("kind", list(DEVICES))
@pytest.mark.parametrize("name", list(OPTIONS))
def test_each_option_on_each_kind_of_device(module: FakeNative, name: str, kind: str) -> None:
    if kind == "cuda":
        pytest.importorskip("torch")
    device, option = DEVICES[kind], OPTIONS[name]
    copy._loaded.clear()  # pyright: ignore[reportPrivateUsage]
    with tw.device(device):
        copy[1](*arrays(kind), 64)
        plain = module.compilations[-1][1].options
        for value in option.neutral:
            copy[1](*arrays(kind), 64, **{name: value})
        assert len(module.compilations) == 1  # neutral values do not count
        effect = option.effects(device_named(device))
        if name in ("device", "device_type"):
            with pytest.raises(tw.LaunchError) as error:
                copy[1](*arrays(kind), 64, **{name: ASKING[name]})
            assert error.value.code == "TW0416"
            copy[1](*arrays(kind), 64, **{name: device if name == "device" else kind})
            return
        if name == "warp_size" and effect is Effect.DONE:
            lanes = device_named(device).warp_size
            with pytest.raises(tw.LaunchError) as error:
                copy[1](*arrays(kind), 64, warp_size=96 - lanes)
            assert error.value.code == "TW0416" and f"has {lanes} lanes" in str(error.value)
            copy[1](*arrays(kind), 64, warp_size=lanes)
            return
        if effect is Effect.REFUSED:
            with pytest.raises(tw.LaunchError, match=name) as error:
                copy[1](*arrays(kind), 64, **{name: ASKING[name]})
            assert error.value.code == "TW0415" and error.value.hint == option.why
            return
        # Overflow is looked for in debug builds only.
        base = {"debug": True} if name == "sanitize_overflow" else {}
        if base:
            copy[1](*arrays(kind), 64, **base)
            plain = module.compilations[-1][1].options
        copy[1](*arrays(kind), 64, **base, **{name: ASKING[name]})
        changed = module.compilations[-1][1].options
        if name in Options._fields and effect is Effect.DONE:
            assert changed != plain
        if effect is Effect.NONE and name not in ("num_warps", "num_stages"):
            assert changed == plain and module.streams[-1] == 0
        if name == "stream" and effect is Effect.DONE:
            assert module.streams[-1] == 0x51
        assert module.cooperative[-1] == (name == "launch_cooperative_grid")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("stream", "main"), ("stream", -1), ("stream", True), ("num_ctas", 0), ("num_ctas", "2"),
        ("launch_pdl", "yes"), ("launch_cooperative_grid", 2), ("enable_fp_fusion", "off"),
        ("kpack", 3), ("kpack", 0), ("kpack", True), ("num_ctas", 16), ("cluster_dims", (2, 2, 4)),
        ("cluster_dims", (2, 0, 1)), ("cluster_dims", 2), ("waves_per_eu", "2"), ("waves_per_eu", True),
        ("matrix_instr_nonkdim", 16.0), ("pass_limit", -1), ("swizzle_programs", "yz"),
    ],
)  # fmt: skip
def test_impossible_values_are_refused(module: FakeNative, name: str, value: Any) -> None:
    with pytest.raises(tw.LaunchError, match=name) as error:
        copy[1](*arrays("cpu"), 64, **{name: value})
    assert error.value.code == "TW0416"


def test_two_options_say_how_large_clusters_are(module: FakeNative) -> None:
    with tw.device("nvidia:sm_90a"):
        copy[2](*arrays("cpu"), 64, num_ctas=2)
        copy[2](*arrays("cpu"), 64, cluster_dims=[2, 1, 1])
        copy[2](*arrays("cpu"), 64, num_ctas=2, cluster_dims=(1, 2, 1))
        with pytest.raises(tw.LaunchError, match="different sizes") as error:
            copy[2](*arrays("cpu"), 64, num_ctas=2, cluster_dims=(4, 1, 1))
    assert error.value.code == "TW0416"
    extra = [specialization.options[3].split(",")[0] for _, specialization, *_ in module.compilations]
    assert extra == ["cluster=2x1x1", "cluster=2x1x1", "cluster=1x2x1"]


def test_a_stream_object_is_used_on_its_own_device_only(module: FakeNative) -> None:
    pytest.importorskip("torch")
    stream = SimpleNamespace(cuda_stream=0x77, device_index=0)
    copy[1](*arrays("cuda"), 64, stream=stream)
    assert module.streams[-1] == 0x77
    with pytest.raises(tw.LaunchError, match="cuda:1") as error:
        copy[1](*arrays("cuda"), 64, stream=SimpleNamespace(cuda_stream=1, device_index=1))
    assert error.value.code == "TW0416" and len(module.streams) == 1


def test_streams_of_other_packages_are_taken_by_their_protocol(module: FakeNative) -> None:
    pytest.importorskip("torch")
    stream = SimpleNamespace(__cuda_stream__=lambda: (0, 0x88))
    compiled = copy[1](*arrays("cuda"), 64, stream=stream)
    compiled[1](*arrays("cuda"), stream=stream)
    assert module.streams == [0x88, 0x88]
    with pytest.raises(tw.LaunchError, match="stream") as error:
        copy[1](*arrays("cuda"), 64, stream=SimpleNamespace(__cuda_stream__=lambda: (0, None)))
    assert error.value.code == "TW0416"


def test_options_of_compile_and_warmup_are_checked_too(module: FakeNative) -> None:
    signature = {"out": "*fp32", "x": "*fp32"}
    with pytest.raises(tw.LaunchError) as error:
        copy.compile(signature, {"BLOCK": 64}, device="sim:sm_80", num_ctas=2)
    assert error.value.code == "TW0415"
    with pytest.raises(tw.LaunchError, match="num_warp") as error:
        copy.compile(signature, {"BLOCK": 64}, num_warp=2)
    assert error.value.code == "TW0404" and "num_warps" in (error.value.hint or "")
    with tw.device("sim:sm_80"), pytest.raises(tw.LaunchError, match="num_ctas"):
        copy.warmup(*arrays("cpu"), 64, num_ctas=2)


def test_names_of_a_signature_that_are_no_parameters_are_refused(module: FakeNative) -> None:
    signature = {"out": "*fp32", "x": "*fp32"}
    for wrong, constants in (({**signature, "BLOK": "i32"}, {"BLOCK": 64}),
                             (signature, {"BLOCK": 64, "BLOK": 64})):  # fmt: skip
        with pytest.raises(tw.LaunchError, match="`BLOK`") as error:
            copy.compile(wrong, constants)
        assert error.value.code == "TW0404" and "`BLOCK`" in (error.value.hint or "")
    assert not module.compilations


@pytest.mark.parametrize("name", COMPILED)
def test_reading_a_value_again_changes_nothing(name: str) -> None:
    row, usual = COMPILED[name], getattr(Options(), name)
    for value in (usual, *row.neutral):
        assert row.read(value, "k") == usual
    read = row.read(ASKING[name], "k")
    assert read != usual and row.read(read, "k") == read


def test_commands_say_what_launches_may_ask() -> None:
    parser = argparse.ArgumentParser()
    add_settings(parser)
    for name, row in OF_COMMANDS.items():
        text = str(ASKING[name])
        options = parser.parse_args([f"--{name.replace('_', '-')}", text])
        assert getattr(options, name) == row.parse(text) == ASKING[name] and row.is_valid(ASKING[name])
    assert {"maxnreg", "waves_per_eu", "swizzle_programs"} <= {*OF_COMMANDS}


def test_options_of_decorators_have_a_reason() -> None:
    assert all(launch_options.DECORATOR_OPTIONS.values())


@tw.jit
def multiply_add(out, a, b, c, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(a + i) * tw.load(b + i) + tw.load(c + i))


def test_without_fusion_sums_and_products_round_each(
    device: str, rng: np.random.Generator
) -> None:
    a, b, c = (rng.standard_normal(256).astype(np.float32) for _ in range(3))
    # Products that cancel: one rounding or two differ in most elements.
    c = (-(a.astype(np.float64) * b)).astype(np.float32)
    twice = (a * b).astype(np.float32) + c
    once = (a.astype(np.float64) * b + c).astype(np.float32)
    assert not np.array_equal(twice, once)
    out = np.full(256, np.nan, np.float32)
    multiply_add[1](out, a, b, c, 256, enable_fp_fusion=False)
    assert np.array_equal(out, twice)
    if device.startswith("sim:"):  # where the option changes something
        multiply_add[1](out, a, b, c, 256)
        assert np.array_equal(out, once)
