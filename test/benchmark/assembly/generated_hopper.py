"""Compares code for Hopper with Triton's and cuTile's, without a GPU: `make bench`, or this file alone.

For each row of hopper_rows.py: instructions of the loops, registers, spilled bytes, instructions of the
epilogue, and CPU milliseconds of compiling. Kernels with pointers are Triton's own, unchanged; those with
descriptors make them on the device. Triton's "roles" are these with `warp_specialize`. cuTile is told the
number of warps. Each compiler compiles every kernel once in processes of its own, which take turns; times
are medians over them. One assembler turns our PTX and Triton's into machine code. A peer that is not
installed has empty columns, and a cell says so where a peer refuses a kernel. A turn takes about a minute
and a half of one CPU."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
from dataclasses import asdict, dataclass
from typing import Any

import sass
from generated import in_lines
from hopper_rows import EPILOGUES, FORMS, ROWS, Row

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[1]))
import assemblers  # noqa: E402

PEERS = FOLDER.parents[2] / ".venv" / "peers"  # `make bench` installs them there
RESULTS = FOLDER.parent / "results" / "generated_code_hopper.json"
SUMMARY = RESULTS.with_name("gpu_code.md")
SUMMARY_MARKS = "<!-- loops of sm_90a -->", "<!-- end of loops -->"
PACKAGES = {"triton": PEERS / "triton" / "triton", "cutile": PEERS / "cutile" / "cuda" / "tile"}
NAMES = {"tilewright": "Tilewright", "triton": "Triton", "cutile": "cuTile"}
TO_PTX_GOAL, WHOLE_GOAL = 0.4, 0.5  # of Triton's milliseconds to PTX, of cuTile's to machine code
PRODUCTS = re.compile(r"[HQI]G?MMA")


@dataclass
class Code:
    """The code that a compiler made of one form of a row, or why it made none."""

    ptx_ms: float = 0.0
    whole_ms: float = 0.0
    loops: tuple[int, ...] = ()  # instructions of each loop of products
    loader: int = 0  # of the first loop that copies boxes alone; 0 for none
    epilogue: int = 0
    registers: int = 0
    spilled_bytes: int = 0  # of a thread's stack frame
    warnings: int = 0  # C75xx of ptxas
    error: str = ""


Codes = dict[str, dict[str, dict[str, Code]]]  # by row, compiler and form


def run_side(language: str, folder: str, wanted: str = "") -> dict[str, Any]:
    """The code that one compiler makes of the rows whose names have `wanted`, in a process of its own."""
    environment = {**os.environ, "BENCHMARK_LANGUAGE": language, "TILEWRIGHT_CACHE": "0"}
    environment["CUDA_TILE_CACHE_DIR"] = "0"
    if language != "tilewright":
        environment |= {"PYTHONPATH": str(PEERS / language), "TRITON_DEFAULT_FP_FUSION": "1"}
    command = [sys.executable, str(FOLDER / "hopper_side.py"), language, folder, wanted]
    result = subprocess.run(command, env=environment, capture_output=True, text=True)
    if result.returncode != 0:
        raise RuntimeError(f"compiling with {language} failed:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def assemble(row: Row, stem: pathlib.Path, assembler: str) -> int:
    """Write the machine code that an assembler makes of PTX. Returns how many of its messages are about
    products that run one by one, and about waits and fences that it adds (C75xx)."""
    program = assemblers.path_of(assembler.split()[-1])
    ptx = stem.with_suffix(".ptx")
    command = [program, f"-arch=sm_{row.arch}", "-v", ptx, "-o", stem.with_suffix(".cubin")]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return len(re.findall(r"\(C75\d\d\)", result.stderr))


def read(stem: pathlib.Path, warnings: int, times: list[dict[str, Any]]) -> Code:
    """The instructions of machine code, and the medians of the times."""
    cubin = str(stem.with_suffix(".cubin"))
    text, whole = sass.run_nvdisasm("-c", cubin), sass.run_nvdisasm(cubin)
    _, loops = sass.parse(text)
    inner = [loop.opcodes for loop in loops if loop.is_innermost]
    products = [loop for loop in inner if any(map(PRODUCTS.fullmatch, loop))]
    loaders = [loop for loop in inner if loop["UTMALDG"] and loop not in products]
    return Code(
        ptx_ms=statistics.median(run["ptx_ms"] for run in times),
        whole_ms=statistics.median(run["whole_ms"] for run in times),
        loops=tuple(loop.total() for loop in products),
        loader=loaders[0].total() if loaders else 0,
        epilogue=sass.instructions_behind_products(text),
        registers=sass.attribute(whole, "REGCOUNT", "") or 0,
        spilled_bytes=sass.attribute(whole, "FRAME_SIZE", "") or 0,
        warnings=warnings,
    )


def measure(languages: list[str], turns: int, wanted: str) -> tuple[Codes, dict[str, str]]:
    """The code of each row, and the versions of the compilers and of the assembler."""
    runs: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    versions: dict[str, str] = {}
    codes: Codes = {}
    with tempfile.TemporaryDirectory() as root:
        for language in languages * turns:
            folder = pathlib.Path(root, language)
            folder.mkdir(exist_ok=True)
            result = run_side(language, str(folder), wanted)
            versions[language] = result["version"]
            for name, forms in result["rows"].items():
                for form, run in forms.items():
                    runs.setdefault((name, language, form), []).append(run)
        numbers = {row.name: index for index, row in enumerate(ROWS)}
        for (name, language, form), times in runs.items():
            stem = pathlib.Path(root, language, f"{numbers[name]}-{form}")
            code = Code(error=times[0].get("error", ""))
            if not code.error:
                row = ROWS[numbers[name]]
                versions["assembler"] = times[0].get("assembler", versions.get("assembler", ""))
                is_text = stem.with_suffix(".ptx").exists()
                warnings = assemble(row, stem, versions["assembler"]) if is_text else 0
                code = read(stem, warnings, times)
            codes.setdefault(name, {}).setdefault(language, {})[form] = code
    return codes, versions


def loops_cell(row: Row, language: str, code: Code) -> str:
    """The loop of products, that on the diagonal behind a slash, and that of the loader behind a plus."""
    first, *others = code.loops or (0,)
    text = str(first) if first else "no loop"
    if language == "triton" and code.loader and others:  # a loop for each group of warps
        text = f"{min(code.loops)}..{max(code.loops)}"
    elif row.diagonal_goal and others:
        text += f" / {others[-1]}"
    return f"{text} + {code.loader}" if code.loader else text


def resources_cell(row: Row, language: str, code: Code) -> str:
    return f"{code.registers}, spills {code.spilled_bytes} B" if code.spilled_bytes else f"{code.registers}"


def epilogue_cell(row: Row, language: str, code: Code) -> str:
    return str(code.epilogue or "-")


def cell(row: Row, codes: dict[str, dict[str, Code]], language: str, form: str, show: Any) -> str:
    if language not in codes or form not in codes[language]:
        return ""
    code = codes[language][form]
    return f"refused: {code.error[:60]}" if code.error else show(row, language, code)


def outcome(row: Row, code: Code) -> str:
    """Tell whether a form of ours meets the row's goals."""
    numbers = [(code.loops[0], row.goal)]
    if row.loader_goal:  # without a loop of its own, the copies are in the loop of products
        numbers.append((code.loader, row.loader_goal))
    if row.diagonal_goal:
        numbers.append((code.loops[-1], row.diagonal_goal))
    return "met" if all(number <= goal for number, goal in numbers) else "NOT MET"


