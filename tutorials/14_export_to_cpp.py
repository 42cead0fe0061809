"""A kernel in a C++ program: compiled ahead of time, linked like any library, without Python.

The kernel is the attention of `tutorials/cpp/attention.py`. A *package* has its code for some targets
behind one C function with a header. The program below includes the header and passes pointers; nothing
but the package is linked. `tutorials/cpp` is a whole application: built by CMake, and with the compiler as
a library for shapes that nobody foresaw.
"""

from __future__ import annotations

import ctypes
import pathlib
import shutil
import subprocess
import sys
import tempfile

import compare
import torch

import tilewright as tw

sys.path.append(str(pathlib.Path(__file__).parent / "cpp"))
from attention import attention  # noqa: E402

DEPTH = 64

# The arguments are fields with the names of the kernel's parameters. A launch returns 0, or the number of
# a code whose page `tilewright explain` has, such as 813 for a shape that the package does not cover.
PROGRAM = r"""
#include "attend.h"
#include <cstdio>

extern "C" int attend(float *out, float *q, float *k, float *v, int length, float scale) {
  attention_arguments arguments{};
  arguments.out = out;
  arguments.q = q;
  arguments.k = k;
  arguments.v = v;
  arguments.length = length;
  arguments.scale = scale;
  tilewright_launch launch{};
  launch.device = TILEWRIGHT_CPU;  // without it, the GPU of the current CUDA context
  tilewright_error error;
  int code = attention_launch(&arguments, &launch, &error);
  if (code != TILEWRIGHT_SUCCESS)
    std::fprintf(stderr, "TW%04d: %s\n", error.code, error.message);
  return code;
}
"""


# The signature says what is known of the arguments: arrays of float32 whose addresses are divisible by 16
# bytes. The grid is an expression, so that a caller need not know the tiles.
def write_package(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    package = tw.Package("attend")
    signature = "*fp32:16, *fp32:16, *fp32:16, *fp32:16, i32, fp32"
    package.add(attention, signature, {"DEPTH": DEPTH}, grid="cdiv(length, ROWS)")
    # A GPU's code lies in the same package. No GPU and no toolkit is needed to make it.
    return package.write(folder, ["cpu:x86-64-v3", "nvidia:sm_80"])


def build(folder: pathlib.Path) -> ctypes.CDLL:
    """The program as a shared library, so that this tutorial can call and time it."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++-22"))), None)
    if compiler is None:
        raise SystemExit("this tutorial needs a C++ compiler, such as g++")
    files = write_package(folder)
    source, library = folder / "program.cpp", folder / "libprogram.so"
    source.write_text(PROGRAM)
    options = ["-std=c++17", "-O2", "-Wall", "-shared", "-fPIC"]
    inputs = [str(source), str(files["attend.a"]), "-lpthread", "-ldl", "-lm"]
    subprocess.run([compiler, *options, *inputs, "-o", str(library)], check=True)
    sizes = ", ".join(f"{name} {path.stat().st_size / 1024:.0f} KiB" for name, path in files.items())
    print(f"  package: {sizes}; program: {library.stat().st_size / 1024:.0f} KiB")
    return ctypes.CDLL(str(library))


def run(size: str) -> list[compare.Race]:
    torch.manual_seed(14)
    length = 2048 if size == "full" else 300
    q, k, v = torch.randn(3, length, DEPTH)
    scale = DEPTH**-0.5
    with tempfile.TemporaryDirectory() as folder:
        program = build(pathlib.Path(folder))
        out = compare.poisoned(q)
        pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in (out, q, k, v)]

        def attend() -> None:
            if code := program.attend(*pointers, length, ctypes.c_float(scale)):
                raise RuntimeError(f"the launch returned {code}")

        attend()
        weights = torch.softmax(scale * (q.double() @ k.double().T), dim=1)
        compare.check(f"attention {length} x {DEPTH} in C++", out, weights @ v.double(), atol=1e-5)
        return [
            compare.race(
                f"attention {length} x {DEPTH} in C++",
                attend,
                lambda: torch.nn.functional.scaled_dot_product_attention(q[None], k[None], v[None]),
                size,
            )
        ]


if __name__ == "__main__":
    run(compare.size_from_command_line(__doc__))
