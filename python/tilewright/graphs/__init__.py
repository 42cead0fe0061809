"""Launches that torch traces: one opaque operator each."""
