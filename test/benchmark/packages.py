"""What packages of kernels cost: time of an export, host time of a launch over the driver's call, speed on
the processor beside the JIT's, size of an archive beyond its binary.

`python test/benchmark/packages.py` prints one line for each. The driver is a library whose functions
return at once, built here: what is measured is the package.
"""

from __future__ import annotations

import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test/python/export"), str(ROOT / "test")]
sys.path.append(str(ROOT / "python"))  # behind what the environment says

import assemblers  # noqa: E402
import numpy as np  # noqa: E402
import tilewright as tw  # noqa: E402
from export_kernels import matmul, scale  # noqa: E402
from tilewright.export.source import write_source  # noqa: E402
from tilewright.native import native  # noqa: E402

FIVE = ["nvidia:sm_80", "nvidia:sm_90a", "cpu:x86-64-v2", "cpu:x86-64-v3", "cpu:x86-64-v4"]
PRODUCT = (
    "*fp32:16, *fp32:16, *fp32:16, i32:16:nonneg, i32:16:nonneg, i32:16:nonneg, i32:16:nonneg, "
    "i32:16:nonneg, i32:16:nonneg"
)
TILES = {"BM": 64, "BN": 64, "BK": 32}
GRID = "cdiv(M, BM), cdiv(N, BN)"
SCALED = 4 << 20

DRIVER = """
int cuInit(unsigned f) { return (void)f, 0; }
int cuDeviceGetCount(int *n) { return *n = 1, 0; }
int cuDeviceGet(int *d, int n) { return *d = n, 0; }
int cuDeviceGetAttribute(int *v, int a, int d) { return (void)d, *v = a == 75 ? 8 : a == 76 ? 0 : 166912, 0; }
int cuCtxGetCurrent(void **c) { static int here; return *c = &here, 0; }
int cuCtxGetDevice(int *d) { return *d = 0; }
int cuCtxGetId(void *c, unsigned long long *id) { return (void)c, *id = 7, 0; }
int cuDevicePrimaryCtxRetain(void **c, int d) { return (void)d, cuCtxGetCurrent(c); }
int cuDevicePrimaryCtxRelease_v2(int d) { return (void)d, 0; }
int cuCtxPushCurrent_v2(void *c) { return (void)c, 0; }
int cuCtxPopCurrent_v2(void **c) { return (void)c, 0; }
int cuModuleLoadDataEx(void **m, const void *i, unsigned n, int *o, void **v) { return (void)i, (void)n, (void)o, (void)v, *m = &cuInit, 0; }
int cuModuleUnload(void *m) { return (void)m, 0; }
int cuModuleGetFunction(void **f, void *m, const char *n) { return (void)n, *f = m, 0; }
int cuFuncSetAttribute(void *f, int a, int v) { return (void)f, (void)a, (void)v, 0; }
int cuGetErrorName(int r, const char **n) { return (void)r, *n = "", 0; }
int cuGetErrorString(int r, const char **n) { return (void)r, *n = "", 0; }
int cuLaunchKernel(void *f, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e, unsigned g, unsigned s, void *t, void **p, void **x) {
  return (void)f, (void)a, (void)b, (void)c, (void)d, (void)e, (void)g, (void)s, (void)t, (void)p, (void)x, 0;
}
"""
LAUNCHES = """
#include "matmul.h"
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
typedef int (*launch_function)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                               unsigned, void *, void **, void **);
static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return 1e9 * (double)t.tv_sec + (double)t.tv_nsec;
}
int main(void) {
  enum { COUNT = 2000000 };
  static float a[64], b[64], c[64];
  struct tilewright_launch there = {{0, 0, 0}, TILEWRIGHT_CURRENT_GPU, 0};
  struct tilewright_error error;
  void *function = dlsym(dlopen("libcuda.so.1", RTLD_NOW), "cuLaunchKernel");
  launch_function call;
  memcpy(&call, &function, sizeof(call));
  double best = 1e9, direct = 1e9;
  for (int round = 0; round < 5; ++round) {
    double start = now();
    for (int i = 0; i < COUNT; ++i)
      if (matmul(a + 4 * (i & 7), b, c, 1024, 1024, 1024, 1024, 1024, 1024, &there, &error))
        return puts(error.message), 1;
    double middle = now();
    for (int i = 0; i < COUNT; ++i) {
      uint64_t bits[9] = {(uint64_t)(i & 7)};
      void *parameters[9];
      for (int j = 0; j < 9; ++j)
        parameters[j] = &bits[j];
      call(function, 16, 16, 1, 128, 1, 1, 0, 0, parameters, 0);
    }
    double end = now();
    best = (middle - start) / COUNT < best ? (middle - start) / COUNT : best;
    direct = (end - middle) / COUNT < direct ? (end - middle) / COUNT : direct;
  }
  printf("%.1f %.1f\\n", best, direct);
}
"""


