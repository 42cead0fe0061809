"""Tiles of one matrix of a batch, by descriptors of all its dimensions, are boxes as matrices are."""

from __future__ import annotations

import numpy as np
import pytest
from gpu.launching import launching_on
from gpu.products.test_gpu_boxes import copies, mapped
from gpu.products.test_gpu_matmul import assert_equal, integers, launch

import tilewright as tw

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "hopper"), pytest.mark.one_machine]


@tw.jit
def batch_by_descriptors(
    a, b, c, B, M, N, K, HOST: tw.constexpr, RANK: tw.constexpr, ADDS: tw.constexpr,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """c[i] = a[i] @ b[i]: tiles of 3 dimensions, or 4, are matrices."""
    z, m, n = tw.program_id(2), tw.program_id(0) * BM, tw.program_id(1) * BN
    if HOST:
        left, right, to = a, b, c
    elif RANK == 3:
        left = tw.make_tensor_descriptor(a, [B, M, K], [M * K, K, 1], [1, BM, BK])
        right = tw.make_tensor_descriptor(b, [B, K, N], [K * N, N, 1], [1, BK, BN])
        to = tw.make_tensor_descriptor(c, [B, M, N], [M * N, N, 1], [1, BM, BN])
    else:
        left = tw.make_tensor_descriptor(a, [B, M, 1, K], [M * K, K, K, 1], [1, BM, 1, BK])
        right = tw.make_tensor_descriptor(b, [1, B, K, N], [B * K * N, K * N, N, 1], [1, 1, BK, BN])
        to = tw.make_tensor_descriptor(c, [B, 1, M, N], [M * N, M * N, N, 1], [1, 1, BM, BN])
    total = tw.zeros((BM, BN), tw.float32)
    for k in range(0, K, BK):
        if RANK == 3:
            x, y = left.load([z, m, k]), right.load([z, k, n])
        else:
            x, y = left.load([z, m, 0, k]), right.load([0, z, k, n])
        total = tw.dot(x.reshape(BM, BK), y.reshape(BK, BN), total)
    out = total.to(tw.float16)
    if ADDS:
        to.atomic_add([z, m, n], total.reshape(1, BM, BN))
    elif RANK == 3:
        to.store([z, m, n], out.reshape(1, BM, BN))
    else:
        to.store([z, 0, m, n], out.reshape(1, 1, BM, BN))


@pytest.mark.parametrize("form", ["host", "3", "4"])
@pytest.mark.parametrize("completion", ["late", "random", "early"])
def test_matrices_of_descriptors_of_batches(form: str, completion: str, rng: np.random.Generator) -> None:
    """A program behind the last matrix of the batch reads zeros, and stores nothing."""
    B, M, N, K = 2, 112, 144, 80
    a, b = integers(rng, B, M, K), integers(rng, B, K, N)
    c = torch.full((B + 1, M, N), 7, dtype=torch.float16)
    arguments = [a, b, c]
    if form == "host":
        blocks = ([1, 64, 32], [1, 32, 64], [1, 64, 64])
        whole = zip((a, b, c[:B]), blocks)
        arguments = [tw.TensorDescriptor.from_tensor(tensor, block) for tensor, block in whole]
    compiled = launch(
        batch_by_descriptors, (2, 3, B + 1), *arguments, B, M, N, K, HOST=form == "host",
        ADDS=False, RANK=4 if form == "4" else 3, BM=64, BN=64, BK=32, setting=(4, 3, completion),
    )  # fmt: skip
    assert_equal(c[:B], a.double() @ b.double())
    assert (c[B] == 7).all()
    if form != "4":  # nothing divides what the fourth dimension adds
        assert copies(compiled) > 0 and len(mapped(compiled)) == 3


@pytest.mark.parametrize("cluster, BN", [((2, 1, 1), 256), ((2, 2, 1), 128), ((1, 1, 1), 128)])
@pytest.mark.parametrize("completion", ["late", "random"])
def test_clusters_share_matrices_of_batches(
    cluster: tuple[int, int, int], BN: int, completion: str, rng: np.random.Generator
) -> None:
    """All of a cluster are in the same matrix. What they add to memory are boxes as well."""
    B, M, N, K = 2, 112, 304, 80
    a, b, c = integers(rng, B, M, K), integers(rng, B, K, N), torch.full((B, M, N), 3.0)
    columns = -(-N // BN)
    compiled = launch(
        batch_by_descriptors, (2, columns + columns % 2, B), a, b, c, B, M, N, K, HOST=False, RANK=3,
        ADDS=True, BM=64, BN=BN, BK=32, cluster_dims=cluster, setting=(4, 2, completion),
    )  # fmt: skip
    assert_equal(c, 3 + a.double() @ b.double())
    ptx = compiled.asm["ptx"]
    assert (".multicast::cluster" in ptx) == (cluster != (1, 1, 1))
    # A larger tile of sums does not fit in shared memory at once.
    assert ("cp.reduce.async.bulk.tensor.3d" in ptx) == (BN == 128)


@pytest.mark.parametrize("device", ["sim:sm_80", "sim:gfx942", "sim:xe2", "sim:generic16"])
def test_other_machines_read_nothing_behind_the_batch(device: str, rng: np.random.Generator) -> None:
    B, M, N, K = 2, 112, 144, 80
    a, b, c = integers(rng, B, M, K), integers(rng, B, K, N), torch.full((B, M, N), 7, dtype=torch.float16)
    with launching_on(device):
        launch(
            batch_by_descriptors, (2, 3, B + 1), a, b, c, B, M, N, K, HOST=False, ADDS=False, RANK=3,
            BM=64, BN=64, BK=32, setting=(4, 2, "late"),
        )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
