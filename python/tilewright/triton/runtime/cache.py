"""The names of `triton.runtime.cache`: the identity of the compiler."""

from __future__ import annotations

import functools

from tilewright.native import native

from .. import knobs as knobs
from ..absent import names_of


@functools.lru_cache(maxsize=None)
def triton_key() -> str:
    """What changes with the compiler: a digest of this build."""
    return str(native().build_id())


__path__: list[str] = []
__getattr__ = names_of(__name__)
