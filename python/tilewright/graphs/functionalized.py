"""Launches within torch.func.functionalize: out of place, on what the functional tensors stand for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from ..native.errors import LaunchError


def is_functionalized(leaves: Sequence[Any]) -> bool:
    """Returns true for a launch on tensors of torch.func.functionalize."""
    functorch: Any = sys.modules["torch"]._C._functorch
    interpreter = functorch.peek_interpreter_stack()
    if interpreter is None or interpreter.key() != functorch.TransformType.Functionalize:
        return False
    tensor: Any = sys.modules["torch"].Tensor
    return any(isinstance(leaf, tensor) and functorch.is_functorch_wrapped_tensor(leaf) for leaf in leaves)


def call_functionalized(
    operator: Callable[..., None], grids: Sequence[Any], leaves: Sequence[Any], written: Sequence[str]
) -> None:
    """Call the operator of a launch on copies of what it writes, and make these the tensors' values.

    An operator with a kernel for the dispatch key Functionalize would do the same, and torch.compile would not
    make it an auto_functionalized one, whose copies Inductor removes. Raises LaunchError TW0443 for a
    store into a tensor that the functionalized function did not get or make.
    """
    import torch
    from torch._functorch.pyfunctorch import retrieve_current_functorch_interpreter

    interpreter: Any = retrieve_current_functorch_interpreter()
    adds_views = interpreter.functionalize_add_back_views()
    inner: dict[int, Any] = {}
    changed: list[Any] = []
    for leaf, name in zip(leaves, written):
        if not isinstance(leaf, torch.Tensor):
            continue
        if not torch._is_functional_tensor(leaf):
            if name:
                raise _foreign(name)
            inner[id(leaf)] = leaf
        elif id(leaf) not in inner:
            torch._sync(leaf)
            inner[id(leaf)] = torch._C._functorch._unwrap_functional_tensor(leaf, adds_views)
        if name and all(leaf is not other for other in changed):
            changed.append(leaf)
    with interpreter.lower():
        for leaf in changed:
            inner[id(leaf)] = inner[id(leaf)].clone(memory_format=torch.preserve_format)
        operator(grids, *(inner.get(id(leaf), leaf) for leaf in leaves))
    for leaf in changed:
        torch._functionalize_replace(leaf, inner[id(leaf)])
        torch._functionalize_commit_update(leaf)
        torch._functionalize_sync(leaf)


def _foreign(name: str) -> LaunchError:
    return LaunchError(
        f"a launch within torch.func.functionalize stores to `{name}`, a tensor from outside of the function",
        code="TW0443",
        hint="make the tensor a parameter of the function that is functionalized",
    )
