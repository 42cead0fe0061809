"""Kernels of the tutorials and tests with their text changed: what is drawn, and what becomes of it.

A changed kernel is Python's own error where it is defined, an error with a code where it is compiled, or it
runs and leaves the same memory on `cpu` as on `reference`. Anything else is a finding.
"""

from __future__ import annotations

import ast
import functools
import linecache
import random
import re
import signal
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from source_mutations import Names, mutate

import tilewright as tw

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[3]
GUARD = 64  # elements around every array, which nothing may change
TESTS = ROOT / "test/python"
PARTS = [
    TESTS, *sorted(part for part in TESTS.iterdir() if part.is_dir()), ROOT / "tutorials", ROOT / "test/kernels"
]  # fmt: skip
CARELESS = ROOT / "test/python/frontend/careless_kernels.txt"
# Words of the compiler's inside that no message may hold.
RAW_IR = re.compile(
    r"'(tile|simt|arith|scf|llvm|math|func|vector|builtin|cf|ub|nvvm)\.\w+'|!tile\.|!llvm|#simt|#tile\.|\btensor<|vector<\d|"
    r"loc\(|failed to legalize|operand #|terminator"
)
SOFT_SECONDS = 4


@dataclass
class Original:
    """A kernel that works: the text around it, its own, and how it is launched."""

    file: str
    name: str
    before: str
    text: str
    arguments: list[tuple[str, str]]


@dataclass
class Mutant:
    """A changed kernel, and the device that it is for."""

    original: Original
    text: str
    device: str
    seed: int

    @property
    def module(self) -> str:
        return self.original.before + "\n\n" + self.text


class Finding(Exception):
    """What should not have happened."""


class TooLong(BaseException):
    """A launch takes longer than anybody waits: not the compiler's fault."""


#---- What there is to change


def is_definition(node: ast.stmt) -> bool:
    """What a module of kernels needs: no tests, and nothing that runs."""
    if isinstance(node, (ast.Import, ast.ImportFrom, ast.ClassDef)):
        return True
    if isinstance(node, ast.FunctionDef):
        return not node.name.startswith("test") and "pytest" not in ast.unparse(ast.Module(list(node.decorator_list), []))
    return isinstance(node, (ast.Assign, ast.AnnAssign)) and "pytest" not in ast.unparse(node)


@functools.cache
def definitions_of(file: str) -> list[tuple[str, str]]:
    """Name and text of each definition of a file; the name is empty but of functions."""
    text = (ROOT / file).read_text()
    found = []
    for node in ast.parse(text).body:
        if is_definition(node):
            node_text = ast.unparse(node)
            found.append((node.name if isinstance(node, ast.FunctionDef) else "", node_text))
    return found


def recorded() -> list[Original]:
    originals = []
    for line in (FOLDER / "launches.tsv").read_text().splitlines():
        file, name, *arguments = line.split("\t")
        parts = definitions_of(file)
        own = next(text for other, text in parts if other == name)
        before = "\n\n".join(text for other, text in parts if other != name)
        pairs = [(a.partition("=")[0], a.partition("=")[2]) for a in arguments]
        originals.append(Original(file, name, before, own, pairs))
    return originals


def careless() -> list[Original]:
    """The kernels as careless people write them that work: many constructs in few lines."""
    parts = re.split(r"^## (\w+): (.*)\n", CARELESS.read_text(), flags=re.M)[1:]
    arguments = [("x", "*float32[64]"), ("out", "*float32[64]"), ("n", "5")]
    found = []
    for name, _, text in zip(parts[::3], parts[1::3], parts[2::3]):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
        found.append(Original(f"{CARELESS.name}: {name}", "kernel", "import tilewright as tw", text, arguments))
    return found


@functools.cache
def originals() -> list[Original]:
    known = recorded()
    return known * 3 + careless()


@functools.cache
def names() -> Names:
    language = [name for name in dir(tw) if not name.startswith("_")]
    members = ["T", "to", "shape", "dtype", "reshape", "sum", "type", "element_ty", "numel", "trans", "item", "cast", "max"]
    return Names(sorted(language) + members)


