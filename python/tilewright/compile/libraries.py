"""Files of bitcode that a launch gives its kernel (`extern_libs`)."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any, NamedTuple

from ..native.errors import LaunchError
from ..language import static


class Library(NamedTuple):
    """A file as it is at this launch."""

    path: str
    digest: str  # SHA-256 of its bytes: part of the kernel's key

    @property
    def word(self) -> str:
        """What the compiler is told; the path in letters that separate no options."""
        from urllib.parse import quote  # takes milliseconds, which few launches need

        return f"bitcode={self.digest}:{quote(self.path)}"


def libraries_of(given: Any, kernel: str) -> tuple[Library, ...]:
    """The libraries of an option `extern_libs`, {name: path} or pairs of these.

    The one called "libdevice" is built in: its file is not read. Raises LaunchError TW0416 for a
    file that cannot be read.
    """
    given = static.unwrap(given) or ()
    if all(isinstance(item, Library) for item in given):
        return tuple(given)  # checked before
    pairs = given.items() if isinstance(given, Mapping) else given
    return tuple(_library(os.fspath(path), kernel) for name, path in pairs if name != "libdevice")


def _library(path: str, kernel: str) -> Library:
    try:
        path = os.path.abspath(path)
        status = os.stat(path)
        # The time of the last change is the one that no program sets.
        state = (status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino)
        return Library(path, _digest(path, state))
    except (OSError, ValueError) as error:
        raise LaunchError(
            f"the launch of {kernel} names a library of bitcode that cannot be read: {error}",
            code="TW0416",
            hint="extern_libs is a dict of names and paths",
        ) from error


@functools.lru_cache(maxsize=64)
def _digest(path: str, state: tuple[int, ...]) -> str:
    import hashlib

    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()
