"""Exports of the configurations that autotuning has left in a store."""

from __future__ import annotations

import ctypes
import json
from pathlib import Path
from typing import Any

import export_kernels
import exported
import numpy as np
import pytest
import tilewright as tw
from test_export_refusals import CPU, SCALE, package, refusal
from tilewright.native import native
from tilewright.tools.cli import main

pytestmark = pytest.mark.usefixtures("compiler")


def test_a_store_of_autotuning_ships(tmp_path: Path) -> None:
    times = iter((1.0, 3.0, 2.0, 9.0, 8.0, 1.0, 2.5, 2.0, 5.0))

    def bench(launch: Any, quantiles: Any) -> float:
        launch()
        return next(times)

    store = tmp_path / "tuned.jsonl"
    configs = [tw.Config({"BLOCK": block}) for block in (64, 128, 256)]
    tuned = tw.autotune(configs, key=["n"], do_bench=bench, store=store)(export_kernels.scale)
    x, out = (np.zeros(4096, np.float32) for _ in range(2))
    for n in (4096, 100, 30):
        tuned[lambda meta: (tw.cdiv(meta["n"], meta["BLOCK"]),)](x, out, n, 2.0)
    one = package().add(tuned, "*fp32, *fp32, i32", grid="cdiv(n, BLOCK)", tuned=store)
    variants = json.loads(one.write(tmp_path, CPU, form="c")["p.json"].read_text())["kernels"][0]["variants"]
    shipped = {v["facts"]["n"]: v["constants"]["BLOCK"] for v in variants}
    # Of all three, 256 takes 2, 1 and 2.5 times the best, 64 takes 1, 9 and 1.25, 128 takes 3, 8 and 1.
    assert shipped == {"i32:=4096": "64", "i32:=100": "256", "i32:=30": "128", "i32": "256"}
    error = refusal(lambda: package().add(tuned, "*fp16, *fp16, i32", tuned=store))
    assert error.code == "TW0801" and "no choice for it with arrays of *fp16" in str(error)
    error = refusal(lambda: package().add(export_kernels.scale, "*fp32, *fp32, i32", tuned=store))
    assert "takes a kernel under @tw.autotune" in str(error)
    fewer = tw.autotune(configs[:1], key=["n"])(tw.jit(export_kernels.scale.fn))
    shipped = package().add(fewer, "*fp32, *fp32, i32", tuned=store).kernels["scale"].specializations
    assert [s.constants for s in shipped] == [{"BLOCK": 64, "n": 4096}, {"BLOCK": 64}]
    foreign = store.read_text().replace(native().build_id(), "another build")
    store.write_text(foreign)
    with pytest.raises(tw.LaunchError, match="does not have the digest") as caught:
        package().add(tuned, "*fp32, *fp32, i32", tuned=store)
    assert caught.value.code == "TW0425"


@tw.jit
def chosen(out, n, m, BLOCK: tw.constexpr):
    """Stores which configuration it is."""
    tw.store(out, BLOCK + 0 * (n + m))


def tuned_for(store: Path, best: dict[tuple[int, int], int], keys: list[str], **options: Any) -> Any:
    """An autotuner that has found these blocks the fastest."""
    blocks = sorted({*best.values()})
    launched: list[Any] = []

    def bench(launch: Any, quantiles: Any) -> float:
        launch()
        launched.append(int(out[0]))
        return 2.0 - (launched[-1] == best[sizes])

    configs = [tw.Config({"BLOCK": block}) for block in blocks]
    tuned = tw.autotune(configs, key=keys, do_bench=bench, store=store, check=None, **options)(tw.jit(chosen.fn))
    out = np.zeros(1, np.int32)
    for sizes in best:
        tuned[(1,)](out, *sizes)
    return tuned


def block_of(made: tw.Package, folder: Path) -> Any:
    """What a C program gets for n and m."""
    written = made.write(folder, CPU, form="c")
    (folder / "call.c").write_text(
        '#include "p.h"\nint call(int32_t n, int32_t m) {\n  int32_t out = -1;\n'
        "  struct tilewright_error error = {0};\n  struct tilewright_launch launch = {0};\n"
        "  launch.device = TILEWRIGHT_CPU;\n"
        "  return chosen(&out, n, m, &launch, &error) ? -1 : out;\n}\n"
    )
    library = folder / "p.so"
    sources = [written["p.c"], folder / "call.c"]
    command = [exported.compiler("gcc"), "-std=gnu11", "-O1", "-shared", "-fPIC", *sources]
    exported.compiled([*command, "-o", library, *exported.LIBRARIES], folder)
    return ctypes.CDLL(str(library)).call


