"""Tensor descriptors made on the host, as arguments of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from array_blocks import block_of, elements, put_block, spans

import tilewright as tw
import tilewright.triton.language as tl
from tilewright.errors import LaunchError
from tilewright.triton.tools.tensor_descriptor import TensorDescriptor


@tw.jit
def copy_block(x_desc, y_desc, i, j):
    tw.static_assert(isinstance(x_desc, tl.tensor_descriptor))
    y_desc.store([j, i], x_desc.load([i, j]).T.to(y_desc.dtype))


@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_descriptors_as_arguments(padding: str, device: str, rng: np.random.Generator) -> None:
    x = elements(rng, (13, 24), "float16")
    for i, j in ((0, 0), (8, 16), (-3, 20), (90, 0)):
        y = np.full((21, 16), 99, np.float32)
        value = block_of(x, spans((i, j), (8, 16)), np.nan if padding == "nan" else 0)
        expected = y.copy()
        put_block(expected, spans((j, i), (16, 8)), value.T)
        source = TensorDescriptor.from_tensor(x, [8, 16], padding=padding)
        target = tw.TensorDescriptor(y, y.shape, (16, 1), [16, 8])
        copy_block[(1,)](source, target, i, j)
        np.testing.assert_array_equal(y, expected)


def test_views_and_torch_tensors(device: str, rng: np.random.Generator) -> None:
    memory = elements(rng, (20, 40), "float32")
    x = torch.from_numpy(memory)[3:17, 8:32]
    y = torch.zeros(24, 14)
    for i in range(0, 14, 8):
        for j in range(0, 24, 16):
            copy_block[(1,)](TensorDescriptor.from_tensor(x, [8, 16]),
                             TensorDescriptor.from_tensor(y, [16, 8]), i, j)  # fmt: skip
    np.testing.assert_array_equal(y.numpy(), x.numpy().T)


@tw.jit
def scale(descs, factor, n, B: tw.constexpr):
    at = [tw.program_id(0) * B]
    total = tw.zeros((B,), tw.float32)
    for k in tw.static_range(len(descs[0])):
        total += descs[0][k].load(at)
    out = descs[1]
    for step in range(n):
        if step == 1:
            out = tw.make_tensor_descriptor(factor, [4], [1], [B])
        out.store(at, total * descs[2])


def test_descriptors_in_tuples(device: str, rng: np.random.Generator) -> None:
    xs = rng.standard_normal((3, 40)).astype(np.float32)
    out, other = np.full(40, np.nan, np.float32), np.full(8, np.nan, np.float32)
    inputs = tuple(TensorDescriptor.from_tensor(x, [16]) for x in xs)
    descs = (inputs, TensorDescriptor.from_tensor(out, [16]), 2.0)
    scale[(3,)](descs, other, 2, B=16)
    np.testing.assert_allclose(out, 2 * xs.sum(0), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(other[:4], 2 * xs[:, :4].sum(0), rtol=1e-5, atol=1e-5)
    assert np.isnan(other[4:]).all()


@tw.jit(do_not_specialize=["x_desc"])
def first_rows(x_desc, y, N: tw.constexpr):
    tw.static_assert(x_desc.strides[1] == 1 and x_desc.block_shape[1] == N)
    i = tw.arange(0, N)
    tw.store(y + i, tw.sum(x_desc.load([0, 0]), axis=0) + x_desc.shape[0])


def test_run_time_parts_do_not_compile_again_and_blocks_do(compiler: None) -> None:
    y = np.zeros(16, np.float32)
    kernels: list[Any] = []
    for rows, block in ((7, 4), (9, 4), (7, 8)):
        x = np.ones((rows, 16), np.float32)
        desc = TensorDescriptor.from_tensor(x, [block, 16])
        kernels.append(first_rows[(1,)](desc, y, N=16))
        np.testing.assert_array_equal(y, min(rows, block) + rows)
    assert kernels[0] is kernels[1] and kernels[0] is not kernels[2]


def test_a_block_shape_that_a_hook_sets(compiler: None) -> None:
    x, y = np.ones((8, 16), np.float32), np.zeros(16, np.float32)
    desc = TensorDescriptor.from_tensor(x, [1, 1])

    def set_block(nargs: dict[str, Any]) -> None:
        nargs["x_desc"].block_shape = [4, nargs["N"]]

    tuned = tw.autotune([tw.Config({"N": 16}, pre_hook=set_block)], key=[])(first_rows)
    tuned[(1,)](desc, y)
    np.testing.assert_array_equal(y, 4 + 8)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"shape": (4, 4, 1)}, "number of dimensions"),
        ({"block_shape": (4,)}, "number of dimensions"),
        ({"strides": (1, 4)}, "last stride is 4"),
        ({"shape": (0, 4)}, "below 1"),
        ({"block_shape": (4, 0)}, "below 1"),
        ({"padding": "one"}, "padding is 'one'"),
        ({"base": np.zeros(16, np.int32), "padding": "nan"}, "floats only"),
        ({"shape": (1,) * 6, "strides": (1,) * 6, "block_shape": (1,) * 6}, "6 dimensions"),
    ],
)
def test_wrong_descriptors_are_refused(changes: dict[str, Any], words: str) -> None:
    fields: dict[str, Any] = {
        "base": np.zeros(16, np.float32), "shape": (4, 4), "strides": (4, 1), "block_shape": (4, 4),
    }  # fmt: skip
    with pytest.raises(LaunchError, match=words) as caught:
        TensorDescriptor(**(fields | changes))
    assert caught.value.code == "TW0236"


def test_a_descriptor_that_became_wrong_is_refused_at_the_launch(compiler: None) -> None:
    desc = TensorDescriptor.from_tensor(np.zeros((8, 16), np.float32), [4, 16])
    desc.block_shape = [4]
    with pytest.raises(LaunchError) as caught:
        first_rows[(1,)](desc, np.zeros(16, np.float32), N=16)
    assert caught.value.code == "TW0236" and "x_desc" in caught.value.message
