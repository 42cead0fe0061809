"""Launches through the real compiler: every kind of argument arrives, refusals are reports."""

from __future__ import annotations

import array
import ctypes
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import numpy
import pytest
import tilewright as tw
import tilewright.triton.language as tl
from tilewright.tuning.autotune import Autotuner

pytestmark = pytest.mark.usefixtures("compiler")
ROOT = Path(__file__).resolve().parents[3]


@tw.jit
def add(out, x, y, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    mask = i < n
    tw.store(out + i, tw.load(x + i, mask=mask) + tw.load(y + i, mask=mask), mask=mask)


@tw.jit
def fill(out, value, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, value, mask=i < n)


@tw.jit
def read_past(out, x, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i), mask=i < n)


@pytest.fixture(params=["cpu", "reference"])
def device(request: pytest.FixtureRequest) -> Any:
    with tw.device(request.param):
        yield request.param


@pytest.mark.parametrize("n", [1, 16, 100, 1000])
def test_vector_add_on_numpy_and_torch(device: str, n: int) -> None:
    torch = pytest.importorskip("torch")
    x = numpy.random.default_rng(n).standard_normal(n, numpy.float32)
    y = x[::-1].copy()
    out = numpy.full(n + 8, numpy.nan, numpy.float32)
    kernel = add[lambda named: (tw.cdiv(n, named["BLOCK"]),)](out, x, y, n, BLOCK=64)
    assert kernel.metadata.target == device
    assert (out[:n] == x + y).all() and numpy.isnan(out[n:]).all()
    other = torch.full((n,), float("nan"))
    add[(tw.cdiv(n, 64),)](other, torch.from_numpy(x), torch.from_numpy(y), n, 64)
    assert (other.numpy() == x + y).all()


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (7, numpy.int32, 7), (1, numpy.int32, 1), (-3, numpy.int64, -3),
        (1 << 40, numpy.int64, 1 << 40), ((1 << 64) - 1, numpy.uint64, (1 << 64) - 1),
        (2.5, numpy.float32, 2.5), (0.1, numpy.float64, float(numpy.float32(0.1))),
        (True, numpy.int32, 1), (-7, numpy.float32, -7.0), (numpy.float64(0.5), numpy.float16, 0.5),
    ],
)  # fmt: skip
def test_numbers_reach_the_kernel(device: str, value: Any, dtype: Any, expected: Any) -> None:
    out = numpy.zeros(10, dtype)
    fill[1](out, value, 9, 16)
    assert (out[:9] == dtype(expected)).all() and out[9] == 0


@pytest.mark.parametrize(
    "make",
    [
        lambda: array.array("f", [0.0] * 8),
        lambda: (ctypes.c_float * 8)(),
        lambda: memoryview(bytearray(32)).cast("f"),
    ],
)
def test_buffers_are_written_in_place(device: str, make: Any) -> None:
    out = make()
    fill[1](out, 3.0, 8, 8)
    assert list(out) == [3.0] * 8


def test_dlpack_arrays_are_written_in_place(device: str) -> None:
    class Producer:
        def __init__(self, base: Any) -> None:
            self.base = base

        def __dlpack__(self, **options: Any) -> Any:
            return self.base.__dlpack__(**options)

        def __dlpack_device__(self) -> tuple[int, int]:
            return self.base.__dlpack_device__()

    out = numpy.zeros(8, numpy.float32)
    fill[1](Producer(out), 3.0, 8, 8)
    assert (out == 3).all()


def test_a_store_to_a_read_only_array_is_refused(device: str) -> None:
    frozen = numpy.zeros(8, numpy.float32)
    frozen.flags.writeable = False
    with pytest.raises(tw.LaunchError, match="`out`") as error:
        fill[1](frozen, 3.0, 8, 8)
    assert error.value.code == "TW0403" and (frozen == 0).all()
    out = numpy.zeros(8, numpy.float32)
    add[1](out, frozen, frozen, 8, 8)


def test_zero_programs_and_negative_grids(device: str) -> None:
    out = numpy.zeros(8, numpy.float32)
    fill[(0,)](out, 3.0, 8, 8)
    assert (out == 0).all()
    with pytest.raises(tw.LaunchError, match="negative"):
        fill[(-1,)](out, 3.0, 8, 8)


