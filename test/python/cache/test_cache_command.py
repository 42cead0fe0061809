"""`tilewright cache`: what it tells of entries, which are checked, and passing them on."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from test_cache import Process
from tilewright import knobs
from tilewright.tools import cache_files, cli

Command = Callable[..., tuple[int, str]]


@pytest.fixture
def command(
    tmp_path: Path, compiler: None, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Command:  # fmt: skip
    """Runs `tilewright cache` on a cache with two entries (or another); its status and what it printed."""
    Process(tmp_path, tmp_path / "cache")

    def run(*arguments: str, cache: Path = tmp_path / "cache") -> tuple[int, str]:
        monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(cache))
        knobs.reset()
        status = cli.main(["cache", *arguments])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    return run


def test_entries_are_told_by_kernel_and_specialization(command: Command) -> None:
    status, text = command("list")
    lines = text.splitlines()
    assert status == 0 and len(lines) == 2
    told = "kernel(out: *fp32:16, x: *fp32:16, n: i32{}:nonneg, BLOCK=64) on cpu"
    assert {line.split(maxsplit=3)[3] for line in lines} == {told.format(":16"), told.format("")}
    assert all(line.split()[2].endswith("s") for line in lines), "the age"
    key = lines[0].split()[0]
    status, text = command("show", key[:12])
    assert status == 0 and "num_warps   4" in text and key in text
    assert command("list", "--kernel", "other") == (0, "")


def test_damaged_entries_are_named_and_removed(command: Command, tmp_path: Path) -> None:
    assert command("verify") == (0, "2 of 2 entries are whole\n")
    entry = cache_files.list_entries(tmp_path / "cache")[0]
    data = bytearray(entry.path.read_bytes())
    data[len(data) // 2] ^= 4
    entry.path.write_bytes(data)
    assert command("list")[1].count("not whole") == 1
    status, text = command("verify")
    assert status == 1 and text == f"{entry.key}  is not whole: removed\n1 of 2 entries are whole\n"
    assert command("verify") == (0, "1 of 1 entries are whole\n")


def test_an_exported_cache_is_found_by_another_machine(command: Command, tmp_path: Path) -> None:
    file, other = tmp_path / "warm.tar", tmp_path / "other"
    assert command("export", str(file)) == (0, f"wrote 2 entries to {file}\n")
    first = file.read_bytes()
    command("export", str(file))
    assert file.read_bytes() == first
    assert command("import", str(file), cache=other) == (0, f"took 2 entries from {file}\n")
    assert all(e.path.stat().st_mode & 0o777 == 0o600 for e in cache_files.list_entries(other))
    assert Process(tmp_path, other).origin == "disk"
    command("export", str(file), "--kernel", "other")
    assert command("import", str(file), cache=tmp_path / "third")[1] == f"took 0 entries from {file}\n"


def test_a_layer_is_read_and_never_written(command: Command, tmp_path: Path) -> None:
    layer, own = tmp_path / "cache", tmp_path / "own"

    def state() -> dict[Path, tuple[int, bytes]]:
        files = [path for path in layer.rglob("*") if path.is_file()]
        return {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in files}

    before = state()
    process = Process(tmp_path, own, TILEWRIGHT_CACHE_RO=str(layer))
    assert process.origin == "disk" and not process.warnings
    assert state() == before and not cache_files.list_entries(own)
    process = Process(tmp_path, own, TILEWRIGHT_CACHE_RO=f"{layer}/nothing:{layer}")
    assert process.origin == "disk", "the next one has it"
    denied = Process(tmp_path, own, TILEWRIGHT_CACHE_RO=str(layer), TILEWRIGHT_JIT="deny")
    assert denied.origin == "disk"


def test_a_layer_that_others_can_write_to_is_not_read(command: Command, tmp_path: Path) -> None:
    layer = tmp_path / "cache"
    entry = cache_files.list_entries(layer)[0].path
    for number, place in enumerate([layer, layer / "v1"]):
        place.chmod(0o770)
        process = Process(tmp_path, tmp_path / f"own{number}", TILEWRIGHT_CACHE_RO=str(layer))
        place.chmod(0o700)
        assert process.origin == "compiled"
        assert any("is not read: others can write to it" in text for text in process.warnings)
    for number, place in enumerate([entry.parent, entry]):
        place.chmod(0o777)
        own = tmp_path / f"another{number}"
        Process(tmp_path, own, TILEWRIGHT_CACHE_RO=str(layer))
        place.chmod(0o700)
        assert entry.name in {e.key for e in cache_files.list_entries(own)}, "compiled, not taken"


def test_a_tampered_entry_of_a_layer_is_not_taken(command: Command, tmp_path: Path) -> None:
    layer = tmp_path / "cache"
    entries = cache_files.list_entries(layer)
    one, other = (entry.path.read_bytes() for entry in entries)
    middle = len(one) // 2
    changes = [one[:-1], one + b"?", b"", other, one[:middle] + bytes([one[middle] ^ 1]) + one[middle + 1 :]]
    for number, data in enumerate(changes):
        entries[0].path.write_bytes(data)
        own = tmp_path / f"own{number}"
        process = Process(tmp_path, own, TILEWRIGHT_CACHE_RO=str(layer))
        assert [e.key for e in cache_files.list_entries(own)] == [entries[0].key]
        assert entries[0].path.read_bytes() == data, "nobody writes to a layer"
        assert process.statistics["writes"] == 1


def test_a_tampered_entry_of_a_layer_is_told_once(command: Command, tmp_path: Path) -> None:
    layer = tmp_path / "cache"
    entries = cache_files.list_entries(layer)
    for entry in entries:
        data = bytearray(entry.path.read_bytes())
        data[-1] ^= 1
        entry.path.write_bytes(bytes(data))
    words = "warning[TW0806]: an entry of a shared cache is damaged and not used: "
    told = "".join(Process(tmp_path, tmp_path / "own", TILEWRIGHT_CACHE_RO=str(layer)).warnings)
    assert [told.count(words + str(entry.path)) for entry in entries] == [1] * len(entries)
    script = tmp_path / "denied.py"
    script.write_text((tmp_path / "script.py").read_text().replace("record=True", "record=False"))
    refused = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "TILEWRIGHT_CACHE_RO": str(layer),
             "TILEWRIGHT_CACHE_DIR": str(tmp_path / "denied"), "TILEWRIGHT_JIT": "deny"},
    )  # fmt: skip
    assert refused.stderr.count(words) == 1 and "TW0408" in refused.stderr


def rewritten(file: Path, change: Callable[[str, bytes], tuple[str, bytes]]) -> None:
    """Write the archive again with other members."""
    with tarfile.open(file) as archive:
        members = [(m.name, archive.extractfile(m).read()) for m in archive]  # pyright: ignore
    with tarfile.open(file, "w") as archive:
        for name, data in (change(*member) for member in members):
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def test_tampered_and_foreign_files_are_refused(command: Command, tmp_path: Path) -> None:
    file, other = tmp_path / "warm.tar", tmp_path / "other"

    def attempt(change: Callable[[str, bytes], tuple[str, bytes]]) -> str:
        command("export", str(file))
        rewritten(file, change)
        status, text = command("import", str(file), cache=other)
        assert status == 1 and not list(other.glob("v*/*/*"))
        return text

    def flipped(name: str, data: bytes) -> tuple[str, bytes]:
        return name, data if name == "manifest.json" else data[:-1] + bytes([data[-1] ^ 1])

    def elsewhere(name: str, data: bytes) -> tuple[str, bytes]:
        if name == "manifest.json":
            manifest = json.loads(data)
            entries = manifest["entries"]
            manifest["entries"] = {"../" + place: digest for place, digest in entries.items()}
            return name, json.dumps(manifest).encode()
        return "../" + name, data

    def other_build(name: str, data: bytes) -> tuple[str, bytes]:
        if name != "manifest.json":
            return name, data
        return name, json.dumps({**json.loads(data), "build": "another"}).encode()

    assert "TW0806" in attempt(flipped) and "TW0806" in attempt(elsewhere)
    assert "TW0807" in attempt(other_build)
    file.write_bytes(b"no archive at all")
    assert "TW0806" in command("import", str(file), cache=other)[1]
    command("export", str(file))
    file.write_bytes(file.read_bytes()[:-11000])
    assert "TW0806" in command("import", str(file), cache=other)[1]


def test_a_kernels_name_limits_what_is_cleared(command: Command, tmp_path: Path) -> None:
    assert command("clear", "--kernel", "other") == (0, "removed 0 entries, 0 bytes\n")
    assert command("prune", "--kernel", "other", "--max-bytes", "0")[1].startswith("removed 0 ")
    assert len(cache_files.list_entries(tmp_path / "cache")) == 2
    for action in ("path", "show", "verify", "import"):
        status, text = command(action, "--kernel", "kernel")
        assert status == 1 and f"cache {action} takes no --kernel" in text
    assert command("clear", "--kernel", "kernel")[1].startswith("removed 2 entries")
    assert not cache_files.list_entries(tmp_path / "cache")


def test_an_export_that_fails_leaves_nothing_behind(command: Command, tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    before = sorted(tmp_path.iterdir())
    status, _ = command("export", str(folder))
    assert status == 1 and sorted(tmp_path.iterdir()) == before and not list(folder.iterdir())
