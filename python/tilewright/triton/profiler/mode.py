"""The names of `triton.profiler.mode`: how Triton's profiler looks into kernels. `start` refuses them;
they are here so that a program can name them for where they are heeded."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from ..absent import names_of

_WORDS = {
    "metric_type": ("cycle",),
    "sampling_strategy": ("none", "selective"),
    "granularity": ("cta", *(f"warp{n}" for n in ("", "_2", "_4", "_8")),
                    *(f"warp_group{n}" for n in ("", "_2", "_4", "_8"))),
    "buffer_strategy": ("circular", "flush"),
    "buffer_type": ("shared", "global"),
}  # fmt: skip


class Optimize(Enum):
    """What may be done to the records in a kernel."""

    TIMESHIFT = "time_shift"
    SCHED_STORES = "sched_stores"
    SCHED_BARRIERS = "sched_barriers"
    CLOCK32 = "clock32"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class BaseMode:
    """A mode by its name."""

    name: str


@dataclass(frozen=True)
class PCSampling(BaseMode):
    """Samples of the program counter, every `interval` cycles."""

    name: str = field(default="pcsampling", init=False)
    interval: int = 1000

    def __post_init__(self) -> None:
        if self.interval <= 0:
            raise ValueError(f"the interval of PCSampling is positive, not {self.interval}")

    def __str__(self) -> str:
        return f"{self.name}:interval={self.interval}"


@dataclass(frozen=True)
class InstrumentationMode(BaseMode):
    """Records that a kernel writes of itself."""

    metric_type: str = "cycle"
    sampling_strategy: str = "none"
    sampling_options: str = ""
    granularity: str = "warp"
    buffer_strategy: str = "circular"
    buffer_type: str = "shared"
    buffer_size: int = 0
    optimizations: Any = field(default_factory=list[Optimize])  # also words with commas between

    def __post_init__(self) -> None:
        for name, known in _WORDS.items():
            if getattr(self, name) not in known:
                raise ValueError(f"{name} is {getattr(self, name)!r}; there are {', '.join(known)}")
        words = self.optimizations
        if isinstance(words, str):
            chosen = [Optimize(word.strip()) for word in words.split(",") if word.strip()]
            object.__setattr__(self, "optimizations", chosen)

    def __str__(self) -> str:
        names = (*_WORDS, "buffer_size", "sampling_options")
        words = [f"{name}={getattr(self, name)}" for name in names]
        return ":".join([self.name, *words, f"optimizations={','.join(map(str, self.optimizations))}"])


@dataclass(frozen=True)
class Default(InstrumentationMode):
    """The scopes of `triton.profiler.language`."""

    name: str = field(default="default", init=False)


@dataclass(frozen=True)
class MMA(InstrumentationMode):
    """Matrix instructions."""

    name: str = field(default="mma", init=False)


__path__: list[str] = []
__getattr__ = names_of(__name__)
