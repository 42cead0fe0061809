"""The module of Python that `--form jax` writes beside a package's library: its kernels as functions of
JAX's arrays."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ..language.element_types import BY_SHORT_NAME
from .jax_text import HEAD
from .frameworks import extent
from .operator_rules import refused, returned_arguments, schema_arguments
from .specializations import Argument

if TYPE_CHECKING:
    from .package import ExportedKernel

_RESERVED = frozenset({"grid"})


def _dtype(argument: Argument) -> str:
    return BY_SHORT_NAME[argument.type.removeprefix("k")].library


def _number(index: int, argument: Argument) -> str:
    name = argument.name
    if argument.type == "i1":
        return f'"a{index}": _np.bool_({name})'
    if argument.is_integer:
        return f'"a{index}": _tw_integer("{name}", {name}, "{argument.type}")'
    return f'"a{index}": _np.float64({name})'


class _Extents(ast.NodeTransformer):
    """Functions of shapes as the module calls them."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
        arguments = [self.visit(argument) for argument in node.args]
        return ast.Call(ast.Name(f"_tw_{name}", ast.Load()), arguments, [])


def _shape(kernel: ExportedKernel, argument: Argument, arrays: Mapping[str, Argument]) -> str:
    shape = kernel.rules.outputs[argument.name]
    if len(shape) == 1 and shape[0] in arrays:
        return f"{shape[0]}.shape"
    sizes = {a.name: a.name for a in kernel.arguments if a.is_integer}
    for text in shape:
        extent(kernel.name, argument.name, text, sizes)  # the same refusals as of C
    parts = [ast.unparse(_Extents().visit(ast.parse(text, mode="eval").body)) for text in shape]
    return f"({', '.join(parts)}{',' * (len(parts) == 1)})"


def _function(kernel: ExportedKernel, backward: ExportedKernel | None) -> Iterator[str]:
    given = schema_arguments(kernel)
    arrays = {a.name: a for _, a in given if a.is_pointer}
    names, parameters = ", ".join(arrays), ", ".join(a.name for _, a in given)
    listed = f"({names}{',' * (len(arrays) == 1)})"
    results = ", ".join(a.name for _, a in returned_arguments(kernel))
    yield f"\n\ndef {kernel.name}({parameters}, *, grid=None):"
    yield f"    {kernel.summary or f'The kernel {kernel.name}: returns {results}.'!r}"
    for name, argument in arrays.items():
        yield f'    {name} = _tw_array("{kernel.name}", "{name}", {name}, "{_dtype(argument)}")'
    for name, (array, dimension) in kernel.rules.filled.items():
        rank = len(kernel.rules.strides[array])
        yield f'    {name} = _tw_stride("{kernel.name}", "{array}", {array}, {dimension}, {rank})'
    numbers = ", ".join(_number(index, a) for index, a in given if not a.is_pointer)
    yield f"    numbers = {{{numbers}}}"
    yield "    results = ["
    for _, argument in returned_arguments(kernel):
        yield f'        ({_shape(kernel, argument, arrays)}, "{_dtype(argument)}"),'
    yield "    ]"
    yield f'    call = _tw_call("{kernel.name}", results, numbers, grid)'
    if backward is None:
        yield f"    return call(*{listed})"
        return
    scalars = ", ".join(f'"{a.name}": {a.name}' for _, a in given if not a.is_pointer)
    takes = [a.name for _, a in schema_arguments(backward)]
    yield "    return _tw_differentiable("
    yield f'        "{kernel.name}", call, {[*arrays]}, {[*kernel.rules.outputs]}, {backward.name}, {takes},'
    yield f"        {[*backward.rules.outputs]}, {{{scalars}}},"
    yield f"    )(*{listed})"


def write_module(package: str, kernels: Sequence[ExportedKernel]) -> str:
    """The text of NAME_jax.py. Raises UnsupportedError TW0803 for names that Python or the module takes."""
    by_name = {kernel.name: kernel for kernel in kernels}
    lines = [HEAD.format(package=package, names=[*by_name])]
    for kernel in kernels:
        if keyword.iskeyword(kernel.name):
            hint = "add it under another name: package.add(kernel, ..., name='another')"
            raise refused(kernel.name, "its name is a word of Python", hint)
        for argument in kernel.arguments:
            if argument.name in _RESERVED or argument.name.startswith(("_tw_", "_jax", "_np", "_jnp")):
                what = f"it has a parameter `{argument.name}`, which the functions of JAX take themselves"
                raise refused(kernel.name, what, "give the parameter another name")
        lines += _function(kernel, by_name.get(kernel.rules.backward))
    return "\n".join(lines) + "\n"
