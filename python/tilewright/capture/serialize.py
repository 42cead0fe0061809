"""Captures a kernel: the functions it can reach and the values they use, as one JSON buffer."""

from __future__ import annotations

import builtins
import enum
import os
import threading
import types
from collections.abc import Iterable
from typing import Any

from ..language import absent, aggregates, marks
from ..native.lazy import lazy_attribute
from . import values
from .classes import attributes_of_function, is_bare, is_settled
from .contents import digest_of, look_into
from .dependencies import MISSING, UNKNOWN, Body, Dependency, fingerprint_of, look_up
from .digests import digest_texts
from .names import Chain
from .nodes import to_json
from .purity import is_pure_module
from .record import FunctionRecord, encode_parameters, names_lines, record_of
from .source import SourceNotFound
from .values import Json

VERSION = 1
_CAPTURE = "__tilewright_capture__"


# Held while captures are made and added to: those that compile in the background share them with launches.
# Whoever forks waits for it, so that a child has whole ones.
_lock = threading.RLock()
os.register_at_fork(
    before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
)

_PLAIN = (int, float, str, bool, type(None))

# A module, and the name of something in it.
Attribute = tuple[types.ModuleType, str]


class Capture:
    """A kernel's source buffer, the values it depends on, and the evaluator's view of both.

    `meaning` is a digest of what compiled code depends on: of all of the buffer except for places
    in files, unless assertions name those. `exact` is a digest of the whole buffer.
    """

    meaning: str
    exact: str
    bodies: list[Body]
    dependencies: list[Dependency]
    is_opaque: bool  # refers to objects whose contents are not covered by the buffer

    def __init__(
        self, kernel: Any, reachable: Iterable[Any] = (), attributes: Iterable[Attribute] = ()
    ) -> None:
        self.reachable: list[Any] = list(reachable)
        self.attributes: list[Attribute] = list(attributes)
        self.dependencies = []
        self.is_opaque = False
        self._functions: list[Any] = []
        self.bodies = []
        self._parts: list[tuple[FunctionRecord, str]] = []  # with params and names as JSON
        self._ids: dict[types.FunctionType, str] = {}
        self._objects: list[tuple[object, Json]] = []
        self._inlined: set[types.FunctionType] = set()
        self._module: str | None = None
        self._is_base = False  # the value being encoded only leads to an attribute
        self._kernel = kernel
        self._variants: dict[tuple[Any, ...], Capture] = {}
        self._build(kernel)

    @property
    def entry(self) -> types.FunctionType:
        """The kernel's plain function."""
        return values.plain_function(self._kernel)

    def is_current(self) -> bool:
        """Whether no captured function or value has changed since."""
        return all(body.is_current() for body in self.bodies) and all(
            dependency.is_current() for dependency in self.dependencies
        )

    def including(self, arguments: Iterable[object]) -> Capture:
        """This capture, or one that also holds the functions among constexpr arguments."""
        seen = [look_into(value).functions for value in arguments if type(value) not in _PLAIN]
        found = [v for functions in seen for v in functions if self._is_function(v)]
        missing = [v for v in found if values.plain_function(v) not in self._ids]
        if not missing:
            return self
        return self._variant(missing, [])

    def including_attributes(self, found: Iterable[Attribute]) -> Capture:
        """A capture that also holds attributes of modules, which the kernel's compilation has asked for."""
        return self._variant([], list(found))

    def _variant(self, functions: list[Any], attributes: list[Attribute]) -> Capture:
        key = tuple(map(id, functions)), tuple((id(owner), name) for owner, name in attributes)
        with _lock:
            variant = self._variants.get(key)
            if variant is None or not variant.is_current():
                functions, attributes = self.reachable + functions, self.attributes + attributes
                variant = self._variants[key] = Capture(self._kernel, functions, attributes)
            return variant

    def lacks(self, owner: types.ModuleType, name: str) -> bool:
        """Whether an attribute of a module is something that a capture has to hold, and is not in this."""
        value = getattr(owner, name, MISSING)
        if _is_of_language(owner):
            return values.is_jit(value) and values.plain_function(value) not in self._ids
        return (owner, name) not in self.attributes

    def encode_answer(self, value: object) -> Json:
        """The VALUE of what an expression of the kernel gave. Raises ValueError for a jit function that
        only the expression leads to: it is in no buffer."""
        with _lock:
            return self._encode_named_only(value)

    def _encode_named_only(self, value: object) -> Json:
        num_known = len(self._functions)
        encoded = values.encode_value(value, _Given(self, has_digest=False))
        unnamed = [f for f in self._functions[num_known:] if values.is_jit(f)]
        if not unnamed:
            return encoded
        for function in self._functions[num_known:]:
            del self._ids[values.plain_function(function)]
        del self._functions[num_known:]
        name = values.plain_function(unnamed[0]).__name__
        raise ValueError(
            f"it is the function {name}, which the kernel finds at compile time only: "
            "name the function in the kernel, or pass it as a tw.constexpr argument"
        )

    def encode(self, value: object) -> Json:
        """The VALUE of a constexpr argument as it is now; its functions must be in this capture. It has
        `"digest": ""` where the contents of an object cannot be known."""
        with _lock:
            return values.encode_value(value, _Given(self, has_digest=True))

    def evaluate(self, request: str, found: list[Attribute] | None = None) -> str:
        """Answer the frontend's request to evaluate a static expression. Attributes that the capture
        lacks are put into `found` and are an error: it may be asked again `including_attributes`."""
        from .evaluate import evaluate

        return evaluate(self, request, [] if found is None else found)

    # The protocol `values.Objects`.

    def function(self, value: Any) -> Json | None:
        plain = values.plain_function(value)
        is_plain = not values.is_jit(value)
        if plain not in self._ids:
            if is_plain and not self._can_inline(plain):
                return None
            self._ids[plain] = f"f{len(self._functions)}"
            self._functions.append(value)
        encoded: Json = {"k": "jit", "v": self._ids[plain]}
        return encoded | {"plain": True} if is_plain else encoded

    def opaque(self, value: object, kind: str, name: str) -> Json:
        encoded = self.reference(value, kind, name)
        if not self._is_base and "digest" not in encoded:
            encoded["digest"] = self.contents(value)
        return encoded

    def reference(self, value: object, kind: str, name: str) -> Json:
        """How the buffer refers to an object, with a digest where it is a part of the kernel."""
        for known, encoded in self._objects:
            if known is value:
                return encoded
        self._objects.append((value, {"k": kind, "v": name, "ref": f"o{len(self._objects)}"}))
        return self._objects[-1][1]

    def contents(self, value: object) -> str:
        digest = digest_of(value, self)
        self.is_opaque |= digest is None and not self._is_base
        return digest or ""

    def module(self, value: types.ModuleType) -> Json:
        # Of others the kernel may read any name, and nothing tells which.
        self.is_opaque |= not self._is_base and not is_pure_module(value.__name__)
        return {"k": "module", "v": value.__name__}

    def aggregate(self, value: type) -> Json:
        for known, encoded in self._objects:
            if known is value:
                return encoded
        fields, static = aggregates.fields_of(value), aggregates.static_fields_of(value)
        encoded: Json = {"k": "aggregate", "v": value.__name__, "ref": f"o{len(self._objects)}"}
        self._objects.append((value, encoded))
        encoded |= {"fields": list(fields), "static": list(static)}
        initialize = aggregates.constructor_of(value)
        if initialize is not None:
            encoded["init"] = self._own_function(initialize)
        members = aggregates.members_of(value)
        self._depend_on_members(value, members)
        encoded["members"] = {
            name: {"kind": member.kind, "v": self._member(value, name, member)}
            for name, member in members.items()
        }
        return encoded

    def _depend_on_members(self, owner: type, members: Iterable[str]) -> None:
        """Notice methods and properties that are replaced."""
        for name in members:
            found = getattr(owner, name, MISSING)
            if found is getattr(owner, name, MISSING):
                self.dependencies.append(Dependency(owner, name, found, None))

    def _member(self, owner: type, name: str, member: aggregates.Member) -> Json:
        value = member.value
        if isinstance(value, types.FunctionType) and not hasattr(value, marks.CONSTEXPR_FUNCTION):
            return self._own_function(value)
        if member.kind == "value":
            encoded = values.encode_value(value, self)
            fingerprint = None if self._is_fixed(value) else fingerprint_of(value) or UNKNOWN
            self.dependencies.append(Dependency(owner, name, value, fingerprint))
            return encoded
        return values.encode_value(value, self)

    def _own_function(self, function: types.FunctionType) -> Json:
        """A plain function that is written in a class: part of the kernel wherever it is. Raises
        SourceNotFound where its text is not known."""
        record_of(function)
        self._inlined.add(function)
        encoded = self.function(function)
        assert encoded is not None  # it has a record
        return encoded

    def find(self, encoded: Json) -> object:
        if encoded["k"] == "jit":
            return self.function_by_id(str(encoded["v"]))
        for value, known in self._objects:
            if known["ref"] == encoded.get("ref"):
                return value
        raise ValueError(f"{encoded.get('v')} was not captured")

    def function_by_id(self, identifier: str) -> Any:
        """The jit function or plain function of an id of the buffer."""
        index = int(identifier[1:]) if identifier[1:].isdigit() else len(self._functions)
        if not identifier.startswith("f") or index >= len(self._functions):
            raise ValueError(f"no function {identifier} in this capture")
        return self._functions[index]

    # Building the buffer.

    def _build(self, kernel: Any) -> None:
        record_of(self.entry)  # an error here is the user's to see: the kernel has no source
        for root in (kernel, *self.reachable):
            self._inlined.add(values.plain_function(root))
            self.function(root)
        encoded = {f"{owner.__name__}.{name}": v for owner, name, v in self._encode_attributes()}
        attributes: dict[str, None] = {}
        methods: dict[str, Json] = {}
        while len(self._parts) < len(self._functions):
            self._parts.append(self._encode_function(self._functions[len(self._parts)], attributes))
            if len(self._parts) == len(self._functions):
                self._add_methods(attributes, methods)
        self._rest = to_json({"methods": methods, **({"attributes": encoded} if encoded else {})})[1:]
        self._make_digests()

    def _make_digests(self) -> None:
        """Digests of the same parts that `buffer` is put together from."""
        facts = [record.facts for record, _ in self._parts]
        ends = [end for _, end in self._parts]
        meaning = digest_texts(str(VERSION), *(f.meaning for f in facts), *ends, self._rest)
        files = [record.file for record, _ in self._parts]
        self.exact = digest_texts(meaning, *(f.exact for f in facts), *files)
        # The library's own assertions are of debug builds, whose keys have the exact digest anyway.
        has_lines = any(
            record.facts.names_lines or names_lines(end)
            for function, (record, end) in zip(self._functions, self._parts)
            if not isinstance(function, marks.LibraryFunction)
        )
        self.meaning = self.exact if has_lines else meaning

    @lazy_attribute
    def buffer(self) -> str:
        """The JSON text; made when it is asked for, as a kernel found on disk does not need it."""
        functions = (f"{record.opening},{end}" for record, end in self._parts)
        entries = ",".join(f'"f{index}":{text}' for index, text in enumerate(functions))
        return f'{{"version":{VERSION},"entry":"f0","functions":{{{entries}}},{self._rest}'

    def names_builtin(self, name: str) -> bool:
        """Returns true if some function of the capture may call a builtin of the language."""
        texts = (self._rest, *(end for _, end in self._parts))
        return any(f'"{name}"' in text for text in texts)

    def _add_methods(self, attributes: dict[str, None], methods: dict[str, Json]) -> None:
        for name in attributes:
            if name in marks.METHODS and name not in methods:
                encoded = self.function(marks.METHODS[name])
                assert encoded is not None  # a library function can always be inlined
                methods[name] = encoded

    def _encode_attributes(self) -> Iterable[tuple[types.ModuleType, str, Json]]:
        for owner, name in self.attributes:
            value = getattr(owner, name, MISSING)
            self._depend(self.entry, owner, name, value, True)
            yield owner, name, {"k": "missing"} if value is MISSING else self._encode_named(name, value)

    def _encode_function(
        self, value: Any, attributes: dict[str, None]
    ) -> tuple[FunctionRecord, str]:
        function = values.plain_function(value)
        self._module = function.__module__
        if not _is_of_language(function):
            self.bodies.append(Body.of(value))
        record = record_of(function)
        for name in record.facts.attributes:
            attributes.setdefault(name)
        names = self._encode_names(function, record, attributes)
        rest: Json = {"params": encode_parameters(function, record, self), "names": names}
        for name in ("__defaults__", "__kwdefaults__"):
            if not self._is_fixed(tuple(_values_of(getattr(function, name)))):
                self._depend(function, function, name, getattr(function, name), True)
        if isinstance(value, marks.LibraryFunction):
            rest["library"] = True
        return record, to_json(rest)[1:]

    def _encode_names(
        self, function: types.FunctionType, record: FunctionRecord, attributes: dict[str, None]
    ) -> dict[str, Json]:
        names: dict[str, Json] = {}
        for chain in record.facts.chains:
            links = list(_resolve(function, chain))
            attributes.update(dict.fromkeys(chain[len(links) :]))
            for index, (container, name, value) in enumerate(links):
                if chain in record.arguments and isinstance(value, types.FunctionType):
                    self._inlined.add(value)
                self._is_base = index + 1 < len(links)
                if value is not MISSING:
                    names[".".join(chain[: index + 1])] = self._encode_named(name, value)
                # By now it is known whether a function is a part of the kernel.
                self._depend(function, container, name, value, index + 1 == len(links))
                if value is MISSING:
                    break
        return names

    def _encode_named(self, name: str, value: Any) -> Json:
        try:
            return values.encode_value(value, self)
        except RecursionError:
            raise values.ValueNotCaptured(
                f"the value of `{name}` contains itself, or is nested too deeply"
            ) from None

    def _depend(
        self, function: types.FunctionType, container: Any, name: str, value: Any, is_used: bool
    ) -> None:
        """Remember where a value came from; contents count only where the value itself is used."""
        if _is_of_language(function) or _is_of_language(container):
            return
        if container is vars(builtins):  # until the module has a variable of that name
            container, value = function.__globals__, MISSING
        fingerprint = None
        if is_used and not (value is MISSING or self._is_fixed(value)):
            fingerprint = fingerprint_of(value) or UNKNOWN
        found = Dependency(container, name, value, fingerprint)
        for index, known in enumerate(self.dependencies):
            if known.container is container and known.name == name:
                if known.fingerprint is None:
                    self.dependencies[index] = found
                return
        self.dependencies.append(found)

    def _is_fixed(self, value: Any) -> bool:
        """Whether nothing that Python can see of a value changes, or what changes has dependencies."""
        if isinstance(value, types.FunctionType):
            is_known = value in self._ids or marks.BUILTIN in vars(value) or _is_of_language(value)
            return is_known and not attributes_of_function(value)
        if isinstance(value, types.ModuleType):
            return is_pure_module(value.__name__)
        if isinstance(value, type):
            return is_settled(value.__module__) or values.is_aggregate(value)
        if values.is_jit(value) or values.encode_type(value):
            return True
        if isinstance(value, (tuple, enum.Enum)) and is_bare(value):
            items: Any = value if isinstance(value, tuple) else (value.value,)
            return all(map(self._is_fixed, items))
        return isinstance(value, _PLAIN) and is_bare(value)

    def _can_inline(self, function: types.FunctionType) -> bool:
        """A plain function is inlined when it is the kernel's neighbour, a lambda or passed on."""
        near = function.__module__ == self._module or function.__name__ == "<lambda>"
        if not (near or function in self._inlined):
            return False
        try:
            record_of(function)
        except SourceNotFound:
            return False
        return True

    @staticmethod
    def _is_function(value: object) -> bool:
        is_marked = marks.BUILTIN in getattr(value, "__dict__", {})
        return values.is_jit(value) or (
            isinstance(value, types.FunctionType)
            and not is_marked
            and not hasattr(value, marks.CONSTEXPR_FUNCTION)
        )


