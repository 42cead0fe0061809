"""The model of configurations' times: that what it reads of kernels is so, and what it prefers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright.analysis.instructions import read_code
from tilewright.analysis.places import Place
from tilewright.analysis.text import TileType
from tilewright.native import native
from tilewright.tuning import autotune
from tilewright.tuning.model import cpu, gpu, machine, predict
from tilewright.tuning.model.requests import candidate_of
from tilewright.tuning.model.work import Access, Work, times
from tilewright.tuning.model.shortlist import shortlist, worth_measuring

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def product(a, b, c, M, N, K, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    rows = tw.program_id(0) * BM + tw.arange(0, BM)
    columns = tw.program_id(1) * BN + tw.arange(0, BN)
    inner = tw.arange(0, BK)
    x = a + rows[:, None] * K + inner[None, :]
    total = tw.zeros((BM, BN), tw.float32)
    for k in range(0, K, BK):
        left = tw.load(x, mask=(rows < M)[:, None] & (k + inner < K)[None, :], other=0.0)
        y = b + (k + inner)[:, None] * N + columns[None, :]
        right = tw.load(y, mask=(k + inner < K)[:, None] & (columns < N)[None, :], other=0.0)
        total = tw.dot(left, right, total)
        x += BK
    at = c + rows[:, None] * N + columns[None, :]
    tw.store(at, total, mask=(rows < M)[:, None] & (columns < N)[None, :])


@tw.jit
def scale(x, out, n, BLOCK: tw.constexpr):
    at = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + at, tw.exp(tw.load(x + at, mask=at < n)) * 2, mask=at < n)


def tiles(a: Mapping[str, Any]) -> tuple[int, int]:
    return tw.cdiv(a["M"], a["BM"]), tw.cdiv(a["N"], a["BN"])


def matrices(M: int = 96, N: int = 128, K: int = 80) -> dict[str, Any]:
    a, b, c = (np.zeros(shape, np.float32) for shape in ((M, K), (K, N), (M, N)))
    return {"a": a, "b": b, "c": c, "M": M, "N": N, "K": K}


def candidate(kernel: Any, arguments: dict[str, Any], grid: Any, **constants: Any) -> Any:
    def warm(config: Any) -> Any:
        return kernel.warmup(grid=grid, **arguments, **config.kwargs)

    return candidate_of(tw.Config(constants), warm, arguments, grid)


def work(kernel: Any, arguments: dict[str, Any], grid: Any, **constants: Any) -> Work:
    found = predict.work_of_candidate(candidate(kernel, arguments, grid, **constants))
    assert found is not None
    return found


def time_of(kernel: Any, arguments: dict[str, Any], grid: Any, **constants: Any) -> float:
    found = predict.milliseconds_of(candidate(kernel, arguments, grid, **constants))
    assert found is not None
    return found


def test_nothing_is_compiled_for_a_prediction() -> None:
    found = candidate(product, matrices(), tiles, BM=32, BN=64, BK=16)
    assert found.grid == (3, 2, 1) and found.numbers == {"M": 96, "N": 128, "K": 80}
    assert time_of(product, matrices(), tiles, BM=32, BN=64, BK=16) > 0
    compiled = product.warmup(grid=tiles, **matrices(), BM=32, BN=64, BK=16)
    assert compiled.origin == "compiled", "it was not before"


def test_the_work_of_a_product_is_read() -> None:
    found = work(product, matrices(), tiles, BM=32, BN=64, BK=16)
    assert sum(p.m * p.n * p.k * times(p.loops) for p in found.products) == 32 * 64 * 80
    loads = [a for a in found.accesses if not a.is_store]
    stores = [a for a in found.accesses if a.is_store]
    assert [a.type.shape for a in stores] == [(32, 64)]
    assert [(a.place.array, a.place.strides) for a in loads] == [("a", (80, 1)), ("b", (128, 1))]
    steps = [a.place.coefficients[a.loops[-1].name] for a in loads]
    assert steps == [16, 16 * 128], "also where a loop moves the pointers"
    assert [a.place.coefficients.get("program 0", 0) for a in loads] == [32 * 80, 0]
    assert sum(map(gpu.bytes_moved, loads)) == 4 * (32 * 80 + 80 * 64)


def test_what_masks_leave_out_is_not_multiplied() -> None:
    few = work(product, matrices(M=8), tiles, BM=64, BN=64, BK=16)
    assert sum(p.m * p.n * p.k * times(p.loops) for p in few.products) == 8 * 64 * 80


def test_the_compiler_s_description_of_the_processor_is_read() -> None:
    found = machine.processor_of(candidate(product, matrices(), tiles, BM=32, BN=64, BK=16).request)
    assert found.threads == native().num_threads()
    assert found.vector_bytes in (16, 32, 64) and found.registers in (16, 32)
    assert found.products["f32"] >= found.vector_bytes / 4
    assert list(found.caches) == sorted(found.caches) and found.caches[0].size >= 8 << 10
    assert all(cache.size <= cache.ways * cache.way_bytes for cache in found.caches)


def test_rows_at_a_distance_of_a_power_of_two_share_few_places_of_a_cache() -> None:
    cache = machine.Cache(32 << 10, 8, 4 << 10)

    def ways(rows: int, columns: int, distance: int) -> float:
        type = TileType((rows, columns), "f32")
        access = Access(type, Place(0.0, (float(distance), 1.0)), False, ())
        return cpu._ways(access, [(float(rows), float(distance)), (float(columns), 1.0)], cache)

    assert ways(32, 8, 2048) == 32 and ways(32, 8, 512) == 16
    assert ways(32, 8, 2048 + 16) == 1 and ways(32, 8, 2053) == 1
    assert ways(1, 4096, 4096) == 4  # one row of 16 KiB


def test_a_transposition_keeps_parts_of_lines_where_a_cache_has_places() -> None:
    @tw.jit
    def transpose(x, out, M, N, BM: tw.constexpr, BN: tw.constexpr):
        rows = tw.program_id(0) * BM + tw.arange(0, BM)
        columns = tw.program_id(1) * BN + tw.arange(0, BN)
        v = tw.load(x + rows[:, None] * N + columns[None, :])
        tw.store(out + columns[:, None] * M + rows[None, :], tw.trans(v))

    def relative(M: int) -> float:
        x = np.zeros((M, 64), np.float32)  # the second cache holds all
        arguments = {"x": x, "out": x.T.copy(), "M": M, "N": 64}
        narrow, wide = (time_of(transpose, arguments, tiles, BM=rows, BN=64) for rows in (8, 64))
        return narrow / wide

    assert relative(1024) > 1.1 * relative(1024 + 64)


def test_types_are_read() -> None:
    assert TileType((4, 8), "!tile.ptr<f16>").element_bytes == 2 and TileType((4, 8), "i1").size == 32


@pytest.mark.parametrize(
    ("good", "bad", "why"),
    [
        ({"BM": 64, "BN": 64, "BK": 64}, {"BM": 1, "BN": 16, "BK": 64}, "a row has little reuse"),
        ({"BM": 64, "BN": 128, "BK": 64}, {"BM": 1024, "BN": 1024, "BK": 64}, "all for one thread"),
    ],
)
def test_extremes_are_told_apart(good: dict[str, int], bad: dict[str, int], why: str) -> None:
    arguments = matrices(512, 512, 512)
    expected = [time_of(product, arguments, tiles, **constants) for constants in (good, bad)]
    assert expected[0] * 1.3 < expected[1], why


def test_tiny_tiles_cost_their_programs() -> None:
    x = np.zeros(1 << 20, np.float32)
    arguments = {"x": x, "out": x.copy(), "n": x.size}
    grid = lambda a: (tw.cdiv(a["n"], a["BLOCK"]),)  # noqa: E731
    with tw.device("cpu:x86-64-v4"):  # narrower vectors take longer, and programs do not
        small, large = (time_of(scale, arguments, grid, BLOCK=block) for block in (16, 8192))
    assert large * 3 < small


def gpu_code(device: str = "nvidia:sm_90a", **constants: int) -> Any:
    pointers = dict.fromkeys(("a", "b"), "*fp16:16") | {"c": "*fp32:16"}
    warps = constants.pop("num_warps", 4)
    signature = {**pointers, "M": "i32:16", "N": "i32:16", "K": "i32:16"}
    return product.compile(signature, constants, device=device, num_warps=warps)


@pytest.mark.parametrize("device", ["nvidia:sm_90a", "amd:gfx942"])
def test_what_code_for_gpus_takes_is_read(device: str) -> None:
    compiled = gpu_code(device, BM=64, BN=64, BK=32)
    guess = gpu.Code(4, 32, 77, 99, 0, 3, 0, 0, 1.0, 0)
    code, resources = gpu.code_of(compiled, guess), compiled.resources
    assert code.shared_bytes == resources["shared_bytes"] > 0
    assert code.warps * code.warp_size == resources["threads"]
    assert code.registers == resources.get("registers", 77), "guessed where nothing was assembled"
    assert code.spill_bytes == resources.get("spill_bytes", 99)
    assert code.converted_bytes >= 64 * 64 * 4, "the tile that is stored changes lanes"
    assert 8 <= code.loop and 8 <= code.straight


def test_loops_are_found_in_assembly() -> None:
    text = "f:\n mov a, b;\n$L1:\n add a, 1;\n mul a, 2;\n@%p1 bra $L1;\n bra $L2;\n$L2:\n ret;\n"
    code = read_code(text, "PTX")
    assert (len(code.instructions), [loop.size for loop in code.loops]) == (6, [3])


def test_programs_on_a_multiprocessor() -> None:
    machine = gpu.gpu_named("90")
    code = gpu.Code(4, 32, 128, 0, 0, 3, 100, 100, 1.0, 0)
    assert gpu.resident(code, machine) == 4, "65536 registers of 128 for each of 128 lanes"
    assert gpu.resident(code._replace(registers=32), machine) == 16, "64 warps"
    assert gpu.resident(code._replace(shared_bytes=100 << 10), machine) == 2
    assert gpu.resident(code._replace(warps=16, registers=255), machine) == 0
    arguments = matrices(1024, 1024, 1024)
    done = work(product, arguments, tiles, BM=64, BN=64, BK=32)
    assert math.isinf(gpu.cycles_of(done, code._replace(warps=16, registers=255), machine))
    plain = gpu.cycles_of(done, code, machine)
    for worse in ({"spill_bytes": 2000}, {"narrow": 16.0}, {"stages": 1}, {"loop": 4000}, {"converted_bytes": 1 << 20}):
        assert gpu.cycles_of(done, code._replace(**worse), machine) > plain, worse


def test_devices_that_interpret_are_not_predicted() -> None:
    with tw.device("reference"):
        found = candidate(product, matrices(), tiles, BM=32, BN=64, BK=16)
        assert predict.milliseconds_of(found) is None


@tw.jit
def batched(a, b, c, N: tw.constexpr):
    i = tw.arange(0, N)
    at = i[:, None, None] * N * N + i[None, :, None] * N + i[None, None, :]
    tw.store(c + at, tw.dot(tw.load(a + at), tw.load(b + at)))


def test_products_of_several_matrices_are_read() -> None:
    arrays = {name: np.zeros((8, 8, 8), np.float32) for name in "abc"}
    assert sum(p.m * p.n * p.k for p in work(batched, arrays, (1,), N=8).products) == 8**4


def test_what_code_will_take_is_guessed() -> None:
    arguments = matrices(1024, 1024, 1024)
    small, large = (work(product, arguments, tiles, BM=m, BN=m, BK=64) for m in (64, 256))
    guess = gpu.guessed_code(small, 4, 3, 32)
    assert guess.shared_bytes == 3 * 2 * 64 * 64 * 4 and guess.registers == 40 + 64 * 64 // 128
    assert guess.spill_bytes == 0 < gpu.guessed_code(large, 4, 3, 32).spill_bytes
    machine = gpu.gpu_named("90")
    assert math.isinf(gpu.cycles_of(large, gpu.guessed_code(large, 8, 3, 32), machine)), "384 KiB shared"


def test_configurations_for_a_gpu_are_compiled_only_where_they_may_be_chosen() -> None:
    compiled: list[Any] = []
    halves = {n: v.astype(np.float16) if n in "ab" else v for n, v in matrices(2048, 2048, 2048).items()}

    def warm(config: Any) -> Any:
        with tw.device("sim:sm_90a"):
            found = product.warmup(grid=tiles, **halves, **config.all_kwargs())
        compiled.extend([config] if found is not None else [])
        return found

    every = [tw.Config({"BM": m, "BN": n, "BK": 64}) for m in (16, 64, 128, 512) for n in (16, 64, 128, 512)]
    found = shortlist(every, 1, warm, halves, tiles)
    assert len(compiled) == 3 and found.measured[0] in compiled
    assert {found.measured[0].kwargs[name] for name in ("BM", "BN")} <= {64, 128}
    assert all(512 not in config.kwargs.values() for config in compiled)


def test_the_list_of_what_is_measured() -> None:
    arguments = matrices(512, 512, 512)
    every = [tw.Config({"BM": m, "BN": 64, "BK": k}) for m in (1, 16, 64, 128) for k in (16, 64)]

    def warm(config: Any) -> Any:
        return product.warmup(grid=tiles, **arguments, **config.kwargs)

    found = shortlist(every, 3, warm, arguments, tiles)
    assert len(found.measured) == 3 and {1} - {c.kwargs["BM"] for c in found.measured} == {1}
    assert len(found.predicted) == 8 and set(found.reasons) == {*every} - {*found.measured}
    again = shortlist(every[::-1], 3, warm, arguments, tiles)
    assert again.measured == found.measured, "in whatever order they are listed"
    bad = tw.Config({"BM": 24, "BN": 64, "BK": 16}, num_warps=3)
    reasons = shortlist([*every, bad], 3, lambda c: refuse(c, bad, warm), arguments, tiles).reasons
    assert reasons[bad] == "[TW0410] three warps"
    twice = [tw.Config(c.kwargs, num_warps=warps) for c in every for warps in (8, 4)]
    once = shortlist(twice, 3, warm, arguments, tiles)
    assert [c.kwargs for c in once.measured] == [c.kwargs for c in found.measured]
    assert {c.num_warps for c in once.measured} == {4}, "a processor runs both alike"
    assert sum(reason.startswith("runs as BM: ") for reason in once.reasons.values()) == len(every)
    assert shortlist(every, None, warm, arguments, tiles).measured == every
    assert shortlist(every[:3], 3, warm, arguments, tiles).measured == every[:3]
    assert shortlist(every, 3, lambda c: None, arguments, tiles).measured == every, "nothing to go by"


def test_the_list_is_not_of_neighbours_alone() -> None:
    """The best by the model are alike in what it does not know; one that is far from them is on the list."""
    every = [tw.Config({"BM": 1 << i, "BN": 1 << j}) for i in range(6) for j in range(6)]
    times = {c: 1 + 0.02 * (abs(c.kwargs["BM"] - 4) + abs(c.kwargs["BN"] - 4)) for c in every}
    chosen = [(c.kwargs["BM"], c.kwargs["BN"]) for c in worth_measuring(times, 6, every)]
    assert chosen[0] == (4, 4) and len({*chosen}) == 6
    steps = [abs(math.log2(m / 4)) + abs(math.log2(n / 4)) for m, n in chosen]
    assert max(steps) >= 3 and sum(step <= 1 for step in steps) >= 3
    assert worth_measuring(times, 1, every) == every[14:15]
    times[every[0]] = 1e3
    assert every[0] not in worth_measuring(times, 35, every), "no place for what is hopeless"
    odd = [tw.Config({"BLOCK": b}) for b in (8, 16)] + [tw.Config({"OTHER": "x"}, num_warps=8)]
    assert len(worth_measuring(dict.fromkeys(odd, 1.0), 2, odd)) == 2


def test_rows_that_are_named_in_memory_are_read_along() -> None:
    """The elements of a row lie beside each other, wherever the row is."""

    @tw.jit
    def rows_of(table, ids, out, D, ROWS: tw.constexpr, BLOCK: tw.constexpr):
        rows, columns = tw.arange(0, ROWS), tw.arange(0, BLOCK)
        at = tw.load(ids + rows)[:, None] * D + columns[None, :]
        tw.store(out + rows[:, None] * D + columns[None, :], tw.load(table + at))

    arrays = {"table": np.zeros((9, 64), np.float32), "ids": np.zeros(8, np.int32)}
    arguments = {**arrays, "out": np.zeros((8, 64), np.float32), "D": 64}
    done = work(rows_of, arguments, (1,), ROWS=8, BLOCK=64)
    strides = [a.place.strides for a in done.accesses if a.place and len(a.type.shape) == 2]
    assert strides == [(None, 1.0), (64.0, 1.0)]

    @tw.jit
    def counted(bounds, x, out, BLOCK: tw.constexpr):
        total = tw.zeros((BLOCK,), tw.float32)
        for i in range(tw.load(bounds)):
            total += tw.load(x + i * BLOCK + tw.arange(0, BLOCK))
        tw.store(out + tw.arange(0, BLOCK), total)

    x = np.zeros(64, np.float32)
    ragged = {"bounds": np.zeros(1, np.int32), "x": x, "out": x}
    assert time_of(counted, ragged, (1,), BLOCK=16) > 0


def test_reductions_cost_what_they_combine_by() -> None:
    @tw.jit
    def largest(x, out, N: tw.constexpr, WHERE: tw.constexpr):
        v = tw.load(x + tw.arange(0, N))
        tw.store(out, tw.argmax(v, axis=0) if WHERE else tw.max(v, axis=0).to(tw.int32))

    arguments = {"x": np.zeros(4096, np.float32), "out": np.zeros(1, np.int32)}
    steps = [
        sum(a.steps for a in work(largest, arguments, (1,), N=4096, WHERE=where).arithmetic if "reduce" in a.kind)
        for where in (False, True)
    ]
    assert steps[0] == 1 and steps[1] > 8


def refuse(config: Any, bad: Any, warm: Any) -> Any:
    if config == bad:
        raise tw.LaunchError("three warps", code="TW0410")
    return warm(config)


def test_a_space_is_tuned_with_few_measurements() -> None:
    measured: list[int] = []

    def bench(launch: Any, quantiles: Any) -> float:
        launch()
        measured.append(1)
        return 1.0 + len(measured)

    space = {"BM": tw.powers_of_two(16, 64), "BN": tw.powers_of_two(16, 64), "BK": tw.choice(16, 32)}
    tuned = tw.autotune(space=space, key=["M", "N", "K"], do_bench=bench, measure_at_most=4)(product)
    rng = np.random.default_rng(0)
    arguments = matrices(40, 50, 60)
    for name in "abc":
        arguments[name][...] = rng.standard_normal(arguments[name].shape)
    tuned[tiles](**arguments)
    np.testing.assert_allclose(arguments["c"], arguments["a"] @ arguments["b"], rtol=1e-4, atol=1e-4)
    assert len(measured) == 4 == len(tuned.configs_timings) and len(tuned.configs) == 18
    assert tuned.best_config == tuned.shortlist.measured[0]


def test_workers_start_before_the_model_predicts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are of use, and none where nothing is predicted."""
    done: list[Any] = []
    monkeypatch.setattr(autotune, "most_workers", lambda: 3)
    monkeypatch.setattr(autotune, "start_ahead", done.append)

    def predict(*args: Any) -> Any:
        done.append("predicted")
        return shortlist(*args)

    monkeypatch.setattr(autotune, "shortlist", predict)
    x = np.zeros(256, np.float32)
    for most in (2, None):
        space = {"BLOCK": tw.powers_of_two(16, 256)}
        tuned = tw.autotune(space=space, do_bench=lambda launch, quantiles: 1.0, measure_at_most=most or 9)(scale)
        tuned[lambda a: (tw.cdiv(a["n"], a["BLOCK"]),)](x, x.copy(), x.size)
    assert done == [2, "predicted", "predicted"]
