"""Names of Triton's that are not here: the reason for each, and what to write instead.

`import triton.x`, `from triton.x import y` and `triton.x.y` of such a name raise an error with the
reason, which is an ImportError or an AttributeError, so that probing works as everywhere: `hasattr`,
`getattr(module, name, default)`, `try: import ... except ImportError`, `importlib.util.find_spec`.
"""

from __future__ import annotations

import difflib
import importlib.machinery
import sys
import types
from collections.abc import Callable, Sequence
from importlib.abc import MetaPathFinder
from typing import Any, NoReturn

from tilewright.native.errors import AbsentModuleError, AbsentNameError
from tilewright.language.absent import reason_of as language_reason_of

from .reasons import REASONS

_PACKAGE = __name__.rpartition(".")[0]


def dotted_name(name: str) -> str:
    """A name below this package as Triton writes it: `triton.runtime.build`."""
    return f"triton{name.removeprefix(_PACKAGE)}" if name.startswith(_PACKAGE) else name


def reason_of(name: str) -> tuple[str, str]:
    """(why, what to write instead) of a name in Triton's writing; empty texts for names that Triton
    does not have either. The longest known part of the name decides."""
    known = name.removeprefix("triton.")
    while known:
        if known in REASONS:
            return REASONS[known]
        known = known.rpartition(".")[0]
    module, _, last = name.rpartition(".")
    if module.startswith("triton.language"):
        hint = language_reason_of(f"tilewright.{module}", last)
        return ("it is not implemented", hint) if hint else ("", "")
    return "", ""


def _parts(name: str, known: Sequence[str]) -> tuple[str, dict[str, str]]:
    """The message and the other parts of the error for a name."""
    why, instead = reason_of(name)
    if why:
        return f"{name} is not in Tilewright: {why}", {"code": "TW0430", "hint": instead}
    module, _, last = name.rpartition(".")
    close = difflib.get_close_matches(last, known, n=1)
    hint = f"did you mean {close[0]}?" if close else "Triton 3.9 has no public name like this, either"
    return f"{module} has no name {last!r}", {"code": "TW0431", "hint": hint}


def names_of(module: str, known: Sequence[str] = ()) -> Callable[[str], NoReturn]:
    """The `__getattr__` of a module of this package, or of a part of one with the `known` names: raises
    for every name."""

    def refuse(name: str) -> NoReturn:
        if name.startswith("__"):  # tools probe for these all the time
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        near = known or dir(sys.modules[module])
        message, parts = _parts(f"{dotted_name(module)}.{name}", near)
        raise AbsentNameError(message, **parts)

    return refuse


class _AbsentModules(MetaPathFinder):
    """Gives the reason where a module below this package is imported that nobody found."""

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None,
        target: types.ModuleType | None = None,
    ) -> importlib.machinery.ModuleSpec | None:
        name = dotted_name(fullname)
        if not name.startswith("triton.") or not _is_import():
            return None
        # The real Triton of this environment, where nobody asked for ours, finds its own modules.
        if fullname == name and getattr(sys.modules.get("triton"), "__name__", "") != _PACKAGE:
            return None
        module = sys.modules.get(fullname.rpartition(".")[0])
        message, parts = _parts(name, dir(module) if module else ())
        error: Any = AbsentModuleError(message, **parts)
        # Triton's name, for those that compare it. `from tilewright.triton import x`, and with it
        # `from triton import x`, keeps the text of an error only where it names another module than
        # `tilewright.triton.x`.
        error.name = name
        raise error


def _is_import() -> bool:
    """Whether a finder is asked for an import, and not by `importlib.util.find_spec`."""
    frame: types.FrameType | None = sys._getframe(2)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and frame.f_code.co_name == "_find_spec":
        frame = frame.f_back
    return frame is not None and frame.f_code.co_name.startswith("_find_and_load")


def install_finder() -> None:
    """Ask for the reason after all other finders, once."""
    if not any(isinstance(finder, _AbsentModules) for finder in sys.meta_path):
        sys.meta_path.append(_AbsentModules())
