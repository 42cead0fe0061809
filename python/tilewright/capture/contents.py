"""A digest of what Python code can see in an object, so that a kernel's key covers it."""

from __future__ import annotations

import dataclasses
import enum
import functools
import json
import os
import types
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, cast

from ..language import static
from .classes import (
    attributes_of, attributes_of_function, home_of, is_made_by_dataclass, is_settled, is_settled_function, variables_of
)  # fmt: skip
from .digests import digest_bytes
from .host_code import MISSING, imported, read_code, resolve
from .purity import is_environment, is_pure_module
from .values import Json, NoObjects, Objects, encode_type, is_jit, plain_function

_MAX_DEPTH = 24
_MAX_ITEMS = 4096
_MAX_ARRAY_BYTES = 1 << 24
_BEHAVIOUR = (types.FunctionType, property, staticmethod, classmethod)
_PLAIN = (type(None), bool, int, float, complex, str, bytes, range, type(Ellipsis), type(NotImplemented))


class _Opaque(Exception):
    """The object has state that cannot be seen or is too large."""


def digest_of(value: object, objects: Objects) -> str | None:
    """A digest of an object's contents, or None when they cannot be known completely."""
    walk = _Walk(objects)
    walk.hidden += isinstance(value, (types.FunctionType, types.MethodType))
    return walk.digest(value)


class Seen(NamedTuple):
    """An object's contents at one time, in this process."""

    digest: str | None  # None where they cannot be known completely
    functions: list[Any]  # that a kernel may find there, as far as was looked


def look_into(value: object) -> Seen:
    """The contents of an object. The digest is that of no others while the functions are kept."""
    functions = _ByIdentity()
    return Seen(_Walk(functions).digest(value), functions.found)


class _ByIdentity(NoObjects):
    """Functions of an object that may change: within a process identity tells enough."""

    def __init__(self) -> None:
        self.found: list[Any] = []

    def function(self, value: Any) -> Json | None:
        self.found.append(value)
        return {"k": "jit", "v": id(value)}