def draw(seed: int) -> Mutant:
    rng = random.Random(seed)
    original = rng.choice(originals())
    device = rng.choices(["cpu", "sim:sm_80", "sim:sm_90a"], [60, 25, 15])[0]
    return Mutant(original, mutate(original.text, rng, names()), device, seed)


#---- Arguments


def contents(rng: np.random.Generator, dtype: str, count: int, below: int) -> np.ndarray:
    """Elements as the table says; bfloat16 and 8-bit floats by their bits."""
    if dtype == "bool":
        return rng.integers(0, 2, count).astype(bool)
    if dtype in ("bfloat16", "float8_e4m3fn", "float8_e5m2"):
        return rng.integers(0, 60, count).astype("uint16" if dtype == "bfloat16" else "uint8") * (257 if dtype == "bfloat16" else 1)
    if dtype.startswith("float"):
        return (rng.integers(-64, 65, count) / 8).astype(dtype)
    return rng.integers(0, below or 8, count).astype(dtype)


def view(memory: np.ndarray, dtype: str) -> Any:
    inner = memory[GUARD:-GUARD]
    if dtype == "bfloat16":
        return torch.from_numpy(inner.view(np.int16)).view(torch.bfloat16)
    if dtype.startswith("float8"):
        return torch.from_numpy(inner).view(getattr(torch, dtype))
    return inner


