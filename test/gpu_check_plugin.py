"""A pytest plugin that writes down each test as it starts and ends, for gpu_check_tests.py.

GPU_CHECK_RECORD names the file. A process whose GPU is of no use any more (one kernel's
illegal access spoils all that follow) ends at once, so that the other tests run in another.
"""

from __future__ import annotations

import json
import os
from typing import Any

import pytest

LOST_GPU = 86  # the exit status
_outcomes: dict[str, str] = {}


def write(**entry: Any) -> None:
    # One write for each line: what is in the file is whole, whatever happens next.
    with open(os.environ["GPU_CHECK_RECORD"], "a") as record:
        record.write(json.dumps(entry) + "\n")


# No driver, or no such GPU: nothing can be lost.
NO_GPU = ("TW0401", "TW0620", "TW0621", "TW0622", "TW0623")


def is_lost(device: str) -> bool:
    """Whether an error of a GPU has come to stay; false where none was used."""
    try:
        import tilewright

        tilewright.synchronize(device)
    except ImportError:
        return False
    except Exception as error:
        return getattr(error, "code", "") not in NO_GPU
    return False


def is_gpu_lost() -> bool:
    return any(map(is_lost, ("cuda:0", "hip:0")))


def pytest_runtest_logstart(nodeid: str) -> None:
    write(started=nodeid)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.failed:
        _outcomes[report.nodeid] = "failed"
        write(test=report.nodeid, text=report.longreprtext[-3000:])
    elif report.skipped:
        _outcomes.setdefault(report.nodeid, "xfailed" if hasattr(report, "wasxfail") else "skipped")
    elif report.when == "call":
        _outcomes.setdefault(report.nodeid, "passed")


def pytest_runtest_logfinish(nodeid: str) -> None:
    outcome = _outcomes.pop(nodeid, "failed")
    write(finished=nodeid, outcome=outcome)
    if outcome == "failed" and is_gpu_lost():
        os._exit(LOST_GPU)
