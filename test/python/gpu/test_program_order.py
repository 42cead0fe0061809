"""`swizzle_programs` and `program_by_die`: neighbouring programs run on the same die, or at the same time."""

from __future__ import annotations

import numpy as np
import pytest
import tilewright as tw

DIES = 8
GRIDS = [(1,), (5,), (8,), (19,), (64,), (3, 7), (16, 2), (2, 3, 5), (1, 1, 20)]


def moved(place: int, count: int) -> int:
    """The program that runs at a place of the order in which programs are dealt to the dies."""
    chunks = np.array_split(np.arange(count), DIES)
    return int(chunks[place % DIES][place // DIES])


@tw.jit
def mark(out):
    tw.atomic_add(out + tw.program_id(0), 1)


@tw.jit
def mark_all(out):
    x, y, z = tw.program_id(0), tw.program_id(1), tw.program_id(2)
    tw.atomic_add(out + x + tw.num_programs(0) * (y + tw.num_programs(1) * z), 1)


@pytest.mark.parametrize("grid", GRIDS, ids=str)
def test_dies_get_neighbours(grid: tuple[int, ...], compiler: None) -> None:
    count = int(np.prod(grid))
    for place in range(count):
        out = np.zeros(count, np.int32)
        with tw.simulation.simulate("sim:gfx950", programs=[place]):
            mark_all[grid](out, swizzle_programs="xcd")
        assert np.flatnonzero(out).tolist() == [moved(place, count)] and out.max() == 1


@pytest.mark.parametrize("grid", GRIDS, ids=str)
@pytest.mark.parametrize("device", ["sim:gfx942", "sim:gfx1100", "sim:sm_80", "cpu"])
def test_each_program_runs_once(device: str, grid: tuple[int, ...], compiler: None) -> None:
    out, rows = np.zeros(np.prod(grid), np.int32), np.zeros(grid[0], np.int32)
    with tw.device(device):
        mark_all[grid](out, swizzle_programs="xcd")
        mark[grid](rows, swizzle_programs="xcd")
    assert (out == 1).all() and (rows == np.prod(grid[1:])).all()


def in_rows(grid: tuple[int, ...], rows: int, cluster: tuple[int, int] = (1, 1)) -> list[tuple[int, ...]]:
    """The programs of a grid in the order of places: blocks of `rows`, in each the first axis innermost."""
    x, y, z = (*grid, 1, 1)[:3]
    x, y, rows = x // cluster[0], y // cluster[1], -(-rows // cluster[0])
    plane = [
        (i, j) for first in range(0, x, rows) for j in range(y) for i in range(first, min(first + rows, x))
    ]
    moved = {(n % x, n // x): at for n, at in enumerate(plane)}
    return [
        (
            moved[i // cluster[0], j // cluster[1]][0] * cluster[0] + i % cluster[0],
            moved[i // cluster[0], j // cluster[1]][1] * cluster[1] + j % cluster[1],
            k,
        )
        for k in range(z)
        for j in range(y * cluster[1])
        for i in range(x * cluster[0])
    ]


@pytest.mark.parametrize("rows", [1, 2, 100])
@pytest.mark.parametrize("grid", [(5,), (7, 3), (5, 4, 3)], ids=str)
@pytest.mark.parametrize("device", ["sim:sm_80", "sim:gfx942", "sim:generic16"])
def test_blocks_of_rows_begin_one_after_the_other(
    device: str, grid: tuple[int, ...], rows: int, compiler: None
) -> None:
    places = in_rows(grid, rows)
    extents = (*grid, 1, 1)[:3]
    assert sorted(places) == sorted(np.ndindex(extents))
    for place in range(1, len(places), 7):
        out = np.zeros(extents[::-1], np.int32)
        with tw.simulation.simulate(device, programs=[place]):
            mark_all[grid](out, swizzle_programs=rows)
        assert np.argwhere(out).tolist() == [list(places[place][::-1])]


@pytest.mark.parametrize("cluster", [(2, 1), (1, 2), (2, 2)], ids=str)
@pytest.mark.parametrize("rows", [1, 3, 8])
def test_programs_of_a_cluster_stay_together(cluster: tuple[int, int], rows: int, compiler: None) -> None:
    grid = (8, 4)
    places = in_rows(grid, rows, cluster)
    assert sorted(places) == sorted(np.ndindex((*grid, 1)))
    group = {tuple(np.array(places[x + grid[0] * y]) // (*cluster, 1)) for x in range(cluster[0]) for y in range(cluster[1])}
    assert group == {(0, 0, 0)}
    out = np.zeros(grid[::-1], np.int32)
    with tw.device("sim:sm_90a"):
        mark_all[grid](out, swizzle_programs=rows, cluster_dims=(*cluster, 1))
    assert (out == 1).all()
    a, b = (np.random.default_rng(0).integers(-3, 4, shape).astype(np.float16) for shape in [(512, 128), (128, 512)])
    product = np.zeros((512, 512), np.float32)
    with tw.device("sim:sm_90a"):
        multiply[8, 8](a, b, product, 512, 512, 128, BM=64, BN=64, BK=64, swizzle_programs=rows, cluster_dims=(*cluster, 1))
    np.testing.assert_array_equal(product, a.astype(np.float32) @ b.astype(np.float32))


@tw.jit
def multiply(a, b, out, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m, n = tw.program_id(0) * BM, tw.program_id(1) * BN
    lefts = tw.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    rights = tw.make_tensor_descriptor(b, [K, N], [N, 1], [BK, BN])
    total = tw.zeros([BM, BN], tw.float32)
    for k in range(0, K, BK):
        total = tw.dot(lefts.load([m, k]), rights.load([k, n]), total)
    tw.store(out + (m + tw.arange(0, BM)[:, None]) * N + n + tw.arange(0, BN)[None, :], total)


@tw.jit
def say(out):
    tw.device_print("here", tw.program_id(1))
    tw.store(out + tw.program_id(0), 1)


@pytest.mark.parametrize("device", ["sim:sm_80", "sim:gfx942", "sim:generic16"])
def test_lines_name_the_program_that_the_kernel_sees(device: str, compiler: None, capfd: pytest.CaptureFixture) -> None:
    with tw.simulation.simulate(device, programs=[1]):
        say[4, 3](np.zeros(4, np.int32), swizzle_programs=1, num_warps=1)
    assert "pid (0, 1, 0)" in capfd.readouterr().out


def test_only_gpus_of_several_dies_compute_another_order(compiler: None) -> None:
    for device, changes in (("amd:gfx942", True), ("amd:gfx1100", False), ("nvidia:sm_80", False)):
        texts = {
            mark.compile({"out": "*i32"}, {}, device=device, swizzle_programs=how).asm["llvm" if "amd" in device else "ptx"]
            for how in ("xcd", None)
        }
        assert (len(texts) == 2) is changes, device


@tw.jit
def order(out, n, B: tw.constexpr, DIES: tw.constexpr):
    places = tw.arange(0, B)
    tw.store(out + places, tw.program_by_die(places, n, DIES), mask=places < n)


@pytest.mark.parametrize("count", [1, 7, 8, 9, 100])
def test_the_function_of_the_language(device: str, count: int) -> None:
    out = np.full(count, -1, np.int32)
    order[1](out, count, 128, DIES)
    assert out.tolist() == [moved(place, count) for place in range(count)]


@tw.jit
def wait_for_the_one_before(turn, out):
    program = tw.program_id(0)
    while tw.atomic_add(turn, 0) != program:
        pass
    tw.store(out + program, program)
    tw.atomic_add(turn, 1)


@tw.jit
def wait_for_a_flag(flag, out):
    while tw.load(flag, volatile=True) == 0:
        pass
    tw.store(out + tw.program_id(0), 1)


@tw.jit
def count_down(n, out):
    left = tw.load(n + tw.program_id(0))
    while left > 0:
        tw.atomic_add(out + tw.program_id(0), 1)
        left -= 1


def test_loops_that_only_add_to_memory_are_no_waits(compiler: None) -> None:
    n, out = np.arange(20, dtype=np.int32), np.zeros(20, np.int32)
    with tw.device("sim:gfx942"):
        count_down[20](n, out, swizzle_programs="xcd")
    np.testing.assert_array_equal(out, n)


def test_programs_that_wait_for_others_keep_their_order(compiler: None) -> None:
    with pytest.raises(tw.TilewrightError, match="TW0332") as error:
        wait_for_a_flag.compile({"flag": "*i32", "out": "*i32"}, {}, device="amd:gfx950", swizzle_programs="xcd")
    assert "while tw.load(flag, volatile=True) == 0:" in str(error.value)
    with pytest.raises(tw.TilewrightError, match="TW0332") as error:
        wait_for_the_one_before.compile({"turn": "*i32", "out": "*i32"}, {}, device="amd:gfx942", swizzle_programs="xcd")
    assert "while tw.atomic_add(turn, 0) != program:" in str(error.value)
    assert wait_for_the_one_before.compile({"turn": "*i32", "out": "*i32"}, {}, device="amd:gfx942")
    with tw.device("sim:gfx942"), pytest.raises(tw.TilewrightError, match="TW0332.*cooperative grid"):
        mark[4](np.zeros(4, np.int32), swizzle_programs="xcd", launch_cooperative_grid=True)
    with tw.device("sim:sm_80"):
        mark[4](np.zeros(4, np.int32), swizzle_programs="xcd", launch_cooperative_grid=True)
        with pytest.raises(tw.TilewrightError, match="TW0332.*cooperative grid"):
            mark[4](np.zeros(4, np.int32), swizzle_programs=8, launch_cooperative_grid=True)
    with pytest.raises(tw.TilewrightError, match="TW0332"):
        wait_for_a_flag.compile({"flag": "*i32", "out": "*i32"}, {}, device="nvidia:sm_90a", swizzle_programs=8)
    for wrong in ("dies", -1, 2.5):
        with tw.device("sim:gfx942"), pytest.raises(tw.TilewrightError, match='"xcd" or a number of rows'):
            mark[4](np.zeros(4, np.int32), swizzle_programs=wrong)
