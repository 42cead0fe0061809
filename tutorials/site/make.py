"""Makes the documentation site: `python tutorials/site/make.py [FOLDER]` leaves HTML in FOLDER/html, by
default build/docs.

Pages of the reference are made from the program itself: the language, the host's functions, the command
line, settings, devices and the codes of reports. Exit status 1: a warning of Sphinx, such as a link that
leads nowhere."""

from __future__ import annotations

import argparse
import ast
import enum
import importlib
import inspect
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tilewright as tw
from sphinx.cmd.build import build_main
from tilewright.language.element_types import ELEMENT_TYPES
from tilewright.native import knobs, native
from tilewright.tools import cli, explain

SITE = Path(__file__).resolve().parent
ROOT = SITE.parents[1]
sys.path.append(str(SITE / "examples"))
from cases import examples_of, page_part, records  # noqa: E402

# Pages of the tree that are pages of the site: path -> its page.
COPIED = {
    "tutorials/limits.md": "limits.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "contributing.md",
    **{
        path.relative_to(ROOT).as_posix(): f"generated/compiler-{path.name[0]}.md"
        for path in sorted((ROOT / "tutorials/compiler").glob("[0-9]_*.md"))
    },
    "test/benchmark/results/cpu.md": "generated/speed-cpu.md",
    "test/benchmark/results/gpu_code.md": "generated/speed-gpu.md",
}
HEADERS = {
    "What exported packages share": "runtime/aot/Public.h",
    "Compiling while a program runs": "backend/api/library/tilewright.h",
}
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?:|mailto:|#)([^)#\s]+)(?:#[^)\s]*)?\)")

# module of the language -> the title of its page
LANGUAGE = {
    "tile": "Tiles",
    "memory": "Memory",
    "elementwise": "Elementwise functions",
    "math": "The namespace math",
    "library": "Reductions, scans and the rest of the library",
    "sorting": "Sorting",
    "random": "Random numbers",
    "scaled": "Scaled products",
    "descriptors": "Block pointers and tensor descriptors",
    "aggregates": "Aggregates",
    "target_info": "Questions about the target",
    "dtypes": "Element types and classes of values",
}
LINE = 88  # a longer signature has one parameter a line
# title of a page of the host -> names of the package, or of its modules
HOST = {
    "Kernels and launches": ["jit", "JITFunction", "CompiledKernel", "constexpr", "constexpr_function",
                             "extern_elementwise", "tuple", "Tensor", "TensorDescriptor", "static", "dynamic",
                             "reinterpret", "freeze", "bucket", "next_power_of_2"],
    "Devices": ["device", "current_device", "list_devices", "synchronize"],
    "Tuning": ["autotune", "heuristics", "Config", "choice", "powers_of_two"],
    "Operators of other frameworks": ["torch_op", "TorchOp", "jax.call"],
    "Export": ["export", "Package"],
    "Explanations": ["explain"],
    "Testing and measuring": [],
    "Errors": ["TilewrightError", "CompilationError", "CompileError", "LaunchError", "DeviceError",
               "OutOfResources", "UnsupportedError", "InternalError", "TilewrightWarning"],
}  # fmt: skip
# Columns of ir/tile/Elementwise.td, and the elements that a function accepts where one is filled.
KINDS = {"FloatOp": "floats", "SIntOp": "signed integers", "UIntOp": "unsigned integers"}


def main(arguments: list[str]) -> int:
    """Gather the pages' sources in one folder, then run Sphinx."""
    folder = Path(arguments[0]) if arguments else ROOT / "build/docs"
    source = folder / "source"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(SITE, source, ignore=shutil.ignore_patterns("README.md", "*.py", "__pycache__"))
    shutil.copy(SITE / "conf.py", source)
    write_all(source / "generated")
    for path, page in COPIED.items():
        (source / page).write_text(with_links_within_site(ROOT / path))
    shutil.copy(ROOT / "test/benchmark/results/speed.svg", source / "generated")
    options = ["-q", "-W", "--keep-going", "-n", "-b", "html"]
    return build_main([*options, "-d", str(folder / "read"), str(source), str(folder / "html")])


def write_all(folder: Path) -> None:
    """Write the pages that are made from the program."""
    folder.mkdir()
    pages: dict[str, Callable[[], Iterator[str]]] = {
        "commands": command_page,
        "settings": settings_page,
        "devices": devices_page,
        "codes": codes_page,
        "elements": elements_page,
        "c": c_page,
        "ir-tile": lambda: dialect_page("tile/TileOps.td", "tile", "Tile IR"),
        "ir-simt": lambda: dialect_page("simt/SimtOps.td", "simt", "SIMT IR"),
    }
    for module, title in LANGUAGE.items():
        pages[f"language-{module}"] = lambda module=module, title=title: language_page(module, title)
    for title, names in HOST.items():
        pages[f"host-{slug(title)}"] = lambda title=title, names=names: host_page(title, names)
    for path in sorted((ROOT / "tutorials").glob("[0-9]*_*.py")):
        pages[f"lesson-{path.stem}"] = lambda path=path: lesson_page(path)
    for name, lines in pages.items():
        (folder / f"{name}.md").write_text("\n".join(lines()) + "\n")


