"""What a kernel's parameters are annotated with to be specialized in a way of their own."""

from __future__ import annotations


class static:
    """Annotates a parameter whose integers' values the binary knows, whatever the kernel's `specialize` is:
    `def kernel(x, n: tw.static)`. They compute as integers that are passed; constants of the language,
    as tw.arange takes them, are `tw.constexpr`."""


class dynamic:
    """Annotates a parameter of whose values nothing but the type is assumed: `n: tw.dynamic`."""
