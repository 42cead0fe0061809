"""The command `tilewright`, whose parser it has, and its part `compile`."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

from . import (
    cache_command,
    check_command,
    explain_command,
    export_command,
    machine_command,
    tune_command,
    verify_command,
)
from ..native import knobs
from ..native.version import __version__
from ..compile import Request, binary_stage_of, compile_request, inspect, stages_of
from ..explain.compile_trace import trace_of
from ..native.errors import TilewrightError, with_visible_controls
from ..explain import explain_request
from ..export.entries import suggestion
from .request_options import add_request_arguments, read_request


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; gives the exit status: 0, 1 for a failure, 2 for wrong usage, 130 for Ctrl-C."""
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
    except KeyboardInterrupt:
        print("tilewright: interrupted", file=sys.stderr)
        return 130  # as shells have it
    except (OSError, ValueError, KeyError, ImportError) as error:
        text = error.args[0] if isinstance(error, KeyError) else error
        print(with_visible_controls(f"tilewright: {text}"), file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tilewright", description="Tilewright: reports, the kernel cache, compilation."
    )
    parser.add_argument("--version", action="version", version=f"tilewright {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    explain_command.add_command(commands)
    check_command.add_command(commands)
    machine_command.add_command(commands)
    cache_command.add_command(commands)

    compile_ = commands.add_parser("compile", help="compile one kernel and write a stage")
    add_request_arguments(compile_)
    compile_.add_argument(
        "--emit",
        metavar="STAGE",
        help="the stage to write, after which nothing runs: source, tile, tile-passes, laid-out, "
        "scheduled, lowered, llvm-dialect, llvm, asm, ptx, object, cubin or resources (JSON), as "
        "far as the target has them; without it the last readable one: asm or ptx; guards: what "
        "launches of the kernel pass, by name",
    )
    compile_.add_argument(
        "--remarks", action="store_true", help="print what the compiler says of its decisions"
    )
    compile_.add_argument(
        "--trace",
        metavar="FILE",
        help="also write how long each step and pass took, for chrome://tracing and Perfetto",
    )
    compile_.add_argument("-o", "--output", help="file to write; else standard output")
    compile_.set_defaults(run=_compile)
    export_command.add_command(commands)
    tune_command.add_command(commands)
    verify_command.add_command(commands)
    return parser


    return 0


def _compile(options: argparse.Namespace) -> int:
    request = read_request(options)
    stage = _stage(options.emit, options.target)
    if options.trace:
        Path(options.trace).write_text(trace_of(compile_request(request, times_passes=True)))
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
    there = ["source", *texts, binary_stage_of(target), "guards"]
    stage = name or [text for text in texts if text != "resources"][-1]
    if stage not in there:
        raise ValueError(
            f"{target} has no stage {stage}{suggestion(stage, there)}; there are {', '.join(there)}"
        )
    return stage


def remarks_of(request: Request) -> Iterator[str]:
    """All that is said of a kernel's compilation, the assembler's findings and those of its code, too."""
    found = explain_request(request)
    yield from (report["rendered"] for report in found.reports)
    for finding in found.findings:
        if not finding.code:
            yield with_visible_controls(f"remark: {finding.message}\n --> {finding.file}:{finding.line}\n")


def _emit(request: Request, stage: str, shows_remarks: bool) -> bytes:
    settings = knobs.settings()
    if stage in stages_of(request.device):
        if shows_remarks:
            print("".join(remarks_of(request)), end="", file=sys.stderr)
        return inspect(request, stage, settings.dump_directory, settings.shows_remarks).encode()
    if stage == "source":
        return request.source.capture.buffer.encode()
    compiled = compile_request(request)
    if shows_remarks and not settings.shows_remarks:
        print("".join(remarks_of(request)), end="", file=sys.stderr)
    if stage == "guards":
        return "".join(f"{guard}\n" for guard in compiled.guards).encode()
    if stage not in compiled.asm:
        raise ValueError(
            f"{request.device} needs no {stage}; compile for {compiled.native.target}"
            if compiled.device.is_simulated
            else f"nothing here makes the {stage} of {request.device}"
        )
    return compiled.asm[stage]
