"""The operators of torch that stand for launches in graphs: their names, schemas and what they run."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from ..capture import capture, is_jit
from ..capture.digests import digest_bytes
from ..compile import CompiledKernel
from ..compile.options import Options
from ..language.dtypes import dtype
from ..language.sizes import bucket
from ..native import native
from ..native.errors import InternalError, LaunchError
from ..launch.arguments import ArgumentProblem, constexpr_key
from ..launch.arguments.leaves import is_view_of_leaf, leaf_error
from .tracing import WITHIN, constant_when_traced
from .forms import Form

NAMESPACE = "tilewright"
# Names that mean something else in a schema.
_RESERVED = frozenset(
    ("grid", "self", "int", "float", "bool", "str", "Tensor", "SymInt", "Scalar", "Device", "None")
)

_operators: dict[Any, Operator] = {}  # by what they were asked for with
_by_name: dict[str, Operator] = {}
_lock = threading.RLock()
_libraries: list[Any] = []


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_renew_lock)  # another thread may have held it


def _kernel_inside(kernel: Any) -> Any:
    while not hasattr(kernel, "_binder"):
        kernel = kernel.fn
    return kernel


@constant_when_traced
def signature_of(kernel: Any) -> str:
    """The names of a kernel's parameters, those of constants behind a star."""
    parameters = _kernel_inside(kernel).parameters
    return " ".join(f"{'*' if p.is_constant else ''}{p.name}" for p in parameters)


@constant_when_traced
def options_of(kernel: Any) -> str:
    """The names of the options that a grid's function sees."""
    return " ".join(_kernel_inside(kernel)._options._asdict())


@constant_when_traced
def option_of(kernel: Any, name: str) -> Any:
    """The value of an option where a launch gives none."""
    return getattr(_kernel_inside(kernel)._options, name)


@constant_when_traced
def default_of(kernel: Any, name: str, followed: Any) -> Any:
    """The value of a parameter that a launch leaves out; of a bucket the size for the number that it
    follows, and where that is None the name of the parameter that it follows, behind a zero."""
    for parameter in _kernel_inside(kernel).parameters:
        if parameter.name == name:
            if isinstance(parameter.steps, bucket):
                steps = parameter.steps
                return f"\0{steps.follows}" if followed is None else steps.size_of(followed)
            return parameter.default if parameter.has_default else None
    return None


@constant_when_traced
def is_recorded() -> bool:
    """Returns true while torch.jit.trace records the operators of this thread."""
    import torch

    return torch._C._get_tracing_state() is not None


@constant_when_traced
def check_recorded(values: Sequence[Any]) -> None:
    """Refuse sizes as torch.jit.trace has them, which cannot be told from arrays of one number."""
    import torch

    for value in values:
        if isinstance(value, torch.Tensor) and not value.ndim and not value.is_floating_point():
            raise LaunchError(
                "torch.jit.trace makes tensors of sizes, which a launch takes for arrays",
                code="TW0443",
                hint="write int(x.numel()), or use torch.export, which keeps sizes symbolic",
            )


@constant_when_traced
def refuse_grid(count: int) -> None:
    """Raise the error of a grid with too many extents, or none."""
    raise LaunchError(
        f"a grid has one to three numbers, not {count}",
        code="TW0402",
        hint="tw.cdiv(n, BLOCK) is the usual extent",
    )


@constant_when_traced
def refuse_store(name: str, operator: str) -> None:
    """Raise the error of a store into a tensor that autograd keeps as it is."""
    raise leaf_error(f"the kernel {_by_name[operator].kernel_name}", name)


@constant_when_traced
def written_of(operator: str) -> str:
    """The names of the arguments that an operator writes, empty ones for others, between commas."""
    return ",".join(_by_name[operator].written)


@constant_when_traced
def operator_of(kernel: Any, is_inlined: bool, description: str, *objects: Any) -> str:
    """The name of the operator of such launches, which is defined when it is first asked for.

    `description` has a word for each argument and constant, as `launch_traced` writes them, and
    `objects` what the words refer to. Raises what a launch with such arguments raises. Where no operator
    takes them, torch's compiler splits its graph at the launch if it looks into it (`is_inlined`).
    """
    if any(map(_is_of_numpy, objects)):
        raise _untraceable(kernel, "an array of NumPy", is_inlined)
    try:
        # A kernel whose text was changed is another one.
        meaning = _meaning_of(_kernel_inside(kernel))
        key = kernel, meaning, description, constexpr_key(tuple(map(_plain, objects)))
    except ArgumentProblem as problem:
        raise _untraceable(kernel, problem.message, is_inlined) from None
    with _lock:
        operator = _operators.get(key)
        if operator is None:
            operator = Operator(kernel, description, objects)
            operator.define()
            _operators[key] = _by_name[operator.name] = operator
        return operator.name


