"""Launches that C does without Python give what Python's launches give, and leave to those whatever is new."""

from __future__ import annotations

import signal
import sys
import threading
import time
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_launch_interrupts import iterate

import tilewright as tw
from tilewright.launch import hooks

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler", "torch_known_to_the_compiler")

SCALE = 2
LAUNCH = tw.JITFunction._launch


@pytest.fixture
def torch_known_to_the_compiler(compiler: None) -> None:
    """It may have been made known to what stands for the native module in another test."""
    from tilewright.arrays import torch as reading

    reading.register({})


def new_kernel() -> Any:
    """A kernel that was never launched."""

    @tw.jit
    def scaled(out, x, n, bias=0.0, BLOCK: tw.constexpr = 16):
        i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
        tw.store(out + i, tw.load(x + i, mask=i < n) * SCALE + bias, mask=i < n)

    return scaled


def new_storer() -> Any:
    @tw.jit
    def store(out, value):
        tw.store(out, value)

    return store


def num_by_python(launch: Callable[[], Any]) -> int:
    """How many launches Python does in a call."""
    seen: list[types.CodeType] = []
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code) if event == "call" else None)
    try:
        launch()
    finally:
        sys.setprofile(None)
    return seen.count(LAUNCH.__code__)


def expected(x: Any, n: int, bias: float = 0.0, scale: float = 2) -> Any:
    result = torch.zeros_like(x)
    result[:n] = x[:n] * scale + bias
    return result


def test_other_tensors_numbers_and_facts() -> None:
    kernel = new_kernel()
    base = torch.arange(200.0)
    for n in (1, 2, 16, 17, 33, 48, 64, 1):
        for begin in (0, 1, 2, 4, 100):
            for bias in (0.0, 1.5, 2, -16, True):
                launch = kernel[(tw.cdiv(n, 16),)]
                for again in range(2):
                    out = torch.zeros(130)[begin % 3 :][:64]
                    x = (base + again)[begin : begin + 64]
                    by_python = num_by_python(lambda: launch(out, x, n, bias))
                    assert not (again and by_python)
                    assert torch.equal(out, expected(x, n, bias))


@pytest.mark.parametrize(
    "values, element_type",
    [
        ((2**31 - 1, 2**31, -(2**31) - 1, 2**62, 3, 2**31 + 1, True, False, 1, 0, -1), torch.int64),
        ((2**63, 2**63 + 1, 2**64 - 1, 5, 2**63), torch.uint64),
        ((1.5, 2, -0.25, 1, 1e30, True, 0.0), torch.float32),
    ],
)
def test_numbers_of_each_kind(values: tuple[Any, ...], element_type: Any) -> None:
    store = new_storer()
    out = torch.zeros(1, dtype=element_type)
    for again in range(3):
        for value in values:
            by_python = num_by_python(lambda: store[1](out, value))
            assert not (again and by_python)
            assert out.numpy()[0] == np.array([value], dtype=out.numpy().dtype)[0]
    for _ in range(2):
        with pytest.raises(tw.LaunchError, match="TW040"):
            store[1](out, 2**64)


def test_none_and_texts_are_constants() -> None:
    @tw.jit
    def choose(out, x, MODE: tw.constexpr, SIZE: tw.constexpr):
        if x is None:
            tw.store(out, SIZE)
        else:
            tw.store(out, tw.load(x) + (1 if MODE == "more" else -1))

    out, x = torch.zeros(1), torch.ones(1)
    for again in range(3):
        for given, mode, size, wanted in (
            (None, "more", 7, 7), (x, "more", 7, 2), (x, "less", 7, 0), (None, "less", True, 1),
        ):  # fmt: skip
            by_python = num_by_python(lambda: choose[1](out, given, mode, size))
            assert out.item() == wanted and not (again and by_python)


