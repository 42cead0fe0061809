"""`tw.torch_op`: functions that launch kernels as operators of torch, with what torch asks of operators."""

from __future__ import annotations

import copy
import io
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tilewright as tw

torch = pytest.importorskip("torch")

from graph_kernels import add_one  # noqa: E402
from operator_functions import (  # noqa: E402
    Items,
    Scaled,
    scale_,
    scale_to,
    scaled,
    scaled_by_kernel,
    send_scaled,
)

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield


def test_the_schema_comes_from_annotations_and_what_is_written() -> None:
    scale_(torch.ones(4), 4)
    scaled_by_kernel(torch.ones(4), 4)
    assert scale_.schema == "graphs::scale_(Tensor(a0!) x, SymInt n) -> ()"
    assert scaled_by_kernel.schema == "graphs::scaled_by_kernel(Tensor x, SymInt n, float factor=2.) -> Tensor"


def test_opcheck_passes() -> None:
    for operator, args in (
        (scaled, (torch.rand(50, requires_grad=True), 2.0)),
        (scaled_by_kernel, (torch.rand(50), 50)),
        (scale_, (torch.rand(50), 50)),
    ):
        operator(*(a.detach().clone() if isinstance(a, torch.Tensor) else a for a in args))
        namespace, name = operator.name.split("::")
        torch.library.opcheck(getattr(getattr(torch.ops, namespace), name).default, args)


@pytest.mark.parametrize("options", [{}, {"dynamic": True}], ids=["static", "dynamic"])
@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_compiled_training_is_that_of_plain_torch(options: dict[str, Any], backend: str) -> None:
    function = torch.compile(
        lambda x: scaled(x * 1, 3.0).sin(), fullgraph=True, backend=backend, **options
    )
    for n in (100, 33):
        x = torch.rand(n, requires_grad=True)
        y = function(x)
        y.sum().backward()
        torch.testing.assert_close(y, (3 * x).sin())
        torch.testing.assert_close(x.grad, 3 * (3 * x.detach()).cos())


def test_an_operator_that_is_first_met_in_a_trace() -> None:
    text = """
import sys; sys.path[:0] = {path!r}
import torch
from operator_functions import scaled, scale_
if {mode!r} == "compile":
    run = torch.compile(lambda x: (scaled(x, 2.0), scale_(x, x.numel()))[0], fullgraph=True, backend="aot_eager")
elif {mode!r} == "export":
    class Module(torch.nn.Module):
        def forward(self, x): return (scaled(x, 2.0), scale_(x, x.numel()))[0]
    run = torch.export.export(Module(), (torch.ones(20),), strict={strict}).module()
else:
    from torch.fx.experimental.proxy_tensor import make_fx
    run = make_fx(lambda x: (scaled(x, 2.0), scale_(x, x.numel()))[0], tracing_mode="symbolic")(torch.ones(20))
x = torch.ones(20)
assert run(x).eq(2).all() and x.eq(2).all()
"""
    for mode, strict in (("compile", False), ("make_fx", False), ("export", False), ("export", True)):
        script = text.format(path=sys.path, mode=mode, strict=strict)
        subprocess.run([sys.executable, "-c", script], check=True)


