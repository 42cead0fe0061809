"""Functions of the user that run around launches, compilations and the loading of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

Hook = Callable[..., Any]


class HookChain:
    """Hooks that are called one after the other, in the order they were added or in reverse."""

    def __init__(self, reversed: bool = False) -> None:
        self.calls: list[Hook] = []
        self.reversed = reversed

    def add(self, func: Hook) -> None:
        """Add a hook that is not in the chain yet."""
        if func not in self.calls:
            self.calls.append(func)

    def remove(self, func: Hook) -> None:
        """Take a hook out of the chain, if it is there."""
        if func in self.calls:
            self.calls.remove(func)

    def replace(self, hook: Hook | HookChain | None) -> None:
        """Make a hook, another chain's hooks or nothing the content of this chain."""
        if isinstance(hook, HookChain):
            self.calls[:] = hook.calls  # the same list, which warm launches look at
        else:
            self.calls[:] = [] if hook is None else [hook]

    def __call__(self, *args: Any, **kwargs: Any) -> None:
        # A hook may take itself out of the chain.
        for call in self.calls[::-1] if self.reversed else self.calls[:]:
            call(*args, **kwargs)

    def __bool__(self) -> bool:
        return bool(self.calls)


# Called with LaunchMetadata before and after each launch of a kernel.
launch_enter = HookChain()
launch_exit = HookChain(reversed=True)
# Called with (module, function, name, metadata_group, hash) around the loading of a kernel; what only
# a GPU's driver has is None.
load_start = HookChain()
load_end = HookChain(reversed=True)


class CompilationHooks:
    """The hooks around compilations. `before` gets (kernel function, request, whether it is a warm-up)
    and forbids the compilation by returning True; `after` gets (kernel function, compiled kernel,
    whether it is a warm-up)."""

    before: Hook | None = None
    after: Hook | None = None


compilation = CompilationHooks()

# Takes the function that compiles for a `warmup` and gives what stands for its kernel meanwhile; None:
# it compiles at once.
postpone: ContextVar[Hook | None] = ContextVar("postpone", default=None)

# Takes the request of a compilation that a `warmup` asks for, and nothing is compiled; None: it is.
plan: ContextVar[Callable[[Any], None] | None] = ContextVar("plan", default=None)

# Takes (kernel, programs, values, bits) of a launch in its place, and nothing runs; None: it runs.
divert: ContextVar[Callable[..., None] | None] = ContextVar("divert", default=None)
# What takes launches now, in any context: while there is something, launches ask `divert`.
DIVERSIONS: list[Callable[..., None]] = []


@contextmanager
def diverted(take: Callable[..., None]) -> Iterator[None]:
    """Let `take` have the launches of this context in their place."""
    token = divert.set(take)
    DIVERSIONS.append(take)
    try:
        yield
    finally:
        DIVERSIONS.remove(take)
        divert.reset(token)


class LaunchMetadata:
    """What a launch hook may ask of a launch; computed when it does: `metadata.get()["name"]`."""

    def __init__(
        self,
        data: Mapping[str, Any],
        rule: Callable[..., Mapping[str, Any]] | None = None,
        arguments: tuple[Any, ...] = (),
        kernel: Any = None,
    ) -> None:
        self.data = dict(data)
        self.kernel = kernel  # the CompiledKernel that is launched
        self.at_end: Callable[[], None] | None = None  # what the hook before a launch leaves to that after it
        self._rule, self._arguments = rule, arguments

    def get(self) -> dict[str, Any]:
        """The facts of the launch, with those of `jit(launch_metadata=)`."""
        if self._rule is not None:
            rule, self._rule = self._rule, None
            self.data.update(rule(*self._arguments))
        return self.data
