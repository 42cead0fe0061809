"""Compiles one specialization of a captured kernel, and what Python shows of the result."""

from __future__ import annotations

import copy
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from operator import itemgetter
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from . import knobs
from .launch.facts import Facts
from .capture import (
    MISSING,
    Attribute,
    Capture,
    SourceNotFound,
    SourceTooDeep,
    ValueNotCaptured,
)
from .errors import InternalError, Report, handle_reports, is_remark, render, warn_user
from .launch.libraries import Library
from .lazy import lazy_attribute
from .native import native
from .targets import NOMINAL_REGISTERS, TargetName, device_named

class Options(NamedTuple):
    """The launch options that a kernel is compiled for."""

    num_warps: int = 4
    num_stages: int = 3
    debug: bool = False
    maxnreg: int | None = None  # the most registers of a GPU's thread; elsewhere it changes nothing
    enable_fp_fusion: bool = True  # a * b + c may round once, which only GPUs' code does
    sanitize_overflow: bool = True  # with `debug`: check integers' + - *
    extern_libs: tuple[Library, ...] = ()  # bitcode that `extern_elementwise` calls
    waves_per_eu: int | None = None  # warps that a SIMD unit is to hold, where GPUs are told
    matrix_instr_nonkdim: int | None = None  # rows and columns of matrix instructions, likewise

    def extra(self, device: str) -> list[str]:
        """What has no field of its own in the native module, as its further options."""
        words = [library.word for library in self.extern_libs]
        if self.maxnreg:
            words.append(f"maxnreg={self.maxnreg}")
        if self.waves_per_eu:
            words.append(f"waves_per_eu={self.waves_per_eu}")
        if self.matrix_instr_nonkdim:
            words.append(f"matrix_instr_nonkdim={self.matrix_instr_nonkdim}")
        if not self.enable_fp_fusion:
            words.append("no-fusion")
        heeded = device_named(device).options
        wraps = [] if self.sanitize_overflow or not self.debug else ["wraps"]
        return wraps + [word for word in words if word.partition("=")[0] in heeded]


class Source:
    """A capture with the native module's copy of its buffer."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.is_current = capture.is_current

    @lazy_attribute
    def native(self) -> Any:
        """The buffer in the native module; only a compilation needs it."""
        capture = self.capture
        return native().KernelSource(capture.buffer, capture.meaning, capture.exact)

    @lazy_attribute
    def is_current_now(self) -> Callable[[], bool]:
        """`is_current` for launches, which ask it every time."""
        capture = self.capture
        return native().make_check(
            capture.bodies, capture.dependencies, capture.is_current, MISSING
        )


_STAGE_FROM_FILE = "TW0502"
# Numbers the compilations whose source refers to objects that no key can cover.
_opaque_compilations = itertools.count()
# What a constant's text has where its contents cannot be known; within a string it would be escaped.
_UNKNOWN_CONTENTS = '"digest":""'
# The function of the language that gives the launch option `num_warps`.
_NUM_WARPS = "compiled_num_warps"


class Request(NamedTuple):
    """Everything that a compilation depends on, beside the knobs of the cache."""

    name: str
    source: Source
    parameters: tuple[str, ...]
    facts: tuple[Any, ...]  # for each parameter its Facts, or anything else for a constant
    constants: tuple[Any, ...]  # for each parameter its value if it is a constant
    options: Options
    device: str
    stage_files: str = ""  # a directory whose file NAME.STAGE is the kernel's text at that stage

    def specialization(self) -> Any:
        """The native module's form of the facts and options."""
        module = native()
        texts = self.constant_texts()
        arguments = [
            _argument_spec(module.ArgumentSpec, name, facts, text)
            for name, facts, text in zip(self.parameters, self.facts, texts)
        ]
        options = self.options
        extra = options.extra(self.device)
        if self.is_opaque:
            extra.append(f"opaque {next(_opaque_compilations)}")
        warps, stages = self._warps_and_stages(texts)
        return module.Specialization(arguments, warps, stages, options.debug, ",".join(extra))

    def _warps_and_stages(self, constants: Sequence[str]) -> tuple[int, int]:
        """The options that a GPU's code depends on. Where a program is one thread they are the default,
        so that all share a binary; only the number of warps can be read by a kernel."""
        options, default = self.options, Options()
        if device_named(self.device).is_gpu:
            return options.num_warps, options.num_stages
        reads = self.source.capture.names_builtin
        is_read = reads(_NUM_WARPS) or any(f'"{_NUM_WARPS}"' in text for text in constants)
        return min(options.num_warps, 32) if is_read else default.num_warps, default.num_stages

    def constant_texts(self) -> tuple[str, ...]:
        """The constants as the compiler reads them, with their contents of this moment; empty for the rest."""
        encode = self.source.capture.encode
        return tuple(
            "" if isinstance(facts, Facts) else json.dumps(encode(value), separators=(",", ":"))
            for facts, value in zip(self.facts, self.constants)
        )

    @property
    def is_opaque(self) -> bool:
        """Whether the compiled code depends on what no key can cover."""
        texts = self.constant_texts()
        return self.source.capture.is_opaque or any(_UNKNOWN_CONTENTS in text for text in texts)

    def debug_settings(self, settings: knobs.Settings, dump_directory: str, collects_remarks: bool) -> Any:
        """How the native module is to look into a compilation, and what replaces its stages."""
        overrides = self.stage_files or settings.override_directory
        return native().DebugSettings(dump_directory, overrides, collects_remarks)

    def told(self, reports: Sequence[Report]) -> list[Report]:
        """What a compilation reported, without that a stage is taken from the file it was given."""
        return [r for r in reports if not (self.stage_files and r["code"] == _STAGE_FROM_FILE)]

    def describe(self) -> str:
        """The arguments as a person reads them: `x: *fp32:16, n: i32, BLOCK=64 on cpu`."""
        parts = [
            f"{name}: {facts}" if isinstance(facts, Facts) else f"{name}={value!r}"
            for name, facts, value in zip(self.parameters, self.facts, self.constants)
        ]
        return f"{', '.join(parts) or 'no arguments'} on {self.device}"


