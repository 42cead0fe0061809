"""Fixtures of the operation tests."""

from __future__ import annotations

import zlib

import pytest


@pytest.fixture(autouse=True)
def _number_of_warps(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests on a GPU or a simulated one run with 1, 2, 4 or 8 warps, each case always with the same
    number: tiles then have fewer, as many, and more elements than the program has lanes."""
    if not any(kind in request.node.name for kind in ("sim:", "cuda:", "hip:")):
        return
    from tilewright.compile import Options
    from tilewright.launch.jit import JITFunction

    num_warps = 1 << zlib.crc32(request.node.nodeid.encode()) % 4
    options = property(lambda kernel: Options(num_warps, debug=bool(kernel.debug)))
    monkeypatch.setattr(JITFunction, "_options", options)
