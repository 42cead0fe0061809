"""`tilewright cache`: what the kernel cache on disk holds, and passing it on."""

from __future__ import annotations

import argparse
import json
from datetime import datetime
from pathlib import Path
from typing import Any

from . import cache_files
from ..native import knobs
from ..native import native
from .cache_exchange import export_entries, import_entries
from ..export.entries import say
from ..tuning.kept import store
from ..tuning.kept.records import Record

_ACTIONS = ("path", "list", "show", "verify", "prune", "clear", "export", "import")


def add_command(commands: Any) -> None:
    """Add the command's arguments to the parser's commands."""
    cache = commands.add_parser("cache", help="look at, check, clear or pass on the kernel cache")
    cache.add_argument("action", choices=_ACTIONS)
    cache.add_argument(
        "subject",
        nargs="?",
        help="of show: the first digits of an entry's key; of export and import: the file",
    )
    cache.add_argument("--max-bytes", type=_size, default=2 << 30, help="of prune: the size to keep")
    cache.add_argument("--kernel", help="of list, prune, clear and export: only kernels of this name")
    cache.set_defaults(run=_run)


def _size(text: str) -> int:
    """A number of bytes."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes")
    return int(text)


def _run(options: argparse.Namespace) -> int:
    directory = knobs.settings().cache_directory
    if not directory:
        raise ValueError("there is no home directory: set TILEWRIGHT_CACHE_DIR")
    root, action = Path(directory), options.action
    if options.kernel is not None and action in ("path", "show", "verify", "import"):
        raise ValueError(f"cache {action} takes no --kernel")
    if action == "path":
        say(root)
    elif action == "list":
        _list(root, options.kernel)
    elif action == "show":
        _show(root, options.subject or "")
    elif action == "verify":
        return _verify(root)
    elif action in ("export", "import"):
        _exchange(root, options)
    else:
        limit = 0 if action == "clear" else options.max_bytes
        if options.kernel is None:
            removed = cache_files.prune(root, limit)
        else:
            removed = cache_files.remove_oldest(_matching(root, options.kernel), limit)
        if limit == 0:  # what autotuning measured stays in a cache that is pruned
            store.remove_kernels(root / store.FILE, options.kernel)
        print(f"removed {len(removed)} entries, {sum(e.num_bytes for e in removed)} bytes")
    return 0


def _described(entry: cache_files.Entry) -> dict[str, Any] | None:
    """What an entry says of its kernel; None where it is not whole."""
    try:
        text = native().describe_stored(entry.key, entry.path.read_bytes())
    except OSError:
        return None
    return json.loads(text) if text else None


def _matching(root: Path, kernel: str | None) -> list[cache_files.Entry]:
    entries = cache_files.list_entries(root)
    if kernel is None:
        return entries
    return [e for e in entries if (described := _described(e)) and described["kernel"] == kernel]


def _list(root: Path, kernel: str | None) -> None:
    now = datetime.now()
    for entry in _matching(root, kernel):
        described = _described(entry)
        what = (
            f"{described['kernel']}({described['arguments']}) on {described['target']}"
            if described
            else "not whole"
        )
        say(f"{entry.key}  {entry.num_bytes:>9}  {_age(now, entry.used):>4}  {what}")


def _age(now: datetime, used: datetime) -> str:
    seconds = max(0.0, (now - used).total_seconds())
    for unit, length in (("d", 86400), ("h", 3600), ("m", 60)):
        if seconds >= length:
            return f"{int(seconds // length)}{unit}"
    return f"{int(seconds)}s"


def _show(root: Path, prefix: str) -> None:
    found = [e for e in cache_files.list_entries(root) if e.key.startswith(prefix.lower())]
    if len(found) != 1:
        raise ValueError(f"{len(found)} entries have a key that starts with {prefix!r}")
    entry = found[0]
    rows: dict[str, Any] = {"key": entry.key, "file": entry.path, "bytes": entry.num_bytes}
    rows["used"] = entry.used
    rows |= _described(entry) or {"content": "not whole"}
    width = max(map(len, rows))
    for name, value in rows.items():
        say(f"{name:<{width}}  {value}")


def _verify(root: Path) -> int:
    """Read every entry; those that are not whole are named and removed."""
    entries = cache_files.list_entries(root)
    broken = [entry for entry in entries if _described(entry) is None]
    for entry in broken:
        entry.path.unlink(missing_ok=True)
        print(f"{entry.key}  is not whole: removed")
    print(f"{len(entries) - len(broken)} of {len(entries)} entries are whole")
    return 1 if broken else 0


def _exchange(root: Path, options: argparse.Namespace) -> None:
    if not options.subject:
        raise ValueError(f"cache {options.action} needs the name of a file")
    file, build = Path(options.subject), native().build_id()
    if options.action == "export":
        # Entries of other builds would never be asked for where they are imported.
        ours = [
            entry
            for entry in _matching(root, options.kernel)
            if (described := _described(entry)) and described["build"] == build
        ]
        chosen = _choices(root, options.kernel, build)
        export_entries(root, ours, build, file, chosen)
        say(f"wrote {_counted(len(ours), len(chosen))} to {file}")
        return
    paths, chosen = import_entries(root, build, file)
    if chosen:
        store.merge(root / store.FILE, chosen)
    say(f"took {_counted(sum(map(_is_whole, paths)), len(chosen))} from {file}")


def _counted(kernels: int, choices: int) -> str:
    tuned = f" and {choices} choice{'s' if choices > 1 else ''} of autotuning"
    return f"{kernels} entries" + (tuned if choices else "")


def _is_whole(path: Path) -> bool:
    """Whether an imported kernel can be read; if not, it is removed."""
    if native().describe_stored(path.name, path.read_bytes()):
        return True
    path.unlink(missing_ok=True)
    return False


def _choices(root: Path, kernel: str | None, build: str) -> list[Record]:
    """What autotuning measured with a build: of one kernel, or of all."""
    records = store.read_content(root / store.FILE).records
    return [r for r in records if r.build == build and kernel in (None, r.kernel)]
