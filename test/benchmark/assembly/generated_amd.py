"""Compares generated code for AMD's GPUs with Triton's, without a GPU: `make bench`, or this file alone.

For the kernels of generated_kernels.py and each architecture: CPU milliseconds from a Python function
to a code object, instructions in all and in each loop, registers, spills, and the waves that a SIMD
holds. Beside the counts is an estimate (cycles.py) of the first loop with matrix instructions: cycles of
a step of a lone wave, and how many of them the matrix unit, shared memory and vector instructions take and
how many are waits; and cycles of a step of all waves of a SIMD together, over their number. Each side
compiles in processes of its own, which take turns. Where Triton is not installed its columns are empty."""

from __future__ import annotations

import argparse
import math
import pathlib
import tempfile
from dataclasses import asdict, dataclass
from typing import Any

import amdgcn
import cycles
import generated

RESULTS = generated.RESULTS.with_name("generated_code_amd.json")
ARCHS = ("gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250")
COMPILE_GOAL = 0.4
INSTRUCTION_GOALS = {**dict.fromkeys((*generated.WHOLE, "layer_norm"), 0.9), "rms_norm": 1.0, "rms_norm_backward": 1.0}


@dataclass
class Code:
    """What one side made of one kernel for one architecture."""

    cpu_ms: float
    assembly: amdgcn.Assembly
    waves: int | None = None  # of a SIMD; none where the machine's sizes are not listed
    loop: cycles.Cycles | None = None  # the first one with matrix instructions
    together: float | None = None  # its cycles for a wave, where all of a SIMD run


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
            codes.setdefault(name, {})[language] = code_of(arch, text, runs)
    return codes, versions


def code_of(arch: str, text: str, runs: list[Any]) -> Code:
    """The code that a side made, from its assembly text and its compiles."""
    made = amdgcn.parse(text)
    products = next((loop for loop in amdgcn.loops_of(amdgcn.instructions_of(text)) if is_of_products(loop)), None)
    waves = cycles.waves_of(arch, made.registers, runs[0]["shared_bytes"], runs[0]["num_warps"])
    loop = cycles.estimate(arch, products) if products else None
    together = cycles.estimate_together(arch, products, waves, runs[0]["num_warps"]) if products and waves else None
    share = together / waves if together and waves else None
    return Code(generated.median_of(runs, "cpu"), made, waves, loop, share)


def is_of_products(loop: list[str]) -> bool:
    return any(amdgcn.MATRIX.match(line) for line in loop)


def cells_of(code: Code | None, step: int) -> list[str]:
    """Milliseconds, instructions, loops with their matrix instructions, registers, spills, waves, cycles of a
    lone wave and of all."""
    if code is None:
        return [""] * 8
    made = code.assembly
    loops = ", ".join(
        f"{count} ({matrix})" if matrix else str(count) for count, matrix in zip(made.loops, made.matrix)
    )
    numbers = [f"{code.cpu_ms:.1f}", str(made.instructions), loops, str(made.registers), str(made.spills)]
    waves = "" if code.waves is None else str(code.waves)
    together = "" if not code.loop or code.together is None else str(round(code.together * step / code.loop.matrix))
    return [*numbers, waves, cycles_cell(code.loop, step), together]


def cycles_cell(loop: cycles.Cycles | None, step: int) -> str:
    """A step's cycles: those of a lone wave, and in brackets its matrix, LDS and VALU cycles and its waits."""
    if loop is None:
        return ""
    parts = (loop.total, loop.matrix, loop.shared, loop.vector, loop.waits)
    total, *units = (round(part * step / loop.matrix) for part in parts)
    return f"{total} ({', '.join(map(str, units))})"


def rows_of(name: str, sides: dict[str, Code]) -> list[str]:
    """A table's cells for a kernel: each measure of both sides, and how the goals stand."""
    ours, theirs = sides["tilewright"], sides.get("triton")
    # Loops may be unrolled by different numbers of steps: a step has the matrix cycles that divide all.
    step = math.gcd(*(code.loop.matrix for code in sides.values() if code.loop))
    pairs = [
        f"{mine} / {other}" if theirs else mine
        for mine, other in zip(cells_of(ours, step), cells_of(theirs, step))
    ]
    if theirs is None:
        return [name, *pairs, ""]
    outcome = "ms " + generated.verdict(ours.cpu_ms, theirs.cpu_ms, COMPILE_GOAL)
    if name in INSTRUCTION_GOALS:
        whole = ours.assembly.instructions, theirs.assembly.instructions
        outcome += ", instructions " + generated.verdict(*whole, INSTRUCTION_GOALS[name])
    return [name, *pairs, outcome]


def table(codes: dict[str, dict[str, Code]], peer: str) -> str:
    """The comparison as Markdown: ours / the peer's."""
    head = ["kernel", f"CPU ms, ours / {peer}", "instructions", "in loops (matrix)", "registers", "spills"]
    estimates = ["waves per SIMD", "cycles per step (matrix, LDS, VALU, waits)", "cycles per step and wave, together"]
    goals = f"ratios (goals: ms {COMPILE_GOAL}, instructions of rows 0.9, of bfloat16 1)"
    lines = ["| " + " | ".join([*head, *estimates, goals]) + " |", "|---" * (len(head) + 4) + "|"]
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
        RESULTS.write_text(generated.in_lines(document, levels=4) + "\n")
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
