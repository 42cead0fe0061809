"""Messages between a program and its workers over a socket: JSON, and bytes behind it."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

_SIZES = struct.Struct("<QQ")


def send(channel: socket.socket, message: dict[str, Any], content: bytes = b"") -> None:
    """Send a message. Raises OSError where the other side is gone."""
    text = json.dumps(message).encode()
    channel.sendall(_SIZES.pack(len(text), len(content)) + text + content)


def receive(channel: socket.socket) -> tuple[dict[str, Any], bytes]:
    """Wait for a message. Raises EOFError where the other side is gone."""
    num_text, num_content = _SIZES.unpack(_exactly(channel, _SIZES.size))
    message = json.loads(_exactly(channel, num_text))
    return message, bytes(_exactly(channel, num_content))


def _exactly(channel: socket.socket, size: int) -> bytearray:
    data = bytearray(size)
    view, filled = memoryview(data), 0
    while filled < size:
        try:
            count = channel.recv_into(view[filled:])
        except ConnectionError:
            count = 0
        if not count:
            raise EOFError
        filled += count
    return data
