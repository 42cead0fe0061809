"""`@tw.jit(specialize="tiered")`: a general binary answers, one for the very integers follows it."""

from .binaries import Tiers as Tiers
from .binaries import general_binaries as general_binaries
