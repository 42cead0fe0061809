"""Tilewright: a block-level kernel language embedded in Python, and its compiler.

`import tilewright as tw` gives the language's names for use in kernels (tw.load, tw.arange, ...),
the decorator `tw.jit`, and what the host needs. Nothing is loaded or compiled at import: the native
module comes with the first compilation.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import errors as errors
from . import language as language
from .compile import CompiledKernel as CompiledKernel
from .errors import CompilationError as CompilationError
from .errors import CompileError as CompileError
from .errors import DeviceError as DeviceError
from .errors import InternalError as InternalError
from .errors import LaunchError as LaunchError
from .errors import OutOfResources as OutOfResources
from .errors import TilewrightError as TilewrightError
from .errors import TilewrightWarning as TilewrightWarning
from .errors import UnsupportedError as UnsupportedError
from .explain import explain as explain
from .export import export as export
from .language.sizes import bucket as bucket
from .language.sizes import next_power_of_2 as next_power_of_2
from .graphs import traced as _traced  # noqa: F401 # pyright: ignore[reportUnusedImport]
from .launch.annotated import dynamic as dynamic
from .launch.annotated import static as static
from .launch.arguments import reinterpret as reinterpret
from .launch.devices import current_device as current_device
from .launch.devices import device as device
from .launch.devices import list_devices as list_devices
from .launch.devices import synchronize as synchronize
from .launch.jit import JITFunction as JITFunction
from .launch.jit import jit as jit
from .library.tensors import Tensor as Tensor
from .native import knobs as knobs
from .native import targets as targets
from .native.above import register as _register_above
from .native.knobs import freeze as freeze
from .native.version import __version__ as __version__

from .library import *  # noqa: E402, F403 (what is written in the language)
from .language import *  # noqa: E402, F403 (the language's names are the package's)


_register_above(__name__, {
    "compiled_as_html": "explain.notebook.compiled_as_html",
    "explain": "explain.explain",
    "guards_of": "explain.guards.guards_of",
    "is_traced": "graphs.tracing.is_traced",
    "kernel_as_html": "explain.notebook.kernel_as_html",
    "launch_traced": "graphs.traced.launch_traced",
    "memories_of": "arrays.bounds.memories_of",
    "name_for_perf": "profiler.perf_map.add_ranges",
    "from_torch": "arrays.torch.from_torch",
    "num_registers": "explain.registers.num_registers",
    "reader_of_array": "arrays.reader_of_array",
    "register_library": "arrays.register_library",
    "tiers": "tuning.tiered.Tiers",
    "trace_of": "explain.compile_trace.trace_of",
})  # fmt: skip

if TYPE_CHECKING:
    from . import jax as jax
    from . import libdevice as libdevice
    from . import simulation as simulation
    from . import testing as testing
    from .export.package import Package as Package
    from .arrays.descriptor import TensorDescriptor as TensorDescriptor
    from .libdevice.extern import extern_elementwise as extern_elementwise
    from .operators import TorchOp as TorchOp
    from .operators import torch_op as torch_op
    from .tuning.configurations import Config as Config
    from .tuning.autotune import autotune as autotune
    from .tuning.heuristics import heuristics as heuristics
    from .tuning.spaces import choice as choice
    from .tuning.spaces import powers_of_two as powers_of_two
else:
    from .language.absent import names_of
    from .native import without_handlers as _without_handlers
    from .native.above import import_late as _import_late

    _refuse = names_of(__name__)
    # Names that few programs need are imported at their first use: name -> its module.
    _OF_KERNELS = {"libdevice": "", "extern_elementwise": "libdevice.extern"}
    _LATER = {
        **_OF_KERNELS,
        **dict.fromkeys(("jax", "simulation", "testing"), ""),
        "Package": "export.package",
        "TensorDescriptor": "arrays.descriptor",
        **dict.fromkeys(("torch_op", "TorchOp"), "operators"),
        "autotune": "tuning.autotune",
        "heuristics": "tuning.heuristics",
        "Config": "tuning.configurations",
        **dict.fromkeys(("choice", "powers_of_two"), "tuning.spaces"),
    }

    def __getattr__(name: str) -> object:
        """A name of a part that few programs use, or the reason why there is no such name."""
        if name not in _LATER:
            return _refuse(name)
        path = f"{__name__}.{_LATER[name] or name}"
        if name in _OF_KERNELS:
            _without_handlers(lambda: _import_late(path))
        module = _import_late(path)
        globals()[name] = module if not _LATER[name] else getattr(module, name)
        return globals()[name]

    def __dir__() -> list[str]:
        return sorted({*globals(), *_LATER})

    language.add_later({name: __getattr__ for name in _OF_KERNELS})
