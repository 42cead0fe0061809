"""Examples of the functions on tutorials/site/reference/language/dtypes.md."""

import tilewright as tw
from cases import example


@example("x.astype(np.float32).view(np.int32)")
def get_int_dtype(x):
    return x.to(tw.get_int_dtype(32, True), bitcast=True)


@example("np.full(32, 3)")
def str_to_ty():
    return tw.full((32,), 3, tw.str_to_ty("i32"))
