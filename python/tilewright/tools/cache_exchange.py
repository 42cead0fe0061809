"""Passes compiled kernels on as one file: `tilewright cache export` and `cache import`.

The file is a tar archive: `manifest.json` with the build of the compiler and the digest of each entry,
then the entries as they lie in the cache, and the records of autotuning. Of equal entries it has equal
bytes.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import tarfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..native.errors import LaunchError
from ..tuning.kept.records import Record, record_of
from ..tuning.kept.store import FILE, one_of_each
from .cache_files import Entry

_MANIFEST = "manifest.json"
_PLACE = re.compile(r"v\d+/([0-9a-f]{2})/(\1[0-9a-f]{62})")
_FORMAT = 1


def export_entries(
    root: Path, entries: Iterable[Entry], build: str, file: Path, tuned: Sequence[Record] = ()
) -> int:
    """Write entries of the cache at `root` and records of autotuning to a file; how many."""
    found: dict[str, bytes] = {}
    for entry in entries:
        try:
            found[entry.path.relative_to(root).as_posix()] = entry.path.read_bytes()
        except OSError:  # evicted by another process
            continue
    if tuned:
        lines = [record.line() + "\n" for record in one_of_each(tuned)]
        found[FILE] = "".join(lines).encode()
    digests = {place: hashlib.sha256(found[place]).hexdigest() for place in sorted(found)}
    manifest = {"format": _FORMAT, "build": build, "entries": digests}
    unfinished = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        with tarfile.open(unfinished, "w") as archive:
            _add(archive, _MANIFEST, (json.dumps(manifest, indent=1) + "\n").encode())
            for place in digests:
                _add(archive, place, found[place])
        unfinished.replace(file)
    finally:
        unfinished.unlink(missing_ok=True)
    return len(found)


def _add(archive: tarfile.TarFile, name: str, data: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), 0o600
    archive.addfile(member, io.BytesIO(data))


def import_entries(root: Path, build: str, file: Path) -> tuple[list[Path], list[Record]]:
    """Put the entries of a file into the cache at `root`; where, and the records of autotuning.
    Nothing is taken of a file that is damaged (LaunchError TW0806) or was made by another build
    (TW0807)."""
    found = _read(file)
    manifest = _manifest(found, file)
    if manifest["build"] != build:
        raise LaunchError(
            f"{file} has kernels of the build {manifest['build']}, and this is {build}",
            code="TW0807",
            hint="export again with this build",
        )
    digests: dict[str, str] = manifest["entries"]
    for place, digest in digests.items():
        if place != FILE and not _PLACE.fullmatch(place):
            raise _damaged(file, f"{place!r} is not the name of an entry")
        if place not in found or hashlib.sha256(found[place]).hexdigest() != digest:
            raise _damaged(file, f"the entry {place} does not have its digest")
    if extra := sorted({*found} - {*digests, _MANIFEST}):
        raise _damaged(file, f"it has {extra[0]!r}, which its manifest does not name")
    tuned = _records(found.get(FILE, b""), file)
    return [_place(root, place, found[place]) for place in digests if place != FILE], tuned


def _records(data: bytes, file: Path) -> list[Record]:
    try:
        return [record_of(line) for line in data.decode().splitlines()]
    except ValueError as error:
        raise _damaged(file, f"its records of autotuning: {error}") from None


def _read(file: Path) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(file, "r:") as archive:
            for member in archive:
                data = archive.extractfile(member) if member.isreg() else None
                if data is None or member.name in found:
                    raise _damaged(file, f"{member.name!r} is not a file, or is there twice")
                found[member.name] = data.read()
    except (tarfile.TarError, EOFError, UnicodeDecodeError) as error:
        raise _damaged(file, str(error)) from None
    return found


def _manifest(found: dict[str, bytes], file: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(found[_MANIFEST])
        if manifest["format"] == _FORMAT and isinstance(manifest["build"], str):
            if all(isinstance(digest, str) for digest in manifest["entries"].values()):
                return manifest
    except (KeyError, TypeError, ValueError, AttributeError):
        pass
    raise _damaged(file, "it has no manifest")


def _damaged(file: Path, why: str) -> LaunchError:
    return LaunchError(
        f"{file} is not a whole file of `tilewright cache export`: {why}",
        code="TW0806",
        hint="export it again",
    )


def _place(root: Path, place: str, data: bytes) -> Path:
    """Publish one entry by a rename, as the cache itself does."""
    path = root / place
    root.mkdir(mode=0o700, parents=True, exist_ok=True)
    for folder in reversed([parent for parent in path.parents if root in parent.parents]):
        folder.mkdir(mode=0o700, exist_ok=True)
    unfinished = path.with_name(f"{path.name}.tmp.import.{os.getpid()}")
    handle = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    with os.fdopen(handle, "wb") as stream:
        stream.write(data)
    unfinished.replace(path)
    return path
