"""What the portable build is asked for in a clean interpreter: no NumPy, no torch, no source tree.
test_portable.py runs it there."""

from __future__ import annotations

from array import array

import tilewright as tw


@tw.jit
def add(x, y, out, n, BLOCK: tw.constexpr):
    i = tw.program_id(0) * BLOCK + tw.arange(0, BLOCK)
    inside = i < n
    tw.store(out + i, tw.load(x + i, mask=inside) + tw.load(y + i, mask=inside), mask=inside)


signature = {"x": "*fp32:16", "y": "*fp32:16", "out": "*fp32:16", "n": "i32"}
compiled = add.compile(signature, {"BLOCK": 256}, device="nvidia:sm_90a")
assert ".target sm_90a" in compiled.asm["ptx"]
x, y = array("f", range(1000)), array("f", [0.5] * 1000)
for device in ("cpu", "reference", "sim:sm_80", "sim:sm_90a"):
    out = array("f", [-1.0] * 1000)
    with tw.device(device):
        add[(4,)](x, y, out, 1000, BLOCK=256)
    assert list(out) == [value + 0.5 for value in range(1000)], device
print("added on", tw.__file__)
