"""Fixtures of the operation tests."""

from __future__ import annotations

import re
import zlib

import pytest


@pytest.fixture(autouse=True)
def _number_of_warps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests on a GPU, a simulated one or an OpenCL device run with 1, 2, 4 or 8 times 32 threads or a warp,
    each case always with the same number: tiles then have fewer, as many, and more elements than the
    program has lanes."""
    named = re.search(r"(sim|cuda|hip|opencl):\w+", request.node.name)
    if not named:
        return
    from tilewright.compile import Options
    from tilewright.launch.jit import JITFunction
    from tilewright.native import native

    times = max(1, 32 // native().target_facts(named[0])["warp_size"])
    num_warps = times << zlib.crc32(request.node.nodeid.encode()) % 4
    options = property(lambda kernel: Options(num_warps, debug=bool(kernel.debug)))
    monkeypatch.setattr(JITFunction, "_options", options)
