"""Numbers of 4 bits and scales of 8 bits in torch tensors, as the OCP Microscaling Formats (MX)
Specification v1.0 defines them: E2M1 (section 5.3.3) and E8M0 (section 5.4.1)."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

from ..absent import names_of

# The magnitudes of the codes 0 to 7; bit 3 is the sign.
_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
_BIAS = 127
_NAN = 255


def _torch() -> Any:
    return importlib.import_module("torch")


class _Codes:
    """A uint8 tensor `data` with a code in each element: made of numbers, or with a size for random
    codes."""

    def __init__(self, data: Any = None, size: Any = None, device: Any = None) -> None:
        if data is None and size is None:
            raise ValueError("give the numbers (data) or the extents (size)")
        self.device = device if data is None else data.device
        if data is not None:
            self.data = self._from_float(data)
        else:
            self.size = tuple(size) if isinstance(size, Sequence) else (size,)

    def _from_float(self, values: Any) -> Any:
        raise NotImplementedError


class MXFP4Tensor(_Codes):
    """Codes of E2M1, one in the low four bits of each element of `data`."""

    def random(self) -> MXFP4Tensor:
        """Draw every code by torch's generator."""
        torch = _torch()
        self.data = torch.randint(0, 16, self.size, dtype=torch.uint8, device=self.device)
        return self

    def to(self, dtype: Any) -> Any:
        """The numbers as a float tensor, exactly."""
        torch = _torch()
        table = torch.tensor([*_E2M1, *(-v for v in _E2M1)], device=self.data.device)
        return table[self.data.long()].to(dtype)

    def _from_float(self, values: Any) -> Any:
        """The nearest codes, ties to even; what is larger than 6, and NaN, becomes 6 with its sign."""
        torch = _torch()
        table = torch.tensor(_E2M1, dtype=torch.float64, device=values.device)
        magnitude = torch.nan_to_num(values.double().abs(), nan=6.0, posinf=6.0)
        middle = (table[1:] + table[:-1]) / 2
        low = torch.searchsorted(middle, magnitude.contiguous(), right=False)
        # Numbers in the middle of two codes go to the even one: searchsorted gave the lower.
        high = torch.searchsorted(middle, magnitude.contiguous(), right=True)
        code = torch.where(low % 2 == 0, low, high).to(torch.uint8)
        sign = torch.signbit(values).to(torch.uint8)
        return code | (sign << 3)

    def to_packed_tensor(self, dim: int) -> Any:
        """Two neighbours along a dimension in each byte, the first in the low bits; an odd extent is
        filled up with 0."""
        torch = _torch()
        if not 0 <= dim < self.data.ndim:
            raise ValueError(f"there is no dimension {dim} in {tuple(self.data.shape)}")
        moved = self.data.movedim(dim, -1)
        if moved.shape[-1] % 2:
            moved = torch.nn.functional.pad(moved, (0, 1))
        packed = moved[..., 0::2] | (moved[..., 1::2] << 4)
        return packed.movedim(-1, dim).contiguous()

    def unpack_packed_tensor(self, packed_tensor: Any, dim: int, original_shape: Any) -> Any:
        """The codes of a packed tensor, one in each element."""
        torch = _torch()
        moved = packed_tensor.movedim(dim, -1)
        both = torch.stack((moved & 15, moved >> 4), -1).flatten(-2)
        return both[..., : original_shape[dim]].movedim(-1, dim).contiguous()


def fp8e8m0_to_float32(scale: Any) -> Any:
    """The scales 2^(code - 127) as float32; 255 is NaN. 2^-127 is a subnormal number."""
    torch = _torch()
    code = scale.view(torch.uint8).double()
    values = torch.exp2(code - _BIAS)
    return torch.where(code == _NAN, torch.nan, values).float()


class MXScaleTensor(_Codes):
    """Scales of E8M0: powers of two."""

    def random(self, low: float | None = None, high: float | None = None) -> MXScaleTensor:
        """Draw scales from low to high, by default all but NaN."""
        torch = _torch()
        first = 0 if low is None else self._code(low)
        last = _NAN - 1 if high is None else self._code(high)
        if first > last:
            raise ValueError(f"low={low} is above high={high}")
        self.data = torch.randint(first, last + 1, self.size, dtype=torch.uint8, device=self.device)
        return self

    def _code(self, value: float) -> int:
        torch = _torch()
        return int(self._from_float(torch.tensor(float(value))))

    def to(self, dtype: Any) -> Any:
        """The scales as a float tensor."""
        return fp8e8m0_to_float32(self.data).to(dtype)

    def _from_float(self, values: Any) -> Any:
        """The largest powers of two that are not above the values; NaN for what is not a positive
        number."""
        torch = _torch()
        exponent = torch.frexp(values.double()).exponent - 1
        code = (exponent + _BIAS).clamp(0, _NAN - 1)
        is_number = torch.isfinite(values) & (values > 0)
        return torch.where(is_number, code, _NAN).to(torch.uint8)


__path__: list[str] = []
__getattr__ = names_of(__name__)
