"""Launches a kernel on the simulator, and compiles the same request for other architectures."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

import tilewright as tw
from tilewright.compile import CompiledKernel, compile_request

# The simulator that launches go to. products/conftest.py sends some to those of other makers, where
# numbers and findings are judged, and the text of the code is not.
_NVIDIA = "sim:sm_80"
_simulator = ContextVar("simulator", default=_NVIDIA)
_options: ContextVar[dict[str, Any]] = ContextVar("options", default={})

ARCHS = ("nvidia:sm_90a", "nvidia:sm_100a", "nvidia:sm_120")
AMD_ARCHS = ("amd:gfx942", "amd:gfx1100", "amd:gfx950", "amd:gfx90a", "amd:gfx1201", "amd:gfx1250")
WARPS = (1, 2, 4, 8)


def simulator() -> str:
    """The simulator of the test that runs."""
    return _simulator.get()


def is_nvidia() -> bool:
    """Whether the code is PTX, whose instructions a test may know."""
    return simulator() == _NVIDIA


def launch_options() -> dict[str, Any]:
    """The options of launches of the test that runs."""
    return _options.get()


@contextmanager
def launching_on(name: str, **options: Any) -> Iterator[None]:
    """Sends launches to a simulator, with options."""
    tokens = _simulator.set(name), _options.set(options)
    yield
    _simulator.reset(tokens[0])
    _options.reset(tokens[1])


def launch_that_fits(launch: Any, *arguments: Any, **options: Any) -> CompiledKernel:
    """The launch; on other makers' GPUs, which have less shared memory, without stages if it must be."""
    try:
        return launch(*arguments, **options)
    except tw.OutOfResources:
        if is_nvidia():
            raise
        return launch(*arguments, **{**options, "num_stages": 1})


def run(kernel: Any, grid: Any, *arguments: Any, num_warps: int, **options: Any) -> CompiledKernel:
    """The launched kernel; nothing wrong was found, and at 4 warps every architecture takes it."""
    with tw.device(simulator()):
        compiled = launch_that_fits(kernel[grid], *arguments, num_warps=num_warps, **options)
        assert not tw.simulation.last_report().findings
    if num_warps == 4 and is_nvidia():
        assemble_everywhere(compiled)
    return compiled


def assemble_everywhere(compiled: CompiledKernel) -> None:
    """Compile a launched kernel for the other architectures: assembled, nothing spilled."""
    for arch in ARCHS:
        other = compile_request(compiled.request._replace(device=arch))
        resources = other.resources
        assert resources["registers"] > 0, f"{arch}: not assembled"
        assert resources["spill_bytes"] == 0, f"{arch}: {resources}"
    link_for_amd(compiled)


def link_for_amd(compiled: CompiledKernel) -> None:
    """Compile a launched kernel for one of AMD's architectures, each kernel always for the same: a
    code object comes of it, or its shared memory is larger than those machines have, or it has the
    text of another maker's assembly."""
    arch = AMD_ARCHS[zlib.crc32(compiled.request.describe().encode()) % len(AMD_ARCHS)]
    try:
        other = compile_request(compiled.request._replace(device=arch))
    except tw.TilewrightError as error:
        assert error.code in ("TW0311", "TW0242"), error
        return
    assert other.asm["hsaco"][:4] == b"\x7fELF"
    assert other.resources["registers"] > 0 and other.resources["warp_size"] in (32, 64)


Setting = tuple[int, int, str]  # warps, stages, and when copies are complete
BOX_SETTINGS: list[Setting] = [(4, 2, "random"), (4, 3, "late"), (8, 4, "random"), (4, 3, "early")]


def poisoned(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    """An output that nobody can mistake for a result."""
    out = np.empty(shape, dtype)
    out.view(np.uint8).fill(0xFF)
    return out


def normal(rng: np.random.Generator, *shape: int, dtype: Any = np.float32) -> np.ndarray:
    return rng.standard_normal(shape).astype(dtype)


@tw.jit
def rows_by_columns(x, M: tw.constexpr, N: tw.constexpr):
    """Pointers to a whole row-major array."""
    return x + tw.arange(0, M)[:, None] * N + tw.arange(0, N)[None, :]
