"""Names compiled kernels for Linux's perf, in /tmp/perf-PID.map, where it looks for code of JITs."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from ..native.errors import warn_user, with_visible_controls

if TYPE_CHECKING:
    from ..compile import Request

# The lines of this process and of those that it was forked from, in order; a set without values.
_lines: dict[str, None] = {}


def add_ranges(request: Request, ranges: list[tuple[str, int, int]]) -> None:
    """Write a line for each function of a kernel: address and bytes in hexadecimal, and the name
    as Python writes its own, `tw::softmax.kernel:/path/file.py:12`. What is there is not repeated."""
    if not ranges:  # another machine runs it
        return
    capture = json.loads(request.source.capture.buffer)
    function = capture["functions"][capture["entry"]]
    place = with_visible_controls(f"{function['file']}:{function['line']}").replace("\n", "\\n")
    lines = [f"{address:x} {size:x} tw::{name}:{place}\n" for name, address, size in ranges]
    added = [line for line in lines if line not in _lines]
    _lines.update(dict.fromkeys(added))
    _append(added)


def _append(lines: list[str]) -> None:
    """Append lines in one write: Python itself and other JITs append to the same file."""
    path = f"/tmp/perf-{os.getpid()}.map"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        file = os.open(path, flags, 0o600)
        try:
            os.write(file, "".join(lines).encode("utf-8", "backslashreplace"))
        finally:
            os.close(file)
    except OSError as error:
        warn_user(f"perf will not know kernels by name: cannot write {path}: {error.strerror}")


def _write_in_child() -> None:
    if _lines:  # the child has the parent's code, and perf looks into a file of the child's own
        _append([*_lines])


os.register_at_fork(after_in_child=_write_in_child)