class _Walk:
    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.open: dict[int, int] = {}
        # Classes and functions that were seen: (id, whether inside of one) -> which one it was.
        self.known: dict[tuple[int, bool], tuple[int, Any]] = {}
        self.items = 0
        self.hidden = 0  # how many functions and classes the walk is inside of

    def digest(self, value: object) -> str | None:
        try:
            text = self.contents(value, 0)
        except _Opaque:
            return None
        return digest_bytes(text.encode("utf-8", "surrogatepass"))

    def contents(self, value: Any, depth: int) -> str:
        self.items += 1
        if depth > _MAX_DEPTH or self.items > _MAX_ITEMS:
            raise _Opaque
        kind: type[Any] = type(value)
        if kind in _PLAIN:
            return repr(value)
        if id(value) in self.open:
            return f"again {self.open[id(value)]}"
        self.open[id(value)] = len(self.open)
        try:
            read = _KINDS.get(kind)
            return read(self, value, depth + 1) if read else self._other(value, depth + 1)
        finally:
            del self.open[id(value)]

    def of_list(self, items: Iterable[Any], depth: int) -> str:
        return "[" + ",".join([self.contents(item, depth) for item in items]) + "]"

    def of_tuple(self, items: tuple[Any, ...], depth: int) -> str:
        return "tuple" + self.of_list(items, depth)

    def of_pairs(self, pairs: dict[Any, Any], depth: int) -> str:
        texts = [self.contents(k, depth) + ":" + self.contents(v, depth) for k, v in pairs.items()]
        return "{" + ",".join(texts) + "}"

    def of_members(self, members: Iterable[Any], depth: int) -> str:
        return "set{" + ",".join(sorted(self.contents(item, depth) for item in members)) + "}"

    def of_slice(self, value: slice, depth: int) -> str:
        return "slice" + self.of_list((value.start, value.stop, value.step), depth)

    def of_code(self, code: types.CodeType, depth: int) -> str:
        text = _instructions_of(code)
        return text + self.of_list(code.co_consts, depth) if code.co_consts != (None,) else text

    def _once(self, value: Any, write: Callable[[], str]) -> str:
        """The text of a class or function, or which one it was where it was written before."""
        key = id(value), bool(self.hidden)
        if key in self.known:
            return f"known {self.known[key][0]}"
        self.known[key] = len(self.known), value
        return write()

    def of_function(self, function: types.FunctionType, depth: int) -> str:
        if is_environment(function):
            return self.contents(os.environ, depth)  # nothing tells which variable is read
        if is_settled_function(function):
            return f"{function.__module__}.{function.__qualname__}"
        if not self.hidden:
            # A table of functions is a way to choose one: each of them has to be in the buffer.
            self.objects.function(function)
        return self._once(function, lambda: self._function_parts(function, depth))

    def _function_parts(self, function: types.FunctionType, depth: int) -> str:
        self.hidden += 1
        cells = [c.cell_contents for c in function.__closure__ or () if c != types.CellType()]
        values = [cell for cell in cells if not isinstance(cell, types.ModuleType)]
        parts = function.__defaults__, function.__kwdefaults__, values, attributes_of_function(function)
        text = self.of_list(parts, depth)
        if is_settled(home_of(function)):  # made around another function
            text += f"{home_of(function)}.{function.__code__.co_name}"
        else:
            text += self.of_code(function.__code__, depth) + self._reached(function, depth)
        self.hidden -= 1
        return text

    def _reached(self, function: types.FunctionType, depth: int) -> str:
        """What a function finds under the names in it, through modules, imports and environment."""
        code = read_code(function.__code__)
        text = ""
        for reference in code.references:
            value, taken = resolve(function, reference)
            name = ".".join(reference.names[:taken])
            if is_environment(value):
                text += f"{name}:{_variable(reference.constant)}"
            elif taken:
                text += f"{name}:{self.contents(value, depth)}"
        for name, value in imported(function, code):
            if value is MISSING:
                raise _Opaque  # a module that is not loaded yet
            text += f"{name}:{self.contents(value, depth)}"
        return text

    def of_module(self, module: types.ModuleType, depth: int) -> str:
        if not is_pure_module(module.__name__):
            raise _Opaque  # a module that is passed on: any of its names may be read
        return f"module {module.__name__}"

    def of_method(self, value: types.MethodType, depth: int) -> str:
        return "method" + self.of_list((value.__func__, value.__self__), depth)

    def of_builtin(self, value: types.BuiltinFunctionType, depth: int) -> str:
        owner = value.__self__
        is_plain = owner is None or isinstance(owner, types.ModuleType)
        text = "" if is_plain else self.contents(owner, depth)
        return f"{value.__module__}.{value.__qualname__}{text}"

    def of_wrapping(self, value: Any, depth: int) -> str:
        return type(value).__name__ + self.contents(value.__func__, depth)

    def of_property(self, value: property, depth: int) -> str:
        return "property" + self.of_list((value.fget, value.fset), depth)

    def of_cached_property(self, value: functools.cached_property[Any], depth: int) -> str:
        return "cached" + self.of_list((value.func, value.attrname), depth)

    def of_constexpr(self, value: static.constexpr, depth: int) -> str:
        return "constexpr" + self.contents(value.value, depth)

    def _other(self, value: Any, depth: int) -> str:
        kind = cast("type[Any]", type(value))
        if is_jit(value):
            encoded = self.objects.function(value)
            return json.dumps([encoded, plain_function(value).__qualname__])
        if isinstance(value, type):
            return self._once(value, lambda: self._class(value, depth))
        if isinstance(value, types.ModuleType):
            return self.of_module(value, depth)
        if encoded := encode_type(value):
            return f"{kind.__module__}{json.dumps(encoded)}"
        if isinstance(value, enum.Enum):
            return self.contents(kind, depth) + self.of_pairs(_state_of_member(value), depth)
        qualified_name: object = getattr(value, "__qualname__", None)
        if isinstance(qualified_name, str) and is_settled(getattr(value, "__module__", None)):
            return f"{value.__module__}.{qualified_name}"
        if kind.__module__ == "numpy":
            return self._array(value)
        if kind.__module__ == "torch" and kind.__name__ in _OF_TORCH:
            return f"torch {value!r}"
        if kind.__module__.partition(".")[0] == "torch" or isinstance(value, Iterator):
            raise _Opaque
        # Properties and methods say what the object's state means.
        return self.contents(kind, depth) + self._state(value, depth)

    def _array(self, value: Any) -> str:
        """The contents of what NumPy makes, as far as they are bytes."""
        element_type = getattr(value, "dtype", None)
        if element_type is None or element_type.hasobject or value.nbytes > _MAX_ARRAY_BYTES:
            raise _Opaque
        digest = digest_bytes(value.tobytes())
        return f"{type(value).__name__}{element_type.descr}{value.shape}{digest}"

    def _state(self, value: Any, depth: int) -> str:
        """All that makes up an object: its attributes, what a builtin type keeps beside them, and
        of others what copying it would keep."""
        text = self.of_pairs(attributes_of(value), depth)
        for base in type(value).__mro__:
            if plain := _BUILTINS.get(base):
                found = plain(value)
                items = list(found) if base in (tuple, list, dict) else found
                text += self.contents(items, depth)
            elif base is not object and _has_hidden_state(base):
                return text + self._copied(value, depth)
        return text

    def _copied(self, value: Any, depth: int) -> str:
        try:
            _, arguments, *parts = value.__reduce_ex__(2)
        except Exception:  # user code may raise anything
            raise _Opaque from None
        parts += [argument for argument in arguments if argument is not type(value)]
        text = ""
        variables = variables_of(value)
        for part in parts:
            if part is not variables and part is not None:
                listed = list(cast("Iterator[Any]", part)) if isinstance(part, Iterator) else part
                text += self.contents(listed, depth)
        return text

    def _class(self, value: type, depth: int) -> str:
        if is_settled(value.__module__):
            return f"class {value.__module__}.{value.__qualname__}"
        self.hidden += 1
        text = "" if type(value) is type else self.contents(type(value), depth)
        for base in value.__mro__:
            text += f"class {base.__module__}.{base.__qualname__}"
            text += self.of_pairs(_members_of(base), depth)
        self.hidden -= 1
        return text


