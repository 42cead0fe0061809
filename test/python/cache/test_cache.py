"""The kernel cache seen from Python: second processes, damaged entries, unusable directories."""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tilewright.tools import cache_files, cli
from tilewright import knobs

SCRIPT = '''
import json, sys, warnings
import numpy, tilewright as tw
from tilewright.native import native

SCALE = {scale}

@tw.jit
def kernel(out, x, n, BLOCK: tw.constexpr):
    {comment}
    i = tw.arange(0, BLOCK)
    tw.store(out + i, tw.load(x + i, mask=i < n) * SCALE, mask=i < n)

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    x = numpy.arange(64, dtype=numpy.float32)
    out = numpy.zeros(64, numpy.float32)
    compiled = kernel[1](out, x, 64, BLOCK=64)
    kernel[1](out, x, 63, BLOCK=64)
print(json.dumps(dict(
    right=bool((out == x * SCALE).all()), origin=compiled.origin, key=compiled.key,
    warnings=[str(w.message) for w in caught], statistics=native().cache_statistics())))
'''


class Process:
    """What a new process found when it ran the kernel."""

    def __init__(self, folder: Path, cache: Path, scale: float = 2.0, comment: str = "",
                 name: str = "script.py", most_bytes: int = resource.RLIM_INFINITY,
                 **environment: str) -> None:  # fmt: skip
        import json

        folder.mkdir(parents=True, exist_ok=True)
        script = folder / name
        script.write_text(SCRIPT.format(scale=scale, comment=comment))
        process = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, check=False, timeout=120,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path),
                 "TILEWRIGHT_CACHE_DIR": str(cache), **environment},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes)),
        )  # fmt: skip
        assert process.returncode == 0, process.stderr
        found = json.loads(process.stdout)
        assert found["right"]
        self.origin, self.key, self.warnings = found["origin"], found["key"], found["warnings"]
        self.statistics = found["statistics"]


@pytest.fixture
def cache(tmp_path: Path, compiler: None) -> Path:
    return tmp_path / "cache"


def test_a_second_process_finds_the_kernel_on_disk(cache: Path, tmp_path: Path) -> None:
    first = Process(tmp_path, cache)
    assert first.origin == "compiled" and not first.warnings
    second = Process(tmp_path, cache)
    assert second.origin == "disk" and second.key == first.key
    assert second.statistics["hits"] == 2
    assert len(cache_files.list_entries(cache)) == 2


def test_path_time_and_comments_are_no_part_of_the_key(cache: Path, tmp_path: Path) -> None:
    first = Process(tmp_path, cache)
    moved = Process(tmp_path / "elsewhere", cache, comment="# a comment", name="other.py",
                    PYTHONHASHSEED="7")  # fmt: skip
    assert (moved.origin, moved.key) == ("disk", first.key)


def test_a_changed_global_is_another_key(cache: Path, tmp_path: Path) -> None:
    first = Process(tmp_path, cache)
    changed = Process(tmp_path, cache, scale=3.0)
    assert changed.origin == "compiled" and changed.key != first.key


def test_damaged_entries_are_compiled_again(cache: Path, tmp_path: Path) -> None:
    seed = random.SystemRandom().randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    Process(tmp_path, cache)
    damages = [
        lambda data: data[: chance.randrange(len(data))],
        lambda data: data + b"\0",
        lambda data: bytes(len(data)),
        lambda data: b"",
    ] + [lambda data: flip(data, chance.randrange(len(data) * 8))] * 4
    for damage in damages:
        for entry in cache_files.list_entries(cache):
            entry.path.write_bytes(damage(entry.path.read_bytes()))
        healed = Process(tmp_path, cache)
        assert healed.origin == "compiled" and healed.statistics["corrupt"] == 2
        assert Process(tmp_path, cache).origin == "disk"


def flip(data: bytes, bit: int) -> bytes:
    changed = bytearray(data)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_an_entry_under_another_key_is_not_used(cache: Path, tmp_path: Path) -> None:
    Process(tmp_path, cache)
    first, second = (entry.path for entry in cache_files.list_entries(cache))
    contents = first.read_bytes(), second.read_bytes()
    first.write_bytes(contents[1])
    second.write_bytes(contents[0])
    assert Process(tmp_path, cache).origin == "compiled"


@pytest.mark.parametrize("kind", ["file", "link", "open to everyone"])
def test_an_unusable_directory_gives_one_warning(cache: Path, tmp_path: Path, kind: str) -> None:
    if kind == "file":
        cache.write_text("in the way")
    elif kind == "link":
        (tmp_path / "target").mkdir()
        cache.symlink_to(tmp_path / "target")
    else:
        cache.mkdir()
        cache.chmod(0o777)
    for _ in range(2):
        process = Process(tmp_path, cache)
        assert process.origin == "compiled"
        (warning,) = process.warnings
        assert "TW0501" in warning and str(cache) in warning


