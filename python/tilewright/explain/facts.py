"""Facts about one compilation of a kernel, as plain data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..analysis.instructions import Code
from ..analysis.kinds import Kind
from ..native.errors import Report
from .layouts import Move
from .plan import Plan


@dataclass(frozen=True)
class Finding:
    """A statement of the compiler about a line. `rank` is 0 for the worst and 9 for what needs no action;
    `code` is empty where no page explains it; `count` is how often it is said of the line."""

    file: str
    line: int
    column: int
    code: str
    message: str
    rank: int
    count: int = 1
    advice: str = ""


@dataclass
class LineFacts:
    """The instructions that a source line became, by kind."""

    kinds: Counter[Kind] = field(default_factory=Counter[Kind])
    in_loops: int = 0  # instructions of innermost loops

    @property
    def total(self) -> int:
        """The number of instructions."""
        return sum(self.kinds.values())


SECTOR_BYTES = 32  # of global memory, as the simulator counts


@dataclass(frozen=True)
class MeasuredLine:
    """Counters of a line in a simulated launch: instructions and requests of warps, sectors and bytes
    of global memory, wavefronts of shared memory and how many they would be without bank conflicts,
    branches in which lanes of a warp parted, and how often a warp had to wait."""

    warp_instructions: int
    global_requests: int
    global_sectors: int
    global_bytes: int
    shared_requests: int
    shared_wavefronts: int
    ideal_shared_wavefronts: int
    divergent_branches: int
    waits: int

    @property
    def share_of_sectors(self) -> float:
        """The part of the sectors' bytes that was asked for; above 1 where lanes ask for the same."""
        return self.global_bytes / max(1, self.global_sectors * SECTOR_BYTES)

    @property
    def conflicts(self) -> float:
        """Wavefronts over those without bank conflicts."""
        return self.shared_wavefronts / max(1, self.ideal_shared_wavefronts)


@dataclass(frozen=True)
class Occupancy:
    """How many programs run on a multiprocessor at a time, and what allows no more."""

    programs: int
    warps: int  # of all of these programs
    most_warps: int  # that a multiprocessor has room for
    limits: Mapping[str, int]  # programs that each resource has room for

    @property
    def limited_by(self) -> list[str]:
        """The resources that allow no more programs."""
        return [name for name, room in self.limits.items() if room == self.programs]


@dataclass(frozen=True)
class Roofline:
    """The operations for each byte of memory from which on a machine multiplies at its full rate."""

    balance: float
    intensity: float

    @property
    def bound(self) -> str:
        """The machine's limit that bounds the time, if each byte that programs ask for comes from memory."""
        return "memory" if self.intensity < self.balance else "arithmetic"


@dataclass(frozen=True)
class Shared:
    """A buffer in shared memory, in bytes. Buffers that do not live at once may overlap."""

    name: str
    offset: int
    bytes: int


@dataclass(frozen=True)
class PassChange:
    """A pass that changed the kernel: how many lines of its text it added and took away, and the
    operations of which there are more or fewer."""

    name: str
    added: int
    removed: int
    operations: Mapping[str, int]


@dataclass
class Explanation:
    """Everything that is known of a kernel compiled for one target and setting. `str` gives the text
    for terminals, `to_json` data for programs, `to_html` one page without references to others."""

    name: str
    file: str
    first_line: int  # of the source; decorators come before `def_line`
    def_line: int
    source: list[str]  # the lines of the kernel's function
    helpers: list[
        tuple[int, list[str]]
    ]  # functions of the same file that it calls, by their first line
    target: str
    arguments: str  # with the facts that are assumed of them
    options: Mapping[str, Any]
    request: Any = field(repr=False, default=None)
    reports: list[Report] = field(
        default_factory=list[Report]
    )  # remarks, as the compiler gives them
    findings: list[Finding] = field(default_factory=list[Finding])
    lines: dict[int, LineFacts] = field(default_factory=dict[int, LineFacts])
    measured: dict[int, MeasuredLine] = field(default_factory=dict[int, MeasuredLine])
    resources: dict[str, Any] = field(default_factory=dict[str, Any])
    shared: list[Shared] = field(default_factory=list[Shared])
    occupancy: Occupancy | None = None
    roofline: Roofline | None = None
    plan: Plan | None = None
    moves: list[Move] = field(default_factory=list[Move])  # of changes of layout
    code: Code | None = None
    code_bytes: int = 0
    passes: list[PassChange] = field(default_factory=list[PassChange])
    error: str = ""  # why it does not compile
    reached: str = ""  # the last stage or pass that it got to

    def rows(self) -> Iterator[tuple[int, str]]:
        """The numbers and texts of lines: the kernel's, and those of functions of its file."""
        yield from enumerate(self.source, self.first_line)
        for first, lines in self.helpers:
            yield from enumerate(lines, first)

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, has_colours: bool = False) -> str:
        """The text for terminals; with colours, it has escape sequences."""
        from .text import text_of

        return text_of(self, has_colours)

    def add_run(self, report: Any) -> None:
        """Add what a simulated launch of this kernel counted: `tw.simulation.last_report()`."""
        from .run import add_statistics

        add_statistics(self, report.statistics)

    def to_json(self) -> str:
        """Everything as JSON, with the schema that the folder's README describes."""
        from .as_json import json_of

        return json_of(self)

    def to_html(self) -> str:
        """One HTML page of less than 1 MB: source, stages of the compilation, passes."""
        from .html import page_of

        return page_of(self)

    def diff(self, other: Explanation) -> str:
        """How this explanation and another one differ, for terminals."""
        from .diff import diff_of

        return diff_of(self, other)

    def _repr_html_(self) -> str:
        return f"<iframe srcdoc='{_quoted(self.to_html())}' width='100%' height='700'></iframe>"


def _quoted(page: str) -> str:
    import html

    return html.escape(page, quote=True)
