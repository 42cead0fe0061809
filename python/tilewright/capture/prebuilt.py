"""What the texts of the language's own functions tell, made when the package was built.

`prebuild.py` writes the file. Where it is missing, or a source file or what makes records is not what it
was made of, those functions are captured as all others are.
"""

from __future__ import annotations

import json
import os
import sys
import types
from typing import BinaryIO

from . import kept
from .digests import digest_bytes, digest_texts

# The file: a line of JSON, {source file: [start, end] of its section}, then the sections. A section: a line
# of JSON, {"key": ..., "functions": {place: [start, middle, end]}}, then facts and tree of each function.
PACKAGE = os.path.dirname(os.path.dirname(__file__))
FILE = os.path.join(PACKAGE, "_library.records")

# Source file -> where in which bytes the facts and the tree of each function are.
_Section = tuple[bytes, dict[str, list[int]]]
_EMPTY: _Section = b"", {}
_sections: dict[str, _Section] = {}
_FOLDER = f"{PACKAGE}/"


def find(code: types.CodeType) -> tuple[str, str] | None:
    """The facts and the tree of a function of the language, both as JSON."""
    file = code.co_filename
    if not file.startswith(_FOLDER):
        return None
    section = _sections.get(file)
    if section is None:
        # Once in a process: what the code was imported from, if the file changes later.
        section = _sections[file] = _read_section(file[len(_FOLDER) :])
    content, functions = section
    bounds = functions.get(place_of(code.co_firstlineno, code.co_name))
    if bounds is None:
        return None
    start, middle, end = bounds
    return content[start:middle].decode(), content[middle:end].decode()


def place_of(line: int, name: str) -> str:
    """How a section names a function."""
    return f"{line} {name}"


def key_of(source: bytes) -> str:
    """Everything that the records of a source file depend on; empty where that is not known."""
    makers = kept.makers_digest()
    return digest_texts(sys.version, makers, digest_bytes(source)) if makers else ""


def _read_section(name: str) -> _Section:
    try:
        with open(os.path.join(PACKAGE, name), "rb") as file:
            source = file.read()
        with open(FILE, "rb") as file:
            section = _find_section(file, name)
        header, content = section.split(b"\n", 1)
        described = json.loads(header)
    except (OSError, ValueError, LookupError):
        return _EMPTY
    # The file may have been replaced between two reads; the key is the section's own.
    key = key_of(source)
    return (content, described["functions"]) if key and described["key"] == key else _EMPTY


def _find_section(file: BinaryIO, name: str) -> bytes:
    start, end = json.loads(file.readline())[name]
    file.seek(start, 1)
    section = file.read(end - start)
    if len(section) != end - start:
        raise ValueError("the file is cut off")
    return section
