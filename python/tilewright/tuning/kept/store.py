"""Files of records: one line for each, which several processes may append to at the same time."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from ...native import knobs
from ...native.errors import LaunchError, render, warn_user
from .records import Record, Unreadable, record_of

FILE = "tuned.jsonl"


class Bad(NamedTuple):
    """A line of a file that holds no record, and why."""

    number: int
    why: str


class Content(NamedTuple):
    """What a file holds: its records in the order of their lines, and the lines that hold none."""

    records: list[Record]
    bad: list[Bad]


# The content of files by path, with the size and the time of the file that was read.
_read: dict[Path, tuple[tuple[int, int], Content]] = {}
# The files that could not be read, which are named once.
_failed: set[Path] = set()


def default_store() -> Path | None:
    """The store beside the kernel cache; None where the cache is off."""
    settings = knobs.settings()
    is_kept = settings.is_cache_enabled and settings.cache_directory
    return Path(settings.cache_directory) / FILE if is_kept else None


def shared_stores() -> list[Path]:
    """The stores of caches that are only read."""
    settings = knobs.settings()
    layers = settings.cache_layers if settings.is_cache_enabled else ()
    return [Path(layer) / FILE for layer in layers]


def read_content(path: Path) -> Content:
    """What a file holds; nothing where there is none. Raises OSError for one that cannot be read."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return Content([], [])
    stamp = (status.st_size, status.st_mtime_ns)
    known = _read.get(path)
    if known is None or known[0] != stamp:
        known = _read[path] = stamp, _parse(path.read_bytes())
    return known[1]


def _parse(data: bytes) -> Content:
    records: list[Record] = []
    bad: list[Bad] = []
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line.strip():
            continue
        try:
            records.append(record_of(line.decode()))
        except UnicodeDecodeError:
            bad.append(Bad(number, "it is not text"))
        except Unreadable as error:
            bad.append(Bad(number, str(error)))
    return Content(records, bad)


def read_records(path: Path) -> list[Record]:
    """The records of a whole file. Raises LaunchError TW0425 for one with another line in it, and
    FileNotFoundError where there is none."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    records, bad = read_content(path)
    if bad:
        raise LaunchError(
            f"{path} is not a whole store of autotuning: line {bad[0].number}: {bad[0].why}",
            code="TW0425",
            hint="remove the line: what it held is measured again",
        )
    return records


def records_for_launches(path: Path) -> list[Record]:
    """The records of a file for a launch, which goes on without those that cannot be read: a warning
    names them once."""
    before = _read.get(path)
    try:
        content = read_content(path)
    except OSError as error:
        if path not in _failed:
            _failed.add(path)
            warn_unused(f"{path} cannot be read: {error.strerror}")
        return []
    if content.bad and (before is None or before[1] is not content):
        first = content.bad[0]
        warn_unused(f"line {first.number} of {path} is not used: {first.why}")
    return content.records


def warn_unused(what: str) -> None:
    """Say that something of a store is not used."""
    hint = "configurations are measured again where a store does not have them"
    warn_user(render("TW0425", what, hint, severity="warning").rstrip())


def one_of_each(records: Iterable[Record]) -> list[Record]:
    """The records, of those with one identity the fastest, in an order that depends on nothing but
    them."""
    best: dict[tuple[str, ...], Record] = {}
    for record in sorted(records, key=Record.order):
        best.setdefault(record.identity, record)
    return sorted(best.values(), key=lambda record: record.identity)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Holds the lock of a store, which lies beside it, since `rewrite` replaces the file itself."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = path.with_name(path.name + ".lock")
    handle = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def append(path: Path, record: Record) -> None:
    """Add a record to a store: a whole line, behind what a writer that was ended has left. Raises
    OSError."""
    with _locked(path):
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "r+b", buffering=0) as file:
            size = file.seek(0, os.SEEK_END)
            if size:
                file.seek(size - 1)
            is_torn = size > 0 and file.read(1) != b"\n"
            file.write(b"\n" * is_torn + record.line().encode() + b"\n")


def merge(path: Path, records: Iterable[Record]) -> int:
    """Put records into a store, one of each identity; how many it has then. Raises LaunchError TW0425
    where the store has a line that is not a record."""
    with _locked(path):
        known = read_records(path) if path.exists() else []
        return _replace(path, one_of_each([*known, *records]))


def write(path: Path, records: Iterable[Record]) -> int:
    """Make a file of records, one of each identity; how many. Equal records make equal bytes."""
    with _locked(path):
        return _replace(path, one_of_each(records))


def _replace(path: Path, records: list[Record]) -> int:
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        unfinished.write_text("".join(record.line() + "\n" for record in records), encoding="utf-8")
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return len(records)


def remove_kernels(path: Path, kernel: str | None) -> int:
    """Take the records of a kernel out of a store, or of all; how many. Lines that hold none go, too."""
    if not path.exists():
        return 0
    with _locked(path):
        known = read_content(path).records
        kept = [record for record in known if kernel is not None and record.kernel != kernel]
        if kept:
            _replace(path, kept)
        else:
            path.unlink(missing_ok=True)
        return len(known) - len(kept)
