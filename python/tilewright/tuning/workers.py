"""Worker processes that compile and run candidates, and that may crash, hang, or be ended."""

from __future__ import annotations

import atexit
import json
import math
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..native import knobs
from . import messages

_PACKAGE = Path(__file__).resolve().parents[1]
# Its module stands for the package, whose own imports a worker has no use for. Assemblers are looked for
# where this process does.
_PROGRAM = f"""
import json, sys, types
sys.path[:] = json.loads(sys.argv[3])
package = types.ModuleType("tilewright")
package.__path__ = [{str(_PACKAGE)!r}]
sys.modules["tilewright"] = package
from tilewright.tuning.worker import serve
serve(int(sys.argv[1]), int(sys.argv[2]))
"""
# What compiling a large kernel takes at most; a worker is not started for less.
_BYTES_OF_WORKER = 512 << 20
# A task whose worker was lost is tried in another one before it counts as failed.
_TRIES = 2

_OVER = "the time of all candidates is over"


class Lost(NamedTuple):
    """The end of a worker before it answered: a crash, or a limit of time."""

    reason: str
    is_late: bool = False
    is_judged: bool = True  # its worker was ready, and it had the time that each has


class Task:
    """What a worker is to do: a message, and the most seconds that it may take."""

    def __init__(self, number: int, message: dict[str, Any], seconds: float) -> None:
        self.number, self.message, self.seconds = number, message, seconds
        self.tries = 0


class Worker:
    """One process, with at most one task."""

    def __init__(self) -> None:
        self.channel, other = socket.socketpair()
        with other:
            given = str(other.fileno()), str(os.getpid()), json.dumps([e for e in sys.path if e])
            self.process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *given], pass_fds=[other.fileno()],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                start_new_session=True,  # which Ctrl-C does not reach
            )  # fmt: skip
        self.settings = _settings()
        self.task: Task | None = None
        self.deadline = 0.0
        self.is_ready = False  # it has said so

    def begin(self, task: Task) -> None:
        """Send a task. Raises OSError where the process is gone."""
        messages.send(self.channel, task.message)
        task.tries += 1
        self.task, self.deadline = task, time.monotonic() + task.seconds

    def kill(self) -> None:
        """End the process."""
        self.channel.close()
        self.process.kill()
        self.process.wait()

    def autopsy(self) -> str:
        """How a process has ended that no longer answers."""
        self.channel.close()
        try:
            status = self.process.wait(1)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        known = {int(number): number.name for number in signal.Signals}
        if status >= 0:
            return f"ended with status {status}"
        return f"was ended by {known.get(-status, f'signal {-status}')}"


def _settings() -> dict[str, str]:
    """The environment that a worker reads when it starts: another one needs another worker."""
    return {name: value for name, value in os.environ.items() if name.startswith(knobs.PREFIX)}


# Those without a task, for the next tuning of this process.
_idle: list[Worker] = []


def _forget() -> None:
    """The workers of a parent are not those of its child."""
    for worker in _idle:
        worker.channel.close()
        worker.process.returncode = 0
    _idle.clear()


def _end() -> None:
    """At the end of the process."""
    while worker := _take_idle():
        worker.kill()


def _take_idle() -> Worker | None:
    try:
        return _idle.pop()
    except IndexError:
        return None


def start_ahead(count: int) -> None:
    """Start processes, so that there are `count` without a task: they are ready while this process does
    something else. Where none can be started, the first task says so."""
    try:
        for _ in range(count - len(_idle)):
            _idle.append(Worker())
    except OSError:
        pass


os.register_at_fork(after_in_child=_forget)
atexit.register(_end)


