"""Whether a host function that runs at compile time may be trusted to give the same answer again.

A kernel keeps what its host functions answered. The clock, files, random numbers and the like
give another answer the next time, and nothing would tell: calling them is refused.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import operator
import os
import sys
import types
from collections.abc import Iterable, Mapping
from typing import Any, cast

from .classes import FRAMEWORKS, OPERATORS, attributes_of, is_made_by_dataclass, is_settled, is_settled_function, own_classes
from .host_code import MISSING, Reference, imported, read_code, resolve
from .values import is_jit

# Nothing in these gives two answers; of the second ones only what is named.
_PURE_MODULES = frozenset(
    """abc array ast base64 binascii bisect cmath collections copy copyreg dataclasses enum fractions
    functools genericpath heapq itertools json keyword math numbers operator pprint re reprlib statistics
    string struct textwrap typing typing_extensions unicodedata zlib""".split()
)
_PURE_NAMES = {
    "contextlib": "contextmanager nullcontext suppress",
    "hashlib": "new blake2b blake2s md5 sha1 sha224 sha256 sha384 sha512 sha3_256 sha3_512 openssl_sha256",
    "inspect": "signature Signature Parameter isclass isfunction ismethod isbuiltin getmro cleandoc getattr_static",
    "logging": "debug info warning error critical exception log",
    "posixpath": "join basename dirname split splitext normpath commonprefix isabs",
    "sys": "intern",
    # Facts of dtypes and shapes: all else may follow torch's state, which anyone can set.
    "torch": "finfo iinfo promote_types can_cast is_tensor numel itemsize is_floating_point is_complex Size device",
    "types": "SimpleNamespace MappingProxyType GenericAlias DynamicClassAttribute new_class resolve_bases",
    "warnings": "warn warn_explicit",
}
_IMPURE_NAMES = frozenset(
    "open input id hash globals locals vars breakpoint exec eval compile __import__".split()
)
_IMPURE_WORDS = (
    "random", "rand", "load", "fromfile", "loadtxt", "genfromtxt", "memmap", "seed", "rng", "empty",
    "geterr", "seterr", "errstate", "printoptions", "getbufsize", "setbufsize",
)  # fmt: skip
# Attributes by which code reaches what it does not name.
_ESCAPES = frozenset(
    """__globals__ __closure__ __builtins__ __subclasses__ __loader__ __spec__ cell_contents f_globals
    f_locals f_builtins f_back gi_frame cr_frame ag_frame tb_frame""".split()
)
_COMPUTED = frozenset("getattr attrgetter methodcaller vars dir getmembers __dict__ __getattribute__".split())
_CONSTRUCTORS = ("__new__", "__init__", "__post_init__")
_DATA = (type(None), bool, int, float, complex, str, bytes, range)
_MOST = 4096  # values that are looked at


_NO_DEBUGGER = (
    "no debugger stops in a kernel, which Python never runs; hint: print tiles by tw.device_print, "
    'within `with tw.device("reference")`, which runs programs in order'
)


class ImpureCall(Exception):
    """A call whose answer may change without notice."""


def refuse_impure(node: ast.expr, namespace: Mapping[str, Any]) -> None:
    """Raise ImpureCall where an expression, whose names are those of a namespace and of Python, runs
    something that is not known to be pure."""
    judge = _Judge()
    for part in ast.walk(node):
        attributes: list[str] = []
        root = part
        while isinstance(root, ast.Attribute):
            attributes.append(root.attr)
            root = root.value
        judge.names.update(attributes)
        if isinstance(root, ast.Name):
            judge.follow(_named(root, namespace), reversed(attributes))
        elif isinstance(part, ast.Constant):
            judge.reach(part.value)
        elif isinstance(part, ast.Call) and getattr(_named(part.func, namespace), "__name__", "") in _COMPUTED:
            texts = [_named(argument, namespace) for argument in part.args[1:]]
            judge.names.update(() if texts and all(isinstance(text, str) for text in texts) else _COMPUTED)
    judge.finish()


def _named(node: ast.expr, namespace: Mapping[str, Any]) -> Any:
    """The value of a name or a constant."""
    if isinstance(node, ast.Constant):
        return node.value
    if not isinstance(node, ast.Name):
        return MISSING
    return namespace.get(node.id, getattr(builtins, node.id, MISSING))


def is_environment(value: object) -> bool:
    """Whether reading this reads environment variables: part of a key where their names are known."""
    return value is os.environ or value is os.getenv


class _Judge:
    """Goes through what code can reach. Which methods of an object are called is known only by their
    names, so that objects are looked at again for each new name."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self.seen: dict[int, Any] = {}  # held, so that no other has the number
        self.objects: list[Any] = []  # classes, and objects of classes

    def finish(self) -> None:
        """Judge the methods that the names can mean."""
        done = -1, -1
        while done != (len(self.names), len(self.objects)):
            done = len(self.names), len(self.objects)
            for value in self.objects[:]:
                self._reach_members(value)

    def follow(self, value: Any, attributes: Iterable[str]) -> None:
        """Judge a value and what reading attributes of it runs."""
        self.reach(value)
        for name in attributes:
            if isinstance(value, types.ModuleType):
                value = getattr(value, name, MISSING)
            else:
                value = _found_in(value, name)
            self.reach(value)
            if isinstance(value, property) or value is MISSING:
                return

    def reach(self, value: Any) -> None:
        """Judge what can be done with a value but reading attributes of it."""
        if type(value) is str:
            self.names.add(value)  # it may be given to `getattr`
        if type(value) in _DATA or id(value) in self.seen or is_jit(value) or value is MISSING:
            return
        if len(self.seen) > _MOST or isinstance(value, types.ModuleType):
            return  # the digest of neither is known, so that nothing is kept
        self.seen[id(value)] = value
        if value is sys.modules:
            raise ImpureCall("`sys.modules` holds modules whose contents may change without notice")
        if is_environment(value):
            return
        if isinstance(value, (list, tuple, set, frozenset)):
            self._reach_all(cast("Iterable[Any]", value))
        if isinstance(value, dict):
            self._reach_all(cast("dict[Any, Any]", value).values())
        self._reach_one(value)

    def _reach_one(self, value: Any) -> None:
        if isinstance(value, types.FunctionType):
            try:
                self._reach_function(value)
            except ImpureCall:
                if value.__name__ == "set_trace":  # of pdb, and of debuggers like it
                    raise ImpureCall(_NO_DEBUGGER) from None
                raise
        elif isinstance(value, (types.MethodType, staticmethod, classmethod, property)):
            parts = ("__func__", "__self__", "fget")
            self._reach_all(getattr(value, part, None) for part in parts)
        elif isinstance(value, functools.partial):
            self._reach_all((value.func, value.args, value.keywords))
        elif isinstance(value, (operator.attrgetter, operator.methodcaller)):
            self.names |= _COMPUTED
        elif isinstance(getattr(value, "__wrapped__", None), types.FunctionType):
            self.reach(value.__wrapped__)
        elif isinstance(value, type):
            self._reach_class(value)
        else:
            self._reach_object(value)

    def _reach_all(self, values: Iterable[Any]) -> None:
        for value in values:
            self.reach(value)

    def _reach_class(self, value: type) -> None:
        if is_settled(value.__module__):
            _refuse_known(value)
            return
        self.objects.append(value)
        for base in own_classes(value):
            written = [vars(base).get(name) for name in _CONSTRUCTORS]
            self._reach_all(member for member in written if not is_made_by_dataclass(member))
        if dataclasses.is_dataclass(value):
            self._reach_all(field.default_factory for field in dataclasses.fields(value))

    def _reach_object(self, value: Any) -> None:
        if callable(value) and is_settled(type(value).__module__):
            _refuse_known(value)
        self.objects.append(value)

    def _reach_members(self, value: Any) -> None:
        """Judge what is called by operators, or by a name that some code has. A class has members, and so
        have its objects, which it may make."""
        kinds: list[type] = [value, type(value)] if isinstance(value, type) else [type(value)]
        names = self.names
        for base in [base for kind in kinds for base in own_classes(kind)]:
            for name, member in [*vars(base).items()]:
                is_called = name in OPERATORS or name in names or names & _COMPUTED and name[:2] != "__"
                if is_called and not is_made_by_dataclass(member):
                    self.reach(member)
        if isinstance(value, type):
            return
        for name, held in attributes_of(value).items():
            if name in names or names & _COMPUTED:
                self.reach(held)
        for base in type(value).__mro__:
            if is_settled(base.__module__):
                for name in names & vars(base).keys():
                    _refuse_method(base, name)

    def _reach_function(self, function: types.FunctionType) -> None:
        if is_settled_function(function):
            _refuse_known(function)
            return
        code = read_code(function.__code__)
        name = function.__qualname__
        if code.writes_globals:
            raise ImpureCall(f"`{name}` assigns to a global name")
        if escapes := code.names & _ESCAPES:
            raise ImpureCall(f"`{name}` reads `{min(escapes)}`, which leads to what it does not name")
        self.names |= code.names
        self._reach_all(function.__defaults__ or ())
        self._reach_all((function.__kwdefaults__ or {}).values())
        for reference in code.references:
            self._reach_reference(function, reference)
        self._reach_all(value for _, value in imported(function, code))

    def _reach_reference(self, function: types.FunctionType, reference: Reference) -> None:
        value, taken = resolve(function, reference)
        if taken and is_environment(value) and reference.constant is None:
            raise ImpureCall(f"`{'.'.join(reference.names)}` is read under a computed name")
        if taken:
            self.follow(value, reference.names[taken:])


