"""Names that kernels elsewhere use and that are not implemented, each with what to write."""

from __future__ import annotations

_TARGET = "It belongs to one kind of GPU. Leave it out or choose by a constexpr parameter."
_FLOAT8 = "Conversions of 8-bit floats are casts: x.to(tw.float8e5), x.to(tw.float16)."
_TENSORMAP = "It makes descriptors of one kind of GPU. Use tw.make_tensor_descriptor, or pointers."

UNSUPPORTED: dict[str, str] = {
    "extract_slice": "Use tw.reshape and tw.split.",
    # Parts of the language for one kind of device.
    "extra.hip": _TARGET,
    "extra.intel": _TARGET,
    "extra.cpu": "It belongs to a fork of Triton. Use tw.load, tw.trans and tw.reshape.",
    "extra.cuda.utils": "Its names are in triton.language.extra.cuda.",
    "extra.cuda.convert_custom_float8_sm70": _FLOAT8,
    "extra.cuda.convert_custom_float8_sm80": _FLOAT8,
    "extra.cuda.experimental_device_tensormap_create1d": _TENSORMAP,
    "extra.cuda.experimental_device_tensormap_create2d": _TENSORMAP,
    "extra.cuda.experimental_tensormap_fenceproxy_acquire": _TENSORMAP,
}
