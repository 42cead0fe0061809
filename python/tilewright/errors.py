"""The exceptions of the package, where programs import them from."""

from __future__ import annotations

from .native.errors import AbsentModuleError as AbsentModuleError
from .native.errors import AbsentNameError as AbsentNameError
from .native.errors import ArgumentRangeError as ArgumentRangeError
from .native.errors import CompilationError as CompilationError
from .native.errors import CompileError as CompileError
from .native.errors import DeviceError as DeviceError
from .native.errors import GridNameError as GridNameError
from .native.errors import InternalError as InternalError
from .native.errors import LaunchError as LaunchError
from .native.errors import OutOfResources as OutOfResources
from .native.errors import SignatureError as SignatureError
from .native.errors import StaticAssertionError as StaticAssertionError
from .native.errors import TilewrightError as TilewrightError
from .native.errors import TilewrightWarning as TilewrightWarning
from .native.errors import UnsupportedError as UnsupportedError
