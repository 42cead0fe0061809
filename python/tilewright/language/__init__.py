"""The language: every name a kernel may use. Importing it runs no native code.

Kernels usually write `import tilewright as tw` and use these names as `tw.load` and so on; they are
also `tilewright.triton.language` for kernels that come from Triton.
"""

# pyright: reportWildcardImportFromLibrary=false
from __future__ import annotations

import sys
from builtins import tuple
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

from . import descriptors, dtypes, elementwise, memory, tile
from .aggregates import aggregate
from .descriptors import *  # noqa: F403
from .dtypes import *  # noqa: F403
from .elementwise import *  # noqa: F403
from .marks import builtin, constexpr_function, library_function
from .memory import *  # noqa: F403
from .static import constexpr, constexpr_type, tuple_type
from .tile import *  # noqa: F403
from .unsupported import UNSUPPORTED

if TYPE_CHECKING:

    def __getattr__(name: str) -> Any: ...

else:
    from .absent import names_of

    _refuse = names_of(__name__)

    def __getattr__(name: str) -> Any:
        """A name that is defined above the language, or the reason why there is no such name."""
        if name not in _LATER:
            return _refuse(name)
        return globals().setdefault(name, _LATER[name](name))

__all__ = [
    "UNSUPPORTED", "aggregate", "builtin", "constexpr", "constexpr_function", "constexpr_type",
    "library_function", "tuple", "tuple_type",
]  # fmt: skip
__all__ += descriptors.__all__
__all__ += dtypes.__all__
__all__ += elementwise.__all__
__all__ += memory.__all__
__all__ += tile.__all__


_LATER: dict[str, Callable[[str], Any]] = {}


def add_names(names: Mapping[str, Any], modules: Mapping[str, ModuleType]) -> None:
    """Give the language names that are defined above it, and modules as if they were its own."""
    globals().update(names)
    __all__.extend(names)
    sys.modules.update({f"{__name__}.{name}": module for name, module in modules.items()})
    globals().update(modules)


def add_later(names: Mapping[str, Callable[[str], Any]]) -> None:
    """Give the language names that are defined in folders above it; each is asked for by its name at
    its first use."""
    _LATER.update(names)
    __all__.extend(names)
