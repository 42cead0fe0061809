"""The names of `triton.language.extra.cuda`. Only its math library runs on every target."""

from __future__ import annotations

from tilewright.language.marks import unsupported

from ....absent import names_of
from . import libdevice as libdevice

_HINT = "It belongs to one kind of GPU. Leave it out or choose by a constexpr parameter."

gdc_wait = unsupported("gdc_wait", _HINT)
gdc_launch_dependents = unsupported("gdc_launch_dependents", _HINT)
globaltimer = unsupported("globaltimer", _HINT)
num_threads = unsupported("num_threads", _HINT)
num_warps = unsupported("num_warps", _HINT)
smid = unsupported("smid", _HINT)

__getattr__ = names_of(__name__)
