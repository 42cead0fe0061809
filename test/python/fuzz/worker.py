"""A process that runs generated kernels, so that a crash or hang ends only itself."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import subprocess
import sys
from pathlib import Path
from typing import Any

TIME_LIMIT = 20  # seconds for one kernel


def serve() -> None:
    """Answers each case, a line of JSON, with the failure's text or an empty string."""
    from kernel_text import Array
    from launch import Case, Mismatch, check

    for line in sys.stdin:
        fields: dict[str, Any] = json.loads(line)
        arrays = {name: Array(**a) for name, a in fields.pop("arrays").items()}
        failure = ""
        try:
            check(Case(arrays=arrays, **fields))
        except Mismatch as error:
            failure = f"mismatch: {error}"
        except Exception as error:  # noqa: BLE001 (every failure is a finding)
            failure = f"{type(error).__name__}: {str(error)[:800]}"
        sys.stdout.write(json.dumps(failure) + "\n")
        sys.stdout.flush()


class Worker:
    """Starts the process when one is needed."""

    def __init__(self, time_limit: float = TIME_LIMIT) -> None:
        self.time_limit = time_limit
        self.process: subprocess.Popen[str] | None = None

    def check(self, case: Any) -> str:
        """The failure of a case in words; empty when the devices agree."""
        if self.process is None:
            environment = {**os.environ, "TILEWRIGHT_CACHE": "0"}
            self.process = subprocess.Popen(
                [sys.executable, str(Path(__file__))], stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, text=True, env=environment,
            )  # fmt: skip
        process = self.process
        assert process.stdin and process.stdout
        process.stdin.write(json.dumps(dataclasses.asdict(case)) + "\n")
        process.stdin.flush()
        ready, _, _ = select.select([process.stdout], [], [], self.time_limit)
        answer = process.stdout.readline() if ready else ""
        if answer:
            return json.loads(answer)
        self.close()
        return "crash: the process died" if ready else f"hang: no end in {self.time_limit} s"

    def close(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()
            self.process = None


if __name__ == "__main__":
    serve()
