"""Pages about report codes, for `tilewright explain TW0107`."""

from __future__ import annotations

import difflib
import functools
import textwrap
from typing import NamedTuple

from ..native import native


class Page(NamedTuple):
    """What one code means, a smallest example of it and what to do: a row of runtime/codes/Codes.def."""

    title: str
    meaning: str
    example: str
    fix: str


@functools.cache
def pages() -> dict[str, Page]:
    """The pages of all codes, in the order of their numbers."""
    return {code: Page(*page) for code, *page in native().report_pages()}


def normalize(code: str) -> str:
    """The code in its usual form: `tw107`, `107` and `[TW0107]` are all TW0107."""
    text = code.strip().strip("[]").upper().removeprefix("TW")
    return f"TW{int(text):04d}" if text.isascii() and text.isdigit() else code.strip()


def explain(code: str) -> str:
    """The page of a code. Raises KeyError, with the nearest codes, when there is none."""
    name = normalize(code)
    if name not in pages():
        close = difflib.get_close_matches(name, pages(), n=3, cutoff=0.7)
        hint = f"; similar codes: {', '.join(close)}" if close else ""
        raise KeyError(f"there is no page for {code!r}{hint}")
    page = pages()[name]
    parts = [f"{name}: {page.title}", textwrap.fill(page.meaning, width=88)]
    if page.example:
        parts.append("Example:\n" + textwrap.indent(page.example.rstrip(), "    "))
    if page.fix:
        parts.append(textwrap.fill("What to do: " + page.fix, width=88))
    return "\n\n".join(parts) + "\n"


def list_codes() -> str:
    """One line for each code."""
    return "".join(f"{code}  {page.title}\n" for code, page in pages().items())
