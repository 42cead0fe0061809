"""`tilewright export`: kernels compiled ahead of time, for programs in C and C++."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ..export.package import Package
from ..export.source import write_source
from ..launch.jit import JITFunction
from ..export.entries import assignments, load_object, read_constants, say


def add_command(commands: Any) -> None:
    """Add the command's arguments to the parser's commands."""
    export = commands.add_parser("export", help="compile ahead of time, for C and C++")
    export.add_argument(
        "kernel", help="FILE.py:NAME of a kernel, or of a tilewright.Package that has kernels"
    )
    export.add_argument(
        "--signature",
        action="append",
        default=[],
        help="as of compile; each further one is a specialization, of which launches choose",
    )
    export.add_argument("--constexpr", default="", help='"BLOCK=1024, NAME=\'relu\'"')
    export.add_argument(
        "--shapes",
        default="",
        help='"M=4096, N=4096; M=8192": specializations of the first signature for these values',
    )
    export.add_argument("--grid", help="'cdiv(n, BLOCK), m': what launches that give none take")
    export.add_argument("--targets", default="", help="nvidia:sm_80,amd:gfx942,cpu:x86-64-v3,...")
    export.add_argument("--name", default="", help="of the C function; else the kernel's")
    export.add_argument("--package", default="", help="of the files; else the function's")
    export.add_argument(
        "--form",
        choices=("a", "c", "torch", "jax", "onnxruntime", "source"),
        default="a",
        help="an archive, one C file, an archive with a C++ file that makes operators of torch, a library with "
        "a module of Python for JAX, a library of operators for ONNX Runtime, or a header NAME_source.h with "
        "the kernel's source, which libtilewright compiles",
    )
    export.add_argument(
        "--tvm-ffi", action="store_true", help="add functions __tvm_ffi_NAME, which TVM-FFI calls"
    )
    export.add_argument("--outputs", default="", help="with --form torch, jax and onnxruntime: 'out=x, c=(M, N)', arrays that are returned")
    export.add_argument(
        "--strides", default="", help="with the same forms: 'a=(stride_a, 1), b=any', for tensors that are not contiguous"
    )
    export.add_argument("--num-warps", type=int)
    export.add_argument("--num-stages", type=int)
    export.add_argument("--maxnreg", type=int)
    export.add_argument(
        "--tuned",
        metavar="STORE",
        help="a file of `tilewright tune export`: configurations of a kernel under autotune, each for its "
        "key's integers, and one for all others",
    )
    export.add_argument("--depfile", help="file for the names of the Python files that were read")
    export.add_argument("-o", "--output", required=True, help="directory of the files")
    export.set_defaults(run=_export)


# What only a package that the command makes itself heeds; the rest is said in Python.
_OF_KERNELS = (
    "signature", "constexpr", "shapes", "grid", "name", "num_warps", "num_stages", "maxnreg",
    "outputs", "strides", "tuned",
)  # fmt: skip


def _export(options: argparse.Namespace) -> int:
    found = load_object(options.kernel)
    if options.form == "source":
        rest = [name for name in _OF_KERNELS if name != "name"]
        _refuse_given(options, [*rest, "targets", "package", "tvm_ffi"], "--form source takes the kernel as it is")
        kernel = _kernel(found, options)
        return _report(options, write_source(kernel, options.output, options.name))
    if options.form not in ("torch", "jax", "onnxruntime"):
        why = "they are of operators, which --form torch, jax and onnxruntime write"
        _refuse_given(options, ["outputs", "strides"], why)
    package = found if isinstance(found, Package) else _package_of(found, options)
    if isinstance(found, Package):
        where = f"{options.kernel} is a Package, which says that itself"
        _refuse_given(options, _OF_KERNELS, where)
        if options.package not in ("", found.name):
            raise ValueError(f"{options.kernel} is the package {found.name}, not {options.package}")
    targets = [target.strip() for target in options.targets.split(",") if target.strip()]
    return _report(options, package.write(options.output, targets, options.form, options.tvm_ffi))


def _refuse_given(options: argparse.Namespace, names: Iterable[str], why: str) -> None:
    given = [f"--{name.replace('_', '-')}" for name in names if getattr(options, name)]
    if given:
        raise ValueError(f"{', '.join(given)} would change nothing: {why}")


def _report(options: argparse.Namespace, paths: dict[str, Path]) -> int:
    for path in paths.values():
        say(path)
    if options.depfile:
        _write_depfile(options, next(iter(paths.values())))
    return 0


def _kernel(kernel: Any, options: argparse.Namespace) -> JITFunction:
    while not isinstance(kernel, JITFunction):
        if not hasattr(kernel, "fn"):
            raise ValueError(f"{options.kernel} is neither a kernel (under @tw.jit) nor a Package")
        kernel = kernel.fn
    return kernel


def _package_of(found: Any, options: argparse.Namespace) -> Package:
    kernel = _kernel(found, options)
    name = options.name or kernel.fn.__name__
    given = {name: getattr(options, name) for name in ("num_warps", "num_stages", "maxnreg")}
    shapes = [read_constants(text) for text in options.shapes.split(";") if text.strip()]
    package = Package(options.package or name).add(
        found,
        options.signature or "",
        read_constants(options.constexpr),
        shapes=shapes,
        grid=options.grid,
        name=name,
        tuned=options.tuned,
        **{name: value for name, value in given.items() if value is not None},
    )
    return package.as_operator(
        name, outputs=assignments(options.outputs), strides=assignments(options.strides)
    )


def _write_depfile(options: argparse.Namespace, target: Path) -> None:
    """What the files were made of: the Python files that were imported beside the installed ones, and
    the compiler."""
    own = str(Path(__file__).resolve().parents[1])
    installed = tuple(os.path.realpath(p) + os.sep for p in (sys.prefix, sys.base_prefix))
    files = {str(Path(options.kernel.rpartition(":")[0]).resolve())}
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and file.endswith((".py", ".so")):
            path = os.path.realpath(file)
            if path.startswith(own) or not path.startswith(installed):
                files.add(path)
    escaped = [file.replace(" ", "\\ ") for file in sorted(files)]
    text = f"{str(target).replace(' ', chr(92) + ' ')}: " + " \\\n ".join(escaped) + "\n"
    Path(options.depfile).write_text(text, encoding="utf-8")
