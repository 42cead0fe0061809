"""A signal whose handler raises, as Ctrl-C's does, ends a launch that still runs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType

import numpy as np
import pytest

import tilewright as tw

SIM = "sim:sm_80"

pytestmark = pytest.mark.usefixtures("compiler")


class Stop(Exception):
    pass


def stop(number: int, frame: FrameType | None) -> None:
    raise Stop


@contextmanager
def alarm(seconds: float) -> Iterator[None]:
    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@tw.jit
def await_flag(flag, out):
    count = 0
    while tw.atomic_add(flag, 0) == 0:
        count += 1
    tw.store(out + tw.program_id(0), count)


@tw.jit
def iterate(out, n):
    value = tw.full([], 0.0, tw.float32)
    for _ in range(n):
        value = tw.sin(value + 0.1)
    tw.store(out + tw.program_id(0), value)


@pytest.mark.parametrize("grid", [1, 40])
def test_an_endless_loop_on_the_simulator(grid: int) -> None:
    flag, out = np.zeros(1, np.int32), np.zeros(40, np.int32)
    with tw.device(SIM), tw.simulation.simulate(SIM, max_steps=10**9):
        await_flag[(grid,)](np.ones(1, np.int32), out)  # compiled before the alarm is set
        start = time.monotonic()
        with pytest.raises(Stop), alarm(0.3):
            await_flag[(grid,)](flag, out)
        assert time.monotonic() - start < 5
        await_flag[(grid,)](np.ones(1, np.int32), out)  # and what is launched next runs


@pytest.mark.parametrize("device", ["cpu", SIM])
def test_a_grid_of_many_programs(device: str) -> None:
    out = np.full(1 << 20, -1, np.float32)
    with tw.device(device):
        iterate[(4,)](out, 2)
        start = time.monotonic()
        with pytest.raises(Stop), alarm(0.3):
            iterate[(1 << 20,)](out, 3000)
        assert time.monotonic() - start < 5
        assert out[-1] == -1
        out[:] = -1
        iterate[(16,)](out, 2)
    assert np.all(out[:16] > 0)


HANDLERS_THAT_LAUNCH = """
import signal, sys, time
import torch
import tilewright as tw

@tw.jit
def add(x_ptr, out_ptr, term: tw.constexpr, n, BLOCK: tw.constexpr):
    offsets = tw.arange(0, BLOCK)
    tw.store(out_ptr + offsets, tw.load(x_ptr + offsets, mask=offsets < n) + term, mask=offsets < n)

x, main, handled = torch.arange(100.0), torch.zeros(100), torch.zeros(100)
left = 5

def launch(number, frame):
    global left
    left -= 1
    add[(1,)](x, handled, 2, 100, BLOCK=128)
    if left:
        signal.setitimer(signal.ITIMER_REAL, 0.001)

signal.signal(signal.SIGALRM, launch)
signal.setitimer(signal.ITIMER_REAL, float(sys.argv[1]))
add[(1,)](x, main, 1, 100, BLOCK=128)
while left:
    time.sleep(0.001)
assert torch.equal(main, x + 1) and torch.equal(handled, x + 2)
"""


@pytest.mark.parametrize("seconds", [0.0003, 0.001, 0.003, 0.01])
def test_a_handler_that_launches_while_the_first_launch_imports(
    seconds: float, tmp_path: Path
) -> None:
    script = tmp_path / "script.py"
    script.write_text(HANDLERS_THAT_LAUNCH)
    command = [sys.executable, str(script), str(seconds)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stderr


LONG_COMPILATION = """
import os, signal, sys, time
import numpy as np
import tilewright as tw

@tw.jit
def unrolled(out, x, BLOCK: tw.constexpr):
    offsets = tw.arange(0, BLOCK)
    value = tw.load(x + offsets)
    for k in tw.static_range(2000):  # half a minute to two minutes in the compiler
        value = tw.sin(value + tw.load(x + offsets + k * BLOCK) * k)
    tw.store(out + offsets, value)

@tw.jit
def add(out, x, BLOCK: tw.constexpr):
    offsets = tw.arange(0, BLOCK)
    tw.store(out + offsets, tw.load(x + offsets) + 1)

class Stop(Exception):
    pass

def stop(number, frame):
    raise Stop

def compile_unrolled():
    if target.startswith(("nvidia:", "amd:")):
        unrolled.compile({"out": "*fp32", "x": "*fp32"}, {"BLOCK": 256}, target)
    else:
        unrolled[(1,)](out, np.zeros(1, np.float32), BLOCK=256)

target, out = sys.argv[1], np.zeros(256, np.float32)
signal.signal(signal.SIGALRM, stop)
with tw.device(target if target.startswith("sim:") else "cpu"):
    for seconds in (0.2, 3):
        signal.setitimer(signal.ITIMER_REAL, seconds)
        start = time.monotonic()
        try:
            compile_unrolled()
        except Stop:
            print(time.monotonic() - start - seconds, flush=True)
        add[(1,)](out, np.ones(256, np.float32), BLOCK=256 if seconds < 1 else 128)
        assert np.all(out[:128] == 2)
