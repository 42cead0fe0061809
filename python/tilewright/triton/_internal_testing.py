"""The names of `triton._internal_testing` that scripts and tests use: which device is there, and
random arrays of every dtype."""

from __future__ import annotations

import importlib
import multiprocessing
import os
import re
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tilewright.launch.arguments import Reinterpreted
from tilewright.launch.devices import current_device
from tilewright.native.targets import device_named

from . import language as tl
from .absent import names_of
from .runtime.driver import driver
from .runtime.jit import reinterpret, type_canonicalisation_dict

int_dtypes = ["int8", "int16", "int32", "int64"]
uint_dtypes = ["uint8", "uint16", "uint32", "uint64"]
integral_dtypes = int_dtypes + uint_dtypes
float_dtypes = ["float16", "float32", "float64"]
float_dtypes_with_bfloat16 = [*float_dtypes, "bfloat16"]
dtypes = integral_dtypes + float_dtypes
dtypes_with_bfloat16 = [*dtypes, "bfloat16"]
torch_float8_dtypes = ["float8_e4m3fn", "float8_e5m2"]
torch_dtypes = ["bool", *int_dtypes, "uint8", *float_dtypes, "bfloat16"]
tma_dtypes = sorted({*dtypes_with_bfloat16} - {"int64", "uint64", "float64"})


def is_interpreter() -> bool:
    """Whether launches go to the device `reference`."""
    return current_device() == "reference"


def is_compile_warmup() -> bool:
    """Kernels are always run."""
    return False


def get_current_target() -> Any:
    """The target of the next launch."""
    return driver.active.get_current_target()


def is_cuda() -> bool:
    """Whether launches go to an NVIDIA GPU."""
    return driver.active.get_current_target().backend == "cuda"


def is_cpu() -> bool:
    """Whether launches go to the CPU."""
    is_gpu = is_cuda() or is_hip()
    return not is_gpu and device_named(current_device()).kind == "cpu"


def _capability(low: int, high: int) -> Callable[[], bool]:
    def is_such() -> bool:
        target = driver.active.get_current_target()
        is_gpu = target.backend == "cuda" and isinstance(target.arch, int)
        return is_gpu and low <= int(target.arch) < high

    return is_such


is_ampere_or_newer = _capability(80, 1000)
is_hopper = _capability(90, 100)
is_hopper_or_newer = _capability(90, 1000)
is_blackwell = _capability(100, 120)
is_blackwell_ultra = _capability(103, 104)
is_rubin = _capability(107, 108)
is_sm12x = _capability(120, 130)


def _architecture(*names: str) -> Callable[[], bool]:
    """Whether launches go to an AMD GPU whose architecture begins with one of some names."""

    def is_such() -> bool:
        target = driver.active.get_current_target()
        return target.backend == "hip" and str(target.arch).startswith(names)

    return is_such


is_hip = _architecture("gfx")
is_hip_cdna = _architecture("gfx90a", "gfx94", "gfx95")
is_hip_cdna2 = _architecture("gfx90a")
is_hip_cdna3 = _architecture("gfx94")
is_hip_cdna3_or_newer = _architecture("gfx94", "gfx95")
is_hip_cdna4 = _architecture("gfx95")
is_hip_rdna = _architecture("gfx11", "gfx120")
is_hip_rdna3 = _architecture("gfx11")
is_hip_rdna4 = _architecture("gfx120")
is_hip_gfx1250 = _architecture("gfx125")


def _never() -> bool:
    """There is no such device here."""
    return False


is_hip_rdna4m = _never
is_xpu = is_xpu_cri = _never
supports_tma = supports_ws = supports_clc = _never


def get_hip_lds_size() -> int:
    """Bytes of local memory that a program may have on an AMD GPU."""
    return 320 << 10 if is_hip_gfx1250() else 160 << 10 if is_hip_cdna4() else 64 << 10


def tma_skip_msg(byval_only: bool = False) -> str:
    """Why a test that needs the instructions for descriptors is skipped."""
    del byval_only
    return "descriptors are compiled to pointers and masks"


def requires_tma(test: Callable[..., Any]) -> Callable[..., Any]:
    """A test of descriptors: they work on every device here."""
    return test


def default_alloc_fn(size: int, align: int, stream: Any) -> Any:
    """Workspace on the device of the next launch."""
    del align, stream
    torch = importlib.import_module("torch")
    return torch.empty(size, dtype=torch.int8, device=driver.active.get_active_torch_device())


