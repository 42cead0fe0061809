"""A launch within torch.compile is one operator: no break of the graph, results as torch's own
operators give them, with symbolic sizes, and with outputs that are inputs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tilewright as tw

torch = pytest.importorskip("torch")

from graph_kernels import (  # noqa: E402
    add_one,
    add_one_to_array,
    add_one_to_block,
    add_optional,
    chosen,
    copy_columns,
    copy_pair,
    negated,
    plus_one,
    scale,
    tuned,
    write_either,
)

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(function: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """What AOTAutograd makes of a function, which is most of torch.compile; without a compiler of C++."""
    return torch.compile(function, fullgraph=True, **{"backend": "aot_eager", **options})


def graph_of(function: Callable[..., Any], *args: Any) -> Any:
    """The graph that the backend gets."""
    graphs: list[Any] = []

    def keep(module: Any, _: Any) -> Any:
        graphs.append(module)
        return module

    torch.compile(function, fullgraph=True, backend=keep)(*args)
    (graph,) = graphs
    return graph


def operators_in(graph: Any) -> list[str]:
    return [str(node.target) for node in graph.graph.nodes if "tilewright" in str(node.target)]


def in_place(x: Any, factor: Any) -> Any:
    y = x + 0
    scale[(1,)](y, y.numel(), factor)
    return y * 2


def test_a_launch_is_one_operator() -> None:
    x = torch.arange(100.0)
    assert len(operators_in(graph_of(plus_one, x))) == 1
    torch.testing.assert_close(compiled(plus_one)(x), x + 1)
    torch.testing.assert_close(compiled(plus_one, backend="inductor")(x), x + 1)


def test_what_is_written_is_known_from_the_kernel() -> None:
    (name,) = operators_in(graph_of(plus_one, torch.ones(4)))
    schema = getattr(torch.ops.tilewright, name.split(".")[-1]).default._schema
    written = {a.name: bool(a.alias_info and a.alias_info.is_write) for a in schema.arguments}
    assert written == {"grid": False, "o": True, "x": False, "n": False}


@pytest.mark.parametrize("n", [1, 5])
def test_a_store_that_a_number_decides_counts_for_every_number(n: int) -> None:
    """A binary for n == 1 has one of the stores, and one for other numbers the other."""

    def forward(x: Any) -> Any:
        first, second = torch.zeros_like(x), torch.zeros_like(x)
        write_either[(1,)](first, second, x.numel(), 8)
        return first + second

    torch.testing.assert_close(compiled(forward)(torch.zeros(n)), torch.full((n,), 1.0 if n == 1 else 2.0))


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_sizes_and_grids_are_symbolic(backend: str) -> None:
    from torch._dynamo.testing import CompileCounterWithBackend

    frames = CompileCounterWithBackend(backend)
    function = compiled(plus_one, backend=frames, dynamic=True)
    for n in (10, 999, 4096):
        x = torch.rand(n)
        torch.testing.assert_close(function(x), x + 1)
    assert frames.frame_count == 1
    marked = torch.rand(70)
    torch._dynamo.mark_dynamic(marked, 0)
    torch.testing.assert_close(compiled(plus_one, backend=backend)(marked), marked + 1)


@pytest.mark.parametrize("backend", ["aot_eager", "inductor"])
def test_numbers_of_the_caller_are_symbolic(backend: str) -> None:
    function = compiled(in_place, backend=backend, dynamic=True)
    for n in (3, 17, 200):
        torch.testing.assert_close(function(torch.ones(n), float(n)), torch.full((n,), 2.0 * n))


def launch_by_function(x: Any) -> Any:
    o = torch.empty_like(x)
    add_one[lambda meta: (tw.cdiv(meta["n"], meta["B"]),)](o, x, n=x.numel(), B=64, num_warps=2)
    return o


def launch_tuned(x: Any) -> Any:
    o = torch.zeros_like(x)
    tuned[lambda meta: (tw.cdiv(x.numel(), meta["B"]),)](o, x, x.numel())
    return o


def launch_chosen(x: Any) -> Any:
    o = torch.zeros_like(x)
    chosen[lambda meta: (tw.cdiv(x.numel(), meta["B"]),)](o, x, x.numel())
    return o


def launch_tuple(x: Any) -> Any:
    o = torch.empty_like(x)
    copy_pair[(1,)]((x, o), x.numel(), 2048)
    return o


def launch_list(x: Any) -> Any:
    o = torch.empty_like(x)
    copy_pair[1]([x, o], x.numel(), B=2048)
    return o


def launch_array(x: Any) -> Any:
    o = torch.empty_like(x)
    add_one_to_array[(tw.cdiv(x.numel(), 64), 1)](o, x, 64)
    return o


def launch_block(x: Any) -> Any:
    o = torch.empty_like(x)
    describe = tw.TensorDescriptor.from_tensor
    add_one_to_block[(1,)](describe(o, [2048]), describe(x, [2048]))
    return o


def launch_run(x: Any) -> Any:
    o = torch.empty_like(x)
    add_one.run(o, x, x.numel(), 64, grid=(tw.cdiv(x.numel(), 64),))
    return o


def launch_optional(x: Any) -> Any:
    o, result = torch.empty_like(x), torch.empty_like(x)
    add_optional[(1,)](o, x, None, x.numel(), 2048)
    add_optional[(1,)](result, o, torch.ones_like(x), x.numel(), 2048)
    return result


def launch_reinterpreted(x: Any) -> Any:
    o = torch.empty_like(x)
    bits = tw.reinterpret(o.view(torch.int32), tw.float32)
    add_one[(tw.cdiv(x.numel(), 64),)](bits, x, x.numel(), B=64)
    return o


FORMS = [launch_by_function, launch_tuned, launch_chosen, launch_tuple, launch_list, launch_array,
         launch_block, launch_run, launch_optional, launch_reinterpreted]  # fmt: skip


@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
@pytest.mark.parametrize("function", FORMS, ids=[form.__name__ for form in FORMS])
def test_launches_of_every_form(function: Callable[[Any], Any], dynamic: bool) -> None:
    traced = compiled(function, dynamic=dynamic)
    for n in (1000, 128):
        x = torch.rand(n)
        torch.testing.assert_close(traced(x), x + 1)


def test_functions_and_buckets_are_constants() -> None:
    def forward(x: Any) -> Any:
        y = x.clone()
        scale[lambda meta: (tw.cdiv(meta["n"], meta["B"]),)](y, x.numel(), 2.0, F=negated)
        return y

    for n in (5, 300):
        x = torch.rand(n)
        torch.testing.assert_close(compiled(forward, dynamic=True)(x), -2 * x)


def test_an_input_that_is_written_is_seen_so() -> None:
    def forward(x: Any) -> Any:
        before = x * 1
        scale[(1,)](x, x.numel(), 3.0)
        return before, x + 1, x.view(-1)[:4]

    for options in ({}, {"dynamic": True}, {"backend": "inductor"}):
        x = torch.arange(8.0)
        before, after, view = compiled(forward, **options)(x)
        torch.testing.assert_close(before, torch.arange(8.0))
        torch.testing.assert_close(x, 3 * torch.arange(8.0))
        torch.testing.assert_close(after, x + 1)
        assert view.data_ptr() == x.data_ptr()


def test_arguments_that_share_memory() -> None:
    def twice(x: Any) -> Any:
        y = x + 0
        add_one[(1,)](y, y, 64, 64)
        return y

    def views(x: Any) -> Any:
        y = x + 0
        add_one[(1,)](y[4:20], y[40:56], 16, 16)
        return y

    x = torch.rand(64)
    expected = x.clone()
    expected[4:20] = x[40:56] + 1
    for backend in ("aot_eager", "inductor"):
        torch.testing.assert_close(compiled(twice, backend=backend)(x), x + 1)
        torch.testing.assert_close(compiled(views, backend=backend)(x), expected)


def test_a_launch_gets_the_strides_that_it_is_told() -> None:
    def forward(x: Any) -> Any:
        y = (x * 2).t()
        o = torch.empty(y.shape)
        copy_columns[(1,)](o, y, *y.shape, *y.stride(), 16)
        wide = x[:1].expand(4, x.shape[1])
        copied = torch.empty(wide.shape)
        copy_columns[(1,)](copied, wide, *wide.shape, *wide.stride(), 16)
        return o, copied

    x = torch.rand(5, 7)
    for backend in ("aot_eager", "inductor"):
        transposed, wide = compiled(forward, backend=backend)(x)
        torch.testing.assert_close(transposed, (2 * x).t().contiguous())
        torch.testing.assert_close(wide, x[:1].expand(4, 7).contiguous())


def test_a_step_of_training_around_a_launch() -> None:
    weight = torch.ones(8, requires_grad=True)

    def loss(weight: Any) -> Any:
        y = weight * 3
        o = torch.zeros_like(y)
        add_one[(1,)](o, y.detach(), 8, 8)
        return (o * weight).sum()

    compiled(loss)(weight).backward()
    torch.testing.assert_close(weight.grad, torch.full((8,), 4.0))


def test_kernels_of_modules_and_closures() -> None:
    class Module(torch.nn.Module):
        def __init__(self, kernel: Any) -> None:
            super().__init__()
            self.kernel = kernel

        def forward(self, x: Any) -> Any:
            o = torch.empty_like(x)
            self.kernel[(1,)](o, x, x.numel(), 16)
            return o

    x = torch.rand(16)
    torch.testing.assert_close(compiled(Module(add_one))(x), x + 1)
    for kernel in (add_one, chosen.fn):
        torch.testing.assert_close(compiled(lambda x, k=kernel: Module(k).forward(x))(x), x + 1)


def lacks_an_argument(x: Any) -> None:
    add_one[(1,)](x, x.numel(), B=16)


def has_a_grid_of_four(x: Any) -> None:
    add_one[(1, 1, 1, 1)](x, x, 4, B=16)


def has_complex_numbers(x: Any) -> None:
    add_one[(1,)](x.to(torch.complex64), x, 4, B=16)


@pytest.mark.parametrize(("function", "code"), [
    (lacks_an_argument, "TW0404"), (has_a_grid_of_four, "TW0402"), (has_complex_numbers, "TW0406"),
])  # fmt: skip
def test_a_wrong_launch_says_what_is_wrong_at_its_line(function: Callable[..., Any], code: str) -> None:
    with pytest.raises(tw.LaunchError) as caught:
        compiled(function)(torch.ones(4))
    error, text = caught.value, str(caught.value)
    assert error.code == code and f"error[{code}]" in text
    line = function.__code__.co_firstlineno + 1
    assert f'"{__file__}", line {line}' in text and "tilewright/launch" not in text
    copied = pickle.loads(pickle.dumps(error))
    assert type(copied) is tw.LaunchError and copied.code == code
    with pytest.raises(tw.LaunchError) as caught:
        torch.compile(function, backend="eager")(torch.ones(4))
    assert caught.value.code == code, "where the graph may be split, too"


@pytest.mark.parametrize("made", ["inside", "outside"])
def test_arrays_of_other_libraries_split_the_graph(made: str) -> None:
    kept = np.ones(16, np.float32)

    def forward(x: Any) -> Any:
        o = torch.zeros(16)
        add_one[(1,)](o, np.ones(16, np.float32) if made == "inside" else kept, 16, 16)
        return o + x

    torch.testing.assert_close(torch.compile(forward, backend="eager")(torch.ones(16)), torch.full((16,), 3.0))


def test_one_compiled_kernel_runs_between_graphs() -> None:
    kernel = add_one.warmup(torch.float32, torch.float32, 16, 16, grid=(1,))
    x = torch.rand(16)

    def forward(x: Any) -> Any:
        o = torch.zeros(16)
        kernel[(1,)](o, x * 1, 16)
        return o + 1

    torch.testing.assert_close(torch.compile(forward, backend="eager")(x), x + 2)
