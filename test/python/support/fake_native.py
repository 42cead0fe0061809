"""A native module without a compiler that records what Python asks of it, for the host's tests."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Callable
from typing import Any

from tilewright import _native  # pyright: ignore[reportAttributeAccessIssue]
from tilewright.compile.facts import scalar_facts

_native.set_integer_facts(scalar_facts)


class ArgumentSpec:
    """What was said of one parameter."""

    def __init__(self, kind: str, name: str, **facts: Any) -> None:
        self.kind, self.name, self.facts = kind, name, facts

    @classmethod
    def constexpr(cls, name: str, json: str) -> ArgumentSpec:
        return cls("constexpr", name, json=json)

    @classmethod
    def scalar(
        cls, name: str, type: str, divisibility: int, equals: int | None = None, **facts: bool
    ) -> ArgumentSpec:
        known = {} if equals is None else {"equals": equals}
        return cls("scalar", name, type=type, divisibility=divisibility, **facts, **known)

    @classmethod
    def pointer(cls, name: str, pointee: str, divisibility: int, **facts: bool) -> ArgumentSpec:
        return cls("pointer", name, type="*" + pointee, divisibility=divisibility, **facts)


class Specialization:
    def __init__(
        self, arguments: list[ArgumentSpec], num_warps: int, num_stages: int, debug: bool,
        extra: str,
    ) -> None:  # fmt: skip
        self.arguments = arguments
        self.options = (num_warps, num_stages, debug, extra)


class KernelSource:
    def __init__(self, text: str, meaning: str, exact: str) -> None:
        self.json = text
        self.digest = hashlib.sha256(text.encode()).hexdigest()
        self.digests = meaning, exact
        json.loads(text)


class DebugSettings:
    def __init__(
        self, dump_directory: str, override_directory: str, collects_remarks: bool,
        prints_locations: bool = False, times_passes: bool = False,
    ) -> None:  # fmt: skip
        self.directories = dump_directory, override_directory
        self.collects_remarks = collects_remarks
        self.prints_locations, self.times_passes = prints_locations, times_passes


class Kernel:
    """Stores to the parameters whose name begins with `out`."""

    origin = "compiled"
    binary = b"binary"
    code_bytes = 100
    scratch_bytes = 0
    milliseconds = {"frontend": 1.0}
    assembled = b""
    build_options = ""
    resources: dict[str, int] = {}
    updated: list[int] = []
    code_ranges: list[tuple[str, int, int]] = []
    needs_memory = False

    def __init__(self, specialization: Specialization, target: str, number: int) -> None:
        self.target = target
        self.symbol = "kernel"
        self.key = f"{number:064x}"
        self.parameters = [
            (spec.name, spec.facts["type"], spec.name.startswith("out"), index)
            for index, spec in enumerate(specialization.arguments)
            if spec.kind != "constexpr" and not (spec.facts.get("is_one") or "equals" in spec.facts)
        ]


class FakeNative:
    """The functions of tilewright._native."""

    KernelSource = KernelSource
    ArgumentSpec = ArgumentSpec
    Specialization = Specialization
    DebugSettings = DebugSettings

    def __init__(self) -> None:
        self.compilations: list[tuple[KernelSource, Specialization, str, str, bool]] = []
        self.launches: list[tuple[Kernel, tuple[int, int, int], tuple[Any, ...], Any]] = []
        self.streams: list[int] = []
        self.cooperative: list[bool] = []
        self.waits: list[str] = []
        self.debug: list[DebugSettings] = []
        self.inspections: list[tuple[Specialization, str, DebugSettings]] = []
        self.reports: list[dict[str, Any]] = []
        self.launch_report: dict[str, Any] | None = None
        self.evaluations: list[str] = []
        self.request: str | None = None
        self._numbers = itertools.count(1)

    def compile(
        self, source: KernelSource, specialization: Specialization, target: str, evaluator: Any,
        cache_directory: str, cache_enabled: bool, debug: DebugSettings,
    ) -> tuple[Kernel | None, list[dict[str, Any]]]:  # fmt: skip
        self.debug.append(debug)
        self.compilations.append((source, specialization, target, cache_directory, cache_enabled))
        if self.request is not None:
            self.evaluations.append(evaluator(self.request))
        if any(report["severity"] == "error" for report in self.reports):
            return None, self.reports
        return Kernel(specialization, target, next(self._numbers)), self.reports

    def find(
        self, meaning: str, exact: str, specialization: Specialization, target: str,
        cache_directory: str, cache_enabled: bool,
    ) -> None:  # fmt: skip
        return None

    def read_record(self, cache_directory: str, key: str) -> bytes | None:
        return None

    def write_record(self, cache_directory: str, key: str, content: bytes) -> None:
        assert len(key) == 64

    def inspect(
        self, source: KernelSource, specialization: Specialization, target: str, stage: str,
        evaluator: Any, debug: DebugSettings,
    ) -> tuple[str, list[dict[str, Any]]]:  # fmt: skip
        self.inspections.append((specialization, stage, debug))
        return f"{stage} of {source.digest}", self.reports

    def launch(
        self, kernel: Kernel, programs: tuple[int, int, int], bits: list[Any],
        values: tuple[Any, ...], mark: Callable[[Any], None], memory: Any, stream: int,
        flags: tuple[bool, ...], simulation: Any,
    ) -> dict[str, Any] | None:  # fmt: skip
        assert len(values) == len(bits)
        for _, _, is_stored, position in kernel.parameters:
            if is_stored:
                mark(values[position])
        positions = [position for *_, position in kernel.parameters]
        described = memory and tuple(memory[position] for position in positions)
        self.launches.append((kernel, programs, tuple(bits[at] for at in positions), described))
        self.streams.append(stream)
        self.cooperative.append(flags[0])
        return self.launch_report

    # What is true of names is the same with and without a compiler.
    target_facts = staticmethod(_native.target_facts)
    first_gpus = staticmethod(_native.first_gpus)

    def take_damaged_entries(self) -> list[bytes]:
        return []

    def stages_of(self, target: str) -> list[tuple[str, str]]:
        texts = ("tile", "tile-passes", "lowered", "llvm-dialect", "llvm", "asm")
        return [*((text, "text") for text in texts), ("object", "binary")]

    def targets(self) -> list[str]:
        return ["cpu", "reference"]

    def gpus(self, opens: bool) -> list[str]:
        return ["cuda:0"] if opens else []

    def synchronize(self, device: str) -> dict[str, Any] | None:
        self.waits.append(device)
        return self.launch_report

    def check_target(self, name: str) -> dict[str, Any] | None:
        return None if name in self.targets() else {"code": "TW0401"}

    def build_id(self) -> str:
        return "build"

    # The rules of facts are the module's own: no compiler takes part in them.
    integer_facts = staticmethod(_native.integer_facts)
    read_integer = staticmethod(_native.read_integer)
    streaming_bytes = staticmethod(_native.streaming_bytes)
    pointer_facts = staticmethod(_native.pointer_facts)
    find_overlaps = staticmethod(_native.find_overlaps)
    argument_facts = staticmethod(_native.argument_facts)

    def make_reader(self, modes: Any, converters: Any, numbers: Any) -> Any:
        return lambda values: None

    def make_launcher(self, kernel: Any, *parts: Any) -> Any:
        return kernel._launch

    def make_operator(self, kernel: Any, constants: Any, checked: Any, check: Any, run: Any) -> Any:
        return run

    def make_check(self, bodies: Any, dependencies: Any, otherwise: Any, missing: Any = None) -> Any:
        return otherwise

    def set_tensor_reading(self, *reading: Any) -> None:
        pass

    def set_tracing(self, *tracing: Any) -> None:
        """What the native module learns of torch's tracing."""

    def is_traced(self) -> bool:
        return False

    def set_num_threads(self, count: int) -> None:
        self.threads = count

    def kernel_nanoseconds(self) -> int:
        return 0

    def num_threads(self) -> int:
        return 2

    @property
    def last(self) -> dict[str, ArgumentSpec]:
        """The arguments of the last compilation by name."""
        return {spec.name: spec for spec in self.compilations[-1][1].arguments}
