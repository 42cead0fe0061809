"""The compiler and the simulator inside of a process: threads, forks, and many kernels."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np
import pytest

import tilewright as tw

pytestmark = pytest.mark.usefixtures("compiler")

SOURCE = """
import tilewright as tw

@tw.jit
def kernel(x, y, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    value = tw.load(x + i, mask=i < n, other=0.0) * {number}
    tw.store(y + i, value + tw.max(value, 0) + {number}, mask=i < n)
"""


def kernel_of(folder: Path, number: int) -> Any:
    """A kernel like no other, as from a user's file."""
    file = folder / f"kernel_{number}.py"
    file.write_text(SOURCE.format(number=number))
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    assert isinstance(names["kernel"].fn, FunctionType)
    return names["kernel"]


def check(folder: Path, number: int) -> None:
    x, y = np.arange(100, dtype=np.float32), np.zeros(100, np.float32)
    with tw.device("sim:sm_80"):
        kernel_of(folder, number)[(1,)](x, y, 100, BLOCK=128)
    np.testing.assert_array_equal(y, x * number + 99 * number + number)


def test_four_threads_compile_and_simulate_at_once(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work(first: int) -> None:
        try:
            for number in range(first, first + 8):
                check(tmp_path, number)
        except BaseException as error:  # noqa: BLE001 (a thread's failure must reach the test)
            failures.append(error)

    threads = [threading.Thread(target=work, args=(100 * i + 1,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_child_process_compiles_and_simulates_after_its_parent(tmp_path: Path) -> None:
    check(tmp_path, 1)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            check(tmp_path, 1)
            check(tmp_path, 2)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0


def test_many_kernels_take_little_memory_each(tmp_path: Path) -> None:
    statistics = Path("/proc/self/statm")
    if not statistics.exists():
        pytest.skip("this system has no /proc/self/statm")

    def resident() -> int:
        return int(statistics.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    for number in range(1, 11):
        check(tmp_path, number)
    before = resident()
    for number in range(11, 61):
        check(tmp_path, number)
    assert resident() - before < 50 * 200_000
