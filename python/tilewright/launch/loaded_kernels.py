"""The kernels that one function has loaded, and how many of them stay."""

from __future__ import annotations

from typing import Any

from ..compile import CompiledKernel
from ..native import native
from .arguments import stream_reader

# Of one function. Each holds about 22 KiB and two mappings of memory on a CPU.
MOST_LOADED = 1024
# As many as the native reader of arguments keeps facts of.
MOST_REMEMBERED = 8


def _entry(
    facts: tuple[Any, ...], options: Any, given: dict[str, Any] | None, choice: object,
    kernel: CompiledKernel, instead: object,
) -> object:  # fmt: skip
    return native().make_entry(
        facts, options, given, choice, kernel, kernel.is_current, stream_reader(kernel.device),
        kernel.native, instead,
    )  # fmt: skip


class LoadedKernels:
    """Launch key -> kernel. Keys hold facts and constants, never arrays.

    The half that was used last stays: a kernel in `recent` costs one look-up, and one that is found
    in `older` moves there. What falls out is unloaded once nobody holds it.
    """

    def __init__(self, most: int = MOST_LOADED) -> None:
        self.most = most
        self.recent: dict[tuple[Any, ...], CompiledKernel] = {}
        self.older: dict[tuple[Any, ...], CompiledKernel] = {}
        # Entries of `native().make_entry`, which launches look through first.
        self.again: list[Any] = []

    def remember(
        self, choice: object, options: Any, given: dict[str, Any] | None, facts: tuple[Any, ...],
        kernel: CompiledKernel, ran: CompiledKernel,
    ) -> None:  # fmt: skip
        """Keep a kernel that is loaded for launches that need no Python: while `choice` decides their
        device, their facts are the same object, and they give the same options beyond `options`. `ran`
        is another one where no tensor map describes an array."""
        instead = None
        if ran is not kernel:
            instead = _entry(facts, options, given, choice, ran, None)
        for index, known in enumerate(self.again):
            if known[0] is facts and known[1] is options and known[2] == given and known[3] == choice:
                if known[3] is choice and known[4] is kernel and not instead:
                    return
                del self.again[index]
                break
        if len(self.again) >= MOST_REMEMBERED:
            self.again.clear()
        self.again.append(_entry(facts, options, given, choice, kernel, instead))

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
            self.again.clear()
        self.recent[key] = kernel

    def clear(self) -> None:
        """Forget all of them."""
        self.recent, self.older = {}, {}
        self.again.clear()

    def __len__(self) -> int:
        return len(self.recent) + len(self.older)
