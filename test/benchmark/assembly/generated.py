"""Compares generated GPU code with Triton's, without a GPU: `make bench`, or this file alone.

For the kernels of generated_kernels.py: milliseconds from a Python function to PTX, machine
instructions in all and in each loop, registers and spills. Each side compiles in processes of its
own, which take turns; times are medians over all of their fresh compiles. One assembler, the release of
test/assemblers.txt that Tilewright takes for the architecture, turns both sides' PTX into machine code,
so that the compilers are compared and not the assemblers. Where Triton is not installed its figures are
those of results/generated_code.json, taken on another machine; the output says so, and nothing is
written."""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

import sass

FOLDER = pathlib.Path(__file__).resolve().parent
sys.path.append(str(FOLDER.parents[1]))
import assemblers  # noqa: E402

TRITON = FOLDER.parents[2] / ".venv" / "peers" / "triton"  # `make bench` installs it there
RESULTS = FOLDER.parent / "results" / "generated_code.json"
COMPILE_GOAL, INSTRUCTIONS_GOAL, REGISTERS_GOAL = 0.4, 1.0, 1.1
# Kernels whose instructions in all have a goal; of the others, each loop has.
WHOLE = ("add", "softmax")


def in_lines(document: Any, levels: int = 3, indent: str = "") -> str:
    """JSON whose outer levels have a line for each name, and all that is within these one line."""
    if not levels or not isinstance(document, dict):
        return json.dumps(document)
    rows = [f"{indent} {json.dumps(k)}: {in_lines(v, levels - 1, indent + ' ')}" for k, v in document.items()]
    return "{\n" + ",\n".join(rows) + f"\n{indent}}}"


@dataclass
class Code:
    """What one side made of one kernel."""

    to_ptx_ms: float
    stages_ms: dict[str, float]
    instructions: int
    loops: list[int]
    registers: int
    local_accesses: int


def figures(arch: int) -> dict[str, Code]:
    """Triton's side of the results that were kept; none of another architecture."""
    document = json.loads(RESULTS.read_text())
    kernels = document["kernels"] if document["arch"] == f"sm_{arch}" else {}
    return {name: Code(**sides["triton"]) for name, sides in kernels.items()}


def run_side(language: str, arch: int | str, repetitions: int, folder: str) -> dict[str, Any]:
    environment = {**os.environ, "BENCHMARK_LANGUAGE": language, "TILEWRIGHT_CACHE": "0"}
    if language == "triton":
        # Sums and products become FMAs on both sides; Triton 3.9 asks for a choice.
        environment |= {"PYTHONPATH": str(TRITON), "TRITON_DEFAULT_FP_FUSION": "1"}
    command = [sys.executable, str(FOLDER / "generated_side.py")]
    result = subprocess.run(
        [*command, language, str(arch), str(repetitions), folder],
        env=environment,
        capture_output=True,
        text=True,
    )
    if result.returncode != 0:
        raise RuntimeError(f"compiling with {language} failed:\n{result.stderr}")
    return json.loads(result.stdout.splitlines()[-1])


def assemble(cubin: pathlib.Path, arch: int, assembler: str) -> None:
    """Replaces a CUBIN by what an assembler, "ptxas 13.0.88", makes of the PTX beside it."""
    program = assemblers.path_of(assembler.split()[-1])
    ptx = cubin.with_suffix(".ptx")
    subprocess.run([program, f"-arch=sm_{arch}", ptx, "-o", cubin], check=True)


def median_of(runs: Iterable[dict[str, Any]], piece: str) -> float:
    return statistics.median(run[piece] for run in runs)


def measure(
    languages: list[str], arch: int, turns: int, repetitions: int
) -> tuple[dict[str, dict[str, Code]], dict[str, str]]:
    """The code of each kernel by language, and the versions of the compilers and of their assembler."""
    runs: dict[str, dict[str, list[Any]]] = {language: {} for language in languages}
    versions: dict[str, str] = {}
    codes: dict[str, dict[str, Code]] = {}
    with tempfile.TemporaryDirectory() as root:
        for language in languages * turns:
            folder = os.path.join(root, language)
            os.makedirs(folder, exist_ok=True)
            result = run_side(language, arch, repetitions, folder)
            versions[language] = result["version"]
            if language == "tilewright":
                (versions["assembler"],) = {
                    run["assembler"] for runs in result["kernels"].values() for run in runs
                }
            for name, more in result["kernels"].items():
                runs[language].setdefault(name, []).extend(more)
        for language, kernels in runs.items():
            for name, compiles in kernels.items():
                cubin = pathlib.Path(root, language, f"{name}.cubin")
                if language == "triton":
                    assemble(cubin, arch, versions["assembler"])
                stages = [run["stages"] for run in compiles]
                codes.setdefault(name, {})[language] = Code(
                    to_ptx_ms=median_of(compiles, "to_ptx"),
                    stages_ms={stage: median_of(stages, stage) for stage in stages[0]},
                    **asdict(sass.read(cubin, name)),
                )
    return codes, versions