LIBRARY = """
#include "matmul_source.h"
#include <chrono>
#include <cstdio>
#include "tilewright.h"
int main() {
  constexpr int COUNT = 300000;
  static float a[64 * 64], b[64 * 64], c[64 * 64];
  tilewright::Kernel kernel(matmul_source);
  const tilewright::Argument arguments[] = {{a, 4096}, {b, 4096}, {c, 4096}, 64, 64, 64, 64, 64, 64, 64, 64, 32};
  const tilewright::LaunchOptions options;
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < COUNT; ++i)
      if (tilewright::Status status = kernel.launch({0}, arguments, 12, options); !status)
        return std::puts(status.text().c_str()), 1;
    std::chrono::duration<double, std::nano> elapsed = std::chrono::steady_clock::now() - start;
    best = elapsed.count() / COUNT < best ? elapsed.count() / COUNT : best;
  }
  std::printf("%.0f\\n", best);
}
"""


def shell(folder: Path, *words: object, **environment: str) -> str:
    done = subprocess.run(
        [str(word) for word in words], cwd=folder, check=True, capture_output=True, text=True,
        env={**os.environ, **environment},
    )  # fmt: skip
    return done.stdout


def measure_export(folder: Path) -> None:
    command = [sys.executable, "-m", "tilewright", "export"]
    place = f"{ROOT}/test/python/export/export_kernels.py:matmul"
    values = ",".join(f"{name}={value}" for name, value in TILES.items())
    command += [place, "--signature", PRODUCT, "--constexpr", values, "--grid", GRID]
    command += ["--targets", ",".join(FIVE), "-o", str(folder / "five")]
    for form in ("a", "c"):
        seconds: list[float] = []
        for number in range(3):
            environment = {"TILEWRIGHT_CACHE_DIR": str(folder / f"cache-{form}{number}")}
            start = time.perf_counter()
            shell(folder, *command, "--form", form, PYTHONPATH=str(ROOT / "python"), **environment)
            seconds.append(time.perf_counter() - start)
        print(f"export of a matmul for 5 targets, form {form}: {min(seconds):.2f} s")


def measure_launch(folder: Path) -> None:
    tw.export(matmul, folder, PRODUCT, TILES, grid=GRID, targets=["nvidia:sm_80"])
    (folder / "driver.c").write_text(DRIVER)
    (folder / "launches.c").write_text(LAUNCHES)
    shell(folder, "gcc", "-O2", "-w", "-shared", "-fPIC", "driver.c", "-o", "libcuda.so.1")
    libraries = ["-lm", "-lpthread", "-ldl", "-o", "launches"]
    shell(folder, "gcc", "-O2", "-D_GNU_SOURCE", "launches.c", "matmul.a", *libraries)
    words = shell(folder, "./launches", LD_LIBRARY_PATH=str(folder)).split()
    package, direct = map(float, words)
    print(f"launch with 9 arguments: {package:.0f} ns, the driver's call alone {direct:.0f} ns")


def measure_library(folder: Path) -> None:
    library = ROOT / "build/lib"
    (folder / "library.cpp").write_text(LIBRARY)
    write_source(matmul, folder)
    headers = [f"-I{ROOT}/backend/api/library", "-I."]
    libraries = [f"-L{library}", f"-Wl,-rpath,{library}", "-ltilewright", "-o", "library"]
    shell(folder, "g++", "-std=c++17", "-O2", *headers, "library.cpp", *libraries)
    nanoseconds = shell(folder, "./library").strip()
    print(f"warm launch of an empty grid by libtilewright, 12 parameters: {nanoseconds} ns")


def measure_size(folder: Path) -> None:
    for target in ("nvidia:sm_80", "cpu:x86-64-v3"):
        tw.export(matmul, folder, PRODUCT, TILES, grid=GRID, targets=[target])
        compiled = matmul.compile(_types(PRODUCT), TILES, target)
        binary = len(compiled.native.assembled) + len(compiled.native.binary)
        archive = (folder / "matmul.a").stat().st_size
        print(f"archive for {target}: {archive} bytes, {archive - binary} beyond its binary")


def _types(signature: str) -> dict[str, str]:
    names = [name for name in matmul.arg_names if name not in TILES]
    return dict(zip(names, (part.strip() for part in signature.split(","))))


