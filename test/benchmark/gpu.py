"""Times the shared-source kernels on a GPU against torch (cuBLAS) and Triton, in a table.

`gpu.py [--size full|quick|tiny] [--out FOLDER]` measures cuda:0 row by row in a process of its own,
which is ended where a row takes too long, so that a kernel that hangs or breaks the GPU's context
costs its row only. Results are written after each row; --resume keeps what is there. Rows below
their goal are profiled (--profile-seconds). `--device cpu --size tiny` runs all of it on the CPU,
`--device sim:sm_90a` our code on the simulator: times mean nothing there, results are checked.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parent)]
sys.path.append(str(FOLDER.parents[1] / "python"))  # behind what the environment says

import assemblers  # noqa: E402
import gpu_profile  # noqa: E402
import gpu_table  # noqa: E402
from gpu_languages import FREE  # noqa: E402

MARK = "RESULT "
WORKER = FOLDER / "gpu_worker.py"


class Settings(NamedTuple):
    """What the command line asks for."""

    device: str
    size: str
    out: pathlib.Path
    only: str
    row_seconds: float
    seconds: float
    profile_seconds: float
    resumes: bool


class Worker:
    """A process that measures rows; it and its children can be ended at any moment."""

    def __init__(self, settings: Settings, names: list[str]) -> None:
        command = [sys.executable, "-u", str(WORKER), settings.device, settings.size, *names]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        self.lines: queue.Queue[str | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self.process.stdout
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def documents(self, seconds: float) -> Iterator[dict[str, Any] | None]:
        """What it reports, each within `seconds` of the one before; None where one is late."""
        while True:
            end = time.monotonic() + seconds
            while True:
                try:
                    line = self.lines.get(timeout=max(end - time.monotonic(), 0))
                except queue.Empty:
                    yield None
                    return
                if line is None:
                    return
                if line.startswith(MARK):
                    break
                print(line, end="", flush=True)
            yield json.loads(line.removeprefix(MARK))

    def end(self) -> int:
        """Ends it with its children, and gives its exit status."""
        if self.process.poll() is None:
            try:
                os.killpg(self.process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it has just ended
        return self.process.wait()


class Results:
    """What was measured so far, written after each row."""

    def __init__(self, settings: Settings, names: list[str]) -> None:
        self.settings, self.names = settings, names
        self.machine: dict[str, str] = {}
        self.rows: dict[str, dict[str, Any]] = {}
        self.path = settings.out / "gpu.json"
        if settings.resumes and self.path.is_file():
            document = json.loads(self.path.read_text())
            self.rows = {row["name"]: row for row in document["rows"] if not row["failure"]}
            self.machine = document["machine"]

    def ordered(self) -> list[dict[str, Any]]:
        return [self.rows[name] for name in self.names if name in self.rows]

    def table(self) -> str:
        return gpu_table.markdown(self.machine, self.ordered())

    def write(self) -> None:
        self.settings.out.mkdir(parents=True, exist_ok=True)
        document = {"machine": self.machine, "rows": self.ordered()}
        partial = self.path.with_suffix(".part")
        partial.write_text(json.dumps(document, indent=1) + "\n")
        partial.replace(self.path)
        (self.settings.out / "gpu.md").write_text(self.table())

    def add(self, row: dict[str, Any]) -> None:
        self.rows[row["name"]] = row
        told = row["failure"] or "; ".join(gpu_table.unmet_goals(row))
        print(f"{row['name']}: {told or 'right'} ({row['seconds']:.1f} s)", flush=True)
        self.write()


def row_names(settings: Settings) -> list[str]:
    command = [sys.executable, str(WORKER), settings.device, settings.size, "--list"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"the benchmark cannot run:\n{done.stderr or done.stdout}")
    names = done.stdout.split("\n")[:-1]
    return [name for name in names if settings.only in name]


def failed_row(name: str, why: str, seconds: float) -> dict[str, Any]:
    empty: dict[str, Any] = {"unit": "", "work": 0.0, "goals": [], "participants": {}}
    more = {"absent": {}, "clocks": "", "profile": {}, "seconds": seconds}
    return {"name": name, **empty, **more, "failure": why}


def measure_all(settings: Settings, results: Results, names: list[str]) -> None:
    """Measures the rows, each lost worker replaced by one for the rows after that."""
    end = time.monotonic() + settings.seconds
    left = [name for name in names if name not in results.rows]
    while left and time.monotonic() < end:
        worker, before = Worker(settings, left), time.monotonic()
        why, count = "", len(left)
        try:
            limit = min(settings.row_seconds, end - time.monotonic())
            for document in worker.documents(limit):
                if document is None:
                    why = f"nothing came within {limit:.0f} s: it hangs, or is slow"
                    break
                before = time.monotonic()
                if "machine" in document:
                    results.machine = document["machine"]
                    continue
                results.add(document)
                left.remove(document["name"])
                if time.monotonic() > end:
                    break
        finally:
            status = worker.end()
        if left and time.monotonic() < end:
            if not why and status == 0 and len(left) < count:
                continue  # it ended itself after a row that broke the GPU's context
            why = why or f"its process ended with status {status}"
            results.add(failed_row(left.pop(0), why, time.monotonic() - before))
    for name in left:
        print(f"{name}: not measured, the time is up", flush=True)


def profile_all(settings: Settings, results: Results) -> None:
    """Profiles our kernel and Triton's in the rows that are below their goal."""
    end = time.monotonic() + settings.profile_seconds
    slow = [row for row in results.ordered() if gpu_table.unmet_goals(row) and not row["profile"]]
    for row in slow:
        for who in (gpu_table.OURS, FREE):
            setting = row["participants"].get(who, {}).get("setting")
            left = end - time.monotonic()
            if not setting or left < 5:
                continue
            base = [sys.executable, str(WORKER), settings.device, settings.size]
            replay = [*base, "--replay", who, row["name"], setting]
            kernel = setting.split(",")[0]
            row["profile"][who] = gpu_profile.profile(kernel, replay, min(left, 60))
            print(f"{row['name']}, {who}: {row['profile'][who]}", flush=True)
            results.write()


