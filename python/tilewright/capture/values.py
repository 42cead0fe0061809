"""Python values as the VALUE of the kernel source buffer, and back."""

from __future__ import annotations

import builtins
import enum
import sys
import types
from collections.abc import Sequence
from typing import Any, Protocol, cast

from ..language import aggregates, constant, dtypes, marks
from ..language.element_types import ELEMENT_TYPES
from .classes import attributes_of_function, computes_otherwise, is_bare
from ..language.unsupported import UNSUPPORTED

Json = dict[str, Any]

ELLIPSIS: Json = {"k": "object", "v": "Ellipsis"}
# By the names of torch and NumPy, and by ours.
_FRAMEWORK_DTYPES = {
    name: row.name for row in ELEMENT_TYPES for name in (row.library, row.name) if name
}
_BUILTIN = (int, float, str, tuple, list)


class ValueNotCaptured(Exception):
    """A value that cannot be written down; the message says whose."""


class Part:
    """Stands for a run-time part of a tuple in the constant that is made of its parameter."""

    def __init__(self, index: int, name: str) -> None:
        self.index = index  # among all parts of the launch
        self.name = name  # `xs[0]`

    def __repr__(self) -> str:
        return self.name


class Objects(Protocol):
    """What a value may refer to: the functions of a buffer and the objects only Python knows."""

    def function(self, value: Any) -> Json | None:
        """The VALUE of a function to be inlined, or None where this function cannot be."""
        ...

    def opaque(self, value: object, kind: str, name: str) -> Json:
        """The VALUE of an object whose meaning stays in Python."""
        ...

    def contents(self, value: object) -> str:
        """A digest of all that Python can see in an object; empty where that cannot be known."""
        ...

    def module(self, value: types.ModuleType) -> Json:
        """The VALUE of a module."""
        ...

    def aggregate(self, value: type) -> Json:
        """The VALUE of a class that is decorated with `@tw.aggregate`."""
        ...

    def find(self, encoded: Json) -> object:
        """The object of a VALUE that names one, as `jit` and `object` do; ValueError if unknown."""
        ...


class NoObjects:
    """For values that stand by themselves."""

    def contents(self, value: object) -> str:
        raise ValueError(f"{value!r} has more to it than a value, which was not captured")

    def function(self, value: Any) -> Json | None:
        raise ValueError(f"{value!r} is a function that was not captured with the kernel")

    def opaque(self, value: object, kind: str, name: str) -> Json:
        del value
        return {"k": kind, "v": name}

    def module(self, value: types.ModuleType) -> Json:
        return {"k": "module", "v": value.__name__}

    def aggregate(self, value: type) -> Json:
        return {"k": "aggregate", "v": value.__name__}

    def find(self, encoded: Json) -> object:
        raise ValueError(f"{encoded['v']} is not known here")


def is_jit(value: object) -> bool:
    """Whether an object follows the protocol of jit functions: a mark and the function as `.fn`."""
    return not isinstance(value, type) and getattr(value, "__tilewright_jit__", False) is True


def plain_function(value: Any) -> types.FunctionType:
    """The Python function inside of a jit function, however often it is wrapped."""
    while is_jit(value):
        value = value.fn
    if not isinstance(value, types.FunctionType):
        raise TypeError(f"a kernel must be a Python function, not {type(value).__name__}")
    return value


def encode_value(value: object, objects: Objects | None = None) -> Json:
    """The VALUE of a Python object. Functions need the `objects` of their capture."""
    table = objects or NoObjects()
    kind = type(value)
    if kind is types.ModuleType:
        return _encode_other(value, table)
    if kind is types.FunctionType and (encoded := _encode_callable(value, table)):
        return encoded
    return (
        _encode_plain(value, table)
        or encode_type(value)
        or _encode_aggregate(value, table)
        or _encode_callable(value, table)
        or _encode_other(value, table)
    )


def _encode_plain(value: object, objects: Objects) -> Json | None:
    if isinstance(value, constant.constexpr):
        return {"k": "constexpr", "v": encode_value(value.value, objects)}
    if value is None:
        return {"k": "none"}
    if isinstance(value, bool):
        return {"k": "bool", "v": value}
    if isinstance(value, (enum.Enum, int, float, str, tuple, list)):
        return _encode_derived(value, objects)
    if isinstance(value, Part):
        return {"k": "argument", "v": value.index}
    if value is Ellipsis:
        return dict(ELLIPSIS)
    return None


def _encode_derived(value: Any, objects: Objects) -> Json | None:
    """A number, text or sequence, also of a class that derives from those: as what it derives from where
    Python computes with it alike. What else the class has is a part of the meaning."""
    if type(value) in _BUILTIN:
        return _encode_builtin(value, objects)
    if computes_otherwise(type(value)):
        return None
    plain = value.value if isinstance(value, enum.Enum) else value
    encoded = encode_value(plain, objects) if plain is not value else _encode_builtin(value, objects)
    return encoded if is_bare(value) else encoded | {"digest": objects.contents(value)}


def _encode_builtin(value: Any, objects: Objects) -> Json:
    if isinstance(value, int):
        return {"k": "int", "v": int.__repr__(value)}
    if isinstance(value, float):
        return {"k": "float", "v": float.hex(value)}
    if isinstance(value, str):
        return {"k": "str", "v": str.__str__(value)}
    return _encode_sequence(cast("Sequence[object]", value), objects)


def _encode_sequence(value: Sequence[object], objects: Objects) -> Json:
    encoded: Json = {"k": "tuple", "v": [encode_value(item, objects) for item in value]}
    fields: tuple[str, ...] | None = getattr(value, "_fields", None)
    return encoded | {"fields": list(fields)} if isinstance(fields, tuple) else encoded


