"""A digest of what Python code can see in an object, so that a kernel's key covers it."""

from __future__ import annotations

import dataclasses
import enum
import functools
import hashlib
import json
import os
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any, cast

from .host_code import imported, read_code, resolve
from .purity import is_environment
from .values import Objects, encode_value, plain_function

_MAX_DEPTH = 6
_MAX_ITEMS = 4096
_MAX_ARRAY_BYTES = 1 << 24
_BEHAVIOUR = (types.FunctionType, property, staticmethod, classmethod)
_BY_REPR = (bytes, complex, range, slice)


class _Opaque(Exception):
    """The object has state that cannot be seen or is too large."""


def digest_of(value: object, objects: Objects) -> str | None:
    """A digest of an object's contents, or None when they cannot be known completely."""
    walk = _Walk(objects)
    walk.hidden += isinstance(value, (types.FunctionType, types.MethodType))
    try:
        text = walk.contents(value, 0)
    except _Opaque:
        return None
    return hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


class _Walk:
    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self.open: set[int] = set()
        self.items = 0
        self.hidden = 0  # how many functions and classes the walk is inside of

    def contents(self, value: Any, depth: int) -> str:
        self.items += 1
        if depth > _MAX_DEPTH or self.items > _MAX_ITEMS:
            raise _Opaque
        if id(value) in self.open:
            return "again"
        self.open.add(id(value))
        try:
            return self._contents(value, depth)
        finally:
            self.open.discard(id(value))

    def _contents(self, value: Any, depth: int) -> str:
        if isinstance(value, _BY_REPR):
            return repr(cast(object, value))
        if isinstance(value, dict):
            kind = type(cast("dict[Any, Any]", value))
            name = "" if kind is dict else self.contents(kind, depth + 1)
            return name + self._pairs(value.items(), depth)
        if isinstance(value, (set, frozenset)):
            return self._members(cast("set[Any]", value), depth)
        if isinstance(value, (tuple, list)):
            items = cast("list[Any]", value)
            return "[" + ",".join(self.contents(item, depth + 1) for item in items) + "]"
        if isinstance(value, types.CodeType):
            return self._code(value, depth)
        if isinstance(value, types.FunctionType):
            return self._function(value, depth)
        if isinstance(value, types.MethodType):
            return self.contents((value.__func__, value.__self__), depth + 1)
        encoded = encode_value(value, _Leaf(self.objects))
        if encoded["k"] not in ("object", "constexpr_function"):
            return json.dumps(encoded)
        return self._object(value, depth)

    def _pairs(self, pairs: Any, depth: int) -> str:
        texts = (self.contents(k, depth + 1) + ":" + self.contents(v, depth + 1) for k, v in pairs)
        return "{" + ",".join(texts) + "}"

    def _members(self, members: Iterable[Any], depth: int) -> str:
        return "{" + ",".join(sorted(self.contents(item, depth + 1) for item in members)) + "}"

    def _code(self, code: types.CodeType, depth: int) -> str:
        constants = self.contents(code.co_consts, depth + 1)
        return f"code {code.co_code.hex()} {code.co_names} {constants}"

    def _function(self, function: types.FunctionType, depth: int) -> str:
        if _is_settled(function.__module__):
            return f"{function.__module__}.{function.__qualname__}"
        if not self.hidden:
            # A table of functions is a way to choose one: each of them has to be in the buffer.
            self.objects.function(function)
        self.hidden += 1
        cells = [c.cell_contents for c in function.__closure__ or () if c != types.CellType()]
        values = [cell for cell in cells if not isinstance(cell, types.ModuleType)]
        parts = (function.__defaults__, function.__kwdefaults__, values)
        text = self._code(function.__code__, depth) + self.contents(parts, depth + 1)
        text += self._reached(function, depth)
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
                text += f"{name}:{self._named(value, depth)}"
        for name, value, is_taken in imported(function, code):
            text += f"{name}:{self._named(value, depth) if is_taken or value is None else ''}"
            if not is_taken and not _is_settled(name):
                raise _Opaque  # which of the module's names are read is not known
        return text

    def _named(self, value: Any, depth: int) -> str:
        if not isinstance(value, types.ModuleType):
            return self.contents(value, depth + 1)
        if not _is_settled(value.__name__):
            raise _Opaque  # a module that is passed on: any of its names may be read
        return value.__name__

    def _object(self, value: Any, depth: int) -> str:
        kind = type(cast(object, value))
        name = f"{kind.__module__}.{kind.__qualname__}"
        if isinstance(value, types.BuiltinFunctionType):
            owner = value.__self__
            is_plain = owner is None or isinstance(owner, types.ModuleType)
            text = "" if is_plain else self.contents(owner, depth + 1)
            return f"{value.__module__}.{value.__qualname__}{text}"
        if isinstance(value, type):
            return self._class(value, depth)
        if name == "numpy.ndarray" and value.nbytes <= _MAX_ARRAY_BYTES:
            digest = hashlib.blake2b(value.tobytes(), digest_size=16).hexdigest()
            return f"{value.dtype}{value.shape}{digest}"
        if isinstance(value, (staticmethod, classmethod)):
            return self.contents(cast(Any, value).__func__, depth + 1)
        if isinstance(value, property):
            return self.contents((value.fget, value.fset), depth + 1)
        if isinstance(value, functools.cached_property):
            return self.contents(cast(Any, value).func, depth + 1)
        if dataclasses.is_dataclass(value) and not hasattr(value, "__dict__"):
            fields = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
            return self.contents(kind, depth + 1) + self._pairs(fields.items(), depth)
        qualified_name: object = getattr(value, "__qualname__", None)
        if isinstance(qualified_name, str) and _is_settled(getattr(value, "__module__", None)):
            return f"{value.__module__}.{qualified_name}"
        if kind.__module__.split(".")[0] in ("torch", "numpy") or isinstance(value, Iterator):
            raise _Opaque
        # Properties and methods say what the object's state means.
        return self.contents(kind, depth + 1) + self._state(value, depth)

    def _state(self, value: Any, depth: int) -> str:
        """All that makes up an object: its attributes, and what copying it would keep beside."""
        variables = getattr(value, "__dict__", {})
        try:
            _, arguments, *parts = value.__reduce_ex__(2)
        except Exception:  # user code may raise anything
            raise _Opaque from None
        parts += [argument for argument in arguments if argument is not type(value)]
        text = self._pairs(variables.items(), depth)
        for part in parts:
            if part is not variables and part is not None:
                items = list(part) if isinstance(part, Iterator) else part
                text += self.contents(items, depth + 1)
        return text

    def _class(self, value: type, depth: int) -> str:
        self.hidden += 1
        texts = [
            f"class {base.__module__}.{base.__qualname__}"
            + self._pairs(_members_of(base).items(), depth)
            for base in value.__mro__
        ]
        self.hidden -= 1
        return "".join(texts)