class _Given:
    """Writes down what comes from outside of the kernel's source, as its objects are now."""

    def __init__(self, capture: Capture, has_digest: bool) -> None:
        self.capture = capture
        self.has_digest = has_digest
        self.function, self.aggregate, self.find = capture.function, capture.aggregate, capture.find

    def contents(self, value: object) -> str:
        return digest_of(value, self.capture) or "" if self.has_digest else ""

    def opaque(self, value: object, kind: str, name: str) -> Json:
        return {**self.capture.reference(value, kind, name), "digest": self.contents(value)}

    def module(self, value: types.ModuleType) -> Json:
        is_known = is_pure_module(value.__name__)
        return {"k": "module", "v": value.__name__} | ({} if is_known else {"digest": ""})


def _values_of(defaults: Any) -> Iterable[Any]:
    return defaults.values() if isinstance(defaults, dict) else defaults or ()


def _is_of_language(value: Any) -> bool:
    """A module of this package or a function in one: they do not change under their users."""
    attribute = "__name__" if isinstance(value, types.ModuleType) else "__module__"
    name = getattr(value, attribute, "")
    return isinstance(name, str) and name.split(".")[0] == "tilewright"


def _resolve(function: types.FunctionType, chain: Chain) -> Iterable[tuple[Any, str, Any]]:
    """(container, name, value) of each link that can be resolved, and of the first in any case."""
    container, value = _resolve_root(function, chain[0])
    yield container, chain[0], value
    for index, name in enumerate(chain[1:], 1):
        base = value
        if value is MISSING or not _has_plain_attribute(base, name):
            return
        value = getattr(base, name, MISSING)
        if value is MISSING:
            yield from absent.links_of(base, chain[index:])
            return
        yield base, name, value


