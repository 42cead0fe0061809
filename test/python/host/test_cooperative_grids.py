"""Cooperative grids: all programs run at the same time, on every device, so that they may wait for
each other; where a device does not hold so many, the launch says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tilewright as tw


@tw.jit
def normalize(x, partial, out, count, n, BLOCK: tw.constexpr):
    """Divides x by its sum: no program goes on before all have added their part."""
    program = tw.program_id(0)
    i = program * BLOCK + tw.arange(0, BLOCK)
    mine = tw.load(x + i, mask=i < n, other=0.0)
    tw.store(partial + program, tw.sum(mine))
    tw.atomic_add(count, 1)
    while tw.atomic_add(count, 0) < tw.num_programs(0):
        pass
    total = 0.0
    for k in range(tw.num_programs(0)):
        total += tw.load(partial + k, volatile=True)
    tw.store(out + i, mine / total, mask=i < n)


@tw.jit
def take_turns(order, turn, ROUNDS: tw.constexpr):
    """Each round, the programs write their numbers in descending order, by a spinning load."""
    program = tw.program_id(0)
    programs = tw.num_programs(0)
    for round in range(ROUNDS):
        mine = round * programs + programs - 1 - program
        while tw.load(turn, volatile=True) != mine:
            pass
        tw.store(order + mine, program)
        tw.atomic_xchg(turn, mine + 1)


@pytest.fixture
def simulated_or_host(device: str) -> str:
    if device.startswith(("cuda:", "hip:")):
        pytest.skip("a GPU in use by others may have room for fewer programs")
    return device


def test_a_barrier_over_the_grid(device: str, rng: np.random.Generator) -> None:
    programs = 16
    x = rng.random(programs * 64 - 5).astype(np.float32)
    partial, out = np.full(programs, np.nan, np.float32), np.full_like(x, np.nan)
    count = np.zeros(1, np.int32)
    normalize[(programs,)](x, partial, out, count, x.size, BLOCK=64, launch_cooperative_grid=True)
    np.testing.assert_allclose(out, x / x.astype(np.float64).sum(), rtol=1e-6)
    assert count[0] == programs


@pytest.mark.parametrize("grid", [(6,), (1,)])
def test_programs_wait_for_higher_numbers(grid: tuple[int, ...], device: str) -> None:
    order, turn = np.full(3 * grid[0], -1, np.int32), np.zeros(1, np.int32)
    take_turns[grid](order, turn, ROUNDS=3, launch_cooperative_grid=True)
    assert order.tolist() == 3 * list(range(grid[0] - 1, -1, -1))


@tw.jit
def count_all(count, seen):
    tw.atomic_add(count, 1)
    programs = tw.num_programs(0) * tw.num_programs(1) * tw.num_programs(2)
    while tw.atomic_add(count, 0) < programs:
        pass
    number = tw.program_id(0) + tw.num_programs(0) * (
        tw.program_id(1) + tw.num_programs(1) * tw.program_id(2)
    )
    tw.store(seen + number, 1)


def test_grids_of_three_axes_and_none(device: str) -> None:
    count, seen = np.zeros(1, np.int32), np.zeros(24, np.int32)
    count_all[(4, 3, 2)](count, seen, launch_cooperative_grid=True)
    assert count[0] == 24 and seen.all()
    count_all[(4, 0)](count, seen, launch_cooperative_grid=True)
    assert count[0] == 24


def test_too_many_programs_are_refused_with_numbers(simulated_or_host: str) -> None:
    count, seen = np.zeros(1, np.int32), np.zeros(5000, np.int32)
    with pytest.raises(tw.LaunchError, match="5000 programs, and at most 1024") as error:
        count_all[(5000,)](count, seen, launch_cooperative_grid=True)
    assert error.value.code == "TW0419" and "1024" in (error.value.hint or "")
    assert count[0] == 0 and not seen.any()


@tw.jit
def fails_at_last(count, x):
    program = tw.program_id(0)
    tw.device_assert(program < 5, "the last one fails")
    while tw.atomic_add(count, 0) < tw.num_programs(0):
        pass
    tw.store(x + program, program)


def test_a_failure_ends_those_that_wait_for_it(simulated_or_host: str) -> None:
    count, x = np.zeros(1, np.int32), np.zeros(6, np.int32)
    with pytest.raises(tw.DeviceError, match="the last one fails"):
        fails_at_last[(6,)](count, x, debug=True, launch_cooperative_grid=True)
    assert not x.any()


@tw.jit
def waits_for_ever(count):
    while tw.atomic_add(count, 0) < 1:
        pass


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_an_interrupt_ends_programs_that_wait(name: str) -> None:
    import signal

    class Stop(Exception):
        pass

    def stop(*_: Any) -> None:
        raise Stop

    count = np.zeros(1, np.int32)
    with tw.device(name):  # so that programs wait when the signal comes
        waits_for_ever.warmup(count, grid=(8,))
    before = signal.signal(signal.SIGALRM, stop)
    try:
        with tw.device(name), pytest.raises(Stop):
            signal.setitimer(signal.ITIMER_REAL, 0.3)
            waits_for_ever[(8,)](count, launch_cooperative_grid=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    with tw.device(name):  # and the device goes on
        count_all[(4,)](count, np.zeros(4, np.int32), launch_cooperative_grid=True)
    assert count[0] == 4


def test_a_compiled_kernel_launches_cooperatively_too(device: str) -> None:
    count, seen = np.zeros(1, np.int32), np.zeros(8, np.int32)
    kernel = count_all.warmup(count, seen, grid=(8,))
    kernel[(8,)](count, seen, launch_cooperative_grid=True)
    assert count[0] == 8 and seen.all()


def test_a_kernel_compiled_for_cooperative_grids_launches_them(device: str) -> None:
    count, seen = np.zeros(1, np.int32), np.zeros(8, np.int32)
    option = {"launch_cooperative_grid": True}
    signature = {"count": "*i32", "seen": "*i32"}
    kernels = (
        count_all.warmup(count, seen, grid=(8,), **option),
        count_all.compile(signature, device=device, **option),
    )
    for number, kernel in enumerate(kernels, start=1):
        assert kernel is not None and kernel.launch_options == option
        count[0] = seen[:] = 0
        kernel[(8,)](count, seen)
        assert count[0] == 8 and seen.all(), number
    assert not count_all.warmup(count, seen, grid=(8,)).launch_options


_FORKS = """
import os, signal, sys, threading, time
import numpy as np, tilewright as tw

