"""What the command's arguments spell: types and values by parameter, kernels in files."""

from __future__ import annotations

import ast
import importlib.util
import sys
import traceback
import types
from collections.abc import Iterable
from importlib.abc import Loader
from pathlib import Path
from typing import Any

from ..native.errors import TilewrightError, nearest, with_visible_controls


# What ast.literal_eval raises: of texts that spell nothing, or something too deep or too large.
_NO_VALUE = (ValueError, SyntaxError, TypeError, MemoryError, RecursionError)


def say(text: object) -> None:
    """Print a line that has names: as they are into files and pipes, and without the control characters that
    a terminal would obey."""
    print(with_visible_controls(str(text)) if sys.stdout.isatty() else text)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A hint at the known name that is meant, if one is near."""
    close = nearest(name, known)
    return f" (did you mean {close}?)" if close else ""


def read_signature(text: str, names: list[str], constants: dict[str, Any]) -> dict[str, str]:
    """The types by parameter; numbers in the place of types go to `constants`."""
    parts = split_entries(text)
    if any(part.partition("=")[0].strip().isidentifier() and "=" in part for part in parts):
        entries = assignments(text)
    else:
        expected = [name for name in names if name not in constants]
        if len(parts) > len(expected):
            raise ValueError(f"the signature has {len(parts)} entries for {', '.join(expected)}")
        entries = dict(zip(expected, parts))
    types: dict[str, str] = {}
    for name, part in entries.items():
        try:
            constants[name] = ast.literal_eval(part.strip())
        except _NO_VALUE:
            types[name] = part.strip()
    return types


def read_constants(text: str) -> dict[str, Any]:
    """The values that `BLOCK=1024, NAME='relu'` spells."""
    return {name: _literal(name, part) for name, part in assignments(text).items()}


def _literal(name: str, text: str) -> Any:
    """The Python value that a text spells."""
    try:
        return ast.literal_eval(text)
    except _NO_VALUE:
        what = f"{name}={text} is not a Python value; texts are quoted: {name}='...'"
        raise ValueError(what) from None


def assignments(text: str) -> dict[str, str]:
    """`a=1, b=(2, 3)` as a dictionary of texts; commas in brackets and quotes do not split."""
    result: dict[str, str] = {}
    for part in split_entries(text):
        name, equals, value = part.partition("=")
        if not equals or not name.strip().isidentifier():
            raise ValueError(f"{part.strip()!r} is not NAME=VALUE")
        if name.strip() in result:
            raise ValueError(f"{name.strip()} is given twice: {text}")
        result[name.strip()] = value.strip()
    return result


def split_entries(text: str) -> list[str]:
    """The parts between commas that stand in no brackets or quotes."""
    parts = [""]
    depth, quote = 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"":
            quote = character
        else:
            depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth and not quote:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip()]


def _describe_failure(file: str, error: Exception) -> str:
    """Why a file cannot be imported: the lines of others than Tilewright and Python's importer."""
    own = str(Path(__file__).parent.parent)
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith((own, "<frozen importlib"))
    ]
    lines = traceback.format_list(frames) + traceback.format_exception_only(error)
    return f"{file} cannot be imported:\n{''.join(lines).rstrip()}"


def _run_module(module: types.ModuleType, loader: Loader, file: str) -> None:
    sys.modules[module.__name__] = module
    sys.path.insert(0, str(Path(file).resolve().parent))  # as for a script: its own imports work
    try:
        loader.exec_module(module)
    except TilewrightError:
        raise
    except Exception as error:
        raise ImportError(_describe_failure(file, error)) from error


def load_object(place: str) -> Any:
    """What FILE.py:NAME names, by running the file."""
    file, _, name = place.rpartition(":")
    if not file or not name.isidentifier():
        raise ValueError(f"{place!r} is not FILE.py:NAME")
    spec = importlib.util.spec_from_file_location(Path(file).stem, file)
    if spec is None or spec.loader is None:
        raise ValueError(f"{file} is not a Python file")
    if not Path(file).is_file():
        raise FileNotFoundError(f"there is no file {file}")
    module: types.ModuleType = importlib.util.module_from_spec(spec)
    _run_module(module, spec.loader, file)
    if not hasattr(module, name):
        raise ValueError(f"{file} defines no {name}")
    return getattr(module, name)
