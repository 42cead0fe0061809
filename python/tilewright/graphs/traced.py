"""What torch sees of a launch that it traces: one opaque operator, `torch.ops.tilewright.NAME`.

torch's compiler looks into these functions in place of a launch, and a launch calls them itself while
a dispatch mode, torch.export or make_fx follows it. They are plain Python on symbolic sizes; what needs
values (which arrays are stored to, the operator's definition) are functions whose result is a constant
for torch's compiler: `operators.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from .guards import forget_own_guards
from .functionalized import call_functionalized, is_functionalized
from .operators import (
    check_recorded,
    default_of,
    is_recorded,
    operator_of,
    option_of,
    options_of,
    refuse_grid,
    refuse_store,
    signature_of,
    written_of,
)
from ..launch.arguments.leaves import is_view_of_leaf
from ..launch.arguments.tracing import inlined_as, never_a_frame
from ..launch.interface import KernelInterface
from ..launch.jit import JITFunction
from .tracing import is_traced


@never_a_frame
def inlined_getitem(self: Any, grid: Any) -> Callable[..., None]:
    """`kernel[grid]` as torch's compiler sees it."""

    def launch(*args: Any, **kwargs: Any) -> None:
        launch_traced(self, grid, args, kwargs)

    return launch


never_a_frame(inlined_getitem(None, None))  # all such functions have the same code


@never_a_frame
def inlined_launch(self: Any, grid: Any, /, *args: Any, **kwargs: Any) -> None:
    """A launch by a grid and arguments as torch's compiler sees it."""
    launch_traced(self, grid, args, kwargs)