def test_names_defaults_and_grids() -> None:
    kernel = new_kernel()
    x, seen = torch.arange(40.0), list[Any]()

    def grid(arguments: dict[str, Any]) -> tuple[int]:
        seen.append((arguments["n"], arguments["bias"], arguments["BLOCK"], arguments["num_warps"]))
        return (tw.cdiv(arguments["n"], arguments["BLOCK"]),)

    for again in range(3):
        for n, names in ((40, {}), (40, {"bias": 3.0}), (20, {"BLOCK": 8}), (40, {"BLOCK": 4, "bias": 2.0})):
            for extents in (grid, (10,), 10, (10, 1), (np.int64(10),), [10]):
                out = torch.zeros(40)
                by_python = num_by_python(lambda: kernel[extents](out, n=n, x=x, **names))
                assert torch.equal(out, expected(x, n, names.get("bias", 0.0)))
                assert not by_python or not again or type(extents) is list or type(extents) is tuple
                if extents is grid:
                    wanted = n, names.get("bias", 0.0), names.get("BLOCK", 16)
                    assert [entry[:3] for entry in seen] == [wanted]
                    seen.clear()


def test_a_grid_of_nothing_and_grids_that_fail() -> None:
    kernel = new_kernel()
    x, out = torch.ones(16), torch.zeros(16)
    kernel[1](out, x, 16)
    calls: list[Any] = []

    def raising(arguments: dict[str, Any]) -> int:
        calls.append(arguments)
        raise KeyError("grid")

    out.zero_()
    assert kernel[0](out, x, 16) is None and not out.any()
    assert kernel[lambda _: (1, 0)](out, x, 16) is None and not out.any()
    with pytest.raises(KeyError, match="grid"):
        kernel[raising](out, x, 16)
    assert len(calls) == 1
    for extents in ((-1,), (1, 1, 1, 1), (), 2**31, "1", None, (1.0,), lambda _: -1):
        with pytest.raises(tw.LaunchError, match="grid"):
            kernel[extents](out, x, 16)
    assert not out.any()


def test_a_grid_that_changes_what_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = new_kernel()
    x, out = torch.ones(16), torch.zeros(16)
    bound = kernel[1]
    bound(out, x, 16)
    assert num_by_python(lambda: bound(out, x, 16)) == 0

    def change(_: Any) -> int:
        monkeypatch.setitem(globals(), "SCALE", 5)
        return 1

    kernel[change](out, x, 16)
    assert torch.equal(out, torch.full((16,), 5.0))
    entered: list[str] = []

    def hook(metadata: Any) -> None:
        entered.append(metadata.get()["name"])

    def add_a_hook(_: Any) -> int:
        hooks.launch_enter.add(hook)
        return 1

    bound(out, x, 16)
    try:
        kernel[add_a_hook](out, x, 16)
    finally:
        hooks.launch_enter.remove(hook)
    assert len(entered) == 1


def test_changes_of_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = new_kernel()
    x, out = torch.arange(16.0), torch.zeros(16)
    bound = kernel[1]
    for scale in (2, 3, 2, 3.5, 3):
        monkeypatch.setitem(globals(), "SCALE", scale)
        for _ in range(2):
            out.zero_()
            bound(out, x, 16)
            assert torch.equal(out, expected(x, 16, scale=scale))


def test_another_function_or_other_defaults() -> None:
    kernel, other = new_storer(), new_storer()

    def add(out, value, more=10):
        tw.store(out, value + more)

    out = torch.zeros(1)
    bound = kernel[1]
    for _ in range(2):
        bound(out, 1.5)
    old = kernel.fn
    for _ in range(2):
        kernel.fn = add
        for launch in (bound, kernel[1], bound, kernel[1]):
            launch(out, 1.5)
            assert out.item() == 11.5
        add.__defaults__ = (20,)
        for launch in (bound, kernel[1], bound):
            launch(out, 1.5)
            assert out.item() == 21.5
        add.__defaults__ = (10,)
        kernel.fn = old
        for launch in (bound, kernel[1], bound):
            launch(out, 1.5)
            assert out.item() == 1.5
    # A launcher that is made between the change and the next launch.
    other.fn = add
    early = other[1]
    other.fn = old
    for _ in range(3):
        early(out, 2.5)
        assert out.item() == 2.5
    with pytest.raises(tw.LaunchError, match="TW0404"):
        early(out, 2.5, 3)