def _encode_aggregate(value: object, objects: Objects) -> Json | None:
    """A class of aggregates, or an instance of one."""
    if isinstance(value, type):
        return objects.aggregate(value) if is_aggregate(value) else None
    kind = type(value)
    if not is_aggregate(kind):
        return None
    fields = list(aggregates.fields_of(kind))
    items = [encode_value(getattr(value, name), objects) for name in fields]
    return {"k": "instance", "v": items, "fields": fields, "type": objects.aggregate(kind)}


def is_aggregate(kind: type) -> bool:
    """Whether a class is decorated with `@tw.aggregate`; its subclasses are not by that."""
    return marks.AGGREGATE in vars(kind)


def encode_type(value: object) -> Json | None:
    """The VALUE of a dtype, ours or a framework's."""
    if isinstance(value, dtypes.pointer_type):
        encoded: Json = {"k": "pointer_type", "v": encode_type(value.element_ty)}
        return encoded | {"const": True} if value.is_const() else encoded
    if isinstance(value, dtypes.dtype):
        return {"k": "dtype", "v": value.name}
    kind = type(value)
    if kind.__name__ == "dtype" and kind.__module__ == "torch":
        return _framework_dtype(str(value).removeprefix("torch."))
    if any(base.__module__ == "numpy" and base.__name__ == "dtype" for base in kind.__mro__):
        return _framework_dtype(str(value))
    return None


def _framework_dtype(name: str) -> Json | None:
    known = _FRAMEWORK_DTYPES.get(name)
    return {"k": "dtype", "v": known} if known else None


def _encode_callable(value: object, objects: Objects) -> Json | None:
    if isinstance(value, (type, types.FunctionType)) and marks.BUILTIN in vars(value):
        encoded: Json = {"k": "builtin", "v": vars(value)[marks.BUILTIN]}
        hint = vars(value).get(marks.HINT)
        return encoded | {"hint": hint} if hint else encoded
    if is_jit(value):
        return objects.function(value)
    name = getattr(value, "__name__", None)
    if isinstance(name, str) and getattr(builtins, name, None) is value:
        return {"k": "pybuiltin", "v": name}
    if isinstance(value, types.FunctionType):
        if not hasattr(value, marks.CONSTEXPR_FUNCTION):
            if encoded_function := objects.function(value):
                attributes = attributes_of_function(value)
                has_more = {"digest": objects.contents(attributes)} if attributes else {}
                return encoded_function | has_more
    elif not isinstance(value, (types.BuiltinFunctionType, types.MethodType)):
        return None
    return objects.opaque(value, "constexpr_function", f"{value.__module__}.{value.__qualname__}")


def _encode_other(value: object, objects: Objects) -> Json:
    if isinstance(value, types.ModuleType):
        return objects.module(value)
    kind = type(value)
    if any(base.__module__ == "numpy" and base.__name__ == "generic" for base in kind.__mro__):
        return encode_value(getattr(value, "item")(), objects)
    if isinstance(value, type):
        return objects.opaque(value, "object", f"class {value.__module__}.{value.__qualname__}")
    return objects.opaque(value, "object", f"{kind.__module__}.{kind.__qualname__} object")


def decode_value(encoded: Json, objects: Objects | None = None) -> Any:
    """The Python object of a VALUE; namedtuples come back with the same fields."""
    table = objects or NoObjects()
    kind, payload = encoded["k"], encoded.get("v")
    if kind == "none":
        return None
    if kind in ("bool", "str"):
        return payload
    if kind == "int":
        return int(str(payload))
    if kind == "float":
        return float.fromhex(str(payload))
    if kind == "tuple":
        return _decode_tuple(encoded, table)
    if kind == "dtype":
        return dtypes.dtype(str(payload))
    if kind == "pointer_type":
        is_const = bool(encoded.get("const"))
        return dtypes.pointer_type(decode_value(encoded["v"], table), const=is_const)
    if kind == "instance":
        return _decode_instance(encoded, table)
    if kind == "constexpr":
        return constant.constexpr(decode_value(encoded["v"], table))
    if kind == "pybuiltin":
        return getattr(builtins, str(payload))
    if kind == "builtin":
        return _find_builtin(str(payload))
    if kind == "module":
        return sys.modules[str(payload)]
    if encoded == ELLIPSIS:
        return Ellipsis
    return table.find(encoded)


def _decode_tuple(encoded: Json, objects: Objects) -> tuple[Any, ...]:
    items = tuple(decode_value(item, objects) for item in encoded["v"])
    if "fields" not in encoded:
        return items
    import collections

    return collections.namedtuple("namedtuple", encoded["fields"])(*items)  # type: ignore[misc]


def _decode_instance(encoded: Json, objects: Objects) -> object:
    """An instance of an aggregate. Fields that are known only at run time are left out."""
    instance = object.__new__(cast("type[Any]", objects.find(encoded["type"])))
    for name, item in zip(encoded["fields"], encoded["v"]):
        if item["k"] != "runtime":
            object.__setattr__(instance, name, decode_value(item, objects))
    return instance


def _find_builtin(mark: str) -> object:
    from .. import language

    if mark.startswith("unsupported:"):
        name = mark.removeprefix("unsupported:")
        return marks.unsupported(name, UNSUPPORTED.get(name, ""))
    found = getattr(language, mark, None)
    if found is None:
        raise ValueError(f"tw.{mark} is not a name of the language")
    return found
