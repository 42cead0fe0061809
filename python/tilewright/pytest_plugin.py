"""A plugin of pytest, found by its entry point: what `tw.testing.check` finds stands in a section of the report,
in place of a traceback through the package."""

from __future__ import annotations

import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

_PACKAGE = Path(__file__).resolve().parent
_RESULTS = "tilewright.testing.check_results"


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, None]:
    """Replace the traceback of a CheckError by the test's own line, and add the report as a section."""
    outcome = yield
    results = sys.modules.get(_RESULTS)  # a test that has found something has it
    if results is None or call.excinfo is None or not isinstance(call.excinfo.value, results.CheckError):
        return
    report = outcome.get_result()
    if report.failed:
        report.longrepr = _short(call.excinfo.value)
        report.sections.append(("tilewright check", str(call.excinfo.value)))


def _short(error: Any) -> Any:
    """The first line of a report, and the lines of the tests that led there."""
    summary = str(error).partition("\n")[0]
    short = AssertionError(f"{summary}; the section `tilewright check` has the report")
    excinfo = pytest.ExceptionInfo.from_exc_info((AssertionError, short, error.__traceback__))
    kept = excinfo.traceback.filter(lambda entry: _PACKAGE not in Path(str(entry.path)).resolve().parents)
    excinfo.traceback = kept or excinfo.traceback
    return excinfo.getrepr(style="short")
