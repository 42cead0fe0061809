"""The names of `triton.runtime.errors`.

What Triton raises as InterpreterError is here the DeviceError of a kernel on `reference`. An assembler
that refuses compiled code is a mistake in Tilewright, and a search without a result a LaunchError.
"""

from __future__ import annotations

from tilewright import DeviceError, InternalError, LaunchError
from tilewright import OutOfResources as OutOfResources

from ..absent import names_of

InterpreterError = DeviceError
PTXASError = InternalError
AutotunerError = LaunchError

__path__: list[str] = []
__getattr__ = names_of(__name__)
