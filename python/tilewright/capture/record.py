"""What a function's source alone tells: its tree as JSON, its free names, its parameters."""

from __future__ import annotations

import ast
import builtins
import json
import keyword
import re
import types
import weakref
from typing import Any, NamedTuple

from ..language import dtypes, static
from ..language.sizes import bucket
from . import kept, prebuilt, values
from .digests import digest_texts
from .names import Chain, find_free_names
from .nodes import function_text, to_json
from .source import FunctionSource, Place, SourceTooDeep, find_place, find_source, read_source

# By identity: code objects of equal functions on equal lines of different files compare equal.
_records: dict[int, tuple[weakref.ref[types.CodeType], FunctionRecord]] = {}

# A node's place in the text of a tree. In a string the quotation marks would be escaped.
_SPAN = re.compile(r'"@":\[[\d,-]*\],?')

_NOT_FOUND = object()


class ParameterText(NamedTuple):
    """A parameter as it is written."""

    name: str
    kind: str  # empty for an ordinary one
    annotation: str | None


class SourceFacts(NamedTuple):
    """What a capture needs to know of a function's text, without the text."""

    meaning: str  # digest of the function's name and tree; comments and lines do not count
    exact: str  # digest of everything but the name of the file
    names_lines: bool
    chains: list[Chain]
    arguments: list[Chain]
    attributes: list[str]
    parameters: list[ParameterText]


class FunctionRecord:
    """The part of a FUNCTION that every closure of one code object shares."""

    def __init__(self, place: Place, facts: SourceFacts, shared: str | None) -> None:
        self.file = place.file
        self.facts = facts
        self.arguments = frozenset(facts.arguments)
        self._place = place
        self._shared = shared

    @property
    def opening(self) -> str:
        """The JSON text of name, file, line, source and ast, without the closing brace."""
        if self._shared is None:
            # From the lines that the facts are of: the file may have changed since.
            self._shared, _ = _shared_text(read_source(self._place), self._place.name)
        return f'{{"file":{json.dumps(self.file)},{self._shared[1:-1]}'


def record_of(function: types.FunctionType) -> FunctionRecord:
    """The record of a function, made once per code object. Raises SourceNotFound."""
    code = function.__code__
    reference, record = _records.get(id(code), (None, None))
    if record is None or reference is None or reference() is not code:
        record = _find_record(function)
        forget = weakref.ref(code, lambda _, key=id(code): _records.pop(key, None))
        _records[id(code)] = (forget, record)
    return record


def names_lines(text: str) -> bool:
    """Whether a part of a buffer has assertions: their messages in the binary name the line."""
    return '"Assert"' in text or '"device_assert"' in text


def make(place: Place) -> tuple[bytes, bytes]:
    """The facts of a function and what every function of its text shares, for `prebuilt`."""
    source = read_source(place)
    record = _make_record(place, place.name, source)
    return json.dumps(record.facts).encode(), _shared_text(source, place.name)[0].encode()


def _find_record(function: types.FunctionType) -> FunctionRecord:
    return _find_prebuilt(function) or _find_or_make(function)


def _find_prebuilt(function: types.FunctionType) -> FunctionRecord | None:
    code = function.__code__
    found = prebuilt.find(code) if code.co_name == function.__name__ else None
    if found is None:
        return None
    facts = _decode_facts(found[0])
    place = Place(code.co_filename, code.co_firstlineno, code.co_name, ())
    return facts and FunctionRecord(place, facts, found[1])


def _find_or_make(function: types.FunctionType) -> FunctionRecord:
    place = find_place(function)
    # What a lambda's source is depends on its code, and what else has two names on either.
    if place.name != function.__name__ or place.name == "<lambda>":
        return _make_record(place, function.__name__, find_source(function))
    key = kept.key_of(place)
    facts = _decode_facts(kept.read(key))
    if facts is not None:
        return FunctionRecord(place, facts, None)
    record = _make_record(place, place.name, read_source(place))
    kept.write(key, json.dumps(record.facts))
    return record


def _make_record(place: Place, name: str, source: FunctionSource) -> FunctionRecord:
    try:
        shared, tree = _shared_text(source, name)
        free = find_free_names(source.node)
    except RecursionError:
        raise SourceTooDeep(source) from None
    facts = SourceFacts(
        meaning=digest_texts(name, _SPAN.sub("", tree)),
        exact=digest_texts(shared),
        names_lines=names_lines(shared),
        chains=list(free.chains),
        arguments=sorted(free.arguments),
        attributes=list(free.attributes),
        parameters=_parameter_texts(source.node.args),
    )
    return FunctionRecord(place, facts, shared)