def _resolve_root(function: types.FunctionType, name: str) -> tuple[Any, Any]:
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        return cell, look_up(cell, name)
    if name in function.__globals__ or not hasattr(builtins, name):
        return function.__globals__, function.__globals__.get(name, MISSING)
    return vars(builtins), getattr(builtins, name)


def _has_plain_attribute(base: Any, name: str) -> bool:
    """Reading it runs no user code: modules, classes, enums, and what lies in an object itself."""
    if isinstance(base, (types.ModuleType, type, enum.Enum)):
        return marks.BUILTIN not in vars(base) if isinstance(base, type) else True
    if isinstance(base, (tuple, str, int, float)) or values.is_jit(base):
        return False
    if isinstance(base, types.FunctionType):
        return name in attributes_of_function(base)
    return name in getattr(base, "__dict__", {})


def capture(kernel: Any) -> Capture:
    """The current capture of a jit function or plain function, made again when a value changed."""
    # Kept in the function itself, so that both are freed together.
    function = values.plain_function(kernel)
    kept: dict[str, Any] = vars(function)
    with _lock:
        known: Capture | None = kept.get(_CAPTURE)
        # functools.wraps copies what a function keeps to its wrapper, which is another kernel.
        if known is None or known.entry is not function or not known.is_current():
            known = kept[_CAPTURE] = Capture(kernel)
        return known
