"""`triton.tools.tensor_descriptor`: descriptors made on the host."""

from __future__ import annotations

from tilewright.arrays.descriptor import TensorDescriptor as TensorDescriptor
