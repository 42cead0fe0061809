"""The names of `triton.compiler.compiler`: compiling a kernel for a target without running it."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from tilewright import CompiledKernel as CompiledKernel
from tilewright.tuning.heuristics import Wrapper
from tilewright.native.errors import LaunchError, UnsupportedError
from tilewright.launch.devices import current_device
from tilewright.launch.hooks import LaunchMetadata
from tilewright.launch.jit import JITFunction
from tilewright.native import native
from tilewright.native.targets import gpu_of_torch

from ..absent import names_of
from ..backends.compiler import GPUTarget as GPUTarget
from ..runtime.cache import triton_key as triton_key
from ..runtime.driver import driver
from .errors import CompilationError as CompilationError
from .ir_source import IRSource as IRSource

LazyDict = LaunchMetadata


class ASTSource:
    """A kernel with the types of its parameters: what `compile` compiles.

    `signature` maps each parameter to "*fp32", "i32", ... or "constexpr"; `constexprs` maps names or
    indices (or tuples of one index) to values; `attrs` maps tuples of one index to lists such as
    [["tt.divisibility", 16]].
    """

    def __init__(
        self,
        fn: Any,
        signature: Mapping[str, str],
        constexprs: Mapping[Any, Any] | None = None,
        attrs: Mapping[Any, Sequence[Sequence[Any]]] | None = None,
        constants: Mapping[Any, Any] | None = None,
    ) -> None:
        while isinstance(fn, Wrapper):
            fn = fn.fn
        if not isinstance(fn, JITFunction):
            raise TypeError(f"{fn!r} is not a kernel made by triton.jit")
        self.fn = fn
        self.name = fn.__name__
        self.signature = {self._name(key): kind for key, kind in signature.items()}
        given = {**(constants or {}), **(constexprs or {})}
        self.constants = {self._name(key): value for key, value in given.items()}
        self.attrs = {self._name(key): value for key, value in (attrs or {}).items()}

    def _name(self, key: Any) -> str:
        if isinstance(key, tuple):
            (key,) = key
        names = self.fn.arg_names
        if isinstance(key, int) and 0 <= key < len(names):
            return names[key]
        if key not in names:
            raise _wrong(f"{key!r} is not a parameter of {self.name}", ", ".join(names))
        return key

    def types(self) -> dict[str, str]:
        """The entries of the signature that are not constants, with what their attributes add."""
        kinds = {
            name: kind
            for name, kind in self.signature.items()
            if kind != "constexpr" and name not in self.constants
        }
        for name, attributes in self.attrs.items():
            for attribute, value in attributes:
                if attribute != "tt.divisibility" or value != 16:
                    raise UnsupportedError(
                        f"the attribute [{attribute!r}, {value!r}] of `{name}` has no meaning here",
                        code="TW0434",
                        hint="there is ['tt.divisibility', 16]",
                    )
                if name in kinds and ":" not in kinds[name]:
                    kinds[name] += ":16"
        return kinds

    def hash(self) -> str:
        """What changes with the kernel, its signature and its constants."""
        parts = (self.fn.cache_key, sorted(self.signature.items()), sorted(self.attrs.items()))
        text = repr((*parts, sorted(map(repr, self.constants.items()))))
        return hashlib.sha256(text.encode()).hexdigest()


def _wrong(message: str, hint: str) -> LaunchError:
    return LaunchError(message, code="TW0434", hint=hint)


def device_of(target: GPUTarget | None) -> str | None:
    """The target as a name of ours; None where no target is given. Raises UnsupportedError TW0434 for
    one that nothing here compiles for."""
    if target is None:
        return None
    if not isinstance(target, GPUTarget):
        raise _wrong(f"a target is a GPUTarget, not {target!r}", "GPUTarget('cuda', 80, 32)")
    if target.backend in ("cpu", "reference"):
        return target.backend
    if target.backend == "hip":
        return f"amd:{target.arch}"
    if target.backend != "cuda":
        raise UnsupportedError(
            f"there is no compiler for the backend {target.backend!r}",
            code="TW0434",
            hint="GPUTarget('cuda', 80, 32) and GPUTarget('hip', 'gfx942', 64) compile for GPUs, "
            "'cpu' for this machine",
        )
    return _nvidia_target(target.arch)


def _nvidia_target(arch: int | str) -> str:
    names = [f"nvidia:sm_{arch}", f"nvidia:sm_{arch}a"]
    return next((name for name in names if native().check_target(name) is None), names[0])


def _gpu_or_none(target: GPUTarget | None) -> str | None:
    """The device to compile for; None for the one of the next launch, if that is not a GPU of torch's."""
    if target is not None:
        return device_of(target)
    place = driver.active.get_active_torch_device()
    return gpu_of_torch(place.type, place.index) or None


def _device_for(target: GPUTarget | None) -> str:
    return _gpu_or_none(target) or current_device()


def compile(
    src: ASTSource | IRSource | str | os.PathLike[str],
    target: GPUTarget | None = None,
    options: Mapping[str, Any] | None = None,
) -> CompiledKernel:
    """Compile a kernel for a target, by default for the device of the next launch; nothing runs.

    The result's `asm` has the stages by name, for NVIDIA's GPUs with "ptx", and "cubin" where this
    machine has an assembler, for AMD's with "asm" and "hsaco". A path is that of an `IRSource`. Raises as a launch does,
    and UnsupportedError TW0434 for targets that nothing here compiles for and for sources in Triton's
    intermediate representation.
    """
    if isinstance(src, (str, os.PathLike)):
        src = IRSource(src)
    if isinstance(src, IRSource):
        return src.compiled(_device_for(target), dict(options or {}))
    if not isinstance(src, ASTSource):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise UnsupportedError(
            f"only an ASTSource or an IRSource can be compiled, not {src!r}",
            code="TW0434",
            hint="Triton's intermediate representations are of its own compiler",
        )
    chosen = dict(options or {})
    fn, types, device = src.fn, src.types(), _gpu_or_none(target)
    missing = [
        parameter.name
        for parameter in fn.parameters
        if parameter.name not in types
        and parameter.name not in src.constants
        and parameter.default is parameter.NO_DEFAULT
    ]
    if missing:
        raise _wrong(
            f"the signature of {src.name} lacks {', '.join(f'`{name}`' for name in missing)}",
            "give a type in `signature` or a value in `constexprs` for each parameter",
        )
    kernel = fn.compile(types, src.constants, device, **chosen)
    kernel.src = src
    return kernel


def make_backend(target: GPUTarget) -> NoReturn:
    """Refuses: compilers are not plugins here."""
    raise UnsupportedError(
        f"there is no backend object for {target}",
        code="TW0432",
        hint="triton.compile(ASTSource(...), target) compiles for a target",
    )


def max_shared_mem(device: int) -> int:
    """The bytes of shared memory that a program may have."""
    return driver.active.get_device_properties(device)["max_shared_mem"]


__path__: list[str] = []
__getattr__ = names_of(__name__)