def stop(*_: Any) -> None:
    """Ends this program with what it has begun: leaving a block ends the worker in it."""
    sys.exit(128 + signal.SIGTERM)


def main() -> int:
    signal.signal(signal.SIGTERM, stop)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda:0", help="or cpu, sim:sm_90a: for the results")
    parser.add_argument("--size", choices=("full", "quick", "tiny"), default="full")
    parser.add_argument("--out", type=pathlib.Path, default=FOLDER / "results")
    parser.add_argument("--only", default="", help="rows whose name has this")
    parser.add_argument("--row-seconds", type=float, default=90, help="limit of a row")
    parser.add_argument("--seconds", type=float, default=240, help="limit of all rows")
    parser.add_argument("--profile-seconds", type=float, default=60, help="0: no profiles")
    parser.add_argument("--resume", action="store_true", help="keep rows that were measured")
    parser.add_argument("--no-measure", action="store_true", help="only profile, with --resume")
    given = parser.parse_args()
    assemblers.pin()
    settings = Settings(
        *(given.device, given.size, given.out, given.only, given.row_seconds, given.seconds),
        *(given.profile_seconds, given.resume),
    )
    names = row_names(settings)
    results = Results(settings, names)
    if not given.no_measure:
        measure_all(settings, results, names)
    profile_all(settings, results)
    print(results.table())
    failures = [name for name in names if results.rows.get(name, {}).get("failure")]
    missing = [name for name in names if name not in results.rows]
    if given.no_measure:
        return 0
    if failures or missing:
        told = [", ".join(names) or "none" for names in (failures, missing)]
        print(f"failed: {told[0]}; not measured: {told[1]}")
    return 1 if failures or missing else 0


if __name__ == "__main__":
    sys.exit(main())
