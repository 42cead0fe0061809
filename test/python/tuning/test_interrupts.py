"""Ctrl-C while a kernel is tuned: the launch goes on with the best configuration so far."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

import tilewright

pytestmark = pytest.mark.usefixtures("compiler")

PREAMBLE = """
import os, pathlib, signal, sys, threading, time
import numpy as np
import tilewright as tw

signal.signal(signal.SIGINT, signal.default_int_handler)

@tw.jit
def add(x, out, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n) + 1, mask=i < n)

x, out = np.zeros(1000, np.float32), np.zeros(1000, np.float32)

def grid(named):
    return (tw.cdiv(1000, named["BLOCK"]),)

def configs(*blocks):
    return [tw.Config({"BLOCK": block}) for block in blocks]

def interrupt():
    global interrupted
    interrupted = time.monotonic()
    os.kill(os.getpid(), signal.SIGINT)
"""


def run(tmp_path: Path, script: str) -> str:
    file = tmp_path / "script.py"
    file.write_text(PREAMBLE + textwrap.dedent(script))
    paths = [str(Path(tilewright.__file__).parents[1]), *sys.path]
    done = subprocess.run(
        [sys.executable, str(file)], capture_output=True, text=True, timeout=120,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TILEWRIGHT_TUNE_WORKERS": "2"},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_while_candidates_race(tmp_path: Path) -> None:
    script = """
    launches = 0
    def count(arguments, exception):
        global launches
        launches += 1
        if launches == 40:
            interrupt()
    tuned = tw.autotune(configs(32, 64, 128), key=[], warmup=1e3, rep=1e6, post_hook=count)(add)
    tuned[grid](x, out, 1000)
    assert time.monotonic() - interrupted < 10 and (out == 1).all()
    report = tuned.report
    assert report.is_interrupted and not report.is_sure and tuned.best_config == report.best
    out[:] = 0
    tuned[grid](x, out, 1000)  # kept: it is not tuned again
    assert launches == 40 and (out == 1).all()
    print(report)
    """
    assert "until the interrupt" in run(tmp_path, script)


def test_while_workers_compile(tmp_path: Path) -> None:
    script = """
    from tilewright.tuning import workers
    from tilewright.native import native
    FAULT = '''
    from tilewright.tuning import worker
    import time
    compile_packed = worker.compile_packed
    def slow(packed):
        if '"v":"64"' not in repr(packed["specialization"]):
            time.sleep(1000)
        return compile_packed(packed)
    worker.compile_packed = slow
    '''
    workers._PROGRAM = workers._PROGRAM.replace("serve(int", FAULT + "serve(int")
    started = []
    unpack = native().unpack
    def unpacked(*given):
        kernel = unpack(*given)
        started.extend(worker.process for worker in workers_of_test)
        threading.Timer(0.2, interrupt).start()
        return kernel
    native().unpack = unpacked
    workers_of_test = []
    begin = workers.Worker.begin
    def begun(self, task):
        workers_of_test.append(self)
        begin(self, task)
    workers.Worker.begin = begun
    tuned = tw.autotune(configs(32, 64, 128), key=[])(add)
    tuned[grid](x, out, 1000)
    assert time.monotonic() - interrupted < 10 and (out == 1).all()
    assert tuned.best_config.kwargs == {"BLOCK": 64} and tuned.report.is_interrupted
    busy = {worker.process for worker in workers_of_test} - {w.process for w in workers._idle}
    assert busy and all(process.poll() is not None for process in busy)
    """
    run(tmp_path, script)


def test_before_anything_is_compiled_it_is_an_interrupt(tmp_path: Path) -> None:
    script = """
    def prune(configs, named, **rest):
        threading.Timer(0, interrupt).start()
        time.sleep(5)
    tuned = tw.autotune(configs(32, 64), key=[], prune_configs_by={"early_config_prune": prune})(add)
    try:
        tuned[grid](x, out, 1000)
    except KeyboardInterrupt:
        print("interrupted")
    """
    assert run(tmp_path, script) == "interrupted\n"


def test_a_candidate_that_runs_for_long(tmp_path: Path) -> None:
    script = """
    @tw.jit
    def wait(flag, out, n, WAITS: tw.constexpr):
        if WAITS:
            while tw.atomic_add(flag, 0) == 0:
                pass
        tw.store(out, 1)

    flag = np.zeros(1, np.int32)
    def interrupt_later(arguments):
        threading.Timer(0.3, interrupt).start()
    waits = [tw.Config({"WAITS": False}), tw.Config({"WAITS": True}, pre_hook=interrupt_later)]
    tuned = tw.autotune(waits, key=[], isolate=False, warmup=1, rep=1)(wait)
    tuned[(1,)](flag, out, 1)
    assert time.monotonic() - interrupted < 10 and out[0] == 1
    assert not tuned.best_config.kwargs["WAITS"] and tuned.report.is_interrupted
    """
    run(tmp_path, script)


def test_a_forked_child_has_workers_of_its_own(tmp_path: Path) -> None:
    script = """
    tuned = tw.autotune(configs(32, 64), key=["n"], warmup=1, rep=1)(add)
    tuned[grid](x, out, 1000)
    child = os.fork()
    if not child:
        @tw.jit
        def other(x, out, n, BLOCK: tw.constexpr):
            i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
            tw.store(out + i, tw.load(x + i, mask=i < n) + 2, mask=i < n)

        tuned = tw.autotune(configs(32, 64), key=["n"], warmup=1, rep=1)(other)
        tuned[grid](x, out, 1000)
        os._exit(0 if (out == 2).all() and not tuned.report.left_out else 1)
    assert os.waitpid(child, 0)[1] == 0
    tuned[grid](x, out, 999)
    assert (out == 1).all()
    """
    run(tmp_path, script)


def test_workers_end_with_their_program(tmp_path: Path) -> None:
    script = """
    @tw.jit
    def wait(flag, out, WAITS: tw.constexpr):
        while tw.atomic_add(flag, 0) == 0:
            pass
        tw.store(out, WAITS)

    from tilewright.tuning import workers
    begin = workers.Worker.begin
    def begun(self, task):
        begin(self, task)
        if task.message["do"] == "run":
            print(self.process.pid, flush=True)
            threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGKILL)).start()
    workers.Worker.begin = begun
    waits = [tw.Config({"WAITS": 1}), tw.Config({"WAITS": 2})]
    tw.autotune(waits, key=[])(wait)[(1,)](np.zeros(1, np.int32), np.zeros(1, np.int32))
    """
    file = tmp_path / "script.py"
    file.write_text(PREAMBLE + textwrap.dedent(script))
    paths = [str(Path(tilewright.__file__).parents[1]), *sys.path]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "TILEWRIGHT_TUNE_WORKERS": "2"}
    done = subprocess.run([sys.executable, str(file)], stdout=subprocess.PIPE, env=environment)
    assert done.returncode == -signal.SIGKILL
    for worker in done.stdout.split():
        limit = time.monotonic() + 60
        while is_running(int(worker)):
            assert time.monotonic() < limit, "it runs on"
            time.sleep(0.05)


def is_running(process: int) -> bool:
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


@pytest.mark.parametrize("has_rich", [False, True])
def test_a_line_on_a_terminal(tmp_path: Path, has_rich: bool) -> None:
    if has_rich:
        pytest.importorskip("rich")
    script = """
    import os, pty, select
    screen, terminal = pty.openpty()
    os.dup2(terminal, 2)
    sys.stderr = os.fdopen(2, "w")
    if HIDES_RICH:
        sys.modules["rich"] = None
    tuned = tw.autotune(configs(32, 64), key=[], warmup=1, rep=1)(add)
    tuned[grid](x, out, 1000)
    sys.stderr.flush()
    shown = b""
    while select.select([screen], [], [], 0.2)[0]:
        shown += os.read(screen, 4096)
    sys.stderr = sys.__stderr__
    if b"autotuning add: " not in shown or b"2 of 2 launched" not in shown:
        sys.exit(print(shown))
    print("rich" if b"\\x1b[" in shown else "plain")
    """
    script = script.replace("HIDES_RICH", str(not has_rich))
    assert run(tmp_path, script) == ("rich\n" if has_rich else "plain\n")
