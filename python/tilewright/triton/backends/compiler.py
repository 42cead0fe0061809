"""The names of `triton.backends.compiler`: what a compilation is for."""

from __future__ import annotations

from dataclasses import dataclass

from ..absent import names_of


@dataclass(frozen=True)
class GPUTarget:
    """A target: `backend` is "cuda" with the compute capability times ten as `arch`, or the name of a
    device of Tilewright's with its processor."""

    backend: str
    arch: int | str
    warp_size: int


__path__: list[str] = []
__getattr__ = names_of(__name__)
