"""Examples of the language's functions: how one is written down, how it runs, and what it becomes.

An example is a function with the name of what it shows. Its parameters are tiles, which a driver loads,
and the driver stores the tile that it returns; one whose first parameter is `out` is a kernel by itself.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import io
import itertools
import math
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import tilewright as tw
from tilewright.compile.stages import inspect_with_reports
from tilewright.analysis.instructions import Instruction, read_code
from tilewright.language.element_types import ELEMENT_TYPES

ROOT = Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "test/python/support"))
from table_rows import records  # noqa: E402

LANES = 32  # one element a lane in a warp of NVIDIA's
_LINE = np.linspace(0.0625, 0.9375, LANES, dtype=np.float32)
_MATRIX = np.linspace(-1, 1, 64 * 64, dtype=np.float32).reshape(64, 64).astype(np.float16)
# What parameters are where an example gives no other array.
ARRAYS: dict[str, np.ndarray] = {
    "out": np.zeros(LANES, np.float32), "x": _LINE, "y": _LINE[::-1].copy(), "z": _LINE * 2,
    "rows": np.linspace(-2, 2, LANES, dtype=np.float32).reshape(4, 8),
    "n": np.arange(LANES, dtype=np.int32), "m": np.arange(LANES, dtype=np.int32)[::-1] * 2654435 % 97,
    "u": np.arange(LANES, dtype=np.uint32) * 0x8003_0001,
    "a": _MATRIX, "b": _MATRIX.T.copy(),
}  # fmt: skip
# Names that examples' expectations may use, beside their arrays.
NAMES = {"np": np, "math": math, "bits": 32}
TARGETS = ("nvidia:sm_80", "nvidia:sm_90a", "amd:gfx942", "cpu:x86-64-v4")
_LANGUAGES = {"ptx": "PTX", "asm": "AMDGCN"}
_SPACE = "\N{NO-BREAK SPACE}"
_MOST_NAMES = 12  # of instructions that are shown
# Instructions that say nothing of a function, and kinds that say the most.
_QUIET = {"s_nop", "s_waitcnt", "s_endpgm", "ret", "retq", "vzeroupper"}
_PLAIN = {"other", "branch", "vector", "load", "store", "call"}


class Example(NamedTuple):
    """A kernel, or a function of tiles, and what it leaves of these arrays, as text for NumPy; the text
    is a condition where it names `result`. Functions that `uses` names are shown before it."""

    name: str
    function: Any
    expected: str
    arrays: dict[str, np.ndarray]
    num_warps: int
    devices: tuple[str, ...]
    uses: tuple[Any, ...]

    @property
    def is_kernel(self) -> bool:
        """Tell whether it stores its result itself."""
        return "out" in self.arrays

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets that compile it."""
        is_nvidia = self.devices[0].startswith("sim:sm")
        return tuple(t for t in TARGETS if t.startswith("nvidia") or not is_nvidia)


EXAMPLES: dict[str, dict[str, Example]] = {}  # module of the language -> name -> example


def example(
    expected: str,
    *,
    uses: tuple[Any, ...] = (),
    num_warps: int = 1,
    devices: tuple[str, ...] = ("cpu", "reference"),
    **arrays: np.ndarray,
) -> Callable[[Callable[..., Any]], Any]:
    """Make a function an example of the language's function of that name."""

    def made(function: Callable[..., Any]) -> Any:
        own = {p: arrays.get(p, ARRAYS.get(p)) for p in inspect.signature(function).parameters}
        found = Example(function.__name__, tw.jit(function), expected, own, num_warps, devices, uses)
        module = function.__module__.removesuffix("_examples")
        EXAMPLES.setdefault(module, {})[function.__name__] = found
        return found.function

    return made


@functools.cache
def examples_of(module: str) -> dict[str, Example]:
    """The examples of a page: those of its file, or those that follow from the table of functions."""
    if module == "elementwise":
        return {found.name: found for found in _elementwise()}
    if not (Path(__file__).parent / f"{module}_examples.py").is_file():
        return {}
    sys.path.insert(0, str(Path(__file__).parent))
    importlib.import_module(f"{module}_examples")
    return EXAMPLES[module]


