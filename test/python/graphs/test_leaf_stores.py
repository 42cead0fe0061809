"""A store into a leaf that requires grad, or into a view of one, is refused as torch's in-place operators
are."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import tilewright as tw

torch = pytest.importorskip("torch")

from graph_kernels import scale  # noqa: E402
from operator_functions import scale_  # noqa: E402

pytestmark = pytest.mark.usefixtures("compiler")

VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x, lambda x: x.view(2, 2), lambda x: x[1:], lambda x: x.detach(), lambda x: x.data,
    lambda x: x * 1, lambda x: (x * 1).view(2, 2), lambda x: x.clone().detach().requires_grad_(),
]  # fmt: skip


@pytest.fixture(autouse=True, params=["new", "warm"])
def _launched(request: pytest.FixtureRequest) -> Iterator[None]:
    if request.param == "warm":
        for _ in range(3):
            scale[(1,)](torch.ones(4), 4, 2.0)
    yield


def refuses(call: Callable[[], Any], error: type[Exception]) -> bool:
    try:
        call()
    except error:
        return True
    return False


@pytest.mark.parametrize("kind", ["tensor", "parameter"])
@pytest.mark.parametrize("view", VIEWS)
def test_launches_are_refused_where_torch_refuses(view: Callable[[Any], Any], kind: str) -> None:
    make = torch.nn.Parameter if kind == "parameter" else torch.Tensor.requires_grad_
    for guard in (torch.enable_grad, torch.no_grad):
        with guard():
            ours, theirs = (view(make(torch.ones(4))) for _ in range(2))
            refused = refuses(lambda: theirs.mul_(2), (RuntimeError, NotImplementedError))
            assert refuses(lambda: scale[(1,)](ours, ours.numel(), 2.0), tw.LaunchError) == refused
            assert torch.equal(ours.detach(), theirs.detach())


@pytest.mark.parametrize("view", VIEWS)
def test_operators_are_refused_as_launches_are(view: Callable[[Any], Any]) -> None:
    for guard in (torch.enable_grad, torch.no_grad):
        with guard():
            ours, theirs = (view(torch.ones(4, requires_grad=True)) for _ in range(2))
            refused = refuses(lambda: theirs.mul_(2), (RuntimeError, NotImplementedError))
            assert refuses(lambda: scale_(ours, ours.numel()), tw.LaunchError) == refused
            assert torch.equal(ours.detach(), theirs.detach())


def test_the_error_names_the_parameter() -> None:
    with pytest.raises(tw.LaunchError, match=r"stores to `x`(.|\n)*no_grad") as caught:
        scale[(1,)](torch.ones(4, requires_grad=True), 4, 2.0)
    assert caught.value.code == "TW0440"


@pytest.mark.parametrize("view", VIEWS[:3])
def test_graphs_with_such_launches_are_refused(view: Callable[[Any], Any]) -> None:
    from torch.fx.experimental.proxy_tensor import make_fx

    weight = torch.ones(4, requires_grad=True)

    def forward() -> None:
        written = view(weight)
        scale[(1,)](written, written.numel(), 2.0)

    torch._dynamo.reset()
    with pytest.raises(Exception, match="TW0440"):
        torch.compile(forward, fullgraph=True, backend="aot_eager")()
    with pytest.raises(tw.LaunchError):
        make_fx(forward)()
    assert torch.equal(weight, torch.ones(4))


def test_an_optimizers_step_is_compiled() -> None:
    weight = torch.nn.Parameter(torch.ones(4))

    @torch.no_grad()
    def step() -> None:
        scale[(1,)](weight, 4, 0.5)

    torch._dynamo.reset()
    torch.compile(step, fullgraph=True, backend="aot_eager")()
    assert torch.equal(weight.detach(), torch.full((4,), 0.5))
