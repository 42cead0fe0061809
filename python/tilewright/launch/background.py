"""Work that no launch waits for: one thread that is there while there is something to do."""

from __future__ import annotations

import os
import sys
import threading
from collections import deque
from collections.abc import Callable
from typing import Protocol


class Job(Protocol):
    """Something to do once; `forget` is called in a forked child, where it will not be done."""

    def run(self) -> None: ...
    def forget(self) -> None: ...


class Worker:
    """Does jobs one after another. At the end of the program those that have not begun are dropped;
    in a forked child, too."""

    def __init__(self) -> None:
        self._start_anew()
        os.register_at_fork(after_in_child=self._forget)

    def _start_anew(self) -> None:
        self._lock = threading.Lock()
        self._jobs: deque[Job] = deque()
        self._thread: threading.Thread | None = None
        self._current: Job | None = None

    def _forget(self) -> None:
        lost = [job for job in (self._current, *self._jobs) if job]
        self._start_anew()
        for job in lost:
            job.forget()

    def submit(self, job: Job) -> None:
        """Have something done."""
        with self._lock:
            self._jobs.append(job)
            if self._thread is not None:
                return
            # Not a daemon: its code may not be in the middle of a compilation when Python ends.
            self._thread = threading.Thread(target=self._work, name="tilewright", daemon=False)
        try:
            self._thread.start()
        except RuntimeError:  # the program is ending, or may have no more threads
            self._forget()

    def _work(self) -> None:
        while job := self._next():
            try:
                job.run()
            except Exception:  # as of any thread: nobody waits for it
                threading.excepthook(threading.ExceptHookArgs((*sys.exc_info(), self._thread)))

    def _next(self) -> Job | None:
        with self._lock:
            is_ending = not threading.main_thread().is_alive()
            self._current = None if is_ending or not self._jobs else self._jobs.popleft()
            if self._current is None:
                self._jobs.clear()
                self._thread = None
            return self._current

    def settle(self) -> None:
        """Wait until there is nothing to do."""
        while thread := self._thread:
            thread.join()


worker = Worker()
settle: Callable[[], None] = worker.settle