def goal_of(row: Row) -> str:
    text = str(row.goal)
    if row.diagonal_goal:
        text += f" / {row.diagonal_goal}"
    return f"{text} + {row.loader_goal}" if row.loader_goal else text


LEGEND = """
Instructions are those of one warp in one step: of the loop that multiplies, behind a slash on the
diagonal, and behind a plus of the loop that copies, where a warp has only that to do. Loops count
along their shortest way with all products: without masks that they branch around. `a..b` are loops
of two groups of warps. The epilogue begins behind the last product; where warps have roles, it
includes finding where the tile lies. Triton gives warps roles only where there are 4. In its causal
rows with one number, pointers have masks in all iterations, and with descriptors the block on the
diagonal is straight code."""

COLUMNS = [(language, form) for language, forms in FORMS.items() for form in forms]


def head_of(first: str, last: list[str]) -> list[str]:
    heads = [f"{NAMES[language]}: {form}" for language, form in COLUMNS]
    cells = [first, *heads, *last]
    return ["| " + " | ".join(cells) + " |", "|---" * len(cells) + "|"]


def outcomes(row: Row, sides: dict[str, dict[str, Code]]) -> str:
    return ", ".join(f"{form} {outcome(row, code)}" for form, code in sides["tilewright"].items())


def loops_table(codes: Codes) -> str:
    last = {
        row.name: {
            "others": row.literature, "goal": goal_of(row), "outcome": outcomes(row, codes[row.name])
        }
        for row in rows_in(codes)
    }  # fmt: skip
    return plain_table(codes, "instructions in loops", loops_cell, rows_in(codes), last)


def plain_table(
    codes: Codes, first: str, show: Any, rows: list[Row], last: dict[str, dict[str, str]]
) -> str:
    """A table of one thing; `last` are the headings and cells of more columns, by row."""
    lines = head_of(first, [*last.get(rows[0].name, {})] if rows else [])
    for row in rows:
        shown = [cell(row, codes[row.name], *column, show) for column in COLUMNS]
        lines.append("| " + " | ".join([row.name, *shown, *last.get(row.name, {}).values()]) + " |")
    return "\n".join(lines)


