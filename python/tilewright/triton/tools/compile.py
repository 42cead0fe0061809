"""The names of `triton.tools.compile`: one kernel compiled ahead of time into a file of C.

The file and its header are those of a package of `tilewright export`: the function has the type that the
header says, and there is no driver to link with.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tilewright.native.errors import LaunchError
from tilewright.export.package import Package
from tilewright.tuning.heuristics import Wrapper
from tilewright.launch.jit import JITFunction

from ..absent import names_of
from ..backends.compiler import GPUTarget
from ..compiler.compiler import device_of
from ..runtime.driver import driver

_CPU = "cpu:x86-64-v3"  # what is compiled for where nothing names a level


@dataclass
class CompileArgs:
    """What is compiled: the kernel `kernel_name` of the file `path`, which is run; `signature` has a type
    such as "*fp32:16" or "i32:16" or a value for each parameter, `grid` three expressions of them,
    `target` is "cuda:80:32", "hip:gfx942:64" or "cpu:x86-64-v3:1"."""

    path: str = ""
    kernel_name: str = ""
    signature: str = ""
    grid: str = ""
    target: str | None = None
    num_warps: int = 1
    num_stages: int = 3
    out_name: str | None = None
    out_path: Path | None = None


def compile_kernel(args: CompileArgs) -> tuple[str, list[Path]]:
    """The function's name in C and the files: a header, a file of C, the manifest. Raises as `tilewright
    export` does, and LaunchError TW0434 for a kernel that is not there."""
    kernel = _kernel(args)
    entries = [entry.strip() for entry in args.signature.split(",")]
    names = kernel.arg_names
    if len(entries) != len(names):
        raise _wrong(
            f"the signature has {len(entries)} entries, and {args.kernel_name} takes {len(names)} arguments"
        )
    values = dict(zip(names, map(_value, entries)))
    constants = {name: value for name, value in values.items() if value is not None}
    types = {name: entry for name, entry in zip(names, entries) if name not in constants}
    options = {"num_warps": args.num_warps, "num_stages": args.num_stages}
    digest = hashlib.sha256(" ".join([*entries, repr(options)]).encode()).hexdigest()[:8]
    hints = "".join(f"{i}d" for i, entry in enumerate(entries) if entry.endswith(":16"))
    name = "_".join(filter(None, (args.out_name or args.kernel_name, digest, hints)))
    package = Package(name).add(
        kernel, types, constants, grid=_grid(args.grid), name=name, **options
    )
    folder = Path(args.out_path).parent if args.out_path else Path(".")
    return name, [*package.write(folder, [_target(args.target)], "c").values()]


def _kernel(args: CompileArgs) -> JITFunction:
    """The kernel, of its file run as a module."""
    path = Path(args.path)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise _wrong(f"{args.path} is not a file of Python")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    kernel: Any = getattr(module, args.kernel_name, None)
    while isinstance(kernel, Wrapper):
        kernel = kernel.fn
    if not isinstance(kernel, JITFunction):
        raise _wrong(f"{args.path} has no kernel {args.kernel_name!r}")
    return kernel


def _wrong(message: str) -> LaunchError:
    return LaunchError(message, code="TW0434", hint="see triton.tools.compile.CompileArgs")


def _value(entry: str) -> Any:
    """The constant that an entry of the signature is; None for a type. `i32:1` is the constant 1."""
    if entry.endswith(":1"):
        return 1
    for read in (int, float):
        try:
            return read(entry)
        except ValueError:
            continue
    return {"True": True, "False": False}.get(entry)


def _grid(text: str) -> tuple[str, ...]:
    """The three expressions. They are C's, whose `/` on integers is `//` here."""
    parts = tuple(re.sub(r"(?<!/)/(?!/)", "//", part.strip()) for part in re.split(r",(?![^(]*\))", text))
    if len(parts) != 3:
        raise _wrong(f"a grid has three expressions, not {len(parts)}: {text!r}")
    return parts


def _target(text: str | None) -> str:
    """The target as packages call it."""
    if text is None:
        target = driver.active.get_current_target()
    else:
        parts = text.split(":")
        if len(parts) != 3 or not parts[2].isdigit():
            raise _wrong(f"a target is BACKEND:ARCH:WARP_SIZE, not {text!r}")
        target = GPUTarget(parts[0], parts[1], int(parts[2]))
    if target.backend == "cpu":
        return f"cpu:{target.arch}" if str(target.arch).startswith("x86-64-v") else _CPU
    return device_of(target) or _CPU


def main() -> None:
    """The command `python -m tilewright.triton.tools.compile`."""
    parser = argparse.ArgumentParser(description="Compiles a kernel ahead of time into a file of C.")
    parser.add_argument("path", help="a Python file, which is run")
    parser.add_argument("--kernel-name", "-n", required=True)
    parser.add_argument("--signature", "-s", required=True, help='"*fp32:16, i32:16, 1024"')
    parser.add_argument("--grid", "-g", required=True, help='"(n + 1023) / 1024, 1, 1"')
    parser.add_argument("--target", "-t", help="cuda:80:32, hip:gfx942:64 or cpu:x86-64-v3:1")
    parser.add_argument("--num-warps", "-w", type=int, default=1)
    parser.add_argument("--num-stages", "-ns", type=int, default=3)
    parser.add_argument("--out-name", "-on", help="how the function's name begins")
    parser.add_argument("--out-path", "-o", type=Path, help="the files are written beside it")
    name, files = compile_kernel(CompileArgs(**vars(parser.parse_args())))
    print(name, *files, sep="\n")


__path__: list[str] = []
__getattr__ = names_of(__name__)

if __name__ == "__main__":
    main()