def test_export_keeps_the_operator() -> None:
    dim = torch.export.Dim("n", min=2, max=1000)

    class Module(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return scaled(x, 3.0)

    program = torch.export.export(Module(), (torch.rand(16),), dynamic_shapes=({0: dim},))
    assert "graphs.scaled" in program.graph_module.code
    buffer = io.BytesIO()
    torch.export.save(program, buffer)
    buffer.seek(0)
    x = torch.rand(33)
    torch.testing.assert_close(torch.export.load(buffer).module()(x), 3 * x)


def test_a_kernel_is_a_backward_pass() -> None:
    x = torch.rand(100, requires_grad=True)
    scaled_by_kernel(x, 100, 3.0).pow(2).sum().backward()
    torch.testing.assert_close(x.grad, 18 * x.detach())


def test_transforms_of_torch_func() -> None:
    batch = torch.rand(3, 8)
    torch.testing.assert_close(torch.func.vmap(lambda x: scaled(x, 2.0))(batch), 2 * batch)
    gradient = torch.func.grad(lambda x: scaled(x, 2.0).pow(2).sum())
    torch.testing.assert_close(gradient(batch), 8 * batch)
    torch.testing.assert_close(torch.func.vmap(gradient)(batch), 8 * batch)


def refused(call: Callable[[], Any], code: str) -> None:
    with pytest.raises(tw.LaunchError) as caught:
        call()
    assert caught.value.code == code and caught.value.hint


def test_derivatives_without_a_rule_are_refused() -> None:
    x = torch.rand(4, requires_grad=True)
    refused(lambda: torch.func.vmap(lambda x: scaled_by_kernel(x, 4))(torch.ones(3, 4)), "TW0441")
    refused(lambda: torch.func.jvp(lambda x: scaled(x, 2.0), (x,), (x,)), "TW0445")
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(torch.ones(4), torch.ones(4))
        refused(lambda: scaled(dual, 2.0), "TW0445")
    (first,) = torch.autograd.grad(scaled(x, 2.0).pow(2).sum(), x, create_graph=True)
    refused(lambda: torch.autograd.grad(first.sum(), x), "TW0445")
    with pytest.raises(RuntimeError):
        doubled = tw.torch_op("graphs::without_backward")(scaled.fn)
        doubled(x, 2.0).sum().backward()


def test_a_backward_pass_of_operators_has_a_second_derivative() -> None:
    twice = tw.torch_op("graphs::twice")(scaled.fn)
    twice.register_backward(
        lambda ctx, grad: (twice(grad, ctx.arguments["factor"]), None), is_differentiable=True
    )
    x = torch.rand(4, requires_grad=True)
    (first,) = torch.autograd.grad(twice(x, 2.0).pow(2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.pow(2).sum(), x)
    torch.testing.assert_close(second, 128 * x.detach())


def test_autocast_casts_what_the_rule_names() -> None:
    x = torch.ones(4, dtype=torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert scaled(x, 2.0).dtype == torch.float32
    assert scaled(x, 2.0).dtype == torch.bfloat16


def unannotated(x, factor):
    return x * factor


def of_values(x: torch.Tensor) -> torch.Tensor:
    return x * 2 if x.sum().item() > 1 else x * 1


def of_its_argument(x: torch.Tensor) -> torch.Tensor:
    return x.view(-1)


@pytest.mark.parametrize(("function", "line", "reason"), [
    (unannotated, 0, "annotation"), (of_values, 1, "reads values"), (of_its_argument, 1, "returns its argument"),
])  # fmt: skip
def test_what_has_no_schema_is_refused_at_its_line(function: Any, line: int, reason: str) -> None:
    operator = tw.torch_op(f"graphs::{function.__name__}")(function)
    args = (torch.ones(4), 2.0)[: function.__code__.co_argcount]
    with pytest.raises(tw.LaunchError, match=reason) as caught:
        operator(*args)
    assert caught.value.code == "TW0444" and caught.value.hint
    assert f"{__file__}:{function.__code__.co_firstlineno + line}" in caught.value.rendered


def test_a_function_that_later_writes_more_is_refused() -> None:
    def changing(x: torch.Tensor, writes: bool) -> torch.Tensor:
        if writes:
            add_one[(1,)](x, x, 4, 4)
        return torch.zeros(4)

    operator = tw.torch_op("graphs::changing")(changing)
    operator(torch.ones(4), False)
    refused(lambda: operator(torch.ones(4), True), "TW0442")


def test_copies_and_pickles_of_modules() -> None:
    module = Scaled()
    x = torch.rand(16)
    buffer = io.BytesIO()
    torch.save(module, buffer)
    buffer.seek(0)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)),
                  torch.load(buffer, weights_only=False)):  # fmt: skip
        assert other.kernel is scale_to and other.operator is scaled
        torch.testing.assert_close(other(x), 3 * x)


def test_checkpoints_and_threads() -> None:
    from torch.utils.checkpoint import checkpoint

    module, x = Scaled(), torch.rand(16, requires_grad=True)
    for reentrant in (False, True):
        checkpoint(module, x, use_reentrant=reentrant).sum().backward()
    torch.testing.assert_close(x.grad, torch.full((16,), 6.0))
    results: list[Any] = []
    threads = [threading.Thread(target=lambda: results.append(module(torch.ones(16)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4 and all(r.eq(3).all() for r in results)


@pytest.mark.parametrize("context", ["fork", "spawn"])
def test_workers_of_loaders_and_processes(context: str) -> None:
    loader = torch.utils.data.DataLoader(
        Items(), batch_size=2, num_workers=1, multiprocessing_context=context
    )
    assert torch.cat(list(loader)).sum().item() == 4 * 2 * (0 + 1 + 2 + 3)
    processes = torch.multiprocessing.get_context(context)
    queue = processes.SimpleQueue()
    process = processes.Process(target=send_scaled, args=(queue, Scaled()))
    process.start()
    assert queue.get() == 48.0
    process.join()
    assert process.exitcode == 0
