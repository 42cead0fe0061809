"""Examples of tutorials/site/reference/language/aggregates.md."""

import tilewright as tw
from cases import example


@tw.aggregate
class Complex:
    real: tw.tensor
    imaginary: tw.tensor

    @tw.jit
    def magnitude(self):
        return tw.sqrt(self.real * self.real + self.imaginary * self.imaginary)


@example("np.hypot(x, y)", uses=(Complex,))
def aggregate(x, y):
    return Complex(x, y).magnitude()
