"""Kernels that the compiler refuses. `errors/NAME.txt` is the message for the kernel NAME.

The messages quote these lines, so edits here change line numbers there: rewrite them with GOLDEN=accept.
"""

# pyright: basic
# ruff: noqa

import tilewright as tw

LIMIT = 4


@tw.jit
def add_one(x, y):
    return x + y


@tw.jit
def positive(x):
    if x > 3:
        return x


@tw.jit
def ping(x):
    return pong(x)


@tw.jit
def pong(x):
    return ping(x)


@tw.jit
def fixed(x, SIZE: tw.constexpr):
    return x + tw.arange(0, SIZE)


def unknown_name(x, n):
    tw.store(x, nn)


def unknown_attribute(x, n):
    v = tw.load(x + tw.arange(0, 8))
    v.shap


def wrong_type(x, n):
    tw.store(x, "three")


def wrong_bound(x, n):
    for i in range(2.5):
        tw.store(x, i)


def shape_mismatch(x, n):
    v = tw.arange(0, 64) + tw.arange(0, 32)


def shape_mismatch_in_a_call(x, n):
    tw.store(x, add_one(tw.arange(0, 4), tw.arange(0, 8)))


def run_time_extent(x, n):
    v = tw.arange(0, n)


def run_time_constexpr_parameter(x, n):
    tw.store(x + fixed(n, SIZE=n), 1.0)


def one_path_only(x, n):
    if n > 3:
        y = 2
    tw.store(x, y)


def two_types(x, n):
    if n > 3:
        y = tw.arange(0, 4)
    else:
        y = tw.arange(0, 8)
    tw.store(x, y)


def loop_changes_shape(x, n):
    acc = tw.zeros((4,), tw.float32)
    for i in range(n):
        acc = acc[:, None]


def loop_body_only(x, n):
    for i in range(n):
        q = i
    tw.store(x, q)


def missing_argument(x, n):
    tw.store(x, add_one(n))


def too_many_arguments(x, n):
    tw.store(x, add_one(n, n, n))


def unknown_keyword(x, n):
    tw.load(x, masc=n > 3)


def recursion(x, n):
    ping(n)


def statement_try(x, n):
    try:
        tw.store(x, 1.0)
    except ValueError:
        pass


def assignment_to_element(x, n):
    x[0] = 1


def not_implemented(x, n):
    tw.extract_slice(x, (0,), (1,), (1,))


def static_assertion(x, n):
    tw.static_assert(LIMIT == 5, f"LIMIT is {LIMIT}")


def iterated_tile(x, n):
    for i in tw.arange(0, 4):
        tw.store(x, i)


def wrong_unpacking(x, n):
    a, b = (1, 2, n)


def not_a_function(x, n):
    n(3)


def division_by_zero(x, n):
    tw.store(x, LIMIT // 0)


def index_of_tuple(x, n):
    tw.store(x, (1, 2)[2])


def index_of_tile(x, n):
    tw.store(x, tw.arange(0, 4)[n])


def partial_return(x, n):
    tw.store(x, positive(n))


def returned_value(x, n):
    return n


def condition_of_many(x, n):
    if tw.arange(0, 4) > n:
        tw.store(x, 1.0)


def unknown_option(x, n):
    tw.load(x, cache_modifier=".zz")


def endless_unrolling(x, n):
    for i in tw.static_range(300):
        for j in tw.static_range(300):
            tw.store(x, 1.0)


def endless_nesting(x, n):
    for i in tw.static_range(5000):
        if n == i:
            break
        tw.store(x + i, 1.0)


def endless_inlining(x, n):
    tw.store(x, [[add_one(n, i) for i in tw.static_range(300)] for j in tw.static_range(300)][0][0])


def constexpr_changes(x, n):
    q: tw.constexpr = 3
    for i in range(n):
        q = q + 1


def deleted_name(x, n):
    y = n
    del y
    tw.store(x, y)


def misspelt_function(x, n):
    tw.store(x, tw.lod(x) + n)


def statement_yield(x, n):
    yield n


def combined_by_a_number(x, n):
    tw.store(x, tw.reduce(tw.arange(0, 8), 0, 3))


BAD_TRUTH = type("BadTruth", (), {"__len__": lambda self: -1})()


def truth_of_an_object(x, n):
    if BAD_TRUTH:
        tw.store(x, n)


def masked_block_pointer(x, n):
    p = tw.make_block_ptr(x, (n,), (1,), (0,), (16,), (0,))
    tw.load(p, mask=tw.arange(0, 16) < n)


def added_to_block_pointer(x, n):
    p = tw.make_block_ptr(x, (n,), (1,), (0,), (16,), (0,))
    tw.load(p + 16)


def stops_for_a_debugger(x, n):
    breakpoint()
    tw.store(x, n)


KERNELS = [
    value
    for value in list(globals().values())
    if callable(value) and getattr(value, "__module__", "") == __name__ and not hasattr(value, "fn")
]
