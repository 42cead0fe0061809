"""Runs every tutorial and closes with one table of their speed: what `make demo` shows."""

from __future__ import annotations

import importlib
import pathlib
import sys

import compare


def main() -> None:
    size = compare.size_from_command_line(__doc__)
    races: list[compare.Race] = []
    for path in sorted(pathlib.Path(__file__).parent.glob("[0-9]*.py")):
        tutorial = importlib.import_module(path.stem)
        print(f"== {path.name}: {(tutorial.__doc__ or '').splitlines()[0]}", flush=True)
        races += tutorial.run(size)
    threads = compare.torch.get_num_threads()
    print(f"\nAll results are right. Speed on this machine's CPU, {threads} threads:\n")
    print(f"{'':44} {'tilewright':>12} {'peer':>12}  ratio")
    for race in races:
        ratio = f"{race.ratio:5.2f}x {race.peer}"
        print(f"{race.name:44} {race.ours_ms:9.3f} ms {race.peer_ms:9.3f} ms {ratio}")


if __name__ == "__main__":
    sys.exit(main())
