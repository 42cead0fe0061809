"""Compiles one specialization of a captured kernel, or finds what an earlier compilation made."""

from __future__ import annotations

import os
import re
from functools import partial
from typing import Any

from ..capture import Attribute
from ..native import knobs, native, warn_of_damage
from ..native.above import above
from ..native.errors import InternalError, handle_reports, render, warn_user
from .kernel import CompiledKernel
from .request import Request
from .stages import including, stages_of


def find_request(request: Request) -> CompiledKernel | None:
    """The result of an earlier compilation, in memory or on disk; nothing is compiled."""
    kernel = find_native(request)
    if kernel is not None:
        return CompiledKernel(request, kernel)
    capture = request.source.capture
    target = request.specialization(), request.device
    found: list[Attribute] = []  # by the frontend, which knows what the kernel asks for
    evaluate = partial(capture.evaluate, found=found)
    settings = request.debug_settings(knobs.settings(), "", False)
    native().inspect(request.source.native, *target, "tile", evaluate, settings)
    fuller = including(request, found)
    return fuller and find_request(fuller)


def find_native(request: Request) -> Any:
    """The native kernel that is in memory or on disk; None where there is none yet."""
    capture = request.source.capture
    target = request.specialization(), request.device
    kernel = native().find(capture.meaning, capture.exact, *target, *cache_of(request))
    warn_of_damage()
    return kernel


def cache_of(request: Request) -> tuple[bytes, bool]:
    """The directory of the kernel cache, and whether a kernel of this source is kept there."""
    settings = knobs.settings()
    is_kept = bool(settings.is_cache_enabled and settings.cache_directory and not request.is_opaque)
    # Bytes: a directory's name need not be text.
    return os.fsencode(settings.cache_directory), is_kept


def compile_request(request: Request, times_passes: bool = False) -> CompiledKernel:
    """Compile, or find the result in memory or on disk; with `times_passes` compile in any case, and
    keep the time of each pass. Raises the first error that is reported."""
    settings = knobs.settings()
    capture = request.source.capture
    cache = cache_of(request)
    target = request.specialization(), request.device
    times_passes |= bool(settings.dump_directory)
    debug = request.debug_settings(
        settings, settings.dump_directory, settings.shows_remarks, times_passes=times_passes
    )
    kernel = None
    is_looked_into = times_passes or settings.override_directory or settings.shows_remarks
    if not (request.stage_files or is_looked_into):
        kernel = find_native(request)
    if kernel is None:
        found: list[Attribute] = []
        evaluate = partial(capture.evaluate, found=found)
        kernel, reports = native().compile(request.source.native, *target, evaluate, *cache, debug)
        if kernel is None and (fuller := including(request, found)):
            return compile_request(fuller, times_passes)
        handle_reports(request.told(reports), shows_remarks=settings.shows_remarks)
    if kernel is None:
        raise InternalError(f"compiling {request.name} gave neither a kernel nor a report")
    compiled = CompiledKernel(request, kernel)
    if compiled.origin == "compiled":
        compiled.warn_of_spills()
    if settings.dump_directory:
        dump(compiled, settings.dump_directory)
    return compiled


def dump(kernel: CompiledKernel, folder: str | os.PathLike[str]) -> None:
    """Write every stage to `folder/NAME-KEY.STAGE`; a failure is a warning."""
    from pathlib import Path

    directory = Path(folder)
    stem = f"{re.sub(r'[^A-Za-z0-9_]', '_', kernel.name)}-{kernel.key[:12]}"
    try:
        os.makedirs(directory, exist_ok=True)
        (directory / f"{stem}.trace.json").write_text(above("trace_of")(kernel))
        (directory / f"{stem}.json").write_text(kernel.request.source.capture.buffer)
        for stage in stages_of(kernel.request.device):
            (directory / f"{stem}.{stage}").write_text(kernel.asm[stage])
    except OSError as error:
        text = render("TW0504", f"cannot write to TILEWRIGHT_DUMP: {error}", severity="warning")
        warn_user(text.rstrip())
