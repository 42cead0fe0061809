"""`@tw.torch_op`: makes a function that launches kernels an operator of torch."""

from __future__ import annotations

import contextlib
import functools
import inspect
import threading
import typing
from collections.abc import Callable, Mapping, Sequence
from types import FunctionType
from typing import Any

from ..launch.arguments.leaves import keeps_gradients, leaf_error
from ..graphs.tracing import constant_when_traced
from ..launch.arguments.tracing import inlined_as
from ..graphs.any_arguments import AnyArray, AnyNumber
from ..graphs.operators import argument_form
from ..graphs.traced import describe_values
from ..launch.references import ByReference
from ..native.errors import LaunchError

# An extent in a trial for arguments whose sizes are not known.
_EXTENT = 16


def _inlined_call(self: Any, *args: Any, **kwargs: Any) -> Any:
    """A call as torch's compiler sees it: of the operator."""
    import torch

    words, objects = describe_values(parameters_of(self).split(), args, kwargs)
    name = defined_name(self, words, *objects)
    namespace, name = name.split("::")
    return getattr(getattr(torch.ops, namespace), name)(*args, **kwargs)


@constant_when_traced
def parameters_of(operator: Any) -> str:
    """The names of the parameters of an operator's function."""
    return " ".join(operator.parameters)


@constant_when_traced
def defined_name(operator: Any, words: str, *objects: Any) -> str:
    """The operator's name, when it is defined; by a trial with such types where it is not yet."""
    form = argument_form(words, objects)
    operator.define(lambda: {name: _sample(value) for name, value in form.stand_ins.items()})
    return operator.name


def _sample(value: Any) -> Any:
    import torch

    if isinstance(value, AnyArray):
        return torch.empty([_EXTENT] * len(value.shape), dtype=value.element_type, device=value.device)
    if isinstance(value, AnyNumber):
        return {"i32": _EXTENT, "fp32": 1.0, "i1": False}[value.type]
    if isinstance(value, (tuple, list)):
        return [_sample(item) for item in value]  # pyright: ignore[reportUnknownVariableType]
    return value


