"""Exports of the configurations that autotuning has left in a store."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import export_kernels
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
