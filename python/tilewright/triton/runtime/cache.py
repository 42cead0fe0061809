"""The names of `triton.runtime.cache`: the identity of the compiler, and files kept by a key."""

from __future__ import annotations

import base64
import functools
import json
import os
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path

from tilewright import knobs as own
from tilewright.native import native

from .. import knobs as knobs
from ..absent import names_of


@functools.lru_cache(maxsize=None)
def triton_key() -> str:
    """What changes with the compiler: a digest of this build."""
    return str(native().build_id())


class CacheManager(ABC):
    """Keeps the files of one key."""

    @abstractmethod
    def get_file(self, filename: str) -> str | None:
        """The path of a file; None where it was not put."""

    @abstractmethod
    def put(self, data: bytes | str, filename: str, binary: bool = True) -> str:
        """Keep a file's contents and give its path."""

    @abstractmethod
    def get_group(self, filename: str) -> dict[str, str] | None:
        """The paths of a group's files by name; None where one of them is missing."""

    @abstractmethod
    def put_group(self, filename: str, group: dict[str, str]) -> str:
        """Keep which files belong together."""


class FileCacheManager(CacheManager):
    """Keeps files in `scripts/KEY` of the kernel cache's directory. Kernels are not kept by it."""

    def __init__(self, key: str) -> None:
        directory = own.settings().cache_directory
        if not directory:
            raise RuntimeError("there is no directory for the kernel cache; set TILEWRIGHT_CACHE_DIR")
        self.key = key
        self.cache_dir = os.path.join(directory, "scripts", key)
        os.makedirs(self.cache_dir, mode=0o700, exist_ok=True)

    def has_file(self, filename: str) -> bool:
        """Whether a file was put."""
        return os.path.exists(os.path.join(self.cache_dir, filename))

    def get_file(self, filename: str) -> str | None:
        return os.path.join(self.cache_dir, filename) if self.has_file(filename) else None

    def put(self, data: bytes | str, filename: str, binary: bool = True) -> str:
        del binary  # the data's type says it
        path = os.path.join(self.cache_dir, filename)
        # A reader sees the old file or the new one, never a part.
        handle, temporary = tempfile.mkstemp(dir=self.cache_dir)
        with os.fdopen(handle, "wb") as file:
            file.write(data if isinstance(data, bytes) else str(data).encode())
        os.replace(temporary, path)
        return path

    def get_group(self, filename: str) -> dict[str, str] | None:
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        try:
            group: dict[str, str] = json.loads(Path(path).read_text())["child_paths"]
        except (OSError, ValueError, KeyError):
            return None
        return group if all(map(os.path.exists, group.values())) else None

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}")


def get_cache_manager(key: str) -> CacheManager:
    """The files of a key, which is a text of hexadecimal digits."""
    return FileCacheManager(base64.b32encode(bytes.fromhex(key)).decode().rstrip("="))


__path__: list[str] = []
__getattr__ = names_of(__name__)
