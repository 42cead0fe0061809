"""Launches share the threads of torch's OpenMP runtime: they heed its number of threads, stop on
Ctrl-C, and do not hang in processes forked off, in DataLoader workers or in several threads."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_launch_processes import PREAMBLE, finish, run, start

pytest.importorskip("torch")
pytestmark = pytest.mark.usefixtures("compiler")

BESIDE = """
import torch
os.environ.pop("TILEWRIGHT_NUM_THREADS", None)
torch.set_num_threads(2)
large = torch.ones(1 << 20)

def check_beside(programs=64):
    assert (large + large).sum() == 2 << 20
    x, y = torch.ones(64), torch.zeros(64)
    for n in range(1, 33):
        add[programs](y, x, n)
    assert y[:32].sum() == 64 and y[32:].sum() == 0

check_beside()
"""


def script(text: str) -> str:
    return BESIDE + "\n".join(line[4:] for line in text.splitlines())


def test_its_number_of_threads_is_heeded(tmp_path: Path) -> None:
    output = run(
        tmp_path,
        script("""
    from tilewright.native import native
    for threads in (1, 3, 2):
        torch.set_num_threads(threads)
        say(native().num_threads())
        check_beside()
    """),
        TILEWRIGHT_NUM_THREADS="0",
    )
    assert output == "1\n3\n2\n"


def test_its_number_of_threads_is_heeded_by_threads_that_ran_no_operator(tmp_path: Path) -> None:
    """torch tells its runtime at the first operator that a thread runs."""
    output = run(
        tmp_path,
        script("""
    from tilewright.native import native
    def launch():
        check_add()
        add[64](np.zeros(64, np.float32), np.ones(64, np.float32), 64)
        say(native().num_threads())
    for threads in (1, 3):
        torch.set_num_threads(threads)
        thread = threading.Thread(target=launch)
        thread.start()
        thread.join()
    """),
        TILEWRIGHT_NUM_THREADS="0",
    )
    assert output == "1\n3\n"


def remove_group(group: Path) -> None:
    """Removes a control group. For a moment its processes are in it that have ended."""
    for _ in range(50):
        try:
            return group.rmdir()
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            time.sleep(0.1)
    group.rmdir()


def test_the_quota_of_its_control_group_is_heeded(tmp_path: Path) -> None:
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        pytest.skip("a quota of one core takes nothing from one core")
    group = Path("/sys/fs/cgroup/cpu") / f"tilewright-{os.getpid()}"
    try:
        group.mkdir()
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    try:
        try:
            (group / "cpu.cfs_period_us").write_text("100000")
            (group / "cpu.cfs_quota_us").write_text("90000")
        except OSError as error:
            pytest.skip(f"the control group takes no quota: {error}")
        join = f"open({str(group / 'cgroup.procs')!r}, 'w').write(str(os.getpid()))"
        output = run(
            tmp_path,
            f"{join}\n"
            + script(f"""
    from tilewright.native import native
    for threads in (2, {cores + 1}):
        torch.set_num_threads(threads)
        say(native().num_threads())
        check_beside()
    """),
            TILEWRIGHT_NUM_THREADS="0",
        )
    finally:
        remove_group(group)
    assert output == f"1\n{cores + 1}\n"


@pytest.mark.parametrize("context", ["fork", "forkserver", "spawn"])
@pytest.mark.parametrize("has_launched", [False, True], ids=["first", "later"])
def test_its_loaders_workers_take_one_thread_each(
    tmp_path: Path, context: str, has_launched: bool
) -> None:
    file = tmp_path / "loader.py"
    file.write_text(f"""
import torch, numpy as np, tilewright as tw
from tilewright.native import native

@tw.jit
def add(out, x):
    i = tw.program_id(0)
    tw.store(out + i, tw.load(x + i) + 1)

class Items(torch.utils.data.Dataset):
    def __len__(self):
        return 4
    def __getitem__(self, index):
        x, y = torch.full((64,), float(index)), torch.zeros(64)
        add[64](y, x)
        assert y.sum() == 64 * (index + 1)
        return native().num_threads()

if __name__ == "__main__":
    torch.set_num_threads(2)
    if {has_launched}:
        add[64](torch.zeros(64), torch.zeros(64))
    loader = torch.utils.data.DataLoader(
        Items(), batch_size=2, num_workers=2, multiprocessing_context={context!r}
    )
    print(torch.cat(list(loader)).tolist())
