"""Reads the words that `traced.py` writes of a launch: how its arguments are made of an operator's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..launch.arguments import Reinterpreted
from .any_arguments import AnyArray, AnyNumber

_TYPES = {"i": "SymInt", "f": "float", "b": "bool"}


class Form:
    """A description, read: how arguments are made of an operator's."""

    def __init__(self, description: str, objects: Sequence[Any]) -> None:
        *words, shared = description.split(" ")
        self.is_plain = not {"R", "(", "D"}.intersection(words)
        self.is_contiguous = not {"S", "R", "D"}.intersection(words)
        self.shared = [int(first) for first in shared[1:].split(",") if first]
        self._words, self._objects = iter(words), iter(objects)
        # How many of the parameters are given by position.
        self.num_positional = int(next(self._words))
        self.leaves: list[tuple[str, str]] = []  # (path, type in the schema)
        self.stand_ins: dict[str, Any] = {}  # by parameter, for `stored_arguments`
        self.makers: dict[str, Callable[[Sequence[Any]], Any]] = {}
        self.constants: dict[str, Any] = {}
        self.ways: list[dict[str, Any]] = []
        for word in self._words:
            if word == "|":
                self.ways.append({})
                continue
            name = word[:-1]
            stand_in, make = self._read(next(self._words), name)
            if self.ways:
                self.ways[-1][name] = stand_in
                continue
            self.stand_ins[name], self.makers[name] = stand_in, make

    def _read(self, word: str, path: str) -> tuple[Any, Callable[[Sequence[Any]], Any]]:
        """What stands for an argument, and what makes it of the operator's arguments."""
        index = len(self.leaves)
        if word == "C":
            value = next(self._objects)
            if path.isidentifier():
                self.constants[path] = value
            return value, lambda leaves: value
        if word == "(":
            return self._read_tuple(path)
        if word == "D":
            return self._read_descriptor(path)
        self.leaves.append((path, _TYPES.get(word, "Tensor")))
        if word in _TYPES:
            kind = {"i": "i32", "f": "fp32", "b": "i1"}[word]
            return AnyNumber(kind), lambda leaves: leaves[index]
        element_type, rank, device = (next(self._objects) for _ in range(3))
        stand_in = AnyArray(element_type, rank, device)
        if word == "R":
            return stand_in, lambda leaves: Reinterpreted(leaves[index], element_type)
        return stand_in, lambda leaves: leaves[index]

    def _read_descriptor(self, path: str) -> tuple[Any, Callable[[Sequence[Any]], Any]]:
        kind, element_type, rank, device, *constants = (next(self._objects) for _ in range(7))
        first = len(self.leaves)
        self.leaves.append((path, "Tensor"))
        self.leaves += [(f"{path}.{name}[{i}]", "SymInt") for name in ("shape", "strides") for i in range(rank)]
        stand_in = AnyArray(element_type, rank, device)
        extents = list(stand_in.shape)

        def make(leaves: Sequence[Any]) -> Any:
            shape, strides = leaves[first + 1 : first + 1 + rank], leaves[first + 1 + rank :][:rank]
            return kind(leaves[first], list(shape), list(strides), *constants)

        return kind(stand_in, extents, [*extents[:-1], 1], *constants), make

    def _read_tuple(self, path: str) -> tuple[Any, Callable[[Sequence[Any]], Any]]:
        kind: Any = next(self._objects)
        fields: Sequence[str] = getattr(kind, "_fields", ())
        pairs: list[tuple[Any, Callable[[Sequence[Any]], Any]]] = []
        for word in self._words:
            if word == ")":
                break
            number = len(pairs)
            end = f".{fields[number]}" if fields else f"[{number}]"
            pairs.append(self._read(word, path + end))
        make: Callable[[list[Any]], Any] = (lambda items: kind(*items)) if fields else kind
        return make([item for item, _ in pairs]), lambda leaves: make([one(leaves) for _, one in pairs])
