"""The model's times of configurations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any, NamedTuple

from ...analysis.text import read_kernel
from ...compile import CompiledKernel, inspect, stages_of
from ...native.targets import device_named, target_of
from . import cpu, gpu
from .machine import CYCLES_PER_MS, processor_of
from .requests import Candidate, candidate_of
from .work import Work, work_of

Warm = Callable[[Any], Any]


def work_of_candidate(candidate: Candidate) -> Work | None:
    """The work of a program, from the tile operations that the passes begin with; None where the text
    has something that the model does not read. Raises what the compiler refuses the kernel with."""
    text = inspect(candidate.request, "tile-passes")
    try:
        return work_of(read_kernel(text), candidate.numbers, candidate.grid)
    except (LookupError, ValueError, TypeError, ArithmeticError, StopIteration):
        return None


def milliseconds_of(candidate: Candidate, compiled: Any = None) -> float | None:
    """The time of a launch: for a processor from the work, for a GPU also from the code, or from a
    guess at what it takes. None where there is nothing to go by, as on devices that interpret."""
    device = candidate.request.device
    work = work_of_candidate(candidate) if "lowered" in stages_of(device) else None
    if work is None:
        return None
    if not device_named(device).is_gpu:
        return cpu.cycles_of(work, processor_of(candidate.request)) / CYCLES_PER_MS
    options, size = candidate.request.options, device_named(target_of(device)).warp_size
    code = gpu.guessed_code(work, options.num_warps, options.num_stages, size)
    if isinstance(compiled, CompiledKernel):
        code = gpu.code_of(compiled, code)
    arch = device_named(target_of(device)).arch
    return gpu.cycles_of(work, code, gpu.gpu_named(arch)) / CYCLES_PER_MS


class Prediction(NamedTuple):
    """The milliseconds of a configuration. On processors, where options of launches are not in the
    code, `launch` is the same for configurations that run the same."""

    ms: float
    launch: Hashable


def predicted(
    config: Any, warm: Warm, arguments: Mapping[str, Any], grid: Any, compiles: bool = False
) -> Prediction | None:
    """The prediction for a configuration; None where there is nothing to predict by. With `compiles` a
    GPU's code counts, too."""
    candidate = candidate_of(config, warm, arguments, grid)
    if candidate is None:
        return None
    is_gpu = device_named(candidate.request.device).is_gpu
    ms = milliseconds_of(candidate, warm(config) if compiles and is_gpu else None)
    constants = candidate.request.constant_texts()
    return None if ms is None else Prediction(ms, None if is_gpu else (candidate.grid, constants, ms))
