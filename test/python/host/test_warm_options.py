"""Launches like earlier ones that gave options, or that go through `run`."""

from __future__ import annotations

from typing import Any

import pytest
from test_warm_launches import (
    expected,
    new_kernel,
    num_by_python,
    torch,
    torch_known_to_the_compiler,
)

import tilewright as tw
from tilewright.tuning.isolation import launches_of

__all__ = ["torch_known_to_the_compiler"]
pytestmark = pytest.mark.usefixtures("compiler", "torch_known_to_the_compiler")


def test_options_of_launches() -> None:
    """Each set of options has its kernel; a function of the grid sees them."""
    kernel = new_kernel()
    x, seen = torch.arange(40.0), list[Any]()

    def grid(arguments: dict[str, Any]) -> tuple[int]:
        seen.append((arguments["num_warps"], arguments["debug"]))
        return (3,)

    options: list[dict[str, Any]] = [
        {}, {"num_warps": 2}, {"num_warps": 8}, {"num_warps": 2, "num_stages": 3}, {"debug": True},
        {"num_warps": 1}, {"swizzle_programs": "xcd"},  # the checks of debug are Python's
    ]  # fmt: skip
    for again in range(3):
        for given in options:
            for extents in (grid, (3,)):
                for run in (
                    lambda **names: kernel[extents](names["out"], x, 40, **given),
                    lambda **names: kernel.run(names["out"], x, 40, grid=extents, **given),
                    lambda **names: kernel[extents](**given, **names, n=40, x=x),
                ):
                    out, ran = torch.zeros(40), list[Any]()
                    by_python = num_by_python(lambda: ran.append(run(out=out)))
                    assert torch.equal(out, expected(x, 40))
                    assert not (again and by_python) or "debug" in given
                    (compiled,) = ran
                    for name, value in given.items():
                        assert getattr(compiled.request.options, name) == value
                    assert compiled.request.options.num_warps == given.get("num_warps", 4)
            assert seen[-1] == (given.get("num_warps", 4), given.get("debug", False))
    out = torch.zeros(40)
    for _ in range(2):
        for given in ({"num_warps": 3}, {"num_warp": 2}, {"n": 4}):
            with pytest.raises(tw.LaunchError):
                kernel[(3,)](out, x, 40, **given)


def test_warm_launches_are_diverted_too() -> None:
    """As those that autotuning measures in a process of their own."""
    kernel, x = new_kernel(), torch.arange(40.0)
    for launch in (
        lambda out: kernel[(3,)](out, x, 40),
        lambda out: kernel.run(out, x, 40, grid=(3,), num_warps=2),
    ):
        for _ in range(2):
            launch(torch.zeros(40))
        out = torch.zeros(40)
        (diverted,) = launches_of(lambda: launch(out))
        assert diverted.programs == (3, 1, 1) and not out.any()
        launch(out)
        assert torch.equal(out, expected(x, 40))
