"""Gathers what is known of a kernel: one compilation, and what follows from its texts."""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from ..analysis.instructions import SASS, SPIRV, Code, inside, read_code
from ..analysis.text import bytes_of
from ..compile import Request, stages_of
from ..compile.stages import inspect_with_reports
from ..native import disassembler
from ..native.errors import Report, is_remark
from ..native.targets import device_named, hardware_of
from ..tuning.model.gpu import Gpu, known_gpu, limits
from .derived import derived_findings
from .facts import Explanation, LineFacts, Occupancy, Roofline, Shared
from .layouts import Move, moves_of
from .locations import Located
from .passes import changes_of
from .plan import Plan, plan_of
from .remarks import findings_of

_LANGUAGES = {"ptx": "PTX", "s": "x86-64", "asm": "AMDGCN"}  # by the ends of names of dumped files


def gather(request: Request) -> Explanation:
    """Explain what a request compiles to; of a kernel that does not compile, as far as it got."""
    request = request._replace(device=hardware_of(request.device))
    capture = json.loads(request.source.capture.buffer)
    function = capture["functions"][capture["entry"]]
    found = Explanation(
        name=request.name,
        file=function["file"],
        first_line=function["line"],
        def_line=function["ast"]["@"][0],
        source=_lines(function),
        helpers=[
            (other["line"], _lines(other))
            for other in capture["functions"].values()
            if other["file"] == function["file"] and other["line"] != function["line"]
        ],
        target=request.device,
        arguments=request.describe().rpartition(" on ")[0],
        options={
            key: value for key, value in request.options._asdict().items() if value is not None
        },
        request=request,
    )
    with tempfile.TemporaryDirectory(prefix="tilewright-explain-") as folder:
        text, reports = _compile(request, folder)
        _read_dumps(found, sorted(Path(folder).glob("*/*")))
        errors = [report for report in reports if report["severity"] == "error"]
        if not errors and "ptx" in stages_of(request.device):
            found.code = _disassembled(request, folder) or found.code
    found.error = errors[0]["rendered"] if errors else ""
    found.reports = [report for report in reports if is_remark(report)]
    found.findings = findings_of(found.reports, found.file)
    found.plan = _plan(request, found)
    found.moves = [] if errors else list(_moves(request, found))
    if not errors and "resources" in stages_of(request.device):
        _read_resources(found, json.loads(text))
    _read_lines(found)
    found.findings = derived_findings(found)
    found.findings.sort(key=lambda f: (f.rank, f.file != found.file, f.line, f.column))
    return found


def _lines(function: dict[str, Any]) -> list[str]:
    return function["source"].rstrip("\n").split("\n")


def _compile(request: Request, folder: str) -> tuple[str, Sequence[Report]]:
    """The text of the last stage that has one, and all reports; `folder` gets what passes made."""
    stages = stages_of(request.device)
    stage = "resources" if "resources" in stages else stages[-1]
    return inspect_with_reports(request, stage, folder, remarks=True, locations=True)


def _read_dumps(found: Explanation, files: Sequence[Path]) -> None:
    found.passes = changes_of(file for file in files if file.suffix == ".mlir")
    found.reached = re.sub(r"^\d+-", "", files[-1].stem) if files else ""
    for file in files:
        if language := _LANGUAGES.get(file.suffix.removeprefix(".")):
            if device_named(found.target).backend == "opencl":
                language = SPIRV
            found.code = read_code(file.read_text(), language)


def _disassembled(request: Request, folder: str) -> Code | None:
    """The machine code of one of NVIDIA's GPUs; None where an assembler or the disassembler is missing."""
    program = disassembler()
    if not program:
        return None
    binary, reports = inspect_with_reports(request, "cubin", locations=True)
    if any(report["severity"] == "error" for report in reports) or not binary:
        return None
    file = Path(folder) / "kernel.cubin"
    file.write_bytes(binary)
    shown = subprocess.run([program, "-g", "-c", str(file)], capture_output=True, text=True)
    # A disassembler may be older than the architecture.
    return read_code(shown.stdout, SASS) if shown.returncode == 0 else None


def _plan(request: Request, found: Explanation) -> Plan | None:
    """The work of a program; None where the kernel's text has something that is not read."""
    # Later stages have several versions of a loop.
    text, reports = inspect_with_reports(request, "tile", locations=True)
    if any(report["severity"] == "error" for report in reports):
        return None
    try:
        return plan_of(Located(text, found.file))
    except (LookupError, ValueError, TypeError, ArithmeticError, StopIteration):
        return None


def _moves(request: Request, found: Explanation) -> Iterator[Move]:
    """The changes of layout: those that are left at the end of the schedule are done by shuffles, and
    where fewer are left than there were, the others went through shared memory."""
    if "scheduled" not in stages_of(request.device):
        return
    by_stage = {
        stage: Located(inspect_with_reports(request, stage, locations=True)[0], found.file).lines
        for stage in ("laid-out", "scheduled")
    }
    kept = Counter(moves_of(by_stage["scheduled"]))
    for move in moves_of(by_stage["laid-out"]):
        kept[move] -= 1
        yield move._replace(is_staged=kept[move] < 0)


def _read_resources(found: Explanation, resources: dict[str, Any]) -> None:
    buffers = resources.pop("shared_buffers", [])
    found.shared = [Shared(b["name"], b["offset"], b["bytes"]) for b in buffers]
    found.resources = resources
    device = device_named(found.target)
    gpu = known_gpu(device.arch)
    if gpu is None:
        return
    warps = max(1, resources.get("threads", device.warp_size) // device.warp_size)
    room = limits(
        gpu,
        warps,
        device.warp_size,
        resources.get("registers", 0),
        resources.get("shared_bytes", 0),
    )
    programs = min(room.values())
    found.occupancy = Occupancy(programs, programs * warps, gpu.most_warps, room)
    intensity = found.plan.intensity if found.plan else None
    if intensity is not None:
        found.roofline = Roofline(_balance(found, gpu, device.warp_size), intensity)


def _balance(found: Explanation, gpu: Gpu, warp_size: int) -> float:
    """Operations a byte of a GPU's memory. Both are per cycle: the clock does not matter. A
    multiplication and an addition are two."""
    rate = float(gpu.schedulers * warp_size)
    is_scalar = any(finding.code == "TW0355" for finding in found.findings)
    if found.plan and found.plan.products and not is_scalar:
        rate = gpu.products * 2 / max(2.0, bytes_of(found.plan.products[0].element))
    return 2 * rate * gpu.processors / gpu.memory_bytes


def _read_lines(found: Explanation) -> None:
    code = found.code
    if code is None:
        return
    inner = inside(code)
    name = Path(found.file).name
    for number, instruction in enumerate(code.instructions):
        if instruction.file == name and instruction.line:
            facts = found.lines.setdefault(instruction.line, LineFacts())
            facts.kinds[instruction.kind] += 1
            facts.in_loops += number in inner