def test_a_disk_that_takes_no_entries_gives_one_warning(cache: Path, tmp_path: Path) -> None:
    process = Process(tmp_path, cache, most_bytes=500)
    assert process.origin == "compiled" and process.statistics["write_failures"] > 1
    (warning,) = process.warnings
    assert "TW0501" in warning and str(cache) in warning and "File too large" in warning
    assert Process(tmp_path, cache).warnings == []


def test_the_cache_can_be_switched_off(cache: Path, tmp_path: Path) -> None:
    Process(tmp_path, cache, TILEWRIGHT_CACHE="0")
    assert not cache.exists()


def test_files_are_private(cache: Path, tmp_path: Path) -> None:
    Process(tmp_path, cache)
    entry = cache_files.list_entries(cache)[0].path
    assert entry.stat().st_mode & 0o777 == 0o600
    for folder in (entry.parent, entry.parent.parent, cache):
        assert folder.stat().st_mode & 0o777 == 0o700


def fake_entries(root: Path) -> list[Path]:
    paths: list[Path] = []
    for index in range(4):
        path = root / "v1" / f"{index:02x}" / f"{index:064x}"
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 100)
        os.utime(path, (time.time() - index * 1000,) * 2)
        paths.append(path)
    (root / "v1" / "00" / "unfinished.tmp").write_bytes(b"x")
    return paths


def test_entries_are_listed_and_pruned_by_age(tmp_path: Path) -> None:
    paths = fake_entries(tmp_path)
    assert [entry.path for entry in cache_files.list_entries(tmp_path)] == paths[::-1]
    removed = cache_files.prune(tmp_path, 250)
    assert [entry.path for entry in removed] == [paths[3], paths[2]]
    assert [path.exists() for path in paths] == [True, True, False, False]


def test_the_cache_on_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(tmp_path))
    knobs.reset()
    paths = fake_entries(tmp_path)

    def run(*arguments: str) -> tuple[int, str]:
        status = cli.main(["cache", *arguments])
        captured = capsys.readouterr()
        return status, captured.out + captured.err

    assert run("path") == (0, f"{tmp_path}\n")
    status, text = run("list")
    assert status == 0 and [line.split()[0] for line in text.splitlines()] == [
        path.name for path in paths[::-1]
    ]
    status, text = run("show", "0" * 63 + "2")
    assert status == 0 and str(paths[2]) in text
    assert run("show", "0")[0] == 1
    assert run("prune", "--max-bytes", "300") == (0, "removed 1 entries, 100 bytes\n")
    with pytest.raises(SystemExit):
        run("prune", "--max-bytes", "-5")
    assert "'-5' is not a number of bytes" in capsys.readouterr().err
    assert run("clear") == (0, "removed 3 entries, 300 bytes\n")
    assert run("list") == (0, "")


def test_clearing_removes_what_killed_writers_left(tmp_path: Path) -> None:
    (entry, *_) = fake_entries(tmp_path)
    left = [entry.with_name(f"{entry.name}.tmp.12.34.5")]
    left.append(tmp_path / "records" / "v1" / "ab" / f"{'ab' * 32}.tmp.1.2.3")
    left[1].parent.mkdir(parents=True)
    for path in left:
        path.write_bytes(b"x")
    cache_files.prune(tmp_path, 1 << 20)
    assert all(path.exists() for path in left), "a writer may still be at work"
    cache_files.prune(tmp_path, 0)
    assert not any(path.exists() for path in left)


def test_a_directory_in_the_place_of_an_entry_is_replaced(cache: Path, tmp_path: Path) -> None:
    key = Process(tmp_path, cache).key
    entry = cache / "v1" / key[:2] / key
    entry.unlink()
    (entry / "inside").mkdir(parents=True)
    assert Process(tmp_path, cache).origin == "compiled"
    assert entry.is_file()
    assert Process(tmp_path, cache).origin == "disk"


def test_the_name_of_the_cache_directory_need_not_be_text(cache: Path, tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(cache) + b"-\xff\xfe"))
    found = [Process(tmp_path, odd) for _ in range(2)]
    assert [process.origin for process in found] == ["compiled", "disk"]
    odd.joinpath("v1").chmod(0o777)
    process = Process(tmp_path, odd)
    assert process.origin == "compiled" and len(process.warnings) == 1
