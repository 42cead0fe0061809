"""What Python shows of the elementwise functions is what the rows of ir/tile/Elementwise.td say.

GOLDEN=accept in the environment writes language/elementwise.py anew.
"""

from __future__ import annotations

import os
import textwrap
from pathlib import Path
from typing import Any

from table_rows import records

from tilewright.language import elementwise

HEAD = '''"""The elementwise functions: written by test_elementwise_rows.py from ir/tile/Elementwise.td.

Each takes tiles or scalars and computes element by element. Float functions compute float16 and
bfloat16 in float32; integers are refused unless the text names them.
"""

# pyright: reportReturnType=false
from __future__ import annotations

from .dtypes import tensor
from .marks import builtin, builtin_alias
from .tile import Value
'''


def rows() -> list[dict[str, Any]]:
    return records("Elementwise.td", "Elementwise")


def sentence(text: str) -> str:
    """With a capital and a full stop, unless it begins with the name of an argument or number."""
    is_word = len(text.split()[0]) > 1
    return (text[0].upper() if is_word else text[0]) + text[1:] + "."


def stub(row: dict[str, Any]) -> str:
    parameters = ", ".join(f"{name}: Value" for name in row["Parameters"].split(", "))
    return f"""
@builtin
def {row["Name"]}({parameters}) -> tensor:
    \"\"\"{sentence(row["Doc"])}\"\"\"
"""


def surface() -> str:
    """The text of language/elementwise.py."""
    aliases = [
        f'{alias} = builtin_alias("{alias}", {row["Name"]})\n'
        for row in rows()
        for alias in row["Aliases"]
    ]
    names = sorted(name for row in rows() for name in (row["Name"], *row["Aliases"]))
    listed = textwrap.fill(", ".join(f'"{name}"' for name in names) + ",", 96)
    parts = [HEAD, *map(stub, rows()), "\n" + "".join(aliases)]
    exported = f"\n__all__ = [\n{textwrap.indent(listed, ' ' * 4)}\n]  # fmt: skip\n"
    return "\n".join(parts) + exported


def test_the_python_surface_is_written_from_the_rows() -> None:
    page = Path(elementwise.__file__)
    if os.environ.get("GOLDEN") == "accept":
        page.write_text(surface())
    assert page.read_text() == surface(), "run this test with GOLDEN=accept"
