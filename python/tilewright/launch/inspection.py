"""What a kernel tells about itself, for callers of Triton, and the hooks around its compilations."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Any, NamedTuple

from . import hooks
from .arguments.tracing import untraced
from .relaunch import runner
from ..compile.facts import Facts
from ..native.above import above
from ..native.errors import LaunchError

if TYPE_CHECKING:
    from ..compile import CompiledKernel, Request
    from .loaded_kernels import LoadedKernels
    from .parameters import Parameter


class Specialization(NamedTuple):
    """What a kernel is compiled for, as `jit(repr=)` sees it: the types of its parameters ("i32",
    "*fp32", "constexpr"), and the values that are compiled in."""

    signature: dict[str, str]
    constants: dict[str, Any]

    @classmethod
    def of(cls, request: Request) -> Specialization:
        """That of a request for a compilation. An integer whose value is known is a constant."""
        signature: dict[str, str] = {}
        constants: dict[str, Any] = {}
        for name, facts, value in zip(request.parameters, request.facts, request.constants):
            if isinstance(facts, Facts) and facts.known is None:
                signature[name] = f"{'*' if facts.is_pointer else ''}{facts.type}"
                continue
            signature[name] = "constexpr"
            constants[name] = facts.known if isinstance(facts, Facts) else value
        return cls(signature, constants)


class Inspection:
    """The part of a kernel that only tools look at."""

    if TYPE_CHECKING:
        fn: FunctionType
        debug: bool | None
        repr: Callable[..., str] | None
        _loaded: LoadedKernels

        @property
        def parameters(self) -> tuple[Parameter, ...]: ...

        def _read_signature_again(self) -> None: ...

        def compile(
            self, signature: Mapping[str, str], constants: Mapping[str, Any] | None = None,
            device: str | None = None, **options: Any,
        ) -> CompiledKernel: ...  # fmt: skip

    pre_run_hooks: list[hooks.Hook]

    def add_pre_run_hook(self, hook: hooks.Hook) -> None:
        """Call `hook(*args, **kwargs)` with the arguments of each launch, before it."""
        if not callable(hook):
            raise TypeError(f"a hook is a function, not {hook!r}")
        self.pre_run_hooks.append(hook)

    def explain(
        self, signature: Mapping[str, Any] | None = None, constants: Mapping[str, Any] | None = None,
        device: str | None = None, **options: Any,
    ) -> Any:  # fmt: skip
        """Explain what `compile` with these arguments makes of the kernel: `tilewright.explain.explain`."""
        return above("explain")(self, signature, constants, device, **options)

    @property
    def cache_key(self) -> str:
        """What changes with the meaning of the kernel's text and of the names that it uses."""
        from ..capture import capture

        return capture(self).meaning

    @property
    def params(self) -> tuple[Parameter, ...]:
        """The parameters, as Triton calls them: `name`, `is_constexpr`, `default`, ..."""
        return self.parameters

    @property
    def signature(self) -> inspect.Signature:
        """The signature of the kernel's function."""
        return inspect.signature(self.fn)

    @property
    def module(self) -> str:
        """The name of the module that defines the kernel."""
        return self.fn.__module__

    @property
    def constexprs(self) -> list[int]:
        """The indices of the parameters that are compile-time constants."""
        return [index for index, p in enumerate(self.parameters) if p.is_constant]

    @property
    def src(self) -> str:
        """The text of the kernel's function, from `def` on; `_unsafe_update_src` replaces it."""
        import textwrap

        lines = textwrap.dedent("".join(self.raw_src)).splitlines(keepends=True)
        first = next(i for i, line in enumerate(lines) if line.startswith(("def ", "async def ")))
        return "".join(lines[first:])

    def _unsafe_update_src(self, new_src: str) -> None:
        """Give the kernel another text, that of one `def` with the same parameters.

        Names in it mean what they mean to the kernel's function. Raises SyntaxError or ValueError
        for a text that is not a function's.
        """
        from ..capture.replaced import function_of_text

        self.fn = function_of_text(new_src, self.fn)
        self._read_signature_again()

    @property
    def raw_src(self) -> list[str]:
        """The lines of the kernel's function with its decorators. Raises OSError where no file is."""
        return inspect.getsourcelines(self.fn)[0]

    @untraced
    def relaunch(self, kernel: CompiledKernel, grid: Any) -> Callable[..., CompiledKernel | None]:
        """What `kernel[grid]` of a compiled kernel of this function is."""
        return runner(kernel, grid)

    def preload(self, specialization_data: str) -> CompiledKernel:
        """Compile what `specialization_data` of a compilation hook says, without a launch.

        Raises LaunchError TW0436 for the data of another kernel.
        """
        data = json.loads(specialization_data)
        name = f"{self.fn.__module__}.{self.fn.__qualname__}"
        if data["name"] != name:
            raise LaunchError(
                f"the specialization data is of {data['name']}, not of {name}",
                code="TW0436",
                hint="give each kernel the data that its own hook was called with",
            )
        from ..capture.values import decode_value

        constants = {key: decode_value(value) for key, value in data["constants"].items()}
        return self.compile(data["signature"], constants, data["device"], **data["options"])

    def _repr_html_(self) -> str:
        """HTML for notebooks: parameters, docstring, text, compiled variants."""
        loaded = [*self._loaded.older.values(), *self._loaded.recent.values()]
        variants = {id(kernel): kernel for kernel in loaded if kernel.is_current()}.values()
        return above("kernel_as_html")(self, variants)

    def _name_of(self, request: Request) -> str:
        """The name of a specialization: what the decorator's `repr` says of it, if there is one."""
        if self.repr is None:
            return request.name
        name = self.repr(Specialization.of(request))
        return request.name if name is None else str(name)
