"""Boxes that reach outside of an array are reported where the user wrote the access, with its name."""

from __future__ import annotations

import linecache
from typing import Any

import pytest

import tilewright as tw

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.usefixtures("compiler"), pytest.mark.one_machine]


@tw.jit
def product(a, b, c, M, N, K, FORM: tw.constexpr, BM: tw.constexpr, BN: tw.constexpr, BK: tw.constexpr):
    m, n = tw.program_id(0) * BM + tw.arange(0, BM), tw.program_id(1) * BN + tw.arange(0, BN)
    k = tw.arange(0, BK)
    if FORM == "descriptor":
        rows = tw.make_tensor_descriptor(a, [M, K], [K, 1], [BM, BK])
    total = tw.zeros((BM, BN), tw.float32)
    for start in range(0, K, BK):
        if FORM == "descriptor":
            x = rows.load([tw.program_id(0) * BM, start])  # read by a descriptor
        elif FORM == "read":
            x = tw.load(a + m[:, None] * K + (start + k)[None, :])  # read without a mask
        else:
            x = tw.load(a + m[:, None] * K + (start + k)[None, :], mask=m[:, None] < M, other=0.0)
        y = tw.load(b + (start + k)[:, None] * N + n[None, :])
        total = tw.dot(x, y, total)
    out = total.to(tw.float16)
    if FORM == "written":
        tw.store(c + m[:, None] * N + n[None, :], out)  # written without a mask
    else:
        tw.store(c + m[:, None] * N + n[None, :], out, mask=m[:, None] < M)


# The mistake, the words of the report, the array, the place in it, and the comment of the line.
CASES = [
    ("read", "reads 64 bytes", "a", 80 * 64 * 2, "read without a mask"),
    ("descriptor", "reads 64 bytes", "a", 80 * 64 * 2, "read by a descriptor"),
    ("written", "writes 128 bytes", "c", 80 * 128 * 2, "written without a mask"),
]


@pytest.mark.parametrize("form, what, name, offset, comment", CASES)
@pytest.mark.parametrize("completion", ["late", "random", "early"])
def test_what_leaves_an_array_is_named(
    form: str, what: str, name: str, offset: int, comment: str, completion: str
) -> None:
    """Nothing else is reported: the copy goes on without what is not there."""
    a, b, c = (torch.ones(*shape, dtype=torch.float16) for shape in ((80, 64), (64, 128), (80, 128)))
    M = 128 if form == "descriptor" else 80
    options: dict[str, Any] = {"BM": 64, "BN": 128, "BK": 32, "num_warps": 4}
    with tw.simulation.simulate("sim:sm_90a", completion=completion), pytest.raises(tw.DeviceError) as caught:
        product[(2,)](a, b, c if M == 80 else torch.zeros(128, 128), M, 128, 64, FORM=form, **options)
    assert caught.value.code == "TW0612"
    (finding,) = tw.simulation.last_report("sim:sm_90a").findings
    assert finding["kind"] == "out-of-bounds-global"
    assert (finding["buffer"], finding["offset"]) == (name, offset)
    assert f"{what} at offset {offset} of `{name}`, which has {offset} bytes" in finding["message"]
    assert f"# {comment}" in linecache.getline(__file__, finding["source_line"])


def test_a_box_does_not_go_on_in_the_next_array() -> None:
    """Arrays that lie one behind the other in memory are two."""
    both = torch.ones(128, 64, dtype=torch.float16)
    c = torch.zeros(128, 128, dtype=torch.float16)
    with tw.simulation.simulate("sim:sm_90a", bounds="views"), pytest.raises(tw.DeviceError):
        product[(2,)](
            both[:80], torch.ones(64, 128, dtype=torch.float16), c, 128, 128, 64,
            FORM="descriptor", BM=64, BN=128, BK=32, num_warps=4,
        )  # fmt: skip
    (finding,) = tw.simulation.last_report("sim:sm_90a").findings
    assert (finding["buffer"], finding["offset"]) == ("a", 80 * 64 * 2)
