"""What the commands that compile one kernel have in common: its file and name, types, target, options."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ..compile import Request
from ..export.entries import (
    assignments,
    load_object,
    read_constants,
    read_signature,
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
    parser.add_argument(
        "--signature",
        default="",
        help="the parameters that are not given by --constexpr, in order: '*fp32:16, i32:16, 1' (a "
        "number is a constant of that value), or by name: 'x=*fp32:16, n=i32'",
    )
    parser.add_argument("--constexpr", default="", help="\"BLOCK=1024, NAME='relu'\"")
    parser.add_argument("--target", default="cpu", help="cpu, nvidia:sm_80, ...")
    parser.add_argument("--num-warps", type=int, default=4)
    parser.add_argument("--num-stages", type=int, default=3)
    parser.add_argument("--maxnreg", type=int, help="the most registers of a GPU's thread")
    parser.add_argument(
        "--extern-libs",
        default="",
        metavar="NAME=FILE.bc",
        help="libraries of bitcode for extern_elementwise, separated by commas",
    )


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
    """What the options ask to compile."""
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
        maxnreg=options.maxnreg,
        extern_libs=assignments(options.extern_libs),
    )
