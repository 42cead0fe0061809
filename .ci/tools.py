"""Fills a folder with links to the programs that a fresh machine has after `make packages`.

`tools.py FOLDER`: programs of the Debian packages that every Debian has (required or essential ones and
apt), of those that the Makefile installs, and of what either depends on. With the folder as PATH a
build or a test that uses any other program of this machine fails."""

from __future__ import annotations

import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

FOLDERS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/")
FIELDS = (
    *("db:Status-Status", "Package", "Architecture", "Priority", "Essential", "Provides"),
    *("Pre-Depends", "Depends"),
)


class Package(NamedTuple):
    is_basic: bool
    provides: list[str]
    needs: list[list[str]]  # one package of each list


def names_in(relations: str) -> list[list[str]]:
    """`a (>= 1), b:any | c` -> [[a], [b, c]]."""
    every = (part.split("|") for part in relations.split(",") if part.strip())
    return [[re.split(r"[\s(:]", name.strip())[0] for name in part] for part in every]


def output_of(*command: str) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def installed() -> dict[str, Package]:
    """The packages of this machine's own architecture, by name."""
    own = (output_of("dpkg", "--print-architecture").strip(), "all")
    found = {}
    form = "".join(f"${{{field}}}\t" for field in FIELDS) + "\n"
    for line in output_of("dpkg-query", "-W", f"-f={form}").splitlines():
        status, name, arch, priority, essential, provides, *needs = line.split("\t")[: len(FIELDS)]
        if status == "installed" and arch in own:
            is_basic = priority == "required" or essential == "yes" or name == "apt"
            provided = [names[0] for names in names_in(provides)]
            found[name] = Package(is_basic, provided, names_in(", ".join(needs)))
    return found


def closure(names: list[str], packages: dict[str, Package]) -> set[str]:
    """The packages of these names and all that they need. Of several that would do, one that is needed
    anyway counts, else the first that is installed."""
    providers: dict[str, list[str]] = {}
    for name, package in packages.items():
        for provided in package.provides:
            providers.setdefault(provided, []).append(name)
    found: set[str] = set()
    waiting, open_choices = list(names), list[list[str]]()
    while waiting or open_choices:
        if waiting:
            name = waiting.pop()
            if name in packages and name not in found:
                found.add(name)
                for choices in packages[name].needs:
                    real = [p for c in choices for p in (c, *providers.get(c, ())) if p in packages]
                    (waiting.extend if len(real) == 1 else open_choices.append)(real)
        elif not found.intersection(real := open_choices.pop()):
            waiting += real[:1]
    return found


def programs_of(packages: set[str]) -> list[pathlib.Path]:
    """Files of the packages in the folders of programs, and names that update-alternatives gives them."""
    owned = set(output_of("dpkg-query", "-L", *sorted(packages)).splitlines())
    found = [pathlib.Path(p) for p in sorted(owned) if p.startswith(FOLDERS) and p.count("/") <= 3]
    for folder in map(pathlib.Path, FOLDERS):
        for path in sorted(folder.iterdir()):
            if path.is_symlink() and str(path.readlink()).startswith("/etc/alternatives/"):
                real = path.resolve()
                if {str(real), str(real).removeprefix("/usr")} & owned:
                    found.append(path)
    return [path for path in found if path.is_file()]


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    makefile = (pathlib.Path(__file__).parents[1] / "Makefile").read_text()
    listed = re.search(r"^PACKAGES := ((?:.*\\\n)*.*)$", makefile, re.M)
    assert listed, "the Makefile lists no packages"
    packages = installed()
    basic = [name for name, package in packages.items() if package.is_basic]
    allowed = closure([*listed[1].replace("\\\n", " ").split(), *basic], packages)
    folder.mkdir(parents=True, exist_ok=True)
    for program in programs_of(allowed):
        link = folder / program.name
        if not link.is_symlink():
            link.symlink_to(program)
    print(f"{len(list(folder.iterdir()))} programs of {len(allowed)} packages: {' '.join(sorted(allowed))}")


if __name__ == "__main__":
    main()
