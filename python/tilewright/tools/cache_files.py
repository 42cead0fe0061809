"""Looks at the kernel cache's files from outside: `tilewright cache list` and `prune`.

The native module writes `v<schema>/<2 hex>/<64 hex>` and verifies what it reads; this only lists
and removes whole entries. Below `records` it keeps what it knows of sources in the same way.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

_KEY = re.compile(r"[0-9a-f]{64}")
_UNFINISHED = re.compile(r"[0-9a-f]{64}\.tmp\..*", re.DOTALL)
_STALE_SECONDS = 3600


@dataclass(frozen=True)
class Entry:
    """One file of the cache."""

    path: Path
    key: str
    num_bytes: int
    used: datetime


def list_entries(root: Path) -> list[Entry]:
    """All entries below a cache directory, the least recently used first."""
    return sorted(_find_entries(root), key=lambda entry: (entry.used, entry.key))


def list_records(root: Path) -> list[Entry]:
    """The texts that the cache keeps of sources beside kernels, by key."""
    return sorted(_find_entries(root / "records"), key=lambda entry: entry.key)


def _find_entries(root: Path) -> Iterator[Entry]:
    for path in root.glob("v*/??/*"):
        if not _KEY.fullmatch(path.name) or path.is_symlink():
            continue
        try:
            status = path.stat()
        except OSError:  # removed by another process
            continue
        used = datetime.fromtimestamp(max(status.st_mtime, status.st_atime))
        yield Entry(path, path.name, status.st_size, used)


def prune(root: Path, max_bytes: int) -> list[Entry]:
    """Remove the least recently used entries until the rest has at most `max_bytes`.

    Records of sources go before any kernel, uncounted: they are small, and made again in
    milliseconds.
    """
    for record in list_records(root):
        record.path.unlink(missing_ok=True)
    _remove_unfinished(root, 0 if max_bytes == 0 else _STALE_SECONDS)
    return remove_oldest(list_entries(root), max_bytes)


def remove_oldest(entries: list[Entry], max_bytes: int) -> list[Entry]:
    """Remove the first of some entries until the rest has at most `max_bytes`."""
    total = sum(entry.num_bytes for entry in entries)
    removed: list[Entry] = []
    for entry in entries:
        if total <= max_bytes:
            break
        entry.path.unlink(missing_ok=True)
        total -= entry.num_bytes
        removed.append(entry)
    return removed


def _remove_unfinished(root: Path, min_seconds: float) -> None:
    """Remove files that a writer left behind when it was killed, if they are so old."""
    now = time.time()
    for pattern in ("v*/??/*", "records/v*/??/*"):
        for path in root.glob(pattern):
            try:
                if _UNFINISHED.fullmatch(path.name) and now - path.lstat().st_mtime >= min_seconds:
                    path.unlink()
            except OSError:  # removed or renamed by its writer
                continue
