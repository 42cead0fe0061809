"""Groups integers of autotune's key, so that near sizes share a choice."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Number
from typing import Any

from ..native.errors import LaunchError


def checked_bucket(bucket: Any, fn: Any) -> Callable[[int], int] | None:
    """The function that groups integers. Raises LaunchError TW0418 for what cannot be called."""
    if bucket is None or callable(bucket):
        return bucket
    raise LaunchError(
        f"bucket of {getattr(fn, '__name__', fn)} is {bucket!r}, which is not a function of an integer",
        code="TW0418",
        hint="write bucket=tw.next_power_of_2",
    )


def bucketed(value: Any, name: str, bucket: Callable[[int], int] | None) -> Any:
    """The group of an integer, by which it counts in the key; other values as they are, numbers of NumPy
    as those of Python. Raises LaunchError TW0418 where the function fails."""
    if isinstance(value, Number) and hasattr(value, "item"):
        value = value.item()
    if bucket is None or isinstance(value, bool) or not isinstance(value, int):
        return value
    try:
        return bucket(value)
    except Exception as error:
        raise LaunchError(
            f"bucket of autotune has none for {name}={value}: {type(error).__name__}: {error}",
            code="TW0418",
            hint="it is called with each integer of the key",
        ) from error
