"""`x: tw.Tensor`: arrays with shape and strides, whose tiles are loaded and stored by coordinates."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")
RNG = np.random.default_rng()


@tw.jit
def doubled(x: tw.Tensor, out: tw.Tensor, M: tw.constexpr, N: tw.constexpr):
    at = (tw.program_id(0) * M, tw.program_id(1) * N)
    out.store(at, x.load(at, shape=(M, N)) * 2)


@tw.jit
def shifted(x: tw.Tensor, out: tw.Tensor, row, column, pad, M: tw.constexpr, N: tw.constexpr):
    out.store((0, 0), x.load((row, column), shape=(M, N), pad=pad))


@tw.jit
def sums(x: tw.Tensor, out: tw.Tensor, A: tw.constexpr, B: tw.constexpr, C: tw.constexpr):
    i = tw.program_id(0)
    tile = x.load((i * A, 0, 0), shape=(A, B, C))
    out.store((i * A,), tw.sum(tw.sum(tile, 2), 1))


@tw.jit
def described(x: tw.Tensor, out):
    tw.store(out, x.shape[0])
    tw.store(out + 1, x.shape[1])
    tw.store(out + 2, x.stride[0])
    tw.store(out + 3, x.stride[1])
    tw.store(out + 4, x.dtype == tw.float16)
    tw.store(out + 5, tw.load(x.base).to(tw.int32))


@tw.jit
def optional(x: tw.Tensor, out: tw.Tensor):
    value = tw.zeros((16,), tw.float32) if x is None else x.load((0,), shape=(16,))
    out.store((0,), value + 1)


def array(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return RNG.standard_normal(shape).astype(dtype)


@pytest.mark.parametrize("shape", [(35, 50), (32, 48), (1, 100), (3, 1)])
def test_bounds_are_handled(shape: tuple[int, int], device: str) -> None:
    rows, columns = shape
    memory = np.full((rows + 2, columns + 3), 7, np.float32)
    x, out = array(*shape), memory[1:-1, 1:-2]
    doubled[(tw.cdiv(rows, 16), tw.cdiv(columns, 32))](x, out, M=16, N=32)
    assert (out == 2 * x).all()
    memory[1:-1, 1:-2] = 7
    assert (memory == 7).all(), "something around the array was written"


def test_any_strides(device: str) -> None:
    base = array(50, 70)
    for x in (base.T, base[::2, ::3], base[::-1, :], base.T[5:30, 7:]):
        out = np.zeros(x.shape, np.float32)
        doubled[(tw.cdiv(x.shape[0], 16), tw.cdiv(x.shape[1], 16))](x, out, M=16, N=16)
        assert (out == 2 * x).all()


@pytest.mark.parametrize("at", [(0, 0), (-3, -5), (20, 14), (-16, 0), (100, 100)])
def test_elements_outside_are_the_padding(at: tuple[int, int], device: str) -> None:
    x, out = array(23, 19), np.zeros((16, 16), np.float32)
    shifted[(1,)](x, out, *at, -1.5, M=16, N=16)
    padded = np.full((300, 300), -1.5, np.float32)
    padded[100:123, 100:119] = x
    assert (out == padded[100 + at[0] :, 100 + at[1] :][:16, :16]).all()


def test_three_dimensions_and_one(device: str) -> None:
    x, out = array(5, 6, 7), np.zeros(5, np.float32)
    sums[(2,)](x, out, A=4, B=8, C=8)
    np.testing.assert_allclose(out, x.astype(np.float64).sum((1, 2)), rtol=1e-5, atol=1e-5)


def test_what_a_tensor_tells(device: str) -> None:
    x = np.full((6, 20), 3, np.float16)[:, 4:11]
    out = np.full(6, -1, np.int32)
    described[(1,)](x, out)
    assert out.tolist() == [6, 7, 20, 1, 1, 3]
    described[(1,)](x.astype(np.float32).T, out)
    assert out.tolist() == [7, 6, 1, 7, 0, 3]


def test_an_optional_tensor(device: str) -> None:
    x, out = array(16), np.zeros(16, np.float32)
    optional[(1,)](x, out)
    assert (out == x + 1).all()
    optional[(1,)](None, out)
    assert (out == 1).all()


class Exported:
    """An array that speaks DLPack and nothing else."""

    def __init__(self, owner: Any) -> None:
        self.owner = owner

    def __dlpack__(self, **options: Any) -> Any:
        return self.owner.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.owner.__dlpack_device__()


def test_tensors_of_torch_and_dlpack() -> None:
    torch = pytest.importorskip("torch")
    x = torch.randn(40, 33).t()
    out = torch.zeros(33, 40)
    doubled[(3, 3)](x, out, M=16, N=16)
    assert torch.equal(out, 2 * x)
    out.zero_()
    doubled[(3, 3)](Exported(x), Exported(out), M=16, N=16)
    assert torch.equal(out, 2 * x)
    leaf = torch.zeros(33, 40)
    version = leaf._version
    doubled[(3, 3)](x, leaf, M=16, N=16)
    assert leaf._version > version, "torch is told of the write"


def parameters(kernel: Any) -> list[str]:
    return [name for name, *_ in kernel.parameters]


def test_strides_of_one_and_exact_shapes_are_known() -> None:
    x, out = array(35, 50), np.zeros((35, 50), np.float32)
    kernel = doubled[(3, 4)](x, out, M=16, N=16)
    assert "x.stride[0]" in parameters(kernel) and "x.stride[1]" not in parameters(kernel)
    assert doubled[(3, 4)](x, out, M=16, N=16) is kernel
    exact = tw.jit(specialize="shape")(doubled.fn)
    assert parameters(exact[(3, 4)](x, out, M=16, N=16)) == ["x.base", "out.base"]
    assert (out == 2 * x).all()


def test_a_signature_names_the_parts() -> None:
    entry = ("*fp32:16", ("i32", "i32"), ("i32", "i32:1"))
    kernel = doubled.compile({"x": entry, "out": entry}, {"M": 16, "N": 16})
    x, out = array(35, 50), np.zeros((35, 50), np.float32)
    kernel[(3, 4)](x, out)
    assert (out == 2 * x).all()
    with pytest.raises(ValueError, match="types of the shape"):
        doubled.compile({"x": ("*fp32",), "out": entry}, {"M": 16, "N": 16})


def test_a_closed_world_knows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    from tilewright import knobs

    monkeypatch.setenv("TILEWRIGHT_JIT", "allow")
    knobs.reset()
    kernel = tw.jit(doubled.fn)
    x, out = array(35, 50), np.zeros((35, 50), np.float32)
    kernel.prepare(x, out, M=16, N=16)
    tw.freeze()
    kernel[(3, 4)](x, out, M=16, N=16)
    assert (out == 2 * x).all()
    with pytest.raises(tw.LaunchError) as caught:
        kernel[(3, 4)](x.T, out.T, M=16, N=16)
    assert caught.value.code == "TW0408"
    eval(caught.value.hint.removeprefix("prepare it: ").replace("doubled", "kernel"))
    kernel[(3, 4)](x.T, out.T, M=16, N=16)
    assert (out == 2 * x).all()
    with pytest.raises(tw.LaunchError) as caught:
        tw.jit(pair_of.fn)[(1,)](out, (x, None))
    assert "no signature can name `pair`" in caught.value.hint


@tw.jit
def pair_of(out, pair):
    tw.store(out, tw.load(pair[0]))


@tw.jit
def too_few(x: tw.Tensor, out):
    tw.store(out, tw.sum(x.load((0,), shape=(16,))))


def test_a_rank_that_differs_is_told_at_the_load() -> None:
    with pytest.raises(tw.CompileError, match="one extent for each dimension") as caught:
        too_few[(1,)](array(4, 4), np.zeros(1, np.float32))
    assert "x.load((0,), shape=(16,))" in caught.value.rendered


def test_what_cannot_be_a_tensor() -> None:
    out = np.zeros((4, 4), np.float32)
    with pytest.raises(tw.LaunchError) as caught:
        doubled[(1, 1)](3.5, out, M=16, N=16)
    assert "`x`" in str(caught.value)
    records = np.zeros(4, np.dtype([("a", "<f4"), ("b", "<i2")]))["a"].reshape(2, 2)
    with pytest.raises(tw.LaunchError, match="not multiples"):
        doubled[(1, 1)](records, out, M=16, N=16)
    fixed = array(4, 4)
    fixed.flags.writeable = False
    with pytest.raises(tw.LaunchError) as caught:
        doubled[(1, 1)](out, fixed, M=16, N=16)
    assert caught.value.code == "TW0403"
