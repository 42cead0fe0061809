"""The two languages that the benchmark of GPUs reads its kernels in, and how Triton is held to
mma.sync where it would choose the matrix instructions of newer GPUs."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

FOLDER = pathlib.Path(__file__).resolve().parent
SOURCES = ("generated_kernels.py", "gpu_kernels.py")
PEERS = FOLDER.parents[1] / ".venv" / "peers" / "triton"  # `make bench` installs it there
WITHOUT_WGMMA = "DISABLE_MMA_V3"  # Triton reads it when it chooses matrix instructions


class Language(NamedTuple):
    """A participant's kernels and how all of its launches differ."""

    name: str
    kernels: Mapping[str, Any]
    options: Mapping[str, Any] = {}
    is_plain: bool = False  # in an interpreter, which takes no options
    without_wgmma: bool = False

    def launch(self, kernel: str, grid: Any, arguments: Any, constants: Any, options: Any) -> Any:
        if self.is_plain:
            return self.kernels[kernel][grid](*arguments, **constants)
        before = os.environ.pop(WITHOUT_WGMMA, None)
        if self.without_wgmma:
            os.environ[WITHOUT_WGMMA] = "1"
        try:
            everything = {**constants, **options, **self.options}
            return self.kernels[kernel][grid](*arguments, **everything)
        finally:
            os.environ.pop(WITHOUT_WGMMA, None)
            if before is not None:
                os.environ[WITHOUT_WGMMA] = before


def read_sources(language: str, copy: str = "") -> dict[str, Any]:
    """The kernels of the shared sources, read as one language; those of a copy share nothing that
    was compiled for others."""
    found: dict[str, Any] = {}
    for source in SOURCES:
        os.environ["BENCHMARK_LANGUAGE"] = language
        name = f"{pathlib.Path(source).stem}_{language}{copy}"
        spec = importlib.util.spec_from_file_location(name, FOLDER / source)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # both languages look their source up by module
        spec.loader.exec_module(module)
        found |= {key: value for key, value in vars(module).items() if not key.startswith("_")}
    return found


def import_triton() -> ModuleType | None:
    """Triton, of this Python or of `make bench`; None where there is none."""
    # Sums and products become FMAs on both sides; Triton 3.9 asks for a choice.
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    if not importlib.util.find_spec("triton") and (PEERS / "triton").is_dir():
        sys.path.append(str(PEERS))
    if not importlib.util.find_spec("triton"):
        return None
    import triton

    return triton


def instructions_of(compiled: Any) -> str:
    """Which matrix instructions a compiled kernel of either language has."""
    ptx = getattr(compiled, "asm", {}).get("ptx", "")
    ptx = ptx if isinstance(ptx, str) else ptx.decode()
    names = {"mma.sync": "mma.sync", "wgmma": "wgmma.mma_async", "tcgen05": "tcgen05.mma"}
    return " and ".join(name for name, text in names.items() if text in ptx)


RESTRICTED, FREE = "triton mma.sync", "triton"


def triton_languages(is_interpreted: bool) -> list[Language]:
    """Triton as it is, and held to mma.sync in the two ways there are; the caller takes the first
    whose code has nothing else.

    Its option `arch` lowers a kernel as for that architecture (no wgmma, no TMA) and assembles it
    for the GPU that is there. DISABLE_MMA_V3 only takes wgmma away, on sm_90.
    """
    kernels = read_sources("triton")
    if is_interpreted:
        return [Language(RESTRICTED, kernels, is_plain=True)]
    return [
        Language(RESTRICTED, kernels, {"arch": "sm80"}),
        # Kernels of its own: Triton's memory of what it compiled knows nothing of the variable.
        Language(RESTRICTED, read_sources("triton", "_without_wgmma"), without_wgmma=True),
        Language(FREE, kernels),
    ]


def restriction_of(language: Language) -> str:
    """In words, for the table."""
    if language.without_wgmma:
        return f"{WITHOUT_WGMMA}=1"
    if arch := language.options.get("arch"):
        return f"option arch={arch}: lowered as for it, assembled for this GPU"
    return "none"
