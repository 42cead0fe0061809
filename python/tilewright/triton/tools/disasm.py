"""The machine code of a kernel as text, by the disassembler of a CUDA toolkit that is installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from tilewright.native.errors import UnsupportedError

from ..absent import names_of


def path_to_cuobjdump() -> str:
    """The toolkit's cuobjdump: on PATH, or in CUDA_HOME or CUDA_PATH."""
    homes = [os.environ.get(name, "") for name in ("CUDA_HOME", "CUDA_PATH")]
    folders = [*(str(Path(home) / "bin") for home in homes if home), "/usr/local/cuda/bin"]
    found = shutil.which("cuobjdump") or shutil.which("cuobjdump", path=os.pathsep.join(folders))
    if found is None:
        raise UnsupportedError(
            "there is no cuobjdump, which disassembles",
            code="TW0432",
            hint="install a CUDA toolkit, or set CUDA_HOME to one",
        )
    return found


def get_sass(cubin_asm: bytes, fun: str | None = None) -> str:
    """The instructions of a CUBIN (`kernel.asm["cubin"]`), of all functions or of one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "kernel.cubin"
        path.write_bytes(cubin_asm)
        return extract(str(path), fun)


def extract(file_path: str, fun: str | None = None) -> str:
    """The same of a file."""
    chosen = ["-fun", fun] if fun else []
    done = subprocess.run(
        [path_to_cuobjdump(), "-sass", *chosen, file_path], capture_output=True, text=True
    )
    if done.returncode != 0:
        raise ValueError((done.stderr or done.stdout).strip())
    return done.stdout


__path__: list[str] = []
__getattr__ = names_of(__name__)
