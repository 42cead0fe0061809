"""What classes add to the types that they derive from, and which of them stay as they are."""

from __future__ import annotations

import dataclasses
import enum
import reprlib
import sys
import types
from collections.abc import Iterator
from functools import cache
from typing import Any, cast

from ..language import marks

FRAMEWORKS = ("numpy", "torch", "ml_dtypes")
# Names that say nothing of what can be read of an object that is made.
_SILENT = frozenset(
    """__module__ __qualname__ __doc__ __slots__ __dict__ __weakref__ __new__ __init__ __repr__ __hash__
    __init_subclass__ __annotations__ __annotate__ __annotate_func__ __annotations_cache__
    __firstlineno__ __static_attributes__ __classcell__ __orig_bases__ __parameters__ __match_args__
    __getnewargs__ __reduce__ __reduce_ex__ __getstate__ __setstate__ __copy__ __deepcopy__
    _fields _field_defaults _make _replace __replace__ _asdict""".split()
)
# Methods by which Python computes with an object.
OPERATORS = frozenset(
    f"__{prefix}{name}__"
    for name in """add sub mul matmul truediv floordiv mod divmod pow lshift rshift and xor or""".split()
    for prefix in ("", "r")
) | frozenset(
    """__eq__ __ne__ __lt__ __le__ __gt__ __ge__ __bool__ __len__ __getitem__ __contains__ __iter__
    __reversed__ __next__ __neg__ __pos__ __abs__ __invert__ __int__ __float__ __complex__ __index__
    __round__ __trunc__ __floor__ __ceil__ __call__ __getattr__ __getattribute__ __missing__
    __instancecheck__ __subclasscheck__ __get__ __format__ __str__ __repr__ __bytes__ __hash__""".split()
)
# Those that change no number, truth, length or item.
_TEXTS = frozenset("__format__ __str__ __repr__ __bytes__ __hash__".split())
# What `enum` puts into a class.
_OF_ENUM = _SILENT | frozenset(
    """_generate_next_value_ _member_names_ _member_map_ _value2member_map_ _unhashable_values_
    _unhashable_values_map_ _hashable_values_ _value_repr_ _use_args_ _member_type_ _new_member_
    __new_member__ _use_args_ _flag_mask_ _all_bits_ _boundary_ _inverted_ _singles_mask_ _order_
    __format__ __str__ __repr__""".split()
)
_OF_MEMBERS = frozenset("_value_ _name_ __objclass__ _sort_order_".split())
# Of Python itself, not of an environment that has the packages of users beside it.
_PREFIXES = {"base": sys.base_prefix, "platbase": sys.base_exec_prefix}
_settled: dict[str, bool] = {}


def is_settled(module: str | None) -> bool:
    """Whether a module does not change under its users: of Python, a framework or this package."""
    known = _settled.get(module or "")
    if known is None:
        root = (module or "").partition(".")[0]
        loaded = sys.modules.get(root)
        known = root in ("tilewright", *FRAMEWORKS) or _is_of_python(root, loaded)
        if loaded is not None and module:
            _settled[module] = known
    return known


@cache
def _library() -> tuple[str, ...]:
    """The folders of Python's own modules."""
    import sysconfig

    return tuple({sysconfig.get_path(name, vars=_PREFIXES) for name in ("stdlib", "platstdlib")})


def _is_of_python(root: str, loaded: types.ModuleType | None) -> bool:
    """Whether a name is that of Python's own module, and not of a file that hides it."""
    file = getattr(loaded, "__file__", None)
    if root not in sys.stdlib_module_names or root == "__main__":
        return False
    return not isinstance(file, str) or file.startswith(_library())


def own_classes(kind: type) -> Iterator[type]:
    """The classes among a class and its bases that are not settled."""
    return (base for base in kind.__mro__ if not is_settled(base.__module__))


def is_bare(value: object) -> bool:
    """Whether an object of a class derived from a number, text or tuple is no more than that one: no
    attribute, method or operator of its own. True of objects of other classes without any."""
    kind: type = type(value)
    if isinstance(value, enum.Enum):
        return vars(value).keys() <= _OF_MEMBERS and _is_bare_enum(kind)
    for base in kind.__mro__:
        if not is_settled(base.__module__):
            more = vars(base).keys() - _SILENT
            if more and not more <= set(getattr(base, "_fields", ())):
                return False
    return type(kind) is type and not getattr(value, "__dict__", None)


def _is_bare_enum(kind: type[Any]) -> bool:
    for base in own_classes(kind):
        for name in vars(base).keys() - _OF_ENUM - kind._member_map_.keys():
            member = vars(base)[name]  # `enum` takes methods over from classes of Python's
            if not isinstance(member, types.FunctionType) or not is_settled_function(member):
                return False
    return True


def computes_otherwise(kind: type) -> bool:
    """Whether operators of a class's objects are not those of the builtin type that it derives from."""
    return any(
        not isinstance(member, types.FunctionType) or not is_settled(home_of(member))
        for base in own_classes(kind)
        for name in (OPERATORS - _TEXTS) & vars(base).keys()
        if (member := vars(base)[name]) is not None
    )


def home_of(function: types.FunctionType) -> str:
    """The module that a function is written in, whatever it says of itself."""
    return str(function.__globals__.get("__name__", ""))


def is_settled_function(function: types.FunctionType) -> bool:
    """Whether a function is of a settled module, and none that such a module made around another one."""
    is_made_around = function.__closure__ or not is_settled(function.__module__)
    return is_settled(home_of(function)) and not is_made_around


def attributes_of(value: object) -> dict[str, Any]:
    """What an object itself holds: in its dictionary and in slots. Runs no code of its class."""
    found: dict[str, Any] = {}
    for base in type(value).__mro__:
        for name, member in vars(base).items() if "__slots__" in vars(base) else ():
            if isinstance(member, types.MemberDescriptorType):
                try:
                    found[name] = member.__get__(value)
                except AttributeError:  # not assigned yet
                    continue
    return found | variables_of(value)


def variables_of(value: object) -> dict[str, Any]:
    """An object's dictionary."""
    try:
        variables: object = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return cast("dict[str, Any]", variables) if isinstance(variables, dict) else {}


def attributes_of_function(function: types.FunctionType) -> dict[str, Any]:
    """What a program has put into a function."""
    kept = function.__dict__
    if not kept:
        return {}
    return {name: value for name, value in kept.items() if not name.startswith(marks.PREFIX)}


def is_made_by_dataclass(member: Any) -> bool:
    """Whether `dataclass` made a method: the fields say all that it does."""
    code: types.CodeType | None = getattr(member, "__code__", None)
    if code is None or code.co_filename in (dataclasses.__file__, reprlib.__file__):
        return code is not None
    name: str = getattr(code, "co_qualname", "")  # since Python 3.11
    is_nested = name.startswith("__create_fn__.") if name else code.co_firstlineno == 2
    return code.co_filename == "<string>" and is_nested
