"""Errors of launches that torch's compiler traces, as it lets them through to the user."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from ..native.errors import TilewrightError

_OWN = os.path.realpath(f"{__file__}/../..")


def as_traced(error: TilewrightError) -> TilewrightError:
    """The same error as one of torch's compiler too while it traces, which takes others for mistakes of its own
    (InternalTorchDynamoError); its text then ends with the user's line."""
    guards: Any = sys.modules.get("torch._guards")
    if "torch._dynamo.exc" not in sys.modules or guards.TracingContext.try_get() is None:
        return error
    import traceback

    stack = guards.TracingContext.extract_stack()
    users = [frame for frame in stack if not frame.filename.startswith(_OWN)]
    return _traced_class(type(error))(error, traceback.StackSummary.from_list(users))


@functools.cache
def _traced_class(kind: type[TilewrightError]) -> Any:
    """A class of errors of a kind that are errors of the traced program for torch's compiler."""
    runtime_error: Any = sys.modules["torch._dynamo.exc"].TorchRuntimeError

    def init(self: Any, error: TilewrightError, stack: Any) -> None:
        runtime_error.__init__(self, error.rendered, stack)
        self.__dict__.update(error.__dict__)

    def reduce(self: Any) -> Any:
        plain = kind(self.message, code=self.code, hint=self.hint, rendered=self.rendered)
        return plain.__reduce__()

    members = {"__init__": init, "__reduce__": reduce, "__module__": kind.__module__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind, runtime_error), members)
