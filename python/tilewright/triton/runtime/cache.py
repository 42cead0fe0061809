"""The names of `triton.runtime.cache`: the identity of the compiler, and files kept by a key."""

from __future__ import annotations

import base64
import functools
import json
import os
import tempfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from tilewright.native import knobs as own
from tilewright.native.errors import UnsupportedError
from tilewright.native import native

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


class RemoteCacheBackend(ABC):
    """What a class of the program's must have to keep the files of a key elsewhere; it is made with the
    key."""

    @abstractmethod
    def get(self, filenames: list[str]) -> dict[str, bytes]:
        """The contents of those files that are there, by name."""

    @abstractmethod
    def put(self, filename: str, data: bytes) -> None:
        """Keep a file's contents."""


class _RemoteCache:
    """The class that keeps files elsewhere: what was set, else what the environment names."""

    chosen: Any = None

    def read(self) -> Any:
        """The class; None where nobody names one."""
        return self.chosen or own.named_class("REMOTE_CACHE_BACKEND")

    def write(self, value: Any) -> None:
        """Set the class; None lets the environment name it."""
        if value is not None and not (hasattr(value, "get") and hasattr(value, "put")):
            raise TypeError(f"{value!r} is not a class with get and put")
        self.chosen = value


remote_cache = _RemoteCache()  # of triton.knobs.cache.remote_manager_class


class RemoteCacheManager(CacheManager):
    """Keeps files by the class `triton.knobs.cache.remote_manager_class`, or the one that
    TRITON_REMOTE_CACHE_BACKEND names as module:Class, and copies what is read into `FileCacheManager`'s
    directory. Kernels are not kept by it.

    Raises RuntimeError where no class is named.
    """

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        if override or dump:
            raise UnsupportedError(
                "cache managers have no directories for dumps and overrides",
                code="TW0432",
                hint="TILEWRIGHT_DUMP and TILEWRIGHT_OVERRIDE write and replace the stages of kernels",
            )
        backend = remote_cache.read()
        if backend is None:
            raise RuntimeError(
                "there is no remote cache: set triton.knobs.cache.remote_manager_class to a class with "
                "get and put, or TRITON_REMOTE_CACHE_BACKEND to module:Class"
            )
        self._backend = backend(key)
        self._files = FileCacheManager(key)

    def get_file(self, filename: str) -> str | None:
        # The remote cache is always asked: it may forget what nobody asks for.
        found = self._backend.get([filename])
        return self._files.put(found[filename], filename) if filename in found else None

    def put(self, data: bytes | str, filename: str, binary: bool = True) -> str:
        del binary  # the data's type says it
        contents = data if isinstance(data, bytes) else str(data).encode()
        self._backend.put(filename, contents)
        return self._files.put(contents, filename)

    def get_group(self, filename: str) -> dict[str, str] | None:
        path = self.get_file(f"__grp__{filename}")
        if path is None:
            return None
        try:
            names: dict[str, str] = json.loads(Path(path).read_text())["child_paths"]
        except (OSError, ValueError, KeyError):
            return None
        # The paths are those of the machine that kept the group.
        group = {name: self.get_file(name) for name in names}
        found = {name: path for name, path in group.items() if path is not None}
        return found if len(found) == len(names) else None

    def put_group(self, filename: str, group: dict[str, str]) -> str:
        return self.put(json.dumps({"child_paths": group}), f"__grp__{filename}")


def get_cache_manager(key: str) -> CacheManager:
    """The files of a key, which is a text of hexadecimal digits."""
    return FileCacheManager(base64.b32encode(bytes.fromhex(key)).decode().rstrip("="))


__path__: list[str] = []
__getattr__ = names_of(__name__)
