"""What is written in the language itself. Importing it gives the language these names."""

# pyright: reportWildcardImportFromLibrary=false
from __future__ import annotations

from ..language import add_names
from . import math, random, scaled, sorting, target_info, tiles
from .random import *  # noqa: F403
from .scaled import *  # noqa: F403
from .sorting import *  # noqa: F403
from .tiles import *  # noqa: F403

__all__ = ["math", "random", "target_info"]
__all__ += random.__all__
__all__ += scaled.__all__
__all__ += sorting.__all__
__all__ += tiles.__all__

add_names(
    {name: globals()[name] for name in __all__},
    {
        "library": tiles, "math": math, "random": random, "scaled": scaled, "sorting": sorting,
        "target_info": target_info,
    },
)  # fmt: skip
