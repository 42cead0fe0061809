"""The options of a launch, of `jit` and of `autotune`: what each does on each kind of device.

One table, `OPTIONS`: the launch reads it, and a test tries every row on every kind of device. An
option does what it says, or is refused, or is documented as without effect where it cannot change a
result. What the code of a kernel depends on has its rows in `tilewright.compile.options`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..compile.options import (
    COMPILED,
    OTHER_VENDOR,
    Effect,
    LaunchOption,
    Options,
    everywhere,
    flag,
    is_count,
    is_flag,
    on_gpus,
)
from ..native.errors import LaunchError
from ..language import static
from ..native.targets import Device, device_named


def _on_streams(device: Device) -> Effect:
    return Effect.DONE if device.has_memory else Effect.NONE


def _handle_of(stream: Any) -> Any:
    """The driver's handle of a stream: torch's attribute, the protocol `__cuda_stream__` of NVIDIA's packages
    (a version and the handle), or the number itself."""
    if hasattr(stream, "cuda_stream"):
        return stream.cuda_stream
    return stream.__cuda_stream__()[1] if hasattr(stream, "__cuda_stream__") else stream


def _is_stream(value: Any) -> bool:
    handle = _handle_of(value)
    return isinstance(handle, int) and not isinstance(handle, bool) and handle >= 0


def _hint_of_speed(why: str) -> LaunchOption:
    return LaunchOption(everywhere(Effect.NONE), why)


_WARPS_APART = "a hint for compilers that give warps different work: results do not depend on it"

_OF_LAUNCHES: dict[str, LaunchOption] = {
    "stream": LaunchOption(
        _on_streams,
        "a launch there has finished when it returns: nothing is left to order",
        (None,),
        _is_stream,
        "a stream: an object with `cuda_stream`, as torch's, or `__cuda_stream__`, or the driver's handle",
    ),
    "launch_cooperative_grid": flag(everywhere(Effect.DONE), "", (False, None)),
    "ir_override": LaunchOption(
        everywhere(Effect.REFUSED), "TILEWRIGHT_OVERRIDE names a directory of stages to replace"
    ),
    "launch_metadata": LaunchOption(
        everywhere(Effect.REFUSED), "it is an option of jit, for tools: @tw.jit(launch_metadata=...)"
    ),
    "allow_fp8e4nv": flag(everywhere(Effect.NONE), "every device has the type", (None,)),
    "num_buffers_warp_spec": _hint_of_speed(_WARPS_APART),
    "num_consumer_groups": _hint_of_speed(_WARPS_APART),
    "reg_dec_producer": _hint_of_speed(_WARPS_APART),
    "reg_inc_consumer": _hint_of_speed(_WARPS_APART),
    "minRegAutoWS": _hint_of_speed(_WARPS_APART),
    "maxRegAutoWS": _hint_of_speed(_WARPS_APART),
    "pingpongAutoWS": _hint_of_speed(_WARPS_APART),
    "kpack": LaunchOption(
        everywhere(Effect.NONE), OTHER_VENDOR, (None,),
        lambda value: is_count(value) and value in (1, 2), "1 or 2",
    ),
    # What a device is, or has: refused unless the launch goes to such a one.
    "device": LaunchOption(everywhere(Effect.DONE), ""),
    "device_type": LaunchOption(everywhere(Effect.DONE), ""),
    "warp_size": LaunchOption(on_gpus(Effect.DONE), "a program runs on one core there"),
}  # fmt: skip

OPTIONS = {**COMPILED, **_OF_LAUNCHES}

# Options of decorators that no launch depends on, with the reason.
DECORATOR_OPTIONS: dict[str, str] = {
    "jit(version=)": "kept as an attribute: the digest of the source identifies a kernel",
    "jit(repr=)": "called for the name of a compiled kernel, which nothing else depends on",
    "jit(launch_metadata=)": "called for the hooks of launches only (`tilewright.launch.hooks`)",
    "jit(noinline=)": "kept as an attribute: every function is compiled into its kernel",
    "autotune(use_cuda_graph=)": "measurements subtract nothing and take the median of launches",
}


def check_option(name: str, value: Any, device: str, kernel: str) -> None:
    """Refuse what a device cannot do. Raises LaunchError TW0415, or TW0416 for an impossible value."""
    option = OPTIONS[name]
    value = static.unwrap(value)
    if option.is_valid is is_flag and is_flag(value):
        value = bool(value)
    if any(type(value) is type(taken) and value == taken for taken in option.neutral):
        return
    if not option.is_valid(value):
        raise LaunchError(
            f"{name}={value!r} of the launch of {kernel} is not {option.values}",
            code="TW0416",
            hint=option.why or f"write {option.values}, or leave it out",
        )
    if name in ("device", "device_type", "warp_size"):
        _check_device(name, value, device, kernel)
    elif option.effects(device_named(device)) is Effect.REFUSED:
        raise LaunchError(
            f"the launch of {kernel} asks for {name}={value!r}, which {device} does not do",
            code="TW0415",
            hint=option.why,
        )


def check_clusters(options: Options, device: str, kernel: str) -> None:
    """Refuse clusters where the device has none. Raises LaunchError TW0415."""
    check_option("num_ctas", options.num_ctas, device, kernel)
    check_option("cluster_dims", options.cluster_dims, device, kernel)


def _check_device(name: str, value: Any, device: str, kernel: str) -> None:
    facts = device_named(device)
    hint = "the arrays decide where a kernel runs, or `with tw.device(...)`"
    if name == "device":
        is_so = str(value) in (device, str(facts.index if facts.has_memory else device))
    elif name == "device_type":
        is_so = str(value) == facts.kind
    else:
        is_so = not facts.is_gpu or value == facts.warp_size
        hint = f"leave it out: a warp of {device} has {facts.warp_size} lanes"
    if not is_so:
        raise LaunchError(
            f"the launch of {kernel} goes to {device}, and {name}={value!r} asks for another",
            code="TW0416",
            hint=hint,
        )


class Chosen(NamedTuple):
    """The options of a launch that do something, and that its kernel's code knows nothing of: a stream,
    and flags in the order of `kLaunchFlags` of runtime/Device.h."""

    stream: int | None = None  # None: the one that is current
    launch_cooperative_grid: bool = False

    @property
    def flags(self) -> tuple[bool, ...]:
        """All but the stream."""
        return self[1:]


def chosen_of(extra: Mapping[str, Any], device: str, kernel: str) -> Chosen:
    """What the options of a launch choose, each of which has been checked."""
    flags = [bool(static.unwrap(extra.get(name))) for name in Chosen._fields[1:]]
    return Chosen(_stream_of(extra, device, kernel), *flags)


def _stream_of(extra: Mapping[str, Any], device: str, kernel: str) -> int | None:
    """The stream that a launch names; none where it names none or the device has none."""
    stream = static.unwrap(extra.get("stream"))
    gpu = device_named(device)
    if stream is None or not gpu.has_memory:
        return None
    index = getattr(stream, "device_index", None)
    if index is not None and index != gpu.index:
        raise LaunchError(
            f"the launch of {kernel} goes to {device}, and its stream is of {gpu.kind}:{index}",
            code="TW0416",
            hint="pass a stream of the device that the arrays are on",
        )
    return int(_handle_of(stream))
