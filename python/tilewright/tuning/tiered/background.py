"""Work that no launch waits for: one thread that is there while there is something to do."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from typing import Protocol


class Job(Protocol):
    """Something to do once; `forget` is called where it will not be done."""

    def run(self) -> None: ...
    def forget(self) -> None: ...


class Worker:
    """Does jobs one after another. At the end of the program those that have not begun are dropped;
    in a forked child, too."""

    def __init__(self) -> None:
        self._start_anew()
        os.register_at_fork(after_in_child=self._drop_all)

    def _start_anew(self) -> None:
        self._lock = threading.RLock()  # guards the three below; no job runs under it
        self._jobs: deque[Job] = deque()
        self._thread: threading.Thread | None = None
        self._current: Job | None = None

    def _drop_all(self) -> None:
        lost = [job for job in dict.fromkeys((self._current, *self._jobs)) if job]
        self._start_anew()
        for job in lost:
            job.forget()

    def submit(self, job: Job) -> None:
        """Have something done. A signal's handler in the middle of this may call it, too."""
        with self._lock:
            self._jobs.append(job)
            if self._thread is not None:
                return
            # Not a daemon: its code may not be in the middle of a compilation when Python ends.
            thread = threading.Thread(target=self._work, name="tilewright", daemon=False)
            self._thread = thread
        try:
            thread.start()
        except BaseException as error:
            if thread.ident is None:
                self._drop_unstarted(thread)
            if not isinstance(error, RuntimeError):  # as of a handler
                raise
            # The program is ending, or may have no more threads.

    def _drop_unstarted(self, thread: threading.Thread) -> None:
        with self._lock:
            lost = [*self._jobs]
            self._jobs.clear()
            if self._thread is thread:
                self._thread = None
        for dropped in lost:
            dropped.forget()

    def _work(self) -> None:
        while job := self._next():
            try:
                job.run()
            except BaseException:  # as of any thread: nobody waits for it, and others have jobs, too
                job.forget()
                self._report()

    @staticmethod
    def _report() -> None:
        kind, value, trace = sys.exc_info()
        assert kind is not None
        try:
            threading.excepthook(
                threading.ExceptHookArgs((kind, value, trace, threading.current_thread()))
            )
        except BaseException:  # the hook is the user's
            pass

    def _next(self) -> Job | None:
        with self._lock:
            is_ending = not threading.main_thread().is_alive()
            lost = [*self._jobs] if is_ending else []
            if is_ending:
                self._jobs.clear()
            # It is in one of the two at any time: another thread may fork, and its child drops what is there.
            self._current = self._jobs[0] if self._jobs else None
            if self._current is None:
                self._thread = None
            else:
                self._jobs.popleft()
        for job in lost:
            job.forget()
        return self._current

    def settle(self) -> None:
        """Wait until there is nothing to do."""
        while thread := self._thread:
            if thread.ident is None:  # about to be started
                time.sleep(0.001)
            else:
                thread.join()


worker = Worker()
