"""Says why a kernel is fast or slow: `kernel.explain(...)`, `tilewright explain FILE.py:NAME`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any


if TYPE_CHECKING:
    from ..compile import Request
    from .facts import Explanation as Explanation


def explain(
    kernel: Any,
    signature: Mapping[str, Any] | None = None,
    constants: Mapping[str, Any] | None = None,
    device: str | None = None,
    **options: Any,
) -> Explanation:
    """Explain a kernel, compiled as by `kernel.compile` with the same arguments, or a compiled kernel.
    No hardware is needed: `device` is any target, as "nvidia:sm_90a".

    `print(explanation)` shows the kernel's source, what each line became and what was in the way;
    `to_json()`, `to_html()` and `diff(other)` are for programs, browsers and comparisons. A kernel
    that does not compile is explained as far as it got. Raises LaunchError TW0404 where a parameter
    has neither a type nor a value, TW0401 for an unknown device.
    """
    while not hasattr(kernel, "request") and hasattr(kernel, "fn"):  # below what tunes it
        kernel = kernel.fn
    request: Any = getattr(kernel, "request", None)
    if callable(request):
        request = request(signature or {}, constants, device, **options)
    elif signature is not None or constants is not None or device is not None or options:
        raise TypeError("a compiled kernel has its types, constants, device and options already")
    if request is None:
        raise TypeError(f"explain takes a kernel or a compiled kernel, not {kernel!r}")
    return explain_request(request)


def explain_request(request: Request) -> Explanation:
    """Explain what a request for a compilation gives."""
    from .gather import gather

    return gather(request)
