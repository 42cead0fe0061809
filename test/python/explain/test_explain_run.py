"""What simulated launches count, by source line, in explanations."""

import json

import numpy as np
import pytest
import slow_kernels as kernels

import tilewright as tw
from tilewright.tools.cli import main

FILE = kernels.__file__
DEVICES = ("sim:sm_80", "sim:gfx942")


def line_of(found, text):
    return next(n for n, row in enumerate(found.source, found.first_line) if text in row)


def simulated(device, launch):
    with tw.device(device):
        compiled = launch()
    report = tw.simulation.last_report(device)
    found = tw.explain(compiled)
    found.add_run(report)
    return found, report.statistics


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("stride", (1, 32))
def test_sectors_are_counted_by_line(device, stride):
    x = np.arange(1024 * stride, dtype=np.float32)
    out = np.full(1024, np.nan, dtype=np.float32)
    found, _ = simulated(
        device, lambda: kernels.strided[(1,)](out, x, 1024, stride, BLOCK=1024, num_warps=4)
    )
    np.testing.assert_array_equal(out, 2 * x[::stride])
    load = found.measured[line_of(found, "tw.load")]
    assert load.global_bytes == 1024 * 4
    touched = {index * stride * 4 // 32 for index in range(1024)}
    assert load.global_sectors == len(touched)
    assert load.share_of_sectors == 1024 * 4 / (len(touched) * 32)
    poor = [f for f in found.findings if f.message.startswith("measured: ") and "sectors" in f.message]
    assert bool(poor) == (stride > 1)


def table_of(device, step):
    """Each element of a column reads from a row that is `step` times its own."""
    x = np.random.default_rng(7).standard_normal((64, 32)).astype(np.float32)
    index = np.broadcast_to((np.arange(64)[:, None] * step) % 64, (64, 32)).astype(np.int32)
    index = index if step else np.tile(np.arange(32, dtype=np.int32), (64, 1))
    out = np.full((64, 32), np.nan, dtype=np.float32)
    found, statistics = simulated(
        device, lambda: kernels.table[(1,)](out, x, np.ascontiguousarray(index), BLOCK=64)
    )
    np.testing.assert_array_equal(out, np.take_along_axis(x, index.astype(np.int64), 0))
    return found, statistics


@pytest.mark.parametrize("device", DEVICES)
def test_bank_conflicts_are_counted_where_they_occur(device):
    found, statistics = table_of(device, 1)
    measured = found.measured[line_of(found, "tw.gather")]
    assert measured.shared_wavefronts == statistics["shared_wavefronts"]
    assert measured.ideal_shared_wavefronts == statistics["ideal_shared_wavefronts"]


@pytest.mark.parametrize("device", DEVICES)
def test_lines_add_up_to_the_launch(device):
    a, b = (np.random.default_rng(n).standard_normal((64, 64)).astype(np.float16) for n in (1, 2))
    c = np.full((64, 64), np.nan, dtype=np.float16)
    blocks = {"BM": 32, "BN": 32, "BK": 32}
    found, statistics = simulated(
        device, lambda: kernels.matmul[(2, 2)](a, b, c, 64, 64, 64, **blocks)
    )
    expected = a.astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(c, expected, rtol=2e-3, atol=2e-2)
    lines = statistics["lines"]
    for name in ("shared_requests", "shared_wavefronts", "ideal_shared_wavefronts", "divergent_branches"):
        assert sum(line[name] for line in lines) == statistics[name], name
    for name in ("requests", "sectors", "bytes"):
        total = statistics[f"global_load_{name}"] + statistics[f"global_store_{name}"]
        assert sum(line[f"global_{name}"] for line in lines) == total
    assert sum(line["warp_instructions"] for line in lines) <= statistics["warp_instructions"]
    assert sum(m.waits for m in found.measured.values()) > 0
    assert "waits" in str(found) and "waits" in found.to_html()
    data = json.loads(found.to_json())
    dot = next(row for row in data["lines"] if "tw.dot" in row["source"])
    assert dot["measured"]["warp_instructions"] > 0


def test_the_command_runs_an_example(capsys):
    words = ["explain", f"{FILE}:strided", "--signature", "*fp32, *fp32, i32, i32"]
    words += ["--constexpr", "BLOCK=256", "--run", "sim:sm_80", "--grid", "4"]
    assert main([*words, "--example", "out=1024, x=32768, n=1024, stride=32"]) == 0
    assert "measured: 32.0 sectors of 32 bytes a request" in " ".join(
        capsys.readouterr().out.split()
    )
    assert main([*words, "--example", "out=1024, n=1024, stride=32"]) == 1
    assert "x=ELEMENTS" in capsys.readouterr().err
    assert main([*words, "--example", "out=1024, x=9, n=1024, stride=32"]) == 1
    told = capsys.readouterr()
    assert "out-of-bounds" in told.err and "measured: " in told.out
    assert main([*words[:-4], "--run", "cpu", "--example", "x=1"]) == 1
    assert "simulated device" in capsys.readouterr().err
    assert main([*words, "--example", "out=1024, x=32768, n=1024, stride=32, y=1"]) == 1
    assert "y" in capsys.readouterr().err
