"""Keeps the text of functions that `exec` makes from a string, while a caller still holds it."""

from __future__ import annotations

import __future__
import hashlib
import linecache
import sys
import textwrap
import types
from collections.abc import Iterator, Mapping

from ..language import aggregates
from .source import keep_imported_text

_MAX_FRAMES = 17
_FEATURES = 0
for _name in __future__.all_feature_names:
    _FEATURES |= getattr(__future__, _name).compiler_flag


def keep_text(function: types.FunctionType) -> None:
    """Keep the text of a function, which may be lost later: that of `exec`, or of its file."""
    keep_executed_source(function)
    keep_imported_text(function)


aggregates.keep_methods(keep_text)


def keep_executed_source(function: types.FunctionType) -> None:
    """Name and register the source of a function that was defined by `exec` of a string.

    Python forgets such a string. It is looked for in the callers' variables and constants, and
    only a text that compiles to the very code of the function is taken. Without one nothing
    happens: the capture reports later that there is no source.
    """
    code = function.__code__
    if not code.co_filename.startswith("<") or linecache.getlines(code.co_filename):
        return
    for text in _texts_of_callers(code.co_name):
        codes = _codes_in(text, code)
        if code in codes:
            _register(function, text, codes)
            return


def _texts_of_callers(name: str) -> Iterator[str]:
    """The strings around that may define `name`, those of near callers first."""
    frame = sys._getframe(1)
    wanted = "lambda" if name == "<lambda>" else f"def {name}"
    seen: set[str] = set()
    for _ in range(_MAX_FRAMES):
        for value in _values_of(frame):
            if not isinstance(value, str) or wanted not in value:
                continue
            dedented = textwrap.dedent(value)
            for text in (value, dedented, value.strip(), dedented.strip()):
                if text not in seen:
                    seen.add(text)
                    yield text
        if frame.f_back is None:
            return
        frame = frame.f_back


def _values_of(frame: types.FrameType) -> Iterator[object]:
    scopes: tuple[Mapping[str, object], ...] = (frame.f_locals, frame.f_globals)
    for scope in scopes:
        yield from list(scope.values())
    yield from frame.f_code.co_consts


def _codes_in(text: str, wanted: types.CodeType) -> list[types.CodeType]:
    """The code of every function in a text, as the function's own text was compiled."""
    try:
        flags = wanted.co_flags & _FEATURES
        todo = [compile(text, wanted.co_filename, "exec", flags, dont_inherit=True)]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    codes: list[types.CodeType] = []
    while todo:
        codes.append(todo.pop())
        todo += [const for const in codes[-1].co_consts if isinstance(const, types.CodeType)]
    return codes


def _register(function: types.FunctionType, text: str, codes: list[types.CodeType]) -> None:
    digest = hashlib.blake2b(text.encode(), digest_size=4).hexdigest()
    old, new = function.__code__.co_filename, f"<exec {digest}>"
    linecache.cache[new] = (len(text), None, text.splitlines(keepends=True), new)
    # Helpers without a decorator come from the same text.
    for other in (function, *function.__globals__.values()):
        if isinstance(other, types.FunctionType) and other.__code__.co_filename == old:
            if other.__code__ in codes:
                other.__code__ = other.__code__.replace(co_filename=new)
