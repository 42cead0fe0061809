"""What a kernel may ask of the machine that it is compiled for, and of the one that runs it."""

# pyright: reportReturnType=false
from __future__ import annotations

from .dtypes import tensor
from .marks import builtin


@builtin
def compiled_for() -> str:
    """The name of the target, "nvidia:sm_80" or "cpu"."""


@builtin
def machine_clock() -> tensor:
    """Nanoseconds of a clock that never goes back within a program, an int64."""


@builtin
def machine_processor() -> tensor:
    """The number of the processor that runs the program, an int64; 0 on CPUs."""


@builtin
def compiled_num_warps() -> int:
    """The launch option `num_warps`."""


@builtin
def checks_overflow() -> bool:
    """Whether this is a debug build in which integers may not leave their type."""


@builtin
def gdc_wait() -> None:
    """Wait until the launches before this one in its stream have ended and their results are seen.

    No access of memory moves up across it. It waits only where a launch may begin early: with
    `launch_pdl=True` on NVIDIA GPUs from sm_90 on. Elsewhere those launches have ended, and it does
    nothing. Such a kernel waits at its start by itself unless it calls this outside of branches and
    loops, before it stores. What it loads before the call must not be written by earlier launches.
    """


@builtin
def gdc_launch_dependents() -> None:
    """Permit the launch behind this one to begin, if that has `launch_pdl=True`, once all programs of
    this launch call this or have ended.

    It orders nothing: `gdc_wait` of the later launch waits for the end of this one. It does nothing
    on GPUs before sm_90 and on other devices.
    """