def _is_of_numpy(value: Any) -> bool:
    """Returns true for arrays and dtypes: torch's compiler takes arrays of NumPy for tensors with such."""
    return type(value).__module__.startswith("numpy") and getattr(value, "ndim", 1) != 0


def _untraceable(kernel: Any, reason: str, is_inlined: bool) -> Exception:
    error = LaunchError(
        f"torch traces a launch of {_kernel_inside(kernel).fn.__name__} with an argument that no "
        f"operator takes: {reason}",
        code="TW0443",
        hint="pass torch tensors, numbers and compile-time constants, or launch outside of the trace",
    )
    if not is_inlined:
        return error
    from torch._dynamo.exc import Unsupported

    return Unsupported(str(error))


def operator_names() -> list[str]:
    """The names of the operators of this process, in the order of their definition."""
    return [*_by_name]


def argument_form(description: str, objects: Sequence[Any]) -> Form:
    """The form that the words of arguments describe, as `describe_values` gives them."""
    return Form(f"{description} =", objects)


def _meaning_of(kernel: Any) -> str:
    return kernel._source(()).capture.meaning


def _plain(value: Any) -> Any:
    return str(value) if type(value).__module__ == "torch" else value


class Operator:
    """One operator: a kernel with the types of its arguments, and all that is constant in the launch."""

    def __init__(self, kernel: Any, description: str, objects: Sequence[Any]) -> None:
        self.kernel = kernel
        self.inside = _kernel_inside(kernel)
        self.kernel_name: str = self.inside.fn.__name__
        self.form = Form(description, objects)
        self.stored = self._stored()
        self.written = self._written()
        self.name = self._name(description, objects)
        self.checked: list[CompiledKernel | None] = [None]  # one whose stores the schema has

    def _stored(self) -> set[str] | None:
        """The arrays that any of the ways stores to; None: it may be all."""
        stored: set[str] = set()
        for way in self.form.ways:
            found = self.inside.stored_arguments({**self.form.stand_ins, **way})
            if found is None:
                return None
            stored |= found
        touched = self.kernel.touched_arguments()
        return None if touched is None else stored | touched

    def _written(self) -> list[str]:
        """The path of each written argument of the operator; empty for others."""
        leaves = self.form.leaves
        is_written = [
            kind == "Tensor" and (self.stored is None or path in self.stored) for path, kind in leaves
        ]
        # A tensor that is given twice is written through both.
        groups = {self.form.shared[i] for i, is_one in enumerate(is_written) if is_one}
        return [path if self.form.shared[i] in groups else "" for i, (path, _) in enumerate(leaves)]

    def _name(self, description: str, objects: Sequence[Any]) -> str:
        fn = self.inside.fn
        texts = [fn.__module__, fn.__qualname__, _meaning_of(self.inside), description]
        texts += [*map(_text_of, objects), *self.written]
        digest = digest_bytes("\0".join(texts).encode())[:16]
        name = f"{self.kernel_name}_{digest}"
        taken = 1
        while name in _by_name:
            taken += 1
            name = f"{self.kernel_name}_{digest}_{taken}"
        return name

    def schema(self) -> str:
        """The operator's schema: the grid, and the arguments that a launch has at run time."""
        entries = ["SymInt[] grid"]
        seen = set(_RESERVED)
        for index, (path, kind) in enumerate(self.form.leaves):
            name = "".join(c if c.isalnum() or c == "_" else "_" for c in path).rstrip("_")
            while not name or name in seen:
                name += "_"
            seen.add(name)
            alias = f"(a{index}!)" if self.written[index] else ""
            entries.append(f"{kind}{alias} {name}")
        return f"{self.name}({', '.join(entries)}) -> ()"

    def define(self) -> None:
        """Register the operator with torch."""
        import torch

        if not _libraries:
            _libraries.append(torch.library.Library(NAMESPACE, "FRAGMENT"))
        library = _libraries[0]
        # Kernels compute with the strides that they are given. The order says all of contiguous tensors,
        # and torch 2.13 fails where it copies tensors of symbolic sizes that need exact ones.
        strides = "needs_fixed_stride_order" if self.form.is_contiguous else "needs_exact_strides"
        tags = [tag for tag in (strides, "pt2_compliant_tag") if hasattr(torch.Tag, tag)]
        library.define(self.schema(), tags=tuple(getattr(torch.Tag, tag) for tag in tags))
        library.impl(self.name, self._make_run(), "CompositeExplicitAutograd")
        library.impl(self.name, torch.library.fallthrough_kernel, "Autograd")
        library.impl(self.name, self._refuse_vmap, "FuncTorchBatched")
        torch.library.register_fake(f"{NAMESPACE}::{self.name}", self._run_fake, lib=library)

    def _refuse_vmap(self, *_: Any) -> None:
        raise LaunchError(
            f"the launch of {self.kernel_name} is within torch.func.vmap, which has no rule for it",
            code="TW0441",
            hint="make it a tw.torch_op with register_vmap, or launch over the whole batch",
        )

    def _run_fake(self, grid: Sequence[int], *leaves: Any) -> None:
        """A launch on tensors without values."""
        import torch

        if torch.is_grad_enabled():
            for name, leaf in zip(self.written, leaves):
                if name and is_view_of_leaf(leaf):
                    raise leaf_error(f"the kernel {self.kernel_name}", name)

    def _make_run(self) -> Callable[..., None]:
        """Make the function that the operator runs: the launch, and no code of Python where that is all."""
        form, kernel = self.form, self.kernel
        names = [parameter.name for parameter in self.inside.parameters]
        leading, given = [path for path, _ in form.leaves], [*form.makers]
        constants = names[len(leading) : len(given)]
        # The operator's arguments are the first parameters, and all constants follow them.
        is_plain = form.is_plain and leading == names[: len(leading)] and len(form.ways) == 1
        if not is_plain or {*constants} != {*given} - {*leading} or kernel is not self.inside:
            return self._run
        rest = tuple(form.constants[name] for name in constants)
        return native().make_operator(kernel, rest, self.checked, self._check, self._run)

    def _run(self, grid: Sequence[int], *leaves: Any) -> None:
        WITHIN.depth += 1
        try:
            extents = tuple(grid) if len(grid) == 3 else self._grid_of_ways(grid)
            values = {name: make(leaves) for name, make in self.form.makers.items()}
            names = list(values)[: self.form.num_positional]
            positional = [values.pop(name) for name in names]
            ran = self.kernel[extents](*positional, **values)
        finally:
            WITHIN.depth -= 1
        if ran is not self.checked[0]:
            self._check(ran)

    def _grid_of_ways(self, grids: Sequence[int]) -> Callable[[Mapping[str, Any]], tuple[int, ...]]:
        def grid(arguments: Mapping[str, Any]) -> tuple[int, ...]:
            for index, way in enumerate(self.form.ways):
                if all(name in arguments and arguments[name] == value for name, value in way.items()):
                    return tuple(grids[3 * index : 3 * index + 3])
            raise InternalError(f"no configuration of {self.kernel_name} is launched so")

        return grid

    def _check(self, ran: Any) -> None:
        """Compare what a kernel stores to with the schema: a graph relies on it."""
        if not isinstance(ran, CompiledKernel):
            return
        tensors = {path for path, kind in self.form.leaves if kind == "Tensor"}
        unknown = (ran.stored_arrays() & tensors) - set(self.written)
        if unknown:
            raise LaunchError(
                f"the kernel {self.kernel_name} stores to {', '.join(sorted(unknown))}, which it did not "
                "when the graph with its launch was made",
                code="TW0442",
                hint="make the graph anew (torch.compiler.reset()) after a change of a kernel",
            )
        self.checked[0] = ran


def _text_of(value: Any) -> str:
    """A text that is the same in each process for a constant; another one each time where none is."""
    if is_jit(value):
        return capture(value).meaning
    kind = type(value)
    if kind.__module__ == "torch" or kind in (int, bool, str, float, type(None), dtype, Options):
        return f"{kind.__name__} {value!r}"
    if kind in (tuple, list):
        return f"({' '.join(map(_text_of, cast('Sequence[Any]', value)))})"
    if isinstance(value, type):
        return f"{value.__module__}.{value.__qualname__}"
    return os.urandom(16).hex()
