"""The table of Triton's names that are not here: (why, what to write instead).

Names are those of Triton 3.9 and, where scripts still use them, of older versions, without the
leading `triton.`; an entry holds for all names below it.
"""

from __future__ import annotations

_IR = (
    "it belongs to Triton's own compiler and intermediate representation",
    "a compiled kernel has its stages in `kernel.asm`; `tilewright.compile.inspect` gives one",
)
_C = (
    "it is Triton's native module",
    "triton.compile and kernel.asm give a compilation's results, triton.runtime.driver.active the device",
)
_PROFILER = (
    "the profiler here counts and times launches, and looks into no kernel",
    "use triton.profiler.start, scope and finalize, or measure with triton.testing.do_bench",
)
_AMD = ("it belongs to AMD's GPUs", "choose by triton.runtime.driver.active.get_current_target()")
_INTEL = ("it belongs to Intel's GPUs", "choose by triton.runtime.driver.active.get_current_target()")
_REMOVED = ("it is a name of an older Triton", "use the names of triton.language and triton.runtime")
_TMA = (
    "it makes the descriptors of one kind of GPU",
    "use tl.make_tensor_descriptor, or pointers with tl.load and tl.store",
)
_DRIVER = (
    "devices are part of Tilewright and cannot be added from outside",
    "choose one with `with tilewright.device(...)` or TILEWRIGHT_DEVICE",
)
_BUILD = (
    "nothing is compiled by the system's C compiler here",
    "triton.compile and kernel.compile give the binaries",
)
_CACHE = (
    "the kernel cache has no managers to replace",
    "TILEWRIGHT_CACHE_DIR names its directory; `tilewright cache` looks after it",
)
_GLUON = (
    "it is another language on Triton's layouts",
    "write the kernel in triton.language: layouts are chosen by the compiler",
)
_INTERPRETER = (
    "the interpreter here is the device `reference`, which runs a kernel's IR",
    "set TRITON_INTERPRET=1 or TILEWRIGHT_DEVICE=reference",
)
_TESTING = (
    "it is part of Triton's own test suite",
    "use triton.testing, or pytest around kernel launches",
)
_CLOCK = (
    "it changes or asks for the clocks of a GPU by nvidia-smi",
    "lock the clocks outside of the program with nvidia-smi",
)
_AOT = (
    "files of triton.tools.compile need no linker",
    "`tilewright export` with several --signature makes one file whose launches choose between them",
)

_SASS = (
    "control codes are not printed beside the instructions",
    "triton.tools.disasm.get_sass gives what cuobjdump writes",
)
_KNOBS = (
    "knobs are not made of classes that others could use",
    "read and set the values: triton.knobs.runtime.debug",
)
_GDC = ("its names are in triton.language.extra.cuda", "import them from there")
_MISSING = ("it is not implemented", "use the other functions of the language")

# Names of triton.knobs and of triton.language.core that only Triton's own modules use.
_OF_KNOBS = """AutotuneListener BuildImpl ClassType CompilationListener Env GetType InitHandleHook
JITHook JITHookCompileInfo KernelAttr LaunchHook NvidiaTool PipelineStagesHook SetType env env_base env_bool
env_class env_int env_nvidia_tool env_opt_bool env_opt_str env_str env_str_callable_default knobs_type
propagate_env setenv toenv"""
_OF_CORE = """TRITON_BUILTIN base_type base_value binary_op_type_legalization builtin_max builtin_min
check_bit_width dispatch extern is_builtin is_negative_zero slice_type tensor_descriptor_base
tensor_descriptor_base_type"""
_OF_LANGUAGE = "slice"
_OF_DISASM = "BRA_RE FLINE_RE FNAME_RE SLINE_RE parseCtrl processSassLines"