@pytest.mark.parametrize("source", ["store", "tuner"])
def test_sizes_between_those_of_a_bucket_take_the_nearest(tmp_path: Path, source: str) -> None:
    """Groups are 65..128, 513..1024 and 4097..8192; the next boundaries are at the roots of 128 x 513 and
    1024 x 4097."""
    best = {(100, 1): 16, (1000, 1): 32, (8192, 1): 64}
    tuned = tuned_for(tmp_path / "store", best, ["n"], bucket=tw.next_power_of_2)
    assert [key[1][1] for key in tuned.cache] == [128, 1024, 8192]
    if source == "store":
        made = package().add(tuned, "*i32, i32, i32", grid=1, tuned=tmp_path / "store")
    else:
        made = package().add_tuned(tuned, "*i32, i32, i32", grid=1)
    call = block_of(made, tmp_path)
    sizes = (-5, 0, 1, 65, 128, 256, 257, 513, 1024, 2048, 2049, 4097, 9000, (1 << 31) - 1)
    assert [call(n, 1) for n in sizes] == [16] * 6 + [32] * 4 + [64] * 4
    for n in (70, 128, 520, 1024, 5000):  # as launches choose
        out = np.zeros(1, np.int32)
        tuned[(1,)](out, n, 1)
        assert call(n, 1) == out[0]
    variants = json.loads((tmp_path / "p.json").read_text())["kernels"][0]["variants"]
    assert sorted((v["ranges"]["n"] for v in variants), key=lambda ends: ends[0] or 0) == [[None, 256], [257, 2048], [2049, None]]


def test_groups_of_two_sizes_have_one_choice_beside_them(tmp_path: Path) -> None:
    best = {(100, 100): 16, (1000, 1000): 32, (1000, 100): 32}
    tuned = tuned_for(tmp_path / "store", best, ["n", "m"], bucket=lambda size: size // 100)
    call = block_of(package().add(tuned, "*i32, i32, i32", grid=1, tuned=tmp_path / "store"), tmp_path)
    assert [call(*sizes) for sizes in ((150, 199), (1050, 1010), (2000, 50), (50, 3000))] == [16, 32, 32, 32]


def test_buckets_without_ranges_are_refused(tmp_path: Path) -> None:
    tuned = tuned_for(tmp_path / "store", {(100, 1): 16, (99, 1): 32}, ["n"], bucket=lambda n: n % 2)
    error = refusal(lambda: package().add(tuned, "*i32, i32, i32", grid=1, tuned=tmp_path / "store"))
    assert error.code == "TW0801" and "no range of integers the group" in str(error)


def test_the_command_exports_what_was_tuned(tmp_path: Path) -> None:
    file, store = tmp_path / "tuned_kernels.py", tmp_path / "tuned.jsonl"
    file.write_text(
        "import export_kernels, numpy, tilewright as tw\n"
        "configs = [tw.Config({'BLOCK': block}) for block in (64, 128)]\n"
        f"scale = tw.autotune(configs, key=['n'], warmup=0, rep=1, store={str(store)!r})(export_kernels.scale)\n"
        "x = numpy.zeros(100, numpy.float32)\n"
        "scale[lambda meta: (tw.cdiv(meta['n'], meta['BLOCK']),)](x, x.copy(), 100, 2.0)\n"
    )
    command = ["export", f"{file}:scale", "--signature", SCALE, "--grid", "cdiv(n, BLOCK)"]
    rest = ["--targets", CPU[0], "-o", str(tmp_path / "made"), "--form", "c"]
    assert main([*command, "--tuned", str(store), *rest]) == 0
    variants = json.loads((tmp_path / "made" / "scale.json").read_text())["kernels"][0]["variants"]
    assert [variant["facts"]["n"] for variant in variants] == ["i32:=100", "i32"]
    assert main([*command, *rest]) == 1 and main([*command, "--tuned", str(tmp_path / "none"), *rest]) == 1