def slug(title: str) -> str:
    """The title as a part of a file's name."""
    return re.sub(r"\W+", "-", title.lower()).strip("-")


# --- Python names ---------------------------------------------------------------------------------


def as_markdown(doc: str) -> str:
    """A docstring as Markdown: what stands outside of backticks has no markup."""
    parts = re.split(r"(`[^`]*`)", doc)
    return "".join(p if p.startswith("`") else re.sub(r"([*_<>\[\]#|])", r"\\\1", p) for p in parts)


def signature_of(name: str, thing: Any) -> str:
    """How a function is called, with the types of its parameters; a class by what makes an object."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    empty, shown, last = inspect.Parameter.empty, [], None
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and last in (None, parameter.POSITIONAL_OR_KEYWORD):
            shown.append("*")
        last = parameter.kind
        star = {parameter.VAR_POSITIONAL: "*", parameter.VAR_KEYWORD: "**"}.get(last, "")
        typed = "" if parameter.annotation is empty else f": {parameter.annotation}"
        value = "" if parameter.default is empty else f" = {value_of(parameter.default)}"
        shown.append(f"{star}{parameter.name}{typed}{value}")
    returned = signature.return_annotation
    end = "" if returned is signature.empty else f" -> {returned}"
    text = f"{name}({', '.join(shown)}){end}"
    return text if len(text) <= LINE else f"{name}(\n    " + ",\n    ".join(shown) + f",\n){end}"


def value_of(default: Any) -> str:
    """A default as it would be written."""
    return getattr(default, "__name__", None) or str(default) if callable(default) else repr(default)


def entry(name: str, thing: Any, facts: str = "") -> Iterator[str]:
    """The part of a page about one function or class, with its public methods."""
    yield f"## {name}\n"
    if inspect.isclass(thing) and issubclass(thing, enum.Enum):
        yield " ".join(f"`{name}.{member}`" for member in thing.__members__) + "\n"
    elif callable(thing):
        yield f"```python\n{signature_of(name, thing)}\n```\n"
    yield as_markdown(inspect.getdoc(thing) or "") + "\n"
    if facts:
        yield facts + "\n"
    if inspect.isclass(thing) and thing.__module__.startswith("tilewright"):
        for method, function in inspect.getmembers(thing):
            if not method.startswith("_") and inspect.isfunction(function) and function.__doc__:
                yield f"`{' '.join(signature_of(f'{name}.{method}', function).split())}`"
                yield ": " + as_markdown(inspect.getdoc(function) or "").replace("\n", "\n  ") + "\n"


def precision_of(name: str) -> str:
    """What the table of elementwise functions says of types and of the largest error."""
    row = next((r for r in records("Elementwise.td", "Elementwise") if name in (r["Name"], *r["Aliases"])), None)
    if row is None:
        return ""
    kinds = ", ".join(kind for column, kind in KINDS.items() if row[column])
    text = f"Elements: {kinds}."
    if row["FloatOp"]:
        error = row["UlpF32"]
        text += f" Largest error of a float32 on any device: {error + 0.5 if error else 0.5} ulp."
    return text


def language_page(module: str, title: str) -> Iterator[str]:
    """One module of the language: its public names in its own order."""
    source = importlib.import_module(f"tilewright.language.{module}")
    yield f"# {title}\n"
    yield (SITE / f"reference/language/{module}.md").read_text()
    prefix = {"math": "tw.math.", "target_info": "tw.target_info."}.get(module, "tw.")
    for name in source.__all__:
        thing = getattr(source, name)
        if inspect.getdoc(thing) and (callable(thing) or inspect.isclass(thing)):
            yield from entry(prefix + name, thing, precision_of(name))
            yield from page_part(module, name)
            home = next(page for page in LANGUAGE if page == module or name in examples_of(page))
            if home != module:
                yield f"[An example, and what it becomes](project:language-{home}.md#tw{name})\n"


def host_page(title: str, names: list[str]) -> Iterator[str]:
    """Functions and classes for the program that launches kernels."""
    yield f"# {title}\n"
    found = {f"tw.{name}": name for name in names}
    if title.startswith("Testing"):
        public = (n for n, v in vars(tw.testing).items() if callable(v) and not n.startswith("_"))
        found = {f"tw.testing.{name}": f"testing.{name}" for name in sorted(public)}
    for shown, path in found.items():
        thing: Any = tw
        for part in path.split("."):
            thing = getattr(thing, part)
        yield from entry(shown, thing)


# --- Tables ---------------------------------------------------------------------------------------


def table(head: list[str], rows: list[list[str]]) -> Iterator[str]:
    """A table of Markdown."""
    for cells in (head, ["---"] * len(head), *rows):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
    yield ""


def settings_page() -> Iterator[str]:
    """The environment variables that are read."""
    yield "# Settings\n"
    yield "Environment variables, read once at the first compilation or launch.\n"
    rows = [[f"`{knobs.PREFIX}{name}`", as_markdown(text)] for name, text in knobs.KNOBS.items()]
    yield from table(["variable", "meaning"], rows)


def elements_page() -> Iterator[str]:
    """The element types, as every layer names them."""
    yield "# Element types\n"
    rows = [
        [f"`tw.{row.name}`", f"`{row.short_name}`", f"`{row.library}`" if row.library else "", str(row.bits)]
        for row in ELEMENT_TYPES
    ]
    yield from table(["in kernels", "in signatures", "NumPy, ml_dtypes, torch", "bits"], rows)


def devices_page() -> Iterator[str]:
    """Devices that run kernels here, and targets that kernels are compiled for."""
    yield "# Devices and targets\n"
    yield as_markdown(inspect.getdoc(tw.device) or "") + "\n"
    yield "## Targets\n"
    yield "Kernels are compiled for these without the hardware: `tilewright compile --target NAME`.\n"
    for name in sorted(native().targets()):
        yield f"- `{name}`"
    yield ""


def codes_page() -> Iterator[str]:
    """Every code of errors, warnings and remarks."""
    yield "# Codes of errors and remarks\n"
    yield "`tilewright explain CODE` prints the same in a terminal.\n"
    for code, page in explain.pages().items():
        yield f"({code.lower()})=\n## {code}: {as_markdown(page.title)}\n"
        yield as_markdown(page.meaning) + "\n"
        if page.example:
            yield f"```text\n{page.example.rstrip()}\n```\n"
        if page.fix:
            yield f"**What to do:** {as_markdown(page.fix)}\n"


def command_page() -> Iterator[str]:
    """The command line, from its own help."""
    yield "# The command `tilewright`\n"
    parser = cli._parser()
    yield f"```text\n{parser.format_help().rstrip()}\n```\n"
    for name, command in subcommands(parser):
        yield f"## tilewright {name}\n"
        yield f"```text\n{command.format_help().rstrip()}\n```\n"


def subcommands(parser: argparse.ArgumentParser, above: str = "") -> Iterator[tuple[str, argparse.ArgumentParser]]:
    """The commands of a parser, and theirs."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, command in action.choices.items():
                yield f"{above}{name}", command
                yield from subcommands(command, f"{above}{name} ")


