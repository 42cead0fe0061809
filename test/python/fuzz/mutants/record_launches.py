"""Writes launches.tsv: how the tutorials and the tests launch the kernels that the fuzzer of source text changes.

    python test/python/fuzz/mutants/record_launches.py

A line has the file, the kernel, and its arguments in order: `*float32[64]` is an array of 64 elements, `*int32[64]<8`
one of indices below 8, anything else a literal or the name of a function of the file.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[3]
TABLE = FOLDER / "launches.tsv"
TUTORIALS = sorted((ROOT / "tutorials").glob("0*.py"))
PATTERNS = [
    "test_kernels_*.py", "test_block_pointers.py", "test_descriptor_kernels.py", "test_tensor_descriptors.py",
    "test_aggregates.py", "test_tuple_arguments.py", "test_language_*.py", "test_libdevice.py", "test_loop_bounds.py",
    "test_split_loops.py", "test_masks_of_tiles.py", "test_signs_of_indices.py", "test_op_dot_scaled.py",
    "test_op_memory.py", "test_op_order.py", "test_op_scan.py", "test_op_reduce.py",
    "test_op_shape.py", "test_op_atomics.py", "test_op_float8.py", "test_op_operators.py",
    "test_gpu_attention.py", "test_gpu_norms.py", "test_gpu_losses.py", "test_gpu_scans.py",
    "test_gpu_control.py", "test_gpu_quantization.py", "test_gpu_matrices.py",
]  # fmt: skip
MAX_ELEMENTS = 1 << 16


def array_text(value: Any) -> str:
    """An array in the table's words; none for what the table cannot say."""
    if hasattr(value, "detach"):
        value = value.detach()
        dtype, count = str(value.dtype).removeprefix("torch."), value.untyped_storage().nbytes() // value.element_size()
    else:
        dtype, count = str(value.dtype), value.size
    if not 0 < count <= MAX_ELEMENTS:
        raise ValueError(dtype)
    text = f"*{dtype}[{count}]"
    if "int" in dtype and value.min() >= 0 and value.max() < 256:
        text += f"<{int(value.max()) + 1}"
    return text


def argument_text(value: Any, module: Any) -> str:
    if hasattr(value, "dtype") and hasattr(value, "shape") and type(value).__module__.split(".")[0] in ("torch", "numpy"):
        return array_text(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return repr(value)
    if isinstance(value, tuple) and all(isinstance(v, (bool, int, float)) for v in value):
        return repr(value)
    name = getattr(value, "__name__", None) or getattr(value, "name", "")
    if getattr(module, name, None) is value:
        return name
    for language in ("tl", "tw"):
        if getattr(getattr(module, language, None), name, None) is value:
            return f"{language}.{name}"
    raise ValueError(name)


class Recorder:
    """Sees launches; keeps the first of each kernel that is a function of its file."""

    def __init__(self) -> None:
        self.lines: dict[tuple[str, str], str] = {}

    def see(self, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        module = sys.modules.get(kernel.fn.__module__)
        path = getattr(module, "__file__", None)
        if not path or getattr(module, kernel.fn.__name__, None) is not kernel:
            return
        place = (str(Path(path).resolve().relative_to(ROOT)), kernel.fn.__name__)
        if place in self.lines:
            return
        try:
            values = dict(zip(kernel.arg_names, args)) | {k: v for k, v in kwargs.items() if k in kernel.arg_names}
            texts = [f"{name}={argument_text(value, module)}" for name, value in values.items()]
        except ValueError:
            return
        self.lines[place] = "\t".join([*place, *texts])

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """One case of each test is enough: the first launch counts."""
        first = {getattr(item, "originalname", item.name): item for item in reversed(items)}
        items[:] = [item for item in items if item in first.values()]

    def install(self) -> None:
        import tilewright as tw

        original = tw.JITFunction._launch

        def launch(kernel: Any, grid: Any, /, *args: Any, **kwargs: Any) -> Any:
            self.see(kernel, args, kwargs)
            return original(kernel, grid, *args, **kwargs)

        tw.JITFunction._launch = launch


def run_tutorials(recorder: Recorder) -> None:
    sys.path.insert(0, str(ROOT / "tutorials"))
    for path in TUTORIALS:
        spec = importlib.util.spec_from_file_location(f"tutorial_{path.stem}", path)
        assert spec and spec.loader
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        spec.loader.exec_module(module)
        module.run("small")


def main() -> int:
    os.chdir(ROOT)
    recorder = Recorder()
    recorder.install()
    files = sorted({str(p) for pattern in PATTERNS for p in (ROOT / "test/python").rglob(pattern)})
    os.environ["OP_TEST_SEED"] = "1"
    pytest.main(["-q", "-p", "no:cacheprovider", "-k", "cpu and not x86", *files], plugins=[recorder])
    np.random.seed(0)
    run_tutorials(recorder)
    TABLE.write_text("".join(line + "\n" for _, line in sorted(recorder.lines.items())))
    return 0


if __name__ == "__main__":
    sys.exit(main())
