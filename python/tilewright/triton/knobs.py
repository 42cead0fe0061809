"""The names of `triton.knobs`: hooks, and settings that act on Tilewright's own.

A knob that exists here does what Triton's does. The others read as Triton's default, and setting one to
anything else is an UnsupportedError that says why.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tilewright.launch import hooks
from tilewright.tuning import announcements
from tilewright.native import knobs as own
from tilewright.native.errors import UnsupportedError
from tilewright.launch.hooks import HookChain as HookChain

from .absent import names_of
from .runtime.cache import remote_cache
from .runtime.compilation_hooks import CompileTimes as CompileTimes
from .runtime.compilation_hooks import compilation as compilation_hooks

_IR = "it looks into Triton's compiler; TILEWRIGHT_DUMP and TILEWRIGHT_OVERRIDE do that here"
_BUILD = "nothing is compiled by the system's C compiler here"
_CACHE = "the kernel cache has no managers to replace; TILEWRIGHT_CACHE_DIR names its directory"
_TOOL = "TILEWRIGHT_ASSEMBLERS names assemblers; `tilewright info` says which are found"
_AMD = "it belongs to AMD's GPUs"
_PROTON = "the profiler here counts and times launches, without tools of the GPU's maker"
_ARITHMETIC = "say it at the operation or the launch: tl.dot(input_precision=), enable_fp_fusion="


class Knob:
    """A setting with a meaning here: how it is read and how it is changed."""

    def __init__(self, read: Callable[[], Any], write: Callable[[Any], None], key: str = "") -> None:
        self.read, self.write, self.key = read, write, key
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, group: object, owner: type | None = None) -> Any:
        return self if group is None else self.read()

    def __set__(self, group: object, value: Any) -> None:
        self.write(value)

    def __delete__(self, group: object) -> None:
        """Forget what was set: the environment's values count from here on."""


class Fixed(Knob):
    """A setting without a meaning here: it keeps its default."""

    def __init__(self, default: Any, why: str) -> None:
        super().__init__(lambda: default, self._refuse)
        self.default, self.why = default, why

    def _refuse(self, value: Any) -> None:
        if value != self.default:
            raise UnsupportedError(
                f"the knob {self.name} cannot be set to {value!r}: {self.why}",
                code="TW0433",
                hint="`tilewright info` lists the settings there are",
            )


def _environment(name: str, is_on: Callable[[own.Settings], Any], text: Callable[[Any], str]) -> Knob:
    """A knob that is one of Tilewright's environment variables."""

    def write(value: Any) -> None:
        own.change(name, text(value))

    return Knob(lambda: is_on(own.settings()), write, own.PREFIX + name)


def _flag(value: Any) -> str:
    return "1" if value else "0"


def _interpret(value: Any) -> None:
    own.change("DEVICE", "reference" if value else "")


def _hook_of(chain: HookChain) -> Knob:
    return Knob(lambda: chain, chain.replace)


def _compilation_hook(name: str) -> Knob:
    return Knob(
        lambda: getattr(compilation_hooks, name),
        lambda hook: compilation_hooks.change(name, hook),
    )