def test_the_reference_device_finds_accesses_out_of_bounds() -> None:
    owner = numpy.zeros(12, numpy.float32)
    out = numpy.zeros(16, numpy.float32)
    with tw.device("reference"):
        read_past[1](out, owner[4:], 8, 8)
        with pytest.raises(tw.DeviceError, match="`?x`?") as error:
            read_past[1](out, owner[4:], 8, 16)
    assert error.value.code == "TW0601"
    line = read_past.fn.__code__.co_firstlineno + 3
    assert f"{Path(__file__).name}:{line}" in str(error.value)


def test_a_compiled_kernel_shows_its_stages() -> None:
    compiled = add.warmup(*[numpy.zeros(64, numpy.float32)] * 3, 64, BLOCK=64)
    assert "tile.load" in compiled.asm["tile"]
    assert "define" in compiled.asm["llvm"] and compiled.asm["asm"].strip()
    assert compiled.asm["object"].startswith(b"\x7fELF")
    assert compiled.metadata.code_bytes > 0 and len(compiled.key) == 64
    assert [name for name, *_ in compiled.parameters] == ["out", "x", "y", "n"]
    assert {"frontend", "passes", "llvm"} <= set(compiled.milliseconds)


def test_an_error_of_the_kernel_shows_its_line() -> None:
    @tw.jit
    def wrong(out):
        tw.store(out, missing_name)  # noqa: F821

    with pytest.raises(tw.CompileError, match="missing_name") as error:
        wrong[1](numpy.zeros(4))
    assert error.value.code == "TW0101"
    assert "tw.store(out, missing_name)" in str(error.value) and "^^^" in str(error.value)
    assert Path(__file__).name in str(error.value)


def test_threads_launch_the_same_kernel() -> None:
    kernel = tw.jit(add.fn)
    failures: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            x = numpy.random.default_rng(seed).standard_normal(1000, numpy.float32)
            for _ in range(20):
                out = numpy.zeros(1000, numpy.float32)
                kernel[16](out, x, x, 1000, 64)
                assert (out == x + x).all()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@tw.constexpr_function
def count_for_ever(value: int) -> int:
    while value > 0:
        value += len(bytes(4096))  # where memory is allocated, ThreadSanitizer delivers signals
    return value


@tw.jit
def interrupted(out, VALUE: tw.constexpr):
    tw.store(out, count_for_ever(VALUE))


def test_an_interrupt_during_compilation_leaves_a_usable_process() -> None:
    out = numpy.zeros(8, numpy.float32)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.5)
    try:
        with pytest.raises(KeyboardInterrupt):
            interrupted[1](out, 3)
    finally:
        signal.signal(signal.SIGALRM, before)
    fill[1](out, 3.0, 8, 8)
    assert (out == 3).all()


FORK = """
import os, sys, numpy, tilewright as tw
sys.path.insert(0, {folder!r})
from test_launch_native import fill
out = numpy.zeros(1000, numpy.float32)
fill[16](out, 1.0, 1000, 64)
child = os.fork()
if child == 0:
    fill[16](out, 2.0, 1000, 64)
    os._exit(0 if (out == 2).all() else 3)
_, status = os.waitpid(child, 0)
fill[16](out, 3.0, 1000, 64)
print(os.waitstatus_to_exitcode(status), (out == 3).all())
"""


def test_a_forked_child_can_launch() -> None:
    code = FORK.format(folder=str(Path(__file__).parent))
    process = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert process.stdout == "0 True\n", process.stderr


def double(x):
    return x * 2


@tw.jit
def apply(out, n, FUNCTION: tw.constexpr, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, FUNCTION(tw.load(out + i, mask=i < n)), mask=i < n)


def test_functions_are_passed_as_constants(device: str) -> None:
    out = numpy.arange(8, dtype=numpy.float32)
    apply[1](out, 8, FUNCTION=double, BLOCK=8)
    apply[1](out, 8, FUNCTION=lambda x: x + 1, BLOCK=8)
    apply[1](out, 8, FUNCTION=tw.abs, BLOCK=8)
    assert (out == numpy.arange(8) * 2 + 1).all()


@tw.jit
def convert(out, a: tw.float16, b: tw.bfloat16, c: tw.float64, d: "tw.uint8", e: tw.int1):
    tw.store(out, a.to(tw.float64))
    tw.store(out + 1, b.to(tw.float64))
    tw.store(out + 2, c)
    tw.store(out + 3, d.to(tw.float64))
    tw.store(out + 4, e.to(tw.int32).to(tw.float64))


