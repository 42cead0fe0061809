"""What the code of a host function reaches: names with their attributes, imports, and effects."""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterator, Set
from typing import Any, NamedTuple, cast

MISSING: Any = object()
_ROOTS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF")
_ATTRIBUTES = ("LOAD_ATTR", "LOAD_METHOD")
_BETWEEN = ("PRECALL", "PUSH_NULL", "CACHE", "EXTENDED_ARG", "RESUME", "NOP")


class Import(NamedTuple):
    """An import within a function: of a module, or of a name in one."""

    module: str
    level: int
    name: str | None  # what is taken from the module

    def value_for(self, function: types.FunctionType) -> Any:
        """What the function gets; MISSING for a module that is not loaded, and what is not in one."""
        found = sys.modules.get(self.full_name(function))
        return found if self.name is None else getattr(found, self.name, MISSING)

    def full_name(self, function: types.FunctionType) -> str:
        """The module's name."""
        if not self.level:
            return self.module
        parent = str(function.__globals__.get("__package__") or "").split(".")
        package = parent[: len(parent) - self.level + 1]
        return ".".join([*package, self.module] if self.module else package)


class Reference(NamedTuple):
    """A global or closure name, or that of an import, the attributes read from it, and the constant
    loaded next: the first argument, or the index, where one is written out."""

    names: tuple[str, ...]
    constant: object
    origin: Import | None = None


class HostCode(NamedTuple):
    """All that a code object and the code nested in it refer to."""

    references: tuple[Reference, ...]
    imports: tuple[Import, ...]  # of names in modules, and of modules without a name
    writes_globals: bool
    names: Set[str]  # attributes that are read of anything, and texts that may name some


@functools.lru_cache(maxsize=4096)
def read_code(code: types.CodeType) -> HostCode:
    """What a code object refers to, read from its instructions."""
    instructions = [i for i in dis.get_instructions(code) if i.opname not in _BETWEEN]
    imports = [pair for index, _ in enumerate(instructions) for pair in _imports_at(instructions, index)]
    bound: dict[str, list[Import]] = {}
    for name, taken in imports:
        bound.setdefault(name, []).append(taken)
    # From cells, values are loaded in another way.
    is_import = bound.keys() - set(code.co_cellvars)
    references: list[Reference] = []
    for index, instruction in enumerate(instructions):
        if instruction.opname in _ROOTS:
            reference = _reference_at(instructions, index, str(instruction.argval))
            references += _with_origins(reference, bound) or [reference]
        elif "LOAD_FAST" in instruction.opname and "STORE_FAST_STORE" not in instruction.opname:
            *before, last = _variables_of(instruction)
            for used in [Reference((n,), None) for n in before] + [_reference_at(instructions, index, last)]:
                references += _with_origins(used, bound) if used.names[0] in is_import else []
    writes = any(i.opname in ("STORE_GLOBAL", "DELETE_GLOBAL") for i in instructions)
    texts = {text for text in code.co_consts if isinstance(text, str)}
    own = HostCode(tuple(references), tuple(taken for _, taken in imports), writes, texts.union(code.co_names))
    return _with_nested(own, code, bound)


def _variables_of(instruction: dis.Instruction) -> tuple[str, ...]:
    """The variables of an instruction; some have two."""
    value: Any = instruction.argval
    return tuple(map(str, cast("tuple[Any, ...]", value))) if isinstance(value, tuple) else (str(value),)


def _with_origins(reference: Reference, bound: dict[str, list[Import]]) -> list[Reference]:
    return [reference._replace(origin=origin) for origin in bound.get(reference.names[0], ())]


def _with_nested(own: HostCode, code: types.CodeType, bound: dict[str, list[Import]]) -> HostCode:
    """The same with what the code nested in a code object refers to, but for the variables around it."""
    references, imports, writes, names = own
    local = {*code.co_cellvars, *code.co_varnames}
    for nested in code.co_consts:
        if isinstance(nested, types.CodeType):
            inner = read_code(nested)
            for reference in inner.references:
                if reference.origin or reference.names[0] not in local:
                    references += (reference,)
                else:
                    references += tuple(_with_origins(reference, bound))
            imports, writes, names = imports + inner.imports, writes | inner.writes_globals, names | inner.names
    return HostCode(tuple(dict.fromkeys(references)), tuple(dict.fromkeys(imports)), writes, names)


def _reference_at(instructions: list[dis.Instruction], index: int, root: str) -> Reference:
    names = [root]
    for following in instructions[index + 1 :]:
        if following.opname not in _ATTRIBUTES:
            has_constant = following.opname == "LOAD_CONST"
            constant = following.argval if has_constant else None
            return Reference(tuple(names), constant if isinstance(constant, str) else None)
        names.append(str(following.argval))
    return Reference(tuple(names), None)


def _imports_at(
    instructions: list[dis.Instruction], index: int
) -> list[tuple[str, Import]]:
    """The variables that an import makes, and what of."""
    if instructions[index].opname != "IMPORT_NAME":
        return []
    module, level = str(instructions[index].argval), instructions[index - 2].argval
    level = level if isinstance(level, int) else 0
    takes_names = bool(instructions[index - 1].argval)
    found: list[tuple[str, Import]] = []
    name: str | None = None
    for following in instructions[index + 1 :]:
        if following.opname == "IMPORT_FROM":
            name = str(following.argval)
        elif following.opname.startswith("STORE_"):
            stored = _variables_of(following)[0]
            if takes_names:
                found.append((stored, Import(module, level, name)))
            else:  # `import a.b` makes `a`, `import a.b as c` takes b out of a
                whole = module if name or "." not in module else module.partition(".")[0]
                return [(stored, Import(whole, level, None))]
            if following.opname != "STORE_FAST" and following.opname != "STORE_DEREF":
                break
        elif following.opname not in ("SWAP", "ROT_TWO", "POP_TOP"):
            break
    return found or [("", Import(module, level, None))]


def resolve(function: types.FunctionType, reference: Reference) -> tuple[Any, int]:
    """The value that a reference leads to through modules, and how many of its names that takes.

    A name that is not there, or is one of the function's own variables, takes none.
    """
    value = _root(function, reference)
    if value is MISSING:
        return None, 0
    taken = 1
    for name in reference.names[1:]:
        if not isinstance(value, types.ModuleType) or not hasattr(value, name):
            break
        value = getattr(value, name)
        taken += 1
    return value, taken


def _root(function: types.FunctionType, reference: Reference) -> Any:
    if reference.origin:
        return reference.origin.value_for(function)
    code, name = function.__code__, reference.names[0]
    if name in code.co_freevars:
        try:
            return (function.__closure__ or ())[code.co_freevars.index(name)].cell_contents
        except ValueError:  # not assigned yet
            return MISSING
    if name in function.__globals__:
        return function.__globals__[name]
    return function.__builtins__.get(name, MISSING)


def imported(function: types.FunctionType, code: HostCode) -> Iterator[tuple[str, Any]]:
    """(full name, value) of what a function imports when it runs: of a module that it goes through to names
    only None, and MISSING of what is not loaded yet."""
    for taken in code.imports:
        name, value = taken.full_name(function), taken.value_for(function)
        if taken.name:
            yield f"{name}.{taken.name}", value
        elif value is MISSING or sys.modules.get(name) is None:
            yield name, MISSING
        else:
            yield name, None
