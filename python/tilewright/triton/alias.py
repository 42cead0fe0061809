"""Makes `import triton` mean this package, for scripts that are run unmodified."""

from __future__ import annotations

import importlib
import pkgutil
import sys

from tilewright.native.knobs import hide_from_torch

_PACKAGE = __name__.rpartition(".")[0]
_NOT_ALIASED = (
    "__main__", "alias", "absent", "absent.reasons", "runtime.compilation_hooks", "runtime.mock",
)  # fmt: skip


def install() -> None:
    """Put every module of this package into `sys.modules` under its name in Triton.

    torch, which looks for a `triton` to compile its own GPU code with, is told that there is none.
    """
    hide_from_torch()
    package = importlib.import_module(_PACKAGE)
    sys.modules["triton"] = package
    for module in pkgutil.walk_packages(package.__path__, f"{_PACKAGE}."):
        suffix = module.name.removeprefix(f"{_PACKAGE}.")
        if suffix not in _NOT_ALIASED:
            sys.modules[f"triton.{suffix}"] = importlib.import_module(module.name)
