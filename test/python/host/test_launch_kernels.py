"""Kernels as objects: pickled and copied by name, kept and unloaded; and what autotune does with
kernels that fail or that change their arguments."""

from __future__ import annotations

import copy
import gc
import math
import os
import pickle
import subprocess
import sys
import weakref
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from fake_native import FakeNative
from tilewright import knobs
from tilewright.launch.loaded_kernels import LoadedKernels


@tw.jit
def scale(x, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(x + i, tw.load(x + i, mask=i < n) * 2, mask=i < n)


@tw.autotune([tw.Config({"BLOCK": 32}), tw.Config({"BLOCK": 64})], key=["n"], warmup=0.1, rep=1)
@tw.heuristics({"EVEN": lambda arguments: arguments["n"] % 2 == 0})
@tw.jit
def tuned(x, n, BLOCK: tw.constexpr, EVEN: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(x + i, tw.load(x + i, mask=i < n) * 2, mask=i < n)


class Layer:
    """An object that holds a kernel, as modules do."""

    def __init__(self) -> None:
        self.kernel, self.tuned, self.weights = scale, tuned, [1.0]


@pytest.mark.parametrize("kernel", [scale, tuned, tuned.fn, tuned.fn.fn])
def test_kernels_are_pickled_and_copied_by_name(kernel: Any) -> None:
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(kernel, protocol)) is kernel
    assert copy.copy(kernel) is kernel and copy.deepcopy({"k": kernel})["k"] is kernel


def test_objects_that_hold_kernels_are_copied_and_pickled() -> None:
    layer = Layer()
    for other in (copy.deepcopy(layer), pickle.loads(pickle.dumps(layer))):
        assert other.kernel is scale and other.tuned is tuned
        assert other.weights == [1.0] and other.weights is not layer.weights
    torch = pytest.importorskip("torch")
    module = torch.nn.Linear(2, 2)
    module.kernel = scale
    assert copy.deepcopy(module).kernel is scale


def test_a_local_kernel_is_not_pickled_and_says_why() -> None:
    @tw.jit
    def local(x):
        tw.store(x, 1)

    with pytest.raises(pickle.PicklingError, match="top level"):
        pickle.dumps(local)
    assert copy.deepcopy(local) is local


def test_each_specialization_is_held_once(fake: FakeNative) -> None:
    kernel = tw.jit(scale.fn)
    loaded = kernel._loaded  # pyright: ignore[reportPrivateUsage]
    x = np.zeros(64, np.float32)
    kernel[1](x, 64, 32)
    kernel[1](x, 64, 32)
    kernel.warmup(x, 64, 32)
    assert len(loaded) == 1
    with tw.device("cpu"):
        kernel[1](x, 64, 32)
        kernel[1](x, 64, 32)
    assert len(fake.compilations) == 1
    with tw.device("reference"):
        kernel[1](x, 64, 32)
    assert len(fake.compilations) == 2


def test_the_kernels_used_last_stay(fake: FakeNative) -> None:
    kept = LoadedKernels(most=8)
    kernels = [fake_kernel() for _ in range(40)]
    for number, kernel in enumerate(kernels):
        kept.add((number,), kernel)
        assert kept.get((0,)) is (kernels[0])  # used all the time
        assert len(kept) <= 8
    assert kept.get((39,)) is kernels[39] and kept.get((20,)) is None
    gone = weakref.ref(kernels[20])
    del kernels, kernel
    gc.collect()
    assert gone() is None


def fake_kernel() -> Any:
    class Kernel:
        def is_current(self) -> bool:
            return True

    return Kernel()


@tw.jit
def store_constant(x, VALUE: tw.constexpr):
    tw.store(x, VALUE)


def mappings() -> int:
    return Path("/proc/self/maps").read_text().count("\n")


@pytest.mark.skipif(not os.path.exists("/proc/self/maps"), reason="counts mappings of Linux")
def test_evicted_kernels_are_unloaded(
    compiler: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # What is looked into is in no other store of this process.
    monkeypatch.setenv("TILEWRIGHT_REMARKS", "1")
    knobs.reset()
    monkeypatch.setattr(store_constant, "_loaded", LoadedKernels(most=16))
    x = np.zeros(1, np.int32)
    counts = []
    for number in range(200):
        store_constant[1](x, 1000 + number)
        assert x[0] == 1000 + number
        if number % 50 == 49:
            counts.append(mappings())
    store_constant[1](x, 1000)  # unloaded long ago
    assert x[0] == 1000
    assert counts[-1] - counts[0] < 100  # 300 where nothing is unloaded


def test_a_failing_candidate_is_left_out_and_all_failures_are_told(fake: FakeNative) -> None:
    def bench(launch: Any, quantiles: Any) -> float:
        launch()
        return 1.0

    failing = {16: "internal", 32: "device", 64: None}
    plain_launch = fake.launch

    def launch(kernel: Any, *rest: Any) -> Any:
        block = next(b for b in failing if f'"{b}"' in blocks[kernel.key])
        if failing[block] is None:
            return plain_launch(kernel, *rest)
        return {"kind": failing[block], "severity": "error", "code": "TW0612", "hint": "",
                "message": f"block {block} fails"}  # fmt: skip

    blocks: dict[str, str] = {}
    plain_compile = fake.compile

    def compile(source: Any, specialization: Any, *rest: Any) -> Any:
        kernel, reports = plain_compile(source, specialization, *rest)
        assert kernel is not None
        blocks[kernel.key] = next(a for a in specialization.arguments if a.name == "BLOCK").facts["json"]
        return kernel, reports

    fake.launch, fake.compile = launch, compile  # type: ignore[method-assign]
    configs = [tw.Config({"BLOCK": block}) for block in failing]
    x = np.zeros(64, np.float32)
    kernel = tw.autotune(configs, key=["n"], do_bench=bench)(tw.jit(scale.fn))
    kernel[1](x, 64)
    assert kernel.best_config is configs[2]
    assert [math.isinf(kernel.configs_timings[c]) for c in configs] == [True, True, False]
    failing[64] = "device"
    with pytest.raises(tw.LaunchError) as error:
        kernel[1](x, 63)
    assert error.value.code == "TW0411"
    assert all(f"block {block} fails" in str(error.value) for block in failing)


@pytest.mark.parametrize("library", ["numpy", "torch", "leaf", "reinterpreted", "overlapping"])
def test_a_kernel_that_updates_its_argument_is_run_once_by_autotune(
    compiler: None, library: str
) -> None:
    tuned.cache.clear()
    if library == "overlapping":
        return check_overlapping()
    torch = pytest.importorskip("torch") if library != "numpy" else None
    x: Any = np.ones(100, np.float32)
    if torch:
        x = torch.from_numpy(x)
    if library == "leaf":
        x.requires_grad_()
    given = tw.reinterpret(x, tw.float32) if library == "reinterpreted" else x
    with torch.no_grad() if torch else nullcontext():
        tuned[(4,)](given, 100)
        assert len(tuned.configs_timings) == 2
        values = x.detach().numpy() if torch else x
        assert np.array_equal(values, np.full(100, 2.0))
        tuned[(4,)](given, 100)
        assert np.array_equal(values, np.full(100, 4.0))


def check_overlapping() -> None:
    @tw.autotune([tw.Config({"BLOCK": 32}), tw.Config({"BLOCK": 64})], key=[], warmup=0.1, rep=1)
    @tw.jit
    def shift(out, x, n, BLOCK: tw.constexpr):
        i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
        tw.store(out + i, tw.load(x + i, mask=i < n) * 2, mask=i < n)

    x = np.ones(100, np.float32)
    shift[(4,)](x, x, 100)
    assert np.array_equal(x, np.full(100, 2.0))


def test_accumulating_kernels_add_once_under_autotune(device: str) -> None:
    @tw.autotune([tw.Config({"BLOCK": 32}), tw.Config({"BLOCK": 64})], key=[], warmup=0.1, rep=0.5)
    @tw.jit
    def count(total, x, n, BLOCK: tw.constexpr):
        i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
        tw.atomic_add(total, tw.sum(tw.load(x + i, mask=i < n, other=0.0)))

    total = np.zeros(1, np.float32)
    count[lambda a: (tw.cdiv(100, a["BLOCK"]),)](total, np.ones(100, np.float32), 100)
    assert total[0] == 100


def test_an_argument_that_cannot_be_restored_is_refused(compiler: None) -> None:
    tuned.cache.clear()
    with pytest.raises(tw.LaunchError, match="`x` of tuned") as error:
        tuned[(4,)](memoryview(bytearray(400)).cast("f"), 100)
    assert error.value.code == "TW0417"


def test_measured_configurations_are_kept_on_disk(compiler: None) -> None:
    measured: list[int] = []

    def bench(launch: Any, quantiles: Any) -> float:
        launch()
        measured.append(1)
        return float(len(measured))

    def make() -> Any:
        configs = [tw.Config({"BLOCK": block}) for block in (32, 64, 128)]
        return tw.autotune(configs, key=["n"], do_bench=bench, cache_results=True)(scale)

    x = np.ones(64, np.float32)
    first, second = make(), make()
    first[(2,)](x, 64)
    assert len(measured) == 3
    second[(2,)](x, 64)
    assert len(measured) == 3 and second.best_config == first.best_config
    assert second.configs_timings == first.configs_timings
    second[(2,)](x, 63)
    assert len(measured) == 6


ASSEMBLER = '''#!{python}
"""Takes any PTX but a text that asks for one CTA on a multiprocessor, and says that it spilled."""
import struct, sys

text = open(sys.argv[-3]).read()
if ".minnctapersm" in text:
    sys.exit("it is refused")
names = b"\\0.text\\0.shstrtab\\0".ljust(24, b"\\0")
code = b"\\1" * 64
header = struct.pack("<16sHHIQQQIHHHHHH", b"\\x7fELF\\2\\1\\1" + bytes(9), 2, 190, 1, 0, 0,
                     64 + len(code) + len(names), 0, 64, 0, 0, 64, 3, 2)
sections = [(0, 0, 0, 0, 0), (1, 1, 6, 64, len(code)), (7, 3, 0, 64 + len(code), len(names))]
table = b"".join(struct.pack("<IIQQQQIIQQ", n, t, f, 0, o, s, 0, 0, 1, 0) for n, t, f, o, s in sections)
open(sys.argv[-1], "wb").write(header + code + names + table)
print("ptxas info    : 8 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads")
'''


def test_an_assembler_that_refuses_a_second_text_costs_nothing(
    compiler: None, tmp_path: Path
) -> None:
    program = tmp_path / "ptxas"
    program.write_text(ASSEMBLER.format(python=sys.executable))
    program.chmod(0o700)
    script = (
        "from test_launch_kernels import store_constant as k\n"
        "kernel = k.compile({'x': '*i32'}, {'VALUE': 1}, device='nvidia:sm_90a')\n"
        "print(kernel.n_spills, len(kernel.asm['cubin']) > 64)"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    environment = {**os.environ, "TILEWRIGHT_ASSEMBLERS": str(program), "PYTHONPATH": paths}
    result = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert result.stdout == "20 True\n", result.stderr