def most_workers() -> int:
    """The processes that may work at a time: those of the knob, else one for each processor that this
    process may use, as far as the free memory reaches."""
    chosen = knobs.settings().tune_workers
    if chosen is not None:
        return chosen
    # Within another program, the executable is that program.
    is_python = os.path.basename(sys.executable or "").startswith(("python", "pypy"))
    if not is_python or not hasattr(os, "sched_getaffinity"):
        return 0
    return max(1, min(len(os.sched_getaffinity(0)), _free_bytes() // _BYTES_OF_WORKER))


def _free_bytes() -> int:
    free = [1 << 62]
    for path, row in (("/proc/meminfo", "MemAvailable:"), ("/sys/fs/cgroup/memory.max", "")):
        try:
            text = Path(path).read_text()
            if row:
                free.append(int(text.split(row)[1].split()[0]) * 1024)
            elif text.strip().isdigit():
                used = int(Path("/sys/fs/cgroup/memory.current").read_text())
                free.append(int(text) - used)
        except (OSError, ValueError, IndexError):
            continue
    return min(free)


class Workers:
    """Does tasks in parallel: `for number, outcome in workers.outcomes(): ...`, where an outcome is a
    worker's answer with its bytes, or Lost. More tasks may be added while it runs. Where processes cannot
    be started, as with an interpreter within another program, the outcomes end early."""

    def __init__(self, count: int, deadline: float = math.inf) -> None:
        self.count, self.deadline = count, deadline
        self.waiting: deque[Task] = deque()
        self.is_usable = True  # false once a process has ended before it could do anything
        self._busy: list[Worker] = []

    def add(self, task: Task) -> None:
        """Have a task done."""
        self.waiting.append(task)

    def outcomes(self) -> Iterator[tuple[int, tuple[dict[str, Any], bytes] | Lost]]:
        """The tasks' numbers and outcomes, in the order in which they come."""
        try:
            while self.is_usable and (self.waiting or self._busy):
                while self.waiting and len(self._busy) < self.count:
                    task = self.waiting.popleft()
                    if time.monotonic() < self.deadline:
                        self._start(task)
                    else:
                        yield task.number, Lost(_OVER, is_late=True, is_judged=False)
                if self._busy:
                    yield from self._collect()
        finally:
            self.stop()

    def stop(self) -> None:
        """End the workers that still have a task."""
        while self._busy:
            self._busy.pop().kill()
        self.waiting.clear()

    def _start(self, task: Task) -> None:
        while True:
            try:
                worker = _take_idle() or Worker()
            except OSError:  # no process is to be had
                self.is_usable = False
                return
            try:
                if worker.settings != _settings():
                    raise OSError
                worker.begin(task)
            except OSError:  # it was idle for long and has ended, or knobs have changed
                worker.kill()
                continue
            self._busy.append(worker)
            return

    def _collect(self) -> Iterator[tuple[int, tuple[dict[str, Any], bytes] | Lost]]:
        first = min(worker.deadline for worker in self._busy)
        wait = max(0.0, min(first, self.deadline) - time.monotonic())
        poll = select.poll()
        for worker in self._busy:
            poll.register(worker.channel, select.POLLIN)
        ready = {descriptor for descriptor, _ in poll.poll(wait * 1000)}
        for worker in [*self._busy]:
            task = worker.task
            assert task is not None
            if worker.channel.fileno() in ready:
                outcome = self._outcome_of(worker, task)
            elif time.monotonic() >= min(worker.deadline, self.deadline):
                self._busy.remove(worker)
                worker.kill()
                outcome = self._late(worker, task)
            else:
                continue
            if outcome is not None:
                yield task.number, outcome

    def _late(self, worker: Worker, task: Task) -> Lost:
        """The end of a task by its own limit, or by that of all."""
        is_own = worker.deadline <= self.deadline
        reason = f"it took longer than {task.seconds:.3g} s" if is_own else _OVER
        return Lost(reason, is_late=True, is_judged=is_own and worker.is_ready)

    def _outcome_of(self, worker: Worker, task: Task) -> tuple[dict[str, Any], bytes] | Lost | None:
        """What a worker answered; None where it has only said that it is ready, or was lost and another
        one is to try."""
        try:
            outcome = messages.receive(worker.channel)
            if not worker.is_ready:
                worker.is_ready = True
                return None
            self._busy.remove(worker)
        except EOFError:
            self._busy.remove(worker)
            reason = worker.autopsy()
            if not worker.is_ready:
                self.is_usable = False
                return None
            if task.tries < _TRIES:
                self.waiting.append(task)
                return None
            return Lost(f"its process {reason}")
        worker.task = None
        _idle.append(worker)
        return outcome
