"""Chooses the constants of kernels: by timing, or by rules."""
