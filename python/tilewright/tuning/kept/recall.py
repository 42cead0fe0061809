"""Asks stores what earlier processes have measured for a launch, and tells them what this one has."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from ...native import knobs, native
from ...native.targets import device_named, target_of
from .records import Record, Trial, digest_of_candidates, readable, readable_config
from .store import append, default_store, records_for_launches, shared_stores, warn_unused


class Question(NamedTuple):
    """What a launch asks a store: the fields of a record that are known before anything is measured."""

    kernel: str
    meaning: str
    candidates: str
    key: dict[str, Any]
    types: list[str]
    device: str
    target: str
    build: str


def kernel_of(fn: Any) -> Any:
    """The kernel under its wrappers."""
    while not hasattr(fn, "__tilewright_jit__"):
        fn = fn.fn
    return fn


def question_of(
    fn: Any, candidates: Sequence[Any], names: Sequence[str], key: tuple[Any, ...]
) -> Question:
    """The question of a launch, for the key of an Autotuner: a type, the key's arguments, the arrays'
    element types with their places, and the chosen device."""
    from ...capture import capture

    kernel = kernel_of(fn)
    _, *values = key
    given = {name: _value_of(value) for name, value in zip(names, values)}
    texts = [text for text in values[len(names) :] if isinstance(text, str)]
    places = [place for text in texts for _, on, place in [f" {text}".partition(" on ")] if on]
    types = [text.partition(" on ")[0] for text in texts if not text.startswith("on ")]
    device = places[-1] if places else "cpu"
    return Question(
        kernel.fn.__name__,
        capture(kernel).meaning,
        digest_of_candidates(candidates),
        given,
        types,
        describe_device(device),
        target_of(device),
        native().build_id(),
    )


def _value_of(entry: Any) -> Any:
    """The value in an entry of a key, as JSON has it."""
    if isinstance(entry, tuple) and len(entry) == 2 and isinstance(entry[0], type):
        kind, value = entry
        if kind is float and isinstance(value, str):
            return readable(float.fromhex(value))
        return readable(value)
    return readable(entry)


@lru_cache(maxsize=None)
def _processor() -> str:
    """The model of this machine's processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    wanted = ("model name", "cpu family", "model")
    found = dict(
        (name.strip(), value.strip()) for name, _, value in (line.partition(":") for line in lines)
    )
    named = [found[name] for name in wanted if name in found]
    return " ".join([platform.machine(), *named]) if named else platform.machine()


def describe_device(device: str) -> str:
    """What makes times of a device comparable: a processor's model with the number of threads that run
    programs, a GPU's name, or the name of a simulated device."""
    facts = device_named(device)
    if facts.has_memory:
        return _gpu(facts)
    if facts.is_gpu or facts.kind == "reference":
        return device
    return f"{_processor()}, {native().num_threads()} threads"


def _gpu(facts: Any) -> str:
    import sys

    torch: Any = sys.modules.get("torch")
    if torch is not None and facts.torch_type == "cuda" and torch.cuda.is_initialized():
        return str(torch.cuda.get_device_name(facts.index))
    return str(facts.kind)


def stores_of(store: str | None) -> list[Path]:
    """The files that a launch looks into, in this order."""
    default = default_store()
    own = [Path(store)] if store else []
    return [*own, *([default] if default else []), *shared_stores()]


def find_record(question: Question, store: str | None = None) -> Record | None:
    """What was measured for a question: on such a device, else what somebody has adopted from others,
    and where nothing may be compiled what any device has measured."""
    takes_any = knobs.settings().is_jit_denied
    wanted = Record(**question._asdict(), best={})
    found = [
        record
        for path in stores_of(store)
        for record in records_for_launches(path)
        if record.question == wanted.question
    ]
    for fits in (
        lambda record: record.identity == wanted.identity,
        lambda record: record.is_adopted,
        lambda record: takes_any and record.build == wanted.build,
    ):
        fitting = [record for record in found if fits(record)]
        if fitting:
            return min(fitting, key=Record.order)
    return None


def timings_of(record: Record, candidates: Sequence[Any]) -> dict[Any, float]:
    """The milliseconds of each candidate as a record has them, infinity where nothing was measured."""
    known = {tuple(trial.config.items()): trial.ms for trial in record.trials}
    found = {c: known.get(tuple(readable_config(c).items())) for c in candidates}
    return {config: math.inf if ms is None else ms for config, ms in found.items()}


def make_record(
    question: Question,
    timings: Mapping[Any, float],
    best: Any,
    spreads: Mapping[Any, float] | None = None,
    predicted: Mapping[Any, float] | None = None,
    reasons: Mapping[Any, str] | None = None,
) -> Record:
    """The record of what was measured, its configurations in one order whatever the program's."""
    trials = [
        Trial(
            readable_config(config),
            None if math.isinf(ms) else ms,
            (spreads or {}).get(config),
            (predicted or {}).get(config),
            (reasons or {}).get(config, ""),
        )
        for config, ms in timings.items()
    ]
    trials.sort(key=lambda trial: (trial.ms is None, trial.ms or 0.0, repr(trial.config)))
    return Record(**question._asdict(), best=readable_config(best), trials=trials)


def keep(record: Record, store: str | None = None) -> None:
    """Add a record to the launch's own store, as that of a package that is installed cannot be written,
    else to the one beside the kernel cache; where neither can be written, a warning."""
    default = default_store()
    failure = None
    for path in [*([Path(store)] if store else []), *([default] if default else [])]:
        try:
            append(path, record)
            return
        except OSError as error:
            failure = f"{path} cannot be written: {error.strerror}"
    if failure:
        warn_unused(failure)