_KINDS: dict[type, Callable[[_Walk, Any, int], str]] = {
    list: _Walk.of_list,
    tuple: _Walk.of_tuple,
    dict: _Walk.of_pairs,
    set: _Walk.of_members,
    frozenset: _Walk.of_members,
    slice: _Walk.of_slice,
    types.CodeType: _Walk.of_code,
    types.FunctionType: _Walk.of_function,
    types.MethodType: _Walk.of_method,
    types.BuiltinFunctionType: _Walk.of_builtin,
    types.ModuleType: _Walk.of_module,
    staticmethod: _Walk.of_wrapping,
    classmethod: _Walk.of_wrapping,
    property: _Walk.of_property,
    functools.cached_property: _Walk.of_cached_property,
    static.constexpr: _Walk.of_constexpr,
}
# Builtin types, and what an object of a class that derives from one is without that class.
_BUILTINS: dict[type[Any], Callable[[Any], Any]] = {
    int: int.__index__,
    float: float.__float__,
    complex: lambda value: (complex.__pos__(value),),
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    tuple: cast(Any, tuple).__iter__,
    list: cast(Any, list).__iter__,
    dict: cast(Any, dict).items,
    set: lambda value: frozenset(cast(Any, set).__iter__(value)),
    frozenset: lambda value: frozenset(cast(Any, frozenset).__iter__(value)),
}
@functools.lru_cache(maxsize=4096)
def _instructions_of(code: types.CodeType) -> str:
    names = (
        code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_varnames,
        code.co_names, code.co_freevars, code.co_cellvars, getattr(code, "co_exceptiontable", b""),
    )  # fmt: skip
    return f"code {code.co_code.hex()} {names}"


_OF_TORCH = ("dtype", "device", "layout", "memory_format", "qscheme", "Size")
_WORD = tuple.__itemsize__  # bytes


def _has_hidden_state(base: type) -> bool:
    """Whether a class keeps more in its objects than slots, a dictionary and weak references."""
    parent = base.__base__
    own = vars(base)
    slots = sum(isinstance(member, types.MemberDescriptorType) for member in own.values())
    known = slots + ("__dict__" in own) + ("__weakref__" in own)
    return parent is not None and base.__basicsize__ - parent.__basicsize__ > known * _WORD


def _members_of(kind: type) -> dict[str, Any]:
    """What a class says of itself; with double underscores only what is written out."""
    if is_settled(kind.__module__):
        return {}
    is_generated = dataclasses.is_dataclass(kind)
    listed: dict[str, Any] = getattr(kind, "__members__", {}) if issubclass(kind, enum.Enum) else {}
    members: dict[str, Any] = {}
    for name, member in (vars(kind) | listed).items():
        if name in listed:
            members[name] = _state_of_member(cast(enum.Enum, listed[name]))
            continue
        is_hidden = name.startswith("__") or name == "_abc_impl" or bool(listed) and name[:1] == "_"
        if is_hidden and not isinstance(member, _BEHAVIOUR):
            continue
        is_slot = isinstance(member, (types.MemberDescriptorType, types.GetSetDescriptorType))
        if not is_slot and not (is_generated and is_hidden and is_made_by_dataclass(member)):
            members[name] = member
    if is_generated:
        fields = dataclasses.fields(kind)
        made = [f.default_factory for f in fields if f.default_factory is not dataclasses.MISSING]
        told = repr([(f.name, f.init, f.repr, f.hash, f.compare) for f in fields])
        members["__dataclass_fields__"] = told, repr(getattr(kind, "__dataclass_params__", None)), made
    return members


def _state_of_member(member: enum.Enum) -> dict[str, Any]:
    return {k: v for k, v in vars(member).items() if k not in ("__objclass__", "_sort_order_")}


def _variable(name: object) -> str:
    if not isinstance(name, str):
        raise _Opaque
    return json.dumps([name, os.environ.get(name)])
