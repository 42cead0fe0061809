"""A process that compiles and runs candidates for another one, which may end it at any time.

It imports nothing of the package but `native/`, so that it is ready after some 50 ms.
"""

from __future__ import annotations

import os
import select
import socket
import threading
import time
from typing import Any

from ..native.packed import compile_packed
from ..native.packed_runs import run_packed
from . import messages

# A worker without work ends after so many seconds, and a later tuning starts another one.
IDLE_SECONDS = 30.0


def _end_with(program: int) -> None:
    """End the process with its program, also in the middle of a candidate that never ends."""
    while os.getppid() == program:
        time.sleep(1)
    os._exit(1)


def serve(descriptor: int, program: int) -> None:
    """Answer requests until the other side, a process `program`, is gone or has none for a while."""
    threading.Thread(target=_end_with, args=(program,), daemon=True).start()
    channel = socket.socket(fileno=descriptor)
    messages.send(channel, {"ready": True})
    poll = select.poll()
    poll.register(channel, select.POLLIN)
    while poll.poll(IDLE_SECONDS * 1000):
        try:
            message, _ = messages.receive(channel)
            messages.send(channel, *answer(message))
        except (EOFError, OSError):
            break
    os._exit(0)  # nothing here has anything to finish


def answer(message: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
    """The result of a request, and its bytes."""
    try:
        if message["do"] == "run":
            return run_packed(message["packed"], message["launch"]), b""
        result = compile_packed(message["packed"])
    except Exception as error:  # the program tells it to the user as the candidate's failure
        return {"failed": f"{type(error).__name__}: {error}"}, b""
    content = result.pop("content", b"")
    return result, content