def _elementwise() -> Iterator[Example]:
    for row in records("Elementwise.td", "Elementwise"):
        names = row["Parameters"].split(", ")
        given = ("x", "y", "z") if row["FloatOp"] else ("n",)
        arrays = {name: ARRAYS[value] for name, value in zip(names, given)}
        # The table calls the operands a, b and c.
        own = dict(zip("abc", names))
        expected = re.sub(r"\b[abc]\b", lambda found: own[found[0]], row["Reference"])
        if row["Name"] == "acosh":
            arrays["x"] = arrays["x"] + 1
        for name in (row["Name"], *row["Aliases"]):
            function, devices = getattr(tw, name), ("cpu", "reference")
            yield Example(name, function, expected, arrays, 1, devices, ())


# --- Running --------------------------------------------------------------------------------------


@tw.jit
def offsets(SHAPE: tw.constexpr):
    """The offsets of a tile's elements in memory without gaps."""
    result = tw.to_tensor(0)
    for axis in tw.static_range(len(SHAPE)):
        index = tw.arange(0, SHAPE[axis])
        for other in tw.static_range(len(SHAPE)):
            if other < axis:
                index = tw.expand_dims(index, 0)
            elif other > axis:
                index = tw.expand_dims(index, len(index.shape))
        result = result * SHAPE[axis] + index
    return result


@tw.jit
def driver(out, arrays, FUNCTION: tw.constexpr, SHAPES: tw.constexpr):
    """Loads tiles, calls the function, and stores what it returns."""
    tiles = ()
    for n in tw.static_range(len(SHAPES)):
        tiles = tiles + (tw.load(arrays[n] + offsets(SHAPES[n])),)
    result = FUNCTION(*tiles)
    tw.store(out + offsets(result.shape), result)


def expectation(found: Example) -> np.ndarray | None:
    """What it leaves, by NumPy in float64; None where a condition on the result says it."""
    if re.search(r"\bresult\b", found.expected):
        return None
    wide = {n: a.astype(np.float64) if a.dtype.kind == "f" else a for n, a in found.arrays.items()}
    value = np.asarray(eval(found.expected, {**NAMES, **wide}))
    return value.astype(np.int64) if value.dtype == object else value


def arguments(found: Example, out: np.ndarray) -> tuple[Any, dict[str, Any], dict[str, Any]]:
    """The kernel that is launched, its arrays and its constants."""
    if found.is_kernel:
        return found.function, {**found.arrays, "out": out}, {}
    shapes = tuple(array.shape for array in found.arrays.values())
    constants = {"FUNCTION": found.function, "SHAPES": shapes}
    return driver, {"out": out, "arrays": tuple(found.arrays.values())}, constants


def output(found: Example) -> np.ndarray:
    """An array for the result, with poison where the example does not say what is there before."""
    if found.is_kernel:
        return found.arrays["out"].copy()
    expected = expectation(found)
    if expected is None:
        return np.full_like(next(iter(found.arrays.values())), 77)
    kind = {"f": np.float32, "b": np.bool_}.get(expected.dtype.kind, np.int32)
    return np.full(expected.shape, 77 if kind is not np.bool_ else True, kind)


def run(found: Example, device: str) -> np.ndarray:
    """What the example leaves on a device. Raises AssertionError where it is not what it says."""
    out = output(found)
    kernel, arrays, constants = arguments(found, out)
    with tw.device(device):
        kernel[(1,)](**arrays, **constants)
    expected = expectation(found)
    if expected is None:
        assert np.all(eval(found.expected, {**NAMES, **found.arrays, "result": out})), out
    else:
        assert out.shape == expected.shape
        np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-6)
    return out


# --- What it becomes ------------------------------------------------------------------------------


def type_of(value: Any) -> Any:
    """The type of an array as a signature has it; of a tuple, those of its items."""
    if isinstance(value, tuple):
        return tuple(type_of(item) for item in value)
    row = next(row for row in ELEMENT_TYPES if row.name in (str(value.dtype), _OWN.get(str(value.dtype))))
    return f"*{row.short_name}:16"


