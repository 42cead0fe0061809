"""The command `tilewright`: explain, info, cache and compile."""

from __future__ import annotations

import argparse
import ast
import difflib
import importlib.util
import os
import sys
import traceback
import types
import warnings
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from . import cache_files
from .. import knobs
from .._version import __version__
from ..compile import Request, binary_stage_of, compile_request, inspect, stages_of
from ..launch.devices import check_device
from ..errors import TilewrightError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit status: 0, 1 for a failure, 2 for wrong usage."""
    options = _parser().parse_args(arguments)
    if arguments is None:  # as a command: whose line of Python warns is of no interest
        warnings.formatwarning = lambda message, *_, **__: f"{message}\n"
    try:
        return options.run(options)
    except TilewrightError as error:
        print(error.rendered.rstrip(), file=sys.stderr)
        return 1
    except BrokenPipeError:  # the reader, `head` for example, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (OSError, ValueError, KeyError, ImportError) as error:
        text = error.args[0] if isinstance(error, KeyError) else error
        print(f"tilewright: {text}", file=sys.stderr)
        return 1


def _size(text: str) -> int:
    """A number of bytes."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes")
    return int(text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tilewright", description="Tilewright: reports, the kernel cache, compilation."
    )
    parser.add_argument("--version", action="version", version=f"tilewright {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    explain = commands.add_parser("explain", help="the page of a report's code, or all codes")
    explain.add_argument("code", nargs="?", help="for example TW0107")
    explain.set_defaults(run=_explain)

    info = commands.add_parser("info", help="version, devices, threads, knobs")
    info.set_defaults(run=_info)

    cache = commands.add_parser("cache", help="look at or clear the kernel cache on disk")
    cache.add_argument("action", choices=("path", "list", "show", "clear", "prune"))
    cache.add_argument("key", nargs="?", help="of show: the first digits of an entry's key")
    cache.add_argument("--max-bytes", type=_size, default=2 << 30, help="of prune: the size to keep")
    cache.set_defaults(run=_cache)

    compile_ = commands.add_parser("compile", help="compile one kernel and write a stage")
    compile_.add_argument("kernel", help="FILE.py:NAME")
    compile_.add_argument(
        "--signature",
        default="",
        help="the parameters that are not given by --constexpr, in order: '*fp32:16, i32:16, 1' (a "
        "number is a constant of that value), or by name: 'x=*fp32:16, n=i32'",
    )
    compile_.add_argument("--constexpr", default="", help='"BLOCK=1024, NAME=\'relu\'"')
    compile_.add_argument("--target", default="cpu", help="cpu, nvidia:sm_80, ...")
    compile_.add_argument(
        "--emit",
        metavar="STAGE",
        help="the stage to write, after which nothing runs: source, tile, tile-passes, laid-out, "
        "scheduled, lowered, llvm-dialect, llvm, asm, ptx, object, cubin or resources (JSON), as "
        "far as the target has them; without it the last readable one: asm or ptx",
    )
    compile_.add_argument(
        "--remarks", action="store_true", help="print what the compiler says of its decisions"
    )
    compile_.add_argument("--num-warps", type=int, default=4)
    compile_.add_argument("--num-stages", type=int, default=3)
    compile_.add_argument("--maxnreg", type=int, help="the most registers of a GPU's thread")
    compile_.add_argument(
        "--extern-libs",
        default="",
        metavar="NAME=FILE.bc",
        help="libraries of bitcode for extern_elementwise, separated by commas",
    )
    compile_.add_argument("-o", "--output", help="file to write; else standard output")
    compile_.set_defaults(run=_compile)
    return parser


def _explain(options: argparse.Namespace) -> int:
    from .explain import explain, list_codes

    print(explain(options.code) if options.code else list_codes(), end="")
    return 0


def _info(options: argparse.Namespace) -> int:
    del options
    from ..native import native

    settings = knobs.settings()
    print(f"tilewright {__version__}")
    try:
        module = native()
        print(f"build     {module.build_id()}")
        print(f"devices   {', '.join(module.targets())}")
        print(f"threads   {module.num_threads()}")
    except ImportError as error:
        print(f"build     {error}")
    print(f"cache     {settings.cache_directory if settings.is_cache_enabled else 'off'}")
    print("\nenvironment:")
    for name, meaning in knobs.KNOBS.items():
        print(f"  {knobs.PREFIX}{name:<12} {meaning}")
    return 0


def _cache(options: argparse.Namespace) -> int:
    directory = knobs.settings().cache_directory
    if not directory:
        raise ValueError("there is no home directory: set TILEWRIGHT_CACHE_DIR")
    root = Path(directory)
    if options.action == "path":
        print(root)
    elif options.action == "list":
        for entry in cache_files.list_entries(root):
            print(f"{entry.key}  {entry.num_bytes:>9}  {entry.used:%Y-%m-%d %H:%M}")
    elif options.action == "show":
        _show_entry(root, options.key or "")
    else:
        limit = 0 if options.action == "clear" else options.max_bytes
        removed = cache_files.prune(root, limit)
        print(f"removed {len(removed)} entries, {sum(e.num_bytes for e in removed)} bytes")
    return 0


def _show_entry(root: Path, prefix: str) -> None:
    found = [e for e in cache_files.list_entries(root) if e.key.startswith(prefix.lower())]
    if len(found) != 1:
        raise ValueError(f"{len(found)} entries have a key that starts with {prefix!r}")
    entry = found[0]
    print(f"key    {entry.key}\nfile   {entry.path}\nbytes  {entry.num_bytes}\nused   {entry.used}")


def _compile(options: argparse.Namespace) -> int:
    from ..launch.jit import JITFunction

    kernel = _load_kernel(options.kernel)
    while not isinstance(kernel, JITFunction):
        if not hasattr(kernel, "fn"):
            raise ValueError(f"{options.kernel} is not a kernel (a function under @tw.jit)")
        kernel = kernel.fn
    constants = {
        name: _literal(name, text) for name, text in _assignments(options.constexpr).items()
    }
    check_device(options.target)
    stage = _stage(options.emit, options.target)
    names = [parameter.name for parameter in kernel.parameters]
    signature = _signature(options.signature, names, constants)
    for name in (*signature, *constants):
        if name not in names:
            what = f"{options.kernel} has no parameter {name}"
            raise ValueError(what + _suggestion(name, names))
    request = kernel.request(
        signature,
        constants,
        device=options.target,
        num_warps=options.num_warps,
        num_stages=options.num_stages,
        maxnreg=options.maxnreg,
        extern_libs=_assignments(options.extern_libs),
    )
    data = _emit(request, stage, options.remarks)
    if options.output:
        Path(options.output).write_bytes(data)
    else:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    return 0


def _stage(name: str | None, target: str) -> str:
    """The stage that is asked for, if the target has it."""
    texts = stages_of(target)
    there = ["source", *texts, binary_stage_of(target)]
    stage = name or [text for text in texts if text != "resources"][-1]
    if stage not in there:
        raise ValueError(
            f"{target} has no stage {stage}{_suggestion(stage, there)}; there are {', '.join(there)}"
        )
    return stage


def _emit(request: Request, stage: str, shows_remarks: bool) -> bytes:
    settings = knobs.settings()
    if stage in stages_of(request.device):
        shows_remarks = shows_remarks or settings.shows_remarks
        return inspect(request, stage, settings.dump_directory, shows_remarks).encode()
    if stage == "source":
        return request.source.capture.buffer.encode()
    compiled = compile_request(request)
    if shows_remarks and not settings.shows_remarks:
        print("".join(remark["rendered"] for remark in compiled.remarks), end="", file=sys.stderr)
    if stage not in compiled.asm:
        raise ValueError(
            f"{request.device} needs no {stage}; compile for {compiled.native.target}"
            if compiled.device.is_simulated
            else f"nothing here makes the {stage} of {request.device}"
        )
    return compiled.asm[stage]


def _suggestion(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""


def _signature(text: str, names: list[str], constants: dict[str, Any]) -> dict[str, str]:
    """The types by parameter; numbers in the place of types go to `constants`."""
    parts = _split(text)
    if any("=" in part for part in parts):
        entries = _assignments(text)
    else:
        expected = [name for name in names if name not in constants]
        if len(parts) > len(expected):
            raise ValueError(f"the signature has {len(parts)} entries for {', '.join(expected)}")
        entries = dict(zip(expected, parts))
    types: dict[str, str] = {}
    for name, part in entries.items():
        try:
            constants[name] = ast.literal_eval(part.strip())
        except (ValueError, SyntaxError):
            types[name] = part.strip()
    return types


def _literal(name: str, text: str) -> Any:
    """The Python value that a text spells."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        what = f"{name}={text} is not a Python value; texts are quoted: {name}='...'"
        raise ValueError(what) from None


def _assignments(text: str) -> dict[str, str]:
    """`a=1, b=(2, 3)` as a dictionary of texts; commas in brackets and quotes do not split."""
    result: dict[str, str] = {}
    for part in _split(text):
        name, equals, value = part.partition("=")
        if not equals or not name.strip().isidentifier():
            raise ValueError(f"{part.strip()!r} is not NAME=VALUE")
        result[name.strip()] = value.strip()
    return result


def _split(text: str) -> list[str]:
    parts = [""]
    depth, quote = 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def _describe_failure(file: str, error: Exception) -> str:
    """Why a file cannot be imported: the lines of others than Tilewright and Python's importer."""
    own = str(Path(__file__).parent.parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((own, "<frozen importlib"))
    ]
    lines = traceback.format_list(frames) + traceback.format_exception_only(error)
    return f"{file} cannot be imported:\n{''.join(lines).rstrip()}"


def _load_kernel(place: str) -> Any:
    file, _, name = place.rpartition(":")
    if not file or not name.isidentifier():
        raise ValueError(f"{place!r} is not FILE.py:NAME")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is not a Python file")
    if not Path(file).is_file():
        raise FileNotFoundError(f"there is no file {file}")
    module: types.ModuleType = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    sys.path.insert(0, str(Path(file).resolve().parent))  # as for a script: its own imports work
    try:
        spec.loader.exec_module(module)
    except TilewrightError:
        raise
    except Exception as error:
        raise ImportError(_describe_failure(file, error)) from error
    if not hasattr(module, name):
        raise ValueError(f"{file} defines no {name}")
    return getattr(module, name)
