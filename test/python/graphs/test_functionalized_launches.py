"""A launch within torch.func.functionalize gives what it gives outside of it, and a graph without mutations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tilewright as tw

torch = pytest.importorskip("torch")

from graph_kernels import add_one, copy_pair, plus_one, scale, tuned  # noqa: E402
from torch.fx.experimental.proxy_tensor import make_fx  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")


def in_place(x: Any) -> Any:
    y = x * 1
    scale[(1,)](y, y.numel(), 2.0)
    return y + 1


def of_a_view(x: Any) -> Any:
    y = x * 1
    scale[(1,)](y[2:6], 4, 2.0)
    return y


def of_itself(x: Any) -> Any:
    y = x * 1
    add_one[(1,)](y, y, y.numel(), B=16)
    return y


def of_two_views(x: Any) -> Any:
    y = x * 1
    add_one[(1,)](y[:4], y[4:], 4, B=16)
    scale[(1,)](y.view(2, -1)[1], 4, 3.0)
    return y.view(-1)


def of_a_tuple(x: Any) -> Any:
    out = torch.zeros_like(x)
    copy_pair[(1,)]((x, out), x.numel(), B=16)
    return out


def of_candidates(x: Any) -> Any:
    out = torch.empty_like(x)
    tuned[lambda meta: (tw.cdiv(x.numel(), meta["B"]),)](out, x, x.numel())
    return out


@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@pytest.mark.parametrize("function", [
    plus_one, in_place, of_a_view, of_itself, of_two_views, of_a_tuple, of_candidates,
])  # fmt: skip
def test_results_are_those_of_the_function(function: Callable[[Any], Any], remove: str) -> None:
    x = torch.rand(8)
    kept = x.clone()
    functional = torch.func.functionalize(function, remove=remove)
    for _ in range(2):  # the second time launches are warm
        torch.testing.assert_close(functional(x), function(kept.clone()))
        assert torch.equal(x, kept)


def test_an_argument_that_is_written_is_changed() -> None:
    x = torch.rand(8)
    expected = 2 * x
    torch.func.functionalize(lambda x: scale[(1,)](x, 8, 2.0))(x)
    torch.testing.assert_close(x, expected)


def test_graphs_keep_the_launch() -> None:
    graph = make_fx(torch.func.functionalize(in_place))(torch.rand(8))
    assert "tilewright.scale" in graph.code
    x = torch.rand(8)
    torch.testing.assert_close(graph(x), 2 * x + 1)


def test_stores_into_other_tensors_are_refused() -> None:
    outside = torch.zeros(8)
    with pytest.raises(tw.LaunchError, match="`o`, a tensor from outside") as caught:
        torch.func.functionalize(lambda x: add_one[(1,)](outside, x, 8, B=16))(torch.ones(8))
    assert caught.value.code == "TW0443" and not outside.any()


@pytest.mark.parametrize("transform", [torch.func.vmap, lambda f: torch.func.grad(lambda x: f(x).sum())])
def test_transforms_within_it_are_refused(transform: Any) -> None:
    with pytest.raises(tw.LaunchError) as caught:
        torch.func.functionalize(transform(plus_one))(torch.ones(2, 4))
    assert caught.value.code == "TW0409"