REASONS: dict[str, tuple[str, str]] = {
    **{f"knobs.{name}": _KNOBS for name in _OF_KNOBS.split()},
    **{f"language.core.{name}": _IR for name in _OF_CORE.split()},
    **{f"language.core.{name}": _MISSING for name in _OF_LANGUAGE.split()},
    **{f"language.{name}": _MISSING for name in _OF_LANGUAGE.split()},
    "language.standard.sort_impl": ("it is a part of tl.sort", "use tl.sort or tl.topk"),
    "language.extra.cuda.gdc": _GDC,
    "tools.tensor_descriptor": _MISSING,
    "aggregate": _MISSING,
    "_internal_testing": _TESTING,
    # Modules of Triton 3.9.
    "_C": _C,
    "_compile_warmup": _TESTING,
    "_compile_warmup_pool": _TESTING,
    "_compile_warmup_state": _TESTING,
    "_instrumentation": _IR,
    "_test_runner": _TESTING,
    "_utils": _IR,
    "experimental.gluon": _GLUON,
    "experimental.gsan": _IR,
    "backends.amd": _AMD,
    "backends.nvidia": _DRIVER,
    "backends.driver": _DRIVER,
    "backends.compiler.BaseBackend": _DRIVER,
    "backends.compiler.Language": _GLUON,
    "backends.BaseBackend": _DRIVER,
    "backends.DriverBase": _DRIVER,
    "backends.Backend": _DRIVER,
    "compiler.code_generator": _IR,
    "compiler.make_launcher": _BUILD,
    "compiler.compiler.parse": _IR,
    "compiler.compiler.convert_type_repr": _IR,
    "compiler.compiler.arg_type_pattern": _IR,
    "compiler.compiler.prototype_pattern": _IR,
    "compiler.compiler.ptx_arg_type_pattern": _IR,
    "compiler.compiler.ptx_prototype_pattern": _IR,
    "compiler.compiler.filter_traceback": _IR,
    "compiler.compiler.CompileTimer": _IR,
    "compiler.compiler.AsmDict": _IR,
    "compiler.get_cache_key": _CACHE,
    "runtime.RedisRemoteCacheBackend": _CACHE,
    "runtime.RemoteCacheBackend": _CACHE,
    "runtime._allocation": (
        "kernels need no workspace from the host",
        "triton.set_allocator is accepted and never called",
    ),
    "runtime.build": _BUILD,
    "runtime.interpreter": _INTERPRETER,
    "runtime.cache.RedisRemoteCacheBackend": _CACHE,
    "runtime.cache.get_dump_manager": _CACHE,
    "runtime.cache.get_override_manager": _CACHE,
    "runtime.cache.get_cache_key": _CACHE,
    "runtime.cache.make_so_cache_key": _CACHE,
    "runtime.driver.DriverBase": _DRIVER,
    "runtime.jit.DependenciesFinder": _IR,
    "runtime.jit.JITCallable": _IR,
    "runtime.jit.BoundConstexprFunction": _IR,
    "runtime.jit.ConstexprFunction": _IR,
    "runtime.jit.GLUON_MODULE": _GLUON,
    "runtime.jit.TRITON_MODULE": _IR,
    "runtime.jit.INDENT_PATTERN": _IR,
    "runtime.jit.mangle_type": _IR,
    "runtime.jit.serialize_specialization_data": _IR,
    "runtime.jit.create_function_from_signature": _IR,
    "runtime.jit.compute_cache_key": _IR,
    "runtime.jit.convert_to_tuple_if_list": _IR,
    "runtime.jit.get_full_name": _IR,
    "runtime.jit.get_def_line_number": _IR,
    "runtime.jit.get_def_col_number": _IR,
    "testing.nvsmi": _CLOCK,
    "testing.set_gpu_clock": _CLOCK,
    "testing.cuda_memcheck": (
        "cuda-memcheck was taken out of CUDA 12",
        "run the kernel on `reference` or `sim:sm_80`, which check every access",
    ),
    "testing.do_bench_proton": _PROFILER,
    "testing.do_bench_cudagraph_proton": _PROFILER,
    "testing.cuda_graph_without_gc": _PROFILER,
    "tools.build_extern": _BUILD,
    "tools.link": _AOT,
    **{f"tools.disasm.{name}": _SASS for name in _OF_DISASM.split()},
    "tools.gsan": _IR,
    "tools.triton_to_gluon_translator": _GLUON,
    "profiler.hooks": _PROFILER,
    "profiler": _PROFILER,
    "language.semantic": _IR,
    # Names of older versions and of forks that scripts still ask for.
    "ops": _REMOVED,
    "common": _REMOVED,
    "code_gen": _REMOVED,
    "impl": _REMOVED,
    "third_party": _REMOVED,
    "tools.experimental_descriptor": _TMA,
    "backends.triton_shared": _DRIVER,
    "backends.cpu": _DRIVER,
    "runtime.libentry": _REMOVED,
    "runtime.errors.IntelGPUError": _INTEL,
    "runtime.driver.DriverConfig": _DRIVER,
    "runtime.driver.GPUDriver": _DRIVER,
    "runtime.jit.native_specialize_impl": _IR,
    "runtime.jit.specialize_impl": _IR,
    "runtime.autotuner.triton_key": _IR,
    "compiler.compiler.AttrsDescriptor": _REMOVED,
    "backends.compiler.AttrsDescriptor": _REMOVED,
}