class base_knobs:  # noqa: N801 (Triton's name)
    """A group of knobs."""

    @property
    def knob_descriptors(self) -> dict[str, Knob]:
        """The knobs of the group by name."""
        return {name: knob for name, knob in vars(type(self)).items() if isinstance(knob, Knob)}

    @property
    def knobs(self) -> dict[str, Any]:
        """The values of the group's knobs by name."""
        return {name: getattr(self, name) for name in self.knob_descriptors}

    def copy(self) -> base_knobs:
        """The group: its state is the process's."""
        return self

    def reset(self) -> base_knobs:
        """Let the environment decide again."""
        own.reset()
        return self

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Take back what a `with` block changes."""
        before = {name: _snapshot(value) for name, value in self.knobs.items()}
        environment = {name: os.environ.get(own.PREFIX + name) for name in own.KNOBS}
        try:
            yield
        finally:
            for name, value in before.items():
                if not self.knob_descriptors[name].key:
                    setattr(self, name, value)
            own.restore(environment)

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in self.knob_descriptors:
            self.__getattr__(name)
        object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        group = type(self).__name__.removesuffix("_knobs")
        return names_of(f"{__name__}.{group}", list(self.knob_descriptors))(name)


def _snapshot(value: Any) -> Any:
    if isinstance(value, HookChain):
        copy = HookChain(value.reversed)
        copy.calls = list(value.calls)
        return copy
    return value


class build_knobs(base_knobs):  # noqa: N801
    """How a C compiler would be run."""

    cc = Fixed(None, _BUILD)
    cudacrt_path = Fixed(None, _BUILD)
    cudart_path = Fixed(None, _BUILD)
    impl = Fixed(None, _BUILD)
    backend_dirs = Fixed(frozenset[str](), _BUILD)


class redis_knobs(base_knobs):  # noqa: N801
    """Where a remote cache would be."""

    key_format = Fixed("triton:{key}:{filename}", _CACHE)
    host = Fixed("localhost", _CACHE)
    port = Fixed(6379, _CACHE)


class cache_knobs(base_knobs):  # noqa: N801
    """Where compiled kernels are kept."""

    dir = _environment("CACHE_DIR", lambda s: s.cache_directory, str)
    dump_dir = _environment("DUMP", lambda s: s.dump_directory, str)
    override_dir = _environment("OVERRIDE", lambda s: s.override_directory, str)
    home_dir = Fixed(os.path.expanduser("~/"), _CACHE)
    manager_class = Fixed(None, _CACHE)
    remote_manager_class = Knob(
        remote_cache.read, remote_cache.write, "TRITON_REMOTE_CACHE_BACKEND"
    )


class compilation_knobs(base_knobs):  # noqa: N801
    """How kernels are compiled."""

    always_compile = Knob(
        lambda: not own.settings().is_cache_enabled,
        lambda value: own.change("CACHE", "0" if value else "1"),
        own.PREFIX + "CACHE",
    )
    override = Fixed(False, _IR)
    dump_ir = Fixed(False, _IR)
    dump_ir_extract_di_local_variables = Fixed(False, _IR)
    store_binary_only = Fixed(False, _CACHE)
    use_ir_loc = Fixed(None, _IR)
    enable_asan = Fixed(False, "run kernels on `reference` or `sim:sm_80`, which check every access")
    disable_line_info = Fixed(False, _IR)
    front_end_debugging = Fixed(False, _IR)
    allow_non_constexpr_globals = Fixed(False, "numbers in globals are compile-time constants here")
    instrumentation_mode = Fixed("", _IR)
    fpsan_homomorphic_casts = Fixed(False, _IR)
    listener = _compilation_hook("listener")


class autotuning_knobs(base_knobs):  # noqa: N801
    """What autotuning tells."""

    print = Knob(lambda: announcements.autotuning.prints(), announcements.autotuning.set_printing)
    listener = Knob(lambda: announcements.autotuning.listener, announcements.autotuning.set_listener)
    cache = Fixed(False, "results are kept in memory; Autotuner.cache has them")


class runtime_knobs(base_knobs):  # noqa: N801
    """How kernels are run, and the hooks around that.

    `interpret` sends launches to the device `reference`; `debug` compiles device assertions into the
    kernels that are launched from then on.
    """

    interpret = Knob(
        lambda: own.settings().device == "reference", _interpret, own.PREFIX + "DEVICE"
    )
    debug = _environment("DEBUG", lambda s: s.is_debug, _flag)
    override_arch = Fixed(None, "triton.compile takes a GPUTarget")
    launch_enter_hook = _hook_of(hooks.launch_enter)
    launch_exit_hook = _hook_of(hooks.launch_exit)
    kernel_load_start_hook = _hook_of(hooks.load_start)
    kernel_load_end_hook = _hook_of(hooks.load_end)
    kernel_unload_hook = Fixed(None, "kernels are unloaded without a hook")
    jit_cache_hook = _compilation_hook("before")
    jit_post_compile_hook = _compilation_hook("after")
    add_stages_inspection_hook = Fixed(None, _IR)


class language_knobs(base_knobs):  # noqa: N801
    """Defaults of the language."""

    fp32_default = Fixed(None, _ARITHMETIC)
    default_fp_fusion = Knob(
        lambda: own.settings().fuses_products,
        lambda value: own.change_triton_flag("DEFAULT_FP_FUSION", bool(value)),
    )
    force_disable_fp_fusion = Fixed(False, _ARITHMETIC)


class nvidia_knobs(base_knobs):  # noqa: N801
    """The tools for NVIDIA's GPUs."""

    cuobjdump = Fixed(None, _TOOL)
    nvdisasm = Fixed(None, _TOOL)
    ptxas = Fixed(None, _TOOL)
    ptxas_blackwell = Fixed(None, _TOOL)
    dump_nvptx = Fixed(False, _IR)
    disable_ptxas_opt = Fixed(False, _TOOL)
    ptxas_options = Fixed(None, _TOOL)
    mock_ptx_version = Fixed(None, _TOOL)
    dump_ptxas_log = Fixed(False, "kernel.remarks tells what the assembler said")
    libdevice_path = Fixed(None, "libdevice's functions are part of the language here")
    libcuda_path = _environment("CUDA_LIBRARY", lambda s: s.cuda_library or None, str)


class amd_knobs(base_knobs):  # noqa: N801
    """The tools for AMD's GPUs."""

    use_buffer_ops = Fixed(True, _AMD)
    use_buffer_atomics = Fixed(True, _AMD)
    buffer_ops_analyze_small_tensor_range = Fixed(False, _AMD)
    codegen_path = Fixed(None, _AMD)
    dump_amdgcn = Fixed(False, _AMD)
    libhip_path = Fixed(None, _AMD)
    use_block_pingpong = Fixed(None, _AMD)
    use_in_thread_transpose = Fixed(None, _AMD)
    use_async_copy = Fixed(None, _AMD)
    use_coexec_scheduler = Fixed(None, _AMD)
    use_expert_scheduling = Fixed(None, _AMD)
    scalarize_packed_fops = Fixed(False, _AMD)
    dump_mir = Fixed(None, _AMD)
    swap_mir = Fixed(None, _AMD)
    swap_mir_enable_misched = Fixed(False, _AMD)


class proton_knobs(base_knobs):  # noqa: N801
    """Triton's profiler."""

    disable = Fixed(False, _PROTON)
    enable_nvtx = Fixed(True, _PROTON)
    enable_hw_trace = Fixed(False, _PROTON)
    profile_buffer_size = Fixed(64 << 20, _PROTON)
    profile_metric_buffer_size = Fixed(64 << 20, _PROTON)


build = build_knobs()
redis = redis_knobs()
cache = cache_knobs()
compilation = compilation_knobs()
autotuning = autotuning_knobs()
runtime = runtime_knobs()
language = language_knobs()
nvidia = nvidia_knobs()
amd = amd_knobs()
proton = proton_knobs()


def refresh_knobs() -> None:
    """Read the environment again."""
    own.reset()


__path__: list[str] = []
__getattr__ = names_of(__name__)