def _is_settled(module: str | None) -> bool:
    """A module that does not change under its users."""
    root = (module or "").split(".")[0]
    return root in sys.stdlib_module_names or root in ("numpy", "torch", "tilewright")


def _members_of(kind: type) -> dict[str, Any]:
    """What a class says of itself; with double underscores only what is written out."""
    if _is_settled(kind.__module__):
        return {}
    if issubclass(kind, enum.Enum):
        return {name: member.value for name, member in kind.__members__.items()}
    is_generated = dataclasses.is_dataclass(kind)
    members: dict[str, Any] = {}
    for name, member in vars(kind).items():
        is_hidden = name.startswith("__") or name == "_abc_impl"
        if is_hidden and not isinstance(member, _BEHAVIOUR):
            continue
        is_slot = isinstance(member, types.MemberDescriptorType)
        if not is_slot and not (is_generated and is_hidden and _is_made(name, member)):
            members[name] = member
    return members


def _is_made(name: str, member: Any) -> bool:
    """Whether `dataclass` made a method: the fields say all that it does."""
    code: types.CodeType | None = getattr(member, "__code__", None)
    if code is None or name in ("__repr__", "__replace__"):
        return True
    return code.co_filename.startswith("<") or code.co_filename == dataclasses.__file__


def _variable(name: object) -> str:
    if not isinstance(name, str):
        raise _Opaque
    return json.dumps([name, os.environ.get(name)])


class _Leaf:
    """Names a function or object by what it is; the walk sees to its contents."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects

    def function(self, value: Any) -> dict[str, Any] | None:
        encoded = self.objects.function(value)
        if encoded is None:
            return None
        return encoded | {"name": plain_function(value).__qualname__}

    def opaque(self, value: object, kind: str, name: str) -> dict[str, Any]:
        del value
        return {"k": kind, "v": name}

    def aggregate(self, value: type) -> dict[str, Any]:
        return self.objects.aggregate(value)

    def find(self, encoded: dict[str, Any]) -> object:
        return self.objects.find(encoded)