def _argument_spec(spec: Any, name: str, facts: Any, constant: str) -> Any:
    if not isinstance(facts, Facts):
        return spec.constexpr(name, constant)
    if facts.is_pointer:
        assumed = facts.divisibility, facts.is_streaming, facts.is_disjoint
        return spec.pointer(name, facts.type, *assumed, facts.is_large, facts.is_zero_dim)
    if facts.equals is not None:  # of 64 bits as a signed number
        return spec.scalar(name, facts.type, 1, False, False, _signed(facts.equals))
    assumed = facts.divisibility, facts.is_one, facts.is_non_negative
    return spec.scalar(name, facts.type, *assumed)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 == 1 else value


def stages_of(device: str) -> tuple[str, ...]:
    """The stages that compiling for a device goes through whose texts are of use to many: all but what
    LLVM begins with."""
    stages = native().stages_of(device)
    return tuple(name for name, is_binary in stages if not is_binary and name != "llvm-unoptimized")


def binary_stage_of(device: str) -> str:
    """The stage that is the binary, or its name where the device interprets an earlier one."""
    binaries = [name for name, is_binary in native().stages_of(device) if is_binary]
    return binaries[-1] if binaries else "object"


# Stages that Triton calls by another name. Its `ttir` and `ttgir` are other dialects than ours.
_TRITON_STAGES = {"llir": "llvm"}


class StageTexts(Mapping[str, Any]):
    """The texts of a kernel's stages, each made when it is asked for."""

    def __init__(
        self,
        make: Callable[[str], str],
        binaries: Mapping[str, bytes],
        stages: tuple[str, ...],
    ) -> None:
        self._make = make
        self._stages = (*stages, *binaries)
        self._known: dict[str, Any] = dict(binaries)

    def __getitem__(self, stage: str) -> Any:
        stage = _TRITON_STAGES.get(stage, stage)
        if stage not in self._known:
            if stage not in self._stages:
                raise KeyError(f"{stage!r}; stages are {', '.join(self)}")
            self._known[stage] = self._make(stage)
        return self._known[stage]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stages)

    def __len__(self) -> int:
        return len(self._stages)

    def __contains__(self, stage: object) -> bool:
        return _TRITON_STAGES.get(str(stage), stage) in self._stages


