"""The names of `triton.language.extra.cuda`.

`globaltimer` works on every device, `smid` on GPUs; `gdc_wait` and
`gdc_launch_dependents` do something on NVIDIA GPUs from sm_90 on, for launches with `launch_pdl`.
"""

from __future__ import annotations

from tilewright.language.machine import gdc_launch_dependents as gdc_launch_dependents
from tilewright.language.machine import gdc_wait as gdc_wait
from tilewright.library.target_info import globaltimer as globaltimer
from tilewright.library.target_info import num_threads as num_threads
from tilewright.library.target_info import num_warps as num_warps
from tilewright.library.target_info import smid as smid

from ....absent import names_of
from . import libdevice as libdevice

__getattr__ = names_of(__name__)
