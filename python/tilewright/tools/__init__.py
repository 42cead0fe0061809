"""The command `tilewright` and what it shows."""
