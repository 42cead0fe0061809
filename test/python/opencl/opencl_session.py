"""Launches on an OpenCL device, in a process of their own: `opencl_session.py NAME ACCESS [DOUBLE WORDS]`,
where ACCESS says how kernels reach arrays: "" where they lie, "usm", "svm" or "buffers" in copies. DOUBLE is the path
of a library to take for OpenCL's, which WORDS configure."""

from __future__ import annotations

import ctypes
import os
import sys
import threading

import numpy as np

import tilewright as tw
from tilewright.native import native


@tw.jit
def add(out, x, y, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n) + tw.load(y + i, mask=i < n), mask=i < n)


@tw.jit
def show(x, BLOCK: tw.constexpr):
    tw.device_print(" value", tw.load(x + tw.arange(0, BLOCK)))


@tw.jit
def bounded(x, n, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    value = tw.load(x + i)
    tw.device_assert(value < n, "too large")
    tw.store(x + i, value + 1)


@tw.jit
def doubled(x, BLOCK: tw.constexpr):
    i = tw.arange(0, BLOCK)
    tw.store(x + i, tw.load(x + i) + tw.load(x + i))


def code_of(call) -> str:
    try:
        call()
    except tw.TilewrightError as error:
        return str(error.code)
    return "none"


def values() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.standard_normal((2, 1000), dtype=np.float32)
    out = np.full(1000, np.nan, np.float32)
    compiled = add[(8,)](out, x, y, 1000, BLOCK=128)
    np.testing.assert_array_equal(out, x + y)
    print(compiled.origin, bool(compiled.native.assembled), compiled.native.needs_memory)


def views(distance: int = 32) -> None:
    """One array, stored to that far behind where it is read."""
    whole = np.arange(2 * distance, dtype=np.float32)
    out, x, y = whole[distance:], whole[:distance], np.ones(distance, np.float32)
    add[(1,)](out, x, y, distance, BLOCK=128)
    np.testing.assert_array_equal(whole, [*range(distance), *range(1, distance + 1)])


def close_views() -> None:
    print(code_of(lambda: views(5)))


def origin() -> None:
    x = np.zeros(8, np.int32)
    print(doubled[(1,)](x, BLOCK=8).origin)


def lines() -> None:
    show[(1,)](np.arange(4, dtype=np.int32), BLOCK=4)
    sys.stdout.flush()


def checks() -> None:
    x = np.arange(8, dtype=np.int32)
    print(code_of(lambda: bounded[(1,)](x, 8, BLOCK=8, debug=True)))
    np.testing.assert_array_equal(x, np.arange(1, 9))
    print(code_of(lambda: bounded[(1,)](x, 8, BLOCK=8, debug=True)))
    print(code_of(lambda: doubled[(1,)](np.full(8, 1 << 30, np.int32), BLOCK=8, debug=True)))
    print(code_of(lambda: bounded[(1,)](x, 100, BLOCK=8, debug=True)))


def refusals() -> None:
    memory = np.frombuffer(bytearray(36), np.uint8)[1:33].view(np.int32)
    print(code_of(lambda: doubled[(1,)](memory, BLOCK=8)))
    x = np.arange(8, dtype=np.int32)
    print(code_of(lambda: doubled[(1,)](x, BLOCK=8, launch_cooperative_grid=True)))
    with tw.device("cpu"):
        print(code_of(lambda: tw.synchronize("opencl:9")))


def threads() -> None:
    failures = []

    def work() -> None:
        x = np.zeros(64, np.int32)
        for _ in range(200):
            bounded[(1,)](x, 1000, BLOCK=64)
        if not (x == 200).all():
            failures.append(x)

    workers = [threading.Thread(target=work) for _ in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures, failures


def forks() -> None:
    x = np.zeros(8, np.int32)
    bounded[(1,)](x, 10, BLOCK=8)
    child = os.fork()
    if child == 0:
        print(code_of(lambda: bounded[(1,)](x, 10, BLOCK=8)), flush=True)
        os._exit(0)
    os.waitpid(child, 0)


def registers() -> None:
    """Launch with each limit of registers; say where the kernel came from and what its driver was asked for."""
    double = ctypes.CDLL(sys.argv[3])
    double.openclDoubleRecord.restype = ctypes.c_char_p
    for options in ({}, {"maxnreg": 256}, {"maxnreg": 128}):
        double.openclDoubleConfigure(sys.argv[4].encode())
        compiled = doubled[(1,)](np.ones(64, np.float32), BLOCK=64, **options)
        calls = double.openclDoubleRecord().decode().splitlines()
        builds = {call.removeprefix("clBuildProgram") for call in calls if call.startswith("clBuildProgram")}
        print(compiled.origin, options.get("maxnreg"), *builds)


if __name__ == "__main__":
    if sys.argv[2]:
        native().set_target_setting("opencl-arrays", [sys.argv[2]])
    if double := sys.argv[3:]:
        ctypes.CDLL(double[0]).openclDoubleConfigure(double[1].encode())
        native().set_target_setting("opencl-libraries", [double[0]])
    with tw.device("opencl:0"):
        globals()[sys.argv[1]]()
