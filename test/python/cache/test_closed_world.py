"""Launches that may not compile: what is prepared or on disk runs, anything else says what to prepare."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw
from tilewright import knobs

pytestmark = pytest.mark.usefixtures("compiler")


@tw.jit
def shifted(out, x, n, by, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n, other=0.0) + by, mask=i < n)


@pytest.fixture(autouse=True)
def _thawed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TILEWRIGHT_JIT", "allow")
    knobs.reset()


def arrays(count: int = 64) -> tuple[np.ndarray, np.ndarray]:
    return np.zeros(count, np.float32), np.arange(count, dtype=np.float32)


def test_a_frozen_process_runs_what_was_prepared() -> None:
    out, x = arrays()
    shifted.prepare(out, x, 50, 3, BLOCK=64)
    tw.freeze()
    shifted[(1,)](out, x, 50, 3, BLOCK=64)
    assert (out[:50] == x[:50] + 3).all() and not out[50:].any()
    shifted[(1,)](out, x, 49, 5, BLOCK=64)  # the same specialization


def test_a_refused_launch_names_the_line_that_prepares_it() -> None:
    out, x = arrays()
    tw.freeze()
    with pytest.raises(tw.LaunchError, match="was not prepared for") as caught:
        shifted[(1,)](out, x, 48, -3, BLOCK=32, num_warps=8)
    assert caught.value.code == "TW0408" and "num_warps=8" in caught.value.hint
    line = caught.value.hint.removeprefix("prepare it: ")
    assert re.match(r"shifted\.compile\(\{'out': '\*fp32:16'", line)
    eval(line)
    shifted[(1,)](out, x, 48, -3, BLOCK=32, num_warps=8)
    assert (out[:32] == x[:32] - 3).all()


def test_what_an_earlier_process_left_on_disk_runs(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import numpy as np, tilewright as tw\n"
        "@tw.jit\n"
        "def one(out):\n"
        "    tw.store(out, 1.0)\n"
        "out = np.zeros(4, np.float32)\n"
        "print(one[(1,)](out).origin, out[0])\n"
    )

    def run(**changed: str) -> subprocess.CompletedProcess[str]:
        paths = {"PYTHONPATH": os.pathsep.join(sys.path), "TILEWRIGHT_CACHE_DIR": str(tmp_path / "c")}
        return subprocess.run(
            [sys.executable, str(script)],
            env={**os.environ, **paths, **changed},
            capture_output=True,
            text=True,
        )

    refused = run(TILEWRIGHT_JIT="deny")
    assert refused.returncode == 1 and "TW0408" in refused.stderr
    assert run().stdout == "compiled 1.0\n"
    assert run(TILEWRIGHT_JIT="deny").stdout == "disk 1.0\n"


@tw.jit(specialize="shape", do_not_specialize=["by"])
def exact(out, x, n, by, scale, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(out + i, scale * tw.load(x + i, mask=i < n, other=0.0) + by, mask=i < n)


@tw.jit
def annotated(out, n: tw.static, by: tw.dynamic):
    i = tw.arange(0, 16)
    tw.store(out + i, by, mask=i < n)


def test_a_parameter_decides_for_itself(device: str) -> None:
    for n, by in ((5, 1), (16, 16), (5, -3), (5, 48)):
        out = np.zeros(16, np.int32)
        kernel = annotated[(1,)](out, n, by)
        assert (out[:n] == by).all() and not out[n:].any()
        assert [name for name, *_ in kernel.parameters] == ["out", "by"]
    first, second = (annotated[(1,)](out, 5, by) for by in (1, 48))
    assert first is second, "nothing is assumed of `by`"
    everything = tw.jit(specialize="shape")(annotated.fn)
    assert [name for name, *_ in everything[(1,)](out, 5, 7).parameters] == ["out", "by"]
    nothing = tw.jit(specialize="none")(annotated.fn)
    assert [name for name, *_ in nothing[(1,)](out, 5, 7).parameters] == ["out", "by"]


def test_shapes_are_constants_of_the_binary(device: str) -> None:
    out, x = arrays()
    kernels: list[Any] = []
    for n in (48, 33, 48):
        out[:] = -1
        kernels.append(exact[(1,)](out, x, n, 7, 2.0, BLOCK=64))
        assert (out[:n] == 2 * x[:n] + 7).all() and (out[n:] == -1).all()
    assert kernels[0] is kernels[2] and kernels[0].key != kernels[1].key
    names = [name for name, *_ in kernels[0].parameters]
    assert names == ["out", "x", "by", "scale"], "n is in the binary, and not passed"
    assert exact[(1,)](out, x, 48, 8, 2.0, BLOCK=64) is kernels[0]


def tuned(bench: Any, cache_results: bool = True) -> Any:
    configs = [tw.Config({"BLOCK": block}) for block in (32, 64)]
    decorate = tw.autotune(configs, key=["n"], do_bench=bench, cache_results=cache_results)
    return decorate(tw.jit(shifted.fn))


def timed(launch: Any, quantiles: Any) -> float:
    launch()
    return 1.0


def test_autotuning_measures_nothing_in_a_closed_world() -> None:
    out, x = arrays()
    kernel = tuned(timed, cache_results=False)
    kernel[(1,)](out, x, 20, 3)
    tw.freeze()
    kernel[(1,)](out, x, 20, 4)
    assert (out[:20] == x[:20] + 4).all(), "the key is known"
    kernel.warmup(out, x, 21, 3)
    with pytest.raises(tw.LaunchError, match="has chosen no configuration of shifted") as caught:
        kernel[(1,)](out, x, 21, 3)
    assert caught.value.code == "TW0408" and "cache_results=True" in caught.value.hint


def test_what_autotuning_chose_goes_to_another_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tilewright.tools import cli

    out, x = arrays()
    file = tmp_path / "warm.tar"

    def on(machine: str, action: str) -> str:
        monkeypatch.setattr("platform.node", lambda: machine)
        monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / machine))
        knobs.reset()
        assert cli.main(["cache", action, str(file)]) == 0
        return capsys.readouterr().out

    on("builder", "export")
    order = iter((2.0, 1.0))

    def ordered(launch: Any, quantiles: Any) -> float:
        launch()
        return next(order)

    builder = tuned(ordered)
    builder[(1,)](out, x, 33, 3)
    assert builder.best_config.kwargs == {"BLOCK": 64}
    assert "1 choice of autotuning" in on("builder", "export")
    assert "1 choice of autotuning" in on("server", "import")
    assert cli.main(["cache", "prune"]) == 0, "which leaves what was measured"
    tw.freeze()
    server = tuned(None)
    server[(1,)](out, x, 33, 5)
    assert server.best_config == builder.best_config and (out[:33] == x[:33] + 5).all()
    with pytest.raises(tw.LaunchError, match="has chosen no configuration"):
        server[(1,)](out, x, 34, 5)
