"""Operators of torch that packages make: results, derivatives, strides, and what torch does with operators."""

from __future__ import annotations

import copy
import io
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import exported
import operator_kernels
import pytest
import tilewright as tw

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.usefixtures("compiler")
CPU = ["cpu:x86-64-v2"]
_LIBRARY: list[Path] = []  # what workers of other processes load


def test_operators_with_rules(tmp_path: Path) -> None:
    """One test, so that one process compiles the file."""
    _LIBRARY[:] = [exported.operators(operator_kernels.package(), tmp_path)]
    torch.ops.load_library(_LIBRARY[0])
    for check in (
        schemas, results, gradients, opcheck, compiled_training, traces, strides, leaves, derivatives_without_rules,
        transforms, batches, checkpoints_and_threads, modules, workers,
    ):  # fmt: skip
        torch._dynamo.reset()
        check(torch.ops.operator_kernels)


def schemas(operators: Any) -> None:
    for name, words in (
        ("scaled", "(Tensor x, SymInt n, float factor, SymInt[]? grid=None) -> Tensor"),
        ("row_ends", "(Tensor x, SymInt M, SymInt N, SymInt[]? grid=None) -> (Tensor, Tensor)"),
        ("increment", "(Tensor(a!) x, SymInt n, SymInt[]? grid=None) -> ()"),
    ):
        assert str(getattr(operators, name).default._schema) == f"operator_kernels::{name}{words}"


def results(operators: Any) -> None:
    x = torch.randn(10, 10)
    out = operators.scaled(x, 100, 3.0)
    assert torch.equal(out, 3 * x) and out.is_contiguous() and not out.requires_grad
    first, last = operators.row_ends(x, 10, 10)
    assert torch.equal(first, x[:, 0]) and torch.equal(last, x[:, -1])
    empty = operators.scaled(torch.ones(4), 4, 1.0, [0])
    assert empty.shape == (4,), "a grid without programs writes nothing"


