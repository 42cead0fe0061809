"""Options that the commands which compile one kernel have in common: its file and name, types, target, options."""

from __future__ import annotations

import argparse
import ast
from typing import TYPE_CHECKING

from ..compile import Request
from ..compile.options import OF_COMMANDS
from ..export.entries import (
    assignments,
    load_object,
    read_constants,
    read_signature,
    split_entries,
    suggestion,
)
from ..launch.devices import check_device

if TYPE_CHECKING:
    from ..launch.jit import JITFunction


def add_request_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the kernel and what it is compiled for to a command."""
    parser.add_argument("kernel", help="FILE.py:NAME")
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add what a kernel is compiled for."""
    add_types(parser)
    parser.add_argument("--target", default="cpu", help="cpu, nvidia:sm_80, ...")
    parser.add_argument(
        "--extern-libs",
        default="",
        metavar="NAME=FILE.bc",
        help="libraries of bitcode for extern_elementwise, separated by commas",
    )
    for name, row in OF_COMMANDS.items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=row.parse, help=row.usage)


def add_types(parser: argparse.ArgumentParser) -> None:
    """Add types, constants, and the options that all devices have."""
    parser.add_argument(
        "--signature",
        default="",
        help="the parameters that are not given by --constexpr, in order: '*fp32:16, i32:16, 1' (a "
        "number is a constant of that value), or by name: 'x=*fp32:16, n=i32'",
    )
    parser.add_argument("--constexpr", default="", help="\"BLOCK=1024, NAME='relu'\"")
    parser.add_argument("--num-warps", type=int, default=4)
    parser.add_argument("--num-stages", type=int, default=3)


def entries_of(example: str) -> dict[str, int | float | str]:
    """The entries of an example: numbers, and texts that name others: "x=n, n=1000"."""
    return {name: _number_or_text(text) for name, text in assignments(example).items()}


def read_grid(grid: str) -> tuple[int | float | str, ...]:
    """The programs along each axis: "64", "8,8" or "cdiv(n, BLOCK)"."""
    return tuple(_number_or_text(part) for part in split_entries(grid))


def _number_or_text(text: str) -> int | float | str:
    try:
        value = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text.strip()
    return value if isinstance(value, (int, float)) else text.strip()


def read_kernel(place: str) -> JITFunction:
    """The kernel that FILE.py:NAME names, below what wraps it."""
    from ..launch.jit import JITFunction

    kernel = load_object(place)
    while not isinstance(kernel, JITFunction):
        if not hasattr(kernel, "fn"):
            raise ValueError(f"{place} is not a kernel (a function under @tw.jit)")
        kernel = kernel.fn
    return kernel


def read_request(options: argparse.Namespace) -> Request:
    """The request for a compilation that the options make."""
    kernel = read_kernel(options.kernel)
    check_device(options.target)
    constants = read_constants(options.constexpr)
    names = [parameter.name for parameter in kernel.parameters]
    signature = read_signature(options.signature, names, constants)
    for name in (*signature, *constants):
        if name not in names:
            raise ValueError(f"{options.kernel} has no parameter {name}{suggestion(name, names)}")
    return kernel.request(
        signature,
        constants,
        device=options.target,
        num_warps=options.num_warps,
        num_stages=options.num_stages,
        extern_libs=assignments(options.extern_libs),
        **{name: getattr(options, name, None) for name in OF_COMMANDS},
    )
