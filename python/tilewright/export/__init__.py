"""Kernels compiled ahead of time, as a package for programs in C and C++."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path


def export(
    kernel: Any,
    directory: str | os.PathLike[str],
    signature: str | Mapping[str, str] | Sequence[str | Mapping[str, str]] = "",
    constexpr: Mapping[str, Any] | None = None,
    *,
    targets: Sequence[str],
    shapes: Iterable[Mapping[str, int]] = (),
    grid: str | int | Sequence[str | int] | None = None,
    name: str = "",
    form: str = "a",
    tvm_ffi: bool = False,
    **options: Any,
) -> dict[str, Path]:
    """Write a package of one kernel, called like it: see `Package.add` and `Package.write`."""
    from .package import Package
    from .wrapped import unwrapped

    package = Package(name or unwrapped(kernel).fn.__name__)
    package.add(
        kernel, signature, constexpr, shapes=shapes, grid=grid, name=name, **options
    )  # fmt: skip
    return package.write(directory, targets, form, tvm_ffi)
