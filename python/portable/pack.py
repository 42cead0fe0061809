"""Packs the portable archive for `make portable`: the package, the bindings' sources, the tests.
With --wheel, a wheel of the package alone: `make wheel`.

The archive runs on Linux for x86-64 with glibc 2.35 or newer. It holds a module for each Python
from 3.10 to 3.13 whose headers are here; setup_portable.py in it builds one for any other.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import lzma
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator

import setup_portable
import wheel

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "tilewright-portable"
VERSIONS = ("3.10", "3.11", "3.12", "3.13")
LIMIT_BYTES = 60_000_000
# The newest symbol versions of Ubuntu 22.04, the oldest system that the archive is for.
NEWEST = {"GLIBC": (2, 35), "GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13)}
SYSTEM_LIBRARIES = re.compile(
    rf"(libc|libm|libstdc\+\+|libgcc_s|ld-linux-x86-64)\.so\.\d|{setup_portable.LIBRARY}"
)
# What the bindings' sources and the tests include and read.
TREES = ("python/bindings", "python/tilewright", "runtime/aot", "test", "tutorials")
FILES = (
    *("LICENSE", "README.md", "pyproject.toml", "runtime/README.md", "backend/compile/DebugSettings.h"),
    *("runtime/arguments/ArgumentFacts.def", "runtime/arguments/ArgumentSpec.h"),
    *("runtime/codes/Code.h", "runtime/codes/Codes.def", "runtime/codes/Codes.h", "backend/api/Pages.h"),
    *("backend/api/Compile.h", "runtime/Artifact.h", "runtime/Device.h", "runtime/DeviceMemory.h"),
    *("runtime/Interrupts.h", "runtime/Simulation.h", "runtime/Specialization.h"),
    *("runtime/TargetFacts.h", "runtime/TensorMaps.h", "backend/api/Devices.h", "backend/api/Language.h"),
)
TABLES = ("Elementwise.td", "ElementTypes.td")
# Records of the library would be of one Python and a two hundredth of the archive.
SKIPPED = {".so", ".pyc", ".records"}
# Tests that a build of the compiler runs.
BUILT = tuple(ROOT / "test" / name for name in ("unit", "passes", "backend"))
# What `xz --x86 -9e` does: with the targets of branches absolute, the library takes a tenth less.
FILTERS = [
    {"id": lzma.FILTER_X86},
    {"id": lzma.FILTER_LZMA2, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "pb": 0},
]
START = '''"""Checks Tilewright on this machine's GPU: see test/gpu_check.py."""

import pathlib
import runpy

if __name__ == "__main__":
    runpy.run_path(
        str(pathlib.Path(__file__).resolve().parent / "test" / "gpu_check.py"), run_name="__main__"
    )
