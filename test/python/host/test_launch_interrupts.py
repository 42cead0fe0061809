"""A signal whose handler raises, as Ctrl-C's does, ends a launch that still runs."""

from __future__ import annotations

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