def numpy_random(
    shape: Any, dtype_str: str, rs: Any = None, low: Any = None, high: Any = None
) -> Any:
    """A random array: integers over their range but never 0 (to be divided by), floats normal."""
    import numpy as np

    random = np.random.RandomState(seed=17) if rs is None else rs
    shape = (shape,) if isinstance(shape, int) else shape
    if dtype_str in integral_dtypes:
        limits = np.iinfo(dtype_str)
        least = limits.min if low is None else max(low, limits.min)
        end = limits.max if high is None else min(high, limits.max)
        drawn = random.randint(least, end, shape, dtype=dtype_str)
        drawn[drawn == 0] = 1
        return drawn
    if dtype_str and "float8" in dtype_str:
        return random.randint(20, 40, shape, dtype=np.int8)
    if dtype_str in float_dtypes:
        return random.normal(0, 1, shape).astype(dtype_str)
    if dtype_str == "bfloat16":
        bits = random.normal(0, 1, shape).astype("float32").view("uint32")
        return (bits & np.uint32(0xFFFF0000)).view("float32")
    if dtype_str in ("bool", "int1", "bool_"):
        return random.normal(0, 1, shape) > 0.0
    raise ValueError(f"{dtype_str!r} is not a dtype that there are random numbers of")


def to_triton(x: Any, device: Any, dst_type: str | None = None) -> Any:
    """A NumPy array as a tensor on a device, with the dtype `dst_type` (its own by default)."""
    torch = importlib.import_module("torch")
    name = x.dtype.name
    if dst_type and "float8" in dst_type:
        return reinterpret(torch.tensor(x, device=device), getattr(tl, dst_type))
    if name == "float32" and dst_type == "bfloat16":
        return torch.tensor(x, device=device).bfloat16()
    if name in ("uint16", "uint32", "uint64"):
        signed = torch.tensor(x.astype(name.removeprefix("u")), device=device)
        return reinterpret(signed, getattr(tl, name))
    return torch.tensor(x, device=device)


def to_numpy(x: Any) -> Any:
    """A tensor's values as a NumPy array of the dtype that kernels see; bfloat16 as float32."""
    import numpy as np

    torch = importlib.import_module("torch")
    if isinstance(x, Reinterpreted):
        return x.base.cpu().numpy().astype(getattr(np, torch_dtype_name(x.dtype)))
    if isinstance(x, torch.Tensor):
        return (x.cpu().float() if x.dtype is torch.bfloat16 else x.cpu()).numpy()
    raise ValueError(f"{x!r} is not an array of a kernel")


def unwrap_tensor(t: Any) -> Any:
    """The tensor inside of a reinterpreted one."""
    return t.base if isinstance(t, Reinterpreted) else t


def str_to_triton_dtype(x: str) -> Any:
    """The dtype of the language for its name in torch or NumPy."""
    return tl.str_to_ty(type_canonicalisation_dict[x])


def torch_dtype_name(dtype: Any) -> str:
    """The name of a dtype of the language's or of torch's: "float32"."""
    if isinstance(dtype, tl.dtype):
        return dtype.name
    match = re.match(r"^torch\.(\w+)$", str(dtype))
    if not match:
        raise TypeError(f"{dtype!r} is not a dtype")
    return match[1]


@dataclass
class ProcessResult:
    """What a function in a process of its own did: the exception that it raised, and what it wrote to
    the standard error stream."""

    exc: BaseException | None
    driver_stderr_output: str


def run_in_process(
    client_fn: Callable[..., Any],
    args: tuple[Any, ...] = (),
    kwargs: dict[str, Any] | None = None,
    env: dict[str, str] | None = None,
) -> ProcessResult:
    """Call a function in a new process, with variables added to its environment. What it returns is
    dropped. Raises RuntimeError where the process ends without a result."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    with tempfile.NamedTemporaryFile() as errors:
        process = context.Process(
            target=_call, args=(client_fn, args, kwargs or {}, env or {}, errors.name, theirs)
        )
        process.start()
        theirs.close()
        try:
            raised = ours.recv()
        except EOFError:
            process.join()
            raise RuntimeError(f"the process ended with {process.exitcode}, without a result") from None
        finally:
            ours.close()
        process.join()
        return ProcessResult(raised, errors.read().decode(errors="replace"))


def _call(
    client_fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
    env: dict[str, str], errors: str, pipe: Any,
) -> None:  # fmt: skip
    os.environ.update(env)
    with open(errors, "wb", buffering=0) as file:
        os.dup2(file.fileno(), 2)
    raised: BaseException | None = None
    try:
        client_fn(*args, **kwargs)
    except Exception as error:
        raised = error
    sys.stderr.flush()
    pipe.send(raised)
    pipe.close()


def random_int(low: int, high: int, **kwargs: Any) -> int:
    """A random integer from low to high - 1, by torch's generator."""
    kwargs.pop("warmup_value", None)
    return int(importlib.import_module("torch").randint(low, high, size=(), **kwargs).item())


def random_float(**kwargs: Any) -> float:
    """A random float from 0 to 1, by torch's generator."""
    kwargs.pop("warmup_value", None)
    return float(importlib.import_module("torch").rand((), **kwargs).item())


__path__: list[str] = []
__getattr__ = names_of(__name__)