def _pointer(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def aligned(shape: tuple[int, ...]) -> np.ndarray:
    size = int(np.prod(shape))
    memory = np.empty(size * 4 + 64, np.uint8)
    start = -memory.ctypes.data % 64
    array = memory[start : start + size * 4].view(np.float32).reshape(shape)
    array[:] = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    return array


def in_turns(first: Callable[[], object], second: Callable[[], object]) -> tuple[float, float]:
    """Medians of the seconds of both, measured in turns."""
    seconds: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + 12
    for function in (first, second) * 3:
        function()
    while time.perf_counter() < end:
        for function, list_ in zip((first, second), seconds):
            start = time.perf_counter()
            function()
            list_.append(time.perf_counter() - start)
    return statistics.median(seconds[0]), statistics.median(seconds[1])


def measure_cpu(folder: Path) -> None:
    level = next(t for t in reversed(tw.list_devices()) if t.startswith("cpu:x86-64-v"))
    package = tw.Package("both").add(matmul, PRODUCT, TILES, grid=GRID)
    # What the JIT sees of its arrays, C has to be told: that they are larger than the caches.
    array = "*fp32:16:stream" if 4 * SCALED >= native().streaming_bytes() else "*fp32:16"
    package.add(scale, f"{array}, {array}, i32:16:nonneg", {"BLOCK": 4096}, grid="cdiv(n, BLOCK)")
    package.write(folder, [level], form="c")
    libraries = ["-lm", "-lpthread", "-ldl", "-o", "libboth.so"]
    shell(folder, "gcc", "-O2", "-shared", "-fPIC", "both.c", *libraries)
    library = ctypes.CDLL(str(folder / "libboth.so"))
    pair = [("matmul, 1024 x 1024 x 1024 fp32", _product(library)), ("scale, 4M fp32", _scale(library))]
    for name, (run_package, run_jit) in pair:
        with tw.device(level):
            ahead, now = in_turns(run_package, run_jit)
        print(
            f"{name} on {level}: package {ahead * 1e3:.3f} ms, JIT {now * 1e3:.3f} ms, "
            f"ratio {now / ahead:.3f}"
        )


def _call(library: ctypes.CDLL, name: str, fields: list[tuple[str, object]], *values: object):
    class Arguments(ctypes.Structure):
        _fields_ = fields

    run = getattr(library, f"{name}_run")
    given = Arguments(*values)
    interface = ctypes.c_uint64(_interface(name))

    def call() -> None:
        assert run(ctypes.byref(given), None, None, interface) == 0

    call()
    return call


def _interface(name: str) -> int:
    from tilewright.export.header import interface_of
    from tilewright.export.specializations import Argument

    stored = {"matmul": "c", "scale": "out"}[name]
    types = (
        {**_types(PRODUCT)}
        if name == "matmul"
        else {"x": "*fp32", "out": "*fp32", "n": "i32", "factor": "fp32"}
    )
    arguments = [
        Argument(n, t.lstrip("*").split(":")[0], t.startswith("*"), n == stored)
        for n, t in types.items()
    ]
    return interface_of(name, arguments)


def _product(library: ctypes.CDLL) -> tuple[Callable[[], object], Callable[[], object]]:
    size = 1024
    a, b, c = (aligned((size, size)) for _ in range(3))
    pointers = [(name, ctypes.c_void_p) for name in "abc"]
    numbers = [(f"n{i}", ctypes.c_int32) for i in range(6)]
    call = _call(library, "matmul", pointers + numbers, *map(_pointer, (a, b, c)), *[size] * 6)
    np.testing.assert_allclose(c, a @ b, rtol=1e-3, atol=1e-3)
    grid = (size // TILES["BM"], size // TILES["BN"])
    return call, lambda: matmul[grid](a, b, c, *[size] * 6, **TILES)


def _scale(library: ctypes.CDLL) -> tuple[Callable[[], object], Callable[[], object]]:
    count = SCALED
    x, out = aligned((count,)), aligned((count,))
    fields = [("x", ctypes.c_void_p), ("out", ctypes.c_void_p), ("n", ctypes.c_int32)]
    fields += [("factor", ctypes.c_float)]
    call = _call(library, "scale", fields, _pointer(x), _pointer(out), count, 2.0)
    np.testing.assert_array_equal(out, 2 * x)
    return call, lambda: scale[(count // 4096,)](x, out, count, 2.0, BLOCK=4096)


def main() -> None:
    assemblers.pin()
    parts = {
        "export": measure_export,
        "launch": measure_launch,
        "library": measure_library,
        "size": measure_size,
        "cpu": measure_cpu,
    }
    for name in sys.argv[1:] or parts:
        with tempfile.TemporaryDirectory() as folder:
            parts[name](Path(folder))


if __name__ == "__main__":
    main()
