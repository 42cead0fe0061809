"""A compiled kernel, and what it tells of itself."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from ..native import knobs
from ..native.above import above
from ..native.errors import Report, is_remark, render, warn_user
from ..native.lazy import lazy_attribute
from ..native.targets import Device, TargetName, device_named
from .facts import Facts
from .request import Request
from .stages import StageTexts, binaries_of, inspect, inspect_with_reports, stages_of

# Bytes of spilled registers of a thread from which on a compilation warns: beside them, those of few
# values around a loop cost little.
_MANY_SPILLED_BYTES = 256


class CompiledKernel:
    """A kernel compiled for one specialization and loaded on its device.

    `asm` maps a stage (tile, lowered, llvm, asm, ...) to its text, `milliseconds` a part of the
    compilation to its duration, `origin` is "compiled", "disk" or "memory", `key` identifies
    everything that the binary depends on. `compiled[grid](*arguments)` launches it again.
    `resources` has what a GPU's program takes; `n_regs`, `n_spills` and `shared` are there for callers
    that size a grid by them on every device.
    """

    kernel_function: Any = None  # the JITFunction that it was compiled for
    src: Any = None  # the ASTSource of triton.compile
    # The options that `compiled[grid]` takes where it says nothing of them: those of the call that
    # compiled it which are neither of the code nor a stream.
    launch_options: Mapping[str, Any] = {}
    tier: Any = None  # tuning.tiered: the binaries for the very integers that follow this one

    def __init__(self, request: Request, kernel: Any) -> None:
        self.name: str = request.name
        self.request = request
        self.native = kernel
        self.key: str = kernel.key
        self.origin: str = kernel.origin
        self.parameters: list[tuple[str, str, bool, int]] = kernel.parameters
        self.is_current: Callable[[], bool] = request.source.is_current_now
        self.is_opaque: bool = request.is_opaque
        self.device: Device = device_named(request.device)
        checks = self.device.checks_accesses(request.options.debug)
        # Launches know what is behind pointers.
        self.needs_memory: bool = checks or bool(kernel.needs_memory)
        stages = stages_of(request.device)
        binaries = binaries_of(request.device, kernel)
        if knobs.is_watched_by_perf():
            above("name_for_perf")(request, kernel.code_ranges)
        self.asm: StageTexts = StageTexts(lambda stage: inspect(request, stage), binaries, stages)

    def chosen_for(self, launch_options: Mapping[str, Any]) -> CompiledKernel:
        """This one, or one like it whose launches have the options."""
        options = {name: value for name, value in launch_options.items() if value and name != "stream"}
        if not options:
            return self
        kernel = copy.copy(self)
        kernel.launch_options = options
        return kernel

    def stored_arrays(self) -> set[str]:
        """The names of the arrays that the kernel stores to."""
        names = self.request.parameters
        stored = (names[index] for _, _, is_stored, index in self.parameters if is_stored)
        return {name.removesuffix(".base") for name in stored}

    def updated_arguments(self) -> list[str]:
        """The names of arrays that the kernel may read after it has written them: it does both
        through the argument, or writes it where another may be the same memory."""
        request = self.request
        overlapping = [
            index
            for _, _, is_stored, index in self.parameters
            if is_stored
            and isinstance(facts := request.facts[index], Facts)
            and not facts.is_disjoint
        ]
        return [request.parameters[index] for index in sorted({*self.native.updated, *overlapping})]

    @lazy_attribute
    def remarks(self) -> list[Report]:
        """Remarks of the compiler on its decisions, for example of accesses that are not 16 bytes
        wide, or of registers that are spilled (where this machine has an assembler); each has
        `code`, `message` and `rendered`, which shows the source. Compiles once more."""
        stages = stages_of(self.request.device)
        stage = next((s for s in ("resources", "llvm-dialect") if s in stages), None)
        reports = inspect_with_reports(self.request, stage, remarks=True)[1] if stage else []
        return [report for report in reports if is_remark(report)]

    @property
    def resources(self) -> dict[str, int]:
        """Resources that a GPU's program takes: num_warps, shared_bytes, registers, spill_bytes, ..."""
        return dict(self.native.resources)

    @property
    def guards(self) -> tuple[Any, ...]:
        """What launches of this very binary pass, by name: the facts that it assumes of arguments, and what
        tensor maps ask of arrays. `print(*compiled.guards, sep="\\n")` shows them; a launch returns
        the kernel that ran."""
        return above("guards_of")(self)

    @property
    def assembler(self) -> str:
        """The assembler of machine code for NVIDIA's GPUs, "ptxas 13.0.88". Empty where the driver assembles
        when it loads the kernel, and on other devices."""
        return self.native.assembler

    @lazy_attribute
    def n_regs(self) -> int:
        """Registers of a thread, as the assembler counted them; on a simulated GPU those of the code for the
        GPU itself, which is compiled for it now. On processors the vector registers that the code names,
        and for the device reference those of the processor's code. Raises AbsentNameError, an
        AttributeError, on a GPU for whose code there is no assembler."""
        return self.native.resources.get("registers", 0) or above("num_registers")(self)

    @property
    def n_spills(self) -> int:
        """Bytes of registers that a thread spills to memory; 0 where nothing was assembled."""
        return self.native.resources.get("spill_bytes", 0)

    def warn_of_spills(self) -> None:
        """Give a warning where a thread spills many registers."""
        if self.n_spills > _MANY_SPILLED_BYTES:
            message = f"each thread of {self.name} keeps {self.n_spills} bytes of registers in memory"
            hint = "use smaller tiles, fewer num_stages or more warps; `tilewright explain` shows the kernel"
            warn_user(render("TW0358", message, hint, severity="warning").rstrip())

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
        return self.kernel_function.relaunch(self, grid)

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
            warp_size=TargetName(self.native.target).warp_size,
            **self.request.options._asdict(),
        )

    def _repr_html_(self) -> str:
        return above("compiled_as_html")([self])

    def __repr__(self) -> str:
        return f"<compiled kernel {self.name}({self.request.describe()}) from {self.origin}>"

