"""How the arguments of launches are read: facts, bits, and the memory behind them."""

from .arrays import current_stream, is_of_jax, stream_reader
from .constants import constexpr_key, read_constant
from .memory import MEMORY_READERS, SPAN_READERS, WRITE_MARKERS, mark_written, memory_of, span_of
from .problems import NO_MEMORY, ArgumentProblem, Memory, Reading, unknown_element_type
from .reading import READERS, SPREADERS, Parts, make_reader, read_argument, read_tuple
from .reinterpreted import Reinterpreted, reinterpret

__all__ = [
    "ArgumentProblem", "MEMORY_READERS", "Memory", "NO_MEMORY", "Parts", "READERS", "Reading",
    "Reinterpreted", "SPAN_READERS", "SPREADERS", "WRITE_MARKERS", "constexpr_key",
    "current_stream", "is_of_jax", "make_reader", "mark_written", "memory_of", "read_argument",
    "read_constant", "read_tuple", "reinterpret", "span_of", "stream_reader",
    "unknown_element_type",
]  # fmt: skip
