"""The options that a kernel is compiled for, and what a row about any option of a launch says."""

# Annotations are objects here: `COMPILED` reads them, and to evaluate texts takes its time.
import math
import os
from collections.abc import Callable, Mapping
from enum import Enum
from typing import Annotated, Any, NamedTuple, get_type_hints

from ..native import knobs
from ..native.targets import Device, device_named
from .libraries import Library


class Effect(Enum):
    """Says what an option does on a kind of device."""

    DONE = "done"
    NONE = "has no effect"  # and cannot change a result
    REFUSED = "is refused"


class LaunchOption(NamedTuple):
    """A row: `neutral` values mean what a launch does without the option, and are taken everywhere."""

    effects: Callable[[Device], Effect]
    why: str  # the reason for "no effect", or what to write instead of what is refused
    neutral: tuple[Any, ...] = (None,)
    is_valid: Callable[[Any], bool] = lambda value: True
    values: str = ""  # what `is_valid` takes, in words


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


def flag(effects: Callable[[Device], Effect], why: str, neutral: tuple[Any, ...]) -> LaunchOption:
    """The row of an option that is a truth value."""
    return LaunchOption(effects, why, neutral, is_flag, "True or False")


_EARLY_LAUNCH = "early-launch"
_CLUSTER = "cluster"
_MOST_IN_CLUSTER = 8
_NO_CLUSTERS = (
    "leave it out: among GPUs, NVIDIA's from sm_90 on have clusters; elsewhere it changes nothing"
)
_IN_ANY_ORDER = "GPUs have it; a processor's cores take programs in an order of their own"
_ON_ONE_CORE = "a program runs on one core there, whatever the number"
OTHER_VENDOR = "a hint for another vendor's code generator: results do not depend on it"


class Options(NamedTuple):
    """The launch options that a kernel is compiled for: type, what each does, and default.

    A number whose name is among the words that a device heeds (`Device.options`) goes to the compiler
    as NAME=NUMBER.
    """

    num_warps: Annotated[int, LaunchOption(on_gpus(Effect.DONE), _ON_ONE_CORE, ())] = 4
    num_stages: Annotated[int, LaunchOption(on_gpus(Effect.DONE), _ON_ONE_CORE, ())] = 3
    debug: Annotated[bool, LaunchOption(everywhere(Effect.DONE), "", ())] = False
    # The most registers of a GPU's thread.
    maxnreg: Annotated[
        int | None,
        LaunchOption(on_gpus(Effect.DONE), "the registers of a core are what they are"),
    ] = None
    # a * b + c may round once.
    enable_fp_fusion: Annotated[
        bool,
        flag(
            on_gpus(Effect.DONE), "sums and products have a rounding each there, always", (True, None)
        ),
    ] = True
    # Copy boxes of arrays to shared memory by tensor maps, or load blocks of them into registers,
    # where the device can.
    tensor_maps: Annotated[
        bool,
        flag(_where_heeded("no-tensor-maps"), "it has no tensor maps", (True, None)),
    ] = True
    # Begin before the launches that the kernel depends on have ended; it waits for them by itself.
    launch_pdl: Annotated[
        bool,
        flag(
            _where_heeded(_EARLY_LAUNCH),
            "launches of a stream run one after the other there, as without the option",
            (False, None),
        ),
    ] = False
    # Neighbouring programs along the first axis that form a cluster, where the device has clusters.
    num_ctas: Annotated[
        int,
        LaunchOption(
            _on_clusters, _NO_CLUSTERS, (1, None),
            _is_cluster_size, "a number from 1 to 8",
        ),
    ] = 1  # fmt: skip
    # Programs of a cluster along each axis of the grid.
    cluster_dims: Annotated[
        tuple[int, int, int],
        LaunchOption(
            _on_clusters, _NO_CLUSTERS, ((1, 1, 1), [1, 1, 1], None), _is_cluster,
            "three numbers of programs along the axes of the grid, whose product is at most 8",
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
        ),
    ] = ()
    # Warps that a SIMD unit is to hold.
    waves_per_eu: Annotated[
        int | None,
        LaunchOption(
            _where_heeded("waves_per_eu"), OTHER_VENDOR, (0, None), is_count, "a number of warps"
        ),
    ] = None
    # N: programs begin in blocks of N along the first axis, which take the whole second axis, so that
    # those which run at once find each other's rows and columns in a cache. "xcd": neighbours run on
    # the same die of GPUs that have several, each with a cache.
    swizzle_programs: Annotated[
        int | str | None,
        LaunchOption(
            _where_heeded("swizzle_programs"), _IN_ANY_ORDER, (None, "", 0),
            lambda value: value == "xcd" or is_count(value), '"xcd" or a number of rows',
        ),
    ] = None  # fmt: skip
    # Rows and columns of matrix instructions.
    matrix_instr_nonkdim: Annotated[
        int | None,
        LaunchOption(
            _where_heeded("matrix_instr_nonkdim"), OTHER_VENDOR, (0, None),
            lambda value: value in (16, 32), "16 or 32",
        ),
    ] = None  # fmt: skip
    # Optional passes that run, the first ones: to find a pass that compiles a kernel wrong.
    pass_limit: Annotated[
        int | None,
        LaunchOption(
            _where_heeded("pass_limit"), "it runs the kernel as it is written", (None,),
            is_count, "a number of passes",
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
        if self.launch_pdl and _EARLY_LAUNCH in heeded:
            words.append(_EARLY_LAUNCH)
        if self.cluster != (1, 1, 1) and _CLUSTER in heeded:
            words.append(f"{_CLUSTER}={'x'.join(map(str, self.cluster))}")
        if "line-tables" in heeded and knobs.is_dumped_for_perf():
            words.append("line-tables")
        if "bitcode" in heeded:
            words += [library.word for library in self.extern_libs]
        numbers = [(name, value) for name, value in zip(self._fields, self) if name in heeded]
        words += [f"{name}={value}" for name, value in numbers if value not in COMPILED[name].neutral]
        refused = {"no-fusion": self.enable_fp_fusion, "no-tensor-maps": self.tensor_maps}
        return words + [word for word, is_on in refused.items() if not is_on and word in heeded]


# The rows of the options that kernels are compiled for, by name.
COMPILED: dict[str, LaunchOption] = {
    name: hint.__metadata__[0]
    for name, hint in get_type_hints(Options, include_extras=True).items()
}
