"""The command `explain`: the page of a report's code, or what became of a kernel and why."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import Any

from ..compile.options import OF_COMMANDS
from ..explain import explain_request
from .explain import explain, list_codes
from .example_run import run_example
from .request_options import add_settings, read_request

_SETTINGS = ("target", "num_warps", "num_stages", "kernel", "signature", *OF_COMMANDS)


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "explain", help="the page of a report's code, all codes, or why a kernel is fast or slow"
    )
    command.add_argument("subject", nargs="?", help="TW0107, or FILE.py:NAME")
    add_settings(command)
    command.add_argument("--json", action="store_true", help="write the explanation as JSON")
    command.add_argument("--html", metavar="FILE", help="write it as one HTML page")
    command.add_argument(
        "--diff",
        metavar="SETTINGS",
        help="compare with another setting: \"BLOCK=64, num_warps=8, target='nvidia:sm_90a'\", or "
        "\"kernel='other.py:NAME'\"",
    )
    command.add_argument(
        "--run",
        dest="simulated",
        metavar="DEVICE",
        help="simulate a launch, too: sim:sm_80; needs --example and --grid",
    )
    command.add_argument(
        "--example",
        default="",
        help='of --run, by parameter: elements of arrays, values of numbers: "x=1024, n=1000"',
    )
    command.add_argument("--grid", default="1", help="of --run: programs, as 64 or 8,8")
    command.add_argument(
        "--timeline",
        metavar="FILE",
        help="of --run: what each warp of the first program does, in steps, for chrome://tracing",
    )
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if options.subject is None or ".py:" not in options.subject:
        print(explain(options.subject) if options.subject else list_codes(), end="")
        return 0
    options.kernel = options.subject
    if options.timeline and not options.simulated:
        raise ValueError("--timeline is of a simulated launch: --run sim:sm_80")
    is_right = True
    if options.simulated:
        found, is_right = run_example(options)
    else:
        found = explain_request(read_request(options))
    if options.html:
        Path(options.html).write_text(found.to_html(), encoding="utf-8")
    if options.diff:
        other = explain_request(read_request(_changed(options)))
        print(found.diff(other), end="")
    elif options.json:
        print(found.to_json())
    elif not options.html:
        print(found.to_text(has_colours=_has_colours()), end="")
    return 0 if is_right and not found.error else 1


def _has_colours() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ


def _changed(options: argparse.Namespace) -> argparse.Namespace:
    """The options with what --diff replaces: names of options, and of constants."""
    from ..export.entries import read_constants

    other = argparse.Namespace(**vars(options))
    given = read_constants(options.diff)
    for name in _SETTINGS:
        if name in given:
            setattr(other, name, given.pop(name))
    constants = {**read_constants(options.constexpr), **given}
    other.constexpr = ", ".join(f"{name}={value!r}" for name, value in constants.items())
    return other
