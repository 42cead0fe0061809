"""Runs every tutorial as a person would, at small sizes; each checks itself against torch."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import re
import subprocess
import sys
from types import ModuleType

import pytest

torch = pytest.importorskip("torch")

FOLDER = pathlib.Path(__file__).resolve().parents[3] / "tutorials"
TUTORIALS = sorted(path.name for path in FOLDER.glob("[0-9]*.py"))


def test_all_tutorials_are_there() -> None:
    numbers = [int(name.split("_")[0]) for name in TUTORIALS]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) >= 6


# The tutorials that choose their tiles by a device's memory on chip, where that is small.
ON_GPUS = [
    (name, device)
    for name in ("03_matmul.py", "06_flash_attention.py")
    for device in ("sim:sm_80", "sim:gfx942", "sim:gfx1100")
]


@pytest.mark.parametrize(("name", "device"), [*((name, "") for name in TUTORIALS), *ON_GPUS])
def test_tutorial_runs_and_is_right(name: str, device: str, tmp_path: pathlib.Path) -> None:
    if "jax" in name:
        pytest.importorskip("jax")
    environment = {**os.environ, "TILEWRIGHT_CACHE_DIR": str(tmp_path / "cache")}
    result = subprocess.run(
        [sys.executable, str(FOLDER / name), "--size", "small"],
        env=environment | ({"TILEWRIGHT_DEVICE": device} if device else {}),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert ": right, largest error" in result.stdout
    assert " ratio " in result.stdout and re.search("^    tilewright +█", result.stdout, re.M)


def load_compare() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare", FOLDER / "compare.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("wrong", [1.1, float("nan"), float("inf")])
def test_check_refuses_one_wrong_element(wrong: float) -> None:
    expected = torch.ones(3, 4, dtype=torch.float64)
    actual = expected.float()
    compare = load_compare()
    compare.check("equal", actual, expected, atol=1e-6)
    actual[2, 1] = wrong
    with pytest.raises(AssertionError, match=r"1 of 12 elements are wrong, the first at \[2, 1\]"):
        compare.check("wrong", actual, expected, atol=1e-6)


def test_bars_are_as_long_as_their_times(capsys: pytest.CaptureFixture[str]) -> None:
    compare = load_compare()
    compare.draw({"ours": 1.0, "a peer": 2.0, "nothing": 0.0})
    bars = [line.count("█") for line in capsys.readouterr().out.splitlines()]
    assert bars == [compare.BAR // 2, compare.BAR, 1]


def test_check_refuses_another_shape() -> None:
    with pytest.raises(AssertionError, match="shape"):
        load_compare().check("shape", torch.ones(3), torch.ones(3, 1), atol=1.0)
