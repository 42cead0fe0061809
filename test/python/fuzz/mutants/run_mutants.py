"""Changes the source text of kernels at random: python test/python/fuzz/mutants/run_mutants.py --count 2000 [--seed 0]
[--out FOLDER].

Prints each kind of finding once, with the change made to the kernel, and writes it to the folder.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections import Counter
from pathlib import Path

os.environ.setdefault("TILEWRIGHT_CACHE", "0")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import text_mutants  # noqa: E402
from mutant_rows import Found, check_all, check_one  # noqa: E402
from shrink import smaller_bodies  # noqa: E402


def kind_of(what: str) -> str:
    """Findings of one kind are likely one fault: the words without numbers and names."""
    return re.sub(r"[`'\"][^`'\"]*[`'\"]|\d+|0x[0-9a-f]+", "", what)[:120]


def smaller(found: Found, limit: int = 120) -> Found:
    """The same kind of finding with fewer statements."""
    kind, tries, is_smaller = kind_of(found.what), 0, True
    while is_smaller and tries < limit:
        is_smaller = False
        lines = found.mutant.text.splitlines()
        first = next((i for i, line in enumerate(lines) if line.startswith("def ")), 0) + 1
        for candidate in smaller_bodies(lines, first):
            tries += 1
            mutant = text_mutants.Mutant(found.mutant.original, "\n".join(candidate) + "\n", found.mutant.device, found.mutant.seed)
            if tries > limit:
                break
            if kind_of(what := check_one(mutant)) == kind:
                found, is_smaller = Found(mutant, what), True
                break
    return found


def text_of(found: Found) -> str:
    mutant = found.mutant
    diff = difflib.unified_diff(mutant.original.text.splitlines(), mutant.text.splitlines(), n=1, lineterm="")
    arguments = ", ".join(f"{name}={text}" for name, text in mutant.original.arguments)
    changes = "".join(f"#  {line}\n" for line in [*diff][2:])
    return (
        f"# {found.what}\n# seed {mutant.seed}, {mutant.device}, {mutant.original.file} {mutant.original.name}({arguments})\n"
        f"{changes}{mutant.text}\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep-size", action="store_true", help="do not make findings smaller")
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    for found in check_all(text_mutants.draw, range(options.seed, options.seed + options.count), outcomes):
        kinds[kind_of(found.what)] += 1
        if kinds[kind_of(found.what)] > 1:
            continue
        text = text_of(found if options.keep_size else smaller(found))
        print(text, flush=True)
        if options.out:
            options.out.mkdir(parents=True, exist_ok=True)
            (options.out / f"seed_{found.mutant.seed}.py").write_text(text)
    for kind, count in kinds.most_common():
        print(f"{count} x {kind}")
    print(", ".join(f"{outcome} {count}" for outcome, count in outcomes.most_common()))
    return bool(kinds)


if __name__ == "__main__":
    sys.exit(main())
