"""The exceptions that Tilewright raises, and how reports of the native module become them."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

Report = Mapping[str, Any]


class TilewrightError(Exception):
    """A report to the user.

    `code` is stable and has a page behind `tilewright explain CODE`; `message` is one line;
    `rendered` is the whole text with source lines; `report` holds the parts for tools.
    """

    kind = "internal"

    def __init__(
        self,
        message: str,
        *,
        code: str = "TW0900",
        hint: str = "",
        rendered: str = "",
        report: Report | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.hint = hint
        self.rendered: str = rendered or render(code, message, hint)
        self.report: Report = report or {
            "kind": self.kind,
            "severity": "error",
            "code": code,
            "message": message,
            "rendered": self.rendered,
        }
        super().__init__(self.rendered)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.message, self.code, self.hint, self.rendered)


class CompilationError(TilewrightError):
    """A kernel cannot be compiled: its code is wrong, or right and not supported."""

    @property
    def error_message(self) -> str:
        """What is wrong in one line, as callers of Triton ask for it."""
        return self.message


class CompileError(CompilationError):
    """The kernel's code is wrong."""

    kind = "compile"


class StaticAssertionError(CompileError):
    """A `static_assert` of the kernel failed."""


class UnsupportedError(CompilationError):
    """The kernel's code is right, but this target or this version cannot compile it."""

    kind = "unsupported"


_QUANTITIES = re.compile(r"(\d+) bytes of shared memory, but the target has (\d+)")


class OutOfResources(UnsupportedError):
    """A kernel needs more shared memory or more warps than its target has.

    `required` and `limit` are numbers of what `name` says where the report has them, else None.
    """

    def __init__(self, message: object, limit: object = None, name: str = "", **parts: Any) -> None:
        self.required: int | None = None
        self.limit: int | None = None
        self.name: str = name
        if isinstance(message, int) and isinstance(limit, int):
            self.required, self.limit = message, limit
            message = f"{message} of {name or 'a resource'} are needed, and the target has {limit}"
        elif quantities := _QUANTITIES.search(str(message)):
            self.required, self.limit = int(quantities[1]), int(quantities[2])
            self.name = "shared memory"
        super().__init__(str(message), **{"code": "TW0311", **parts})


class AbsentNameError(UnsupportedError, AttributeError):
    """A name that is not there, with the reason; probing by hasattr and getattr works."""


class AbsentModuleError(UnsupportedError, ModuleNotFoundError):
    """A module that is not there, with the reason; `except ImportError` works."""


class LaunchError(TilewrightError):
    """The arguments or the grid of a launch are wrong. Nothing ran."""

    kind = "launch"


class ArgumentRangeError(LaunchError, OverflowError):
    """A number that is too large or too small for its parameter."""


class SignatureError(LaunchError, ValueError):
    """An entry of a signature does not name a type that a parameter can have."""


class GridNameError(LaunchError, KeyError):
    """The function of a grid asks for an argument that the launch does not have."""

    def __str__(self) -> str:
        return self.rendered  # a KeyError's would be quoted


class DeviceError(TilewrightError, RuntimeError):
    """A kernel failed while it ran: a failed assertion, an access out of bounds."""

    kind = "device"


class InternalError(TilewrightError):
    """A mistake in Tilewright itself."""

    kind = "internal"


_BY_KIND: dict[str, type[TilewrightError]] = {
    cls.kind: cls
    for cls in (CompileError, UnsupportedError, LaunchError, DeviceError, InternalError)
}
# Reports with a class of their own, by code; only where the kind is that class's, too.
_BY_CODE: dict[str, type[TilewrightError]] = {
    "TW0113": StaticAssertionError,
    "TW0311": OutOfResources,
    "TW0313": OutOfResources,
    "TW0407": ArgumentRangeError,
}


def _own_exceptions(base: type[TilewrightError]) -> Iterator[type[TilewrightError]]:
    yield base
    for derived in base.__subclasses__():
        yield from _own_exceptions(derived)


class TilewrightWarning(UserWarning):
    """A warning of the compiler, the cache or the settings."""


# Programs import them from `tilewright.errors`, and read that name in tracebacks.
for _exception in (*_own_exceptions(TilewrightError), TilewrightWarning):
    _exception.__module__ = "tilewright.errors"

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def with_visible_controls(text: str) -> str:
    """The text with its control characters but tabs and line ends written out, as \\x1b: names of files may
    have some, and a terminal would obey them. Also the signs for the direction of writing."""
    return _CONTROLS.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def nearest(name: str, known: Iterable[str]) -> str:
    """The one of the known names that a misspelt name probably means; empty where none is near."""
    import difflib

    return next(iter(difflib.get_close_matches(name, list(known), n=1)), "")


def render(code: str, message: str, hint: str = "", severity: str = "error") -> str:
    """A report without source lines in the form that the compiler gives all reports."""
    text = f"{severity}[{code}]: {message}\n"
    return with_visible_controls(f"{text}  = hint: {hint}\n" if hint else text)


def _rebuild(
    cls: type[TilewrightError], message: str, code: str, hint: str, rendered: str
) -> TilewrightError:
    return cls(message, code=code, hint=hint, rendered=rendered)


def to_exception(report: Report) -> TilewrightError:
    """The exception of one report of the native module."""
    cls = _BY_KIND.get(report["kind"], InternalError)
    special = _BY_CODE.get(report["code"], cls)
    if special.kind == cls.kind:
        cls = special
    rendered = report.get("rendered", "")
    return cls(
        report["message"],
        code=report["code"],
        hint=report.get("hint", ""),
        rendered=rendered,
        report=report if rendered else None,
    )


def raise_report(report: Report) -> NoReturn:
    """Raise the exception of a report. Callers of Triton find the message in `__cause__`, too."""
    error = to_exception(report)
    if isinstance(error, CompilationError) and "tilewright.triton" in sys.modules:
        raise error from ValueError(error.message)
    raise error


_STATIC_PRINT = "TW0123"
_PACKAGE = os.path.dirname(os.path.dirname(__file__))


def warn_user(text: str) -> None:
    """Give a TilewrightWarning at the nearest line that is not Tilewright's: the user's launch."""
    # `with tw.device(...)` passes through contextlib.
    own = (_PACKAGE + os.sep, contextlib.__file__)
    frame, level = sys._getframe(1), 2
    while frame.f_code.co_filename.startswith(own) and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    warnings.warn(text, TilewrightWarning, stacklevel=level)


def is_remark(report: Report) -> bool:
    """Whether a report says what a pass decided."""
    return report["severity"] == "remark" and report["code"] != _STATIC_PRINT


def handle_reports(
    reports: Sequence[Report], shows_prints: bool = True, shows_remarks: bool = False
) -> None:
    """Show the warnings, static prints and remarks of a compilation, then raise its first error."""
    errors = [report for report in reports if report["severity"] == "error"]
    for report in reports:
        if report["severity"] == "warning":
            warn_user(report["rendered"].rstrip())
        elif report["code"] == _STATIC_PRINT and shows_prints:
            print(report["message"])
        elif is_remark(report) and shows_remarks:
            print(report["rendered"].rstrip(), file=sys.stderr)
    if errors:
        raise_report(errors[0])
