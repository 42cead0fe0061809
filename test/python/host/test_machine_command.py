"""The commands that tell what a machine has: doctor, targets, config and info."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tilewright import knobs
from tilewright.tools import cli, machine_command

pytestmark = pytest.mark.usefixtures("compiler")


@pytest.fixture(autouse=True)
def fresh_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Few threads, a cache of the test's own, and settings that are read anew before and behind it."""
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("TILEWRIGHT_CACHE", raising=False)
    monkeypatch.setattr(machine_command.os, "sched_getaffinity", lambda _: range(4096))
    knobs.reset()
    yield
    monkeypatch.undo()
    knobs.reset()


def run(capsys: pytest.CaptureFixture[str], command: str) -> tuple[int, list[str]]:
    status = cli.main([command])
    return status, capsys.readouterr().out.splitlines()


def test_a_doctor_finds_a_machine_well(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    status, lines = run(capsys, "doctor")
    assert status == 0 and all(line.startswith("ok ") for line in lines), lines
    for what in ("compiler", "threads", "cache", "packages"):
        assert sum(line.split()[1] == what for line in lines) == 1
    assert any(line.endswith(f"{tmp_path}/cache: 1 kernels, 0.0 MB") for line in lines), lines


@pytest.mark.parametrize(
    ("name", "value", "what", "advice"),
    [
        ("TILEWRIGHT_CACHE_DRI", "x", "did you mean TILEWRIGHT_CACHE_DIR?", "correct it"),
        ("TILEWRIGHT_BOUNDS", "some", "TILEWRIGHT_BOUNDS=some is ignored", "correct it"),
        ("TILEWRIGHT_CACHE_DIR", "/dev/null/cache", "cannot be written", "make it writable"),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_a_doctor_gives_advice(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    name: str, value: str, what: str, advice: str,
) -> None:  # fmt: skip
    monkeypatch.setenv(name, value)
    knobs.reset()
    status, lines = run(capsys, "doctor")
    (at,) = [at for at, line in enumerate(lines) if line.startswith("PROBLEM")]
    assert status == 1 and what in lines[at] and f"advice: {advice}" in lines[at + 1], lines


def test_a_doctor_counts_threads_and_misses_a_compiler(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_command.os, "sched_getaffinity", lambda _: ())
    status, lines = run(capsys, "doctor")
    assert status == 1 and "advice: set TILEWRIGHT_NUM_THREADS" in "\n".join(lines)

    def missing() -> None:
        raise ImportError("no native module")

    monkeypatch.setattr(machine_command, "native", missing)
    status, lines = run(capsys, "doctor")
    assert status == 1 and lines[0].split() == ["PROBLEM", "compiler", "no", "native", "module"]


def test_each_target_has_its_place(capsys: pytest.CaptureFixture[str]) -> None:
    status, lines = run(capsys, "targets")
    places = {line[:20].strip(): line[20:].strip() for line in lines[1:]}
    assert status == 0 and {*places} == {*machine_command.native().targets()}
    assert places["cpu"] == places["sim:gfx942"] == places["reference"] == "yes"
    for name, place in places.items():
        if name.startswith("nvidia:"):
            assert place.startswith(("on sim:sm_", "on cuda:")) and ("ptxas" in place or "none" in place)
        elif name.startswith("cpu:"):
            assert place == "yes" or place.startswith("no: ")


def test_settings_have_values_and_origins(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("DEVICE", "REMARKS", "DEBUG"):
        monkeypatch.delenv(f"TILEWRIGHT_{name}", raising=False)
    monkeypatch.setenv("TILEWRIGHT_REMARKS", "yes")
    monkeypatch.setenv("TILEWRIGHT_DEBUG", "0")
    knobs.change("DEBUG", "1")
    status, lines = run(capsys, "config")
    knobs.change("DEBUG", "")
    assert status == 0 and len(lines) == 2 * len(knobs.KNOBS)
    found = {line.split()[0]: line.split(maxsplit=2)[1:] for line in lines[::2]}
    assert found["TILEWRIGHT_DEVICE"] == ["-", "default"]
    assert found["TILEWRIGHT_REMARKS"] == ["1", "environment"]
    assert found["TILEWRIGHT_DEBUG"] == ["1", "set by the program"]
    assert found["TILEWRIGHT_CACHE_DIR"] == [f"{tmp_path}/cache", "environment"]
    assert found["TILEWRIGHT_JIT"] == ["allow", "default"]
    assert next(knob.origin for knob in knobs.listed() if knob.name == "DEBUG") == "default"


def test_info_is_targets_and_config(capsys: pytest.CaptureFixture[str]) -> None:
    parts = [run(capsys, command)[1] for command in ("targets", "config")]
    status, lines = run(capsys, "info")
    text = "\n".join(lines)
    assert status == 0 and all("\n".join(part) in text for part in parts)
    assert lines[0].startswith("tilewright ") and lines[1].startswith("build ")