def ratio_of(ours: float, theirs: float) -> str:
    """Nothing where the peer's figure is not known."""
    return f"{ours / theirs:.2f}" if theirs else ""


def verdict(ours: float, theirs: float, goal: float) -> str:
    ratio = ratio_of(ours, theirs)
    return f"{ratio} {'met' if ours <= goal * theirs + 1e-9 else 'NOT MET'}" if ratio else ""


def rows_of(name: str, ours: Code, theirs: Code) -> list[tuple[str, str, str, str, str]]:
    """(kernel, measure, ours, Triton's, ratio and verdict) for each thing measured."""
    rows = [
        (
            name,
            "ms to PTX",
            f"{ours.to_ptx_ms:.1f}",
            f"{theirs.to_ptx_ms:.1f}",
            verdict(ours.to_ptx_ms, theirs.to_ptx_ms, COMPILE_GOAL),
        )
    ]
    counts = [("instructions", ours.instructions, theirs.instructions, name in WHOLE)]
    # A loop that was split at its mask is several here: the first of them runs for all but its end.
    parts, rest = divmod(len(ours.loops), max(1, len(theirs.loops)))
    if parts and not rest:
        pairs = zip(ours.loops[::parts], theirs.loops, strict=True)
        counts += [(f"in loop {i}", mine, other, True) for i, (mine, other) in enumerate(pairs, 1)]
    for what, mine, other, has_goal in counts:
        outcome = verdict(mine, other, INSTRUCTIONS_GOAL) if has_goal else ratio_of(mine, other)
        rows.append((name, what, str(mine), str(other), outcome))
    outcome = verdict(ours.registers, theirs.registers, REGISTERS_GOAL)
    rows.append((name, "registers", str(ours.registers), str(theirs.registers), outcome))
    rows.append((name, "spills", str(ours.local_accesses), str(theirs.local_accesses), ""))
    return rows


def table(codes: dict[str, dict[str, Code]], peer: str, known: dict[str, Code]) -> str:
    """The comparison as Markdown; `known` are the peer's figures where it was not measured."""
    lines = [
        f"| kernel | measure | tilewright | {peer} | ratio (goals: ms {COMPILE_GOAL}, "
        f"instructions {INSTRUCTIONS_GOAL}, registers {REGISTERS_GOAL}) |",
        "|---|---|---|---|---|",
    ]
    for name, sides in codes.items():
        theirs = sides.get("triton") or known.get(name)
        for row in rows_of(name, sides["tilewright"], theirs) if theirs else ():
            lines.append("| " + " | ".join(row) + " |")
    return "\n".join(lines)


def stage_lines(codes: dict[str, dict[str, Code]]) -> str:
    lines = []
    for name, sides in codes.items():
        for language, code in sides.items():
            pieces = ", ".join(f"{stage} {ms:.1f}" for stage, ms in code.stages_ms.items())
            lines.append(f"{name}, {language}, milliseconds by stage: {pieces}")
    return "\n".join(lines)


def report(arch: int, turns: int, repetitions: int, write: bool) -> str:
    """Measures and returns the text; with `write` also keeps the numbers under results/."""
    languages = ["tilewright"]
    if (TRITON / "triton").is_dir():
        languages.append("triton")
    codes, versions = measure(languages, arch, turns, repetitions)
    is_measured = "triton" in languages
    peer = f"Triton {versions['triton']}" if is_measured else "Triton (figures)"
    head = f"GPU code for sm_{arch}, compiled without a GPU; " + ", ".join(
        f"{language} {version}" for language, version in versions.items()
    )
    if not is_measured:
        head += "\nTriton is not installed: its column holds figures taken on another machine"
    if write and is_measured:
        document = {
            "arch": f"sm_{arch}",
            "versions": versions,
            "kernels": {
                name: {language: asdict(code) for language, code in sides.items()}
                for name, sides in codes.items()
            },
        }
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(in_lines(document) + "\n")
        RESULTS.with_suffix(".md").write_text(f"{head}\n\n{table(codes, peer, {})}\n")
    return "\n\n".join((head, table(codes, peer, figures(arch)), stage_lines(codes)))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arch", type=int, default=80)
    parser.add_argument("--turns", type=int, default=3, help="processes for each side")
    parser.add_argument("--repetitions", type=int, default=5, help="fresh compiles in each")
    parser.add_argument("--no-write", action="store_true", help="leave results/ as it is")
    options = parser.parse_args()
    assemblers.pin()
    print(report(options.arch, options.turns, options.repetitions, not options.no_write))


if __name__ == "__main__":
    main()
