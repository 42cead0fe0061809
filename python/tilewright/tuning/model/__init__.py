"""Predicts how long configurations of a kernel take, from what the compiler says of them."""
