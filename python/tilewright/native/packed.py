"""Kernels that other processes have asked for, compiled here: what a worker does with a request as data.

It needs the native module and nothing else of the package, so that a worker starts quickly. All of a
request and of its result is text, numbers and bytes: no code travels, and nothing is unpickled.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from . import native


class Argument(NamedTuple):
    """One parameter of a specialization: a constructor of the native `ArgumentSpec` and its arguments."""

    kind: str
    values: Sequence[Any]
    facts: Mapping[str, bool]


class Specialization(NamedTuple):
    """The facts of arguments and the options that a kernel is compiled for, as data."""

    arguments: Sequence[Argument]
    num_warps: int
    num_stages: int
    debug: bool
    extra: str

    def native(self) -> Any:
        """The native module's form."""
        module = native()
        arguments = [
            getattr(module.ArgumentSpec, kind)(*values, **facts)
            for kind, values, facts in self.arguments
        ]
        return module.Specialization(arguments, *self[1:])


_UNANSWERED = '{"error":"the worker does not know the value"}'


def _source_of(packed: Mapping[str, Any]) -> Any:
    return native().KernelSource(packed["source"], packed["meaning"], packed["exact"])


def compile_packed(packed: Mapping[str, Any]) -> dict[str, Any]:
    """Compile a request that `tuning.packing` has packed. The result has `key`, `content` (bytes), the
    `digest` of these and `reports`; or `asked`, the static expressions whose values `answers` lacks:
    only the process with the kernel's Python objects can evaluate them."""
    answers, asked = packed["answers"], list[str]()

    def evaluate(question: str) -> str:
        if question not in answers:
            asked.append(question)
        return answers.get(question, _UNANSWERED)

    specialization = Specialization(*packed["specialization"]).native()
    source = _source_of(packed)
    key, content, reports = native().pack(source, specialization, packed["device"], evaluate)
    if asked:
        return {"asked": asked}
    return {
        "key": key, "content": content, "digest": digest_of(content),
        "reports": [dict(report) for report in reports],
    }  # fmt: skip


def digest_of(content: bytes) -> str:
    """The digest of a result's bytes on their way between processes."""
    import hashlib

    return hashlib.sha256(content).hexdigest()
