"""Fixtures of the Python tests."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
# The package of the source tree is tested, unless one is installed for it (pip install .) or
# PYTHONPATH names another (a build for sanitizers).
others = [e for e in sys.path if "site-packages" in e] + os.environ.get("PYTHONPATH", "").split(":")
if not any((Path(entry) / "tilewright").is_dir() for entry in others if entry):
    sys.path.insert(0, str(ROOT / "python"))
TESTS = Path(__file__).resolve().parent
sys.path[:0] = [str(TESTS), str(TESTS / "support"), str(TESTS / "cuda"), str(TESTS / "export"), str(ROOT / "test" / "kernels")]

sys.path.append(str(ROOT / "test"))

import assemblers  # noqa: E402
import spirv_modules  # noqa: E402
import store_hazards  # noqa: E402
from fake_native import FakeNative  # noqa: E402
from gpus import GPUS, prepare_gpu  # noqa: E402
from sampled import OPENCL, SHARES, SPIRV, XE, is_sampled  # noqa: E402

assemblers.pin()


@pytest.fixture(autouse=True)
def _own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test has an empty kernel cache, and none sees the user's."""
    from tilewright import knobs

    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "kernel-cache"))
    knobs.reset()
    yield
    knobs.reset()


@pytest.fixture(autouse=True)
def _verified(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compilations of this process verify the IR after every pass, as users' do not."""
    options = importlib.import_module("tilewright.compile").Options
    extra = options.extra
    if "fake" not in request.fixturenames:
        monkeypatch.setattr(options, "extra", lambda self, device: [*extra(self, device), "verify"])


@pytest.fixture(autouse=True)
def _sound_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process compiles for machines with the hazard of stores is without it, and modules of
    SPIR-V are valid."""
    kernels = importlib.import_module("tilewright.compile").CompiledKernel
    warn_of_spills = kernels.warn_of_spills

    def checked(self: object) -> None:
        device = getattr(self, "request").device
        if device.startswith("amd:") and device.partition(":")[2] in store_hazards.ARCHS:
            assert store_hazards.find(getattr(self, "asm")["asm"]) == []
        if device.startswith(("spirv:", "opencl:")):
            spirv_modules.validate(getattr(self, "asm")["spirv"])
        warn_of_spills(self)

    monkeypatch.setattr(kernels, "warn_of_spills", checked)


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> FakeNative:
    """Replaces the native module by one that only records."""
    from tilewright.launch import devices
    from tilewright import native

    module = FakeNative()
    monkeypatch.setattr(native, "_module", module)
    monkeypatch.setenv("TILEWRIGHT_TUNE_WORKERS", "0")  # which would have the module itself
    monkeypatch.setattr(devices, "_known", set())
    return module


@pytest.fixture
def compiler() -> None:
    """Skips a test that needs the native module where it is not built."""
    pytest.importorskip("tilewright._native", reason="the native module is not built")


def device_of(item: pytest.Item) -> str | None:
    """The device that a test gets from the fixture below, or from `gpu/conftest.py`; None where its own
    parameters name one, unless that is OpenCL's."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    if "simulator" in parameters:
        return parameters["simulator"]
    definitions = getattr(item, "_fixtureinfo").name2fixturedefs.get("device", ())
    code = getattr(getattr(definitions[-1], "func"), "__code__", None) if definitions else None
    device = parameters.get("device")
    if code is None or (code.co_filename != __file__ and device not in (*SPIRV, *OPENCL)):
        return None
    return device


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what is not in the sample."""
    left_out = []
    for item in items:
        device = device_of(item)
        if device in SHARES and not is_sampled(item.nodeid.replace(str(device), ""), str(device)):
            left_out.append(item)
    config.hook.pytest_deselected(items=left_out)
    gone = set(left_out)
    items[:] = [item for item in items if item not in gone]


@pytest.fixture(params=["cpu", "cpu:x86-64-v3", "reference", "sim:sm_80", *(d for d in SHARES if d not in XE), *GPUS])
def device(
    request: pytest.FixtureRequest, compiler: None, monkeypatch: pytest.MonkeyPatch
) -> Iterator[str]:
    """Sends the test's launches to each device in turn: the level has vectors of 32 bytes, the
    simulator executes and checks a GPU's code. A GPU gets copies of the test's arrays."""
    import tilewright as tw

    if request.param in GPUS:
        import mirrored_arrays

        prepare_gpu(request.param)
        monkeypatch.setattr(tw.JITFunction, "_launch", mirrored_arrays.launch)
    elif request.param not in (*tw.list_devices(), *OPENCL):
        pytest.skip(f"this processor does not reach {request.param}")
    with tw.device(request.param):
        yield request.param


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers from a fresh seed; OP_TEST_SEED=<the printed seed> repeats a failure."""
    chosen = os.environ.get("OP_TEST_SEED")
    seed = int(chosen) if chosen else np.random.SeedSequence().entropy
    print(f"OP_TEST_SEED={seed}")
    return np.random.default_rng(seed)