def _found_in(value: Any, name: str) -> Any:
    """What an attribute is where it lies, without running code that gives it."""
    kinds = value.__mro__ if isinstance(value, type) else type(value).__mro__
    found: Any = attributes_of(value).get(name, MISSING) if not isinstance(value, type) else MISSING
    for base in kinds:
        if found is MISSING:
            found = vars(base).get(name, MISSING)
    return found


def is_pure_module(module: str) -> bool:
    """Whether whatever is read of a module is the same the next time."""
    root = module.partition(".")[0]
    return root == "tilewright" or root.lstrip("_") in _PURE_MODULES and is_settled(root)


def _refuse_known(value: Any) -> None:
    """Judge what is not made of code that can be read: by its module and its name."""
    module, name = _full_name(value)
    if value is breakpoint:
        raise ImpureCall(_NO_DEBUGGER)
    is_class_of_torch = isinstance(value, type) and module.partition(".")[0] == "torch"
    if not is_class_of_torch and not is_pure(module, name):
        raise ImpureCall(f"`{module}.{name}` may give another answer the next time")


def _refuse_method(kind: type, name: str) -> None:
    """Judge a method of a class that is not the user's."""
    module = kind.__module__
    if module.partition(".")[0] in ("builtins", "torch") or is_pure(module, name):
        return  # what a tensor holds is not known, so that nothing is kept
    raise ImpureCall(f"`{module}.{kind.__qualname__}.{name}` may give another answer the next time")


