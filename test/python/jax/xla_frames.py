"""Calls a handler of foreign functions as XLA does, with structures of Python's ctypes that are laid out
as xla/ffi/api/c_api.h says (jaxlib 0.10)."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Sequence
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any

EXECUTE, BUFFER, SCALAR, STRING = 3, 1, 3, 4
FLOAT32, INT64, FLOAT64 = 11, 5, 12


def _structure(name: str, *fields: tuple[str, Any]) -> Any:
    return type(name, (ctypes.Structure,), {"_fields_": [("bytes", c_size_t), ("next", c_void_p), *fields]})


ErrorArgs = _structure("ErrorArgs", ("message", c_char_p), ("code", c_int32))
Answer = _structure("Answer", ("context", c_void_p), ("value", c_int64))
Buffer = _structure(
    "Buffer", ("element", c_int32), ("data", c_void_p), ("rank", c_int64), ("dims", POINTER(c_int64))
)
Values = _structure(
    "Values", ("count", c_int64), ("types", POINTER(c_int32)), ("values", POINTER(c_void_p))
)
Attributes = _structure(
    "Attributes", ("count", c_int64), ("types", POINTER(c_int32)), ("names", POINTER(c_void_p)),
    ("values", POINTER(c_void_p)),
)  # fmt: skip
Version = _structure("Version", ("major", c_int32), ("minor", c_int32))
CREATE, GET = ctypes.CFUNCTYPE(c_void_p, POINTER(ErrorArgs)), ctypes.CFUNCTYPE(c_void_p, POINTER(Answer))
Api = _structure(
    "Api", ("version", Version), ("internals", c_void_p), ("create_error", CREATE), ("message", c_void_p),
    ("destroy", c_void_p), ("register", c_void_p), ("get_stream", GET), ("unused", c_void_p * 12),
    ("get_ordinal", GET),
)  # fmt: skip
Frame = _structure(
    "Frame", ("api", POINTER(Api)), ("context", c_void_p), ("stage", c_int32), ("arguments", Values),
    ("results", Values), ("attributes", Attributes),
)  # fmt: skip


class Text(ctypes.Structure):
    """XLA_FFI_ByteSpan."""

    _fields_ = [("data", c_char_p), ("size", c_size_t)]


class Scalar(ctypes.Structure):
    """XLA_FFI_Scalar."""

    _fields_ = [("element", c_int32), ("value", c_void_p)]


class Metadata(ctypes.Structure):
    """XLA_FFI_Metadata."""

    _fields_ = [("bytes", c_size_t), ("version", Version), ("traits", c_uint32), ("state", c_int64)]


class Extension(ctypes.Structure):
    """XLA_FFI_Metadata_Extension."""

    _fields_ = [
        ("bytes", c_size_t), ("type", c_int32), ("next", c_void_p), ("metadata", POINTER(Metadata)),
    ]  # fmt: skip


def address_of(capsule: Any) -> int:
    """What a capsule holds."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = c_void_p, [ctypes.py_object, c_char_p]
    return pointer(capsule, None)


def key_of(function: Callable[..., Any], *arrays: Any) -> str:
    """The key of the only kernel that a function of JAX calls."""
    import jax

    (key,) = set(re.findall('key = "([0-9a-f]{32})"', jax.jit(function).lower(*arrays).as_text()))
    return key


class Caller:
    """Calls one handler on a stream of a GPU, or on the host."""

    def __init__(self, handler: Any, stream: int = 0, ordinal: int = 0) -> None:
        address = handler if isinstance(handler, int) else address_of(handler)
        self.handler = ctypes.CFUNCTYPE(c_void_p, POINTER(Frame))(address)
        self.messages: list[str] = []
        self.answers = CREATE(self._fail), self._answer(stream), self._answer(ordinal)
        self.api = Api()
        self.api.version.major, self.api.version.minor = 0, 3
        self.api.create_error, self.api.get_stream, self.api.get_ordinal = self.answers

    def _fail(self, args: Any) -> int:
        self.messages.append(args.contents.message.decode())
        return 1

    def _answer(self, value: int) -> Any:
        def answer(args: Any) -> None:
            args.contents.value = value

        return GET(answer)

    def version(self) -> tuple[int, int]:
        """The version that the handler says it has."""
        metadata = Metadata(ctypes.sizeof(Metadata))
        extension = Extension(ctypes.sizeof(Extension), 1, None, ctypes.pointer(metadata))
        frame = Frame(ctypes.sizeof(Frame))
        frame.next, frame.api = ctypes.addressof(extension), ctypes.pointer(self.api)
        assert not self.handler(frame)
        return metadata.version.major, metadata.version.minor

    def __call__(
        self, arguments: Sequence[int], results: Sequence[int], **attributes: str | int | float
    ) -> str:
        """Run on buffers of float32 at addresses; the message of the error, empty without one."""
        self.kept: list[Any] = []
        frame = Frame(ctypes.sizeof(Frame))
        frame.api, frame.stage = ctypes.pointer(self.api), EXECUTE
        frame.arguments, frame.results = self._values(arguments), self._values(results)
        values = [self._attribute(value) for value in attributes.values()]
        types = [STRING if isinstance(value, Text) else SCALAR for value in values]
        names = [Text(name.encode(), len(name)) for name in attributes]
        frame.attributes = Attributes(
            ctypes.sizeof(Attributes), None, len(names), (c_int32 * len(names))(*types),
            self._pointers(names), self._pointers(values),
        )  # fmt: skip
        self.messages.clear()
        is_error = self.handler(frame)
        assert bool(is_error) == bool(self.messages)
        return "".join(self.messages)

    def _attribute(self, value: str | int | float) -> Any:
        if isinstance(value, str):
            return Text(value.encode(), len(value))
        kept = c_int64(value) if isinstance(value, int) else ctypes.c_double(value)
        self.kept.append(kept)
        return Scalar(INT64 if isinstance(value, int) else FLOAT64, ctypes.addressof(kept))

    def _pointers(self, values: Sequence[Any]) -> Any:
        self.kept += values
        return (c_void_p * len(values))(*map(ctypes.addressof, values))

    def _values(self, addresses: Sequence[int]) -> Any:
        buffers = [Buffer(ctypes.sizeof(Buffer), None, FLOAT32, address, 0, None) for address in addresses]
        types = (c_int32 * len(buffers))(*[BUFFER] * len(buffers))
        return Values(ctypes.sizeof(Values), None, len(buffers), types, self._pointers(buffers))