def make_arguments(mutant: Mutant, module: dict[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The launch's arguments by name, and the memory behind the arrays."""
    rng = np.random.default_rng(mutant.seed)
    values: dict[str, Any] = {}
    memory: dict[str, np.ndarray] = {}
    for name, text in mutant.original.arguments:
        array = re.fullmatch(r"\*(\w+)\[(\d+)\](?:<(\d+)>?)?", text)
        if array:
            dtype, count, below = array[1], int(array[2]), int(array[3] or 0)
            memory[name] = contents(rng, dtype, count + 2 * GUARD, below)
            values[name] = view(memory[name], dtype)
        else:
            values[name] = eval(text, dict(module, inf=float("inf"), nan=float("nan")))  # noqa: S307
    return values, memory


#---- What becomes of a mutant


def define(mutant: Mutant) -> dict[str, Any] | None:
    """The mutant's module; none where Python itself refuses it."""
    filename = f"<mutant {mutant.seed}>"
    linecache.cache[filename] = (len(mutant.module), None, mutant.module.splitlines(True), filename)
    module: dict[str, Any] = {"__name__": f"mutant_{mutant.seed}"}
    try:
        exec(compile(mutant.module, filename, "exec"), module)  # noqa: S102
    except tw.InternalError:
        raise
    except Exception:  # Python's own, or a refusal with a code
        return None
    return module if isinstance(module.get(mutant.original.name), tw.JITFunction) else None


def judge(error: BaseException) -> None:
    """Raises a Finding for an error that no user should see."""
    if not isinstance(error, tw.TilewrightError):
        raise Finding(f"uncoded {type(error).__name__}: {str(error)[:300]}") from error
    if not re.fullmatch(r"TW\d{4}", error.code) or error.code.startswith("TW09"):
        raise Finding(f"{error.code} {error.message[:500]}") from error
    # Only the message and the hint are ours; the lines of source are the user's.
    if raw := RAW_IR.search(f"{error.message}\n{error.hint}"):
        raise Finding(f"raw IR {raw.group()!r} in {error.code} {error.message[:300]}") from error


def launch(mutant: Mutant, module: dict[str, Any], device: str, compiles_only: bool = False) -> dict[str, np.ndarray] | None:
    """The memory that a launch leaves; none where it is refused or stopped."""
    values, memory = make_arguments(mutant, module)
    kernel = module[mutant.original.name]
    known = {name: value for name, value in values.items() if name in kernel.arg_names}
    try:
        with tw.device(device), np.errstate(all="ignore"):
            if compiles_only:
                kernel.warmup(**known, grid=(1,))
            else:
                kernel[(1,)](**known)
    except TooLong:
        return None
    except Exception as error:  # noqa: BLE001 (every failure is judged)
        judge(error)
        return None
    return memory


def numbers(memory: np.ndarray, dtype: str) -> np.ndarray:
    if dtype == "bfloat16":
        return (memory.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    if dtype.startswith("float8"):
        return torch.from_numpy(memory).view(getattr(torch, dtype)).to(torch.float64).numpy()
    return memory.astype(np.float64) if memory.dtype.kind == "f" else memory


TOLERANCE = {"float64": 1e-6, "float32": 2e-3, "float16": 3e-2, "bfloat16": 6e-2}


def difference(mutant: Mutant, actual: dict[str, np.ndarray], expected: dict[str, np.ndarray]) -> str:
    """Where the memory differs by more than rounding, in words; empty when nowhere."""
    for name, text in mutant.original.arguments:
        if name not in actual:
            continue
        dtype = re.match(r"\*(\w+)", text)[1]  # type: ignore[index]
        a, b = numbers(actual[name], dtype), numbers(expected[name], dtype)
        same = a == b
        if dtype.startswith(("float", "bfloat")):
            with np.errstate(all="ignore"):
                scale = np.max(np.abs(b[np.isfinite(b)]), initial=1.0)
                same |= np.abs(a - b) <= TOLERANCE.get(dtype, 0.3) * scale
            same |= ~np.isfinite(a) & ~np.isfinite(b)
        if not same.all():
            at = np.flatnonzero(~same)
            wrong = ", ".join(f"[{i - GUARD}] {a[i]} for {b[i]}" for i in at[:4])
            return f"{name} ({dtype}): {len(at)} of {a.size} differ: {wrong}"
    return ""


def is_outvoted(mutant: Mutant, module: dict[str, Any], results: list[dict[str, np.ndarray]]) -> bool:
    """Whether the simulator of a GPU, which also sees races, agrees with one of two results that differ. Where it does
    not, the mutant has no meaning to agree on: it writes to a place twice, or folds by what is not associative."""
    values, memory = make_arguments(mutant, module)
    kernel = module[mutant.original.name]
    try:
        with tw.device("sim:sm_80"):
            kernel[(1,)](**{name: value for name, value in values.items() if name in kernel.arg_names})
    except (TooLong, tw.TilewrightError):
        return False
    return any(not difference(mutant, memory, result) for result in results)


def is_comparable(mutant: Mutant) -> bool:
    """Whether devices must agree: not on folds by functions of the kernel's own, which a change makes what is not
    associative."""
    return not re.search(r"\b(reduce|associative_scan)\(", mutant.text)


Progress = Callable[[str], None]


def check(mutant: Mutant, progress: Progress) -> str:
    """Raises a Finding; else what became of the mutant in one word. `progress` is told of each phase."""
    progress("define")
    module = define(mutant)
    if module is None:
        return "python"
    if mutant.device != "cpu":
        progress(f"compile for {mutant.device}")
        return "refused" if launch(mutant, module, mutant.device, compiles_only=True) is None else "compiled"
    progress("compile for cpu")
    compiled = launch(mutant, module, "cpu", compiles_only=True)
    progress("run on reference")
    expected = launch(mutant, module, "reference")
    if expected is None or compiled is None:
        return "refused"
    progress("run on cpu")
    actual = launch(mutant, module, "cpu")
    if actual is None:
        return "refused"
    progress("run on sim")
    wrong = difference(mutant, actual, expected) if is_comparable(mutant) else ""
    if wrong and is_outvoted(mutant, module, [actual, expected]):
        raise Finding(f"mismatch: {wrong}")
    return "ran"


class Patience:
    """Whether the clock may still stop what runs: it rings again where the first ring was not heard."""

    is_left = False


def give_up(*_: Any) -> None:
    if Patience.is_left:
        raise TooLong


def prepare() -> None:
    """Once per process: paths of the files' own imports, and a limit for what runs long."""
    sys.path[:0] = [str(part) for part in PARTS]
    sys.setrecursionlimit(1500)
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGVTALRM, give_up)


def limited(mutant: Mutant, progress: Progress) -> str:
    """`check` that gives up where the mutant runs for long."""
    Patience.is_left = True
    signal.setitimer(signal.ITIMER_VIRTUAL, SOFT_SECONDS, 1)
    try:
        outcome = check(mutant, progress)
        Patience.is_left = False
    except TooLong:
        Patience.is_left = False
        outcome = "endless"
    finally:
        Patience.is_left = False
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    return outcome
