"""`triton.tools.tensor_descriptor`: descriptors made on the host."""

from __future__ import annotations

from tilewright.launch.host_descriptor import TensorDescriptor as TensorDescriptor
