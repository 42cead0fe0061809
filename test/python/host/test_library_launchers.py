"""What libraries of kernels bring of their own beside kernels: launchers, tuners, arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tilewright as tw
import tilewright.triton as triton
import tilewright.triton.language as tl

torch = pytest.importorskip("torch")


@triton.jit
def scale(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)


class Counting(triton.KernelInterface[Any]):
    """A launcher with a `run` of its own, and none of the rest."""

    def __init__(self, fn: Any) -> None:
        self.fn, self.grids = fn, list[Any]()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        self.grids.append(kwargs["grid"])
        return self.fn.run(*args, **kwargs)


def test_a_launcher_needs_only_run(device: str) -> None:
    kernel = Counting(scale)
    out = np.zeros(6, np.float32)
    kernel[(2,)](np.arange(6, dtype=np.float32), out, 6, BLOCK=4)
    assert kernel.grids == [(2,)]
    np.testing.assert_array_equal(out, np.arange(6) * 2)


def test_a_kernel_shows_the_variables_of_its_module() -> None:
    assert scale.__globals__ is globals()


class Tuner(triton.runtime.Autotuner):
    """A tuner that measures and chooses by itself, by means of the methods of Triton's class."""

    def run(self, *args: Any, **kwargs: Any) -> Any:
        self.nargs = dict(zip(self.arg_names, args))
        self.costs = [self._bench(*args, config=c, **kwargs)[0] for c in self.prune_configs(kwargs)]
        self.pre_hook({**self.nargs, **kwargs}, reset_only=True)
        self.best_config = self.configs[self.costs.index(min(self.costs))]
        return self.fn.run(*args, **kwargs, **self.best_config.all_kwargs())


def test_a_tuner_measures_and_chooses_by_itself(compiler: None) -> None:
    blocks = (3, -1, 4)
    configs = [triton.Config({"BLOCK": block}) for block in blocks]
    costs = iter((5.0, 2.0))

    def do_bench(launch: Any, quantiles: Any) -> list[float]:
        launch()
        return [next(costs)] * len(quantiles)

    rules = {"early_config_prune": lambda configs, named, **kwargs: configs[: named["n"]]}
    kernel = Tuner(
        scale, scale.arg_names, configs, ["n"], ["out"], ["x"],
        prune_configs_by=rules, do_bench=do_bench,
    )  # fmt: skip
    x, out = torch.arange(3.0), torch.ones(3)
    kernel[(1,)](x, out, 3)
    assert kernel.costs == [5.0, math.inf, 2.0] and kernel.best_config.kwargs == {"BLOCK": 4}
    assert out.tolist() == [0.0, 2.0, 4.0]


class View:
    """Elements of a tensor by an address and strides of its own, for example backwards."""

    def __init__(self, base: Any, first: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
        self.base, self.first, self.shape, self.strides = base, first, shape, strides
        self.dtype = base.dtype

    def stride(self) -> tuple[int, ...]:
        return self.strides

    def data_ptr(self) -> int:
        return self.base.data_ptr() + self.first * self.base.element_size()


@tw.jit
def copy_strided(x, out, stride, N: tw.constexpr):
    i = tw.arange(0, N)
    tw.store(out + i, tw.load(x + i * stride))


@pytest.mark.parametrize("name", ["cpu", "reference", "sim:sm_80"])
def test_an_address_and_a_type_are_an_array(name: str, compiler: None) -> None:
    base, out = torch.arange(8, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    with tw.device(name):
        copy_strided[(1,)](View(base, 7, (8,), (-1,)), out, -1, N=8)
    assert out.tolist() == list(range(7, -1, -1))


def test_accesses_beyond_the_reach_of_such_an_array_are_reported(compiler: None) -> None:
    base, out = torch.arange(8, dtype=torch.int32), torch.zeros(8, dtype=torch.int32)
    with tw.device("reference"), pytest.raises(tw.TilewrightError) as error:
        copy_strided[(1,)](View(base, 5, (6,), (-1,)), out, -1, N=8)
    assert error.value.code == "TW0601"


def test_the_type_of_such_an_array_must_be_one_of_kernels(compiler: None) -> None:
    view = View(torch.zeros(4, dtype=torch.complex64), 0, (4,), (1,))
    with pytest.raises(tw.LaunchError, match="complex64") as error:
        copy_strided[(1,)](view, torch.zeros(4), 1, N=4)
    assert error.value.code == "TW0406"
