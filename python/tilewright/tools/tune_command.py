"""`tilewright tune`: what autotuning has measured and chosen, and passing it on."""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..export.entries import read_constants, say
from ..native import native
from ..native.errors import LaunchError
from ..native.targets import device_named, target_of
from ..tuning.kept import store
from ..tuning.kept.recall import describe_device
from ..tuning.kept.records import Record, Trial


def add_command(commands: Any) -> None:
    """Add the command's arguments to the parser's commands."""
    tune = commands.add_parser("tune", help="look at what autotuning measured, or pass it on")
    actions = tune.add_subparsers(required=True, metavar="ACTION")
    show = _action(actions, "show", _show, "one line for each choice")
    why = _action(actions, "why", _why, "why a kernel's configurations were chosen")
    why.add_argument("kernel", help="the kernel's name")
    why.add_argument("--key", default="", help='only of these values: "M=512, N=512"')
    export = _action(actions, "export", _export, "write the choices of this build to a file")
    export.add_argument("file")
    for action in (show, export):
        action.add_argument("--kernel", help="only of the kernel of this name")
    import_ = _action(actions, "import", _import, "take the choices of a file into the store")
    import_.add_argument("file")
    import_.add_argument(
        "--foreign",
        action="store_true",
        help="take choices of other devices and builds, too: launches use them where nothing was "
        "measured here",
    )
    merge = actions.add_parser("merge", help="make one file of several, of equal choices the fastest")
    merge.add_argument("files", nargs="+")
    merge.add_argument("-o", "--output", required=True, help="the file to write")
    merge.set_defaults(run=_merge)


def _action(actions: Any, name: str, run: Any, what: str) -> Any:
    parser = actions.add_parser(name, help=what)
    parser.add_argument("--store", help="the file to use instead of the one in the cache's directory")
    parser.set_defaults(run=run)
    return parser


def _path(options: argparse.Namespace) -> Path:
    path = Path(options.store) if options.store else store.default_store()
    if path is None:
        raise ValueError("there is no kernel cache: set TILEWRIGHT_CACHE_DIR, or name a --store")
    return path


def _records(options: argparse.Namespace) -> list[Record]:
    """The records of the store that is meant; where none was written yet, none."""
    path = _path(options)
    if not options.store and not path.exists():
        return []
    return store.one_of_each(store.read_records(path))


def _of_kernel(records: Iterable[Record], kernel: str | None) -> list[Record]:
    return [record for record in records if kernel in (None, record.kernel)]


def _show(options: argparse.Namespace) -> int:
    for record in _of_kernel(_records(options), options.kernel):
        ms = f"{record.best_ms:.4g} ms" if math.isfinite(record.best_ms) else "not measured"
        say(f"{record.kernel}({_key(record)}) on {record.device}: {_config(record.best)}  {ms}")
    return 0


def _key(record: Record) -> str:
    return ", ".join([*(f"{name}={value}" for name, value in record.key.items()), *record.types])


def _config(config: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in config.items())


def _why(options: argparse.Namespace) -> int:
    wanted = read_constants(options.key)
    records = _of_kernel(_records(options), options.kernel)
    found = [r for r in records if all(r.key.get(name) == v for name, v in wanted.items())]
    if not found:
        known = ", ".join(sorted({record.kernel for record in _records(options)})) or "none"
        raise ValueError(f"the store has no choice for {options.kernel}; kernels: {known}")
    for record in found:
        say("\n".join(_explanation(record)))
    return 0


def _explanation(record: Record) -> list[str]:
    """Why a record's configuration was chosen, and all that were tried, the fastest first."""
    measured = [trial for trial in record.trials if trial.ms is not None]
    lines = [f"{record.kernel}({_key(record)})", f"  on {record.device} ({record.target})"]
    reason = _misfit(record)
    if reason:
        use = "used where nothing was measured here" if record.is_adopted else "not used here"
        lines.append(f"  {use}: {reason}")
    lines.append(f"  {_config(record.best)} is {_merit(record, measured)}")
    for trial in record.trials:
        lines.append("    " + _told(trial))
    return lines


def _merit(record: Record, measured: Sequence[Trial]) -> str:
    chosen = next((trial for trial in measured if trial.config == record.best), None)
    others = [trial for trial in measured if trial.config != record.best]
    if chosen is None or chosen.ms is None:
        return "the first by the model: nothing was measured"
    told = f"the fastest of {len(measured)} measured, of {len(record.trials)} in all"
    best = min((trial.ms for trial in others if trial.ms is not None), default=None)
    if best is None:
        return told
    if best == chosen.ms:
        return f"{told}; others are as fast, and of these it is the first by its values"
    return f"{told}; the next takes {100 * (best / chosen.ms - 1):.1f} % longer"


def _told(trial: Trial) -> str:
    parts = [f"{trial.ms:.4g} ms" if trial.ms is not None else "not measured"]
    if trial.spread is not None:
        parts.append(f"spread {100 * trial.spread:.1f} %")
    if trial.predicted is not None:
        parts.append(f"predicted {trial.predicted:.4g} ms")
    if trial.why:
        parts.append(trial.why)
    return f"{', '.join(parts)}: {_config(trial.config)}"


def _misfit(record: Record) -> str:
    """Why launches on this machine do not use a record as one of theirs; empty where they do."""
    if record.build != native().build_id():
        return f"it was measured with the build {record.build}"
    if record.target.startswith(("nvidia:", "amd:")):
        here = {target_of(gpu) for gpu in native().gpus(True)}
        return "" if record.target in here else f"it is of {record.device} ({record.target})"
    is_known = record.target in native().targets() and not device_named(record.target).has_memory
    if is_known and record.device == describe_device(record.target):
        return ""
    return f"it was measured on {record.device}"


def _export(options: argparse.Namespace) -> int:
    build = native().build_id()
    ours = [r for r in _of_kernel(_records(options), options.kernel) if r.build == build]
    count = store.write(Path(options.file), [replace(r, is_adopted=False) for r in ours])
    say(f"wrote {count} choices to {options.file}")
    return 0


def _import(options: argparse.Namespace) -> int:
    found = store.read_records(Path(options.file))
    misfits = [(record, why) for record in found if (why := _misfit(record))]
    if misfits and not options.foreign:
        record, why = misfits[0]
        raise LaunchError(
            f"{len(misfits)} of {len(found)} choices in {options.file} are not of this machine: "
            f"{record.kernel}({_key(record)}): {why}",
            code="TW0426",
            hint="tune here, or import them with --foreign: launches use them where nothing was "
            "measured",
        )
    foreign = [record.identity for record, _ in misfits]
    taken = [replace(r, is_adopted=r.is_adopted or r.identity in foreign) for r in found]
    store.merge(_path(options), taken)
    say(f"took {len(taken)} choices from {options.file}")
    return 0


def _merge(options: argparse.Namespace) -> int:
    found = [record for file in options.files for record in store.read_records(Path(file))]
    count = store.write(Path(options.output), found)
    say(f"wrote {count} choices to {options.output}")
    return 0