def _shared_text(source: FunctionSource, name: str) -> tuple[str, str]:
    """The JSON text of what every function of one text shares, and the tree alone."""
    tree = function_text(source, values.encode_value)
    rest = to_json({"name": name, "line": source.line, "source": source.text})
    return f'{rest[:-1]},"ast":{tree}}}', tree


def _decode_facts(text: str | None) -> SourceFacts | None:
    if text is None:
        return None
    facts = SourceFacts(*json.loads(text))
    return facts._replace(
        chains=[tuple(chain) for chain in facts.chains],
        arguments=[tuple(chain) for chain in facts.arguments],
        parameters=[ParameterText(*parameter) for parameter in facts.parameters],
    )


def namespace_of(function: types.FunctionType) -> dict[str, Any]:
    """Closure values over globals, as the function's body sees them."""
    namespace = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or ()):
        try:
            namespace[name] = cell.cell_contents
        except ValueError:  # not assigned yet
            namespace.pop(name, None)
    return namespace


def _look_up(function: types.FunctionType, name: str) -> object:
    """What a name means in a function's body; in a namespace of its own it takes as long as all names."""
    if name in function.__code__.co_freevars:
        cell = (function.__closure__ or ())[function.__code__.co_freevars.index(name)]
        if cell != types.CellType():  # assigned by now
            return cell.cell_contents
        return getattr(builtins, name, _NOT_FOUND)
    if name in function.__globals__:
        return function.__globals__[name]
    return getattr(builtins, name, _NOT_FOUND)


def encode_parameters(
    function: types.FunctionType, record: FunctionRecord, objects: values.Objects
) -> list[values.Json]:
    """The `params` of a FUNCTION, in the order of the signature."""
    defaults = _defaults_by_name(function, record.facts.parameters)
    encoded: list[values.Json] = []
    for parameter in record.facts.parameters:
        annotation = _annotation_value(function, parameter)
        entry: values.Json = {
            "name": parameter.name,
            "constexpr": _is_constexpr(annotation),
            "annotation": _type_name(annotation),
        }
        if isinstance(annotation, type) and values.is_aggregate(annotation):
            objects.aggregate(annotation)  # its methods, as launches pass objects of it
        if parameter.kind:
            entry["kind"] = parameter.kind
        if parameter.name in defaults and not isinstance(defaults[parameter.name], bucket):
            entry["default"] = values.encode_value(defaults[parameter.name], objects)
        encoded.append(entry)
    return encoded


def _parameter_texts(arguments: ast.arguments) -> list[ParameterText]:
    ordered = [(a, "positional_only") for a in arguments.posonlyargs]
    ordered += [(a, "") for a in arguments.args]
    ordered += [(arguments.vararg, "var_positional")] if arguments.vararg else []
    ordered += [(a, "keyword_only") for a in arguments.kwonlyargs]
    ordered += [(arguments.kwarg, "var_keyword")] if arguments.kwarg else []
    return [
        ParameterText(a.arg, kind, None if a.annotation is None else ast.unparse(a.annotation))
        for a, kind in ordered
    ]


def _defaults_by_name(
    function: types.FunctionType, parameters: list[ParameterText]
) -> dict[str, Any]:
    positional = [p.name for p in parameters if p.kind in ("positional_only", "")]
    given = function.__defaults__ or ()
    defaults = dict(zip(positional[len(positional) - len(given) :], given))
    return defaults | (function.__kwdefaults__ or {})


def _annotation_value(function: types.FunctionType, parameter: ParameterText) -> object:
    if parameter.annotation is None:
        return None
    try:
        value = function.__annotations__.get(parameter.name)
    except NameError:  # evaluated on first use since Python 3.14
        return parameter.annotation
    if isinstance(value, str):
        if value.isidentifier() and not keyword.iskeyword(value):
            found = _look_up(function, value)
            return value if found is _NOT_FOUND else found
        try:
            return eval(value, namespace_of(function))
        except Exception:  # an annotation may name anything
            return value
    return value


def _is_constexpr(annotation: object) -> bool:
    if isinstance(annotation, str):
        return annotation.split("[")[0].split(".")[-1] == "constexpr"
    return annotation is static.constexpr or isinstance(annotation, static.constexpr)


def _type_name(annotation: object) -> str | None:
    if annotation is dtypes.const:
        return "const"
    if isinstance(annotation, str):
        try:
            annotation = dtypes.str_to_ty(annotation)
        except ValueError:
            return None
    return annotation.short_name if isinstance(annotation, dtypes.dtype) else None