def dialect_page(file: str, dialect: str, title: str) -> Iterator[str]:
    """The operations of a dialect, as mlir-tblgen prints their documentation."""
    prefix = subprocess.check_output(["llvm-config-22", "--prefix"], text=True).strip()
    command = [f"{prefix}/bin/mlir-tblgen", "--gen-dialect-doc", f"--dialect={dialect}"]
    paths = ["-I", str(ROOT), "-I", f"{prefix}/include", str(ROOT / "ir" / file)]
    text = subprocess.check_output([*command, *paths], text=True)
    text = re.sub(r"^(#+ )", r"#\1", text, flags=re.M)  # below this page's title
    yield f"# {title}\n"
    yield re.sub(r"^\[TOC\]$|<!--.*?-->", "", text, flags=re.M | re.S)


def c_page() -> Iterator[str]:
    """The headers for programs in C and C++."""
    yield "# C and C++\n"
    yield "`cmake --install build --prefix DIR` installs both headers for `find_package(Tilewright)`.\n"
    for title, path in HEADERS.items():
        yield f"## {title}\n\n```cpp\n{(ROOT / path).read_text().rstrip()}\n```\n"


def with_links_within_site(path: Path) -> str:
    """A page of the tree, whose links to other files become links of the site, or plain text."""

    def replaced(match: re.Match[str]) -> str:
        target = (path.parent / match[2]).resolve()
        page = COPIED.get(str(target.relative_to(ROOT)) if target.is_relative_to(ROOT) else "")
        return f"[{match[1]}](/{page})" if page else match[1]

    return _LINK.sub(replaced, path.read_text())


def lesson_page(path: Path) -> Iterator[str]:
    """A tutorial: what it says of itself, and its program."""
    title, _, rest = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")
    yield f"# {as_markdown(title.rstrip('.'))}\n"
    yield as_markdown(rest) + "\n"
    yield f"```python\n{path.read_text().rstrip()}\n```"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
