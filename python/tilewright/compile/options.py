"""The options that a kernel is compiled for, and what a row about any option of a launch says."""

# Annotations are objects here: `COMPILED` reads them, and to evaluate texts takes its time.
import math
import os
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, NamedTuple, get_type_hints

from ..native import knobs
from ..native.errors import LaunchError
from ..native.targets import Device, device_named
from .libraries import Library, libraries_of

# More than any device has: callers divide a tile's extent by the size of a warp, which may be 1.
_MOST_WARPS = 1 << 20


class Effect(Enum):
    """Says what an option does on a kind of device."""

    DONE = "done"
    NONE = "has no effect"  # and cannot change a result
    REFUSED = "is refused"


def _plain(value: Any, kernel: str) -> Any:
    return value


class LaunchOption(NamedTuple):
    """A row: `neutral` values mean what a launch does without the option, and are taken everywhere."""

    effects: Callable[[Device], Effect]
    why: str  # the reason for "no effect", or what to write instead of what is refused
    neutral: tuple[Any, ...] = (None,)
    is_valid: Callable[[Any], bool] = lambda value: True
    values: str = ""  # what `is_valid` takes, in words
    # Of options that a kernel is compiled for: makes the value of `Options` of what a launch of the
    # kernel of that name gives. Raises LaunchError.
    read: Callable[[Any, str], Any] = _plain
    # What tells the compiler of a value that is not neutral, where the device has it among
    # `Device.options`: "NAME=" before the value, or a word.
    word: str = ""
    usage: str = ""  # what the command line says of it; empty: commands do not take it
    parse: Callable[[str], Any] = int  # reads the value on the command line


def everywhere(effect: Effect) -> Callable[[Device], Effect]:
    """The effect on every device."""
    return lambda device: effect


def on_gpus(effect: Effect) -> Callable[[Device], Effect]:
    """The effect on GPUs, and none elsewhere."""
    return lambda device: effect if device.is_gpu else Effect.NONE


def _where_heeded(word: str) -> Callable[[Device], Effect]:
    return lambda device: Effect.DONE if word in device.options else Effect.NONE


def is_count(value: Any) -> bool:
    """Tell whether a value is an integer from 0 on."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_flag(value: Any) -> bool:
    """Tell whether a value is a truth value."""
    return isinstance(value, (bool, int)) and value in (0, 1)


def _on_clusters(device: Device) -> Effect:
    if _CLUSTER in device.options:
        return Effect.DONE
    return Effect.REFUSED if device.is_gpu else Effect.NONE


def _is_cluster_size(value: Any) -> bool:
    return is_count(value) and 0 < value <= _MOST_IN_CLUSTER


def _is_cluster(value: Any) -> bool:
    return (
        isinstance(value, (tuple, list))
        and len(value) == 3
        and all(is_count(extent) and extent > 0 for extent in value)
        and math.prod(value) <= _MOST_IN_CLUSTER
    )


def _is_libraries(value: Any) -> bool:
    pairs = value.items() if isinstance(value, Mapping) else value
    return isinstance(value, (Mapping, list, tuple)) and all(
        isinstance(pair, (list, tuple)) and len(pair) == 2 and isinstance(pair[0], str)
        and isinstance(pair[1], (str, os.PathLike))
        for pair in pairs
    )  # fmt: skip


def _read_warps(value: Any, kernel: str) -> int:
    # The device says which numbers are too large for it; elsewhere the number changes nothing.
    if isinstance(value, int) and 0 < value <= _MOST_WARPS and not value & (value - 1):
        return int(value)
    raise LaunchError(
        f"num_warps={value!r} is not a power of two", code="TW0410", hint="1, 2, 4, 8, 16 or 32"
    )


def _read_stages(value: Any, kernel: str) -> int:
    if isinstance(value, int) and 0 <= value <= 64:
        return int(value)
    raise LaunchError(f"num_stages={value!r} is not an integer from 0 to 64", code="TW0410")


def _read_registers(value: Any, kernel: str) -> int | None:
    if value is None or (is_count(value) and value > 0):
        return value
    raise LaunchError(
        f"maxnreg={value!r} is not a number of registers",
        code="TW0410",
        hint="a thread of a GPU has from 24 to 255; None sets no limit",
    )


def _read_debug(value: Any, kernel: str) -> bool:
    return bool(value) or knobs.settings().is_debug


def _read_cluster_size(value: Any, kernel: str) -> int:
    return int(value or 1)


def _read_cluster(value: Any, kernel: str) -> tuple[int, ...]:
    return tuple(map(int, value or (1, 1, 1)))


def _read_fusion(value: Any, kernel: str) -> bool:
    return knobs.settings().fuses_products if value is None else bool(value)


def flag(
    effects: Callable[[Device], Effect], why: str, neutral: tuple[Any, ...], word: str = "",
    read: Callable[[Any, str], Any] | None = None,
) -> LaunchOption:  # fmt: skip
    """The row of an option that is a truth value."""

    def read_flag(value: Any, kernel: str) -> bool:
        return bool(neutral[0] if value is None else value)

    return LaunchOption(effects, why, neutral, is_flag, "True or False", read or read_flag, word)


def _heeded_flag(word: str, why: str, neutral: tuple[Any, ...]) -> LaunchOption:
    """A truth value that acts on devices which heed the word."""
    return flag(_where_heeded(word), why, neutral, word)


def _heeded(
    name: str, why: str, is_valid: Callable[[Any], bool], values: str, usage: str = "",
    parse: Callable[[str], Any] = int, neutral: tuple[Any, ...] = (None, 0, ""),
) -> LaunchOption:  # fmt: skip
    """A value that acts on devices which heed the option's name."""

    def read(value: Any, kernel: str) -> Any:
        return None if value in neutral else value

    return LaunchOption(
        _where_heeded(name), why, neutral, is_valid, values, read, f"{name}=", usage, parse
    )


