"""The command `check`: is a kernel right on every device and with shapes around its tiles?"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Collection
from typing import Any

from ..export.entries import load_object, read_constants, read_signature
from ..native.errors import LaunchError, with_visible_controls
from ..testing.check import DEVICES, check
from ..testing.examples import needs
from .request_options import add_types, entries_of, read_grid, read_kernel, read_request


def add_command(commands: Any) -> None:
    """Add the command to the parser's."""
    command = commands.add_parser(
        "check", help="run a kernel on several devices and shapes, and report what is wrong"
    )
    command.add_argument("kernel", help="FILE.py:NAME")
    add_types(command)
    command.add_argument(
        "--example",
        default="",
        help='by parameter, elements of arrays and values of numbers: "x=n, a=M*K, n=1000"',
    )
    command.add_argument("--grid", default="1", help='programs, as 64, "8,8" or "cdiv(n, BLOCK)"')
    command.add_argument("--devices", default=",".join(DEVICES), help="separated by commas")
    command.add_argument(
        "--updated", default="", help="arrays that the kernel is meant to read and to write"
    )
    command.add_argument("--fixed", default="", help="integers that keep the example's value")
    command.add_argument(
        "--expected",
        metavar="FILE.py:NAME",
        help="a function of the arguments that returns the right outputs by name",
    )
    command.add_argument("--rtol", type=float, help="relative tolerance; else by type")
    command.add_argument("--atol", type=float, help="absolute tolerance; else by type")
    command.add_argument("--cases", type=int, default=24, help="the most shapes to run; 1: the example")
    command.add_argument("--seed", type=int, default=2026, help="of arrays, shapes and schedules")
    command.add_argument(
        "--reproducer", metavar="FILE", help="write a script that shows the smallest case"
    )
    command.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    try:
        arguments = _arguments(options)
        result = check(**arguments, raises=False)
    except (ValueError, LaunchError, FileNotFoundError, ImportError) as error:
        text = error.rendered.rstrip() if isinstance(error, LaunchError) else f"tilewright: {error}"
        print(with_visible_controls(text), file=sys.stderr)
        return 2
    print(result)
    return 0 if result else 1


def _arguments(options: argparse.Namespace) -> dict[str, Any]:
    """The arguments of `tw.testing.check`. Raises ValueError for options that do not fit."""
    kernel = read_kernel(options.kernel)
    constants = read_constants(options.constexpr)
    signature = read_signature(options.signature, [one.name for one in kernel.parameters], constants)
    _check_types(kernel, {**signature, **constants})
    options.target, options.extern_libs = "reference", ""
    request = read_request(options)
    entries = entries_of(options.example)
    if missing := needs(request.parameters, request.facts, entries):
        raise ValueError(f"check needs examples of all arguments: --example '{', '.join(missing)}'")
    return {
        "kernel": kernel,
        "signature": signature,
        "constants": constants,
        "example": entries,
        "grid": read_grid(options.grid),
        "devices": names_of(options.devices),
        "updated": names_of(options.updated),
        "fixed": names_of(options.fixed),
        "expected": load_object(options.expected) if options.expected else None,
        "rtol": options.rtol,
        "atol": options.atol,
        "cases": options.cases,
        "seed": options.seed,
        "reproducer": options.reproducer,
        "progress": lambda line: print(with_visible_controls(f"check: {line}"), file=sys.stderr),
        "num_warps": options.num_warps,
        "num_stages": options.num_stages,
    }


def _check_types(kernel: Any, given: Collection[str]) -> None:
    """Raise ValueError with the parameters that lack a type, and the constants that lack a value."""
    missing = [one for one in kernel.parameters if one.name not in given and not one.has_default]
    types = ", ".join(one.name for one in missing if not one.is_constexpr)
    values = ", ".join(one.name for one in missing if one.is_constexpr and one.steps is None)
    needed = [f"the types of {types}: --signature 'NAME=*fp32, NAME=i32'"] if types else []
    needed += [f"the values of {values}: --constexpr 'NAME=VALUE'"] if values else []
    if needed:
        raise ValueError(f"check needs an example, and {'; '.join(needed)}")


def names_of(text: str) -> list[str]:
    """The names between commas."""
    return [name.strip() for name in text.split(",") if name.strip()]
