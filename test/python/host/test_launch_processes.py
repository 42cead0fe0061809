"""Endless kernels stop on Ctrl-C; forks, signal handlers, threads and the end of the interpreter do
not hang or abort. Each script runs in a process of its own with a limit of time."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("compiler")

PREAMBLE = """
import os, signal, sys, threading, time
import numpy as np
import tilewright as tw

# Whoever runs the tests in the background may have them ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

@tw.jit
def wait(flag, out):
    count = 0
    while tw.atomic_add(flag + tw.program_id(0) * 0, 0) == 0:
        count += 1
    tw.store(out + tw.program_id(0), count)

@tw.jit
def spin(flag, out, n):
    i = n
    while i != 0:
        i = (i * 5 + 2) % 1000003 + 1
    tw.store(out + tw.program_id(0), i)

@tw.jit
def wait_for_last(flag, out):
    if tw.program_id(0) == tw.num_programs(0) - 1:
        while tw.atomic_add(flag, 0) == 0:
            pass
    tw.store(out + tw.program_id(0), 1)

@tw.jit
def count(out, n):
    total = 0
    for i in range(n):
        total = (total * 5 + i) % 1000003
    tw.store(out, total)

@tw.jit
def count_by(out, n, step, N: tw.constexpr):
    total = 0
    for i in range(0, n, step):
        total = (total * 5 + i) % 1000003
    for i in range(N):
        total = (total * 5 + i) % 1000003
    tw.store(out, total)

@tw.jit
def count_pairs(out, n, m):
    total = 0
    for i in range(n):
        for j in range(m):
            total = (total * 5 + i * 3 + j) % 1000003
    tw.store(out, total)

@tw.jit
def count_tiles(out, n):
    total = tw.zeros([64, 64], tw.float32)
    for i in range(0, n, 4):
        total = tw.sin(total + i)
    tw.store(out, tw.sum(total, axis=None).to(tw.int32))

@tw.jit
def add(out, x, n, B: tw.constexpr = 64):
    i = tw.arange(0, B)
    tw.store(out + i, tw.load(x + i, mask=i < n) + 1, mask=i < n)

zero, one, out = np.zeros(1, np.int32), np.ones(1, np.int32), np.zeros(64, np.int32)

def say(*texts):
    print(*texts, flush=True)

def check_add(n=48):
    out = np.zeros(64, np.float32)
    add[1](out, np.ones(64, np.float32), n)
    assert out.sum() == 2 * n, out
