"""What a tuning found: a row for each configuration, a line while it runs, and a table at its end."""

from __future__ import annotations

import importlib.util
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..native.errors import TilewrightError
from .configurations import Config

# The states of a row, by the order in which a table shows them.
MEASURED, SLOWER, SAME, WRONG, LATE, FAILED, WAITING = (
    "measured", "slower", "same", "wrong", "late", "failed", "not tried",
)  # fmt: skip
_ORDER = (MEASURED, SLOWER, SAME, WRONG, LATE, FAILED, WAITING)
_BY_CODE = {"TW0447": LATE, "TW0448": WRONG}


def text_of_key(key: tuple[Any, ...]) -> str:
    """The values of a key without their types: "5000, torch.float32"."""
    values = key[1:] if key and isinstance(key[0], type) else key
    typed = [isinstance(v, tuple) and len(v) == 2 and isinstance(v[0], type) for v in values]
    return ", ".join(str(v[1] if is_typed else v) for v, is_typed in zip(values, typed))


@dataclass
class Row:
    """One configuration. `milliseconds` is the median of `samples` launches and `interval` encloses it;
    infinite without a measurement. `state` is "measured", "slower" (dropped before the end), "same" (as
    the configuration `same_as`, whose launch is the same), "wrong", "late", "failed" or "not tried";
    `code` and `reason` say why, `compile_seconds` how long compiling took, None where it was compiled
    before."""

    config: Config
    state: str = WAITING
    milliseconds: float = math.inf
    interval: tuple[float, float] = (0.0, math.inf)
    samples: int = 0
    compile_seconds: float | None = None
    code: str = ""
    reason: str = ""
    same_as: Config | None = None
    error: TilewrightError | None = field(default=None, repr=False)

    def fail(self, error: TilewrightError) -> None:
        """Note why the configuration is left out."""
        self.state = _BY_CODE.get(error.code, FAILED)
        # Of a simulation, the second line is the first finding.
        lines = [line for line in error.message.splitlines()[:2] if not line.startswith(" ")]
        self.code, self.reason = error.code, ": ".join(lines)
        self.error, self.milliseconds = error, math.inf


@dataclass
class Report:
    """A tuning of one key: `rows` in the order of the configurations, the `best` one, and `is_sure`, which
    is false where others may be as fast or the tuning was cut short. `notes` say what was not done."""

    kernel: str
    key: tuple[Any, ...]
    rows: list[Row]
    best: Config | None = None
    is_sure: bool = True
    is_interrupted: bool = False
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list[str])

    def row(self, config: Config) -> Row:
        """The row of a configuration. Raises KeyError for one that was not a candidate."""
        for row in self.rows:
            if row.config == config:
                return row
        raise KeyError(config)

    def spreads(self) -> dict[Config, float]:
        """The width of each measured median's interval, by the median."""
        timed = (row for row in self.rows if row.samples and not math.isinf(row.interval[1]))
        return {row.config: (row.interval[1] - row.interval[0]) / row.milliseconds for row in timed}

    @property
    def left_out(self) -> list[Row]:
        """The rows of configurations that are not used whatever their time."""
        return [row for row in self.rows if row.state in (WRONG, LATE, FAILED)]

    @property
    def rivals(self) -> list[Config]:
        """The configurations whose intervals meet that of the best one."""
        if self.best is None:
            return []
        bound = self.row(self.best).interval[1]
        close = [r for r in self.rows if r.state == MEASURED and r.interval[0] <= bound]
        return [row.config for row in close if row.config != self.best]

    def __str__(self) -> str:
        tuned = f"{self.kernel} for {text_of_key(self.key)}"
        lines = [f"autotuning {tuned} took {self.seconds:.2f} s; the best is {self.best}"]
        if self.is_interrupted:
            lines[0] += ", of those that were measured until the interrupt"
        elif not self.is_sure and self.rivals:
            count = len(self.rivals)
            lines[0] += f", unless {'another is' if count == 1 else f'{count} others are'} as fast"
        order = sorted(self.rows, key=lambda r: (_ORDER.index(r.state), r.milliseconds))
        lines += aligned([("ms", "between", "launches", "compiled", "configuration", ""), *map(_cells, order)])
        return "\n".join([*lines, *(f"note: {note}" for note in self.notes)])


def _cells(row: Row) -> tuple[str, ...]:
    is_timed = not math.isinf(row.milliseconds)
    low, high = row.interval
    why = f"[{row.code}] {row.reason}" if row.code else f"{row.same_as}" if row.same_as else ""
    return (
        f"{row.milliseconds:.4g}" if is_timed else "-",
        f"{low:.4g} .. {high:.4g}" if is_timed and not math.isinf(high) else "-",
        str(row.samples) if row.samples else "-",
        f"{row.compile_seconds:.2f} s" if row.compile_seconds is not None else "-",
        str(row.config),
        f"{row.state} {why}".rstrip(),
    )


def aligned(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Lines of a table with two blanks between the columns, the first four to the right."""
    widths = [max(map(len, column)) for column in zip(*rows)]
    pad = [str.rjust] * 4 + [str.ljust] * (len(widths) - 4)
    return ["  ".join(p(c, w) for p, c, w in zip(pad, row, widths)).rstrip() for row in rows]


class Progress:
    """One line on a terminal that says how far a tuning is; nothing where stderr is none, or where
    `is_shown` is False. True shows it everywhere."""

    def __init__(self, kernel: str, is_shown: bool | None) -> None:
        self.kernel = kernel
        self.is_shown = _is_terminal() if is_shown is None else is_shown
        self._next = 0.0
        self._status: Any = None
        self._width = 0

    def say(self, text: str, is_last: bool = False) -> None:
        """Show a text in place of the one before, ten times a second at most."""
        now = time.monotonic()
        if not self.is_shown or (now < self._next and not is_last):
            return
        self._next = now + 0.1
        line = f"autotuning {self.kernel}: {text}"
        if self._status is None and self._width == 0:
            self._status = _rich_line()
        if self._status is not None:
            from rich.text import Text

            self._status.update(Text(line), refresh=True)
        else:
            sys.stderr.write("\r" + line.ljust(self._width))
            sys.stderr.flush()
            self._width = len(line)

    def close(self) -> None:
        """Take the line away."""
        if self._status is not None:
            self._status.stop()
            self._status = None
        elif self._width:
            sys.stderr.write("\r" + " " * self._width + "\r")
            sys.stderr.flush()
        self._width = 0


def _is_terminal() -> bool:
    try:
        return sys.stderr is not None and sys.stderr.isatty()
    except ValueError:  # it is closed
        return False


def _rich_line() -> Any:
    """A line of rich, where it is installed and stderr is a terminal; else None. No thread refreshes it,
    which measurements would notice."""
    if not _is_terminal() or importlib.util.find_spec("rich") is None:
        return None
    from rich.console import Console
    from rich.live import Live

    line = Live("", console=Console(stderr=True), auto_refresh=False, transient=True)
    line.start()
    return line
