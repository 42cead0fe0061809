"""Keeps the text of functions that have no file: of `exec`, `python -c`, stdin and Python's prompt."""

from __future__ import annotations

import __future__
import linecache
import os
import stat
import sys
import types
from collections.abc import Iterator, Mapping

from ..language import aggregates
from .digests import digest_bytes
from .source import keep_imported_text

_MAX_FRAMES = 17
_MOST_BYTES = 1 << 24  # of a program that stdin reads
_MAX_LINES = 1000  # of the prompt's history
_FEATURES = 0
for _name in __future__.all_feature_names:
    _FEATURES |= getattr(__future__, _name).compiler_flag


def keep_text(function: types.FunctionType) -> None:
    """Keep the text of a function, which may be lost later: that of `exec`, or of its file."""
    keep_executed_source(function)
    keep_imported_text(function)


aggregates.keep_methods(keep_text)


def keep_executed_source(function: types.FunctionType) -> None:
    """Name and register the source of a function that was not read from a file that imports name.

    Python forgets such a text. It is looked for in the callers' variables and constants, and where
    a program without a file came from. Only a text that compiles to the very code of the function
    is taken. Without one nothing happens: the capture reports later that there is no source.
    """
    code = function.__code__
    if not code.co_filename.startswith("<") or linecache.getlines(code.co_filename):
        return
    wanted = "lambda" if code.co_name == "<lambda>" else f"def {code.co_name}"
    for text in (*_texts_of_callers(wanted), *_texts_of_program(wanted)):
        codes = _codes_in(text, code)
        if code in codes:
            _register(function, text, codes)
            return


def _texts_of_callers(wanted: str) -> Iterator[str]:
    """The strings around that have `wanted`, those of near callers first."""
    import textwrap

    frame = sys._getframe(1)
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


def _texts_of_program(wanted: str) -> Iterator[str]:
    """The text after `python -c`, a file that stdin reads, and what was last typed at the prompt."""
    texts = sys.orig_argv[1:]
    try:
        if stat.S_ISREG(os.fstat(0).st_mode):  # a pipe is used up
            texts.append(os.pread(0, _MOST_BYTES, 0).decode(errors="replace"))
    except OSError:
        pass  # there is no stdin
    yield from (text for text in texts if wanted in text)
    if (prompt := sys.modules.get("readline")) is None:
        return
    count = prompt.get_current_history_length()
    typed = [prompt.get_history_item(i) or "" for i in range(max(1, count - _MAX_LINES), count + 1)]
    for start in reversed(range(len(typed))):
        text = "\n".join(typed[start:]) + "\n"
        if not typed[start][:1].isspace() and wanted in text:
            yield text


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
    digest = digest_bytes(text.encode())[:8]
    old, new = function.__code__.co_filename, f"<exec {digest}>"
    linecache.cache[new] = (len(text), None, text.splitlines(keepends=True), new)
    # Helpers without a decorator come from the same text.
    for other in (function, *function.__globals__.values()):
        if isinstance(other, types.FunctionType) and other.__code__.co_filename == old:
            if other.__code__ in codes:
                other.__code__ = other.__code__.replace(co_filename=new)
