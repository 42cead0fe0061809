"""`tilewright doctor`, `targets`, `config` and `info`: what kernels need and have on this machine."""

from __future__ import annotations

import argparse
import array
import importlib.metadata
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..compile import binary_stage_of
from ..export.entries import say
from ..language import arange, constexpr, store
from ..launch.jit import jit
from ..launch.devices import device
from ..native import knobs, native
from ..native.errors import TilewrightError
from ..native.targets import device_named
from ..native.version import __version__
from .cache_files import list_entries

_PACKAGES = ("numpy", "torch", "jax", "triton")
_NO_ASSEMBLER = "none, a GPU's driver assembles at load (pip install nvidia-cuda-nvcc)"


def add_command(commands: Any) -> None:
    """Add the commands to the parser's."""
    for name, run, text in (
        ("doctor", _doctor, "check that this machine has what kernels need"),
        ("targets", _targets, "each target, and where its kernels run here"),
        ("config", _config, "each setting, its value and where that comes from"),
        ("info", _info, "version, targets and settings"),
    ):
        commands.add_parser(name, help=text).set_defaults(run=run)


class Finding(NamedTuple):
    """The finding of one check; with an `advice` it is a problem."""

    what: str
    text: str
    advice: str = ""


@jit
def _double(out, COUNT: constexpr):
    i = arange(0, COUNT)
    store(out + i, i * 2)


def _problem_of(target: str) -> str:
    """Why a kernel cannot run on a target here, in one line; empty where one runs and is right."""
    out = array.array("i", [7] * 8)
    try:
        with device(target):
            _double[(1,)](out, COUNT=8)
    except TilewrightError as error:
        return error.report.get("hint") or error.hint or error.message
    return "" if out.tolist() == list(range(0, 16, 2)) else f"a kernel computes {out.tolist()}"


def findings() -> Iterator[Finding]:
    """The findings of all checks on this machine, from the compiler on."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        settings = knobs.read_settings()
    for warning in caught:
        yield Finding("setting", str(warning.message), "correct it, or remove it from the environment")
    try:
        build = native().build_id()
    except ImportError as error:
        yield Finding("compiler", str(error), "build it: make setup, or install the package again")
        return
    problem = _problem_of("cpu")
    advice = "run `tilewright info`, and report both" if problem else ""
    yield Finding("compiler", problem or f"build {build}; a kernel runs on cpu", advice)
    yield _threads()
    yield _cache(settings)
    yield from _gpus()
    versions = ", ".join(f"{name} {version}" for name in _PACKAGES if (version := _version_of(name)))
    yield Finding("packages", versions or "neither NumPy, torch nor JAX; arrays of Python are taken, too")


def _version_of(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def _threads() -> Finding:
    threads, cores = native().num_threads(), len(os.sched_getaffinity(0))
    text = f"{threads} for {cores} processors"
    is_more = threads > cores
    return Finding("threads", text, f"set {knobs.PREFIX}NUM_THREADS to at most {cores}" if is_more else "")


def _cache(settings: knobs.Settings) -> Finding:
    if not settings.is_cache_enabled:
        return Finding("cache", f"off, by {knobs.PREFIX}CACHE")
    root = settings.cache_directory
    advice = f"make it writable, or name another directory in {knobs.PREFIX}CACHE_DIR"
    if not root:
        return Finding("cache", "there is no home directory", advice)
    try:
        os.makedirs(root, exist_ok=True)  # as the first launch does
        with tempfile.TemporaryFile(dir=root):
            pass
    except OSError as error:
        return Finding("cache", f"{root} cannot be written ({error.strerror})", advice)
    entries = list_entries(Path(root))
    size = sum(entry.num_bytes for entry in entries) / 1e6
    return Finding("cache", f"{root}: {len(entries)} kernels, {size:.1f} MB")


def _gpus() -> Iterator[Finding]:
    """The GPUs and the drivers. None is needed: without one, only its devices are missing."""
    found = native().gpus(True)
    for first in native().first_gpus():
        kind = first.partition(":")[0]
        own = [name for name in found if name.partition(":")[0] == kind]
        if own:
            yield from map(_gpu, own)
        else:
            _, report = native().target_of_device(first)
            yield Finding(kind, f"no GPU: {report['message'] if report else 'the driver names none'}")


def _gpu(name: str) -> Finding:
    target, report = native().target_of_device(name)
    if report:
        return Finding(name, report["message"], report.get("hint") or "install a newer driver")
    if binary_stage_of(target) == "cubin":
        return Finding(name, f"{target}, assembler {native().assembler_of(target) or _NO_ASSEMBLER}")
    return Finding(name, target)


def _doctor(options: argparse.Namespace) -> int:
    del options
    has_problem = False
    for finding in findings():
        has_problem |= bool(finding.advice)
        say(f"{'PROBLEM' if finding.advice else 'ok':<8} {finding.what:<9} {finding.text}")
        if finding.advice:
            say(f"{'':<18} advice: {finding.advice}")
    return int(has_problem)


def _targets(options: argparse.Namespace) -> int:
    del options
    targets = native().targets()
    gpus = {native().target_of_device(name)[0]: name for name in reversed(native().gpus(True))}
    say(f"{'target':<20} {'runs here':<34} assembler")
    for target in targets:
        simulator = f"sim:{target.partition(':')[2]}"
        assembler = ""
        if target in gpus:
            place = f"on {gpus[target]}"
        elif device_named(target).kind not in ("cpu", "reference", "sim"):
            place = f"on {simulator}" if simulator in targets else "no"
        else:
            problem = _problem_of(target) if target.startswith("cpu:") else ""
            place = f"no: {problem}" if problem else "yes"
        if binary_stage_of(target) == "cubin" and not device_named(target).is_simulated:
            assembler = native().assembler_of(target) or _NO_ASSEMBLER
        say(f"{target:<20} {place:<34} {assembler}".rstrip())
    return 0


def _config(options: argparse.Namespace) -> int:
    del options
    for knob in knobs.listed():
        say(f"{knobs.PREFIX}{knob.name:<13} {knob.value or '-':<24} {knob.origin}")
        say(f"    {knobs.KNOBS[knob.name]}")
    return 0


def _info(options: argparse.Namespace) -> int:
    say(f"tilewright {__version__}, Python {sys.version.split()[0]}")
    try:
        say(f"build      {native().build_id()}\nthreads    {native().num_threads()}\n")
        _targets(options)
    except ImportError as error:
        say(f"build      {error}")
    say("")
    return _config(options)
