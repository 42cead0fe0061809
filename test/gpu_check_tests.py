"""Runs the pytest suite in processes that may die or hang, for gpu_check.py.

`gpu_check_tests.py [--seconds N] [--resume] [--out FOLDER] PATH...`: tests that use the GPU first.
A test that hangs or breaks its process costs itself only: the ones after it run in another process.
Each outcome goes to tests.jsonl at once; --resume leaves out what has passed or was skipped.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import os
import pathlib
import queue
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent
GROUP = 60  # tests of one file in one process
GOOD = ("passed", "skipped", "xfailed")
POLL_SECONDS = 0.1
START = 10  # times the limit of a test is that of a process for its imports


class Limits(NamedTuple):
    """How long things may take, in seconds."""

    idle: float  # without a test that starts or ends
    end: float  # of time.monotonic(): everything is over


def environment(**more: str) -> dict[str, str]:
    paths = [str(FOLDER), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **more}


def pytest_command(*arguments: str) -> list[str]:
    options = ["-q", "-p", "no:cacheprovider", "-p", "gpu_check_plugin", "--no-header"]
    return [sys.executable, "-m", "pytest", *options, *arguments]


def collect(paths: list[str], root: pathlib.Path) -> list[str]:
    """The tests' names. Exits with what pytest says where it cannot collect them."""
    with tempfile.NamedTemporaryFile() as record:
        done = subprocess.run(
            pytest_command("--collect-only", *paths),
            cwd=root,
            env=environment(GPU_CHECK_RECORD=record.name),
            capture_output=True,
            text=True,
            check=False,
        )
    names = [line for line in done.stdout.splitlines() if re.match(r"\S+\.py::", line)]
    if done.returncode or not names:
        print(done.stdout[-3000:] + done.stderr[-3000:])
    if not names:
        sys.exit("no tests were found")
    return names


def urgency(name: str) -> int:
    """Tests that run on the GPU come first, then those of code for it."""
    if "cuda:0" in name or "against_simulator" in name or "on_a_gpu" in name:
        return 0
    return 1 if "/gpu/" in name or "test_cuda" in name else 2


def groups_of(names: Iterable[str]) -> list[list[str]]:
    by_file: dict[tuple[int, str], list[str]] = collections.defaultdict(list)
    for name in names:
        by_file[urgency(name), name.split("::")[0]].append(name)
    groups: list[list[str]] = []
    for _, tests in sorted(by_file.items()):
        groups += [tests[i : i + GROUP] for i in range(0, len(tests), GROUP)]
    return groups


def entries(record: pathlib.Path) -> list[dict[str, Any]]:
    if not record.is_file():
        return []
    lines = record.read_text().split("\n")[:-1]  # a line without an end is being written
    return [json.loads(line) for line in lines]


def wait(process: subprocess.Popen[bytes], record: pathlib.Path, limits: Limits) -> str:
    """Why the process had to be killed; empty where it ended by itself."""
    size, since = -1, time.monotonic()
    while process.poll() is None:
        now = time.monotonic()
        if (found := record.stat().st_size if record.exists() else 0) != size:
            size, since = found, now
        why = "the time is up" if now > limits.end else ""
        if now - since > limits.idle * (START if size <= 0 else 1):
            why = f"hangs: nothing came for {limits.idle:.0f} s"
        if why:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return why
        time.sleep(POLL_SECONDS)
    return ""


class Running:
    """The processes under way, which end with this program."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.processes: set[subprocess.Popen[bytes]] = set()
        self.is_over = False

    def start(self, command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        with self.lock:
            if self.is_over:
                raise SystemExit
            process = subprocess.Popen(command, start_new_session=True, **options)
            self.processes.add(process)
        return process

    def forget(self, process: subprocess.Popen[bytes]) -> None:
        with self.lock:
            self.processes.discard(process)

    def end(self) -> None:
        with self.lock:
            self.is_over = True
            for process in self.processes:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


RUNNING = Running()


class Outcome(NamedTuple):
    """One test's end."""

    name: str
    outcome: str
    text: str