@tw.jit
def wait(count, flag):
    tw.atomic_add(count, 1)
    while tw.load(flag, volatile=True) == 0:
        pass

class Child(Exception):
    pass

count, flag = np.zeros(1, np.int32), np.zeros(1, np.int32)

def fork(*_):
    child = os.fork()
    if child == 0:
        raise Child
    assert os.waitpid(child, 0)[1] == 0
    flag[0] = 1

def signal_once_all_wait():
    while count[0] < 6:
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGUSR1)

signal.signal(signal.SIGUSR1, fork)
threading.Thread(target=signal_once_all_wait, daemon=True).start()
with tw.device(sys.argv[1]):
    try:
        wait[(6,)](count, flag, launch_cooperative_grid=True)
        print("parent", count[0], flush=True)
    except Child:
        wait[(6,)](count, np.ones(1, np.int32), launch_cooperative_grid=True)
        print("child", count[0], flush=True)
        os._exit(0)
"""


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_a_handler_may_fork_while_programs_wait(name: str, compiler: None, tmp_path: Path) -> None:
    script = tmp_path / "forks.py"
    script.write_text(_FORKS)
    package = str(Path(next(iter(tw.__path__))).parent)
    done = subprocess.run(
        [sys.executable, str(script), name], env={**os.environ, "PYTHONPATH": package},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert sorted(done.stdout.split()) == ["12", "6", "child", "parent"], done.stdout + done.stderr


@tw.jit
def follow_turns(turn, order, n):
    program = tw.program_id(0)
    while tw.load(turn, cache_modifier=".cv") != n - 1 - program:
        pass
    tw.store(order + n - 1 - program, program)
    tw.store(turn, n - program)


@pytest.mark.parametrize("name", ["cpu", "reference"])
def test_loads_that_fetch_again_wait(name: str) -> None:
    turn, order = np.zeros(1, np.int32), np.zeros(6, np.int32)
    with tw.device(name):
        follow_turns[(6,)](turn, order, 6, launch_cooperative_grid=True)
    assert turn[0] == 6 and (order == np.arange(6)[::-1]).all()
