"""The documentation site: builds without a warning, and the Python on its pages runs."""

from __future__ import annotations

import html.parser
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest
import tilewright as tw
from tilewright.tools import cli

ROOT = Path(__file__).resolve().parents[3]
SITE = ROOT / "tutorials/site"
# Names that have no page: their users are other modules of the package.
INTERNAL = {"builtin", "library_function", "constexpr_type", "tuple_type", "names_of"}
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.M | re.S)
PAGES = {
    str(page.relative_to(SITE)): "\n".join(BLOCK.findall(page.read_text()))
    for page in sorted(SITE.rglob("*.md"))
    if page.name != "README.md"
}


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("page", [page for page, program in PAGES.items() if program])
def test_the_blocks_of_a_page_are_a_program_that_runs(page: str, tmp_path: Path) -> None:
    for module in {*re.findall(r"^import (torch|jax)\b", PAGES[page], re.M)}:
        pytest.importorskip(module)
    program = tmp_path / "page.py"
    program.write_text(PAGES[page])
    result = subprocess.run([sys.executable, program], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def slug(name: str) -> str:
    """How Sphinx names the heading of a function on its page."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())


def commands() -> Iterator[str]:
    """Lines that pages show of a terminal, with those that continue them."""
    for page in SITE.rglob("*.md"):
        for block in re.findall(r"^```console\n(.*?)^```$", page.read_text(), re.M | re.S):
            for line in block.replace("\\\n", " ").splitlines():
                if line.startswith("$ tilewright "):
                    yield line.removeprefix("$ tilewright ")


@pytest.mark.parametrize("line", sorted({*commands()}))
def test_the_command_has_what_pages_show_of_it(line: str) -> None:
    assert cli._parser().parse_args(shlex.split(line)).run


class Links(html.parser.HTMLParser):
    """The places of a page, and where its links lead."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.places: set[str] = set()
        self.targets: list[str] = []
        self.feed(page.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id" and value:
                self.places.add(value)
            if name in ("href", "src") and value:
                self.targets.append(value)


@pytest.mark.usefixtures("compiler")
def test_the_site_builds_without_a_warning_and_its_links_lead_somewhere(tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    command = [sys.executable, SITE / "make.py", tmp_path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    pages = {page: Links(page) for page in (tmp_path / "html").rglob("*.html")}
    assert len(pages) > 50
    dead = []
    for page, links in pages.items():
        for target in links.targets:
            path, place = urldefrag(unquote(target))
            if re.match(r"\w+:", path) or target == "#":
                continue
            file = (page.parent / path.split("?")[0]).resolve() if path else page
            known = pages[file].places if file in pages else {place}
            if not file.is_file() or (place and place not in known):
                dead.append(f"{page.name}: {target}")
    assert not dead, dead
    names = set()
    for page, links in pages.items():
        if page.parent.name == "generated" and page.name.startswith(("language-", "host-")):
            names |= {place.removeprefix("tw-") for place in links.places}
    missing = {
        name
        for name in dir(tw)
        if callable(getattr(tw, name)) and not name.startswith("_") and slug(name) not in names
    }
    assert missing == INTERNAL
