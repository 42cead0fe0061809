"""Programs of a cluster copy a box that all of them need once, for all: multicast."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from gpu.launching import ARCHS, BOX_SETTINGS, Setting
from gpu.products.test_gpu_matmul import assert_equal, integers, launch, poisoned

import tilewright as tw
from tilewright.compile import CompiledKernel, compile_request

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler", "hopper"), pytest.mark.one_machine]


def multicasts(compiled: CompiledKernel) -> int:
    """Copies of boxes to all programs of the cluster, in the code."""
    return compiled.asm["ptx"].count(".multicast::cluster")


def reasons(compiled: CompiledKernel) -> list[str]:
    """The remarks on copies of the programs of a cluster."""
    return [r["message"] for r in compiled.remarks if r["code"] == "TW0371"]


@tw.jit
def matmul(
    a, b, c, M, N, K, ORDER: tw.constexpr, COLUMNS: tw.constexpr, GROUP: tw.constexpr,
    BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr,
):  # fmt: skip
    """c = a @ b, with programs in several orders."""
    if ORDER == "axes":
        row, column = tw.program_id(0), tw.program_id(1)
    elif ORDER == "known columns":
        row, column = tw.program_id(0) // COLUMNS, tw.program_id(0) % COLUMNS
    elif ORDER == "shifted":
        columns = tw.cdiv(N, BN)
        tile = (tw.program_id(0) + 1) % tw.num_programs(0)
        row, column = tile // columns, tile % columns
    elif ORDER == "columns":
        columns = tw.cdiv(N, BN)
        row, column = tw.program_id(0) // columns, tw.program_id(0) % columns
    else:
        in_group = tw.program_id(0) % (GROUP * tw.cdiv(N, BN))
        first = tw.program_id(0) // (GROUP * tw.cdiv(N, BN)) * GROUP
        rows = min(tw.cdiv(M, BM) - first, GROUP)
        row, column = first + in_group % rows, in_group // rows
    m, n, k = row * BM + tw.arange(0, BM), column * BN + tw.arange(0, BN), tw.arange(0, BK)
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        inside = (m[:, None] < M) & (start + k[None, :] < K)
        x = tw.load(a + m[:, None] * K + (start + k)[None, :], mask=inside, other=0.0)
        inside = (start + k[:, None] < K) & (n[None, :] < N)
        y = tw.load(b + (start + k)[:, None] * N + n[None, :], mask=inside, other=0.0)
        total = tw.dot(x, y, total)
    tw.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


def run(
    rng: np.random.Generator, rows: int, columns: int, depth: int, setting: Setting,
    cluster: tuple[int, int, int], order: str = "axes", grid: Any = (4, 2), group: int = 2,
) -> CompiledKernel:  # fmt: skip
    a, b, c = integers(rng, rows, depth), integers(rng, depth, columns), poisoned(rows, columns)
    compiled = launch(
        matmul, grid, a, b, c, rows, columns, depth, ORDER=order, COLUMNS=2, GROUP=group,
        BM=16 * setting[0], BN=64, BK=64, setting=setting, cluster_dims=cluster,
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    return compiled


# Programs along the first axis have other rows, those along the second one other columns.
CLUSTERS = [(2, 1, 1), (1, 2, 1), (4, 1, 1), (2, 2, 1), (4, 2, 1)]


@pytest.mark.parametrize("cluster", CLUSTERS)
@pytest.mark.parametrize("setting", BOX_SETTINGS)
def test_programs_of_a_cluster_copy_once(
    cluster: tuple[int, int, int], setting: Setting, rng: np.random.Generator
) -> None:
    BM = 16 * setting[0]
    compiled = run(rng, 4 * BM, 128, 256, setting, cluster)
    assert multicasts(compiled) > 0
    shared = "1 of 2 loads once for all of them"
    if min(cluster[:2]) > 1:
        shared = "2 of 2 loads once for all of them that need them"
    assert reasons(compiled) == [f"the programs of a cluster copy the tiles of {shared}"]
    assert f".reqnctapercluster {cluster[0]}, {cluster[1]}, 1" in compiled.asm["ptx"]
    # Each program copies its part of the rows of a slab.
    for rows, programs in ((BM, cluster[1]), (64, cluster[0])):
        assert f", {rows // programs}] span 128" in compiled.asm["scheduled"]
    mix = tw.simulation.last_report("sim:sm_90a").statistics["mix"]
    together = sum(count for text, count in mix.items() if "multicast" in text)
    assert together == 8 * 4 * sum(extent > 1 for extent in cluster)
    # A slot is free when those have released it that this program copies to: along one of the axes.
    arrivals = set(re.findall(r"mbarrier\.init\S+ \[\S+\], (\d+);", compiled.asm["ptx"]))
    assert arrivals == {"1", str(setting[0] * (cluster[0] + cluster[1] - 1))}


@pytest.mark.parametrize("completion", ["late", "random", "early"])
@pytest.mark.parametrize("cluster", [(2, 1, 1), (1, 2, 1), (2, 2, 1)])
def test_what_lies_beyond_the_matrices(
    cluster: tuple[int, int, int], completion: str, rng: np.random.Generator
) -> None:
    """The last step of k, rows and columns are parts of a tile."""
    compiled = run(rng, 200, 112, 208, (4, 3, completion), cluster)
    assert multicasts(compiled) > 0


def test_the_order_of_programs_is_known_or_not(rng: np.random.Generator) -> None:
    setting = (4, 3, "late")
    known = run(rng, 256, 128, 192, setting, (2, 1, 1), "known columns", (8,))
    assert multicasts(known) > 0
    unknown = run(rng, 256, 128, 192, setting, (2, 1, 1), "shifted", (8,))
    assert multicasts(unknown) == 0
    assert reasons(unknown) == [
        "the programs of a cluster copy alone: no tile of this loop is known to be the same in all "
        "of them"
    ]


@tw.jit
def wide(a, b, c, M, N, K, KNOWN: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    """c = a @ b of tiles of several slabs along n."""
    m, n = tw.program_id(0) * BM + tw.arange(0, BM), tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    if KNOWN:
        N = KNOWN
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        x = tw.load(a + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
        y = tw.load(b + (start + k)[:, None] * N + n[None, :], mask=n[None, :] < N, other=0.0)
        total = tw.dot(x, y, total)
    tw.store(c + m[:, None] * N + n[None, :], total, mask=(m[:, None] < M) & (n[None, :] < N))


# The cluster, columns of a tile, of the matrix, and the boxes that each program copies together with
# others for each step of a tile that is within the matrix, or partly.
PARTS = [
    ((2, 1, 1), 128, 256, 1, 1),  # a slab each
    ((2, 1, 1), 256, 512, 1, 2),  # two slabs each
    ((2, 1, 1), 256, 304, 1, 2),
    ((4, 1, 1), 256, 512, 1, 1),
    ((4, 1, 1), 128, 176, 2, 2),  # rows of both slabs
    ((2, 2, 1), 256, 720, 1, 2),
]


@pytest.mark.parametrize("completion", ["late", "random", "early"])
@pytest.mark.parametrize("cluster, BN, N, whole, partly", PARTS)
def test_programs_copy_slabs_of_their_own(
    cluster: tuple[int, int, int], BN: int, N: int, whole: int, partly: int, completion: str,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """One copy brings all slabs of a program's part; each program finds out whether it can."""
    M, K, columns = 64 * cluster[0] - 24, 96, -(-N // BN)
    columns += columns % cluster[1]
    a, b, c = integers(rng, M, K), integers(rng, K, N), poisoned(M, N)
    compiled = launch(
        wide, (cluster[0], columns), a, b, c, M, N, K, KNOWN=None, BM=64, BN=BN, BK=32,
        cluster_dims=cluster, setting=(4, 2, completion),
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    assert multicasts(compiled) > 0
    mix = tw.simulation.last_report("sim:sm_90a").statistics["mix"]
    together = sum(count for text, count in mix.items() if "multicast" in text)
    inside = N // BN
    ofB = cluster[0] * (inside * whole + (columns - inside) * partly)
    ofA = cluster[0] * columns if cluster[1] > 1 else 0
    assert together == 3 * (ofA + ofB)


@pytest.mark.parametrize("columns", [2, 3])
def test_parts_that_are_known_to_be_whole(columns: int, rng: np.random.Generator) -> None:
    """Extents of whole tiles need no question, in the loader or in front of a store."""
    M, N, K = 128, 256 * columns, 96
    a, b, c = integers(rng, M, K), integers(rng, K, N), poisoned(M, N)
    compiled = launch(
        wide, (2, columns + 1), a, b, c, M, N, K, KNOWN=N, BM=64, BN=256, BK=32, num_ctas=2,
        setting=(4, 2, "random"),
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    ptx = compiled.asm["ptx"]
    assert len(re.findall(r"bulk\.tensor\.3d\.shared\S*multicast", ptx)) == multicasts(compiled) == 1


# How the programs of a launch lie, rows and columns of tiles, and whether those of each cluster, or
# of some of them, need the same tile of a load.
ORDERS = [
    ("columns", 4, 2, 0, "all"),
    ("columns", 2, 3, 0, "none"),
    ("grouped", 4, 2, 2, "all"),
    ("grouped", 3, 2, 2, "some"),
    ("grouped", 5, 4, 4, "some"),
    ("grouped", 4, 2, 3, "none"),
]


@pytest.mark.parametrize("order, rows, columns, group, shares", ORDERS)
@pytest.mark.parametrize("completion", ["late", "random"])
def test_orders_of_bounds_that_the_launch_knows(
    order: str, rows: int, columns: int, group: int, shares: str, completion: str,
    rng: np.random.Generator,
) -> None:  # fmt: skip
    """Programs find out whether they can copy together: each time a part of the box, or all parts."""
    steps, programs, setting = 3, rows * columns, (4, 3, completion)
    sizes = rng, 64 * rows, 64 * columns, 64 * steps
    compiled = run(*sizes, setting, (2, 1, 1), order, (programs,), group)
    assert multicasts(compiled) > 0
    assert reasons(compiled) == [
        "the programs of a cluster copy the tiles of 1 of 2 loads once for all of them, where the "
        "order of programs lets them"
    ]
    mix = tw.simulation.last_report("sim:sm_90a").statistics["mix"]
    together = sum(count for text, count in mix.items() if "multicast" in text)
    alone = sum(count for text, count in mix.items() if "shared::cta.global" in text)
    # Each program copies a box of A, and one part of B together or two parts alone.
    assert alone == steps * programs + 2 * (steps * programs - together)
    assert (together == steps * programs, together == 0) == (shares == "all", shares == "none")


@tw.jit
def strips(a, b, c, K, FORM: tw.constexpr, BK: tw.constexpr):
    """Each program has 64 rows and two tiles of 64 columns."""
    row = tw.program_id(0)
    if FORM == "returns":
        if row == 1:
            return
    last = 2
    if FORM == "counts":
        last = 1 + (row > 0).to(tw.int32)
    m, k = row * 64 + tw.arange(0, 64), tw.arange(0, BK)
    for tile in range(0, last):
        n = tile * 64 + tw.arange(0, 64)
        total = tw.zeros((64, 64), tw.float32)
        for start in range(0, K, BK):
            x = tw.load(a + m[:, None] * K + (start + k)[None, :])
            y = tw.load(b + (start + k)[:, None] * 128 + n[None, :])
            total = tw.dot(x, y, total)
        tw.store(c + m[:, None] * 128 + n[None, :], total)


@pytest.mark.parametrize("form", ["plain", "returns", "counts"])
@pytest.mark.parametrize("completion", ["late", "random"])
def test_loops_within_loops(form: str, completion: str, rng: np.random.Generator) -> None:
    """Programs that run a loop more often than others of their cluster copy alone."""
    a, b, c = integers(rng, 128, 192), integers(rng, 192, 128), poisoned(128, 128)
    compiled = launch(
        strips, (2,), a, b, c, 192, FORM=form, BK=64, setting=(4, 3, completion), num_ctas=2
    )
    expected = (a.double() @ b.double()).float()
    if form == "returns":
        expected[64:] = float("nan")
    if form == "counts":
        expected[:64, 64:] = float("nan")
    torch.testing.assert_close(c, expected, equal_nan=True, rtol=0, atol=0)
    assert (multicasts(compiled) > 0) == (form == "plain")
    if form != "plain":
        assert all("equally often" in reason for reason in reasons(compiled))


@tw.jit
def persistent(a, b, c, K, TILES: tw.constexpr, COLUMNS: tw.constexpr, BK: tw.constexpr):
    """Each program has every so-many-th tile of 64 rows and columns."""
    for tile in range(tw.program_id(0), TILES, tw.num_programs(0)):
        m = tile // COLUMNS * 64 + tw.arange(0, 64)
        n, k = tile % COLUMNS * 64 + tw.arange(0, 64), tw.arange(0, BK)
        total = tw.zeros((64, 64), tw.float32)
        for start in range(0, K, BK):
            x = tw.load(a + m[:, None] * K + (start + k)[None, :])
            y = tw.load(b + (start + k)[:, None] * (COLUMNS * 64) + n[None, :])
            total = tw.dot(x, y, total)
        tw.store(c + m[:, None] * (COLUMNS * 64) + n[None, :], total)


@pytest.mark.parametrize("rows, columns", [(3, 2), (3, 3), (2, 3)])
@pytest.mark.parametrize("completion", ["late", "random"])
def test_persistent_programs(
    rows: int, columns: int, completion: str, rng: np.random.Generator
) -> None:
    """Neighbours have tiles of the same rows if the columns are whole clusters."""
    a, b = integers(rng, rows * 64, 192), integers(rng, 192, columns * 64)
    c = poisoned(rows * 64, columns * 64)
    compiled = launch(
        persistent, (4,), a, b, c, 192, TILES=rows * columns, COLUMNS=columns, BK=64,
        setting=(4, 3, completion), num_ctas=2,
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    assert (multicasts(compiled) > 0) == (columns == 2)


def test_kernels_without_boxes_run_in_clusters(rng: np.random.Generator) -> None:
    a, b, c = integers(rng, 128, 96), integers(rng, 96, 128), poisoned(128, 128)
    compiled = launch(
        strips, (2,), a, b, c, 96, FORM="plain", BK=32, setting=(4, 3, "late"), num_ctas=2,
        tensor_maps=False,
    )  # fmt: skip
    assert_equal(c, a.double() @ b.double())
    assert multicasts(compiled) == 0 and ".reqnctapercluster 2, 1, 1" in compiled.asm["ptx"]


@pytest.mark.parametrize("cluster", [(2, 1, 1), (2, 2, 1)])
def test_the_assembler_takes_the_code(
    cluster: tuple[int, int, int], rng: np.random.Generator
) -> None:
    """Every GPU with clusters launches them; those without are refused."""
    compiled = run(rng, 256, 128, 192, (4, 3, "late"), cluster)
    for arch in ARCHS:
        other = compile_request(compiled.request._replace(device=arch))
        assert other.resources["registers"] > 0 and other.resources["spill_bytes"] == 0
        assert [other.resources[f"cluster_{axis}"] for axis in "xyz"] == [*cluster]
        assert (multicasts(other) > 0) == (arch == "nvidia:sm_90a")
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}
    with pytest.raises(tw.LaunchError) as error:
        strips.compile(signature, {"FORM": "plain", "BK": 64}, "nvidia:sm_80", cluster_dims=cluster)
    assert error.value.code == "TW0415" and "sm_90" in (error.value.hint or "")


@pytest.mark.parametrize("grid, cluster", [((3, 1, 1), (2, 1, 1)), ((2, 3, 1), (2, 2, 1))])
def test_grids_are_whole_clusters(
    grid: tuple[int, int, int], cluster: tuple[int, int, int], rng: np.random.Generator
) -> None:
    a, b, c = integers(rng, 192, 64), integers(rng, 64, 128), poisoned(192, 128)
    with tw.device("sim:sm_90a"), pytest.raises(tw.LaunchError) as error:
        strips[grid](a, b, c, 64, FORM="plain", BK=64, cluster_dims=cluster)
    assert error.value.code == "TW0402"
    assert f"the grid {grid} of kernel" in str(error.value)
    assert f"clusters of {cluster} programs" in str(error.value)


def test_clusters_larger_than_the_device_allows() -> None:
    signature = {"a": "*fp16", "b": "*fp16", "c": "*fp32", "K": "i32"}
    with pytest.raises(tw.LaunchError) as error:
        strips.compile(
            signature, {"FORM": "plain", "BK": 64}, "nvidia:sm_90a", cluster_dims=(4, 4, 1)
        )
    assert error.value.code == "TW0416"


def test_code_without_the_option_has_no_clusters(rng: np.random.Generator) -> None:
    plain = run(rng, 256, 128, 192, (4, 3, "late"), (1, 1, 1)).asm["ptx"]
    words = ("ctapercluster", "cluster_cta", "barrier.cluster", "acquire.cluster", "multicast", "mapa")
    assert not any(word in plain for word in words)
