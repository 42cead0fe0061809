"""Tells whether something follows torch's operators: its compiler, dispatch modes, transforms."""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, cast

from ..native import native
from ..native.errors import TilewrightError
from .traced_errors import as_traced

_Function = TypeVar("_Function", bound=Callable[..., Any])

# Dispatch keys that a thread of torch includes while its operators are followed.
_TRACING = (
    "Python", "PreDispatch", "Functionalize", "Tracer", "FuncTorchDynamicLayerFrontMode",
    "FuncTorchDynamicLayerBackMode",
)  # fmt: skip
_watched: list[Any] = []  # torch, once the native module knows its keys


class _Within(threading.local):
    """Counts the launches of operators that run in this thread: nothing follows those."""

    depth = 0


WITHIN = _Within()


def constant_when_traced(function: _Function) -> _Function:
    """Have torch's compiler call a function while it traces, and take the result for a constant: what
    `torch.compiler.assume_constant_result` does, without torch. What it raises reaches the user."""

    @functools.wraps(function)
    def call(*args: Any) -> Any:
        try:
            return function(*args)
        except TilewrightError as error:
            raise as_traced(error) from None

    setattr(call, "_dynamo_marked_constant", True)
    return cast("_Function", call)


def watch_tracing() -> bool:
    """Tell the native module how to see that torch follows this thread. False without a whole torch."""
    torch: Any = sys.modules.get("torch")
    if torch is None:
        return False
    if _watched != [torch]:
        try:
            _watch(torch)
        except AttributeError:  # it is being imported
            return False
        _watched[:] = [torch]
    return True


def _watch(torch: Any) -> None:
    keys = [torch._C._dispatch_key_parse(name) for name in _TRACING]
    bits = 0
    for key in keys:
        bits |= torch._C.DispatchKeySet(key).raw_repr()

    def is_followed() -> bool:
        return any(map(torch._C._dispatch_tls_is_dispatch_key_included, keys))

    types = torch.Tensor, torch.nn.Parameter
    rest = torch.Tensor._is_view, torch.is_grad_enabled, vars(torch.autograd.profiler)
    native().set_tracing(types, bits, None, *rest)
    # The word of c10 that the native module reads is where it was in every release so far.
    agrees = native().is_traced() == is_followed()
    with torch._C._IncludeDispatchKeyGuard(torch._C.DispatchKey.Python):
        agrees = agrees and native().is_traced()
    if not agrees:
        native().set_tracing(types, bits, is_followed, *rest)


def is_traced(values: Iterable[Any]) -> bool:
    """Returns true if a launch with these arguments must become an operator of torch: something follows
    the operators of this thread, or all tensors are fake, and there is a tensor."""
    if WITHIN.depth or "torch" not in sys.modules or not watch_tracing():
        return False
    tensors = [value for value in _leaves(values) if _is_tensor(value)]
    functorch: Any = sys.modules["torch"]._C._functorch
    if not tensors:
        return False
    if any(map(functorch.is_functorch_wrapped_tensor, tensors)):
        # A launch within another transform of torch.func than functionalize is refused.
        return functorch.peek_interpreter_stack().key() == functorch.TransformType.Functionalize
    return native().is_traced() or all(type(value).__name__ == "FakeTensor" for value in tensors)


def _is_tensor(value: Any) -> bool:
    return isinstance(value, sys.modules["torch"].Tensor)


def _leaves(values: Iterable[Any]) -> Iterable[Any]:
    for value in values:
        if isinstance(value, (tuple, list)):
            yield from _leaves(cast("Iterable[Any]", value))
        elif hasattr(value, "base") and not _is_tensor(value):
            yield value.base
        else:
            yield value
