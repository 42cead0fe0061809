"""What a function writes and returns, found by a run on tensors without values, in which launches run
nothing and are operators that say what they store to."""

from __future__ import annotations

import contextlib
import inspect
import traceback
from collections.abc import Callable, Iterator, Mapping
from types import FunctionType
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode, _disable_current_modes

from ..native.errors import LaunchError

_HINT = (
    "annotate each parameter and the result with what operators take, and write the function so that "
    "it reads no values of tensors and returns tensors of its own"
)


class _Recorder(TorchDispatchMode):
    """Notes the memory that operators write."""

    def __init__(self) -> None:
        super().__init__()
        self.written: set[int] = set()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        for index, argument in enumerate(func._schema.arguments):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            value = args[index] if index < len(args) else kwargs.get(argument.name)
            self.written.update(map(_memory_of, _tensors(value)))
        return func(*args, **kwargs)


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, (tuple, list)):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from _tensors(item)


def _memory_of(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def underived(function: FunctionType, name: str, reason: str, line: int | None = None) -> LaunchError:
    """The error of an operator whose schema cannot be derived, with the reason at its line."""
    code = function.__code__
    message = f"no schema of the operator {name} can be derived: {reason}"
    place = f"{code.co_filename}:{line or code.co_firstlineno}"
    rendered = f"error[TW0444]: {message}\n  --> {place}\n  = hint: {_HINT}"
    return LaunchError(message, code="TW0444", hint=_HINT, rendered=rendered)


def try_out(function: FunctionType, name: str, arguments: Callable[[], Mapping[str, Any]]) -> tuple[str, ...]:
    """The names of the parameters that a function writes, by a run with arguments that `arguments` makes in a mode of fake tensors. Raises
    LaunchError TW0444 where it reads values, or returns an argument or a view of one."""
    with _disable_current_modes(), FakeTensorMode(allow_non_fake_inputs=True), _without_gradients():
        given = arguments()
        recorder = _Recorder()
        try:
            with recorder:
                result = function(**given)
        except Exception as error:
            raise _failure(function, name, error) from error
        memory = {key: {_memory_of(t) for t in _tensors(value)} for key, value in given.items()}
        returned = {_memory_of(tensor) for tensor in _tensors(result)}
    for key, places in memory.items():
        if places & returned:
            reason = f"it returns its argument `{key}`, or a view of it"
            raise underived(function, name, reason, _line_of_return(function))
    return tuple(key for key, places in memory.items() if places & recorder.written)


@contextlib.contextmanager
def _without_gradients() -> Iterator[None]:
    """torch.no_grad, of which a graph that is being made learns nothing."""
    was_enabled = torch.is_grad_enabled()
    _set_gradients(False)
    try:
        yield
    finally:
        _set_gradients(was_enabled)


def _set_gradients(are_recorded: bool) -> None:
    with torch._C.DisableTorchFunction():
        torch._C._set_grad_enabled(are_recorded)


def _failure(function: FunctionType, name: str, error: Exception) -> LaunchError:
    lines = [
        frame.lineno
        for frame in traceback.extract_tb(error.__traceback__)
        if frame.filename == function.__code__.co_filename
    ]
    kind = type(error).__name__
    reason = f"a run without values raised {kind}: {str(error).splitlines()[0] if str(error) else ''}"
    if "DataDependent" in kind or "dynamic_output_shape" in kind:
        reason = f"it reads values of a tensor ({kind})"
    return underived(function, name, reason, lines[-1] if lines else None)


def _line_of_return(function: FunctionType) -> int | None:
    try:
        lines, first = inspect.getsourcelines(function)
    except OSError:
        return None
    found = [index for index, line in enumerate(lines) if line.strip().startswith("return")]
    return first + found[-1] if found else first


def fake_of(value: Any) -> Any:
    """The same argument without values, for a mode of fake tensors that is active."""
    if isinstance(value, torch.Tensor):
        shape = [_hint(extent) for extent in value.shape]
        strides = [_hint(stride) for stride in value.stride()]
        return torch.empty_strided(shape, strides, dtype=value.dtype, device=value.device)
    if isinstance(value, (tuple, list)):
        return [fake_of(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
        return _hint(value)
    return value


def _hint(number: Any) -> Any:
    hint = getattr(getattr(number, "node", None), "hint", number)
    return 16 if hint is None else hint
