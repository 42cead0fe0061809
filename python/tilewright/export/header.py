"""The header of a package: its kernels as functions with C's types."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .names import c_name
from .specializations import Argument

if TYPE_CHECKING:
    from .package import ExportedKernel

ABI = 2  # TILEWRIGHT_AOT_ABI of runtime/aot/Public.h


def interface_of(name: str, arguments: Sequence[Argument]) -> int:
    """A digest of the function's type, by which a header and an archive are known to fit."""
    fields = [f"{argument.c_type}{c_name(argument.name)}" for argument in arguments]
    digest = hashlib.sha256("\0".join([str(ABI), name, *fields]).encode()).digest()
    return int.from_bytes(digest[:8], "little")


def _comment(text: str) -> str:
    return text.replace("*/", "* /").replace("/*", "/ *")


def _describe(argument: Argument) -> str:
    kind = f"{argument.type}[]" if argument.is_pointer else argument.type
    return kind + (", written" if argument.is_stored else "")


def _kernel(kernel: ExportedKernel) -> list[str]:
    name, arguments = kernel.name, kernel.arguments
    given = ", ".join(f"{a.c_type}{c_name(a.name)}" for a in arguments)
    values = ", ".join(c_name(a.name) for a in arguments)
    launch = "const struct tilewright_launch *launch, struct tilewright_error *error"
    grids = sorted({f"({', '.join(s.grid)})" for s in kernel.specializations if s.grid})
    lines = [f"/* {name}{f': {_comment(kernel.summary)}' if kernel.summary else ''}"]
    lines += [f" * The grid where the launch gives none: {_comment(' or '.join(grids))}."] * bool(grids)
    lines += [" * Specializations, the first that fits is taken:"]
    lines += [f" *   {_comment(s.describe(arguments))}" for s in kernel.specializations]
    lines += [" */", f"struct {name}_arguments {{"]
    lines += [f"  {a.c_type}{c_name(a.name)}; /* {_describe(a)} */" for a in arguments]
    lines += ["  char unused_;"] * (not arguments)
    return [
        *lines,
        "};",
        f"int {name}_run(const struct {name}_arguments *arguments,",
        f"    {launch}, uint64_t interface_)",
        "    TILEWRIGHT_NOEXCEPT;",
        "/* Arguments by name: fill the structure. */",
        f"static inline int {name}_launch(const struct {name}_arguments *arguments,",
        f"    {launch}) TILEWRIGHT_NOEXCEPT {{",
        f"  return {name}_run(arguments, launch, error, UINT64_C({interface_of(name, arguments):#x}));",
        "}",
        "/* Arguments by position. */",
        f"static inline int {name}({given + ',' if given else ''}",
        f"    {launch}) TILEWRIGHT_NOEXCEPT {{",
        f"  const struct {name}_arguments arguments = {{{values or '0'}}};",
        f"  return {name}_launch(&arguments, launch, error);",
        "}",
        "",
    ]


_INTRODUCTION = """\
/* {name}: kernels for {targets}, compiled by Tilewright {version}.
 *
 * Functions return 0, or a number of `tilewright_result` with the words in `error`, which may be
 * null, as may `launch`. They throw and exit never and may be called from any thread. A launch on the
 * processor returns when it has finished, one on a GPU when it is in its stream. Contracts that no
 * launch can check: arrays are as long as the kernel reads and writes, have fewer than 2^31 elements
 * (on GPUs of AMD less than 2^31 - 2^16 bytes) unless a specialization says :large, and what is
 * written overlaps no other array unless it says :overlap.
 */
"""

_FUNCTIONS = """\
/* Loads all code where such a launch would run: nothing is loaded later, within a stream capture for
 * example. */
int {name}_load(const struct tilewright_launch *launch, struct tilewright_error *error)
    TILEWRIGHT_NOEXCEPT;
/* Frees code and threads. Nothing of the package may run; a later launch loads it anew. Needed before
 * a shared library with the package is closed. */
void {name}_unload(void) TILEWRIGHT_NOEXCEPT;
/* Threads of launches on the processor, the caller among them; 0: one for each core. */
void {name}_set_threads(int count) TILEWRIGHT_NOEXCEPT;
/* Runs programs by the host program's own loop instead; null takes it back. */
void {name}_set_parallel_for(tilewright_parallel_for parallel_for, void *context)
    TILEWRIGHT_NOEXCEPT;
"""


def write_header(
    name: str, kernels: Sequence[ExportedKernel], targets: Sequence[str], public: str, version: str
) -> str:
    """The text of NAME.h; `public` is what all packages share."""
    guard = f"{name.upper()}_TILEWRIGHT_H"
    lines = [
        _INTRODUCTION.format(name=name, targets=", ".join(targets), version=version)
        + f"#ifndef {guard}\n#define {guard}",
        public.rstrip(),
        "",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
    ]
    for kernel in kernels:
        lines += _kernel(kernel)
    lines += [_FUNCTIONS.format(name=name), "#ifdef __cplusplus\n}\n#endif\n#endif"]
    return "\n".join(lines) + "\n"
