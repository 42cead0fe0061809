"""Requests for workers in other processes: packed as data here, compiled there, and loaded here."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ..capture import Attribute
from ..native import knobs, native
from ..native.errors import handle_reports
from ..native.packed import digest_of
from ..compile.compiler import cache_of, find_native
from ..compile.request import Request
from ..compile.stages import including


class PackedRequest:
    """A request on its way to a worker, with the values that the worker has asked for so far. `is_cached`:
    the worker is on this machine, and may look into the cache of this process."""

    def __init__(self, request: Request, is_cached: bool = True) -> None:
        self.request, self.is_cached = request, is_cached
        self.answers: dict[str, str] = {}

    def data(self) -> dict[str, Any]:
        """What `native.packed.compile_packed` takes, on this machine or another one."""
        capture = self.request.source.capture
        directory, is_kept = cache_of(self.request)
        return {
            "source": capture.buffer, "meaning": capture.meaning, "exact": capture.exact,
            "specialization": self.request.fields(), "device": self.request.device,
            "answers": self.answers, "cache": os.fsdecode(directory) if is_kept and self.is_cached else "",
        }  # fmt: skip

    def answer(self, questions: list[str]) -> None:
        """Evaluate static expressions that a worker has asked for."""
        found: list[Attribute] = []
        capture = self.request.source.capture
        for question in questions:
            self.answers[question] = capture.evaluate(question, found)
        if fuller := including(self.request, found):
            self.request, self.answers = fuller, {}

    def load(self, result: Mapping[str, Any]) -> bool:
        """Load and keep what a worker compiled, so that the next compilation of the request finds it.
        Shows its warnings and raises its first error. False where the result is of no use here: its
        bytes were altered, or the worker has another build of the compiler or another processor."""
        handle_reports(result["reports"])
        content = result["content"]
        if digest_of(content) != result["digest"]:
            return False
        capture, request = self.request.source.capture, self.request
        kernel = native().unpack(
            capture.meaning, capture.exact, request.specialization(), request.device,
            result["key"], content, *cache_of(request),
        )  # fmt: skip
        return kernel is not None


def is_packable(request: Request) -> bool:
    """Returns true unless a compilation has to be watched here, or depends on objects of this process."""
    settings = knobs.settings()
    is_watched = settings.dump_directory or settings.override_directory or settings.shows_remarks
    return not (is_watched or request.stage_files or request.is_opaque)


def is_compiled(request: Request) -> bool:
    """Returns true if the kernel is in memory or on disk already."""
    return find_native(request) is not None