def _full_name(value: Any) -> tuple[str, str]:
    """Module and name of a callable; those of its class where it has none of its own."""
    name = str(getattr(value, "__name__", type(value).__name__))
    owner = getattr(value, "__self__", None) or getattr(value, "__objclass__", None)
    if owner is not None and not isinstance(owner, (types.ModuleType, type)):
        return type(owner).__module__, name
    for holder in (value, owner, type(value)):
        module = getattr(holder, "__module__", None)
        if isinstance(holder, types.ModuleType):
            module = holder.__name__
        if isinstance(module, str):
            return module, name
    return "builtins", name


def is_pure(module: str, name: str) -> bool:
    """Whether a function of the standard library or a framework depends on its arguments only."""
    root = module.partition(".")[0].lstrip("_")
    if root in _PURE_MODULES or root == "tilewright":
        return True
    if root == "pathlib":
        import pathlib

        return hasattr(pathlib.PurePath, name)
    if root == "ntpath":
        root = "posixpath"
    if root in _PURE_NAMES:
        return name in _PURE_NAMES[root].split()
    if root in FRAMEWORKS:
        words = f"{module}.{name}".replace("_", ".").split(".")
        return not any(word.startswith(_IMPURE_WORDS) for word in words)
    return root == "builtins" and name not in _IMPURE_NAMES
