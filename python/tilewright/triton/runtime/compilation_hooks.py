"""The hooks around compilations as Triton calls them, which `triton.knobs` sets."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from tilewright.capture.values import NoObjects, decode_value, encode_value
from tilewright.compile import CompiledKernel, Request
from tilewright.compile.facts import Facts
from tilewright.launch import hooks
from tilewright.launch.inspection import Specialization
from tilewright.launch.jit import JITFunction
from tilewright.native.errors import UnsupportedError

Hook = Callable[..., Any]


@dataclass(frozen=True)
class KernelIdentity:
    """Which kernel a compilation hook is called for."""

    module: str
    name: str
    jit_function: Any


class CompileTimes(NamedTuple):
    """How long the parts of a compilation took, in microseconds; of a kernel that was stored, those of
    the compilation that made it."""

    ir_initialization: int
    lowering_stages: list[tuple[str, int]]
    store_results: int = 0  # nobody measures it

    @staticmethod
    def of(milliseconds: Mapping[str, float]) -> CompileTimes:
        """From a kernel's `milliseconds`, in which names with a slash are parts of others."""
        stages = {name: round(1000 * time) for name, time in milliseconds.items() if "/" not in name}
        return CompileTimes(stages.pop("frontend", 0), list(stages.items()))

    @property
    def total_lowering(self) -> int:
        """Of all stages after the first."""
        return sum(time for _, time in self.lowering_stages)

    @property
    def total(self) -> int:
        """Of all parts."""
        return self.ir_initialization + self.total_lowering + self.store_results


class CompilationHooks:
    """What programs set: `before` may forbid a compilation by returning True, `listener` is told of each
    kernel that was compiled or found."""

    def __init__(self) -> None:
        self.before: Hook | None = None
        self.after: Hook | None = None
        self.listener: Hook | None = None

    def change(self, name: str, hook: Hook | None) -> None:
        """Set one of the hooks; None takes it back."""
        setattr(self, name, hook)
        hooks.compilation.before = self._ask if self.before else None
        hooks.compilation.after = self._tell if self.after or self.listener else None

    def _ask(self, function: JITFunction, request: Request, is_warmup: bool) -> bool:
        return bool(self.before and self.before(**_description(function, request, is_warmup)))

    def _tell(self, function: JITFunction, kernel: CompiledKernel, is_warmup: bool) -> None:
        request = kernel.request
        if self.after:
            self.after(**_description(function, request, is_warmup))
        if self.listener:
            self.listener(
                src=Specialization.of(request),
                metadata=dict(vars(kernel.metadata)),
                metadata_group={},
                times=CompileTimes.of(kernel.milliseconds),
                cache_hit=kernel.origin != "compiled",
            )


compilation = CompilationHooks()


def _description(function: JITFunction, request: Request, is_warmup: bool) -> dict[str, Any]:
    """The arguments of a compilation hook."""
    signature = {
        name: str(facts) if isinstance(facts, Facts) else "constexpr"
        for name, facts in zip(request.parameters, request.facts)
    }
    constants = {
        name: value
        for name, facts, value in zip(request.parameters, request.facts, request.constants)
        if not isinstance(facts, Facts)
    }
    options = request.options._asdict()
    text = f"{function.fn.__qualname__}({request.describe()})"
    return {
        "key": text,
        "repr": text,
        "fn": KernelIdentity(function.fn.__module__, function.fn.__qualname__, function),
        "compile": {
            "key": text,
            "signature": signature,
            "constants": constants,
            "device": request.device,
            **options,
            "specialization_data": _data(function, request),
            "is_warmup": is_warmup,
        },
        "is_manual_warmup": is_warmup,
        "already_compiled": False,
    }


def _data(function: JITFunction, request: Request) -> str | None:
    """The specialization data for a hook; None where it cannot be written as text."""
    try:
        return specialization_data(function, request)
    except UnsupportedError:
        return None


def specialization_data(function: JITFunction, request: Request) -> str:
    """A request as text that `preload` takes.

    Raises UnsupportedError TW0436 for constants that only this process has, such as functions.
    """
    constants: dict[str, Any] = {}
    signature: dict[str, str] = {}
    for name, facts, value in zip(request.parameters, request.facts, request.constants):
        if isinstance(facts, Facts):
            signature[name] = str(facts)
            continue
        try:
            constants[name] = encode_value(value, NoObjects())
            decode_value(constants[name])
        except ValueError:
            raise UnsupportedError(
                f"the constant `{name}` of {function.fn.__name__} cannot be written as text: {value!r}",
                code="TW0436",
                hint="warm the kernel up with its arguments in the process that launches it",
            ) from None
    return json.dumps(
        {
            "name": f"{function.fn.__module__}.{function.fn.__qualname__}",
            "signature": signature,
            "constants": constants,
            "device": request.device,
            "options": request.options._asdict(),
        }
    )
