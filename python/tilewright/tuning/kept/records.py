"""What autotuning found for one kernel and one key: a record, and a line of text that holds it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

FORMAT = 1


@dataclass(frozen=True)
class Trial:
    """One configuration of a record: its constants and options, and its median in milliseconds, None
    where it failed or was not measured. `spread` is the width of the median's confidence interval by the median,
    `predicted` the milliseconds of the model, and `why` the reason for which nothing was measured."""

    config: dict[str, Any]
    ms: float | None
    spread: float | None = None
    predicted: float | None = None
    why: str = ""


@dataclass(frozen=True)
class Record:
    """The measurements of one kernel for one key on one device by one build of the compiler.

    `meaning` and `candidates` are digests: of the kernel with everything that it refers to, and of the
    configurations in any order. `key` has the values of the key's arguments by name, `types` the
    element types of the arrays. `is_adopted` says that somebody asked to use it on other devices too.
    """

    kernel: str
    meaning: str
    candidates: str
    key: dict[str, Any]
    types: list[str]
    device: str
    target: str
    build: str
    best: dict[str, Any]
    trials: list[Trial] = field(default_factory=list[Trial])
    is_adopted: bool = False

    @property
    def question(self) -> tuple[str, ...]:
        """The question that the record answers: everything but the device, the build and the measurements.
        Arrays of torch, NumPy and JAX with equal elements are alike."""
        types = [name.removeprefix("torch.") for name in self.types]
        return (self.kernel, self.meaning, self.candidates, _text(self.key), _text(types))

    @property
    def identity(self) -> tuple[str, ...]:
        """What one record of a store has and no other."""
        return (*self.question, self.device, self.target, self.build)

    @property
    def best_ms(self) -> float:
        """The milliseconds of the best configuration."""
        known = [t.ms for t in self.trials if t.ms is not None]
        return min(known, default=math.inf)

    def order(self) -> tuple[Any, ...]:
        """Sorts records of one identity: the fastest first, whatever files they come from."""
        return (self.best_ms, self.line())

    def line(self) -> str:
        """The record as a line of a store, without its end."""
        fields = {"format": FORMAT, **asdict(self)}
        return _text({**fields, "check": _digest(fields)})


class Unreadable(ValueError):
    """A line that is not a whole record of this format."""


def record_of(line: str) -> Record:
    """The record that a line holds. Raises Unreadable, which says why there is none."""
    try:
        fields = json.loads(line)
    except ValueError:
        raise Unreadable("it is not JSON; a writer may have been ended halfway") from None
    if not isinstance(fields, dict) or "format" not in fields:
        raise Unreadable("it is not a record of autotuning")
    if fields["format"] != FORMAT:
        raise Unreadable(
            f"its format is {fields['format']!r} and this Tilewright reads {FORMAT}; another version "
            "has written it"
        )
    check = fields.pop("check", None)
    if check != _digest(fields):
        raise Unreadable("it does not have the digest that it names: somebody has changed it")
    try:
        del fields["format"]
        record = Record(**{**fields, "trials": [Trial(**trial) for trial in fields["trials"]]})
    except (TypeError, KeyError):
        record = None
    if record is None or not _is_sound(record):
        raise Unreadable("it does not have the fields of a record")
    return record


def _is_sound(record: Record) -> bool:
    """Whether a record's fields have the types that they are declared with."""
    texts = (record.kernel, record.meaning, record.candidates, record.device, record.target, record.build)
    numbers = [n for t in record.trials for n in (t.ms, t.spread, t.predicted) if n is not None]
    return (
        all(isinstance(text, str) for text in (*texts, *record.types, *(t.why for t in record.trials)))
        and all(isinstance(c, dict) for c in (record.key, record.best, *(t.config for t in record.trials)))
        and all(isinstance(n, (int, float)) and 0 <= n < math.inf for n in numbers)
    )


def _text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))


def _digest(fields: Mapping[str, Any]) -> str:
    return hashlib.sha256(_text(fields).encode()).hexdigest()


def readable(value: Any) -> Any:
    """A value of a key or a configuration in JSON: numbers, texts and None as they are, others as their
    text, so that two that differ have different texts."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    return f"{type(value).__name__} {value!r}"


def readable_config(config: Any) -> dict[str, Any]:
    """The constants and options of a configuration in JSON."""
    chosen = {name: readable(value) for name, value in config.all_kwargs().items()}
    return dict(sorted(chosen.items()))


def rank(config: Any) -> list[tuple[Any, ...]]:
    """Orders configurations by what they choose, numbers by their size: of equally fast ones the first
    is taken, in whatever order a program lists them."""
    chosen = readable_config(config)
    return [
        (name, 0, value, "") if isinstance(value, (int, float)) else (name, 1, 0, str(value))
        for name, value in chosen.items()
    ]


def fastest(candidates: Iterable[Any], timings: Mapping[Any, float]) -> Any:
    """The fastest of some configurations; of equally fast ones the first by `rank`."""
    return min(candidates, key=lambda config: (timings.get(config, math.inf), rank(config)))


def digest_of_candidates(candidates: Sequence[Any]) -> str:
    """Identifies a set of configurations, in any order."""
    texts = sorted(_text(readable_config(config)) for config in candidates)
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()[:16]
