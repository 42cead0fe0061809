"""What one compilation is of: a captured kernel, facts and constants, options, and a device."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ..capture import MISSING, Capture
from ..native import knobs, native
from ..native.errors import Report
from ..native.lazy import lazy_attribute
from ..native.packed import Argument, Specialization
from ..native.targets import device_named
from .facts import Facts, fact_rows
from .options import Options

_STAGE_FROM_FILE = "TW0502"
# Numbers the compilations whose source refers to objects that no key can cover.
_opaque_compilations = itertools.count()
# What a constant's text has where its contents cannot be known; within a string it would be escaped.
_UNKNOWN_CONTENTS = '"digest":""'
# The function of the language that gives the launch option `num_warps`.
_NUM_WARPS = "compiled_num_warps"


class Source:
    """A capture with the native module's copy of its buffer."""

    def __init__(self, capture: Capture) -> None:
        self.capture = capture
        self.is_current: Callable[[], bool] = capture.is_current

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
        return self.fields().native()

    def fields(self) -> Specialization:
        """The facts and options as data."""
        texts = self.constant_texts()
        arguments = [
            _argument_spec(name, facts, text)
            for name, facts, text in zip(self.parameters, self.facts, texts)
        ]
        options = self.options
        extra = options.extra(self.device)
        if self.is_opaque:
            extra.append(f"opaque {next(_opaque_compilations)}")
        warps, stages = self._warps_and_stages(texts)
        return Specialization(arguments, warps, stages, options.debug, ",".join(extra))

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

    def debug_settings(
        self, settings: knobs.Settings, dump_directory: str, collects_remarks: bool,
        prints_locations: bool = False, times_passes: bool = False,
    ) -> Any:  # fmt: skip
        """How the native module is to look into a compilation, and what replaces its stages."""
        overrides = self.stage_files or settings.override_directory
        return native().DebugSettings(
            dump_directory, overrides, collects_remarks, prints_locations, times_passes
        )

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


def _argument_spec(name: str, facts: Any, constant: str) -> Argument:
    if not isinstance(facts, Facts):
        return Argument("constexpr", (name, constant), {})
    rows = [fact for fact in fact_rows() if fact.of_pointers == facts.is_pointer]
    if facts.equals is not None:  # of 64 bits as a signed number
        return Argument("scalar", (name, facts.type, 1, _signed(facts.equals)), {})
    assumed = {fact.name: getattr(facts, fact.name) for fact in rows}
    kind = "pointer" if facts.is_pointer else "scalar"
    return Argument(kind, (name, facts.type, facts.divisibility), assumed)


def _signed(value: int) -> int:
    return value - (1 << 64) if value >> 63 == 1 else value
