"""`tilewright verify`: whether the files of an exported package are those that the export wrote."""

from __future__ import annotations

import argparse
import hashlib
import json
import re
from pathlib import Path
from typing import Any, cast

from ..native.errors import LaunchError
from ..export.header import ABI
from ..export.package import digest_of_manifest
from ..export.entries import say

_FILE = re.compile(r"[A-Za-z0-9_]+\.(?:h|a|c|cpp)")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def add_command(commands: Any) -> None:
    """Add the command's arguments to the parser's commands."""
    verify = commands.add_parser("verify", help="check the files of an exported package")
    verify.add_argument("manifest", help="its NAME.json, beside the files")
    verify.set_defaults(run=_verify)


def _verify(options: argparse.Namespace) -> int:
    manifest = Path(options.manifest)
    names = verify_package(manifest)
    say(f"{manifest}: {', '.join(names)} are as they were exported")
    return 0


def verify_package(manifest: Path) -> list[str]:
    """The names of the files of a package, all of which have the digests of its manifest. Raises LaunchError
    TW0806 where one has not or the manifest was edited, and TW0821 where the package is for another version of the launcher."""
    fields, files = _read(manifest)
    if fields.get("abi") != ABI:
        raise LaunchError(
            f"{manifest} is of a package for version {fields.get('abi')} of the launcher, and this is {ABI}",
            code="TW0821",
            hint="export it again",
        )
    if fields.get("digest") != digest_of_manifest(fields):
        raise _damaged(manifest, "the manifest was changed since")
    for name, digest in files.items():
        try:
            found = hashlib.sha256((manifest.parent / name).read_bytes()).hexdigest()
        except OSError as error:
            raise _damaged(manifest, f"{name} cannot be read ({error.strerror})") from None
        if found != digest:
            raise _damaged(manifest, f"{name} is not the file that was exported")
    return sorted(files)


def _read(manifest: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """All fields, and the digests of the files by their names."""
    try:
        content: Any = json.loads(manifest.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise _damaged(manifest, str(error)) from None
    if not isinstance(content, dict):
        raise _damaged(manifest, "it is not the manifest of a package")
    fields = cast("dict[str, Any]", content)
    files: Any = fields.get("files")
    if not isinstance(files, dict) or not files:
        raise _damaged(manifest, "it names no files")
    entries = cast("dict[str, Any]", files)
    for name, digest in entries.items():
        if not _FILE.fullmatch(name) or not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
            raise _damaged(manifest, f"{name!r} with {digest!r} is not the name and digest of a file")
    return fields, entries


def _damaged(manifest: Path, why: str) -> LaunchError:
    return LaunchError(
        f"{manifest} does not fit the files beside it: {why}",
        code="TW0806",
        hint="export the package again",
    )