def test_annotated_numbers_are_passed_as_their_type(device: str) -> None:
    out = numpy.full(5, numpy.nan)
    convert[1](out, 1.0009765625, 3.0, 0.1, 200, 5)
    assert out.tolist() == [1.0009765625, 3.0, 0.1, 200.0, 1.0]


@tw.jit
def checked(out, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.device_assert(i < n, "index too large")
    tw.store(out + i, i, mask=i < n)


def test_device_assertions_count_in_debug_builds_only(device: str) -> None:
    out = numpy.zeros(8, numpy.int32)
    checked[1](out, 8, 16)
    with pytest.raises(tw.DeviceError, match="index too large") as error:
        checked[1](out, 8, 16, debug=True)
    assert error.value.code == "TW0602"
    assert (out == numpy.arange(8)).all()


def test_autotuning_measures_and_gives_the_right_result() -> None:
    out, x = numpy.zeros(1000, numpy.float32), numpy.arange(1000, dtype=numpy.float32)
    configs = [tw.Config({"BLOCK": block}) for block in (64, 256)]
    tuned = tw.autotune(configs, key=["n"], warmup=1, rep=1)(tw.jit(add.fn))
    tuned[lambda named: (tw.cdiv(1000, named["BLOCK"]),)](out, x, x, 1000)
    assert (out == x + x).all() and tuned.best_config in configs
    assert all(0 < ms < 1e4 for ms in tuned.configs_timings.values())


@tw.jit
def add_warps(out, x, y, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n) + tl.extra.cuda.num_warps(), mask=i < n)


@pytest.mark.parametrize(("kernel", "count"), [(add, 1), (add_warps, 3)])
def test_cpu_kernels_that_differ_in_warps_are_compiled_once(kernel: Any, count: int) -> None:
    out, x = numpy.zeros(64, numpy.float32), numpy.ones(64, numpy.float32)
    keys: set[str] = set()
    for warps, stages in ((1, 1), (2, 3), (8, 3)):
        compiled = kernel[(1,)](out, x, x, 64, BLOCK=64, num_warps=warps, num_stages=stages)
        assert compiled.metadata.num_warps == warps
        assert (out == (1 + warps if kernel is add_warps else 2)).all()
        keys.add(compiled.key)
    assert len(keys) == count


class BenchOnce:
    """Measures by one launch, and counts."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, launch: Any, quantiles: Any) -> float:
        self.calls += 1
        launch()
        return float(self.calls)


class Derived(Autotuner):
    """A tuner of a library, with a loop over the configurations of its own."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        timings = {c: self._bench(*args, config=c, **kwargs)[0] for c in self.configs}
        self.best_config = min(timings, key=lambda c: timings[c])
        return self.fn.run(*args, **kwargs, **self.best_config.all_kwargs())


def blocks_and_warps(named: Any) -> tuple[int, ...]:
    return (tw.cdiv(named["n"], named["BLOCK"]), named["num_warps"])


@pytest.mark.parametrize("tuner", [Autotuner, Derived])
@pytest.mark.parametrize(
    ("kernel", "grid", "count"),
    [(add, (16,), 2), (add, blocks_and_warps, 6), (add_warps, (16,), 6)],
)
def test_configurations_of_one_launch_are_compiled_and_measured_once(
    tuner: Any, kernel: Any, grid: Any, count: int
) -> None:
    bench, fresh = BenchOnce(), tw.jit(kernel.fn)
    many = [
        tw.Config({"BLOCK": block}, num_warps=warps, num_stages=stages)
        for block in (64, 256) for warps in (1, 2, 4) for stages in (2, 3)
    ]  # fmt: skip
    tuned = tuner(fresh, fresh.arg_names, many, ["n"], None, None, do_bench=bench, check=None)
    out, x = numpy.zeros(1000, numpy.float32), numpy.ones(1000, numpy.float32)
    tuned[grid](out, x, x, 1000)
    assert bench.calls == count and tuned.best_config == many[0]
    assert (out == 2).all()


def test_stages_of_the_reference_device_end_where_it_interprets(tmp_path: Path) -> None:
    from tilewright.compile import dump, stages_of

    kernel = fill.compile({"out": "*fp32", "value": "fp32", "n": "i32"}, {"BLOCK": 64}, "reference")
    dump(kernel, tmp_path)
    assert tuple(kernel.asm) == (*stages_of("reference"), "object")
    assert any(file.name.endswith(".tile") for file in tmp_path.iterdir())
    assert stages_of("cpu") == ("tile", "tile-passes", "lowered", "llvm-dialect", "llvm", "asm")
