"""Keeps on disk what the text of a function tells, so that later processes need not parse it.

The native module's cache does it: entries are verified, an entry that cannot be read is a miss.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from types import ModuleType

from ..native import knobs
from ..native import native
from .digests import digest_bytes, digest_texts
from .source import Place

# The code that makes the facts. Read when it is loaded, so that it is the code that runs.
_MAKERS = (
    "digests", "kept", "names", "nodes", "prebuild", "prebuilt", "record", "source", "values"
)  # fmt: skip


def _own_texts() -> list[bytes]:
    folder, texts = os.path.dirname(__file__), list[bytes]()
    try:
        for name in _MAKERS:
            with open(os.path.join(folder, f"{name}.py"), "rb") as file:
                texts.append(file.read())
    except OSError:
        return []
    return texts


_TEXTS = _own_texts()


@cache
def makers_digest() -> str:
    """A digest of the text of the makers; empty where there is no text: then nothing is kept."""
    return digest_texts(*map(digest_bytes, _TEXTS)) if _TEXTS else ""


# File -> its lines and their digest. Lines that did not change are the same objects.
_file_digests: dict[str, tuple[tuple[str, ...], str]] = {}


def key_of(place: Place) -> str:
    """Everything that `read_source` and the makers look at: the whole file, not only the function.

    Where the function ends is known only when it has been parsed.
    """
    return digest_texts(
        sys.version, makers_digest(), _digest_of_file(place), place.name, str(place.line)
    )


def read(key: str) -> str | None:
    """The text that was written under a key, by any process."""
    module, directory = _store()
    content: bytes | None = module.read_record(directory, key) if module else None
    return None if content is None else content.decode()


def write(key: str, text: str) -> None:
    """Keep a text if that is possible."""
    module, directory = _store()
    if module:
        module.write_record(directory, key, text.encode())


def _store() -> tuple[ModuleType | None, bytes]:
    settings = knobs.settings()
    if not (settings.is_cache_enabled and settings.cache_directory and makers_digest()):
        return None, b""
    try:
        return native(), os.fsencode(settings.cache_directory)
    except ImportError:  # capturing works without it
        return None, b""


def _digest_of_file(place: Place) -> str:
    lines, digest = _file_digests.get(place.file, ((), ""))
    if lines != place.lines or not digest:
        digest = digest_bytes("".join(place.lines).encode("utf-8", "surrogatepass"))
        _file_digests[place.file] = place.lines, digest
    return digest