_OWN = {"bool": "int1"}


def lines_of(found: Example) -> tuple[str, set[int]]:
    """The file and the lines that name the function."""
    shown = found.function
    named = rf"\b{found.name}\b"
    if not isinstance(shown, tw.JITFunction):
        shown, named = driver, r"FUNCTION\("
    function = inspect.unwrap(getattr(shown, "fn", shown))
    lines, first = inspect.getsourcelines(function)
    numbered = [(number, line) for number, line in enumerate(lines, first) if "@" not in line]
    return inspect.getfile(function), {n for n, line in numbered[1:] if re.search(named, line)}


@functools.cache
def code_of(module: str, name: str, target: str) -> tuple[list[Instruction], str]:
    """The instructions of the example's lines that name the function, or the code of the error for a
    target that has none of it."""
    found = examples_of(module)[name]
    kernel, arrays, constants = arguments(found, output(found))
    types = {parameter: type_of(value) for parameter, value in arrays.items()}
    options = {} if target.startswith("cpu") else {"num_warps": found.num_warps}
    request = kernel.request(types, constants, target, **options)
    stage = "ptx" if target.startswith("nvidia") else "asm"
    with contextlib.redirect_stdout(io.StringIO()):
        text, reports = inspect_with_reports(request, stage, locations=True)
    errors = [report["code"] for report in reports if report["severity"] == "error"]
    if errors:
        return [], errors[0]
    language = "x86-64" if target.startswith("cpu") else _LANGUAGES[stage]
    file, lines = lines_of(found)
    code = read_code(text, language).instructions
    name = Path(file).name
    return [i for i in code if i.file == name and i.line in lines and i.name not in _QUIET], ""


def summary(instructions: list[Instruction], error: str = "") -> str:
    """Instructions by their names and how often each is there: those of memory, matrices and shuffles
    first, then in the order of the code."""
    if error:
        return f"refused: [{error}](project:codes.md#{error.lower()})"
    if not instructions:
        return "no instruction"
    ordered = sorted(instructions, key=lambda i: (i.kind.word != "matrix", i.kind.word in _PLAIN))
    counts = Counter(instruction.name for instruction in ordered)
    shown = list(itertools.islice(counts.items(), _MOST_NAMES))
    parts = [f"`{name}`" + (f"{_SPACE}×{_SPACE}{count}" if count > 1 else "") for name, count in shown]
    rest = len(instructions) - sum(count for _, count in shown)
    return ", ".join(parts) + (f", and {rest} more" if rest else "")


def page_part(module: str, name: str) -> Iterator[str]:
    """What the page of the module has of the function: its example, and what that becomes."""
    found = examples_of(module).get(name)
    if found is None:
        return
    if isinstance(found.function, tw.JITFunction):
        shown = "\n\n".join(source_of(thing) for thing in (*found.uses, found.function))
        yield f"```python\n{shown}\n```\n"
        call = f"`{name}`"
    else:
        call = f"`tw.{name}({', '.join(found.arrays)})`"
    given = ", ".join(f"`{p}` is {a.dtype}{[*a.shape]}" for p, a in found.arrays.items() if p != "out")
    verb = "leaves" if found.is_kernel else "gives"
    is_condition = expectation(found) is None
    tells = f"a `result` with `{found.expected}`" if is_condition else f"`{found.expected}`"
    yield f"{call} {verb} {tells}" + (f", where {given}." if given else ".") + "\n"
    yield "| target | instructions |\n|---|---|"
    texts = {target: summary(*code_of(module, name, target)) for target in found.targets}
    for text in dict.fromkeys(texts.values()):
        names = [target.partition(":")[2] for target in texts if texts[target] == text]
        yield f"| {', '.join(names)} | {text} |"
    yield ""


def source_of(thing: Any) -> str:
    """The text of a function as a program would have it, or that of a class."""
    text = inspect.getsource(inspect.unwrap(getattr(thing, "fn", thing))).rstrip()
    return re.sub(r"\A@example\(.*?(?=^def )", "@tw.jit\n", text, flags=re.M | re.S)