def test_hooks_that_are_added_later() -> None:
    kernel = new_storer()
    out, seen = torch.zeros(1), list[Any]()
    bound = kernel[1]
    for _ in range(2):
        bound(out, 1.5)

    def hook(metadata: Any) -> None:
        seen.append(metadata)

    for chain in (hooks.launch_enter, hooks.launch_exit):
        before = list(chain.calls)
        for install in (chain.add, chain.replace):
            install(hook)
            bound(out, 2.5)
            assert len(seen) == 1 and out.item() == 2.5
            seen.clear()
            chain.replace(None)
            bound(out, 3.5)
            assert not seen and out.item() == 3.5
        assert list(chain.calls) == before
    kernel.pre_run_hooks.append(lambda *args, **kwargs: seen.append((args, kwargs)))
    bound(out, value=4.5)
    assert seen == [((out,), {"value": 4.5})]
    kernel.pre_run_hooks = []
    bound(out, value=5.5)
    assert len(seen) == 1 and out.item() == 5.5


def test_a_launch_method_that_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = new_storer()
    out, seen = torch.zeros(1), list[Any]()
    bound = kernel[1]
    for _ in range(2):
        bound(out, 1.5)

    def launch(self: Any, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
        seen.append(args)
        return LAUNCH(self, grid, *args, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(tw.JITFunction, "_launch", launch)
        bound(out, 2.5)
        kernel[1](out, 3.5)
        other = new_storer()
        for _ in range(3):
            other[1](out, 4.5)
        assert len(seen) == 5
    with monkeypatch.context() as patch:
        patch.setattr(kernel, "_launch", types.MethodType(launch, kernel), raising=False)
        bound(out, 5.5)
        assert len(seen) == 6 and out.item() == 5.5
    assert num_by_python(lambda: bound(out, 6.5)) == 0 and out.item() == 6.5


def test_the_device_is_the_one_chosen_now(monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = new_kernel()
    x, out = torch.arange(16.0), torch.zeros(16)
    bound = kernel[1]
    for again in range(3):
        for name in (None, "reference", "cpu", "reference", None):
            out.zero_()

            def launch() -> Any:
                if name is None:
                    return bound(out, x, 16)
                with tw.device(name):
                    return bound(out, x, 16)

            assert launch().request.device == (name or "cpu")
            assert torch.equal(out, expected(x, 16))
    from tilewright import knobs

    try:
        for name in ("reference", "cpu", "reference"):
            monkeypatch.setenv("TILEWRIGHT_DEVICE", name)
            knobs.reset()
            for _ in range(2):
                assert bound(out, x, 16).request.device == name
    finally:
        monkeypatch.undo()
        knobs.reset()
    with pytest.raises(tw.LaunchError):
        with tw.device("none such"):
            bound(out, x, 16)


def test_no_reference_is_kept_or_lost() -> None:
    kernel = new_kernel()
    x, out, bias, n = torch.arange(16.0), torch.zeros(16), 1234.5, 100_000
    grid, names = (1,), {"bias": bias}
    bound, grid_function = kernel[grid], lambda _: grid
    by_function = kernel[grid_function]

    def launch(times: int) -> None:
        for _ in range(times):
            bound(out, x, n)
            bound(out, x, n, **names)
            by_function(out, x, n=16)

    launch(3)
    held = (x, out, bias, n, grid, names, kernel, bound, grid_function, kernel._options, *kernel._loaded.again)
    before = [*map(sys.getrefcount, held)]
    compiled = bound(out, x, 16)
    count = sys.getrefcount(compiled)
    assert num_by_python(lambda: launch(1)) == 0
    launch(10_000)
    assert [*map(sys.getrefcount, held)] == before and sys.getrefcount(compiled) == count
    with pytest.raises(tw.LaunchError):
        bound(out)


@pytest.mark.parametrize(
    "args, kwargs",
    [
        ((), {}), ((1,), {}), ((1, 2), {"bias": 1}), ((1, 2, 3, 4, 5, 6), {}), ((1, 2, 3), {"x": 2}),
        ((1, 2, 3), {"unknown": 2}), ((1, 2, 3), {"num_warps": -1}), ((1, 2), {"m": 3}),
        ((object(), 2, 3), {}), ((1, 2, 3, 4, 1.5), {}),
    ],
)  # fmt: skip
def test_wrong_calls_are_refused_as_before(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    cold, warm = new_kernel(), new_kernel()
    x, out = torch.arange(16.0), torch.zeros(16)
    for _ in range(2):
        warm[1](out, x, 16)
    args = tuple({1: out, 2: x}.get(v, v) if isinstance(v, int) else v for v in args)
    errors: list[Any] = []
    for kernel in (cold, warm):
        with pytest.raises(Exception) as caught:
            kernel[1](*args, **kwargs)
        errors.append((type(caught.value), str(caught.value).split(" at 0x")[0]))
    assert errors[0] == errors[1]


def test_tensors_with_more_than_memory() -> None:
    kernel = new_kernel()
    x, out = torch.arange(16.0), torch.zeros(16)
    bound = kernel[1]
    for _ in range(2):
        bound(out, x, 16)
    negated = torch.randn(16, dtype=torch.complex64).conj().imag
    assert negated.is_neg()
    refused = (
        negated, torch.zeros(16, device="meta"), torch.zeros(16, dtype=torch.complex64).conj(),
        torch.zeros(4, 4).to_sparse(), torch._efficientzerotensor((16,)),
    )  # fmt: skip
    for tensor in refused:
        out.zero_()
        for args in ((out, tensor), (tensor, x)):
            with pytest.raises(tw.TilewrightError):
                bound(*args, 16)
        assert not out.any()
    with torch.inference_mode():
        inferred = torch.zeros(16)
        for _ in range(2):
            bound(inferred, x + 1, 16)
        assert torch.equal(inferred, expected(x + 1, 16))
    for given in (np.arange(16, dtype=np.float32), torch.nn.Parameter(x + 3), (x + 4).requires_grad_()):
        for _ in range(2):
            out.zero_()
            bound(out, given, 16)
            values = torch.as_tensor(given).detach()
            assert torch.equal(out, expected(values, 16))


def test_memory_that_is_shared_and_other_elements() -> None:
    kernel = new_kernel()
    x, out = torch.arange(32.0), torch.zeros(32)
    for _ in range(2):
        kernel[1](out, x, 16)
    wanted = expected(x[:16], 16)
    kernel[1](x[1:17], x[:16], 16)
    assert torch.equal(x[1:17], wanted)
    kernel[1](x, x, 16)
    for element_type in (torch.float64, torch.float16, torch.int32, torch.float32):
        for _ in range(2):
            given, got = torch.arange(16).to(element_type), torch.zeros(16)
            kernel[1](got, given, 16)
            assert torch.equal(got, expected(torch.arange(16.0), 16))


def test_threads_and_launches_within_launches() -> None:
    kernel = new_kernel()
    errors: list[int] = []

    def work(seed: int) -> None:
        for again in range(300):
            x, out = torch.full((64,), float(seed)), torch.zeros(64)

            def grid(_: Any) -> int:
                kernel[4](inner, x, 63, 1.0)
                return 4

            inner = torch.zeros(64)
            kernel[grid](out, x, 32 + again % 20, float(again))
            right = torch.equal(out, expected(x, 32 + again % 20, again))
            if not right or not torch.equal(inner, expected(x, 63, 1.0)):
                errors.append(seed)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(1, 4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


def test_autograd_sees_what_is_written() -> None:
    kernel = new_kernel()
    x, out = torch.arange(16.0), torch.zeros(16)
    for _ in range(2):
        kernel[1](out, x, 16)
    weight = torch.ones(16, requires_grad=True)
    product = (weight * out).sum()
    version, read = out._version, x._version
    assert num_by_python(lambda: kernel[1](out, x, 16)) == 0
    assert out._version == version + 1 and x._version == read
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.backward()


def test_an_interrupt_ends_a_warm_launch() -> None:
    class Stop(BaseException):
        pass

    def stop(*_: Any) -> None:
        raise Stop

    out = torch.zeros(1 << 14)
    for _ in range(2):
        iterate[1](out, 1 << 20)
    before = signal.signal(signal.SIGALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        begin = time.monotonic()
        with pytest.raises(Stop):
            iterate[1 << 14](out, 1 << 20)
        assert time.monotonic() - begin < 30
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
