"""Functions that launch kernels as operators of torch: `tw.torch_op`."""

from .definition import TorchOp as TorchOp
from .definition import torch_op as torch_op