def run_once(
    names: list[str], root: pathlib.Path, limits: Limits
) -> Iterator[Outcome]:
    """Runs tests in one process; the outcomes of those that were begun."""
    with tempfile.TemporaryDirectory() as scratch:
        record, log = pathlib.Path(scratch, "record"), pathlib.Path(scratch, "log")
        with log.open("wb") as output:
            process = RUNNING.start(
                pytest_command(*names),
                cwd=root,
                env=environment(GPU_CHECK_RECORD=str(record)),
                stdout=output,
                stderr=subprocess.STDOUT,
            )
            why = wait(process, record, limits)
            RUNNING.forget(process)
        texts: dict[str, str] = {}
        running = ""
        for entry in entries(record):
            running = entry.get("started", running)
            if "text" in entry:
                texts[entry["test"]] = entry["text"]
            if "finished" in entry:
                yield Outcome(entry["finished"], entry["outcome"], texts.get(running, ""))
                running = ""
        tail = log.read_text(errors="replace")[-2000:]
        if why == "the time is up":
            return
        if running or process.returncode not in (0, 1, 86):
            why = why or f"its process ended with status {process.returncode}"
            yield Outcome(running or names[0], "crashed", f"{why}\n{tail}")


def run_group(
    names: list[str], root: pathlib.Path, limits: Limits, outcomes: queue.Queue[Outcome]
) -> None:
    """Runs tests in as many processes as it takes."""
    left = names
    while left and time.monotonic() < limits.end:
        done: set[str] = set()
        for outcome in run_once(left, root, limits):
            done.add(outcome.name)
            outcomes.put(outcome)
        if not done & set(left):
            if time.monotonic() < limits.end:
                outcomes.put(Outcome(left[0], "crashed", "pytest does not run it"))
            done.add(left[0])
        left = [name for name in left if name not in done]


def run_all(
    groups: list[list[str]], root: pathlib.Path, limits: Limits, jobs: int
) -> Iterator[Outcome]:
    """The outcomes as they come."""
    waiting: queue.Queue[list[str]] = queue.Queue()
    for group in groups:
        waiting.put(group)
    outcomes: queue.Queue[Outcome] = queue.Queue()

    def work() -> None:
        while time.monotonic() < limits.end:
            try:
                group = waiting.get_nowait()
            except queue.Empty:
                return
            run_group(group, root, limits, outcomes)

    threads = [threading.Thread(target=work, daemon=True) for _ in range(jobs)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads) or not outcomes.empty():
        try:
            yield outcomes.get(timeout=POLL_SECONDS)
        except queue.Empty:
            continue


def previous(path: pathlib.Path) -> set[str]:
    """The tests that need no other run."""
    last = {entry["name"]: entry["outcome"] for entry in entries(path)}
    return {name for name, outcome in last.items() if outcome in GOOD}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("paths", nargs="*", default=["test/python"])
    parser.add_argument("--root", type=pathlib.Path, default=FOLDER.parent)
    parser.add_argument("--out", type=pathlib.Path, default=FOLDER / "benchmark" / "results")
    parser.add_argument("--jobs", type=int, default=min(os.cpu_count() or 1, 12))
    parser.add_argument("--seconds", type=float, default=1800, help="limit of everything")
    parser.add_argument("--idle-seconds", type=float, default=60, help="limit of one test")
    parser.add_argument("--ignore", action="append", default=[], help="a file to leave out")
    parser.add_argument("--resume", action="store_true")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    limits = Limits(options.idle_seconds, time.monotonic() + options.seconds)
    options.out.mkdir(parents=True, exist_ok=True)
    path: pathlib.Path = options.out / "tests.jsonl"
    ignored = [f"--ignore={name}" for name in options.ignore]
    names = collect([*options.paths, *ignored], options.root)
    good = previous(path) if options.resume else set[str]()
    counts = collections.Counter({"passed before": len(good & set(names))})
    unfinished = {name for name in names if name not in good}
    groups = groups_of(name for name in names if name in unfinished)
    with path.open("a" if options.resume else "w") as file:
        for outcome in run_all(groups, options.root, limits, options.jobs):
            counts[outcome.outcome] += 1
            unfinished.discard(outcome.name)
            file.write(json.dumps(outcome._asdict()) + "\n")
            file.flush()
            if outcome.outcome not in GOOD:
                print(f"{outcome.outcome}: {outcome.name}\n{outcome.text[-1500:]}", flush=True)
    told = [f"{count} {name}" for name, count in sorted(counts.items()) if count]
    on_gpu = sum(urgency(name) == 0 for name in unfinished)
    late = f"{len(unfinished)} not run in time, {on_gpu} of them on the GPU" if unfinished else ""
    print(", ".join([*told, *filter(None, [late])]))
    if counts["failed"] or counts["crashed"]:
        return 1
    return 2 if unfinished else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    finally:
        RUNNING.end()
