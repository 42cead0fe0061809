"""The registers of matrix instructions hold the elements that the PTX ISA's tables say: measured on
the simulator through the double of libcuda, and on a GPU where there is one."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from gpu.simulator import fragment_maps
from gpus import GPUS
from test_cuda_driver import double, run

__all__ = ["double"]
pytestmark = pytest.mark.usefixtures("compiler")
SCRIPT = str(Path(fragment_maps.__file__).resolve())


@pytest.mark.parametrize(("arch", "capability"), [("sm_80", 80), ("sm_90a", 90)])
def test_on_the_simulator(
    arch: str, capability: int, double: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_DOUBLE", f"execute={arch} capability={capability}")
    done = run([SCRIPT, "--out", str(tmp_path / "maps.json")], tmp_path / "cache", double)
    assert done.returncode == 0, done.stdout + done.stderr
    maps = json.loads((tmp_path / "maps.json").read_text())["maps"]
    assert len(maps) == len(fragment_maps.instructions_of(capability)) + 2
    assert ("mma e4m3 k32" in maps) == (capability >= 89)
    # m16n8k16: lane 5 holds row 1, columns 2 and 3 first; row 1 of D is in lanes 4 to 7.
    lane, place, meets = maps["mma f16 k16"][5 * 8]
    assert (lane, place) == (5, 0) and [d_lane for d_lane, *_ in meets] == [4, 4, 5, 5, 6, 6, 7, 7]


@pytest.mark.skipif("cuda:0" not in GPUS, reason="this machine has no GPU of NVIDIA's")
def test_on_a_gpu(tmp_path: Path) -> None:
    library = os.environ.get("TILEWRIGHT_CUDA_LIBRARY", "")
    done = run([SCRIPT], tmp_path / "cache", library)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_tables_name_every_element() -> None:
    named = {of.name: of for of in fragment_maps.INSTRUCTIONS}
    k16, tf32 = named["f16 k16"], named["tf32 k8"]
    right, other = map(fragment_maps.documented_mma, (k16, tf32))
    assert len(right) == 32 * 8 and len(other) == 32 * 4 and right[: len(other)] != other
    # Every element of A meets 8 of B, and each element of B meets the 16 rows.
    assert sum(len(meets) for *_, meets in right) == 16 * 16 * 8
    assert len({tuple(b) for *_, meets in right for _, _, *b in meets}) == 16 * 8
    for is_transposed in (False, True):
        places = fragment_maps.documented_ldmatrix(is_transposed)
        assert sorted(places) == list(range(256))
