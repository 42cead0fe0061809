"""The kernels that one function has loaded, and how many of them stay."""

from __future__ import annotations

from typing import Any

from ..compile import CompiledKernel

# Of one function. Each holds about 22 KiB and two mappings of memory on a CPU.
MOST_LOADED = 1024
# As many as the native reader of arguments keeps facts of.
MOST_REMEMBERED = 8


class LoadedKernels:
    """Launch key -> kernel. Keys hold facts and constants, never arrays.

    The half that was used last stays: a kernel in `recent` costs one look-up, and one that is found
    in `older` moves there. What falls out is unloaded once nobody holds it.
    """

    def __init__(self, most: int = MOST_LOADED) -> None:
        self.most = most
        self.recent: dict[tuple[Any, ...], CompiledKernel] = {}
        self.older: dict[tuple[Any, ...], CompiledKernel] = {}
        # By the identity of facts, which an entry keeps alive.
        self.last: dict[int, tuple[str, Any, tuple[Any, ...], CompiledKernel]] = {}

    def get_again(
        self, device: str, options: Any, facts: tuple[Any, ...]
    ) -> CompiledKernel | None:
        """The kernel that `remember` got for these very objects if its source is still the same."""
        known = self.last.get(id(facts))
        if known is None or known[0] != device or known[1] is not options:
            return None
        kernel = known[3]
        return kernel if kernel.is_current() else None

    def remember(
        self, device: str, options: Any, facts: tuple[Any, ...], kernel: CompiledKernel
    ) -> None:
        """Keep a kernel that is loaded for `get_again`, too: facts that come again as the same object
        need not be hashed."""
        if len(self.last) >= MOST_REMEMBERED:
            self.last.clear()
        self.last[id(facts)] = device, options, facts, kernel

    def get(self, key: tuple[Any, ...]) -> CompiledKernel | None:
        """The kernel of a key if it is loaded and its source is still the same."""
        kernel = self.recent.get(key)
        if kernel is None:
            kernel = self.older.pop(key, None)
            if kernel is None:
                return None
            self.add(key, kernel)
        return kernel if kernel.is_current() else None

    def add(self, key: tuple[Any, ...], kernel: CompiledKernel) -> None:
        """Keep a kernel, in place of one that has the key."""
        recent = self.recent
        if len(recent) >= self.most // 2 and key not in recent:
            self.older, self.recent = recent, {}
            self.last.clear()
        self.recent[key] = kernel

    def clear(self) -> None:
        """Forget all of them."""
        self.recent, self.older = {}, {}
        self.last.clear()

    def __len__(self) -> int:
        return len(self.recent) + len(self.older)
