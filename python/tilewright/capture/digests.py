"""Digests of texts, for the keys under which captured functions and compiled kernels are kept."""

from __future__ import annotations

import json


def digest_texts(*texts: str) -> str:
    """64 hex digits; no two sequences of texts look alike."""
    return digest_bytes(json.dumps(texts).encode())


def digest_bytes(content: bytes) -> str:
    """64 hex digits."""
    import hashlib

    return hashlib.blake2b(content, digest_size=32).hexdigest()
