"""A launch that torch.export, make_fx, a dispatch mode or a functionalization follows is kept, or refused
with words; it is never lost."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tilewright as tw

torch = pytest.importorskip("torch")

from graph_kernels import add_one, plus_one, scale, tuned  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield


class Log(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(str(func))
        return func(*args, **(kwargs or {}))


class PlusOne(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        o = torch.empty_like(x)
        tuned[lambda meta: (tw.cdiv(x.numel(), meta["B"]),)](o, x, x.numel())
        return o


class InPlace(torch.nn.Module):
    def forward(self, x: Any) -> Any:
        scale[(1,)](x, x.numel(), 2.0)
        return x + 1


def warm(*args: Any) -> None:
    """Launch until it needs no code of Python: the trace must be noticed there, too."""
    for _ in range(3):
        add_one[(1,)](*args)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_make_fx_keeps_launches(mode: str) -> None:
    graph = make_fx(plus_one, tracing_mode=mode)(torch.rand(100))
    n = 77 if mode == "symbolic" else 100
    x = torch.rand(n)
    torch.testing.assert_close(graph(x), x + 1)


def test_make_fx_keeps_a_launch_that_is_warm() -> None:
    x, o = torch.rand(16), torch.zeros(16)
    warm(o, x, 16, 16)

    def forward(o: Any, x: Any) -> Any:
        add_one[(1,)](o, x, 16, 16)
        return o

    graph = make_fx(forward)(o, x)
    torch.testing.assert_close(graph(torch.zeros(16), x + 2), x + 3)


@pytest.mark.parametrize("strict", [False, True])
def test_export_keeps_launches(strict: bool) -> None:
    shapes = ({0: torch.export.Dim("n", min=2, max=4096)},)
    program = torch.export.export(PlusOne(), (torch.rand(100),), dynamic_shapes=shapes, strict=strict)
    for n in (33, 1000):
        x = torch.rand(n)
        torch.testing.assert_close(program.module()(x), x + 1)


def test_functionalization_shows_what_a_launch_writes() -> None:
    program = torch.export.export(InPlace(), (torch.ones(8),)).run_decompositions()
    assert "auto_functionalized" in str(program.graph)
    x = torch.arange(8.0)
    torch.testing.assert_close(program.module()(x), 2 * torch.arange(8.0) + 1)
    torch.testing.assert_close(x, 2 * torch.arange(8.0))


def test_aot_inductor_keeps_launches(tmp_path: Any) -> None:
    shapes = ({0: torch.export.Dim("n", min=2, max=4096)},)
    program = torch.export.export(PlusOne(), (torch.rand(100),), dynamic_shapes=shapes)
    package = torch._inductor.aoti_compile_and_package(program, package_path=str(tmp_path / "p.pt2"))
    loaded = torch._inductor.aoti_load_package(package)
    for n in (100, 33):
        x = torch.rand(n)
        torch.testing.assert_close(loaded(x), x + 1)


def test_a_logging_mode_sees_launches_that_run() -> None:
    x, o = torch.rand(16), torch.zeros(16)
    warm(o, x, 16, 16)
    o.zero_()
    with Log() as outer, Log() as log:
        add_one[(1,)](o, x, 16, 16)
    (name,) = log.names
    assert name.startswith("tilewright.add_one") and outer.names == log.names
    torch.testing.assert_close(o, x + 1)


def test_fake_and_meta_tensors_run_nothing() -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        x = torch.ones(100)
        o = plus_one(x)
        assert (type(o).__name__, o.shape) == ("FakeTensor", (100,))
    with mode:
        InPlace()(x)
    plain = FakeTensorMode().from_tensor(torch.ones(16))
    add_one[(1,)](plain, plain, 16, 16)  # outside of its mode
    meta = torch.ones(16, device="meta")
    from tilewright.graphs.operators import operator_names

    operator = getattr(torch.ops.tilewright, operator_names()[-1])
    assert operator([1, 1, 1], meta, meta, 16) is None


def test_jit_trace_keeps_launches() -> None:
    def forward(x: Any) -> Any:
        o = torch.empty_like(x)
        add_one[(1,)](o, x, 16, 16)
        return o

    traced = torch.jit.trace(forward, (torch.rand(16),), check_trace=False)
    assert str(traced.graph).count("tilewright::") == 1
    x = torch.rand(16)
    torch.testing.assert_close(traced(x), x + 1)
    with pytest.raises(tw.LaunchError) as caught:
        torch.jit.trace(plus_one, (torch.rand(16),))
    assert caught.value.code == "TW0443"


def test_what_no_operator_takes_is_refused() -> None:
    def with_numpy(x: Any) -> Any:
        add_one[(1,)](x, np.ones(16, np.float32), 16, 16)
        return x

    compiled = add_one.warmup(torch.float32, torch.float32, 16, 16, grid=(1,))

    def with_compiled(x: Any) -> Any:
        compiled[(1,)](x, x, 16)
        return x

    for function in (with_numpy, with_compiled):
        with pytest.raises(tw.LaunchError) as caught:
            make_fx(function)(torch.zeros(16))
        assert caught.value.code == "TW0443"


def test_a_launch_without_tensors_is_none_of_torchs() -> None:
    x, o = np.ones(16, np.float32), np.zeros(16, np.float32)
    with Log() as log:
        add_one[(1,)](o, x, 16, 16)
    assert not log.names and (o == 2).all()


def test_opcheck_passes() -> None:
    from tilewright.graphs.operators import operator_names

    plus_one(torch.rand(8))
    make_fx(plus_one)(torch.rand(8))
    operator = getattr(torch.ops.tilewright, operator_names()[-1]).default
    torch.library.opcheck(operator, ([1, 1, 1], torch.zeros(8), torch.rand(8), 8))


def test_vmap_is_refused_with_words() -> None:
    with pytest.raises(tw.LaunchError, match="torch.func"):
        torch.func.vmap(plus_one)(torch.rand(3, 8))
    with pytest.raises(Exception, match="TW0441"):
        torch.compile(torch.func.vmap(plus_one), fullgraph=True, backend="eager")(torch.rand(3, 8))


def test_a_changed_kernel_that_stores_to_more() -> None:
    """torch.compile makes its graph anew; a graph that was kept is refused."""

    @tw.jit
    def changing(a, b):
        tw.store(a, 1.0)

    def forward(a: Any, b: Any) -> Any:
        changing[(1,)](a, b)
        return a + b

    kept = make_fx(forward)(torch.zeros(4), torch.zeros(4))
    compiled = torch.compile(forward, backend="aot_eager", fullgraph=True)
    for graph in (kept, compiled):
        assert graph(torch.zeros(4), torch.zeros(4))[0].item() == 1
    changing._unsafe_update_src("def changing(a, b):\n    tw.store(a, 1.0)\n    tw.store(b, 1.0)\n")
    assert compiled(torch.zeros(4), torch.zeros(4))[0].item() == 2
    with pytest.raises(tw.LaunchError) as caught:
        kept(torch.zeros(4), torch.zeros(4))
    assert caught.value.code == "TW0442"


def plus_one_twice(x: Any) -> Any:
    return plus_one(plus_one(x))


torch.fx.wrap("plus_one_twice")


def test_a_launch_that_torch_fx_traces_says_what_to_do() -> None:
    x = torch.rand(100)
    with pytest.raises(tw.LaunchError, match="while torch.fx traces .* Proxy.x.") as error:
        torch.fx.symbolic_trace(lambda x: add_one[(1,)](x, x, 16, 16))
    assert error.value.code == "TW0405" and "torch.fx.wrap" in error.value.hint
    traced = torch.fx.symbolic_trace(lambda x: plus_one_twice(x) * 2)
    torch.testing.assert_close(traced(x), (x + 2) * 2)