def gradients(operators: Any) -> None:
    x = torch.randn(100, requires_grad=True)
    (3 * operators.scaled(x, 100, 2.0)).sum().backward()
    assert torch.equal(x.grad, torch.full((100,), 6.0))
    (gradient,) = torch.autograd.grad(operators.exponential(x, 100).sum(), x)
    torch.testing.assert_close(gradient, x.detach().exp())
    x = torch.randn(8, requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        operators.exponential(x * 1, 8).sum().backward()
    torch.testing.assert_close(x.grad, x.detach().exp())
    y = operators.exponential(x, 8)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()
    y = operators.exponential(x, 8)
    operators.increment(y.detach(), 8)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def opcheck(operators: Any) -> None:
    x = torch.rand(50)
    for operator, args in (
        (operators.scaled, (x, 50, 2.0)),
        (operators.scaled, (x.clone().requires_grad_(), 50, 2.0)),
        (operators.exponential, (x.clone().requires_grad_(), 50)),
        (operators.row_ends, (torch.rand(8, 4), 8, 4)),
        (operators.row_ends, (torch.rand(4, 8).t(), 8, 4)),
        (operators.increment, (x, 50)),
    ):
        torch.library.opcheck(operator.default, args)


def compiled_training(operators: Any) -> None:
    def step(x: Any) -> Any:
        return operators.exponential(operators.scaled(x * 1, x.numel(), 2.0), x.numel()).sin()

    for backend in ("aot_eager", "inductor"):
        torch._dynamo.reset()
        frames = torch._dynamo.testing.CompileCounterWithBackend(backend)
        function = torch.compile(step, fullgraph=True, dynamic=True, backend=frames)
        for n in (70, 33, 128):
            x = torch.rand(n, requires_grad=True)
            function(x).sum().backward()
            y = (2 * x.detach()).exp()
            torch.testing.assert_close(x.grad, y.cos() * y * 2)
        assert frames.frame_count == 1, "sizes stay symbolic"


def traces(operators: Any) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx

    with FakeTensorMode():
        x = torch.empty(6, 4, requires_grad=True)
        assert operators.scaled(x, 24, 2.0).shape == (6, 4)
        assert [tuple(t.shape) for t in operators.row_ends(x.detach(), 6, 4)] == [(6,), (6,)]
    graph = make_fx(lambda x: operators.scaled(x, x.numel(), 2.0), tracing_mode="symbolic")(torch.ones(20))
    assert graph(torch.ones(33)).eq(2).all() and "operator_kernels.scaled" in graph.code
    assert torch.func.functionalize(lambda x: operators.scaled(x, 4, 2.0))(torch.ones(4)).eq(2).all()
    with pytest.raises(RuntimeError, match="functionalizing operators"):
        torch.func.functionalize(lambda x: operators.increment(x, 4))(torch.zeros(4))

    class Module(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return operators.scaled(x, x.numel(), 3.0)

    dim = torch.export.Dim("n", min=2, max=1000)
    program = torch.export.export(Module(), (torch.rand(16),), dynamic_shapes=({0: dim},))
    assert program.module()(torch.ones(33)).eq(3).all()
    package = torch._inductor.aoti_compile_and_package(program, package_path=str(_LIBRARY[0].parent / "p.pt2"))
    assert torch._inductor.aoti_load_package(package)(torch.ones(40)).eq(3).all()


def strides(operators: Any) -> None:
    x = torch.randn(6, 8)
    for view in (x.t(), x[:, ::2], x[1:, 3:], torch.randn(6, 1).expand(6, 5)):
        first, last = operators.row_ends(view, *view.shape)
        assert torch.equal(first, view[:, 0]) and torch.equal(last, view[:, -1])
    view = x[:, 3:5]
    assert torch.equal(operators.add_columns(view, 6, 2), view[:, 0] + view[:, 1])
    for call, words in (
        (lambda: operators.scaled(x.t(), 48, 2.0), r"TW0822.*`x` of scaled has strides \[1, 8\] of sizes \[8, 6\]"),
        (lambda: operators.increment(x[:, ::2], 24), "TW0822.*takes a contiguous tensor"),
        (lambda: operators.add_columns(x.t(), 8, 6), "TW0822.*has the stride 8 in dimension 1.*takes 1"),
        (lambda: operators.add_columns(x[0], 8, 1), "TW0822.*has 1 dimensions, and the kernel takes 2"),
        (lambda: operators.scaled(x.t().to("meta"), 48, 2.0), "TW0822.*has strides"),
    ):
        with pytest.raises(RuntimeError, match=words):
            call()
    function = torch.compile(lambda x: operators.row_ends(x.t(), 8, 6)[1], fullgraph=True)
    assert torch.equal(function(x), x[-1])


def leaves(operators: Any) -> None:
    x = torch.zeros(4, requires_grad=True)
    for written in (x, x[:2], x.view(2, 2)):
        with pytest.raises(RuntimeError, match="TW0440.*stores to `x`.*leaf.*no_grad"):
            operators.increment(written, 2)
    with torch.no_grad():
        operators.increment(x, 4)
    operators.increment(x.detach(), 4)
    assert x.eq(2).all()
    with pytest.raises(RuntimeError, match="TW0440"):
        torch.compile(lambda x: operators.increment(x, 4), backend="aot_eager")(x)


def derivatives_without_rules(operators: Any) -> None:
    x = torch.ones(4, requires_grad=True)
    (first,) = torch.autograd.grad(operators.exponential(x, 4).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="TW0445.*exp_backward has no rule"):
        first.sum().backward()
    with pytest.raises(RuntimeError, match="TW0445.*row_ends has no rule"):
        operators.row_ends(torch.ones(2, 2, requires_grad=True), 2, 2)[0].sum().backward()
    with pytest.raises(RuntimeError, match="TW0445.*forward derivative of the operator scaled"):
        torch.func.jvp(lambda x: operators.scaled(x, 4, 2.0), (x,), (x,))


def transforms(operators: Any) -> None:
    batch = torch.rand(3, 8)

    def loss(x: Any) -> Any:
        return operators.scaled(x, x.numel(), 2.0).pow(2).sum()

    torch.testing.assert_close(torch.func.grad(loss)(batch), 8 * batch)
    torch.testing.assert_close(torch.func.vmap(lambda x: operators.scaled(x, 8, 2.0))(batch), 2 * batch)
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(loss))(batch), 8 * batch)
    with pytest.raises(RuntimeError, match="TW0441: the operator increment is within .* it stores to `x`"):
        torch.func.vmap(lambda x: operators.increment(x, 8))(batch)


def batches(operators: Any) -> None:
    """vmap calls the kernel of a batch once, wherever the batch is, and what all share is repeated."""
    x, y = torch.rand(3, 8), torch.rand(3, 8)
    add = lambda a, b: operators.add_rows(a, b, a.numel())  # noqa: E731
    torch.testing.assert_close(add(x, y), x + y)
    torch.testing.assert_close(torch.func.vmap(add)(x, y), x + y + 1000)
    torch.testing.assert_close(torch.func.vmap(add, in_dims=(1, 0))(x.t(), y), x + y + 1000)
    torch.testing.assert_close(torch.func.vmap(add, in_dims=(0, None))(x, y[0]), x + y[0] + 1000)
    torch.testing.assert_close(torch.func.vmap(add, in_dims=(None, 1))(x[1], y.t()), x[1] + y + 1000)
    torch.testing.assert_close(torch.func.vmap(add, out_dims=1)(x, y), (x + y + 1000).t())
    cube = torch.rand(2, 3, 8)
    twice = torch.func.vmap(torch.func.vmap(add, in_dims=(0, None)), in_dims=(0, None))
    with pytest.raises(RuntimeError, match="vmap"):  # the kernel of a batch has none of its own for `batch`
        torch.func.vmap(lambda a, b: operators.add_rows(a, b, 8, [1]))(x, y)
    torch.testing.assert_close(twice(cube, y[0]), cube + y[0] + 1000)