"""


def start(tmp_path: Path, script: str, **environment: str) -> subprocess.Popen[str]:
    file = tmp_path / "script.py"
    file.write_text(PREAMBLE + textwrap.dedent(script))
    return subprocess.Popen(
        [sys.executable, "-X", "faulthandler", str(file)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def finish(process: subprocess.Popen[str], seconds: float = 240) -> str:
    """What it printed since the last line that was read. A process that hangs is ended."""
    assert process.stdout and process.stderr
    limit = threading.Timer(seconds, process.kill)
    limit.start()
    # Not `communicate`: that would lose what reading lines has buffered.
    output, errors = process.stdout.read(), process.stderr.read()
    process.wait()
    assert limit.is_alive(), f"it hangs:\n{output}\n{errors}"
    limit.cancel()
    assert process.returncode == 0, f"{process.returncode}\n{output}\n{errors}"
    return output


def run(tmp_path: Path, script: str, **environment: str) -> str:
    return finish(start(tmp_path, script, **environment))


@pytest.mark.parametrize("device", ["cpu", "reference"])
@pytest.mark.parametrize("launch", ["wait[1](zero, out)", "wait[7](zero, out)",
                                    "spin[1](zero, out, 5)", "wait_for_last[7](zero, out)"])
def test_ctrl_c_stops_an_endless_kernel(tmp_path: Path, device: str, launch: str) -> None:
    process = start(
        tmp_path,
        f"""
        with tw.device({device!r}):
            wait[1](one, out)
            wait_for_last[2](one, out)
            spin[1](zero, out, 0)
            say("ready")
            try:
                {launch}
            except KeyboardInterrupt:
                say("stopped")
            check_add()  # and what is launched next runs
            wait[3](one, out)
            say("again")
        """,
    )
    assert process.stdout and process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert process.stdout.readline() == "stopped\n"
    assert time.monotonic() - begin < 20  # on a machine that does other things, too
    assert finish(process).endswith("again\n")


END = 2**31 - 1


@pytest.mark.parametrize("launch", [f"count[2](out, {END})", f"count_by[1](out, {END}, 2, 1)",
                                    f"count_by[1](out, 0, 2, {END})", f"count_pairs[2](out, {END}, 3)",
                                    f"count_pairs[1](out, 3, {END})", f"count_tiles[2](out, {END})"])
def test_ctrl_c_stops_a_long_loop_of_a_known_count(tmp_path: Path, launch: str) -> None:
    kernel, arguments = launch.split("[")[0], launch.split("(")[1].rstrip(")")
    process = start(
        tmp_path,
        f"""
        {kernel}.warmup({arguments}, grid=(1,))
        say("ready")
        try:
            {launch}
        except KeyboardInterrupt:
            say("stopped")
        check_add()
        say("again")
        """,
    )
    assert process.stdout and process.stdout.readline() == "ready\n"
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert process.stdout.readline() == "stopped\n"
    assert time.monotonic() - begin < 5
    assert finish(process) == "again\n"


def test_loops_that_poll_count_as_they_did(tmp_path: Path) -> None:
    run(
        tmp_path,
        """
        def expected(values):
            total = 0
            for i in values:
                total = (total * 5 + i) % 1000003
            return total

        for n in (0, -3, 1, 2, 20_000, 300_001):
            count[1](out, n)
            assert out[0] == expected(range(n)), (n, out[0])
            count_by[1](out, n, 7, 3)
            assert out[0] == expected([*range(0, n, 7), *range(3)]), (n, out[0])
        for n, m in ((0, 5), (5, 0), (3, 100_000), (100_000, 3), (300, 300)):
            count_pairs[1](out, n, m)
            assert out[0] == expected(i * 3 + j for i in range(n) for j in range(m)), (n, m)
        """,
    )


def test_ctrl_c_ends_a_wait_for_another_threads_launch(tmp_path: Path) -> None:
    process = start(
        tmp_path,
        """
        wait[1](one, out)
        threading.Thread(target=lambda: wait[1](zero, out), daemon=True).start()
        say("ready")
        time.sleep(0.2)
        try:
            add[1](np.zeros(64, np.float32), np.ones(64, np.float32), 64)
        except KeyboardInterrupt:
            say("stopped")
        """,
    )
    assert process.stdout and process.stdout.readline() == "ready\n"
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    assert finish(process) == "stopped\n"


def test_ctrl_c_ends_a_compilation(tmp_path: Path) -> None:
    process = start(
        tmp_path,
        """
        @tw.jit
        def large(x, out):
            i = tw.arange(0, 32)[:, None] * 32 + tw.arange(0, 32)[None, :]
            total = tw.zeros((32, 32), tw.float32)
            for k in tw.static_range(1500):  # many seconds
                total += tw.load(x + i + k, mask=i < 1000 - k, other=k) * tw.exp(total)
            tw.store(out + i, total)

        big = np.zeros(4096, np.float32)
        with tw.device("sim:sm_80"):
            check_add()
            say("ready")
            begin = time.monotonic()
            try:
                large[1](big, big.copy())
            except KeyboardInterrupt:
                say("stopped")
            check_add(16)
            say("again")
        """,
    )
    assert process.stdout and process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    assert finish(process).endswith("stopped\nagain\n")


def test_a_child_forked_while_another_thread_launches_or_compiles(tmp_path: Path) -> None:
    output = run(
        tmp_path,
        """
        check_add()
        is_ended = False

        def compile_many():
            number = 0
            while not is_ended:
                number += 1
                add[1](np.zeros(64, np.float32), np.ones(64, np.float32), 5, B=2 ** (number % 6))
                add._loaded.clear()
                wait[1](one, out)

        os.environ["TILEWRIGHT_CACHE"] = "0"
        threads = [threading.Thread(target=compile_many, daemon=True) for _ in range(2)]
        threads.append(threading.Thread(target=lambda: wait[1](zero, out), daemon=True))
        for thread in threads:
            thread.start()
        time.sleep(0.1)
        for _ in range(10):
            child = os.fork()
            if child == 0:
                check_add()
                check_add(32)
                add[2](np.zeros(64, np.float32), np.ones(64, np.float32), 9, B=128)
                with tw.device("reference"):
                    check_add()
                os._exit(0)
            deadline = time.monotonic() + 20
            while os.waitpid(child, os.WNOHANG) == (0, 0):
                if time.monotonic() > deadline:
                    os.kill(child, 9)
                    raise SystemExit("a child hangs")
                time.sleep(0.01)
        is_ended = True
        say("done")
        """,
        PYTHONWARNINGS="ignore",
    )
    assert output.endswith("done\n")


def test_a_child_forked_while_another_thread_computes_an_attribute_of_a_kernel(
    tmp_path: Path,
) -> None:
    output = run(
        tmp_path,
        """
        from tilewright.launch import jit

        @tw.jit
        def slow(x, n, B: tw.constexpr):
            tw.store(x, n)

        entered, may_end = threading.Event(), threading.Event()
        parameters_of = jit.parameters_of

        def read_slowly(function, *options):
            if function is slow.fn:
                entered.set()
                may_end.wait()
            return parameters_of(function, *options)

        jit.parameters_of = read_slowly
        thread = threading.Thread(target=lambda: slow.parameters)
        thread.start()
        entered.wait()
        child = os.fork()
        if not child:
            signal.alarm(20)
            check_add()
            os._exit(0)
        may_end.set()
        thread.join()
        say(os.waitpid(child, 0)[1], len(slow.parameters), slow.parameters is slow.parameters)
        """,
        PYTHONWARNINGS="ignore",
    )
    assert output == "0 3 True\n"


def test_a_signal_handler_that_forks_amid_updates_under_locks(tmp_path: Path) -> None:
    """The child goes on with the launch, without the workers that held locks."""
    output = run(
        tmp_path,
        """
        @tw.jit
        def update(x, n, B: tw.constexpr):
            i = tw.arange(0, B)
            for j in range(n):
                tw.atomic_add(x + (j % 4) * B + i, 1.0, mask=i < B - 1)

        children = []

        def handle(number, frame):
            children.append(os.fork())
            if not children[-1]:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(60)

        x = np.zeros(4096, np.float32)
        update[4](x, 3, B=1024)
        signal.signal(signal.SIGALRM, handle)
        for _ in range(40):
            signal.setitimer(signal.ITIMER_REAL, 0.005)
            try:
                update[64](x, 3000, B=1024)
            except tw.DeviceError as error:  # of a child: programs of other threads are lost
                assert 0 in children and error.code == "TW0614", error
            signal.setitimer(signal.ITIMER_REAL, 0)
            if 0 in children:
                os._exit(0)
        states = [os.waitpid(child, 0)[1] for child in children]
        say(set(states), len(states) > 10)
        """,
        TILEWRIGHT_NUM_THREADS="4",
    )
    assert output == "{0} True\n"


@pytest.mark.parametrize("device", ["cpu", "reference", "sim:sm_80"])
def test_a_signal_handler_that_launches(tmp_path: Path, device: str) -> None:
    output = run(
        tmp_path,
        f"""
        launched = []

        def handle(number, frame):
            check_add()
            launched.append(1)
            if len(launched) == 3:
                flag[0] = 1
            else:
                signal.setitimer(signal.ITIMER_REAL, 0.1)

        flag = np.zeros(1, np.int32)
        with tw.simulation.simulate("sim:sm_80", max_steps=10**9), tw.device({device!r}):
            wait[1](one, out)
            signal.signal(signal.SIGALRM, handle)
            signal.setitimer(signal.ITIMER_REAL, 0.2)
            wait[5](flag, out)
        say(len(launched))
        """,
    )
    assert output == "3\n"


@pytest.mark.parametrize("work", ["wait[1](zero, out)", "compile_for_ever()"])
def test_the_interpreter_ends_while_a_daemon_thread_works(tmp_path: Path, work: str) -> None:
    output = run(
        tmp_path,
        f"""
        def compile_for_ever():
            while True:
                add[1](np.zeros(64, np.float32), np.ones(64, np.float32), 5)
                add._loaded.clear()

        os.environ["TILEWRIGHT_CACHE"] = "0"
        check_add()
        threads = [threading.Thread(target=lambda: {work}, daemon=True) for _ in range(2)]
        for thread in threads:
            thread.start()
        time.sleep(0.3)
        say("end")
        """,
    )
    assert output == "end\n"


def test_threads_and_forked_workers_launch_side_by_side(tmp_path: Path) -> None:
    output = run(
        tmp_path,
        """
        import multiprocessing
        from concurrent.futures import ThreadPoolExecutor

        def work(seed):
            for n in range(seed, seed + 20):
                check_add(n % 64 + 1)
            return seed

        with ThreadPoolExecutor(6) as threads:
            assert list(threads.map(work, range(12))) == list(range(12))
        with multiprocessing.get_context("fork").Pool(3) as workers:
            assert workers.map(work, range(9)) == list(range(9))
            assert list(map(work, range(3))) == list(range(3))  # beside them
        say("done")
        """,
        PYTHONWARNINGS="ignore",
    )
    assert output == "done\n"


def test_threads_use_names_for_the_first_time_at_once(tmp_path: Path) -> None:
    """Each gets whole modules, in whatever order the threads come to them."""
    output = run(
        tmp_path,
        """
        names = ["autotune", "heuristics", "simulation", "testing", "Package", "TensorDescriptor", "libdevice",
                 "torch_op", "choice", "Config"]
        start, errors = threading.Barrier(20), set()

        def use(number):
            start.wait()
            for index in range(len(names)):
                try:
                    getattr(tw, names[(number + index) % len(names)])
                except BaseException as error:
                    errors.add(repr(error))

        threads = [threading.Thread(target=use, args=(number,)) for number in range(20)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print(sorted(errors))
        """,
    )
    assert output == "[]\n"


@pytest.mark.skipif(sys.version_info < (3, 9), reason="no subinterpreters")
def test_a_subinterpreter_is_told_so(tmp_path: Path) -> None:
    output = run(
        tmp_path,
        """
        try:
            import _interpreters as interpreters
        except ImportError:
            import _xxsubinterpreters as interpreters
        check_add()
        number = interpreters.create()
        code = chr(10).join([
            "import sys",
            f"sys.path[:] = {sys.path!r}",
            "try:",
            "    from tilewright import _native",
            "except ImportError as error:",
            "    print(error, flush=True)",
        ])
        interpreters.run_string(number, code)
        interpreters.destroy(number)
        check_add()
        """,
    )
    assert "this is a subinterpreter" in output