'''


def interpreters() -> Iterator[str]:
    """One Python of each version whose headers are here."""
    roots = [pathlib.Path(os.environ.get("PYENV_ROOT", pathlib.Path.home() / ".pyenv"))]
    for version in VERSIONS:
        candidates = [sys.executable] if "%d.%d" % sys.version_info[:2] == version else []
        candidates += [
            str(path)
            for root in roots
            for path in sorted(root.glob(f"versions/{version}*/bin/python{version}"))
        ]
        found = shutil.which(f"python{version}")
        for candidate in [*candidates, *([found] if found else [])]:
            try:
                setup_portable.headers_of(candidate)
            except setup_portable.SetupError:
                continue
            yield candidate
            break


def stage(build: pathlib.Path, folder: pathlib.Path) -> None:
    """Copies everything but the modules."""
    import pybind11

    shutil.rmtree(folder, ignore_errors=True)
    for tree in TREES:
        for path in sorted((ROOT / tree).rglob("*")):
            relative = path.relative_to(ROOT)
            is_hidden = any(part[0] == "." or part == "__pycache__" for part in relative.parts)
            is_built = any(built in path.parents for built in BUILT)
            if path.is_file() and path.suffix not in SKIPPED and not is_hidden and not is_built:
                copy(path, folder / relative)
    for name in FILES:
        if (ROOT / name).is_file():
            copy(ROOT / name, folder / name)
    copy(ROOT / "python" / "portable" / "setup_portable.py", folder / "setup_portable.py")
    (folder / "gpu_check.py").write_text(START)
    shutil.copytree(pybind11.get_include(), folder / "include", dirs_exist_ok=True)
    for name, path in licenses():
        copy(path, folder / "licenses" / f"{name}.txt")
    stage_tables(folder)
    for name in ("libcuda_double.so", "libcuda_double_old.so"):
        if (double := build / "test" / name).is_file():
            copy(double, folder / "test" / name)
            subprocess.check_call(["strip", str(folder / "test" / name)])
    library = folder / "python" / "tilewright" / setup_portable.LIBRARY
    copy(build / "lib" / setup_portable.LIBRARY, library)
    subprocess.check_call(["strip", str(library)])


def stage_tables(folder: pathlib.Path) -> None:
    """Dumps the tables of operations that the tests read, for machines without TableGen."""
    prefix = subprocess.check_output(["llvm-config-22", "--prefix"], text=True).strip()
    command = [f"{prefix}/bin/llvm-tblgen", "--dump-json", "-I", f"{prefix}/include"]
    for name in TABLES:
        dump = subprocess.check_output([*command, str(ROOT / "ir" / "tile" / name)])
        target = folder / "ir" / "tile" / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(dump)


def licenses() -> Iterator[tuple[str, pathlib.Path]]:
    """Those of what the archive holds of others, by name."""
    for file in importlib.metadata.files("pybind11") or ():
        if file.name == "LICENSE":
            yield "pybind11", pathlib.Path(str(file.locate()))
    for package in ("llvm-22-dev", "libmlir-22-dev", "libzstd-dev", "zlib1g-dev"):
        path = pathlib.Path("/usr/share/doc") / package / "copyright"
        if path.is_file():
            yield package, path


def copy(source: pathlib.Path, target: pathlib.Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def foreign_needs(library: pathlib.Path) -> list[str]:
    """What a library asks of a system that Ubuntu 22.04 does not give."""
    symbols = subprocess.run(["objdump", "-Tp", str(library)], capture_output=True, text=True)
    found: list[str] = []
    if symbols.returncode:
        return [symbols.stderr.strip()]
    for name, digits in re.findall(r"\b(GLIBC|GLIBCXX|CXXABI)_([\d.]+)", symbols.stdout):
        if tuple(map(int, digits.split("."))) > NEWEST[name]:
            found.append(f"{name}_{digits}")
    found += re.findall(r"GLIBC_ABI_\w+", symbols.stdout)
    needed = re.findall(r"NEEDED\s+(\S+)", symbols.stdout)
    found += [name for name in needed if not SYSTEM_LIBRARIES.fullmatch(name)]
    return sorted(set(found))


def pack(folder: pathlib.Path, archive: pathlib.Path) -> None:
    """A tar of fixed order, owners and times, so that the same files give the same archive."""

    def plain(entry: tarfile.TarInfo) -> tarfile.TarInfo:
        entry.uid = entry.gid = entry.mtime = 0
        entry.uname = entry.gname = ""
        return entry

    partial = archive.with_suffix(".part")
    with (
        lzma.open(partial, "w", check=lzma.CHECK_CRC64, filters=FILTERS) as compressed,
        tarfile.open(fileobj=compressed, mode="w") as tar,
    ):
        for path in sorted(folder.rglob("*")):
            tar.add(path, f"{NAME}/{path.relative_to(folder)}", recursive=False, filter=plain)
    partial.replace(archive)


def make_wheel(folder: pathlib.Path, out: pathlib.Path) -> pathlib.Path:
    """The wheel of what is staged."""
    import tomllib  # of Python 3.11

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "python" / "tilewright" / "native" / "version.py").read_text()
    (version,) = re.findall(r'__version__ = "(.*)"', text)
    readme = (ROOT / project["readme"]).read_text()
    ours = [("LICENSE", ROOT / "LICENSE"), *licenses()]
    package = folder / "python" / "tilewright"
    return wheel.write_wheel(package, project, version, readme, ours, out)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--wheel", action="store_true", help="write a wheel in place of the archive")
    options = parser.parse_args()
    build = options.build.resolve()
    folder = build / "portable" / NAME
    stage(build, folder)
    for python in interpreters():
        print("module", setup_portable.build(folder, python).name, flush=True)
    problems = [
        f"{path.name} needs {need}"
        for path in sorted(folder.rglob("*.so"))
        for need in foreign_needs(path)
    ]
    archive = build / "portable" / f"{NAME}.tar.xz"
    if not problems:
        if options.wheel:
            archive = make_wheel(folder, build / "wheel")
        else:
            pack(folder, archive)
        size = archive.stat().st_size
        print(f"{archive}: {size / 1e6:.1f} MB")
        if size > LIMIT_BYTES:
            problems.append(f"the archive is larger than {LIMIT_BYTES / 1e6:.0f} MB")
    print("\n".join(problems), file=sys.stderr, end="\n" if problems else "")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
