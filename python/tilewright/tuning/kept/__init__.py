"""What was measured, for later processes and other machines."""