class CompiledKernel:
    """A kernel compiled for one specialization and loaded on its device.

    `asm` maps a stage (tile, lowered, llvm, asm, ...) to its text, `milliseconds` a part of the
    compilation to its duration, `origin` is "compiled", "disk" or "memory", `key` identifies
    everything that the binary depends on. `compiled[grid](*arguments)` launches it again.
    `resources` has what a GPU's program takes; `n_regs`, `n_spills` and `shared` have values of use to
    callers that size a grid by them on every device.
    """

    kernel_function: Any = None  # the JITFunction that it was compiled for
    src: Any = None  # the ASTSource of triton.compile
    is_cooperative = False  # whether `compiled[grid]` is a cooperative grid where it says nothing
    tier: Any = None  # launch.tiered: the binaries for the very integers that follow this one

    def __init__(self, request: Request, kernel: Any) -> None:
        self.name = request.name
        self.request = request
        self.native = kernel
        self.key: str = kernel.key
        self.origin: str = kernel.origin
        self.parameters: list[tuple[str, str, bool, int]] = kernel.parameters
        self.positions = tuple(index for *_, index in self.parameters)
        self.pick = _picker(self.positions)
        self.stored = tuple(index for _, _, is_stored, index in self.parameters if is_stored)
        self.is_current = request.source.is_current_now
        self.is_opaque = request.is_opaque
        self.device = device_named(request.device)
        self.checks_accesses = self.device.checks_accesses(request.options.debug)
        # A launch needs the arguments only: no stream, no bounds of their memory.
        self.is_plain = not (self.device.has_memory or self.checks_accesses)
        stages = stages_of(request.device)
        binary = kernel.assembled if self.device.is_gpu else kernel.binary
        binaries = {binary_stage_of(request.device): binary} if binary else {}
        self.asm = StageTexts(lambda stage: inspect(request, stage), binaries, stages)

    def chosen_for(self, is_cooperative: bool) -> CompiledKernel:
        """This one, or where launches are to be cooperative grids, one like it that launches so."""
        if not is_cooperative:
            return self
        kernel = copy.copy(self)
        kernel.is_cooperative = True
        return kernel

    def updated_arguments(self) -> list[str]:
        """The names of arrays that the kernel may read after it has written them: it does both
        through the argument, or writes it where another may be the same memory."""
        request = self.request
        overlapping = [
            index
            for index in self.stored
            if isinstance(facts := request.facts[index], Facts) and not facts.is_disjoint
        ]
        return [request.parameters[index] for index in sorted({*self.native.updated, *overlapping})]

    @lazy_attribute
    def remarks(self) -> list[Report]:
        """What the compiler said of its decisions, for example of accesses that are not 16 bytes
        wide, or of registers that are spilled (where this machine has an assembler); each has
        `code`, `message` and `rendered`, which shows the source. Compiles once more."""
        stages = stages_of(self.request.device)
        stage = next((s for s in ("resources", "llvm-dialect") if s in stages), None)
        reports = _inspect(self.request, stage, remarks=True)[1] if stage else []
        return [report for report in reports if is_remark(report)]

    @property
    def resources(self) -> dict[str, int]:
        """What a GPU's program takes: num_warps, shared_bytes, registers, spill_bytes, ..."""
        return dict(self.native.resources)

    @property
    def assembler(self) -> str:
        """The assembler of machine code for NVIDIA's GPUs, "ptxas 13.0.88". Empty where the driver assembles
        when it loads the kernel, and on other devices."""
        return self.native.assembler

    @property
    def n_regs(self) -> int:
        """Registers of a thread. Where nothing was assembled, the most that one may have, and on
        devices without registers for each thread a nominal number, so that callers may divide by it."""
        return self.native.resources.get("registers", 0) or (
            self.request.options.maxnreg or NOMINAL_REGISTERS[self.device.is_gpu]
        )

    @property
    def n_spills(self) -> int:
        """Bytes of registers that a thread spills to memory; 0 where nothing was assembled."""
        return self.native.resources.get("spill_bytes", 0)

    @property
    def shared(self) -> int:
        """Bytes of shared memory of a program; elsewhere than on GPUs the bytes of its tiles in memory,
        at least 1."""
        if self.device.is_gpu:
            return self.native.resources.get("shared_bytes", 0)
        return max(1, self.native.scratch_bytes)

    @property
    def hash(self) -> str:
        """The key, as Triton calls it."""
        return self.key

    def __getitem__(self, grid: Any) -> Callable[..., CompiledKernel | None]:
        """This very specialization over a grid: `compiled[grid](*arguments)`, with or without the
        compile-time constants; for arrays that overlap or are larger, the one that does not assume they
        do not. Raises LaunchError TW0435 for other arguments that it was not compiled for."""
        from .launch.relaunch import runner

        return runner(self, grid)

    def _init_handles(self) -> None:
        """A compiled kernel is loaded already; callers of Triton ask for it before they read n_regs."""

    @property
    def milliseconds(self) -> dict[str, float]:
        """The duration of each piece of the compilation that made the binary."""
        return dict(self.native.milliseconds)

    @property
    def metadata(self) -> SimpleNamespace:
        """Facts about the kernel as attributes."""
        return SimpleNamespace(
            name=self.name,
            target=TargetName(self.native.target),
            symbol=self.native.symbol,
            code_bytes=self.native.code_bytes,
            scratch_bytes=self.native.scratch_bytes,
            shared=self.shared,
            key=self.key,
            hash=self.key,
            num_ctas=1,
            warp_size=TargetName(self.native.target).warp_size,
            **self.request.options._asdict(),
        )

    def __repr__(self) -> str:
        return f"<compiled kernel {self.name}({self.request.describe()}) from {self.origin}>"


