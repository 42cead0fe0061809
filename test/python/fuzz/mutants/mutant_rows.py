"""Checks rows of mutants in processes of their own, so that a crash or a hang ends only one of them."""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import resource
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import text_mutants
import tilewright as tw
from text_mutants import Finding, Mutant

HARD_SECONDS = 25  # of processor time for one mutant
JOURNAL_BYTES = 1 << 14


@dataclass
class Found:
    """A mutant that was not answered as it must be, and how."""

    mutant: Mutant
    what: str


class Journal:
    """What a child process is at, where its parent can read it after its death."""

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, JOURNAL_BYTES)

    def write(self, text: str) -> None:
        data = text.encode(errors="replace")[: JOURNAL_BYTES - 1] + b"\0"
        self.memory[: len(data)] = data

    def read(self) -> str:
        data = self.memory[:]
        return data[: data.index(b"\0")].decode(errors="replace")


def check_row(next_mutant: Iterator[Mutant], journal: Journal, counts: Journal) -> None:
    """In the child: checks until one is a finding, which the journal then says, and counts what became of the others."""
    text_mutants.prepare()
    outcomes: Counter[str] = Counter()
    for mutant in next_mutant:
        signal.setitimer(signal.ITIMER_PROF, HARD_SECONDS)
        try:
            outcome = text_mutants.limited(mutant, lambda phase: journal.write(f"{mutant.seed}\n{phase}\n"))  # noqa: B023
        except (Finding, tw.InternalError) as finding:
            journal.write(f"{mutant.seed}\nfinding\n{str(finding)[:2000]}")
            return
        outcomes[outcome] += 1
        counts.write(json.dumps(outcomes))
    journal.write("-1\nend\n")


def in_child(action: Callable[[], None], stderr: int) -> int:
    """Runs the action in a process of its own; the status with which it ended."""
    process = os.fork()
    if process == 0:
        faulthandler.disable()  # the parent says it
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.dup2(stderr, 2)
        os.dup2(stderr, 1)
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(process, 0)[1]


def cause_of_death(status: int, phase: str, stderr: str) -> str:
    """Why a child died, in words; empty where that is not a fault: a mutant that runs for ever, as Python or as a kernel."""
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        return f"no end in sight: {phase}" if phase.startswith("compile") else ""
    lines = [line for line in stderr.splitlines() if "Assertion `" in line]
    if lines:
        return lines[-1]
    how = signal.strsignal(os.WTERMSIG(status)) if os.WIFSIGNALED(status) else f"exit {os.waitstatus_to_exitcode(status)}"
    return f"{how}: {phase}: {stderr.strip()[-300:]}"


def check_all(make: Callable[[int], Mutant], seeds: range, outcomes: Counter[str]) -> Iterator[Found]:
    """Checks the mutants of the seeds; gives the findings and counts what became of the others."""
    journal, counts, at = Journal(), Journal(), seeds.start
    while at < seeds.stop:
        stderr = os.memfd_create("stderr")
        row = (make(seed) for seed in range(at, seeds.stop))
        counts.write("{}")
        journal.write(f"{at}\nstart\n")
        status = in_child(lambda: check_row(row, journal, counts), stderr)  # noqa: B023
        outcomes.update(json.loads(counts.read()))
        seed, phase, what = journal.read().split("\n", 2)
        if status != 0:
            what = cause_of_death(status, phase, os.pread(stderr, 1 << 16, 0).decode(errors="replace"))
        os.close(stderr)
        if int(seed) < 0:
            return
        if what:
            outcomes["found"] += 1
            yield Found(make(int(seed)), what)
        else:
            outcomes["endless"] += 1
        at = int(seed) + 1


def check_one(mutant: Mutant) -> str:
    """What is wrong with the answer to one mutant; empty when nothing is."""
    found = list(check_all(lambda _: mutant, range(mutant.seed, mutant.seed + 1), Counter()))
    return found[0].what if found else ""
