"""Checks that includes follow the layers, that no folders include each other, and that code shared by
all targets names no vendor."""

from __future__ import annotations

import pathlib
import re
import sys
from collections.abc import Iterator

import folders
import tree

# An arrow of the architecture: what a folder's C++ may include. The longest matching folder
# decides.
MAY_INCLUDE = {
    "ir": {"ir"},
    "frontend": {"frontend", "frontend/buffer", "frontend/values", "frontend/tiles", "ir"},
    "frontend/values": {"frontend/values", "ir"},
    "frontend/buffer": {"frontend/buffer", "frontend/values", "ir"},
    # Builds tile ops out of typed values: it knows no syntax.
    "frontend/tiles": {"frontend/tiles", "frontend/values", "ir"},
    "passes": {"passes", "ir"},
    "runtime": {"runtime"},
    "runtime/codes": set(),
    "runtime/arguments": set(),
    "backend": {"backend", "passes", "ir", "runtime"},
    # The only code that sees both sides: it renders the frontend's diagnostics, hence ir.
    "backend/api": {"frontend", "backend", "ir", "runtime"},
    # Command-line programs over everything below the language bindings.
    "backend/tools": {"backend", "backend/api", "frontend", "passes", "ir", "runtime"},
    "python/bindings": {"backend/api", "runtime"},
}
# What every layer may include: the codes of reports, and what is known of a kernel's arguments.
FOR_ALL = ("runtime/codes", "runtime/arguments")
LAYERS = ("ir", "frontend", "passes", "runtime", "backend", "python")
# Folders of backend/ that every part of it may use; any other folder there is a target's own.
SHARED_BACKEND = {"api", "tools", "export", "codegen", "compile", "inspect", "gpu"}
# Folders that run the code which a target makes, or check its promises, and that it may use for that.
RUN_BY = {"nvidia": {"warpsim", "reference"}, "amd": {"warpsim", "reference"}, "spirv": {"warpsim", "reference"}, "cpu": {"reference"}}

# Includes with a place of their own: where they may stand, and why nowhere else.
CONFINED = [
    (
        re.compile(r"pybind11/|Python\.h"),
        lambda p: p.startswith("python/bindings/"),
        "only python/bindings/ knows Python",
    ),
    (
        re.compile(r"(mlir|llvm|lld)/"),
        lambda p: not p.startswith(("runtime/", "python/")),
        "runtime/ and python/ know no LLVM",
    ),
    (
        re.compile(r"(mlir|llvm|lld)/"),
        lambda p: not re.match(r"backend/api/[^/]*\.h$", p),
        "the public headers hold no LLVM type",
    ),
    (
        re.compile(r"mlir/(Pass|Transforms)/"),
        lambda p: not p.startswith("frontend/"),
        "frontend/ runs no passes",
    ),
    (
        re.compile(r".*/(LLVMDialect|NVVMDialect)\.h"),
        lambda p: not p.endswith(".h"),
        "this header takes seconds to compile: include it in a .cpp",
    ),
]

VENDOR_FREE = ("ir", "frontend", "passes")
# Shared by all targets, too; comments may name a vendor's words as examples.
VENDOR_FREE_CODE = ("backend", *(f"backend/{folder}" for folder in ("api", "compile", "inspect", "tools", "gpu")))
VENDOR_WORDS = set(
    "nvidia nvvm nvptx cuda ptx cubin amd amdgpu amdgcn rocdl rocm hip hsaco".split()
)
VENDOR_ARCH = re.compile(r"\bgfx\d|\bsm_\d", re.I)


def layer_of(path: str) -> str | None:
    """The entry of MAY_INCLUDE that governs a file or an included path."""
    matches = [layer for layer in MAY_INCLUDE if path.startswith(layer + "/")]
    return max(matches, key=len, default=None)


def backend_target(path: str) -> str | None:
    """The target that a file belongs to: "cpu" for backend/cpu/CpuLink.cpp."""
    parts = path.split("/")
    is_target = parts[0] == "backend" and len(parts) > 2 and parts[1] not in SHARED_BACKEND
    return parts[1] if is_target else None


def include_problem(path: str, included: str) -> str | None:
    for pattern, allowed, reason in CONFINED:
        if pattern.match(included) and not allowed(path):
            return f'may not include "{included}": {reason}'
    user, used = layer_of(path), layer_of(included)
    is_known = user and used and used not in (user, *FOR_ALL)
    if is_known and used not in MAY_INCLUDE[user]:
        return f"{user}/ may not include {used}/"
    mine, theirs = backend_target(path), backend_target(included)
    if mine and theirs and theirs not in {mine, *RUN_BY.get(mine, ())}:
        return f"backend/{mine}/ may not include backend/{theirs}/"
    return None


def include_problems(root: pathlib.Path) -> Iterator[str]:
    for file in tree.files(root, LAYERS, {*tree.CPP, ".td"}):
        path = file.relative_to(root).as_posix()
        for number, line in enumerate(tree.read(file).splitlines(), 1):
            match = re.match(r'\s*#?\s*include\s+["<]([^">]+)[">]', line)
            problem = match and include_problem(path, match.group(1))
            if problem:
                yield f"{path}:{number}: {problem}"


def vendor_problems(root: pathlib.Path) -> Iterator[str]:
    for file in tree.files(root, VENDOR_FREE, {*tree.CPP, ".td", ".md", ".txt"}):
        path = file.relative_to(root).as_posix()
        for number, line in enumerate(tree.read(file).splitlines(), 1):
            found = VENDOR_WORDS.intersection(tree.words(line)) | set(VENDOR_ARCH.findall(line))
            for word in sorted(found):
                yield f"{path}:{number}: '{word}' belongs in backend/, not in {path.split('/')[0]}/"


def is_literal(text: str) -> bool:
    return not text.startswith("/")


def vendor_code_problems(root: pathlib.Path) -> Iterator[str]:
    """The same of code that targets share: their names stand in lists and in their own folders."""
    for file in tree.files(root, ("backend",), tree.CPP):
        path = file.relative_to(root).as_posix()
        folder = "/".join(path.split("/")[:-1][:2])
        if folder not in VENDOR_FREE_CODE:
            continue
        for number, line in enumerate(tree.blank(tree.read(file), is_literal).splitlines(), 1):
            found = VENDOR_WORDS.intersection(tree.words(line)) | set(VENDOR_ARCH.findall(line))
            for word in sorted(found):
                yield f"{path}:{number}: '{word}' belongs in the folder of its target"


def problems(root: pathlib.Path) -> Iterator[str]:
    yield from include_problems(root)
    yield from folders.problems(root)
    yield from vendor_problems(root)
    yield from vendor_code_problems(root)


if __name__ == "__main__":
    sys.exit(tree.main(problems, "layers hold"))
