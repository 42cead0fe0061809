"""A wait for copies that is too weak is refused when the kernel is compiled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tilewright as tw
from tilewright.native import knobs

from .test_generated_matrix import kernels

EARLY = "may be reached while a copy into its shared memory is in flight"


def compile_for(device: str, name: str, num_stages: int) -> tw.CompiledKernel:
    kernel, constants = getattr(kernels, name), kernels.CONSTANTS[name]
    names = [p.name for p in kernel.parameters if p.name not in constants]
    signature = dict(zip(names, kernels.SIGNATURES[name].split(), strict=True))
    return kernel.compile(signature, constants, device=device, num_warps=4, num_stages=num_stages)


@pytest.mark.parametrize("num_stages", [2, 3])
@pytest.mark.parametrize("name", ["matmul", "attention"])
@pytest.mark.parametrize("device", ["nvidia:sm_80", "amd:gfx950"])
def test_a_wait_for_one_group_less_is_refused(
    device: str, name: str, num_stages: int, compiler: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = compile_for(device, name, num_stages).asm["scheduled"]
    waits = list(re.finditer(r"simt\.async_wait (\d+)", text))
    assert waits
    file = tmp_path / f"{name}.scheduled"
    monkeypatch.setenv("TILEWRIGHT_OVERRIDE", str(tmp_path))
    knobs.reset()
    for wait in waits:
        file.write_text(f"{text[: wait.start(1)]}{int(wait[1]) + 1}{text[wait.end(1) :]}")
        with pytest.warns(tw.TilewrightWarning, match="TW0502"), pytest.raises(tw.UnsupportedError, match=EARLY) as error:
            compile_for(device, name, num_stages)
        assert error.value.code == "TW0318"