class TorchOp(ByReference):
    """A function as an operator of torch, `torch.ops.NAMESPACE.NAME`. Made by `tw.torch_op`.

    Its schema is defined at the first call: types by the function's annotations (`int` is `SymInt`),
    what it writes by a trial on tensors without values. The function itself is its fake version, in
    which launches run nothing.
    """

    def __init__(self, name: str, fn: FunctionType) -> None:
        self.name, self.fn = name, fn
        self.parameters = fn.__code__.co_varnames[: fn.__code__.co_argcount + fn.__code__.co_kwonlyargcount]
        functools.update_wrapper(self, fn, updated=())
        self.written: tuple[str, ...] = ()
        self._definition: Any = None  # a torch.library.CustomOpDef
        self._function: Any = None  # for transforms of torch.func, where there is a backward pass
        self._lock = threading.RLock()
        self._vmap: Callable[..., Any] | None = None
        self._late: list[Callable[[Any], None]] = []  # what is registered before the definition

    @inlined_as(_inlined_call)
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        from torch.autograd import forward_ad

        is_transformed = _is_transformed()
        if is_transformed or forward_ad._current_level >= 0:
            from .derivatives import check_forward

            check_forward(self, (*args, *kwargs.values()))
        if self._function is not None and is_transformed:
            return self._function.apply(*self._in_order(args, kwargs))
        return self.call(*args, **kwargs)

    def call(self, *args: Any, **kwargs: Any) -> Any:
        """Call the operator itself, with the rules that torch's dispatcher has."""
        given = dict(zip(self.parameters, args)) | kwargs
        if self._definition is None:
            from .trial import fake_of

            self.define(lambda: {name: fake_of(value) for name, value in given.items()})
        for name in self.written:
            if keeps_gradients(given.get(name)):
                raise leaf_error(f"the operator {self.name}", name)
        return self._definition(*args, **kwargs)

    def _in_order(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        bound = inspect.signature(self.fn).bind(*args, **kwargs)
        bound.apply_defaults()
        return [*bound.arguments.values()]

    def __repr__(self) -> str:
        return f"<operator {self.name} of {self.fn.__module__}.{self.fn.__qualname__}>"

    def define(self, arguments: Callable[[], Mapping[str, Any]]) -> None:
        """Define the operator, if that is still to be done. Raises LaunchError TW0444."""
        with self._lock:
            if self._definition is not None:
                return
            import torch

            from .trial import try_out, underived

            try:
                self.fn.__annotations__ = _annotations(self.fn)
                torch.library.infer_schema(self.fn, mutates_args=())
            except Exception as error:
                raise underived(self.fn, self.name, str(error).splitlines()[0]) from error
            with _outside_of_transforms():
                self.written = try_out(self.fn, self.name, arguments)
            schema = torch.library.infer_schema(self.fn, mutates_args=self.written)
            run = functools.wraps(self.fn)(functools.partial(_run, self))
            definition = torch.library.custom_op(
                self.name, run, mutates_args=self.written, schema=schema
            )
            definition.register_fake(self.fn)
            definition.register_vmap(self.map)
            for register in self._late:
                register(definition)
            self._definition = definition

    @property
    def schema(self) -> str | None:
        """The operator's schema, once it is defined."""
        return None if self._definition is None else str(self._definition._opoverload._schema)

    def _register(self, register: Callable[[Any], None]) -> None:
        with self._lock:
            if self._definition is None:
                self._late.append(register)
            else:
                register(self._definition)

    def register_backward(
        self,
        backward: Any,
        *,
        setup_context: Callable[..., None] | None = None,
        is_differentiable: bool = False,
        grid: Any = None,
        **constants: Any,
    ) -> Any:
        """Give the operator a backward pass; returns `backward`, so that it is a decorator too.

        A function `backward(ctx, *gradients)` returns a gradient or None for each parameter.
        `setup_context(ctx, inputs, output)` keeps what it needs; without one `ctx.saved_tensors` are
        the tensors among the arguments and then among the results, and `ctx.arguments` has the other
        arguments by name. A kernel, with its `grid` and `constants`, is launched with its parameters
        by name: the operator's parameters, `out`, `grad_out`, and `grad_NAME` for the gradients that
        it writes. Launches have no derivative: a second one is refused unless `is_differentiable`
        says that the function is made of operators that have one.
        """
        from .derivatives import backward_of, function_of

        rule, setup = backward_of(self, backward, setup_context, is_differentiable, grid, constants)
        self._function = function_of(self, rule, setup)
        self._register(lambda definition: definition.register_autograd(rule, setup_context=setup))
        return backward

    def register_autocast(self, device_type: str, cast_inputs: Any) -> None:
        """Cast floating tensors to the dtype `cast_inputs` where torch.autocast is on for a device."""
        self._register(lambda definition: definition.register_autocast(device_type, cast_inputs))

    def register_vmap(self, rule: Callable[..., Any]) -> Callable[..., Any]:
        """Give the operator a rule for torch.func.vmap, `rule(info, in_dims, *args)`, which returns the
        result and its batch dimensions. Returns the rule."""
        self._vmap = rule
        return rule

    def map(self, info: Any, in_dims: Sequence[Any], *args: Any) -> Any:
        """Run over a batch by the rule that was registered. Raises LaunchError TW0441 without one."""
        if self._vmap is None:
            raise LaunchError(
                f"the operator {self.name} is within torch.func.vmap, and has no rule for it",
                code="TW0441",
                hint=f"register one: @{self.fn.__name__}.register_vmap",
            )
        return self._vmap(info, in_dims, *args)


def _is_transformed() -> bool:
    """Returns true within a transform of torch.func."""
    import torch

    return torch._C._functorch.peek_interpreter_stack() is not None


def _outside_of_transforms() -> Any:
    """A block in which operators are not those of a transform of torch.func."""
    from torch._functorch.pyfunctorch import temporarily_clear_interpreter_stack

    return temporarily_clear_interpreter_stack() if _is_transformed() else contextlib.nullcontext()


def _annotations(function: FunctionType) -> dict[str, Any]:
    """The annotations as objects, where they are texts, too; None as itself."""
    hints = typing.get_type_hints(function)
    return {name: None if hint is type(None) else hint for name, hint in hints.items()}


def _run(operator: TorchOp, *args: Any, **kwargs: Any) -> Any:
    """Run the function, and see that it writes nothing else than the schema says."""
    import torch

    given = dict(zip(operator.parameters, args)) | kwargs
    read = [
        (name, value, value._version)
        for name, value in given.items()
        if isinstance(value, torch.Tensor) and name not in operator.written and not value.is_inference()
    ]
    result = operator.fn(*args, **kwargs)
    for name, value, version in read:
        if value._version != version:
            raise LaunchError(
                f"the operator {operator.name} wrote `{name}`, which it did not in its first call",
                code="TW0442",
                hint="make functions that write other arguments operators of their own",
            )
    return result


def torch_op(name: str) -> Callable[[Callable[..., Any]], TorchOp]:
    """Make a function that launches kernels an operator of torch: `@tw.torch_op("namespace::name")`.

    The function's parameters and result are annotated with what operators take (torch.Tensor, int,
    float, bool, str, lists and optional ones). Raises ValueError for a name without a namespace;
    LaunchError TW0444 at the first call where no schema can be derived.
    """
    namespace, separator, end = name.partition("::")
    if not (separator and namespace.isidentifier() and end.isidentifier()):
        raise ValueError(f"an operator is named 'namespace::name', not {name!r}")

    def decorate(function: Callable[..., Any]) -> TorchOp:
        if not isinstance(function, FunctionType):
            raise TypeError(f"@tw.torch_op decorates functions, not {type(function).__name__}")
        return TorchOp(name, function)

    return decorate