@never_a_frame
def inlined_run(self: Any, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> None:
    """`kernel.run` as torch's compiler sees it."""
    launch_traced(self, grid, args, kwargs)


for _kind in (KernelInterface, JITFunction):
    inlined_as(inlined_getitem)(_kind.__getitem__)
    inlined_as(inlined_launch)(vars(_kind)["_launch"])
inlined_as(inlined_run)(JITFunction.run)


@never_a_frame
def launch_traced(kernel: Any, grid: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Call the operator of a launch. Raises what the launch raises for its types, and LaunchError
    TW0440 for a store that autograd does not allow."""
    import torch

    if not torch.compiler.is_dynamo_compiling() and not is_traced((*args, *kwargs.values())):
        kernel._launch(grid, *args, **kwargs)  # torch's compiler split its graph here
        return
    if is_recorded():
        check_recorded((*args, *kwargs.values()))
    names = signature_of(kernel).split()
    constants = [name[1:] for name in names if name.startswith("*")]
    names = [name.removeprefix("*") for name in names]
    given = dict(zip(names, args))
    given.update(kwargs)
    words = [str(len(args))]
    objects: list[Any] = []
    leaves: list[Any] = []
    for name, value in given.items():
        is_constant = name in constants or name not in names
        words.append(f"{name}:")
        if is_constant:
            given[name] = value = _known(value)
        _flatten(value, is_constant, words, objects, leaves)
    ways = kernel.ways(given)
    _describe(ways, given, words, objects)
    words.append(_shared(leaves))
    is_inlined = torch.compiler.is_dynamo_compiling()
    operator = operator_of(kernel, is_inlined, " ".join(words), *objects)
    for index, name in enumerate(written_of(operator).split(",")):
        if name and not _may_store(leaves[index]):
            refuse_store(name, operator)
    grids = _grids(kernel, grid, ways)
    if not is_inlined and is_functionalized(leaves):
        call_functionalized(
            getattr(torch.ops.tilewright, operator), grids, leaves, written_of(operator).split(",")
        )
        return
    getattr(torch.ops.tilewright, operator)(grids, *leaves)
    forget_own_guards()


def describe_values(
    names: list[str], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> tuple[str, list[Any]]:
    """The words and objects that say of which types the arguments of an operator are."""
    words: list[str] = [str(len(args))]
    objects: list[Any] = []
    leaves: list[Any] = []
    for name, value in {**dict(zip(names, args)), **kwargs}.items():
        words.append(f"{name}:")
        _flatten(value, False, words, objects, leaves)
    return " ".join(words), objects


def _known(value: Any) -> Any:
    """The value of a compile-time constant: of a symbolic number the one that it has now, which torch
    guards."""
    import torch
    from torch.fx.experimental.symbolic_shapes import guard_scalar

    is_number = isinstance(value, (int, float, torch.SymInt, torch.SymFloat, torch.SymBool))
    return guard_scalar(value) if is_number else value


def _flatten(
    value: Any, is_constant: bool, words: list[str], objects: list[Any], leaves: list[Any]
) -> None:
    """Add a word for an argument, the objects that it needs for it, and the operator's arguments."""
    import torch

    if is_constant:
        words.append("C")
        objects.append(value)
    elif isinstance(value, torch.Tensor):
        words.append("T" if value.is_contiguous() else "S")
        objects.extend((value.dtype, value.ndim, value.device))
        leaves.append(value)
    elif isinstance(value, (bool, torch.SymBool)):
        words.append("b")
        leaves.append(value)
    elif isinstance(value, (int, torch.SymInt)):
        words.append("i")
        leaves.append(value)
    elif isinstance(value, (float, torch.SymFloat)):
        words.append("f")
        leaves.append(value)
    elif isinstance(value, (tuple, list)):
        words.append("(")
        objects.append(type(value))
        for item in value:
            _flatten(item, False, words, objects, leaves)
        words.append(")")
    else:
        _flatten_object(value, words, objects, leaves)


def _flatten_object(value: Any, words: list[str], objects: list[Any], leaves: list[Any]) -> None:
    import torch

    base = getattr(value, "base", None)
    if isinstance(base, torch.Tensor) and hasattr(value, "block_shape"):  # a tensor descriptor
        words.append("D")
        objects.extend((type(value), base.dtype, base.ndim, base.device))
        objects.extend((tuple(value.block_shape), value.padding, value.round_f32_to_tf32))
        leaves.append(base)
        leaves.extend(value.shape)
        leaves.extend(value.strides)
        return
    if isinstance(base, torch.Tensor) and hasattr(value, "dtype"):  # tw.reinterpret
        words.append("R")
        objects.extend((value.dtype, base.ndim, base.device))
        leaves.append(base)
        return
    words.append("C")
    objects.append(value)


def _describe(
    ways: list[dict[str, Any]], given: Mapping[str, Any], words: list[str], objects: list[Any]
) -> None:
    """Add the constants of each way in which the kernel may be launched."""
    for way in ways:
        words.append("|")
        for name, value in way.items():
            if name not in given:
                words.append(f"{name}:")
                words.append("C")
                objects.append(_known(value))


def _shared(leaves: list[Any]) -> str:
    """For each argument the first one that is the same tensor, as text."""
    import torch

    firsts: list[str] = []
    for index, leaf in enumerate(leaves):
        first = index
        if isinstance(leaf, torch.Tensor):
            for earlier in range(index):
                if leaves[earlier] is leaf:
                    first = earlier
                    break
        firsts.append(str(first))
    return "=" + ",".join(firsts)


def _may_store(tensor: Any) -> bool:
    """Returns true if torch's in-place operators take the tensor, too."""
    import torch

    if not (tensor.requires_grad and torch.is_grad_enabled()):
        return True
    if tensor.is_leaf:
        return False
    # torch's compiler cannot tell of views here: it learns it of the operator's fake version.
    return torch.compiler.is_dynamo_compiling() or not is_view_of_leaf(tensor)


def _grids(kernel: Any, grid: Any, ways: list[dict[str, Any]]) -> list[Any]:
    """Three extents, or three for each way where a function says."""
    if not callable(grid):
        return _extents(grid)
    grids: list[Any] = []
    for way in ways:
        arguments: dict[str, Any] = {}
        for name in options_of(kernel).split():
            arguments[name] = option_of(kernel, name)
        for name in signature_of(kernel).split():
            name = name.removeprefix("*")
            arguments[name] = None
            if name not in way:
                arguments[name] = default_of(kernel, name, _followed(kernel, name, way))
        for name, value in way.items():
            arguments[name] = value
        grids.extend(_extents(grid(arguments)))
    return grids


def _followed(kernel: Any, name: str, way: Mapping[str, Any]) -> Any:
    """The number that a parameter's bucket follows."""
    followed = default_of(kernel, name, None)
    return _known(way.get(followed[1:])) if isinstance(followed, str) and followed[:1] == "\0" else None


def _extents(grid: Any) -> list[Any]:
    extents = list(grid) if isinstance(grid, (tuple, list)) else [grid]
    if not 1 <= len(extents) <= 3:
        refuse_grid(len(extents))
    return (extents + [1, 1])[:3]
