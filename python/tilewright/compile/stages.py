"""The stages that a compilation goes through, and their texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from ..capture import Attribute, SourceNotFound, SourceTooDeep, ValueNotCaptured
from ..native import knobs, native
from ..native.errors import Report, handle_reports
from .request import Request, Source


def stages_of(device: str) -> tuple[str, ...]:
    """The stages that compiling for a device goes through whose texts are of use to many: all but what
    LLVM begins with."""
    stages = native().stages_of(device)
    return tuple(name for name, form in stages if form == "text" and name != "llvm-unoptimized")


def _last_stage_of(device: str) -> tuple[str, str]:
    """The last stage that is not text, with its form."""
    stages = [(name, form) for name, form in native().stages_of(device) if form != "text"]
    return stages[-1] if stages else ("object", "binary")


def binary_stage_of(device: str) -> str:
    """The stage that is the binary, or its name where the device interprets an earlier one."""
    return _last_stage_of(device)[0]


def binaries_of(device: str, kernel: Any) -> dict[str, bytes]:
    """The native module's content of that stage: the kernel's code, or what was assembled of it."""
    name, form = _last_stage_of(device)
    code = kernel.assembled if form == "assembled" else kernel.binary
    return {name: code} if code else {}


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


def inspect(
    request: Request, stage: str, dump_directory: str = "", shows_remarks: bool = False
) -> Any:
    """One stage of a kernel's compilation: its text, or bytes of machine code. Later stages do not
    run."""
    text, reports = inspect_with_reports(request, stage, dump_directory, shows_remarks)
    handle_reports(request.told(reports), shows_prints=False, shows_remarks=shows_remarks)
    return text


def inspect_with_reports(
    request: Request, stage: str, dump_directory: str = "", remarks: bool = False,
    locations: bool = False,
) -> tuple[Any, list[Report]]:  # fmt: skip
    """The same, with what the compilation reported, errors among it; with `locations` behind each
    operation of MLIR."""
    found: list[Attribute] = []
    text, reports = native().inspect(
        request.source.native,
        request.specialization(),
        request.device,
        stage,
        partial(request.source.capture.evaluate, found=found),
        request.debug_settings(knobs.settings(), dump_directory, remarks, locations),
    )
    if any(r["severity"] == "error" for r in reports) and (fuller := including(request, found)):
        return inspect_with_reports(fuller, stage, dump_directory, remarks, locations)
    return text, reports


def including(request: Request, found: list[Attribute]) -> Request | None:
    """The request with the attributes of modules that its compilation has asked for, as `getattr(module,
    NAME)` does; None where there are none, or some that cannot be captured."""
    if not found:
        return None
    try:
        return request._replace(source=Source(request.source.capture.including_attributes(found)))
    except (SourceNotFound, SourceTooDeep, ValueNotCaptured):
        return None
