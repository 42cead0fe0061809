"""Kernels in programs of JAX: `tw.jax.call`. jax is imported by the first call."""

from .calls import call as call
