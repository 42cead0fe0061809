"""Digests of captures, and what is kept on disk of functions so that nothing is parsed twice."""

from __future__ import annotations

import json
import linecache
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tilewright.tools import cache_files
from tilewright import knobs
from tilewright import language as tw
from tilewright.capture import Capture, find_source, kept, record
from tilewright.capture.source import Place
from tilewright.language import library

MODULE = '''
SCALE = 2
TABLE = [1, 2]


def helper(x):
    return x + 1


def unused(x):
    return x


def make(step):
    def kernel(x, y=3, *rest, z: tw.constexpr = 4):
        """What it does."""
        n: tw.constexpr = 5
        return helper(x) * SCALE + step + len(TABLE) + tw.sum(x) + y + z + n  # the end

    return kernel


kernel = make(step=6)
'''


def load(text: str) -> Any:
    """The kernel of a module with new code objects, as another process would see it."""
    file = f"<module {len(linecache.cache)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope: dict[str, Any] = {"__name__": "module", "tw": tw}
    exec(compile(text, file, "exec"), scope)
    return scope["kernel"]


@pytest.fixture(params=[False, True], ids=["not kept", "kept"])
def is_kept(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Runs a test without and with records on disk."""
    if request.param:
        pytest.importorskip("tilewright._native", reason="the native module is not built")
    else:
        monkeypatch.setenv("TILEWRIGHT_CACHE", "0")
        knobs.reset()
    return request.param


def changed(old: str, new: str) -> Any:
    assert old in MODULE
    return load(MODULE.replace(old, new))


@pytest.mark.parametrize(
    "old, new",
    [
        ("SCALE = 2", "SCALE = 3"),
        ("SCALE = 2", "SCALE = 2.0"),
        ("TABLE = [1, 2]", "TABLE = [1, 3]"),
        ("return x + 1", "return x + 2"),
        ("def helper(x)", "def helper(x, w=1)"),
        ("y=3", "y=4"),
        ("z: tw.constexpr = 4", "z: tw.constexpr = 5"),
        ("z: tw.constexpr", "z"),
        ("y=3, *rest, z:", "*rest, y=3, z:"),
        ("n: tw.constexpr = 5", "n = 5"),
        ("step=6", "step=7"),
        ("tw.sum(x)", "tw.max(x)"),
        ("tw.sum(x)", "x.sum()"),
        ("+ y + z", "+ z + y"),
    ],
)
def test_what_a_binary_depends_on_changes_both_digests(is_kept: bool, old: str, new: str):
    before, after = Capture(load(MODULE)), Capture(changed(old, new))
    assert before.meaning != after.meaning and before.exact != after.exact


@pytest.mark.parametrize(
    "old, new, is_text_of_kernel",
    [
        ("# the end", "# another end", True),
        ("helper(x) * SCALE", "(helper(x) * SCALE)", True),
        ("What it does.", "What else it does.", True),
        ("SCALE = 2\n", "SCALE = 2\n\n", True),
        ("def unused(x):\n    return x", "def unused(x):\n    return 1", False),
    ],
)
def test_places_and_comments_only_change_the_exact_digest(
    is_kept: bool, old: str, new: str, is_text_of_kernel: bool
):
    before, after = Capture(load(MODULE)), Capture(changed(old, new))
    assert before.meaning == after.meaning
    # The two modules have different names; apart from that the buffers tell.
    same = before.buffer.replace(before.entry.__code__.co_filename, "") == after.buffer.replace(
        after.entry.__code__.co_filename, ""
    )
    assert same is not is_text_of_kernel and before.exact != after.exact


@pytest.mark.parametrize("statement", ["assert x", "tw.device_assert(x)"])
def test_assertions_make_lines_count(is_kept: bool, statement: str):
    text = MODULE.replace("n: tw.constexpr = 5", f"n = 5; {statement}")
    before, after = Capture(load(text)), Capture(load("\n" + text))
    assert before.meaning != after.meaning


def test_callee_with_assertions_makes_lines_count(is_kept: bool):
    text = MODULE.replace("return x + 1", "assert x; return x + 1")
    assert Capture(load(text)).meaning != Capture(load("\n" + text)).meaning


def test_equal_digests_go_with_equal_buffers(tmp_path: Path, is_kept: bool):
    path = tmp_path / "module.py"
    path.write_text(MODULE)
    captures: list[Capture] = []
    for _ in range(2):
        scope: dict[str, Any] = {"__name__": "module", "tw": tw}
        exec(compile(MODULE, str(path), "exec"), scope)
        captures.append(Capture(scope["kernel"]))
    first, second = captures
    assert (first.meaning, first.exact) == (second.meaning, second.exact)
    assert first.buffer == second.buffer


def test_facts_come_back_as_they_were():
    for name in library.__all__:
        function = getattr(library, name).fn
        source = find_source(function)
        lines = tuple(linecache.getlines(source.file))
        place = Place(source.file, source.line, function.__name__, lines)
        facts = record._make_record(place, function.__name__, source).facts
        assert record._decode_facts(json.dumps(facts)) == facts


def test_second_capture_parses_nothing(compiler: None, monkeypatch: pytest.MonkeyPatch):
    first = Capture(load(MODULE))
    with monkeypatch.context() as patch:
        patch.delattr(record, "read_source")
        second = Capture(load(MODULE))
        assert second.meaning == first.meaning
    assert json.loads(second.buffer)["functions"]["f0"]["ast"]


def test_buffer_is_of_the_text_that_was_captured(compiler: None, tmp_path: Path):
    Capture(load(MODULE))
    path = tmp_path / "module.py"
    path.write_text(MODULE)
    scope: dict[str, Any] = {"__name__": "module", "tw": tw}
    exec(compile(MODULE, str(path), "exec"), scope)
    captured = Capture(scope["kernel"])
    path.write_text("\n" * 100)
    linecache.checkcache(str(path))
    assert "What it does." in captured.buffer


def test_lines_changed_in_place_are_seen(compiler: None):
    lines = ["def kernel(x):\n", "    return x + 1\n"]
    linecache.cache["<prompt>"] = (0, None, lines, "<prompt>")

    def enter() -> Capture:
        scope: dict[str, Any] = {"__name__": "prompt"}
        exec(compile("".join(lines), "<prompt>", "exec"), scope)
        return Capture(scope["kernel"])

    enter()
    first = enter()  # from the record
    lines[1] = "    return x + 2\n"
    second = enter()
    assert first.meaning != second.meaning
    assert "x + 1" in first.buffer and "x + 2" in second.buffer


def test_key_of_a_record_covers_what_it_is_made_of(monkeypatch: pytest.MonkeyPatch):
    lines = ("def f(): return 1\n",)
    keys = {
        kept.key_of(Place("a.py", 1, "f", lines)),
        kept.key_of(Place("a.py", 2, "f", lines)),
        kept.key_of(Place("a.py", 1, "g", lines)),
        kept.key_of(Place("a.py", 1, "f", ("def f(): return 2\n",))),
    }
    assert kept.key_of(Place("b.py", 1, "f", lines)) in keys  # the path does not count
    monkeypatch.setattr(sys, "version", "another Python")
    keys.add(kept.key_of(Place("a.py", 1, "f", lines)))
    monkeypatch.setattr(kept, "makers_digest", lambda: "another capture")
    keys.add(kept.key_of(Place("a.py", 1, "f", lines)))
    assert len(keys) == 6


def test_damaged_records_are_made_again(compiler: None):
    seed = random.SystemRandom().randrange(1 << 32)
    print("seed", seed)
    chance = random.Random(seed)
    expected = Capture(load(MODULE)).meaning
    records = Path(knobs.cache_directory()) / "records"
    entries = cache_files.list_entries(records)
    assert len(entries) >= 2  # kernel and helper; another test may have needed sum before
    for _ in range(20):
        originals = [entry.path.read_bytes() for entry in entries]
        for entry, original in zip(entries, originals):
            position = chance.randrange(len(original))
            flipped = bytes([original[position] ^ 1 << chance.randrange(8)])
            entry.path.write_bytes(original[:position] + flipped + original[position + 1 :])
        assert Capture(load(MODULE)).meaning == expected
        assert [entry.path.read_bytes() for entry in entries] == originals


def test_records_are_private_and_go_first(compiler: None):
    Capture(load(MODULE))
    root = Path(knobs.cache_directory())
    for entry in cache_files.list_entries(root / "records"):
        assert entry.path.stat().st_mode & 0o777 == 0o600
    assert not cache_files.list_entries(root)  # they are not kernels
    assert cache_files.prune(root, 1 << 30) == []
    assert not cache_files.list_entries(root / "records")


def test_unusable_cache_keeps_no_records(
    compiler: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    everyones = tmp_path / "everyones"
    everyones.mkdir()
    everyones.chmod(0o777)
    monkeypatch.setenv("TILEWRIGHT_CACHE_DIR", str(everyones))
    knobs.reset()
    Capture(load(MODULE))
    assert not list(everyones.iterdir())


def test_disabled_cache_keeps_no_records(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TILEWRIGHT_CACHE", "0")
    knobs.reset()
    Capture(load(MODULE))
    assert not Path(knobs.cache_directory()).exists()


SCRIPT = '''
import numpy, tilewright as tw

SCALE = 2

@tw.jit
def shifted(x):
    return x + 1

def make(step):
    @tw.jit
    def kernel(out, SIZE: tw.constexpr = 16, FACTOR: tw.constexpr = 3):
        i = tw.arange(0, SIZE)
        tw.store(out + i, shifted(i * FACTOR) * SCALE + step)
    return kernel

out = numpy.zeros(16, numpy.int32)
compiled = make(6)[1](out)
print(compiled.origin, *out)
'''


def run(path: Path, text: str) -> tuple[str, list[int]]:
    path.write_text(text)
    process = subprocess.run(
        [sys.executable, str(path)], capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )  # fmt: skip
    assert process.returncode == 0, process.stderr
    origin, *numbers = process.stdout.split()
    return origin, [int(number) for number in numbers]


def test_changes_between_processes_are_never_missed(compiler: None, tmp_path: Path):
    path = tmp_path / "script.py"
    expected = [(i * 3 + 1) * 2 + 6 for i in range(16)]
    assert run(path, SCRIPT) == ("compiled", expected)
    assert run(path, SCRIPT) == ("disk", expected)
    assert run(path, SCRIPT.replace("SCALE = 2", "# two\nSCALE = 2")) == ("disk", expected)
    for old, new, values in [
        ("SCALE = 2", "SCALE = 4", [(i * 3 + 1) * 4 + 6 for i in range(16)]),
        ("x + 1", "x + 2", [(i * 3 + 2) * 2 + 6 for i in range(16)]),
        ("make(6)", "make(7)", [(i * 3 + 1) * 2 + 7 for i in range(16)]),
        ("constexpr = 3", "constexpr = 5", [(i * 5 + 1) * 2 + 6 for i in range(16)]),
    ]:
        assert run(path, SCRIPT.replace(old, new)) == ("compiled", values)
    assert run(path, SCRIPT) == ("disk", expected)
