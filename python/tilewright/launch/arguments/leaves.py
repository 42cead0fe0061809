"""Stores into tensors that torch's in-place operators would not write."""

from __future__ import annotations

from typing import Any

from ...native.errors import LaunchError


def leaf_error(writer: str, name: str) -> LaunchError:
    """The error of a kernel, or an operator, that stores to a leaf that requires grad, or to a view of one."""
    return LaunchError(
        f"{writer} stores to `{name}`, which is a leaf that requires grad, or a view of one",
        code="TW0440",
        hint="launch it under torch.no_grad(), or pass tensor.detach(), as for torch's in-place functions",
    )


def is_view_of_leaf(tensor: Any) -> bool:
    """Returns true for a view of a tensor whose gradients torch keeps there."""
    return tensor.requires_grad and tensor._is_view() and tensor._base.is_leaf


def keeps_gradients(tensor: Any) -> bool:
    """Returns true for a tensor that torch's in-place functions would not write now: a leaf that requires
    grad, or a view of one, while gradients are recorded."""
    import torch

    if not isinstance(tensor, torch.Tensor) or not tensor.requires_grad:
        return False
    return torch.is_grad_enabled() and (tensor.is_leaf or is_view_of_leaf(tensor))
