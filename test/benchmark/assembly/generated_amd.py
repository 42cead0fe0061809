"""Compares generated code for AMD's GPUs with Triton's, without a GPU: `make bench`, or this file alone.

For the kernels of generated_kernels.py and each architecture: CPU milliseconds from a Python function
to a code object, instructions in all and in each loop, registers and spills. Each side compiles in
processes of its own, which take turns. Where Triton is not installed its columns are empty."""

from __future__ import annotations

import argparse
import json
import pathlib
import tempfile
from dataclasses import asdict, dataclass
from typing import Any

import amdgcn
import generated

RESULTS = generated.RESULTS.with_name("generated_code_amd.json")
ARCHS = ("gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250")
COMPILE_GOAL, INSTRUCTIONS_GOAL = 0.4, 0.9


@dataclass
class Code:
    """What one side made of one kernel for one architecture."""

    cpu_ms: float
    assembly: amdgcn.Assembly


def languages() -> list[str]:
    return ["tilewright", "triton"] if (generated.TRITON / "triton").is_dir() else ["tilewright"]


def measure(arch: str, turns: int, repetitions: int) -> tuple[dict[str, dict[str, Code]], dict[str, str]]:
    """The code of each kernel by language, and the versions of the compilers."""
    times: dict[tuple[str, str], list[Any]] = {}
    versions: dict[str, str] = {}
    codes: dict[str, dict[str, Code]] = {}
    with tempfile.TemporaryDirectory() as root:
        for language in languages() * turns:
            folder = pathlib.Path(root, language)
            folder.mkdir(exist_ok=True)
            result = generated.run_side(language, arch, repetitions, str(folder))
            versions[language] = result["version"]
            for name, runs in result["kernels"].items():
                times.setdefault((language, name), []).extend(runs)
        for (language, name), runs in times.items():
            text = pathlib.Path(root, language, f"{name}.s").read_text()
            code = Code(generated.median_of(runs, "cpu"), amdgcn.parse(text))
            codes.setdefault(name, {})[language] = code
    return codes, versions


def cells_of(code: Code | None) -> list[str]:
    """Milliseconds, instructions, loops with their matrix instructions, registers, spills."""
    if code is None:
        return ["", "", "", "", ""]
    made = code.assembly
    loops = ", ".join(
        f"{count} ({matrix})" if matrix else str(count) for count, matrix in zip(made.loops, made.matrix)
    )
    return [f"{code.cpu_ms:.1f}", str(made.instructions), loops, str(made.registers), str(made.spills)]


def rows_of(name: str, sides: dict[str, Code]) -> list[str]:
    """A table's cells for a kernel: each measure of both sides, and how the goals stand."""
    ours, theirs = sides["tilewright"], sides.get("triton")
    pairs = [f"{mine} / {other}" if theirs else mine for mine, other in zip(cells_of(ours), cells_of(theirs))]
    if theirs is None:
        return [name, *pairs, ""]
    outcome = "ms " + generated.verdict(ours.cpu_ms, theirs.cpu_ms, COMPILE_GOAL)
    if name in (*generated.WHOLE, "layer_norm"):
        whole = ours.assembly.instructions, theirs.assembly.instructions
        outcome += ", instructions " + generated.verdict(*whole, INSTRUCTIONS_GOAL)
    return [name, *pairs, outcome]


def table(codes: dict[str, dict[str, Code]], peer: str) -> str:
    """The comparison as Markdown: ours / the peer's."""
    head = ["kernel", f"CPU ms, ours / {peer}", "instructions", "in loops (matrix)", "registers", "spills"]
    goals = f"ratios (goals: ms {COMPILE_GOAL}, instructions of rows {INSTRUCTIONS_GOAL})"
    lines = ["| " + " | ".join([*head, goals]) + " |", "|---" * 7 + "|"]
    lines += ["| " + " | ".join(rows_of(name, sides)) + " |" for name, sides in codes.items()]
    return "\n".join(lines)


def report(archs: list[str], turns: int, repetitions: int, write: bool) -> str:
    """Measures and returns the text; with `write` also keeps the numbers under results/."""
    document: dict[str, Any] = {}
    texts = []
    for arch in archs:
        codes, versions = measure(arch, turns, repetitions)
        peer = f"Triton {versions['triton']}" if "triton" in versions else "Triton (not installed)"
        texts.append(f"{arch}, compiled without a GPU\n\n{table(codes, peer)}")
        kernels = {name: {side: asdict(code) for side, code in sides.items()} for name, sides in codes.items()}
        document[arch] = {"versions": versions, "kernels": kernels}
    text = "\n\n".join(texts)
    if write:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(document, indent=1) + "\n")
        RESULTS.with_suffix(".md").write_text(text + "\n")
    return text


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archs", nargs="*", default=list(ARCHS))
    parser.add_argument("--turns", type=int, default=2, help="processes for each side")
    parser.add_argument("--repetitions", type=int, default=2, help="fresh compiles in each")
    parser.add_argument("--no-write", action="store_true", help="leave results/ as it is")
    options = parser.parse_args()
    print(report(options.archs, options.turns, options.repetitions, not options.no_write))


if __name__ == "__main__":
    main()