""")
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONWARNINGS": "ignore"}
    result = subprocess.run(
        [sys.executable, str(file)],
        env={**environment, "TILEWRIGHT_NUM_THREADS": "0"},
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (0, "[1, 1, 1, 1]\n"), result.stderr


def test_no_second_team_of_threads_is_started(tmp_path: Path) -> None:
    output = run(
        tmp_path,
        script("""
    before = len(os.listdir("/proc/self/task"))
    check_beside(20000)
    count_pairs[64](out, 3000, 100)
    say(len(os.listdir("/proc/self/task")) - before)
    """),
        TILEWRIGHT_NUM_THREADS="0",
    )
    assert output == "0\n"


@pytest.mark.parametrize("is_unloaded", [False, True], ids=["stays", "is unloaded"])
def test_a_second_runtime_does_no_harm(tmp_path: Path, is_unloaded: bool) -> None:
    """A copy of torch's runtime counts as another one: launches stay on the team of torch's, and go on
    when the copy's library lets it go."""
    output = run(
        tmp_path,
        script(f"""
    import ctypes, shutil
    from tilewright.native import native
    maps = open("/proc/self/maps").read().split()
    (loaded,) = {{path for path in maps if "gomp" in os.path.basename(path)}}
    copy = shutil.copy(loaded, {str(tmp_path / "libgomp-second.so.1")!r})
    second = ctypes.CDLL(copy)
    assert ctypes.cast(second.GOMP_parallel, ctypes.c_void_p).value != ctypes.cast(
        ctypes.CDLL(loaded).GOMP_parallel, ctypes.c_void_p).value
    second.omp_set_num_threads(5)
    torch.set_num_threads(3)
    check_beside(20000)
    before = len(os.listdir("/proc/self/task"))
    if {is_unloaded}:
        ctypes.CDLL(None).dlclose(ctypes.c_void_p(second._handle))
    check_beside(20000)
    say(native().num_threads(), len(os.listdir("/proc/self/task")) - before)
    """),
        TILEWRIGHT_NUM_THREADS="0",
    )
    assert output == "3 0\n"


@pytest.mark.parametrize("launch", ["wait[7](zero, out)", "wait_for_last[7](zero, out)"])
def test_ctrl_c_stops_an_endless_kernel(tmp_path: Path, launch: str) -> None:
    process = start(
        tmp_path,
        script(f"""
    try:
        say("begin")
        {launch}
    except KeyboardInterrupt:
        check_beside()
        say("stopped")
    """),
        TILEWRIGHT_NUM_THREADS="0",
    )
    assert process.stdout and process.stdout.readline() == "begin\n"
    process.send_signal(signal.SIGINT)
    assert finish(process) == "stopped\n"


def test_forked_workers_and_threads_do_not_hang(tmp_path: Path) -> None:
    output = run(
        tmp_path,
        script("""
    import multiprocessing
    from concurrent.futures import ThreadPoolExecutor

    class Items(torch.utils.data.Dataset):
        def __len__(self):
            return 8
        def __getitem__(self, index):
            x, y = torch.full((64,), float(index)), torch.zeros(64)
            add[100](y, x, 64)
            return y.sum()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda _: check_beside(), range(8)))
    sums = torch.cat(list(torch.utils.data.DataLoader(Items(), batch_size=2, num_workers=2)))
    say(sums.tolist() == [64.0 * (index + 1) for index in range(8)])
    check_beside()
    """),
        TILEWRIGHT_NUM_THREADS="0",
        PYTHONWARNINGS="ignore",
    )
    assert output == "True\n"


def test_a_child_that_first_launches_after_fork_does_not_hang(tmp_path: Path) -> None:
    """The package is imported in the child: it has not seen the fork."""
    file = tmp_path / "late.py"
    parent = """
import os, torch
assert (torch.ones(1 << 20) + 1).sum() == 2 << 20
child = os.fork()
if child:
    _, status = os.waitpid(child, 0)
    os._exit(os.waitstatus_to_exitcode(status))
"""
    work = """
check_add()
count_pairs[64](out, 3000, 100)
say("done")
"""
    file.write_text(parent + PREAMBLE + work)
    result = subprocess.run(
        [sys.executable, str(file)],
        # `torch.set_num_threads` would make a pool whose threads the child joins at its exit, but does not have.
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "2"},
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (0, "done\n"), result.stderr