def checkpoints_and_threads(operators: Any) -> None:
    from torch.utils.checkpoint import checkpoint

    x = torch.rand(16, requires_grad=True)
    for reentrant in (False, True):
        checkpoint(lambda x: operators.scaled(x, 16, 3.0), x, use_reentrant=reentrant).sum().backward()
    assert x.grad.eq(6).all()
    outputs: list[Any] = []
    inputs = [torch.full((8,), float(i), requires_grad=True) for i in range(4)]

    def train(x: Any) -> None:
        operators.scaled(x, 8, 2.0).sum().backward()
        outputs.append(x.grad)

    threads = [threading.Thread(target=train, args=(x,)) for x in inputs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(outputs) == 4 and all(grad.eq(2).all() for grad in outputs)


def modules(operators: Any) -> None:
    module, buffer = Scaling(), io.BytesIO()
    torch.save(module, buffer)
    buffer.seek(0)
    for other in (copy.deepcopy(module), torch.load(buffer, weights_only=False)):
        assert other(torch.ones(4)).eq(3).all()


def workers(operators: Any) -> None:
    for context in ("fork", "spawn"):
        loader = torch.utils.data.DataLoader(
            Items(str(_LIBRARY[0])), batch_size=2, num_workers=1, multiprocessing_context=context
        )
        assert torch.cat(list(loader)).sum().item() == 4 * 2 * (0 + 1 + 2 + 3)


class Scaling(torch.nn.Module):
    """A module that calls an operator by its name: torch itself pickles no operator."""

    def forward(self, x: Any) -> Any:
        return torch.ops.operator_kernels.scaled(x, x.numel(), 3.0)


class Items(torch.utils.data.Dataset):
    """A dataset whose items an operator makes, in a worker that loads the library where it has none."""

    def __init__(self, library: str) -> None:
        self.library = library

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        torch.ops.load_library(self.library)
        return torch.ops.operator_kernels.scaled(torch.full((4,), float(index)), 4, 2.0)


def made(**rules: Any) -> tw.Package:
    package = tw.Package("rules").add(operator_kernels.scaled, "*fp32, *fp32, i32")
    package.add(operator_kernels.scaled_backward, "*fp32, *fp32, i32")
    return package.as_operator("scaled", **rules)


@pytest.mark.parametrize(
    "rules, words",
    [
        ({"outputs": {"o": "x"}}, "`o` is not an array among"),
        ({"outputs": {"x": "out"}}, "returns `x`, which the kernel does not store to"),
        ({"outputs": {"out": "m"}}, "the shape of `out`: the kernel has no integer parameter `m`"),
        ({"outputs": {"out": "x"}, "strides": {"out": "n"}}, "`out` is returned, and so contiguous"),
        ({"strides": {"x": "stride"}}, "the stride `stride` is neither"),
        ({"backward": "scaled_backward", "outputs": {"out": "x"}}, "stores to `grad_x`, which it does not return"),
        ({"backward": "scaled_backward"}, "stores to `out`, which the caller passes"),
        ({"backward": "other", "outputs": {"out": "x"}}, "the package has no kernel other"),
        ({"vmap": "other", "outputs": {"out": "x"}}, "the package has no kernel other"),
        ({"vmap": "scaled_backward"}, "has a kernel for vmap, and scaled stores to `out`"),
        ({"vmap": "scaled_backward", "outputs": {"out": "x"}}, "scaled_backward stores to `grad_x`, which"),
    ],
)
def test_rules_that_do_not_fit_are_refused(rules: dict[str, Any], words: str, tmp_path: Path) -> None:
    with pytest.raises(tw.UnsupportedError, match=words) as caught:
        made(**rules).write(tmp_path, CPU, form="torch")
    assert caught.value.code == "TW0803" and caught.value.hint


def test_the_command_takes_rules(tmp_path: Path) -> None:
    words = ["--signature", "*fp32, *fp32, i32", "--outputs", "out=x", "--strides", "x=any"]
    kernel = f"{exported.HERE / 'operator_kernels.py'}:scaled"
    done = exported.export(tmp_path / "k", CPU[0], *words, "--form", "torch", kernel=kernel)
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "k" / "scaled_torch.cpp").read_text()
    assert '"scaled(Tensor x, SymInt n, float factor, SymInt[]? grid=None) -> Tensor"' in text
    done = exported.export(tmp_path / "k", CPU[0], *words, kernel=kernel)
    assert done.returncode != 0 and "--form torch, jax and onnxruntime write" in done.stderr
