"""Long fuzzing runs: python test/python/fuzz/run.py --count 1000 --seed 0 [--device sim:sm_80]
[--out FOLDER].

Every kernel whose memory differs between the device (by default `cpu`) and `reference`, or that
crashes, hangs or does not compile, is made smaller and written to the folder as text.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from kernel_text import Array
from launch import Case, make_case
from shrink import shrink
from worker import Worker


def report(case: Case, failure: str, folder: Path | None) -> None:
    facts = "".join(f"# {name}: {a}\n" for name, a in case.arrays.items())
    facts += f"# {case.scalars}\n"
    place = f"grid {case.grid}, {case.device}, {case.num_warps} warps, {case.schedule}"
    text = f"{case.source}\n# {failure}\n# seed {case.seed}, {place}\n{facts}"
    print(text, flush=True)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"seed_{case.seed}.py").write_text(text)
        (folder / f"seed_{case.seed}.json").write_text(json.dumps(dataclasses.asdict(case)))


def replay(path: Path, folder: Path | None) -> int:
    """Runs a case that was written before, and makes it smaller if it fails."""
    fields = json.loads(path.read_text())
    arrays = {name: Array(**a) for name, a in fields.pop("arrays").items()}
    worker = Worker()
    case = Case(arrays=arrays, **fields)
    failure = worker.check(case)
    if failure:
        report(shrink(case, failure, worker.check), failure, folder)
    worker.close()
    print(failure or "the devices agree")
    return bool(failure)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--keep-size", action="store_true", help="do not make failures smaller")
    parser.add_argument("--stop-after", type=int, default=1000, help="this many failures")
    parser.add_argument("--replay", type=Path, help="a .json of an earlier run")
    options = parser.parse_args()
    if options.replay:
        return replay(options.replay, options.out)
    worker, failures = Worker(), 0
    for seed in range(options.seed, options.seed + options.count):
        case = make_case(seed, options.device)
        failure = worker.check(case)
        if not failure:
            continue
        failures += 1
        if not options.keep_size:
            case = shrink(case, failure, worker.check)
            failure = worker.check(case) or failure
        report(case, failure, options.out)
        if failures >= options.stop_after:
            break
    worker.close()
    print(f"{failures} failures from seed {options.seed}", file=sys.stderr)
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