def _picker(indices: Sequence[int]) -> Callable[[Sequence[Any]], tuple[Any, ...]]:
    """A function that takes the values at some positions as a tuple."""
    if len(indices) == 1:
        (only,) = indices
        return lambda values: (values[only],)
    return itemgetter(*indices) if indices else lambda values: ()


def find_request(request: Request) -> CompiledKernel | None:
    """The result of an earlier compilation, in memory or on disk; nothing is compiled."""
    capture = request.source.capture
    target = request.specialization(), request.device
    kernel = native().find(capture.meaning, capture.exact, *target, *_cache_of(request))
    if kernel is not None:
        return CompiledKernel(request, kernel)
    found: list[Attribute] = []  # by the frontend, which knows what the kernel asks for
    evaluate = partial(capture.evaluate, found=found)
    settings = request.debug_settings(knobs.settings(), "", False)
    native().inspect(request.source.native, *target, "tile", evaluate, settings)
    fuller = _including(request, found)
    return fuller and find_request(fuller)


def _cache_of(request: Request) -> tuple[bytes, bool]:
    """The directory of the kernel cache, and whether a kernel of this source is kept there."""
    settings = knobs.settings()
    is_kept = bool(settings.is_cache_enabled and settings.cache_directory and not request.is_opaque)
    # Bytes: a directory's name need not be text.
    return os.fsencode(settings.cache_directory), is_kept


def compile_request(request: Request) -> CompiledKernel:
    """Compile, or find the result in memory or on disk. Raises the first error that is reported."""
    settings = knobs.settings()
    capture = request.source.capture
    cache = _cache_of(request)
    target = request.specialization(), request.device
    debug = request.debug_settings(settings, settings.dump_directory, settings.shows_remarks)
    kernel = None
    if not (request.stage_files or settings.dump_directory or settings.override_directory or settings.shows_remarks):
        kernel = native().find(capture.meaning, capture.exact, *target, *cache)
    if kernel is None:
        found: list[Attribute] = []
        evaluate = partial(capture.evaluate, found=found)
        kernel, reports = native().compile(request.source.native, *target, evaluate, *cache, debug)
        if kernel is None and (fuller := _including(request, found)):
            return compile_request(fuller)
        handle_reports(request.told(reports), shows_remarks=settings.shows_remarks)
    if kernel is None:
        raise InternalError(f"compiling {request.name} gave neither a kernel nor a report")
    compiled = CompiledKernel(request, kernel)
    if settings.dump_directory:
        dump(compiled, Path(settings.dump_directory))
    return compiled


def inspect(
    request: Request, stage: str, dump_directory: str = "", shows_remarks: bool = False
) -> Any:
    """One stage of a kernel's compilation: its text, or bytes of machine code. Later stages do not
    run."""
    text, reports = _inspect(request, stage, dump_directory, shows_remarks)
    handle_reports(request.told(reports), shows_prints=False, shows_remarks=shows_remarks)
    return text


def _inspect(
    request: Request, stage: str, dump_directory: str = "", remarks: bool = False
) -> tuple[Any, list[Report]]:
    found: list[Attribute] = []
    text, reports = native().inspect(
        request.source.native,
        request.specialization(),
        request.device,
        stage,
        partial(request.source.capture.evaluate, found=found),
        request.debug_settings(knobs.settings(), dump_directory, remarks),
    )
    if any(r["severity"] == "error" for r in reports) and (fuller := _including(request, found)):
        return _inspect(fuller, stage, dump_directory, remarks)
    return text, reports


def _including(request: Request, found: list[Attribute]) -> Request | None:
    """The request with the attributes of modules that its compilation has asked for, as `getattr(module,
    NAME)` does; None where there are none, or some that cannot be captured."""
    if not found:
        return None
    try:
        return request._replace(source=Source(request.source.capture.including_attributes(found)))
    except (SourceNotFound, SourceTooDeep, ValueNotCaptured):
        return None


def dump(kernel: CompiledKernel, directory: Path) -> None:
    """Write every stage to `directory/NAME-KEY.STAGE`; a failure is a warning."""
    stem = f"{re.sub(r'[^A-Za-z0-9_]', '_', kernel.name)}-{kernel.key[:12]}"
    try:
        os.makedirs(directory, exist_ok=True)
        (directory / f"{stem}.json").write_text(kernel.request.source.capture.buffer)
        for stage in stages_of(kernel.request.device):
            (directory / f"{stem}.{stage}").write_text(kernel.asm[stage])
    except OSError as error:
        text = render("TW0504", f"cannot write to TILEWRIGHT_DUMP: {error}", severity="warning")
        warn_user(text.rstrip())
