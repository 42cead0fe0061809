"""A kernel as text of the tile dialect, for `triton.compile("kernel.tile")`."""

from __future__ import annotations

import hashlib
import linecache
import os
import re
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

from tilewright.compile import CompiledKernel, compile_request
from tilewright.compile.facts import fact_rows
from tilewright.native.errors import CompileError, LaunchError, UnsupportedError
from tilewright.language.element_types import ELEMENT_TYPES
from tilewright.launch.jit import JITFunction
from tilewright.launch.options import chosen_of

# Element types of the dialect that are not written as in signatures; integers have no sign there.
_TYPES = {row.ir: row.short_name for row in ELEMENT_TYPES if row.ir.startswith("f")}
_FUNCTION = re.compile(r"func\.func\s+(?:public\s+)?@([A-Za-z_]\w*)\s*\(([^)]*(?:\([^)]*\)[^)]*)*)\)")
_PARAMETER = re.compile(
    r"%\w+:\s*(?P<pointer>!tile\.ptr<(?P<pointee>\w+)>|\w+)\s*(?:\{(?P<attributes>[^}]*)\})?\s*(?:,|$)"
)
_NAME = re.compile(r'tile\.name\s*=\s*"([A-Za-z_]\w*)"')
_DIALECTS = {"tt": "Triton's", "ttg": "Triton's", "llvm": "LLVM's"}


class _Parameter(NamedTuple):
    name: str
    entry: str


def _wrong(message: str, hint: str = "kernel.asm['tile'] has the form that is asked for") -> LaunchError:
    return LaunchError(message, code="TW0434", hint=hint)


def _parameters(path: Path, text: str) -> list[_Parameter]:
    found: list[_Parameter] = []
    end = 0
    for match in _PARAMETER.finditer(text):
        if text[end : match.start()].strip():
            break
        attributes = match["attributes"] or ""
        name = _NAME.search(attributes)
        found.append(_Parameter(name[1] if name else f"arg{len(found)}", _entry(match, attributes)))
        end = match.end()
    if text[end:].strip():
        raise _wrong(f"{path} has a parameter that no launch passes: {text[end:].strip()[:60]}")
    return found


def _entry(match: re.Match[str], attributes: str) -> str:
    """A parameter as a signature writes it, with all that the text assumes of it."""
    element = match["pointee"] or match["pointer"]
    words = ["*" * bool(match["pointee"]) + _TYPES.get(element, element)]
    if re.search(r"tile\.divisibility\s*=\s*16\b", attributes):
        words.append("16")
    rows = [fact for fact in fact_rows() if fact.of_pointers == bool(match["pointee"])]
    words += [fact.text for fact in rows if (fact.attribute in attributes) != fact.usual]
    return ":".join(words)


def _refuse_others(path: Path, text: str) -> None:
    """Raise UnsupportedError TW0434 for IR that is not of the tile dialect."""
    whose = "Triton's" if path.suffix in (".ttir", ".ttgir") and "tile." not in text else ""
    found = re.search(r"(?<![\w.\"!#])(tt|ttg|llvm)\.[a-z]", text)
    if found or whose or path.suffix in (".ptx", ".llir", ".amdgcn"):
        whose = _DIALECTS[found[1]] if found else whose or "no tile dialect's"
        raise UnsupportedError(
            f"{path} is {whose} text, which is not compiled here",
            code="TW0434",
            hint="kernel.asm['tile'] gives a kernel as text of the tile dialect, which is",
        )


class IRSource:
    """A file with one public function in the tile dialect, as `kernel.asm["tile"]` gives it.

    Its parameters are those of launches: `compile(IRSource(path))[grid](*arguments)`. Raises
    UnsupportedError TW0434 for Triton's own IR, LaunchError TW0434 for a text without such a function.
    """

    def __init__(self, path: str | os.PathLike[str], context: Any = None, backend: Any = None) -> None:
        del context, backend  # of Triton's compiler
        self.path = Path(path)
        try:
            self.src = self.path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise _wrong(f"{self.path} cannot be read: {error}") from None
        self.ext = self.path.suffix[1:]
        _refuse_others(self.path, self.src)
        function = _FUNCTION.search(self.src)
        if not function:
            raise _wrong(f"{self.path} defines no public func.func")
        self.name = function[1]
        self._parameters = _parameters(self.path, function[2].strip())
        self.signature = {name: entry for name, entry in self._parameters}
        if len(self.signature) != len(self._parameters):
            raise _wrong(f"two parameters of {self.path} have the same tile.name")
        self.fn = self._stand_in()

    def hash(self) -> str:
        """What changes with the text."""
        return hashlib.sha256(self.src.encode()).hexdigest()

    def _stand_in(self) -> JITFunction:
        """A kernel with the text's name and parameters, which binds and reads arguments."""
        text = f"def {self.name}({', '.join(self.signature)}):\n    pass\n"
        file = f"<{self.path} {self.hash()[:12]}>"
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        names: dict[str, Any] = {"__name__": __name__}
        exec(compile(text, file, "exec"), names)
        return JITFunction(names[self.name])

    def compiled(self, device: str, options: dict[str, Any]) -> CompiledKernel:
        """The kernel for a device. Raises CompileError for a text that is not valid IR."""
        try:
            key, values = self.fn._of_signature(self.signature, {}, device, options)
        except ValueError as error:
            raise _wrong(f"{self.path}: {error}") from None
        # It lasts as long as the kernel, whose later stages are made when they are asked for.
        self.directory = tempfile.TemporaryDirectory(prefix="tilewright-")
        copy = Path(self.directory.name) / f"{self.name}.tile"
        copy.write_text(self.src, encoding="utf-8")
        request = self.fn._request(key, values)._replace(stage_files=self.directory.name)
        try:
            kernel = compile_request(request)
        except CompileError as error:
            raise self._named(error, copy) from None
        kernel.kernel_function = self.fn
        kernel.src = self
        return kernel.chosen_for(chosen_of(options, device, self.name)._asdict())

    def _named(self, error: CompileError, copy: Path) -> CompileError:
        """An error at the text's own file: it was compiled from a copy, as what replaces a stage."""
        if error.code != "TW0503":
            return error
        place = re.search(rf"--> {re.escape(str(copy))}(\S*)", error.rendered)
        what = error.message.removeprefix(f"the override {copy} cannot be used: ")
        return type(error)(
            f"{self.path}{place[1] if place else ''}: {what}",
            code=error.code,
            hint="kernel.asm['tile'] has the form that is asked for",
        )
