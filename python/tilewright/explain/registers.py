"""Counts the registers of kernels where no assembler has."""

from __future__ import annotations

import json
import re

from ..compile import CompiledKernel, inspect
from ..compile.stages import inspect_with_reports
from ..native.errors import AbsentNameError
from ..native.targets import hardware_of


def num_registers(kernel: CompiledKernel) -> int:
    """The registers of a thread of the code for a simulated GPU's hardware, and on processors the vector
    registers that the code names. Raises AbsentNameError TW0432 where there is no assembler."""
    registers = _of_hardware(kernel) if kernel.device.is_gpu else _of_processor(kernel)
    if registers:
        return registers
    raise AbsentNameError(
        f"nobody counted the registers of {kernel.name}: there is no assembler for {kernel.request.device}",
        code="TW0432",
        hint="pip install nvidia-cuda-nvcc",
    )


def _of_hardware(kernel: CompiledKernel) -> int:
    hardware = hardware_of(kernel.request.device)
    if hardware == kernel.request.device:
        return 0
    text, reports = inspect_with_reports(kernel.request._replace(device=hardware), "resources")
    failed = any(report["severity"] == "error" for report in reports)
    return 0 if failed else json.loads(text).get("registers", 0)


def _of_processor(kernel: CompiledKernel) -> int:
    """The number of vector registers in the code of a processor; of others where it has no vectors."""
    device = kernel.request.device if "asm" in kernel.asm else "cpu"
    code = inspect(kernel.request._replace(device=device), "asm")
    return len(set(re.findall(r"%[xyz]mm(\d+)", code)) or set(re.findall(r"%r\w+", code)))
