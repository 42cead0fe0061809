"""Runs the commands of tutorials/compiler/*.md and looks for the output that the pages quote."""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tilewright.native import native

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGES = sorted((ROOT / "tutorials" / "compiler").glob("*.md"))
FENCED = re.compile(r"^```(sh|text)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
MARK = "==== end of block"


def blocks(page: str) -> list[tuple[str, list[str]]]:
    """Each block of commands with the lines that are quoted of its output."""
    found: list[tuple[str, list[str]]] = []
    for kind, text in FENCED.findall(page):
        if kind == "sh":
            found.append((text, []))
        else:
            found[-1][1].extend(text.splitlines())
    return found


def pattern(line: str) -> re.Pattern[str]:
    """What a quoted line stands for: `...` is anything, and values may have other numbers."""
    parts = (re.escape(part.strip()) for part in line.split("..."))
    any_value = [re.sub(r"%(\w+)", lambda _: r"%\w+", part) for part in parts]
    return re.compile("^ *" + ".*".join(any_value) + " *$")


def missing(quoted: list[str], output: str) -> list[str]:
    """The quoted lines that the output does not have, in their order."""
    lines = iter(output.splitlines())
    return [line for line in quoted if not any(pattern(line).match(found) for found in lines)]


def tools() -> pathlib.Path:
    """Where tile-opt and tile-compile of this build are; a package installed by pip has none."""
    file = native().__file__
    assert file is not None
    return pathlib.Path(file).resolve().parents[2] / "backend" / "tools"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_shows_what_its_commands_print(page: pathlib.Path, tmp_path: pathlib.Path) -> None:
    if not (tools() / "tile-opt").exists():
        pytest.skip("the command-line tools are not built")
    found = blocks(page.read_text())
    script = "".join(f"{commands}\necho '{MARK}'\n" for commands, _ in found)
    path = os.pathsep.join([str(pathlib.Path(sys.executable).parent), str(tools())])
    result = subprocess.run(
        ["bash", "-e", "-o", "pipefail", "-c", f'export PATH="{path}:$PATH"\n{script}'],
        cwd=ROOT,
        env={**os.environ, "TMPDIR": str(tmp_path), "TILEWRIGHT_CACHE_DIR": str(tmp_path / "c")},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert result.returncode == 0, result.stdout[-2000:] + result.stderr
    outputs = result.stdout.split(MARK)
    for (commands, quoted), output in zip(found, outputs):
        assert not missing(quoted, output), f"not printed by\n{commands}\nwhich printed\n{output}"


def test_pages_quote_output_and_link_to_files() -> None:
    assert PAGES
    for page in PAGES:
        text = page.read_text()
        assert sum(bool(quoted) for _, quoted in blocks(text)) >= 5
        assert len(text.splitlines()) <= 180
        prose = re.sub(r"`[^`]*`", "", FENCED.sub("", text))
        for target in re.findall(r"\]\(([^)#:]+)\)", prose):
            assert (page.parent / target).exists(), f"{page.name}: there is no {target}"


def test_quoted_lines_are_looked_for_in_their_order() -> None:
    output = "  %1 = math.exp %0 : f32\n  return\n"
    assert missing(["%12 = math.exp %x : f32", "return"], output) == []
    assert missing(["return", "%12 = math.exp %x : f32"], output) == ["%12 = math.exp %x : f32"]
    assert missing(["%12 = math.exp ..."], output) == []
    assert missing(["%12 = math.log %0 : f32"], output) == ["%12 = math.log %0 : f32"]