_CLUSTER = "cluster"
_MOST_IN_CLUSTER = 8
_NO_CLUSTERS = (
    "leave it out: among GPUs, NVIDIA's from sm_90 on have clusters; elsewhere it changes nothing"
)
_IN_ANY_ORDER = "GPUs have it; a processor's cores take programs in an order of their own"
_ON_ONE_CORE = "a program runs on one core there, whatever the number"
OTHER_VENDOR = "a hint for another vendor's code generator: results do not depend on it"


class Options(NamedTuple):
    """The launch options that a kernel is compiled for: type, what each does, and default. A row is all
    that Python has of an option: launches check and read it, commands take it, and the compiler is
    told its word."""

    num_warps: Annotated[
        int, LaunchOption(on_gpus(Effect.DONE), _ON_ONE_CORE, (), read=_read_warps)
    ] = 4
    num_stages: Annotated[
        int, LaunchOption(on_gpus(Effect.DONE), _ON_ONE_CORE, (), read=_read_stages)
    ] = 3
    # The environment counts more than a launch's debug=False, as for Triton's callers.
    debug: Annotated[bool, LaunchOption(everywhere(Effect.DONE), "", (), read=_read_debug)] = False
    maxnreg: Annotated[
        int | None,
        LaunchOption(
            on_gpus(Effect.DONE), "the registers of a core are what they are",
            read=_read_registers, word="maxnreg=", usage="the most registers of a GPU's thread",
        ),
    ] = None  # fmt: skip
    # a * b + c may round once.
    enable_fp_fusion: Annotated[
        bool,
        flag(
            on_gpus(Effect.DONE), "sums and products have a rounding each there, always",
            (True, None), "no-fusion", _read_fusion,
        ),
    ] = True  # fmt: skip
    # Copy boxes of arrays to shared memory by tensor maps, or load blocks of them into registers,
    # where the device can.
    tensor_maps: Annotated[
        bool, _heeded_flag("no-tensor-maps", "it has no tensor maps", (True, None))
    ] = True
    # Begin before the launches that the kernel depends on have ended; it waits for them by itself.
    launch_pdl: Annotated[
        bool,
        _heeded_flag(
            "early-launch",
            "launches of a stream run one after the other there, as without the option",
            (False, None),
        ),
    ] = False
    # Neighbouring programs along the first axis that form a cluster, where the device has clusters.
    num_ctas: Annotated[
        int,
        LaunchOption(
            _on_clusters, _NO_CLUSTERS, (1, None), _is_cluster_size, "a number from 1 to 8",
            _read_cluster_size,
        ),
    ] = 1  # fmt: skip
    # Programs of a cluster along each axis of the grid.
    cluster_dims: Annotated[
        tuple[int, int, int],
        LaunchOption(
            _on_clusters, _NO_CLUSTERS, ((1, 1, 1), [1, 1, 1], None), _is_cluster,
            "three numbers of programs along the axes of the grid, whose product is at most 8",
            _read_cluster,
        ),
    ] = (1, 1, 1)  # fmt: skip
    # With `debug`: check integers' + - *.
    sanitize_overflow: Annotated[bool, flag(everywhere(Effect.DONE), "", (True, None))] = True
    # Bitcode that `extern_elementwise` calls.
    extern_libs: Annotated[
        tuple[Library, ...],
        LaunchOption(
            _where_heeded("bitcode"),
            "it links no bitcode, and refuses kernels that call some; libdevice is built in",
            (None, {}, ()),
            _is_libraries,
            'a dict {"name": "path of a file of bitcode"}',
            libraries_of,
        ),
    ] = ()
    waves_per_eu: Annotated[
        int | None,
        _heeded(
            "waves_per_eu", OTHER_VENDOR, is_count, "a number of warps",
            "the warps that a SIMD unit of AMD's GPUs is to hold",
        ),
    ] = None  # fmt: skip
    # N: programs begin in blocks of N along the first axis, which take the whole second axis, so that
    # those which run at once find each other's rows and columns in a cache. "xcd": neighbours run on
    # the same die of GPUs that have several, each with a cache.
    swizzle_programs: Annotated[
        int | str | None,
        _heeded(
            "swizzle_programs", _IN_ANY_ORDER, lambda value: value == "xcd" or is_count(value),
            '"xcd" or a number of rows',
            "N: begin programs in blocks of N along the first axis; xcd: neighbours on the same die of "
            "AMD's GPUs",
            lambda text: int(text) if text.isdecimal() else text,
        ),
    ] = None  # fmt: skip
    # The target says which extents there are.
    matrix_instr_nonkdim: Annotated[
        int | None,
        _heeded(
            "matrix_instr_nonkdim", OTHER_VENDOR, is_count, "16 or 32",
            "rows and columns of AMD's matrix instructions: 16 or 32",
        ),
    ] = None  # fmt: skip
    # Optional passes that run, the first ones: to find a pass that compiles a kernel wrong.
    pass_limit: Annotated[
        int | None,
        _heeded(
            "pass_limit", "it runs the kernel as it is written", is_count, "a number of passes",
            neutral=(None,),
        ),
    ] = None  # fmt: skip

    @property
    def cluster(self) -> tuple[int, int, int]:
        """The programs of a cluster along each axis of the grid."""
        return (self.num_ctas, 1, 1) if self.cluster_dims == (1, 1, 1) else self.cluster_dims

    def extra(self, device: str) -> list[str]:
        """What has no field of its own in the native module, as its further options."""
        heeded = device_named(device).options
        words = ["wraps"] if self.debug and not self.sanitize_overflow else []
        if self.cluster != (1, 1, 1) and _CLUSTER in heeded:
            words.append(f"{_CLUSTER}={'x'.join(map(str, self.cluster))}")
        if "line-tables" in heeded and knobs.is_dumped_for_perf():
            words.append("line-tables")
        if "bitcode" in heeded:
            words += [library.word for library in self.extern_libs]
        for row, value in zip(COMPILED.values(), self):
            if row.word.removesuffix("=") in heeded and value not in row.neutral:
                words.append(f"{row.word}{value}" if row.word.endswith("=") else row.word)
        return words


# The rows of the options that kernels are compiled for, by name.
COMPILED: dict[str, LaunchOption] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Options, include_extras=True).items()
}

# Those that commands take, as --NAME.
OF_COMMANDS: dict[str, LaunchOption] = {name: row for name, row in COMPILED.items() if row.usage}
