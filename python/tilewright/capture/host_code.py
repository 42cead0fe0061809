"""What the code of a host function reaches: names with their attributes, imports, and effects."""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

_MISSING: Any = object()
_ROOTS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_BETWEEN = ("PRECALL", "PUSH_NULL", "CACHE", "EXTENDED_ARG", "RESUME", "NOP")


class Reference(NamedTuple):
    """A global or closure name, the attributes read from it, and the constant loaded next.

    The constant is the first argument, or the index, where one is written out.
    """

    names: tuple[str, ...]
    constant: object


class HostCode(NamedTuple):
    """All that a code object and the code nested in it refer to."""

    references: tuple[Reference, ...]
    imports: tuple[tuple[str, int, tuple[str, ...]], ...]  # module, level, names taken from it
    writes_globals: bool


@functools.lru_cache(maxsize=4096)
def read_code(code: types.CodeType) -> HostCode:
    """What a code object refers to, read from its instructions."""
    references: list[Reference] = []
    imports: list[tuple[str, int, tuple[str, ...]]] = []
    writes = False
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _BETWEEN]
    for index, instruction in enumerate(instructions):
        if instruction.opname in _ROOTS:
            references.append(_reference_at(instructions, index))
        elif instruction.opname == "IMPORT_NAME":
            imports.append(_import_at(instructions, index))
        writes |= instruction.opname in ("STORE_GLOBAL", "DELETE_GLOBAL")
    for nested in code.co_consts:
        if isinstance(nested, types.CodeType):
            inner = read_code(nested)
            own = (*code.co_cellvars, *code.co_varnames)
            references += [r for r in inner.references if r.names[0] not in own]
            imports += inner.imports
            writes |= inner.writes_globals
    return HostCode(tuple(dict.fromkeys(references)), tuple(dict.fromkeys(imports)), writes)


def _reference_at(instructions: list[dis.Instruction], index: int) -> Reference:
    names = [str(instructions[index].argval)]
    for following in instructions[index + 1 :]:
        if following.opname not in _ATTRIBUTES:
            has_constant = following.opname == "LOAD_CONST"
            constant = following.argval if has_constant else None
            return Reference(tuple(names), constant if isinstance(constant, str) else None)
        names.append(str(following.argval))
    return Reference(tuple(names), None)


def _import_at(
    instructions: list[dis.Instruction], index: int
) -> tuple[str, int, tuple[str, ...]]:
    taken: list[str] = []
    for following in instructions[index + 1 :]:
        if following.opname == "IMPORT_FROM":
            taken.append(str(following.argval))
        elif following.opname not in ("STORE_FAST", "STORE_DEREF"):
            break
    level = instructions[index - 2].argval
    return str(instructions[index].argval), level if isinstance(level, int) else 0, tuple(taken)


def resolve(function: types.FunctionType, reference: Reference) -> tuple[Any, int]:
    """The value that a reference leads to through modules, and how many of its names that takes.

    A name that is not there, or is one of the function's own variables, takes none.
    """
    value = _root(function, reference.names[0])
    if value is _MISSING:
        return None, 0
    taken = 1
    for name in reference.names[1:]:
        if not isinstance(value, types.ModuleType) or not hasattr(value, name):
            break
        value = getattr(value, name)
        taken += 1
    return value, taken


def _root(function: types.FunctionType, name: str) -> Any:
    code = function.__code__
    if name in code.co_freevars:
        try:
            return (function.__closure__ or ())[code.co_freevars.index(name)].cell_contents
        except ValueError:  # not assigned yet
            return _MISSING
    if name in function.__globals__:
        return function.__globals__[name]
    return function.__builtins__.get(name, _MISSING)


def imported(function: types.FunctionType, code: HostCode) -> Iterator[tuple[str, Any, bool]]:
    """(full name, value, whether only this was taken) of what a function imports when it runs.

    A module that is not loaded yet is None.
    """
    package = str(function.__globals__.get("__package__") or "")
    for name, level, taken in code.imports:
        if level:
            parent = package.split(".")[: len(package.split(".")) - level + 1]
            name = ".".join([*parent, name] if name else parent)
        module = sys.modules.get(name)
        if not taken:
            yield name, module, False
        for attribute in taken:
            yield f"{name}.{attribute}", getattr(module, attribute, None), True