def ratio(ours: float, theirs: float, goal: float) -> str:
    return f"{ours / theirs:.2f} {'met' if ours <= goal * theirs else 'NOT MET'}" if theirs else ""


def times_table(codes: Codes) -> str:
    """CPU milliseconds of the forms that compilers have in common."""
    heads = ["CPU ms", "form", "to PTX", "Triton", f"ratio, goal {TO_PTX_GOAL}"]
    heads += ["to machine code", "Triton", "cuTile", f"ratio to cuTile, goal {WHOLE_GOAL}"]
    lines = ["| " + " | ".join(heads) + " |", "|---" * len(heads) + "|"]
    for row in rows_in(codes):
        sides = codes[row.name]
        tiles = sides.get("cutile", {}).get("tiles", Code())
        for form, ours in sides["tilewright"].items():
            theirs = sides.get("triton", {}).get(form, Code())
            shown = [f"{ours.ptx_ms:.0f}", milliseconds(theirs.ptx_ms, theirs)]
            shown += [ratio(ours.ptx_ms, theirs.ptx_ms, TO_PTX_GOAL), f"{ours.whole_ms:.0f}"]
            shown += [milliseconds(theirs.whole_ms, theirs), milliseconds(tiles.whole_ms, tiles)]
            shown.append(ratio(ours.whole_ms, tiles.whole_ms, WHOLE_GOAL))
            lines.append("| " + " | ".join([row.name, form, *shown]) + " |")
    return "\n".join(lines)


def milliseconds(number: float, code: Code) -> str:
    return "refused" if code.error else f"{number:.0f}" if number else ""


def rows_in(codes: Codes) -> list[Row]:
    return [row for row in ROWS if row.name in codes]


def text_of(codes: Codes, versions: dict[str, str]) -> str:
    """All tables as Markdown."""
    head = "GPU code for sm_90a, compiled without a GPU\n" + ", ".join(
        f"{NAMES.get(name, name)} {version}" for name, version in versions.items()
    )
    missing = [NAMES[name] for name in NAMES if name not in versions]
    lines = [head, *(f"{name} is not installed: its columns are empty" for name in missing)]
    counts = {
        language: sum(c.warnings for row in codes.values() for c in row.get(language, {}).values())
        for language in ("tilewright", "triton") if language in versions
    }  # fmt: skip
    lines.append(
        "Messages C75xx of the assembler: "
        + ", ".join(f"{NAMES[name]} {count}" for name, count in counts.items())
        + ("; met" if not counts["tilewright"] else "; NOT MET, the goal is 0 of ours")
    )
    lines.append(LEGEND)
    goal, literature = EPILOGUES
    epilogues = [row for row in rows_in(codes) if row.kernel == "matmul" and row.constants["BN"] == 256]
    tables = [
        loops_table(codes),
        plain_table(codes, "registers", resources_cell, rows_in(codes), {}),
        plain_table(
            codes, "instructions of the epilogue of 64x256", epilogue_cell, epilogues,
            {row.name: {"others": literature, "goal": str(goal)} for row in epilogues},
        ),
        times_table(codes),
    ]  # fmt: skip
    return "\n\n".join(["\n".join(lines), *tables])


def report(turns: int, write: bool, wanted: str = "") -> str:
    """Measures and returns the text; with `write` also keeps the numbers under results/, if both peers
    are installed."""
    languages = ["tilewright", *(name for name, path in PACKAGES.items() if path.is_dir())]
    codes, versions = measure(languages, turns, wanted)
    text = text_of(codes, versions)
    if write and not wanted and len(languages) == 3:
        rows = {
            name: {
                language: {form: asdict(code) for form, code in forms.items()}
                for language, forms in sides.items()
            }
            for name, sides in codes.items()
        }
        RESULTS.write_text(in_lines({"versions": versions, "rows": rows}) + "\n")
        RESULTS.with_suffix(".md").write_text(text + "\n")
        write_summary(codes)
    return text


def write_summary(codes: Codes) -> None:
    """Write the loops of halves and bytes into gpu_code.md."""
    rows = [row for row in rows_in(codes) if row.dtype != "bf16" and row.arch == "90a"]
    last = {row.name: {"others": row.literature} for row in rows}
    found = SUMMARY.read_text()
    begin, end = (found.index(mark) for mark in SUMMARY_MARKS)
    table = plain_table(codes, "instructions in loops", loops_cell, rows, last)
    SUMMARY.write_text(f"{found[:begin]}{SUMMARY_MARKS[0]}\n{table}\n{found[end:]}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--turns", type=int, default=2, help="processes for each side")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose names have it")
    parser.add_argument("--no-write", action="store_true", help="leave results/ as it is")
    options = parser.parse_args()
    assemblers.pin()
    print(report(options.turns, not options.no_write, options.only))


if __name__ == "__main__":
    main()
