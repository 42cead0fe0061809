"""`make surface`: every feature that kernels in public repositories use, and whether it works here.

rows.tsv has the features of 5,890 kernels with the number of kernels (or files) that use each; a program
exercises each one on cpu, reference and sim:sm_80 and checks its numbers. refused.tsv has those that some
device refuses; the command fails where any other one does not work, or gives wrong numbers.

`surface.py --accept` rewrites refused.tsv; `--only TEXT` runs rows whose name contains it; `--every N`
runs each Nth row.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import sys
import warnings
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
sys.path[:0] = [str(FOLDER), str(FOLDER.parents[1] / "python")]

import expressions  # noqa: E402, F401
import harness  # noqa: E402
import host  # noqa: E402
import marks  # noqa: E402
import tiles  # noqa: E402, F401
import whole_kernels  # noqa: E402, F401

DEVICES = ("cpu", "reference", "sim:sm_80")
REFUSED = FOLDER / "refused.tsv"
# Rows of other kinds that are names of the host.
OTHERS_OF_THE_HOST = (
    "triton.profiler", "triton.tools.ragged_tma", "dec:@triton._filecheck.filecheck_test",
)  # fmt: skip
_FINE = ("works", "not a feature")
Row = tuple[int, str, str]  # (count, category, feature)


def rows() -> list[Row]:
    """The table's rows, those of the host registered."""
    lines = (FOLDER / "rows.tsv").read_text().splitlines()[1:]
    table = [
        (int(count), category, feature)
        for count, category, feature in (line.split("\t") for line in lines)
    ]
    for _, category, feature in table:
        if category in ("host", "host_import") and feature not in harness.PROGRAMS:
            host.register(feature)
        if feature in OTHERS_OF_THE_HOST and feature not in harness.PROGRAMS:
            host.register(feature)
    marks.register(table)
    return table


def refused() -> dict[str, list[str]]:
    """Feature -> for each device whether it "works" or is "refused", of features that not all have."""
    lines = REFUSED.read_text().splitlines()[1:]
    return {line.split("\t")[0]: line.split("\t")[1:] for line in lines}


def run_row(feature: str, seed: int) -> list[str]:
    """What a feature does on each device; of the host once."""
    if feature in harness.NOT_FEATURES:
        return [f"not a feature: {harness.NOT_FEATURES[feature]}"] * len(DEVICES)
    if feature not in harness.PROGRAMS:
        return ["wrong: no program"] * len(DEVICES)
    if feature in harness.HOST:
        return [harness.run(feature, "cpu", seed)] * len(DEVICES)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        newer = harness.SIMULATED_BY.get(feature)
        devices = [newer if newer and device.startswith("sim:") else device for device in DEVICES]
        return [harness.run(feature, device, seed) for device in devices]


def short(result: str) -> str:
    return result.partition(":")[0]


def problems_of(feature: str, results: list[str], before: dict[str, list[str]]) -> list[str]:
    """What fails the command: wrong numbers, and what is not known to be refused and does not work."""
    then = before.get(feature, ["works"] * len(DEVICES))
    return [
        f"{feature} on {device}: {result}"
        for device, result, known in zip(DEVICES, results, then)
        if short(result) == "wrong" or (known == "works" and short(result) not in _FINE)
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--accept", action="store_true")
    parser.add_argument("--only", default="")
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "little"))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    chosen = [row for row in rows() if options.only in row[2]][:: options.every]
    before, results, problems = refused(), {}, []
    for count, category, feature in chosen:
        found = results[feature] = run_row(feature, options.seed)
        words = found[0] if len({*found}) == 1 else "; ".join(
            f"{device} {result}" for device, result in zip(DEVICES, found))  # fmt: skip
        print(f"{count:5} {category:13} {feature[:70]:70} {words}", flush=True)
        problems += problems_of(feature, found, before)
    if options.accept:
        accept({**before, **{feature: [short(r) for r in found] for feature, found in results.items()}})
    return summarize(chosen, results, problems)


def accept(known: dict[str, list[str]]) -> None:
    """Write what is refused now, in the order of the table."""
    lines = ["\t".join(("feature", *DEVICES))]
    lines += ["\t".join((feature, *known[feature])) for _, _, feature in rows() if "refused" in known.get(feature, ())]
    REFUSED.write_text("\n".join(lines) + "\n")


def summarize(chosen: list[Row], results: dict[str, list[str]], problems: list[str]) -> int:
    for index, device in enumerate(DEVICES):
        counts = Counter(short(results[feature][index]) for _, _, feature in chosen)
        print(f"{device}: " + ", ".join(f"{number} {what}" for what, number in sorted(counts.items())))
    for problem in problems:
        print("FAILED", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