sys.exit(7)
"""


@pytest.mark.parametrize("target", ["cpu", SIM, "sim:gfx942", "nvidia:sm_90a"])
def test_a_long_compilation_ends_at_once(target: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(LONG_COMPILATION)
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    start = time.monotonic()
    run = subprocess.run(
        [sys.executable, str(script), target],
        capture_output=True, text=True, timeout=120, env=environment,
    )  # fmt: skip
    assert run.returncode == 7, run.stderr
    latencies = [float(line) for line in run.stdout.split()]
    assert len(latencies) == 2 and max(latencies) < 3
    assert time.monotonic() - start < 15  # nor does the end of the process wait for it
    entries = [file for file in (tmp_path / "cache").glob("v*/??/*") if file.is_file()]
    assert len(entries) == 2  # those of `add`


@pytest.mark.parametrize("targets", ["cpu:x86-64-v3", "nvidia:sm_80,amd:gfx942,cpu:x86-64-v3"])
def test_an_export_of_a_long_kernel_ends_at_once(targets: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(LONG_COMPILATION.partition("@tw.jit\ndef add")[0])
    command = [
        sys.executable, "-m", "tilewright", "export", f"{script}:unrolled", "--signature", "*fp32, *fp32",
        "--constexpr", "BLOCK=256", "--grid", "1", "--targets", targets, "-o", str(tmp_path / "out"),
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    with pytest.raises(subprocess.TimeoutExpired):
        process.wait(4)  # it compiles
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=10)
    assert (process.returncode, told) == (130, "tilewright: interrupted\n")
    assert not (tmp_path / "out").exists()


ASSEMBLER_THAT_STAYS = """#!/bin/sh
echo $$ > "$0.started"
exec sleep 1000
"""


def test_an_assembler_that_runs_is_stopped(tmp_path: Path) -> None:
    assembler = tmp_path / "ptxas"
    assembler.write_text(ASSEMBLER_THAT_STAYS)
    assembler.chmod(0o755)
    script = tmp_path / "script.py"
    script.write_text(LONG_COMPILATION.partition("class Stop")[0])
    environment = {
        **os.environ, "TILEWRIGHT_CACHE": "0", "TILEWRIGHT_ASSEMBLERS": str(assembler),
    }  # fmt: skip
    command = [
        sys.executable, "-m", "tilewright", "compile", f"{script}:add", "--signature", "*fp32, *fp32",
        "--constexpr", "BLOCK=256", "--target", "nvidia:sm_80", "--emit", "cubin",
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    started = tmp_path / "ptxas.started"
    while not (started.exists() and started.read_text().endswith("\n")):
        assert process.poll() is None, process.stderr
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=20)
    assert (process.returncode, told) == (130, "tilewright: interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
@tw.jit
def loop_without_effect(out, n, start):
    x = start
    for _ in range(n):
        x = x * 3 + 1
    tw.store(out, x)


@tw.jit
def wait_for_value(flag, out):
    while tw.atomic_cas(flag, 7, 7) != 7:
        pass
    tw.store(out, 1)


@tw.jit
def wait_for_next(flags, out):
    i = tw.program_id(0)
    while tw.load(flags + i + 1, volatile=True) == 0:
        pass
    tw.store(flags + i, 1)


@tw.jit
def count_by_loads(out, x, n):
    total = 0
    for i in range(n):
        total += tw.load(x + i)
    tw.store(out, total)


@pytest.mark.parametrize("device", ["reference", SIM])
def test_a_loop_without_effect_ends_at_its_limit(device: str) -> None:
    out, flag = np.zeros(1, np.int32), np.zeros(1, np.int32)
    with tw.device(device), tw.simulation.simulate(device, max_steps=4000):
        loop_without_effect[(1,)](out, 100, 1)
        for kernel, arguments in ((loop_without_effect, (out, 1 << 30, 1)), (wait_for_value, (flag, out))):
            with pytest.raises(tw.DeviceError, match=r"4000 i.*|deadlock") as error:
                kernel[(1,)](*arguments)
            assert error.value.code == ("TW0660" if device == "reference" else "TW0612")
            assert "test_launch_interrupts.py:" in str(error.value)


def test_loops_that_read_what_is_new_have_no_limit() -> None:
    out, x = np.zeros(1, np.int32), np.ones(500, np.int32)
    with tw.device("reference"), tw.simulation.simulate("reference", max_steps=100):
        count_by_loads[(1,)](out, x, 500)
        assert out[0] == 500
        flags = np.array([0, 0, 0, 1], np.int32)
        wait_for_next[(3,)](flags, out, launch_cooperative_grid=True)
        flags[:] = 0
        with pytest.raises(tw.DeviceError, match="100 iterations without effect"):
            wait_for_next[(3,)](flags, out, launch_cooperative_grid=True)
