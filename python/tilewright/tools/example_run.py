"""A simulated launch of a kernel on arrays that are made up, for `tilewright explain --run`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from ..compile import CompiledKernel
from ..explain import explain_request
from ..explain.facts import Explanation
from ..explain.run import add_statistics
from ..explain.timeline import chrome_trace
from ..native.errors import DeviceError
from ..native.targets import device_named
from ..testing.simulated import read_parts, read_report, running_programs
from ..testing.examples import arguments_of, grid_of, read_example
from .request_options import entries_of, read_grid, read_kernel, read_request


def run_example(options: argparse.Namespace) -> tuple[Explanation, bool]:
    """Simulate the launch that the options describe, and explain the kernel that ran with what was
    counted; true if all went well. A launch that goes wrong says so on standard error, and what it
    counted is there.

    Writes the timeline of the first program that runs to the file of --timeline.

    Raises ValueError for parameters without an example, and for devices that are not simulated.
    """
    if not device_named(options.simulated).is_simulated:
        raise ValueError(
            f"--run takes a simulated device, such as sim:sm_80, not {options.simulated}"
        )
    options.target = options.simulated
    request = read_request(options)
    example = read_example(request, entries_of(options.example), read_grid(options.grid))
    grid, arguments = grid_of(example), arguments_of(example)
    kernel: Any = read_kernel(options.kernel)
    ran: Any = None
    with running_programs(options.simulated, timelines=1 if options.timeline else 0):
        try:
            ran = kernel[grid](
                **arguments, num_warps=options.num_warps, num_stages=options.num_stages
            )
        except DeviceError as error:
            print(error.rendered.rstrip(), file=sys.stderr)
    found = explain_request(ran.request if isinstance(ran, CompiledKernel) else request)
    _, statistics = read_report(options.simulated) or ([], {})
    if options.timeline:
        parts = read_parts(options.simulated) or {}
        text = chrome_trace(parts.get("timelines", []), parts.get("instructions", {}))
        Path(options.timeline).write_text(text, encoding="utf-8")
    add_statistics(found, statistics)
    return found, isinstance(ran, CompiledKernel)
